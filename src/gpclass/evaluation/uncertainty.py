"""Epistemic and aleatoric uncertainty of predicted labels, and similarity of new rows to the training rows."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy
from scipy.stats import norm, qmc
from sklearn.utils.validation import check_is_fitted

from ..inference.posteriors import MixturePosterior, SeparatePosterior, members_of, row_blocks
from ..kernels import Kernel, PerClass
from ..kernels.rows import select
from ..likelihoods import Likelihood

#: Quadrature nodes for one latent function up to this standard deviation, and the step of a grid beyond it.
_NODES, _NARROW, _STEP = 64, 2.0, 0.1
#: Points for several latent functions, and the entropy that is not split.
_DRAWS, _NEGLIGIBLE = 256, 1e-3


class EntropySplit(NamedTuple):
    """Entropy (m,) of predicted labels in nats: total, epistemic (reducible by more data) and aleatoric."""

    total: np.ndarray
    epistemic: np.ndarray
    aleatoric: np.ndarray


def entropy_split(estimator: Any, X: Any, n_draws: int = _DRAWS, proba: Any = None) -> EntropySplit:
    """Split the entropy of each predicted label, H[E p(y|f)] = I(y; f) + E H[p(y|f)].

    If more and more rows determined the latent functions f, labels would still be drawn from p(y|f): the expected
    entropy of p(y|f) is aleatoric. The mutual information of label and latent functions is epistemic.

    Parameters
    ----------
    estimator : a fitted classifier of gpclass
    X : array-like or data frame of shape (m, n_features)
    n_draws : int
        Points for the integral over the latent functions of three classes or more; 256 give about one digit where the
        latent variances are large. Entropies below 0.001 are aleatoric.
    proba : ``predict_proba(X)``, if it is known
    """
    require_classifier(estimator)
    total = entropy(estimator.predict_proba(X) if proba is None else proba)
    aleatoric = expected_entropy(estimator, estimator._rows(X), total, n_draws)
    return EntropySplit(total, total - aleatoric, aleatoric)


def expected_entropy(estimator: Any, rows: Any, total: np.ndarray, n_draws: int = _DRAWS) -> np.ndarray:
    """E H[p(y|f)] (m,) of checked rows whose labels have the entropies ``total``."""
    members = members_of(estimator.posterior_, estimator.likelihood_)
    lapse_rate = float(
        np.sum([member.weight * (member.calibration or estimator.calibration_).lapse_rate for member in members])
    )
    # Lapses bound the entropy of every row from below.
    least = _least_entropy(lapse_rate, len(estimator.classes_))
    aleatoric, unsure = total.copy(), total > least + _NEGLIGIBLE
    aleatoric[unsure] = least
    for member in members:
        calibration = member.calibration or estimator.calibration_
        mean, cov = calibration(*member.posterior.latent(select(rows, unsure)))
        aleatoric[unsure] += member.weight * _expected_entropy(member.likelihood, mean, cov, n_draws, lapse_rate)
    return np.minimum(aleatoric, total)


def require_classifier(estimator: Any) -> None:
    """Refuse what is no fitted classifier with one posterior."""
    _require_one_model(estimator)
    if not hasattr(estimator, "classes_"):
        got = type(estimator).__name__
        raise TypeError(f"expected a classifier, got {got}; predict(X, return_std=True) for regression")


def _require_one_model(estimator: Any) -> None:
    check_is_fitted(estimator)
    if not hasattr(estimator, "posterior_"):
        inner = " (its estimator_ is one)" if hasattr(estimator, "estimator_") else ""
        raise TypeError(f"expected a model with one posterior, got {type(estimator).__name__}{inner}")


def entropy(proba: np.ndarray) -> np.ndarray:
    """Entropies (m,) of probabilities (m, K), in nats."""
    return -xlogy(proba, proba).sum(axis=1)


def _least_entropy(lapse_rate: float, n_classes: int) -> float:
    """Entropy of a label that is certain except for lapses."""
    proba = np.full((1, n_classes), lapse_rate / n_classes)
    proba[0, 0] += 1.0 - lapse_rate
    return float(entropy(proba)[0])


def _expected_entropy(
    likelihood: Likelihood, mean: np.ndarray, cov: np.ndarray, n_draws: int, lapse_rate: float = 0.0
) -> np.ndarray:
    """E H[p(y|f)] (m,) over f ~ N(mean, cov), latent functions independent (m, C) or not (m, C, C), minus the entropy
    of lapses."""
    if not len(mean):
        return np.zeros(0)
    if mean.shape[1] == 1:
        return _expected_entropy_1d(likelihood, mean[:, 0], np.sqrt(cov.reshape(len(mean))), lapse_rate)
    # The same points for every row: rows then differ without sampling noise.
    z = norm.ppf(qmc.Sobol(mean.shape[1], seed=0).random(n_draws))
    root = None
    if cov.ndim == 3:
        values, vectors = np.linalg.eigh(cov)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    found = np.zeros(len(mean))
    for block in row_blocks(len(mean), z.size):
        off = np.sqrt(cov[block]) * z[:, None, :] if root is None else np.einsum("nij,sj->sni", root[block], z)
        f = (mean[block] + off).reshape(-1, mean.shape[1])
        found[block] = _conditional_entropy(likelihood, f, lapse_rate).reshape(len(z), -1).mean(axis=0)
    return found


def _conditional_entropy(likelihood: Likelihood, f: np.ndarray, lapse_rate: float) -> np.ndarray:
    """H[p(y|f)] minus the entropy of lapses."""
    proba = likelihood.predict(f, np.zeros_like(f))
    K = proba.shape[1]
    return entropy((1.0 - lapse_rate) * proba + lapse_rate / K) - _least_entropy(lapse_rate, K)


def _expected_entropy_1d(likelihood: Likelihood, mean: np.ndarray, sd: np.ndarray, lapse_rate: float) -> np.ndarray:
    """E H[p(y|f)] over one latent value: Gauss-Hermite quadrature where it is narrow. Where it is wide, their nodes
    miss the boundary, near which the entropy is concentrated, so a grid over the boundary is used."""
    found = np.zeros(len(mean))
    narrow = sd <= _NARROW
    if np.any(narrow):
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        f = mean[narrow, None] + sd[narrow, None] * nodes
        given_f = _conditional_entropy(likelihood, f.reshape(-1, 1), lapse_rate).reshape(f.shape)
        found[narrow] = given_f @ (weights / weights.sum())
    wide = np.flatnonzero(~narrow)
    if len(wide):
        low, high = np.min(mean[wide] - 9 * sd[wide]), np.max(mean[wide] + 9 * sd[wide])
        grid = np.arange(low, high + _STEP, _STEP)
        given_f = _conditional_entropy(likelihood, grid[:, None], lapse_rate)
        relevant = given_f > 1e-10
        grid, given_f = grid[relevant], given_f[relevant]
        for block in row_blocks(len(wide), len(grid)):
            rows = wide[block]
            found[rows] = _STEP * norm.pdf(grid, mean[rows, None], sd[rows, None]) @ given_f
    return found


def similarity(estimator: Any, X: Any) -> np.ndarray:
    """Largest correlation (m,) of each row's latent value with that of a training row, under the learned kernel.

    1 is a training row, 0 a row that is unlike all of them, where the prediction is that of the prior. Sparse models
    keep only their active or inducing points.
    """
    kernel, kept = _kernel_and_rows(estimator)
    if hasattr(estimator.posterior_, "nearest_correlation"):  # an index knows the nearest row
        return estimator.posterior_.nearest_correlation(estimator._rows(X))
    return max_correlation(kernel, estimator._rows(X), kept)


def similarity_within(estimator: Any, max_rows: int = 1000) -> np.ndarray:
    """``similarity`` of distinct training rows, at most ``max_rows``, each to the others."""
    kernel, kept = _kernel_and_rows(estimator)
    kept = np.unique(kept, axis=0)  # a copy has similarity 1, unlike new rows
    if len(kept) < 2:
        return np.ones(len(kept))
    chosen = np.unique(np.linspace(0, len(kept) - 1, min(len(kept), max_rows)).round().astype(int))
    return max_correlation(kernel, kept[chosen], kept, chosen)


def _kernel_and_rows(estimator: Any) -> tuple[Kernel, np.ndarray]:
    _require_one_model(estimator)
    kernel, posterior = estimator.kernel_, estimator.posterior_
    if kernel.pairwise or kernel.gram_names or isinstance(kernel, PerClass):
        raise TypeError("expected one kernel for all classes, on features, for the similarity of rows")
    if isinstance(posterior, MixturePosterior):
        posterior = posterior.members[0].posterior
    if isinstance(posterior, SeparatePosterior):
        return kernel, np.unique(np.concatenate([part.X for part in posterior.parts]), axis=0)
    return kernel, posterior.X


def max_correlation(kernel: Kernel, X: np.ndarray, kept: np.ndarray, own_index: np.ndarray | None = None) -> np.ndarray:
    """Largest correlation of each row of X with a kept row other than itself; 0 where the prior variance is 0, as for a
    linear kernel at the origin."""
    kept_sd = _prior_sd(kernel, kept)
    found = np.empty(len(X))
    for block in row_blocks(len(X), len(kept)):
        correlation = kernel(X[block], kept) / kept_sd / _prior_sd(kernel, X[block])[:, None]
        if own_index is not None:
            correlation[np.arange(len(correlation)), own_index[block]] = -np.inf
        found[block] = correlation.max(axis=1)
    return np.clip(found, 0.0, 1.0)


def _prior_sd(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Prior standard deviations (m,), 1 in place of 0."""
    variance = kernel.diag(X)
    return np.sqrt(np.where(variance > 0, variance, 1.0))
