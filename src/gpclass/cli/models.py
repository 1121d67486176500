"""Commands for people with a table."""

from __future__ import annotations

import csv
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column
from rich.table import Table as Grid
from rich.text import Text

from ._bar import FitStatus, StepsStatus
from ._console import as_json, count, fail, one_line_errors, out, put, say, tell

if TYPE_CHECKING:
    import numpy as np

    from ..tabular import TableModel

TableFile = Annotated[
    Path, typer.Argument(help="A CSV, TSV or Parquet file, names of columns first.", show_default=False)
]
ModelFile = Annotated[Path, typer.Argument(help="What 'gpclass fit --save' wrote.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON on standard output, for scripts.")]
Encoding = Annotated[
    str | None, typer.Option(help="Of a text file, if it is not UTF-8: cp1252, latin-1, ...", show_default=False)
]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict.", show_default=False)]
Drop = Annotated[
    list[str] | None, typer.Option(help="A column to leave out; once for each of several.", show_default=False)
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="A column to use although it looks like names of rows; once for each.", show_default=False),
]
Category = Annotated[
    list[str] | None,
    typer.Option(help="A column whose numbers are codes of categories; once for each.", show_default=False),
]


def fit(
    data: TableFile,
    target: Target,
    save: Annotated[Path | None, typer.Option("--save", "-s", help="Where the model goes.", show_default=False)] = None,
    ordinal: Annotated[
        str | None,
        typer.Option(help="Labels with an order, from lowest to highest: low,mid,high.", show_default=False),
    ] = None,
    regress: Annotated[bool, typer.Option("--regress", help="Predict a number instead of a label.")] = False,
    unlabelled: Annotated[
        str | None,
        typer.Option(
            help="What the target of rows without label holds; empty cells count too, '' is for them alone.",
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help="A column that says how often each row counts; for labels without order.", show_default=False
        ),
    ] = None,
    views: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file with the columns of each source, shape = \\['fou_*', 'mor_*']; weights are learned.",
            show_default=False,
        ),
    ] = None,
    drop: Drop = None,
    keep: Keep = None,
    category: Category = None,
    engine: Annotated[str, typer.Option(help="auto (by the number of rows), vb, ep, laplace, sparse or ivm.")] = "auto",
    encoding: Encoding = None,
    json: AsJson = False,
) -> None:
    """Fit a model to a table, tell how well it predicts, and save it.

    Columns may hold numbers or text, and gaps. Columns that only name rows are left out. Scores come from leaving each
    row out in turn, or from rows held out, so they tell of new rows.
    """
    with one_line_errors():
        _check_place(save, data, views)
        from ..tabular import read_table

        table = read_table(data, encoding)
        table.column(target)  # known before all that a fit needs is imported
        if not json:
            say(f"{data}: {count(len(table), 'row')}, {count(len(table.columns), 'column')}")
        from .. import save as save_model
        from ..tabular import TableModel

        model = TableModel(
            target,
            order=_order(ordinal),
            regress=regress,
            unlabelled=unlabelled,
            weights=weights,
            views=None if views is None else _view_columns(views),
            drop=drop or (),
            keep=keep or (),
            category=category or (),
            engine=engine,
        ).fit(table, callback=FitStatus())
        tell(model.notes_)
        if not json:
            _show_model(model)
        written = None
        try:
            written = None if save is None else save_model(model, save)
        finally:  # what was learned is told though it could not be saved
            if json:
                as_json(_summary(model) | {"saved": None if written is None else str(written)})
        if json:
            return
        if written is None:
            say("not saved; to keep the model say --save model.gpclass")
        else:
            size = written.stat().st_size / 1e6
            name = shlex.quote(str(written))
            say(f"saved as {written} ({size:.1f} MB); next: gpclass predict {name} NEW.csv --out predictions.csv")


