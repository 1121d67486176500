"""The command ``gpclass``."""

from typing import Annotated

import typer

from . import export, models, papers, query
from ._console import one_line_errors, replace_unencodable
from ._dask import DaskCommand
from ._help import HelpCommand, HelpGroup
from .check import check
from .compare import compare
from .explain import explain

app = typer.Typer(
    cls=HelpGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"gpclass {version('gpclass')}")
        raise typer.Exit


@app.callback(
    epilog="First steps: gpclass fit data.csv --target species --save model.gpclass, then gpclass predict "
    "model.gpclass new.csv --out predictions.csv."
)
def _commands(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Gaussian-process classification and regression of tables, with calibrated probabilities."""
    replace_unencodable()


for _panel, _functions in (
    (
        "Models of tables",
        (models.fit, models.predict, models.evaluate, explain, check, models.card, compare, query.query),
    ),
    ("Export", (export.export,)),
    ("Reproduction of papers", (papers.reproduce, papers.report)),
):
    for _command in _functions:
        _class = DaskCommand if _command in (models.fit, models.predict) else HelpCommand
        app.command(rich_help_panel=_panel, cls=_class)(one_line_errors()(_command))
