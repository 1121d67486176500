"""Which rows to label next: the most informative ones of a pool, chosen jointly.

A row is worth what its label is expected to tell about the latent functions, I(y; f) ("bald"), or how uncertain the
label is ("entropy", "margin"). Rows of a batch should not tell the same, but the labels of those chosen are not known
yet. In the place of each stands a Gaussian observation of its latent values with precision

    T = F (I - V F)^-1,    F = sum_y p(y) g_y g_y',    g_y = d log p(y) / d mean,

for latent covariance V. This is the site of assumed density filtering (LPJ05 eqs 17-18) with the expected F in place of
that of one label: sum_y d2 p(y) / d mean2 = 0, so V - V F V is the covariance that the label leaves on average. It does
not depend on the label, so the covariance of any other row i falls by a known P_i P_i' (LPJ05 eqs 9-12), and its mean
will move by N(0, P_i P_i'). Of the measure of uncertainty h what then remains on average is

    E_u h(p(y_i | mean_i + P_i u, V_i - P_i P_i')),    u ~ N(0, I),

and the score of row i is its own, less that by which h falls. For the entropy the fall is I(y_i; observations).

Given f, labels and observations are independent, so the entropy falls further with every row chosen: an earlier score
bounds the present one from above, and the entropy bounds I(y; f). Only rows whose bound reaches above the best score
are scored anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from scipy.stats import norm, qmc

from ..inference.base import Latent
from ..inference.posteriors import Member, members_of, row_blocks
from ..kernels.rows import Rows, select
from ..numerics import linalg
from ..numerics.arrays import to_host
from .uncertainty import entropy, expected_entropy, max_correlation, require_classifier

#: Points for integrals over several latent functions, and on a grid of this width for one.
_DRAWS, _NODES, _WIDTH = 64, 129, 5.5
#: Of larger pools bounds come from this many points for several latent functions.
_MANY_ROWS, _FEW_DRAWS = 2000, 8
#: Rows scored at a time, first and later.
_FIRST_ROWS, _MOST_ROWS = 64, 4096
#: Step of differences in standard deviations, and the largest share of the variance that a label can take away.
_STEP, _MOST = 1e-2, 1.0 - 1e-9

#: The uncertainty (m,) of labels with probabilities (m, K), and an upper bound of what it is once more is known.
Measure = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
#: Scores (m,) of some rows of the pool, and their upper bounds.
Scorer = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def query(model: Any, X_pool: Any, n: int = 10, strategy: str = "bald", *, return_scores: bool = False) -> Any:
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
    strategy : "bald", "entropy" or "margin", default="bald"
        What a label is worth: the mutual information of label and latent functions, in nats, which ignores noise of the
        labels; the entropy of the label, in nats; or 1 less the difference of the two largest probabilities. For two
        classes the last two differ little.
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
    pool = _Pool(model, rows, _MEASURES[strategy], informative=strategy == "bald")
    indices, scores = lazy_greedy(pool.scorer, pool.bounds(), int(n))
    return (indices, scores) if return_scores else indices


def lazy_greedy(scorer: Callable[[list[int]], Scorer], bounds: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows and their scores, each the best given those before (Minoux 1978).

    ``scorer(chosen)`` scores rows given those chosen; ``bounds`` (m,) are above all scores.
    """
    bounds, chosen, scores = bounds.copy(), [], []
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


class _Pool:
    """Rows of a pool, and how much the label of each would tell."""

    def __init__(self, model: Any, rows: Any, measure: Measure, informative: bool) -> None:
        self.model, self.rows, self.measure, self.informative = model, rows, measure, informative
        members = members_of(model.posterior_, model.likelihood_)
        self.members = [member._replace(calibration=member.calibration or model.calibration_) for member in members]
        self.proba = np.concatenate([model._proba(select(rows, block)) for block in _blocks(rows.shape[0])])
        self._aleatoric = np.full(len(self.proba), np.nan)
        self._site_roots: dict[int, list[np.ndarray]] = {}

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
                found |= np.all(row == X, axis=1)
        return found

    def _expected_entropy(self, places: np.ndarray) -> np.ndarray:
        """Of labels given the latent functions: what bald leaves out. Once for each row."""
        if not self.informative:
            return np.zeros(len(places))
        new = places[np.isnan(self._aleatoric[places])]
        if len(new):
            total = self.measure(self.proba[new])[0]
            self._aleatoric[new] = expected_entropy(self.model, select(self.rows, new), total, _DRAWS)
        return self._aleatoric[places]

    def _fall(self, chosen: list[int]) -> Callable[[Any], np.ndarray]:
        """How far the measure and its bound (2, m) of rows fall by observations of the rows that are chosen."""
        at = select(self.rows, chosen)
        for row in chosen:
            if row not in self._site_roots:
                own = select(self.rows, [row])
                self._site_roots[row] = [_site_root(member, *_latent(member, own)) for member in self.members]
        roots = [np.stack([self._site_roots[row][s] for row in chosen]) for s in range(len(self.members))]
        shifts = [_shift(member, at, part) for member, part in zip(self.members, roots, strict=True)]

        def fall(X: Any) -> np.ndarray:
            latents = [_latent(member, X) for member in self.members]
            before = _mixed(self.members, latents)
            after = _expected_measure(self.measure, self.members, latents, [shift(X) for shift in shifts])
            return np.stack(self.measure(before)) - after

        return fall