def predict(
    model: ModelFile,
    data: TableFile,
    save: Annotated[
        Path | None, typer.Option("--out", "-o", help="A CSV file; otherwise standard output.", show_default=False)
    ] = None,
    encoding: Encoding = None,
    json: AsJson = False,
) -> None:
    """Predict the rows of a table.

    For each row: the label, the probability of every class, the entropy of the label in nats, divided into what more
    data could remove and what would last, the similarity to the most similar training row, and whether it is far from
    all of them: less similar to any than 99 of 100 training rows are to each other. For numbers: prediction and
    standard deviation, divided in the same way. A fair coin has an entropy of 0.69 nats.
    """
    with one_line_errors():
        _check_place(save, data, model)
        from ..tabular import read_table

        table = read_table(data, encoding)
        found = _loaded(model)
        frame, notes = found.frame(table)
        predictions: dict[str, Any] = found.predictions_of_frame(frame)
        columns: dict[str, Sequence[Any]] = {table.unit: table.places}
        for own in found.schema_.columns:
            if own.kind == "id" and own.name in table.columns:
                taken = own.name in predictions or own.name == table.unit
                columns[f"{own.name} (of the table)" if taken else own.name] = table.columns[own.name]
        tell(notes)
        if json and save is None:
            as_json({"predictions": {**columns, **predictions}, "notes": notes})
            return
        if save is None:
            put(_csv({**columns, **_as_cells(predictions)}))
            return
        _write_table(save, columns, predictions)
        far = list(predictions["far"]).count("yes")
        if json:
            as_json({"rows": len(table), "far": far, "out": str(save), "notes": notes})
            return
        say(f"{count(len(table), 'prediction')} in {save}")
        if far:
            say(f"of them far from all training rows (column 'far'): {far}; there the model knows little", "yellow")


def evaluate(model: ModelFile, data: TableFile, encoding: Encoding = None, json: AsJson = False) -> None:
    """Score a model on rows whose labels are known: error, log loss and calibration, with standard errors."""
    with one_line_errors():
        from ..tabular import read_table

        found = _loaded(model)
        scores, predicted, notes = found.evaluate(read_table(data, encoding))
        tell(notes)
        table = _confusion(found, predicted)
        if json:
            as_json({"scores": scores, "confusion": table, "classes": found.labels, "notes": notes})
            return
        _show_scores(scores, f"{count(scores['rows'], 'row')} of {data}")
        if table and len(found.labels) <= 12:
            _show_confusion(found.labels, table)


def explain(model: ModelFile, json: AsJson = False) -> None:
    """Tell what a model goes by: the influence and relevance of every column, weights of views, rows that count."""
    with one_line_errors():
        from ..tabular import explain as explained

        found = _loaded(model)
        told = explained(found)
        if json:
            as_json(told)
            return
        _show_explanation(found, told)


