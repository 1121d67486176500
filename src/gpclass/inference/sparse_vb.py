"""Variational Bayes through inducing rows, for probit likelihoods: one S x S matrix for all classes.

With f given w integrated out (``inducing``), a row's auxiliaries have noise 1 + D about v' w, and variational Bayes
(``vb``) finds the maximum of the concave function

    J(w) = sum_n log E p(y_n | f_n) - 1/2 sum_c |w_c|^2,   f_n ~ N(v_n' w, D_n),

about which all classes have the covariance B^-1, B = I + V diag(1 / (1 + D)) V'. The curvature of J lies between I and
B, so the search takes L^-1 B L^-T = I as its units, B = L L', and every step costs two products with V.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from .. import linalg
from .._progress import task
from ..likelihoods import Likelihood
from .base import Info, require
from .inducing import Features, SparseFit, weighted_gram


@dataclass(frozen=True)
class SparseVB:
    """Variational Bayes with inducing rows.

    Parameters
    ----------
    tol : float
        Stop when no entry of the gradient is larger than this, in units in which the curvature is at most 1.
    max_iter : int
        Limit on steps of the search.
    """

    tol: float = 1e-3
    max_iter: int = 500

    needs: ClassVar = ("augment",)

    def __call__(
        self,
        features: Features,
        y: np.ndarray,
        likelihood: Likelihood,
        n_latent: int,
        init: Any = None,
        gradient: bool = False,
    ) -> SparseFit:
        require(self, likelihood)
        if gradient:
            raise TypeError("SparseVB has no gradient of an evidence; learn with SparseEP")
        n, S = len(features), len(features.Z)
        noise = likelihood.auxiliary_noise(n)
        B = np.eye(S)
        for block in features:
            B += weighted_gram(block.V, 1.0 / (noise[block.rows] + block.D))
        L = linalg.cholesky(B)
        R = linalg.inverse_factor(L)
        start = L.T @ init if isinstance(init, np.ndarray) and init.shape == (S, n_latent) else np.zeros((S, n_latent))
        heights = []

        def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
            w = R.T @ z.reshape(S, n_latent)
            J, slope = -0.5 * float(np.vdot(w, w)), -w
            for rows, V, D in features:
                m = V.T @ w.astype(V.dtype)
                log_z, first, _ = likelihood.tilted(y[rows], m, np.broadcast_to(D[:, None], m.shape))
                J += float(log_z.sum())
                slope = slope + V @ first.astype(V.dtype)
            return -J, -(R @ slope).ravel()

        with task("search") as search:

            def tell(intermediate_result: OptimizeResult) -> None:
                heights.append(-float(intermediate_result.fun))
                if search.step(f"objective {heights[-1]:.2f}"):
                    raise StopIteration

            options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": 0.0, "maxcor": 20}
            found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options, callback=tell)
        w = R.T @ found.x.reshape(S, n_latent)
        converged = bool(np.max(np.abs(found.jac)) <= self.tol)
        log_det = n_latent * float(linalg.log_det(L))
        bounds = tuple(J - 0.5 * log_det for J in (*heights, -float(found.fun)))
        loo = _leave_one_out(features, y, likelihood, w, R, noise)
        return SparseFit(w, R[None], bounds[-1], bounds[-1], Info(int(found.nit), converged, bounds), w, loo)


def _leave_one_out(
    features: Features, y: np.ndarray, likelihood: Likelihood, w: np.ndarray, R: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means by linear response with each class's own curvature, variances as variational Bayes has them.

    A label that is taken out, with slope p and curvature W at the mode, moves the row's mean by -a p / (1 - W a), a =
    v' (I + V diag(W) V')^-1 v; classes are taken one by one.
    """
    (S, C), n = w.shape, len(features)
    slope, curvature = np.empty((2, n, C))
    B = np.broadcast_to(np.eye(S), (C, S, S)).copy()
    for rows, V, D in features:
        m = V.T @ w.astype(V.dtype)
        _, first, second = likelihood.tilted(y[rows], m, np.broadcast_to(D[:, None], m.shape))
        slope[rows], curvature[rows] = first, np.maximum(-second, 0.0)
        for c in range(C):
            B[c] += weighted_gram(V, curvature[rows][:, c])
    factors = [linalg.inverse_factor(linalg.cholesky(own)) for own in B]
    mean, variance = np.empty((2, n, C))
    for rows, V, D in features:
        m = V.T @ w.astype(V.dtype)
        settled = np.einsum("sn,sn->n", half := R.astype(V.dtype) @ V, half)
        # Without the row's own pseudo-observation of precision 1 / (noise + D).
        without = settled / np.maximum(1.0 - settled / (noise[rows] + D), 1e-10)
        variance[rows] = (without + D)[:, None]
        for c, factor in enumerate(factors):
            half = factor.astype(V.dtype) @ V
            a = np.einsum("sn,sn->n", half, half)
            mean[rows, c] = m[:, c] - a * slope[rows, c] / np.maximum(1.0 - curvature[rows, c] * a, 1e-10)
    return mean, variance
