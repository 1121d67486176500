"""Commands for models of tables."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _decisions as options
from . import _tables as tables
from ._console import count, fail, print_json, print_line, print_notes, write_stdout
from ._options import TimeLimited, seconds
from ._progress import FitStatus, working

if TYPE_CHECKING:
    from ..tabular import TableModel


def _option(help: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, show_default=False, **settings)


def _argument(help: str) -> Any:
    return typer.Argument(help=help, show_default=False)


TableFile = Annotated[Path, _argument("CSV, TSV or Parquet file with column names.")]
TableFiles = Annotated[str, _argument("CSV, TSV or Parquet file with column names; with --dask, a pattern of several.")]
ModelFile = Annotated[Path, _argument("Model saved by 'gpclass fit --save'.")]
AsJson = Annotated[bool, _option("Write JSON on standard output, for scripts.", "--json")]
Encoding = Annotated[str | None, _option("Text encoding, if not UTF-8: cp1252, latin-1, ...", metavar="NAME")]
Dask = Annotated[
    str | None,
    _option(
        "Use Dask for tables larger than memory: on a local cluster, or on the scheduler at ADDRESS.",
        "--dask",
        metavar="[ADDRESS]",
    ),
]
Target = Annotated[str, _option("Column to predict.", "--target", "-t", metavar="COLUMN")]
Ordinal = Annotated[str | None, _option("Ordered labels, from lowest to highest: low,mid,high.", metavar="LABELS")]
Regress = Annotated[bool, _option("Predict a number instead of a label.", "--regress")]
Views = Annotated[
    Path | None,
    _option(
        "TOML file that assigns columns to views (sources), one line each: shape = 'fou_*'. The weights of the "
        "views are learned.",
        metavar="FILE",
    ),
]
Drop = Annotated[list[str] | None, _option("Leave a column out. May be repeated.", metavar="COLUMN")]
Keep = Annotated[
    list[str] | None,
    _option("Use a column that would be left out, such as a row identifier. May be repeated.", metavar="COLUMN"),
]
Category = Annotated[
    list[str] | None, _option("Treat a column as categories, such as integer codes. May be repeated.", metavar="COLUMN")
]


def fit(
    data: TableFiles,
    target: Target,
    save: Annotated[Path | None, _option("File to save the model to.", "--save", "-s", metavar="FILE")] = None,
    ordinal: Ordinal = None,
    regress: Regress = False,
    unlabelled: Annotated[
        str | None,
        _option(
            "Use unlabelled rows too: those with this value in the target, and those with an empty cell; '' for the "
            "latter alone.",
            metavar="VALUE",
        ),
    ] = None,
    weights: Annotated[
        str | None, _option("Column of sample weights (unordered labels only).", metavar="COLUMN")
    ] = None,
    views: Views = None,
    groups: Annotated[
        str | None,
        _option(
            "Column of groups, such as patients: adds scores for rows of new groups.", "--groups", metavar="COLUMN"
        ),
    ] = None,
    time: Annotated[
        str | None,
        _option(
            "Column of numbers or dates: adds scores for later rows predicted from earlier ones. It is a predictor "
            "only with --keep.",
            "--time",
            metavar="COLUMN",
        ),
    ] = None,
    drop: Drop = None,
    keep: Keep = None,
    category: Category = None,
    engine: Annotated[
        str,
        typer.Option(
            help="Inference engine: auto (chosen by the number of rows), vb, ep, laplace, nearest, sparse or ivm.",
            metavar="NAME",
        ),
    ] = "auto",
    time_limit: TimeLimited = None,
    class_weight: options.ClassWeight = None,
    cost: options.Cost = None,
    threshold: options.Threshold = None,
    reject: options.Reject = None,
    positive: options.Positive = None,
    encoding: Encoding = None,
    dask: Dask = None,
    json: AsJson = False,
) -> None:
    """Fit a model to a table, print its scores, and save it.

    Columns may hold numbers, dates, text and missing values. Columns that only identify rows are left out. Scores come
    from leave-one-out or held-out predictions, so they estimate performance on new data.

    With --cost, --threshold or --reject, the model also decides: by the threshold, or by the lowest expected cost.

    With --dask, the table may be several files, such as 'data/*.parquet', without missing values.
    """
    if dask is not None:
        others: dict[str, Any] = {
            "--ordinal": ordinal,
            "--regress": regress,
            "--unlabelled": unlabelled,
            "--weights": weights,
            "--groups": groups,
            "--time": time,
            "--engine": engine != "auto",
            "--time-limit": time_limit,
            "--class-weight": class_weight,
            "--cost": cost,
            "--threshold": threshold,
            "--reject": reject is not None,
            "--positive": positive,
        }
        others |= {"--views": views, "--keep": keep, "--category": category, "--encoding": encoding}
        _refuse_beside_dask(others)
        _check_output(save)
        from . import _dask

        _dask.fit(data, target, save, drop or [], dask, json)
        return
    limit = seconds(time_limit)
    _check_output(save, Path(data), views)
    weight_by_class, decisions = (
        options.class_weight(class_weight),
        options.decisions(cost, threshold, reject, positive),
    )
    from ..tabular import read_table

    table = read_table(Path(data), encoding)
    table.column(target)  # a wrong name fails before the slow imports
    if not json:
        print_line(f"{data}: {count(len(table), 'row')}, {count(len(table.columns), 'column')}")
    from .. import save as save_model
    from ..tabular import TableModel

    status = FitStatus(limit)
    model = TableModel(
        target,
        order=_order(ordinal),
        regress=regress,
        unlabelled=unlabelled,
        weights=weights,
        views=None if views is None else _view_columns(views),
        groups=groups,
        time=time,
        drop=drop or (),
        keep=keep or (),
        category=category or (),
        engine=engine,
        time_limit=limit,
        class_weight=weight_by_class,
        **vars(decisions),
    ).fit(table, callback=status, on_estimate=status.expect)
    print_notes(model.notes_)
    if not json:
        tables.show_model(model)
    saved = None
    try:
        saved = None if save is None else save_model(model, save)
    finally:  # print the scores even if saving failed
        if json:
            print_json(_summary(model) | {"saved": None if saved is None else str(saved)})
    if json:
        return
    if saved is None:
        print_line("not saved; --save model.gpclass saves the model")
    else:
        size, name = saved.stat().st_size / 1e6, shlex.quote(str(saved))
        print_line(f"saved as {saved} ({size:.1f} MB); next: gpclass predict {name} NEW.csv --out predictions.csv")


def predict(
    model: ModelFile,
    data: TableFiles,
    save: Annotated[
        Path | None, _option("CSV or Parquet file; default: standard output.", "--out", "-o", metavar="FILE")
    ] = None,
    sets: Annotated[
        float | None,
        _option(
            "Add a column 'set': labels such as a|b that contain the true one in this fraction of rows, such as 0.9.",
            "--sets",
            metavar="COVERAGE",
        ),
    ] = None,
    only_predictions: Annotated[
        bool, _option("Do not copy identifier columns to the predictions.", "--only-predictions")
    ] = False,
    cost: options.Cost = None,
    threshold: options.Threshold = None,
    reject: options.Reject = None,
    positive: options.Positive = None,
    encoding: Encoding = None,
    dask: Dask = None,
    json: AsJson = False,
) -> None:
    """Predict the rows of a table.

    Writes for each row the predicted label, the probability of every label, the entropy in nats (a fair coin has 0.69)
    with its epistemic part (reducible by more data) and its aleatoric part, the similarity to the most similar training
    row, and whether the row is far from the training rows (less similar than 99 % of them are to each other). For
    regression: mean and standard deviation, split in the same way. Identifier columns come first.

    With costs or a threshold, given here or in 'gpclass fit', the column 'decision' contains the label with the lowest
    expected cost, or 'ask' if a person should decide, and 'expected_cost' its expected cost.

    With --dask, for a model fitted with --dask: writes labels and probabilities to a folder of Parquet files.
    """
    if dask is not None:
        others: dict[str, Any] = {"--encoding": encoding, "--sets": sets is not None, "--cost": cost}
        others |= {"--only-predictions": only_predictions, "--threshold": threshold}
        _refuse_beside_dask(others | {"--reject": reject is not None, "--positive": positive})
        from . import _dask

        _dask.predict(model, data, save, dask, json)
        return
    _check_output(save, Path(data), model)
    decisions = options.decisions(cost, threshold, reject, positive)
    from ..tabular import read_table

    table = read_table(Path(data), encoding)
    loaded = _load(model)
    frame, notes = loaded.frame(table)
    predictions = loaded.predictions_of_frame(frame, sets, decisions)
    columns: dict[str, Any] = {table.unit: table.positions}
    for name in () if only_predictions else loaded.identifiers(table):
        taken = name in predictions or name == table.unit
        columns[f"{name} (of the table)" if taken else name] = table.columns[name]
    columns |= predictions
    print_notes(notes)
    if save is None and json:
        print_json({"predictions": columns, "notes": notes})
        return
    if save is None:
        write_stdout(_csv(columns))
        return
    import pandas as pd

    from ..io.files import write_whole

    parquet = save.suffix.lower() == ".parquet"
    write_whole(save, pd.DataFrame(columns).to_parquet() if parquet else _csv(columns))
    far = list(predictions["far"]).count("yes")
    if json:
        print_json({"rows": len(table), "far": far, "out": str(save), "notes": notes})
        return
    print_line(f"{count(len(table), 'prediction')} in {save}")
    if far:
        print_line(f"rows far from the training rows (column 'far'), with unreliable predictions: {far}", "yellow")


def evaluate(
    model: ModelFile,
    data: TableFile,
    cost: options.Cost = None,
    threshold: options.Threshold = None,
    reject: options.Reject = None,
    positive: options.Positive = None,
    encoding: Encoding = None,
    json: AsJson = False,
) -> None:
    """Score a model on labelled rows: error, log loss, ROC AUC, calibration, recall and precision of each label.

    With costs or a threshold, given here or in 'gpclass fit', also prints the mean cost of the decisions, and that of
    the best single decision for all rows. Recall, precision and the confusion matrix are then those of the decisions.
    """
    decisions = options.decisions(cost, threshold, reject, positive)
    from ..tabular import read_table

    loaded = _load(model)
    scores, predicted, notes = loaded.evaluate(read_table(data, encoding), decisions)
    print_notes(notes)
    from ..tabular.evaluation import MANY_CLASSES, confusion, remarks

    counts = confusion(**predicted).tolist() if loaded.labels else None
    if json:
        said = remarks(scores)
        print_json({"scores": scores, "confusion": counts, "classes": loaded.labels, "remarks": said, "notes": notes})
        return
    tables.show_scores(scores, f"{count(scores['rows'], 'row')} of {data}", loaded.labels)
    if counts and len(loaded.labels) < MANY_CLASSES:
        tables.show_confusion(loaded.labels, counts, "rule" in scores)


def card(
    model: ModelFile,
    save: Annotated[
        Path | None, _option("HTML file; default: next to the model.", "--out", "-o", metavar="FILE")
    ] = None,
    without_rows: Annotated[bool, _option("Show no rows of the table, for a page to share.", "--without-rows")] = False,
    json: AsJson = False,
) -> None:
    """Write an HTML page about a model: scores, reliability, confusion matrix, influence of columns, rows to inspect.

    The page is one self-contained file. It shows some rows of the table, unless --without-rows is given.
    """
    path = save or (model.with_suffix(".html") if model.suffix == ".gpclass" else Path(f"{model}.html"))
    _check_output(path, model)
    from ..io.files import write_whole
    from ..tabular.card import card as make_card

    with working("writing the page"):
        page = make_card(_load(model), model.name, rows=not without_rows)
    write_whole(path, page)
    if json:
        print_json({"out": str(path)})
    else:
        print_line(f"wrote {path}")


def _refuse_beside_dask(options: Mapping[str, Any]) -> None:
    given = [name for name, value in options.items() if value]
    if given:
        raise fail(f"{given[0]} cannot be combined with --dask", 2)


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
        raise fail(f"{path} is not TOML ({error}); {example}") from None
    given = content.get("views", content)
    if not isinstance(given, Mapping) or not given:
        raise fail(f"{path}: {example}, got none")
    views = {}
    for name, patterns in given.items():
        patterns = [patterns] if isinstance(patterns, str) else patterns
        if not (isinstance(patterns, list) and patterns and all(isinstance(pattern, str) for pattern in patterns)):
            raise fail(f"{path}, view {name!r}: {example}, got {patterns!r}")
        views[name] = patterns
    return views


def _check_output(path: Path | None, *inputs: Path | None) -> None:
    """Fail before a long computation if a file cannot be written, or would overwrite an input."""
    if path is None:
        return
    try:
        target = path.resolve()
        if path.is_dir():
            raise fail(f"Cannot save {path}: it is a folder", 2)
        if not target.parent.is_dir():
            raise fail(f"Cannot save {path}: folder {target.parent} does not exist", 2)
        if any(given is not None and given.resolve() == target for given in inputs):
            raise fail(f"Cannot save {path}: the command reads it", 2)
        if not path.exists() or path.is_file():  # not beside a device or a pipe
            tempfile.TemporaryFile(dir=target.parent).close()
    except typer.Exit:  # a RuntimeError
        raise
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before Python 3.13
        reason = getattr(error, "strerror", None) or "a loop of links"
        raise fail(f"Cannot save {path}: {reason}", 2) from None


def _load(path: Path) -> TableModel:
    from .. import load
    from ..tabular import TableModel

    model = load(path)
    if not isinstance(model, TableModel):
        raise fail(f"expected a model saved by 'gpclass fit' in {path}, got a {type(model).__name__}")
    return model


def _csv(columns: Mapping[str, Any]) -> str:
    """Regression predictions have twelve digits, other numbers six; probabilities near 1 as many as those near 0."""
    import pandas as pd

    from ..tabular.tables import probability_text

    def cell(name: str, value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return probability_text(value) if name.startswith("p_") else f"{value:.{12 if name == 'prediction' else 6}g}"

    texts = {name: [cell(name, value) for value in values] for name, values in columns.items()}
    return pd.DataFrame(texts).to_csv(index=False, lineterminator="\n")


def _summary(model: TableModel) -> dict[str, Any]:
    from ..tabular.evaluation import remarks

    return {
        "target": model.target,
        "task": model.task_,
        "classes": model.labels,
        "estimator": type(model.estimator_).__name__,
        "how": model.how_,
        "scores": model.scores_,
        "remarks": remarks(model.scores_),
        "other_scores": model.other_scores_,
        "columns": [
            {"column": column.name, "kind": column.kind, "missing": column.n_missing, "about": column.summary()}
            for column in model.schema_.columns
        ],
        "about": model.about_,
        "notes": model.notes_,
    }
