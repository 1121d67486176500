"""How sure a model is, and why not: entropies, and how like the training rows a new row is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy
from scipy.stats import norm, qmc
from sklearn.utils.validation import check_is_fitted

from ..inference.posteriors import MixturePosterior, SeparatePosterior, members_of, row_blocks
from ..kernels import Kernel, PerClass
from ..likelihoods import Likelihood

#: Nodes for one latent function of small spread; for a larger one, steps of a grid in units of the noise.
_NODES, _SMALL, _STEP = 64, 2.0, 0.1
#: Points for several latent functions, and the entropy below which dividing it is not worth them.
_DRAWS, _NOTHING = 256, 1e-3


class EntropySplit(NamedTuple):
    """Entropy (m,) of predicted labels in nats: all of it, what more data could remove, and what would last."""

    total: np.ndarray
    epistemic: np.ndarray
    aleatoric: np.ndarray


def entropy_split(estimator: Any, X: Any, n_draws: int = _DRAWS, proba: Any = None) -> EntropySplit:
    """Split the entropy of each predicted label, H[E p(y|f)] = I(y; f) + E H[p(y|f)].

    Were the latent functions f known, by ever more rows near the new one, the labels would still be drawn from p(y|f):
    that entropy lasts. The rest, the mutual information of label and latent functions, is ignorance of f.

    Parameters
    ----------
    estimator : a fitted classifier of gpclass
    X : array-like or data frame of shape (m, n_features)
    n_draws : int
        Points for the integral over the latent functions of three classes or more; where those are wide, 256 know it to
        a tenth or so. Entropies below 0.001 count as aleatoric.
    proba : what ``predict_proba`` says of X, where it is at hand
    """
    _require_one_model(estimator)
    if not hasattr(estimator, "classes_"):
        raise TypeError(
            f"expected a classifier, got {type(estimator).__name__}; predict(X, return_std=True) for numbers"
        )
    total = _entropy(estimator.predict_proba(X) if proba is None else proba)
    rows = estimator._checked(X)
    lapse_rate = estimator.calibration_.lapse_rate
    # No row is surer than the share of lapses allows.
    least = _least_entropy(lapse_rate, len(estimator.classes_))
    aleatoric, unsure = total.copy(), total > least + _NOTHING
    aleatoric[unsure] = least
    for weight, posterior, likelihood in members_of(estimator.posterior_, estimator.likelihood_):
        mean, cov = estimator.calibration_(*posterior.latent(rows[unsure]))
        aleatoric[unsure] += weight * _expected_entropy(likelihood, mean, cov, n_draws, lapse_rate)
    aleatoric = np.minimum(aleatoric, total)
    return EntropySplit(total, total - aleatoric, aleatoric)


def _require_one_model(estimator: Any) -> None:
    check_is_fitted(estimator)
    if not hasattr(estimator, "posterior_"):
        inner = " (its estimator_ is one)" if hasattr(estimator, "estimator_") else ""
        raise TypeError(f"expected a model with one posterior, got {type(estimator).__name__}{inner}")


def _entropy(proba: np.ndarray) -> np.ndarray:
    return -xlogy(proba, proba).sum(axis=1)


def _least_entropy(lapse_rate: float, n_classes: int) -> float:
    """H of a label that is known but for lapses."""
    proba = np.full((1, n_classes), lapse_rate / n_classes)
    proba[0, 0] += 1.0 - lapse_rate
    return float(_entropy(proba)[0])


def _expected_entropy(
    likelihood: Likelihood, mean: np.ndarray, cov: np.ndarray, n_draws: int, lapse_rate: float = 0.0
) -> np.ndarray:
    """E H[p(y|f)] (m,) over f ~ N(mean, cov), latent functions independent (m, C) or not (m, C, C), less the entropy
    that lapses leave everywhere."""
    if not len(mean):
        return np.zeros(0)
    if mean.shape[1] == 1:
        return _along_one(likelihood, mean[:, 0], np.sqrt(cov.reshape(len(mean))), lapse_rate)
    # The same points for every row: what differs between rows is then no chance.
    z = norm.ppf(qmc.Sobol(mean.shape[1], seed=0).random(n_draws))
    half = None
    if cov.ndim == 3:
        values, vectors = np.linalg.eigh(cov)
        half = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    found = np.zeros(len(mean))
    for block in row_blocks(len(mean), z.size):
        off = np.sqrt(cov[block]) * z[:, None, :] if half is None else np.einsum("nij,sj->sni", half[block], z)
        f = (mean[block] + off).reshape(-1, mean.shape[1])
        found[block] = _given(likelihood, f, lapse_rate).reshape(len(z), -1).mean(axis=0)
    return found


def _given(likelihood: Likelihood, f: np.ndarray, lapse_rate: float) -> np.ndarray:
    """H[p(y|f)] where the latent values are known, less what lapses leave everywhere."""
    proba = likelihood.predict(f, np.zeros_like(f))
    K = proba.shape[1]
    return _entropy((1.0 - lapse_rate) * proba + lapse_rate / K) - _least_entropy(lapse_rate, K)


def _along_one(likelihood: Likelihood, mean: np.ndarray, sd: np.ndarray, lapse_rate: float) -> np.ndarray:
    """The same over one latent value: by Gauss and Hermite where it is narrow. Where it is wide, their nodes would
    miss the boundary, about which alone there is entropy; a grid over the boundary does not."""
    found = np.zeros(len(mean))
    narrow = sd <= _SMALL
    if np.any(narrow):
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        f = mean[narrow, None] + sd[narrow, None] * nodes
        found[narrow] = _given(likelihood, f.reshape(-1, 1), lapse_rate).reshape(f.shape) @ (weights / weights.sum())
    wide = np.flatnonzero(~narrow)
    if len(wide):
        low, high = np.min(mean[wide] - 9 * sd[wide]), np.max(mean[wide] + 9 * sd[wide])
        grid = np.arange(low, high + _STEP, _STEP)
        entropy = _given(likelihood, grid[:, None], lapse_rate)
        seen = entropy > 1e-10
        grid, entropy = grid[seen], entropy[seen]
        for block in row_blocks(len(wide), len(grid)):
            rows = wide[block]
            found[rows] = _STEP * norm.pdf(grid, mean[rows, None], sd[rows, None]) @ entropy
    return found


def similarity(estimator: Any, X: Any) -> np.ndarray:
    """Correlation (m,), by the learned kernel, of each row's latent value with that of the most similar row kept.

    1 is a row that the model has seen, 0 one that is like none of them: there it predicts what it would without data.
    Sparse models keep some rows only, the others all of theirs.
    """
    _require_one_model(estimator)
    kernel, kept = _kernel_and_rows(estimator)
    return _most_alike(kernel, estimator._checked(X), kept)


def similarity_within(estimator: Any, max_rows: int = 1000) -> np.ndarray:
    """``similarity`` of the rows kept that differ, or of at most so many, each with the most similar of the others."""
    _require_one_model(estimator)
    kernel, kept = _kernel_and_rows(estimator)
    kept = np.unique(kept, axis=0)  # a copy is like its original, and says nothing about new rows
    if len(kept) < 2:
        return np.ones(len(kept))
    chosen = np.unique(np.linspace(0, len(kept) - 1, min(len(kept), max_rows)).round().astype(int))
    return _most_alike(kernel, kept[chosen], kept, chosen)


def _kernel_and_rows(estimator: Any) -> tuple[Kernel, np.ndarray]:
    kernel, posterior = estimator.kernel_, estimator.posterior_
    if kernel.pairwise or kernel.gram_names or isinstance(kernel, PerClass):
        raise TypeError("expected one kernel for all classes, on features, to tell how alike rows are")
    if isinstance(posterior, MixturePosterior):
        posterior = posterior.members[0].posterior
    if isinstance(posterior, SeparatePosterior):
        return kernel, np.unique(np.concatenate([part.X for part in posterior.parts]), axis=0)
    return kernel, posterior.X


def _most_alike(kernel: Kernel, X: np.ndarray, kept: np.ndarray, themselves: np.ndarray | None = None) -> np.ndarray:
    """Largest correlation of each row of X with a row kept, other than itself; 0 where a latent value is known
    beforehand, as it is for a linear kernel at the origin: its covariances are 0, and so is its variance."""
    own = _spread(kernel, kept)
    found = np.empty(len(X))
    for block in row_blocks(len(X), len(kept)):
        alike = kernel(X[block], kept) / own / _spread(kernel, X[block])[:, None]
        if themselves is not None:
            alike[np.arange(len(alike)), themselves[block]] = -np.inf
        found[block] = alike.max(axis=1)
    return np.clip(found, 0.0, 1.0)


def _spread(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Standard deviations (m,), 1 where there is none."""
    variance = kernel.diag(X)
    return np.sqrt(np.where(variance > 0, variance, 1.0))