def _latent(member: Member, X: Any) -> Latent:
    """Calibrated means (m, C) and covariances (m, C, C)."""
    assert member.calibration is not None
    mean, cov = member.calibration(*member.posterior.latent(X))
    return Latent(mean, cov if cov.ndim == 3 else cov[:, :, None] * np.eye(cov.shape[1]))


def _predicted(member: Member, mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """Probabilities (m, K) of labels for calibrated latent moments."""
    assert member.calibration is not None
    log_p = member.likelihood.predict_log(mean, cov[:, :, 0] if mean.shape[1] == 1 else cov)
    p = np.exp(member.calibration.mixed(log_p, log_p.shape[1]))
    return p / p.sum(axis=1, keepdims=True)


def _mixed(members: list[Member], latents: list[Latent]) -> np.ndarray:
    parts = [member.weight * _predicted(member, *latent) for member, latent in zip(members, latents, strict=True)]
    return np.sum(parts, axis=0)


def _site_root(member: Member, mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """R (C, C) with R R' = T = F (I - V F)^-1 = Q (I - Q' V Q)^-1 Q' for one row, where F = Q Q'."""
    C = mean.shape[1]
    steps = _STEP * np.sqrt(np.maximum(np.diagonal(cov[0]), _STEP**4))
    moved = np.concatenate([mean + np.diag(steps), mean - np.diag(steps), mean])
    p = _predicted(member, moved, np.repeat(cov, 2 * C + 1, axis=0))
    Q = (p[:C] - p[C : 2 * C]) / (2.0 * steps[:, None] * np.sqrt(p[2 * C]))
    share, U = np.linalg.eigh(Q.T @ cov[0] @ Q)
    half = Q @ U / np.sqrt(1.0 - np.clip(share, 0.0, _MOST))
    return _symmetric_root(half @ half.T)


def _shift(member: Member, at: Any, roots: np.ndarray) -> Callable[[Any], np.ndarray]:
    """P (m, C, k C) for new rows and the site roots (k, C, C) of k observed ones: V_xs R L^-T with L L' = I + R' V_ss
    R."""
    assert member.calibration is not None
    scale, covariances = member.calibration.variance_scale, member.posterior.covariances_with(at)
    k, C = roots.shape[:2]

    def projected(X: Any) -> np.ndarray:
        return np.einsum("mckd,kde->mcke", scale * covariances(X), roots, optimize=True)

    B = np.eye(k * C) + np.einsum("kdc,kdme->kcme", roots, projected(at), optimize=True).reshape(k * C, k * C)
    L = linalg.cholesky(0.5 * (B + B.T))

    def shift(X: Any) -> np.ndarray:
        return linalg.solve_triangular(L, projected(X).reshape(-1, k * C).T).T.reshape(-1, C, k * C)

    return shift


def _expected_measure(
    measure: Measure, members: list[Member], latents: list[Latent], shifts: list[np.ndarray]
) -> np.ndarray:
    """The measure and its bound (2, m) as they will be on average; all members move by the same u."""
    m, C = latents[0].mean.shape
    u, weights = _standard_normal(C)
    found = np.empty((2, m))
    for block in row_blocks(m, u.size * C):
        moved = []
        for latent, P in zip(latents, shifts, strict=True):
            drop = P[block] @ np.swapaxes(P[block], 1, 2)
            rest = latent.cov[block] - drop
            # Rounding: a label cannot take away all of a variance.
            rest += (1.0 - _MOST) * np.trace(latent.cov[block], axis1=1, axis2=2)[:, None, None] * np.eye(C)
            means = latent.mean[block, None] + u @ _symmetric_root(drop)
            moved.append(Latent(means.reshape(-1, C), np.repeat(rest, len(u), axis=0)))
        found[:, block] = np.stack(measure(_mixed(members, moved))).reshape(2, -1, len(u)) @ weights
    return found


def _standard_normal(C: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (S, C) and weights (S,) of averages over N(0, I)."""
    if C == 1:
        u = np.linspace(-_WIDTH, _WIDTH, _NODES)
        return u[:, None], norm.pdf(u) / norm.pdf(u).sum()
    return norm.ppf(qmc.Sobol(C, seed=0).random(_DRAWS)), np.full(_DRAWS, 1.0 / _DRAWS)


def _symmetric_root(A: np.ndarray) -> np.ndarray:
    """The symmetric square roots of positive semidefinite matrices (..., C, C)."""
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]) @ np.swapaxes(vectors, -1, -2)


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


_MEASURES: dict[str, Measure] = {"bald": _entropies, "entropy": _entropies, "margin": _margins}
