"""Cavities of rows whose sites couple the classes: their posterior without their own site."""

from typing import NamedTuple

from ...numerics import linalg
from ...numerics.arrays import Array, namespace

#: Curvatures stay above this: a class that does not matter for a row still needs a root.
FLOOR = 1e-100


class Cavities(NamedTuple):
    """Means (n, C) and covariances (n, C, C) of rows without their sites; the eigenvalues (n, C) of I - U' S U, whose
    product is |I + V T|^-1; and which (n,) are no distribution, and keep their posterior."""

    mean: Array
    cov: Array
    left: Array
    broken: Array


def cavities(mean: Array, cov: Array, d: Array, alpha: Array) -> Cavities:
    """The cavities of rows with posterior means (n, C) and covariances S (n, C, C), sites of precision T by d (n, C),
    and alpha = location - T mean."""
    xp, d = namespace(d), namespace(d).clip(d, FLOOR, None)
    # T = U U' with U = D^1/2 (I - q q'), q = (d / s)^1/2: the cavity covariance is S + S U (I - U'S U)^-1 U' S.
    q = xp.sqrt(d / xp.sum(d, axis=1, keepdims=True))
    U = xp.sqrt(d)[:, :, None] * (linalg.identity(d.shape[1], d) - q[:, :, None] * q[:, None, :])
    SU = cov @ U
    values, vectors = xp.linalg.eigh(xp.matrix_transpose(U) @ SU)
    broken = values[:, -1] >= 1.0 - 1e-12
    left = xp.where(broken[:, None], 1.0, 1.0 - values)
    turned = SU @ vectors
    cavity_cov = cov + (turned / left[:, None, :]) @ xp.matrix_transpose(turned)
    cavity_cov = xp.where(broken[:, None, None], cov, cavity_cov)
    # mean_- = S_- (S^-1 mean - location) = mean - S_- (location - T mean) = mean - S_- alpha
    cavity_mean = xp.where(broken[:, None], mean, mean - linalg.row_products(cavity_cov, alpha))
    return Cavities(cavity_mean, cavity_cov, left, broken)
