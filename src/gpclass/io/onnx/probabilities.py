"""Probabilities of the classes from Gaussian latent values, recorded.

``Likelihood.predict_log`` works by compiled loops whose length depends on the row. Here every rule is one expression
for all rows, with absolute errors of about 1e-10.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...likelihoods import Likelihood, Logit, MultinomialProbit, NullCategory, OrderedProbit, Probit
from ...likelihoods.label_noise import NoisyLabels
from ...numerics.special import gauss_hermite
from . import namespace as xp
from .graph import NODES, ExportError, RecordedArray
from .nested_ep import correlated_probit
from .special import log_normal_cdf, normal_cdf


def probabilities(likelihood: Likelihood, mean: RecordedArray, cov: RecordedArray) -> RecordedArray:
    """Probabilities (n, K) for latent means (n, C) and variances (n, C), or covariances (n, C, C)."""
    rule = _RULES.get(type(likelihood))
    if rule is None:
        known = ", ".join(kind.__name__ for kind in _RULES)
        raise ExportError(f"expected a likelihood among {known}, got {type(likelihood).__name__}")
    proba = rule(likelihood, mean, cov)
    if isinstance(likelihood, NoisyLabels) and not likelihood.log_concave:
        slope, floor = likelihood._levels(mean.shape[1])
        proba = slope * proba + floor
    return proba


def _two_classes(upper: RecordedArray) -> RecordedArray:
    return xp.stack([1.0 - upper, upper], axis=1)


def _probit(likelihood: Probit, mean: RecordedArray, var: RecordedArray) -> RecordedArray:
    z = (mean[:, 0] + likelihood.bias) / xp.sqrt(likelihood.variance + var[:, 0])
    return xp.stack([normal_cdf(-z), normal_cdf(z)], axis=1)


def _null_category(likelihood: NullCategory, mean: RecordedArray, var: RecordedArray) -> RecordedArray:
    scale = xp.sqrt(likelihood.variance + var[:, 0])
    centre = mean[:, 0] + likelihood.bias
    lower, upper = (log_normal_cdf((sign * centre - 0.5) / scale) for sign in (-1.0, 1.0))
    return _two_classes(1.0 / (1.0 + xp.exp(lower - upper)))


def _ordered_probit(likelihood: OrderedProbit, mean: RecordedArray, var: RecordedArray) -> RecordedArray:
    below = normal_cdf((mean - likelihood.cut_points) / -xp.sqrt(likelihood.variance + var))
    nothing, all_of_it = 0.0 * below[:, :1], 0.0 * below[:, :1] + 1.0
    edges = xp.concat([nothing, below, all_of_it], axis=1)
    return xp.maximum(edges[:, 1:] - edges[:, :-1], 0.0)


def _logit(likelihood: Logit, mean: RecordedArray, var: RecordedArray) -> RecordedArray:
    """E sigmoid(f), f ~ N(m, s^2).

    With s <= 1 by Gauss-Hermite nodes in f. Else as P(f + e > 0) with logistic noise e, by the trapezoid rule over e:
    the density of e has poles at +-pi i, so steps h = 1/3 leave an error of about exp(-2 pi^2 / h).
    """
    m, s = mean, xp.sqrt(var)
    nodes, weights = gauss_hermite(40)
    narrow = _sigmoid(m + xp.minimum(s, 1.0) * nodes) @ weights[:, None]
    steps = np.arange(-120, 121) / 3.0
    density = np.exp(-np.abs(steps)) / (1.0 + np.exp(-np.abs(steps))) ** 2 / 3.0
    wide = normal_cdf((m + steps) / xp.maximum(s, 1.0)) @ density[:, None]
    return _two_classes(xp.where(s > 1.0, wide, narrow)[:, 0])


def _sigmoid(x: RecordedArray) -> RecordedArray:
    decay = xp.exp(-xp.abs(x))
    return xp.where(x > 0.0, 1.0 / (1.0 + decay), decay / (1.0 + decay))


#: The trapezoid rule of ``_multinomial_probit``: how far it reaches, its step for a precision of 1, and the largest
#: precision that it resolves, that of standard deviations which differ by a factor of 300 between classes.
_REACH, _STEP, _STEEPEST = 6.6, 0.9, 1e5


def _multinomial_probit(likelihood: MultinomialProbit, mean: RecordedArray, cov: RecordedArray) -> RecordedArray:
    """P(k) = E prod_(j != k) Phi((t_k u + m_k - m_j) / t_j), u ~ N(0, 1), t_j^2 = 1 + v_j (GR06 eq 5.5).

    By the trapezoid rule: off the real line the integrand grows as exp(a^2 v^2 / 2) with a^2 = 1 + sum_j (t_k / t_j)^2,
    so with steps h the error is about exp(-2 pi^2 / (a h)^2). The step is that of the row which needs the smallest.
    """
    if cov.ndim == 3:
        return correlated_probit(mean, cov)
    graph, t, K = mean.graph, xp.sqrt(1.0 + cov), mean.shape[1]
    inverse_squares = xp.sum(1.0 / (t * t), axis=1, keepdims=True)
    precision = xp.max(t * t, axis=1, keepdims=True) * inverse_squares
    precision = xp.where(xp.isnan(precision), 1.0, xp.minimum(precision, _STEEPEST))
    # Of no rows the largest is that of the constant.
    largest = xp.max(xp.concat([precision, graph.constant(np.ones((1, 1)))], axis=0))
    step = _STEP / xp.sqrt(largest)
    n_steps = xp.ceil(_REACH / step)
    places = graph.emit("Range", [-n_steps, n_steps + 1.0, graph.constant(1.0)], (NODES,), np.float64)
    u = step * places
    weights = xp.exp(-0.5 * (u * u)) * (step / np.sqrt(2.0 * np.pi))
    found = []
    for k in range(K):
        others = np.delete(np.arange(K), k)
        gaps, scales = (xp.take(part, graph.constant(others), axis=1) for part in (mean[:, k : k + 1] - mean, t))
        z = (gaps[:, :, None] + t[:, k, None, None] * u) / scales[:, :, None]
        found.append((xp.prod(normal_cdf(z), axis=1) @ weights[:, None])[:, 0])
    return xp.stack(found, axis=1)


_RULES: dict[type, Callable[[Any, RecordedArray, RecordedArray], RecordedArray]] = {
    Logit: _logit,
    MultinomialProbit: _multinomial_probit,
    NullCategory: _null_category,
    OrderedProbit: _ordered_probit,
    Probit: _probit,
}
