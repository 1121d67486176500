"""Cavities of rows whose sites couple the classes: their posterior without their own site."""

from typing import NamedTuple

import numpy as np

from ...numerics import linalg
from ...numerics.arrays import Array, namespace

#: Curvatures stay above this: a class that does not matter for a row still needs a root.
FLOOR = 1e-100


#: Eigenvalues of I - U'S U below this are those of a cavity that is no distribution.
_LEAST = 1e-12


class Cavities(NamedTuple):
    """Means (n, C) and covariances V (n, C, C) of rows without their sites; -log |I + V T| (n,); and which (n,) are no
    distribution, and keep their posterior."""

    mean: Array
    cov: Array
    log_det: Array
    broken: Array


def cavities(mean: Array, cov: Array, d: Array, alpha: Array) -> Cavities:
    """The cavities of rows with posterior means (n, C) and covariances S (n, C, C), sites of precision T by d (n, C),
    and alpha = location - T mean."""
    xp, d = namespace(d), namespace(d).clip(d, FLOOR, None)
    # T = U U' with U = D^1/2 (I - q q'), q = (d / s)^1/2: the cavity covariance is S + S U (I - U'S U)^-1 U' S. With
    # one latent function T is d.
    q = xp.sqrt(d / xp.sum(d, axis=1, keepdims=True)) if d.shape[1] > 1 else xp.zeros_like(d)
    U = xp.sqrt(d)[:, :, None] * (linalg.identity(d.shape[1], d) - q[:, :, None] * q[:, None, :])
    SU = cov @ U
    L, broken = _factors(linalg.identity(d.shape[1], d) - xp.matrix_transpose(U) @ SU)
    half = xp.linalg.solve(L, xp.matrix_transpose(SU))
    cavity_cov = cov + xp.matrix_transpose(half) @ half
    cavity_cov = xp.where(broken[:, None, None], cov, cavity_cov)
    # mean_- = S_- (S^-1 mean - location) = mean - S_- (location - T mean) = mean - S_- alpha
    cavity_mean = xp.where(broken[:, None], mean, mean - linalg.row_products(cavity_cov, alpha))
    # |I + V T|^-1 = |I - U'S U|
    return Cavities(cavity_mean, cavity_cov, 2.0 * xp.sum(xp.log(xp.linalg.diagonal(L)), axis=1), broken)


def matching_sites(cavity_mean: Array, cavity_variance: Array, first: Array, second: Array, floor: Array) -> Array:
    """Sites (2, n, C) that give the moments mean + v first and v + v^2 second."""
    xp = namespace(cavity_mean)
    shrink = xp.clip(1.0 + cavity_variance * second, 1e-10, None)
    matched = xp.stack([-second / shrink, (first - second * cavity_mean) / shrink])
    # A likelihood that is not log-concave may ask for a negative precision: then match the mean alone.
    return xp.where(matched[0, ...] < floor, xp.stack([floor, first]), matched)


def _factors(A: Array) -> tuple[Array, Array]:
    """Lower factors (n, C, C) of matrices, the unit matrix for those (n,) that are not positive definite."""
    xp = namespace(A)
    # Where all go well, as nearly always, no eigenvalues are needed.
    try:
        L = xp.linalg.cholesky(A)
        if bool(xp.all(xp.min(xp.linalg.diagonal(L), axis=1) ** 2 > _LEAST)):
            return L, xp.zeros_like(A[:, 0, 0], dtype=xp.bool)
    except (np.linalg.LinAlgError, RuntimeError):  # torch has an error of its own
        pass
    broken = ~(xp.linalg.eigvalsh(A)[:, 0] > _LEAST)
    return xp.linalg.cholesky(xp.where(broken[:, None, None], linalg.identity(A.shape[-1], A), A)), broken
