"""Which rows to label next: the most informative ones of a pool, chosen jointly.

A row is worth how uncertain its label is ("margin", "entropy"), or what the label is expected to tell about the latent
functions, I(y; f) ("bald", Houlsby et al. 2011). Rows of a batch should not tell the same. So the rows are chosen one
after the other, each given Gaussian observations in the place of the labels of those before it
(``evaluation.observations``): the score of a row is its own, less that by which the observations lower its measure of
uncertainty on average. For the entropy that is their mutual information with its label.

Given f, labels and observations are independent, so the entropy falls further with every row chosen: an earlier score
bounds the present one from above, and the entropy bounds I(y; f). Only rows whose bound reaches above the best score
are scored anew (Minoux 1978).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np

from ..inference.posteriors import members_of
from ..kernels.rows import Rows, select
from ..numerics.arrays import to_host
from .observations import DRAWS, Measure, expected_measure, latent_moments, mixed, shift_by, site_roots
from .uncertainty import entropy, expected_entropy, max_correlation, require_classifier

#: Of larger pools bounds come from this many points for several latent functions.
_MANY_ROWS, _FEW_DRAWS = 2000, 8
#: Rows scored at a time, first and later.
_FIRST_ROWS, _MOST_ROWS = 16, 4096
#: Scores (m,) of some rows of the pool, and their upper bounds.
Scorer = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def query(model: Any, X_pool: Any, n: int = 10, strategy: str = "margin", *, return_scores: bool = False) -> Any:
    """Rows of a pool whose labels would tell most, the most informative first.

    The rows are chosen one after the other. Each is scored given those before it, whose labels are still unknown, so
    of equal or similar rows one is chosen before the others.

    Parameters
    ----------
    model : a fitted classifier of gpclass with one posterior
    X_pool : array-like or data frame of shape (m, n_features)
        Rows without label. 100,000 rows need little more memory than they take themselves.
    n : int, default=10
        Number of rows to choose, at most m.
    strategy : "margin", "entropy" or "bald", default="margin"
        What a label is worth: 1 less the difference of the two largest probabilities; the entropy of the label, in
        nats; or the mutual information of label and latent functions, in nats, which ignores noise of the labels. For
        two classes the first two choose nearly the same rows.
    return_scores : bool, default=False
        Whether to return the scores as well.

    Returns
    -------
    indices : ndarray of shape (n,)
        Positions in the pool. Equal scores keep the order of the pool.
    scores : ndarray of shape (n,), only with ``return_scores``
        Of each row, given the rows before it.

    Notes
    -----
    Nearest-neighbour models have no covariances between rows. There a score is multiplied by 1 - r^2, where r is the
    largest correlation with a chosen row under the kernel. Integrals for three classes or more have errors of some
    hundredths of a nat.

    Examples
    --------
    >>> import gpclass
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gpclass.GPClassifier("matern").fit(X[::10], y[::10])
    >>> gpclass.query(model, X, n=3).shape
    (3,)
    """
    require_classifier(model)
    if strategy not in _MEASURES:
        raise ValueError(f"expected a strategy among {', '.join(map(repr, _MEASURES))}, got {strategy!r}")
    rows = model._rows(X_pool)
    if not isinstance(n, Integral) or isinstance(n, bool) or not 1 <= n <= rows.shape[0]:
        raise ValueError(f"expected n between 1 and the {rows.shape[0]} rows of the pool, got {n!r}")
    pool = _Candidates(model, rows, _MEASURES[strategy], informative=strategy == "bald")
    indices, scores = lazy_greedy(pool.scorer, pool.bounds(), int(n))
    return (indices, scores) if return_scores else indices


def lazy_greedy(scorer: Callable[[list[int]], Scorer], bounds: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows and their scores, each the best given those before.

    ``scorer(chosen)`` scores rows given those chosen; ``bounds`` (m,) are above all scores.
    """
    bounds = bounds.copy()
    chosen: list[int] = []
    scores: list[float] = []
    for _ in range(n):
        score, found = scorer(chosen), np.full(len(bounds), -np.inf)
        order = np.argsort(-bounds, kind="stable")[: len(bounds) - len(chosen)]
        start, size = 0, _FIRST_ROWS
        while start < len(order) and bounds[order[start]] > found.max():
            rows = order[start : start + size]
            found[rows], bounds[rows] = score(rows)
            start, size = start + size, min(2 * size, _MOST_ROWS)
        best = int(np.argmax(found))
        chosen.append(best)
        scores.append(found[best])
        bounds[best] = -np.inf
    return np.array(chosen), np.array(scores)


