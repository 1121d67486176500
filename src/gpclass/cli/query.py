"""The command that chooses rows to label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._console import count, print_json, print_line, print_notes, write_stdout
from .models import AsJson, Encoding, ModelFile, _check_output, _csv, _load

Pool = Annotated[Path, typer.Argument(help="A table of rows to choose from.", show_default=False)]


def query(
    model: ModelFile,
    pool: Pool,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Number of rows to choose.")] = 10,
    strategy: Annotated[str, typer.Option(help="margin, entropy or bald.")] = "margin",
    save: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A CSV file; otherwise standard output.", show_default=False),
    ] = None,
    encoding: Encoding = None,
    json: AsJson = False,
) -> None:
    """Choose the rows of a table whose labels would tell most.

    The most informative row comes first. Each row is scored given those before it, so similar rows are not chosen
    together. Rows with a label in the target column are left out. The score is 1 less the difference of the two largest
    probabilities (margin), the entropy of the label in nats (entropy), or the expected information about the model in
    nats (bald).
    """
    _check_output(save, pool, model)
    from ..tabular import query_table, read_table

    table = read_table(pool, encoding)
    found = query_table(_load(model), table, n, strategy)
    chosen = table.subset(found.rows.tolist())
    columns: dict[str, Any] = {table.unit: chosen.positions, "score": found.scores.tolist()}
    columns |= {f"{name} (of the table)" if name in columns else name: cells for name, cells in chosen.columns.items()}
    print_notes(found.notes)
    if save is not None:
        from ..io.files import write_whole

        write_whole(save, _csv(columns))
    if json:
        print_json({"rows": columns, "out": None if save is None else str(save), "notes": found.notes})
    elif save is None:
        write_stdout(_csv(columns))
    else:
        print_line(f"{count(len(chosen), 'row')} to label in {save}")
