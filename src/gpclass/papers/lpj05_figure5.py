"""LPJ05 figure 5: Two crescents, a tenth of the rows with a label

The published rows (400, of which 37 have a label, from the authors' toolbox) make the figure; their other labels are
not known, so errors are counted on new rows of the same kind: 40 draws (8 in quick runs, seeds from 0 on) of 400 rows,
each with a label with probability 0.1, errors over all 400. Both models start at amplitude and length-scale 1 as in the
paper, whose start of the noise is not printed (here 0.1), with inputs standardised. The machine of labelled rows keeps
them all and learns by the evidence; the null-category model keeps at most 100 rows, as rows with a negative site
precision are left out, and learns by eight rounds of algorithm 2 with an exponential prior on variances, of which the
round that predicts the labels best is kept (15 rounds and the last in the paper). Near the boundary is nearer than 0.5;
the crescents' radius is 5. Of a model without any boundary all rows count as near.
"""

from itertools import product

import numpy as np
from scipy.spatial import cKDTree

from ..datasets import make_crescents
from ..estimators.ivm_classifier import IVMClassifier
from ..estimators.null_category_classifier import NullCategoryClassifier
from ..kernels import RBF, White
from .base import Claims, Figures, Quantities, Quantity, Records, Row, Rows, Size, Task
from .data import whole
from .figures import COLOURS, legend_below, panels

DATA = ("crescent",)
#: Rows, and rows that the null-category model kept.
N_ROWS, N_ACTIVE = 400, 100
MODELS = ("labelled rows alone", "null category")
#: Rows closer to the boundary than this count as near.
NEAR = 0.5
#: Initial kernel for inputs of unit variance, as published except for the noise, which is not printed.
START = 1.0 * RBF(1.0) + White(0.1)
#: Points of the grid in each direction.
GRID = 80


def tasks(size: Size) -> list[Task]:
    n_draws = {"tiny": 2, "quick": 8, "full": 40}[size]
    n_rows, n_active = (200, 60) if size == "tiny" else (N_ROWS, N_ACTIVE)
    drawn = [{"rows": "drawn", "seed": seed, "n_rows": n_rows, "n_active": n_active} for seed in range(n_draws)]
    return [{"rows": "published", "seed": 0, "n_rows": N_ROWS, "n_active": N_ACTIVE}, *drawn]


def crescents(rows: str, seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """X, y with -1 where there is no label, and the truth where it is known."""
    if rows == "drawn":
        return make_crescents(n_rows, random_state=seed)
    X, y = whole("crescent")
    return X, np.select([y < 0, y > 0], [0, 1], -1), None


def run(rows: str, seed: int, n_rows: int, n_active: int) -> Rows:
    X, y, truth = crescents(rows, seed, n_rows)
    known = np.flatnonzero(y >= 0)
    alone = IVMClassifier(START, standardize=True).fit(X[known], y[known])
    both = NullCategoryClassifier(START, n_active=n_active, standardize=True).fit(X, y)
    sides = [np.linspace(low - 1.0, high + 1.0, GRID) for low, high in zip(X.min(axis=0), X.max(axis=0), strict=True)]
    points = np.stack(np.meshgrid(*sides), axis=-1)
    for name, model, active in zip(MODELS, (alone, both), (known[alone.active_], both.active_), strict=True):
        latent = model.latent(points.reshape(-1, 2)).mean.reshape(GRID, GRID) + model.likelihood_.bias
        near = 100.0 * np.mean(distances(X, points, latent > 0.0) < NEAR)
        record = {"model": name, "near": near, "n_kept": len(active)}
        if truth is None:
            yield {**record, "X": X, "y": y, "active": active, "sides": sides, "latent": latent.round(3)}
        else:
            log_p = model.predict_log_proba(X)
            error = 100.0 * np.mean(log_p.argmax(axis=1) != truth)
            yield {**record, "error": error, "log_loss": -np.mean(log_p[np.arange(len(X)), truth])}


def distances(X: np.ndarray, points: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Distance of rows to the boundary between points of a grid (rows, columns, 2) that are above it and others."""
    across, along = above[:, 1:] != above[:, :-1], above[1:] != above[:-1]
    boundary = np.concatenate([(points[:, 1:] + points[:, :-1])[across], (points[1:] + points[:-1])[along]]) / 2.0
    return cKDTree(boundary).query(X)[0] if len(boundary) else np.full(len(X), np.inf)


def with_boundary(records: Records) -> Records:
    """Without a boundary no row is near one, so all rows of such a model are counted as near."""

    def has_boundary(row: Row) -> bool:
        if "latent" in row:
            return bool(np.min(row["latent"]) < 0.0 < np.max(row["latent"]))
        # No grid is kept of drawn rows. They are balanced: a model that predicts one class has an error of one half.
        return row["near"] > 0.0 or row["error"] < 50.0

    return Records(row if has_boundary(row) else {**row, "near": 100.0} for row in records)


def compare(records: Records) -> Quantities:
    records = with_boundary(records)
    columns = {"error": "error %", "log_loss": "log loss", "near": "% of rows near boundary"}
    for name, (key, column) in product(MODELS, columns.items()):
        yield records.where(rows="drawn", model=name).quantity(f"rows drawn, {name}", column, key, better="lower")
    for name in MODELS:
        published, row = records.where(rows="published", model=name)[0], f"published rows, {name}"
        yield Quantity(row, "rows kept", float(published["n_kept"]))
        yield Quantity(row, columns["near"], published["near"], better="lower")


def claims(records: Records) -> Claims:
    records = with_boundary(records)

    def lower(key: str, rows: str) -> bool:
        alone, both = (records.where(rows=rows, model=name).mean(key) for name in MODELS)
        return both < alone

    moved = all(lower("near", rows) for rows in ("published", "drawn"))
    return {
        "Rows without label lower the error of the labelled rows alone": lower("error", "drawn"),
        "Ours: rows without label lower the log loss of the labelled rows alone": lower("log_loss", "drawn"),
        "The null category leads the boundary to where rows are few, in the published rows and in new ones": moved,
    }


def draw(records: Records) -> Figures:
    figure, axes = panels(2, size=(4.6, 4.4), sharex=True, sharey=True)
    for ax, row in zip(axes, records.where(rows="published"), strict=True):
        X, y = np.array(row["X"]), np.array(row["y"])
        ax.plot(*X[y < 0].T, ".", ms=3, color="0.6", label="no label")
        ax.plot(*X[row["active"]].T, "o", ms=6, color="0.75", mec="0.4", mew=0.5, zorder=1, label="kept")
        ax.plot(*X[y == 0].T, "o", ms=8, mfc="none", mec=COLOURS[0], mew=1.8, label="one class")
        ax.plot(*X[y == 1].T, "x", ms=8, color=COLOURS[1], mew=1.8, label="the other")
        ax.contour(*row["sides"], row["latent"], [-0.5, 0.0, 0.5], colors="k", linestyles=[":", "-", ":"])
        ax.set_title(f"{row['model']}: {row['n_kept']} rows kept", fontsize="medium")
        ax.set(xlabel="first input", aspect="equal")
    axes[0].set_ylabel("second input")
    legend_below(figure, axes[1], 4)
    return {"boundaries": figure}
