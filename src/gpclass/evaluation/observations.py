"""Gaussian observations in the place of labels that are not known yet.

A label of row j would tell of the latent values f_j there. In its place stands an observation of f_j with precision

    T = F (I - V F)^-1,    F = sum_y p(y) g_y g_y',    g_y = d log p(y) / d mean,

for latent covariance V. This is the site of assumed density filtering (LPJ05 eqs 17-18) with the expected F in place of
that of one label: sum_y d2 p(y) / d mean2 = 0, so V - V F V is the covariance that the label leaves on average. It does
not depend on the label, so the covariance of any other row i falls by a known P_i P_i' (LPJ05 eqs 9-12), and its mean
will move by N(0, P_i P_i'). What remains on average of a measure of uncertainty h of its label is

    E_u h(p(y_i | mean_i + P_i u, V_i - P_i P_i')),    u ~ N(0, I).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm, qmc

from ..inference.base import Latent
from ..inference.posteriors import Member, row_blocks
from ..numerics import linalg

#: Points for integrals over several latent functions, and on a grid of this width for one.
DRAWS, _NODES, _WIDTH = 64, 129, 5.5
#: Step of differences in standard deviations, and the largest share of the variance that a label can take away.
_STEP, _MOST = 1e-2, 1.0 - 1e-9

#: The uncertainty (m,) of labels with probabilities (m, K), and an upper bound of what it is once more is known.
Measure = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def latent_moments(member: Member, X: Any) -> Latent:
    """Calibrated means (m, C) and covariances (m, C, C)."""
    assert member.calibration is not None
    mean, cov = member.calibration(*member.posterior.latent(X))
    return Latent(mean, cov if cov.ndim == 3 else cov[:, :, None] * np.eye(cov.shape[1]))


def predicted(member: Member, mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """Probabilities (m, K) of labels for calibrated latent moments."""
    assert member.calibration is not None
    log_p = member.likelihood.predict_log(mean, cov[:, :, 0] if mean.shape[1] == 1 else cov)
    p = np.exp(member.calibration.mixed(log_p, log_p.shape[1]))
    return p / p.sum(axis=1, keepdims=True)


def mixed(members: list[Member], latents: list[Latent]) -> np.ndarray:
    """Probabilities (m, K) of the members together."""
    parts = [member.weight * predicted(member, *latent) for member, latent in zip(members, latents, strict=True)]
    return np.sum(parts, axis=0)


def site_roots(member: Member, mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """R (m, C, C) with R R' = T = F (I - V F)^-1 = Q (I - Q' V Q)^-1 Q', where F = Q Q'."""
    m, C = mean.shape
    steps = _STEP * np.sqrt(np.maximum(np.einsum("mcc->mc", cov), _STEP**4))
    up = steps.T[:, :, None] * np.eye(C)[:, None, :]
    moved = mean + np.concatenate([up, -up, np.zeros((1, m, C))])
    p = predicted(member, moved.reshape(-1, C), np.tile(cov, (2 * C + 1, 1, 1))).reshape(2 * C + 1, m, -1)
    Q = np.swapaxes((p[:C] - p[C : 2 * C]) / (2.0 * steps.T[:, :, None] * np.sqrt(p[2 * C])), 0, 1)
    share, U = np.linalg.eigh(np.swapaxes(Q, 1, 2) @ cov @ Q)
    half = Q @ U / np.sqrt(1.0 - np.clip(share, 0.0, _MOST))[:, None]
    return _symmetric_root(half @ np.swapaxes(half, 1, 2))


def shift_by(member: Member, at: Any, roots: np.ndarray) -> Callable[[Any], np.ndarray]:
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


def expected_measure(
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
        found[:, block] = np.stack(measure(mixed(members, moved))).reshape(2, -1, len(u)) @ weights
    return found


def _standard_normal(C: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (S, C) and weights (S,) of averages over N(0, I)."""
    if C == 1:
        u = np.linspace(-_WIDTH, _WIDTH, _NODES)
        return u[:, None], norm.pdf(u) / norm.pdf(u).sum()
    return norm.ppf(qmc.Sobol(C, seed=0).random(DRAWS)), np.full(DRAWS, 1.0 / DRAWS)


def _symmetric_root(A: np.ndarray) -> np.ndarray:
    """The symmetric square roots of positive semidefinite matrices (..., C, C)."""
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]) @ np.swapaxes(vectors, -1, -2)