def card(
    model: ModelFile,
    save: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The page; otherwise beside the model, ending in .html.", show_default=False),
    ] = None,
    without_rows: Annotated[
        bool, typer.Option("--without-rows", help="Show no rows of the table, for a page that others will see.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Write a page about a model: data, scores, reliability, confusion, what it goes by, and rows to look at.

    One HTML file that needs no network and can be sent by mail. It shows some rows of the table.
    """
    with one_line_errors():
        path = save or (model.with_suffix(".html") if model.suffix == ".gpclass" else Path(f"{model}.html"))
        _check_place(path, model)
        from ..io.files import write_whole
        from ..tabular.card import card as made

        write_whole(path, made(_loaded(model), model.name, rows=not without_rows))
        if json:
            as_json({"out": str(path)})
        else:
            say(f"wrote {path}")


def compare(
    data: TableFile,
    target: Target,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the table, each predicted by a model of the others.")] = 5,
    drop: Drop = None,
    keep: Keep = None,
    category: Category = None,
    encoding: Encoding = None,
    json: AsJson = False,
) -> None:
    """Compare gpclass with logistic regression, random forest, boosting and a support vector machine on your table."""
    with one_line_errors():
        from ..tabular import read_table

        table = read_table(data, encoding)
        table.column(target)
        from ..tabular import compare_on_table

        result, notes = compare_on_table(
            table,
            target,
            folds=folds,
            drop=drop or (),
            keep=keep or (),
            category=category or (),
            progress=StepsStatus(),
        )
        tell(notes)
        if json:
            as_json({"scores": [_as_loss(score) for score in result.scores], "folds": folds, "notes": notes})
            return
        grid = Grid(Column("model", no_wrap=True), "error %", "log loss", "calibration error %", "seconds", box=None)
        for column in grid.columns[1:]:
            column.justify = "right"
        for score in result.scores:
            grid.add_row(
                score.name,
                f"{100 * score.error:.2f} ± {100 * score.error_spread:.2f}",
                f"{-score.log_probability:.4f} ± {score.log_probability_spread:.4f}",
                f"{100 * score.calibration_error:.1f}",
                f"{score.seconds:.1f}",
            )
        out.print(grid)
        say(f"means over {folds} folds ± standard errors between them, best log loss first")


def _order(given: str | None) -> list[str] | None:
    if given is None:
        return None
    labels = [label.strip() for label in given.split(",")]
    if len(labels) < 2 or len(set(labels)) < len(labels) or not all(labels):
        raise fail(f"--ordinal: expected at least two labels, each once, such as low,mid,high; got {given!r}", 2)
    return labels


def _view_columns(path: Path) -> dict[str, list[str]]:
    """Sources and their columns in a TOML file: name = ["pattern", ...], at the top or under [views]."""
    import tomllib

    example = "expected lines such as shape = ['fou_*', 'mor_*']"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise fail(f"{path} is no TOML ({error}); {example}") from None
    given = content.get("views", content)
    if not isinstance(given, Mapping) or not given:
        raise fail(f"{path}: {example}, got none")
    views = {}
    for name, patterns in given.items():
        patterns = [patterns] if isinstance(patterns, str) else patterns
        if not (isinstance(patterns, list) and patterns and all(isinstance(own, str) for own in patterns)):
            raise fail(f"{path}, view {name!r}: {example}, got {patterns!r}")
        views[name] = patterns
    return views


def _check_place(path: Path | None, *inputs: Path | None) -> None:
    """Better to know now than after minutes that a file cannot be written, or would take the place of what is read."""
    if path is None:
        return
    try:
        home = path.resolve()
        if path.is_dir():
            raise fail(f"expected the name of a file to write, and {path} is a folder", 2)
        if not home.parent.is_dir():
            raise fail(f"expected a folder for {path}, and {home.parent} is not there", 2)
        if any(own is not None and own.resolve() == home for own in inputs):
            raise fail(f"expected another file to write than {path}, which is read", 2)
        if not path.exists() or path.is_file():  # beside a device or a pipe nothing is written
            tempfile.TemporaryFile(dir=home.parent).close()
    except typer.Exit:  # which is a RuntimeError
        raise
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before Python 3.13
        reason = getattr(error, "strerror", None) or "a loop of links"
        raise fail(f"expected a file that can be written, and {path} is none: {reason}", 2) from None


def _loaded(path: Path) -> TableModel:
    from .. import load
    from ..tabular import TableModel

    found = load(path)
    if not isinstance(found, TableModel):
        raise fail(f"expected a model that 'gpclass fit' made in {path}, got a {type(found).__name__}")
    return found


def _as_cells(predictions: Mapping[str, np.ndarray]) -> dict[str, list[str]]:
    """As text: predicted numbers in full, others with six digits."""

    def cell(name: str, value: Any) -> str:
        return f"{value:.{12 if name == 'prediction' else 6}g}" if isinstance(value, float) else str(value)

    return {name: [cell(name, value) for value in values.tolist()] for name, values in predictions.items()}


def _write_table(path: Path, columns: dict[str, Sequence[Any]], predictions: Mapping[str, np.ndarray]) -> None:
    """Parquet where the name says so, else CSV."""
    from ..io.files import write_whole

    if path.suffix.lower() != ".parquet":
        write_whole(path, _csv({**columns, **_as_cells(predictions)}))
        return
    import pandas as pd

    content = BytesIO()
    pd.DataFrame({**columns, **predictions}).to_parquet(content)
    write_whole(path, content.getvalue())


def _as_loss(score: Any) -> dict[str, Any]:
    """A score by the names that 'evaluate' has for it."""
    return {
        "name": score.name,
        "error": score.error,
        "error_se": score.error_spread,
        "log_loss": -score.log_probability,
        "log_loss_se": score.log_probability_spread,
        "calibration_error": score.calibration_error,
        "seconds": score.seconds,
    }


def _csv(columns: dict[str, Sequence[Any]]) -> str:
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _summary(model: TableModel) -> dict[str, Any]:
    return {
        "target": model.target,
        "task": model.task_,
        "classes": model.labels,
        "estimator": type(model.estimator_).__name__,
        "how": model.how_,
        "scores": model.scores_,
        "columns": [
            {"column": own.name, "kind": own.kind, "gaps": own.gaps, "about": own.summary()}
            for own in model.schema_.columns
        ],
        "about": model.about_,
        "notes": model.notes_,
    }


def _show_model(model: TableModel) -> None:
    kinds = [own.kind for own in model.schema_.columns]
    used = f"{count(kinds.count('number'), 'column')} of numbers, {kinds.count('category')} of categories"
    say(f"{type(model.estimator_).__name__} of {model.target!r} from {used}, {model.about_['seconds']:g} s")
    if model.labels:
        say(f"labels: {model.label_counts()}")
    _show_scores(model.scores_, f"{model.how_}, {count(model.scores_['rows'], 'row')}")


def _show_scores(scores: Mapping[str, Any], title: str) -> None:
    from ..tabular.scoring import in_words

    grid = Grid("", "", "", title=Text(title), title_justify="left", show_header=False, box=None)
    for name, value, remark in in_words(scores):
        grid.add_row(name, Text(value, style="bold"), Text(remark, style="dim"))
    out.print(grid)


def _confusion(model: TableModel, predicted: Mapping[str, np.ndarray]) -> list[list[int]] | None:
    """Rows by their label, columns by the predicted one."""
    if model.task_ == "numbers":
        return None
    from sklearn.metrics import confusion_matrix

    guessed = predicted["proba"].argmax(axis=1)
    return confusion_matrix(predicted["labels"], guessed, labels=range(len(model.labels))).tolist()


def _show_confusion(classes: list[str], table: list[list[int]]) -> None:
    grid = Grid("label \\ predicted", *[escape(name) for name in classes], box=None)
    for name, row in zip(classes, table, strict=True):
        grid.add_row(Text(name), *[str(count) if count else "·" for count in row])
    out.print(grid)


def _show_explanation(model: TableModel, told: Mapping[str, Any]) -> None:
    unit = "standard deviations of the target" if model.task_ == "numbers" else "nats"
    columns = told["columns"]
    relevant = any("relevance" in own for own in columns)
    heads = ["column", "influence", *(["relevance"] if relevant else [])]
    say(f"influence: how far predictions move when a column is shuffled, in {unit}")
    grid = Grid(*heads, box=None)
    for own in columns:
        last = [f"{own['relevance']:.3g}" if "relevance" in own else ""] if relevant else []
        grid.add_row(Text(own["column"]), f"{own['influence']:.4f} ± {own['influence_se']:.4f}", *last)
    out.print(grid)
    if told["views"]:
        grid = Grid("view", "share of the latent variance", box=None)
        for own in told["views"]:
            spread = "" if own["share_sd"] is None else f" ± {own['share_sd']:.3f}"
            grid.add_row(Text(own["view"]), f"{own['share']:.3f}{spread}")
        out.print(grid)
    for title, rows in (("most informative", told["informative_rows"]), ("most surprising", told["surprising_rows"])):
        if rows:
            say(f"{title} rows ({rows[0]['unit']}s): {', '.join(str(own['place']) for own in rows)}")
