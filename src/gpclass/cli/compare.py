"""``gpclass compare``: models on the same folds of a table, as a leaderboard."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from . import _tables as tables
from ._console import fail, print_json, print_line, print_notes
from ._options import TimeLimited, seconds
from ._progress import ModelsStatus
from .models import (
    AsJson,
    Category,
    Drop,
    Encoding,
    Keep,
    Ordinal,
    Regress,
    TableFile,
    Target,
    Views,
    _check_output,
    _option,
    _order,
    _view_columns,
)


def compare(
    data: TableFile,
    target: Target,
    folds: Annotated[int, typer.Option(min=2, help="Number of cross-validation folds.", metavar="K")] = 5,
    ordinal: Ordinal = None,
    regress: Regress = False,
    views: Views = None,
    own: Annotated[
        list[str] | None,
        _option(
            "Add your own scikit-learn estimator: models:forest is the estimator, or the function that returns one, "
            "called forest in models.py of the current folder. May be repeated.",
            "--with",
            metavar="MODULE:NAME",
        ),
    ] = None,
    save: Annotated[
        Path | None, _option("Write the leaderboard to a .csv or .html file.", "--out", "-o", metavar="FILE")
    ] = None,
    time_limit: TimeLimited = None,
    drop: Drop = None,
    keep: Keep = None,
    category: Category = None,
    encoding: Encoding = None,
    json: AsJson = False,
) -> None:
    """Cross-validate models on the same folds: gpclass, linear models, random forest, boosting, SVM and your own.

    A pipeline given by --with gets the columns of the table as a data frame. Any other estimator gets numbers: missing
    values are imputed, columns scaled and categories one-hot encoded. After --time-limit no further fit begins.
    """
    limit = seconds(time_limit)
    if save is not None and save.suffix.lower() not in (".csv", ".html"):
        raise fail(f"--out: expected a file name that ends with .csv or .html, got {save}", 2)
    _check_output(save, data, views)
    from ..tabular import read_table

    table = read_table(data, encoding)
    table.column(target)
    others = {name: own_estimator(name, regress) for name in own or ()}
    from ..tabular import compare_on_table, leaderboard

    board, notes = compare_on_table(
        table,
        target,
        folds=folds,
        order=_order(ordinal),
        regress=regress,
        views=None if views is None else _view_columns(views),
        others=others,
        time_limit=limit,
        drop=drop or (),
        keep=keep or (),
        category=category or (),
        monitor=ModelsStatus(),
    )
    print_notes(notes)
    if save is not None:
        from ..io.files import write_whole

        as_page = save.suffix.lower() == ".html"
        text = leaderboard.page(board, data.name, target, notes) if as_page else leaderboard.csv(board)
        write_whole(save, text)
    if json:
        out = None if save is None else str(save)
        found = {"scores": leaderboard.records(board), "folds": folds, "interrupted": board.interrupted}
        print_json(found | {"out": out, "notes": notes})
    else:
        tables.show_leaderboard(board)
        if save is not None:
            print_line(f"wrote {save}")
    if board.interrupted:
        raise typer.Exit(130)


def own_estimator(name: str, regress: bool) -> Any:
    """The estimator that ``module:attribute`` is, or that it returns when called."""
    module_name, _, attribute = name.partition(":")
    if not (module_name and attribute):
        raise fail(f"--with: expected module:name, such as models:forest, got {name!r}", 2)
    with _this_folder():
        try:
            module = import_module(module_name)
        except ModuleNotFoundError as error:
            reason = f"expected {module_name}.py in {Path.cwd()}" if error.name == module_name else str(error)
            raise fail(f"--with {name}: cannot import {module_name}: {reason}") from None
        except Exception as error:
            raise fail(f"--with {name}: cannot import {module_name}: {type(error).__name__}: {error}") from None
        found = getattr(module, attribute, None)
        if found is None:
            known = [one for one in vars(module) if not one.startswith("_")]
            raise fail(f"--with {name}: expected {attribute!r} in {module_name}, got {', '.join(known) or 'nothing'}")
        if callable(found) and (isinstance(found, type) or not hasattr(found, "fit")):
            try:
                found = found()
            except Exception as error:
                raise fail(f"--with {name}: calling it failed: {type(error).__name__}: {error}") from None
    _check_estimator(name, found, regress)
    return found


def _check_estimator(name: str, found: Any, regress: bool) -> None:
    from sklearn.base import is_classifier

    if isinstance(found, type) or not all(hasattr(found, method) for method in ("fit", "predict", "get_params")):
        raise fail(f"--with {name}: expected a scikit-learn estimator, got {type(found).__name__}")
    if regress and is_classifier(found):
        raise fail(f"--with {name}: expected a regressor for --regress, got {type(found).__name__}")
    if not (regress or hasattr(found, "predict_proba")):
        raise fail(
            f"--with {name}: expected a classifier with predict_proba, got {type(found).__name__}; "
            "CalibratedClassifierCV adds it"
        )


@contextmanager
def _this_folder() -> Iterator[None]:
    """With modules of the current folder."""
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
