"""Explanation of one prediction: contributions of the columns, and the training rows behind it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .evaluation import evenly_spaced, unknown_categories_ignored
from .explanation import predictions
from .model import TableModel
from .shapley import Game, ShapleyValues, exact, sampled
from .tables import Table, TableError, from_frame

#: Up to so many columns all coalitions are predicted; of more columns, orders are sampled.
EXACT_COLUMNS = 8
#: Background rows; with very many columns fewer, but no less than the second number.
_BACKGROUND, _FEWEST = 80, 20
#: Predictions for one explanation, which determine the number of sampled orders, at least two for each background row.
_BUDGET = 10240
#: Predictions at a time.
_BATCH = 4096


def explain_row(model: TableModel, row: Any, random_state: int = 0) -> dict[str, Any]:
    """Why a row is predicted as it is: ``columns``, largest contribution first, and the training ``rows`` behind it.

    Contributions are Shapley values of the probability of the predicted label (of the predicted number in regression)
    against a background of rows that the model keeps. They add up to the prediction minus ``base``, the mean prediction
    of the background. Up to eight columns they are exact, else they have standard errors.

    The latent mean of the row is a sum over training rows: ``share`` is a row's term as a fraction of all terms'
    absolute values, positive where the row speaks for the predicted label (with ordered labels: for higher ones, in
    regression: for higher values). Models that keep no training rows list none.

    Parameters
    ----------
    model : fitted ``TableModel``
    row : data frame or ``Table`` with one row
    random_state : int
    """
    check_is_fitted(model)
    table = row if isinstance(row, Table) else from_frame(row)
    if len(table) != 1:
        raise TableError(f"expected one row to explain, got {len(table)}")
    raw, notes = model.schema_.frame(table, imputed=model.imputer_.views is None)
    proba_or_mean = predictions(model, raw)[0]
    predicted = None if model.task_ == "regression" else int(np.argmax(proba_or_mean))
    values = _shapley_values(model, raw, predicted, random_state)
    names = [str(name) for name in raw.columns]
    columns: list[dict[str, Any]] = [
        {"column": name, "cell": table.columns[name][0], "contribution": float(phi), "contribution_se": float(error)}
        for name, phi, error in zip(names, values.contributions, values.errors, strict=True)
    ]
    columns.sort(key=lambda column: -abs(column["contribution"]))
    label = None if predicted is None else model.classes_.tolist()[predicted]
    return {
        "position": table.positions[0],
        "unit": table.unit,
        "prediction": values.value if predicted is None else label,
        "explained": model.target if predicted is None else f"probability of {model.labels[predicted]}",
        "value": values.value,
        "base": values.base,
        "background_rows": _n_background(len(names), len(model.sample_)),
        "exact": len(names) <= EXACT_COLUMNS,
        "columns": columns,
        "rows": _training_rows(model, raw, predicted),
        "notes": notes,
    }


def kept_row(model: TableModel, position: int) -> Table:
    """A row of the training table by its line or row number, of those that the model keeps."""
    sample = model.sample_
    if position in sample.positions:
        return sample.subset([sample.positions.index(position)])
    for row in (*model.surprising_, *model.informative_):
        if row["position"] == position:
            cells = {name: [cell] for name, cell in row["cells"].items()}
            return Table(sample.path, cells, [position], sample.unit, sample.decimal_comma, typed=sample.typed)
    shown = ", ".join(map(str, sample.positions[:5]))
    raise TableError(
        f"expected a {sample.unit} among the {len(sample)} that the model keeps ({shown}, ...), got {position}; "
        "for other rows give the table, on the command line with --data"
    )


def row_of(table: Table, position: int) -> Table:
    """A row of a table by its line or row number."""
    if position not in table.positions:
        first, last = table.positions[0], table.positions[-1]
        raise TableError(f"expected a {table.unit} of {table.path} from {first} to {last}, got {position}")
    return table.subset([table.positions.index(position)])


def _n_background(n_columns: int, n_kept: int) -> int:
    most = _BACKGROUND if n_columns <= EXACT_COLUMNS else _BUDGET // (4 * n_columns)
    return min(n_kept, max(_FEWEST, min(_BACKGROUND, most)))


def _shapley_values(model: TableModel, raw: Any, predicted: int | None, random_state: int) -> ShapleyValues:
    kept, _ = model.schema_.frame(model.sample_)
    p = raw.shape[1]
    background = kept.iloc[evenly_spaced(len(kept), _n_background(p, len(kept)))]

    def predict(rows: Any) -> np.ndarray:
        found = predictions(model, rows)
        return found if predicted is None else found[:, predicted]

    game, n = _game(predict, raw, background), len(background)
    if p <= EXACT_COLUMNS:
        return exact(game, p, n)
    n_rounds = max(2, _BUDGET // (2 * p * n))
    return sampled(game, p, n, n_rounds, np.random.default_rng(random_state))


def _game(predict: Callable[[Any], np.ndarray], raw: Any, background: Any) -> Game:
    """Predictions of rows between the one in ``raw`` and those of the background. Each different row is predicted once:
    a column in which the two rows agree does not matter."""
    import pandas as pd

    others = {name: background[name].to_numpy() for name in background.columns}
    own = {name: raw[name].to_numpy()[:1] for name in raw.columns}
    same = [(others[name] == own[name]) | (pd.isna(others[name]) & pd.isna(own[name])) for name in raw.columns]
    differs = ~np.column_stack(same).astype(bool)

    def game(coalitions: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        keys = np.column_stack([numbers, np.packbits(coalitions & differs[numbers], axis=1)])
        _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        found = np.empty(len(first))
        for start in range(0, len(first), _BATCH):
            rows = first[start : start + _BATCH]
            mixed = {
                name: np.where(coalitions[rows, j], own[name], others[name][numbers[rows]])
                for j, name in enumerate(raw.columns)
            }
            found[start : start + len(rows)] = predict(pd.DataFrame(mixed))
        return found[which.ravel()]

    return game


def _training_rows(model: TableModel, raw: Any, predicted: int | None) -> list[dict[str, Any]]:
    """The training rows whose terms add up to the latent mean of the row, largest first; none without such terms."""
    estimator = model.estimator_
    if not hasattr(estimator.posterior_, "latent_terms"):
        return []
    with unknown_categories_ignored():
        found = estimator.posterior_.latent_terms(estimator._rows(model.imputer_.transform(raw)))
    n_latent = found.terms.shape[1]
    if n_latent > 1:
        terms = found.terms[:, predicted]
    else:  # two classes: positive values speak for the second; ordered classes and regression: for higher ones
        terms = found.terms[:, 0] * (-1.0 if predicted == 0 and model.task_ != "ordinal" else 1.0)
    shares = terms / max(np.abs(terms).sum(), 1e-300)
    positions, targets = (model.training_[name][found.rows] for name in ("positions", "targets"))
    regression = model.task_ == "regression"
    return [
        {
            "position": int(positions[i]),
            "unit": model.sample_.unit,
            "target": float(targets[i]) if regression else model.labels[targets[i]] if targets[i] >= 0 else None,
            "share": float(shares[i]),
        }
        for i in np.argsort(-np.abs(shares), kind="stable")
    ]