class _Candidates:
    """Rows of a pool, and how much the label of each would tell."""

    def __init__(self, model: Any, rows: Any, measure: Measure, informative: bool) -> None:
        self.model, self.rows, self.measure, self.informative = model, rows, measure, informative
        members = members_of(model.posterior_, model.likelihood_)
        self.members = [member._replace(calibration=member.calibration or model.calibration_) for member in members]
        self.proba = np.concatenate([model._proba(select(rows, block)) for block in _blocks(rows.shape[0])])
        self._aleatoric = np.full(len(self.proba), np.nan)

    def bounds(self) -> np.ndarray:
        """Upper bounds (m,) of all scores; of a large pool, scores by a few points."""
        values, bounds = self.measure(self.proba)
        if not (self.informative and len(values) > _MANY_ROWS):
            return bounds
        parts = [
            expected_entropy(self.model, select(self.rows, block), values[block], _FEW_DRAWS)
            for block in _blocks(len(values))
        ]
        return values - np.concatenate(parts)

    def scorer(self, chosen: list[int]) -> Scorer:
        """Scores given the rows that are chosen."""
        by_similarity = hasattr(self.model.posterior_, "nearest_correlation")
        fall = self._fall(chosen) if chosen and not by_similarity else None

        def score(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            at = select(self.rows, places)
            both = np.stack(self.measure(self.proba[places])) - self._expected_entropy(places)
            if fall is not None:
                both = both - np.concatenate([fall(select(at, block)) for block in _blocks(len(places))], axis=1)
            elif chosen:
                both = both * (1.0 - max_correlation(self.model.kernel_, at, select(self.rows, chosen)) ** 2)
            # A person gives copies of a row the same label.
            both[:, self._copies(at, chosen)] = 0.0
            scores, bounds = np.maximum(both, 0.0)
            return scores, bounds

        return score

    def _copies(self, at: Any, chosen: list[int]) -> np.ndarray:
        """Which rows (m,) are equal to one that is chosen."""
        found = np.zeros(at.shape[0], dtype=bool)
        if not isinstance(at, Rows):  # Gram matrices may tell rows with equal features apart
            X = to_host(at)
            for row in to_host(select(self.rows, chosen)):
                found |= np.all((row == X) | (np.isnan(row) & np.isnan(X)), axis=1)  # a view that neither has
        return found

    def _expected_entropy(self, places: np.ndarray) -> np.ndarray:
        """Of labels given the latent functions: what bald leaves out. Once for each row."""
        if not self.informative:
            return np.zeros(len(places))
        new = places[np.isnan(self._aleatoric[places])]
        if len(new):
            total = self.measure(self.proba[new])[0]
            self._aleatoric[new] = expected_entropy(self.model, select(self.rows, new), total, DRAWS)
        return self._aleatoric[places]

    def _fall(self, chosen: list[int]) -> Callable[[Any], np.ndarray]:
        """How far the measure and its bound (2, m) of rows fall by observations of the rows that are chosen."""
        at = select(self.rows, chosen)
        shifts = [shift_by(member, at, site_roots(member, *latent_moments(member, at))) for member in self.members]

        def fall(X: Any) -> np.ndarray:
            latents = [latent_moments(member, X) for member in self.members]
            before = mixed(self.members, latents)
            after = expected_measure(self.measure, self.members, latents, [shift(X) for shift in shifts])
            return np.stack(self.measure(before)) - after

        return fall


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, _MOST_ROWS):
        yield slice(start, min(start + _MOST_ROWS, n_rows))


def _entropies(proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values = entropy(proba)
    return values, values


def _margins(proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 - (p_1 - p_2) is no concave function of p, but at most 2 (1 - p_1), which is."""
    second, first = np.partition(proba, -2, axis=1)[:, -2:].T
    return 1.0 - (first - second), 2.0 * (1.0 - first)


_MEASURES: dict[str, Measure] = {"margin": _margins, "entropy": _entropies, "bald": _entropies}
