"""Variational Bayes through inducing rows, for probit likelihoods: one S x S matrix for all classes.

With f given w integrated out (``inducing``), a row's auxiliaries have noise 1 + D about v' w, and variational Bayes
(``vb``) finds the maximum of the concave function

    J(w) = sum_n log E p(y_n | f_n) - 1/2 sum_c |w_c|^2,   f_n ~ N(v_n' w, D_n),

about which all classes have the covariance B^-1, B = I + V diag(1 / (1 + D)) V'. The curvature of J lies between I and
B, so the search takes L^-1 B L^-T = I as its units, B = L L', and every step costs two products with V.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import OptimizeResult, minimize

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...training.monitor import Monitor
from ..base import Engine, Fit, Info, Latent
from ..posteriors import InducingPosterior
from ..prior import InducingPrior
from ..settings import check_settings
from .features import Features, weighted_gram

#: Steps before the curvature is looked at.
_FIRST_STEPS = 10


@dataclass(frozen=True)
class SparseVB(Engine):
    """Variational Bayes with inducing rows.

    Parameters
    ----------
    tol : float
        Stop when no entry of the gradient is larger than this, in units in which the curvature is at most 1.
    max_iter : int
        Limit on steps of the search.
    """

    tol: float = 1e-2
    max_iter: int = 500

    prior_type: ClassVar = InducingPrior
    needs: ClassVar = ("augment",)

    def __post_init__(self) -> None:
        check_settings(self, max_iter=1)

    def infer(
        self, prior: InducingPrior, y: np.ndarray, likelihood: Likelihood, init: Any, gradient: bool, monitor: Monitor
    ) -> Fit:
        features, n_latent = prior.features, prior.n_latent
        if gradient:
            raise TypeError("SparseVB has no gradient of an evidence; learn with SparseEP")
        S = len(features.Z)
        noise = likelihood.auxiliary_noise(len(features))
        R, log_det = _factor(features, 1.0 / noise, integrated=True)
        fits = isinstance(init, np.ndarray) and init.shape == (S, n_latent)
        w = init if fits else np.zeros((S, n_latent))
        objective_trace: list[float] = []
        with monitor.task("search") as search:
            # Where labels are certain the curvature is far below its bound: once it is roughly known, it makes better
            # units.
            w, converged = self._maximise(features, y, likelihood, w, R, _FIRST_STEPS, search, objective_trace)
            if not converged and not search.should_stop:
                curvature = _slopes(features, y, likelihood, w)[1].mean(axis=1)
                units, _ = _factor(features, curvature, integrated=False)
                w, converged = self._maximise(features, y, likelihood, w, units, self.max_iter, search, objective_trace)
        bounds = tuple(J - 0.5 * n_latent * log_det for J in objective_trace)
        info = Info(len(objective_trace), converged, bounds, stopped=search.should_stop and not converged)
        posterior = InducingPosterior(features.kernel, features.Z, features.chol, w, R[None])
        loo = _leave_one_out(features, y, likelihood, w, R, noise)
        return Fit(posterior, bounds[-1], bounds[-1], info, loo, state=w)

    def _maximise(
        self,
        features: Features,
        y: np.ndarray,
        likelihood: Likelihood,
        w: np.ndarray,
        R: np.ndarray,
        max_iter: int,
        search: Any,
        objective_trace: list[float],
    ) -> tuple[np.ndarray, bool]:
        """L-BFGS from w in the units z = R^-T w; where it got, and whether that is the top."""

        def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
            w = R.T @ z.reshape(shape)
            J, slope = -0.5 * float(np.vdot(w, w)), -w
            for rows, V, D, _ in features:
                m = V.T @ w.astype(V.dtype)
                log_z, first, _ = likelihood.tilted(y[rows], m, np.broadcast_to(D[:, None], m.shape))
                J += float(log_z.sum())
                slope = slope + V @ first.astype(V.dtype)
            return -J, -(R @ slope).ravel()

        def tell(intermediate_result: OptimizeResult) -> None:
            objective_trace.append(-float(intermediate_result.fun))
            search.step(f"objective {objective_trace[-1]:.2f}")
            if search.should_stop:
                raise StopIteration

        shape = w.shape
        start = solve_triangular(R, w, lower=True, trans="T", check_finite=False)
        options = {"maxiter": max_iter, "gtol": self.tol, "ftol": 0.0, "maxcor": 20}
        found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options, callback=tell)
        objective_trace.append(-float(found.fun))
        return R.T @ found.x.reshape(shape), bool(np.max(np.abs(found.jac)) <= self.tol)


def _factor(features: Features, precision: np.ndarray, *, integrated: bool) -> tuple[np.ndarray, float]:
    """R = L^-1 and log |B| of B = I + V diag(precision) V' = L L'; ``integrated`` adds D to the noise."""
    B = np.eye(len(features.Z))
    for rows, V, D, _ in features:
        own = precision[rows]
        B += weighted_gram(V, own / (1.0 + D * own) if integrated else own)
    L = linalg.cholesky(B)
    return linalg.inverse_factor(L), float(linalg.log_det(L))


def _factors(features: Features, precision: np.ndarray) -> np.ndarray:
    """L_c^-1 (C, S, S) of I + V diag(precision_c) V' for every class, in the precision of V."""
    S, C = len(features.Z), precision.shape[1]
    B = np.broadcast_to(np.eye(S), (C, S, S)).copy()
    for rows, V, _, _ in features:

        def add(c: int, rows: slice = rows, V: np.ndarray = V) -> None:
            B[c] += weighted_gram(V, precision[rows, c])

        linalg.for_each_class(add, C, S)
    found = linalg.for_each_class(lambda c: linalg.inverse_factor(linalg.cholesky(B[c])), C, S)
    return np.stack(found).astype(features.dtype)


def _norms(factors: np.ndarray, V: np.ndarray, c: int) -> np.ndarray:
    return linalg.column_norms(factors[c], V).astype(float)


def _slopes(features: Features, y: np.ndarray, likelihood: Likelihood, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and curvatures (n, C) of log E p(y | f) in v' w."""
    slope, curvature = np.empty((2, len(features), w.shape[1]))
    for rows, V, D, _ in features:
        m = V.T @ w.astype(V.dtype)
        _, slope[rows], second = likelihood.tilted(y[rows], m, np.broadcast_to(D[:, None], m.shape))
        curvature[rows] = np.maximum(-second, 0.0)
    return slope, curvature


def _leave_one_out(
    features: Features, y: np.ndarray, likelihood: Likelihood, w: np.ndarray, R: np.ndarray, noise: np.ndarray
) -> Latent:
    """Means by linear response with each class's own curvature, variances as variational Bayes has them.

    A label that is taken out, with slope p and curvature W at the mode, moves the row's mean by -a p / (1 - W a), a =
    v' (I + V diag(W) V')^-1 v; classes are taken one by one.
    """
    n, C = len(features), w.shape[1]
    slope, curvature = _slopes(features, y, likelihood, w)
    factors = _factors(features, curvature)
    shared = np.ascontiguousarray(R, features.dtype)
    mean, variance = np.empty((2, n, C))
    for rows, V, D, dropped in features:
        m = V.T @ w.astype(V.dtype)
        settled = linalg.column_norms(shared, V).astype(float)
        # Without the row's own pseudo-observation of precision 1 / (noise + D).
        without = settled / np.maximum(1.0 - settled / (noise[rows] + D), 1e-10)
        variance[rows] = (without + D + dropped)[:, None]
        a = np.stack(linalg.for_each_class(partial(_norms, factors, V), C, len(V)), axis=1)
        mean[rows] = m - a * slope[rows] / np.maximum(1.0 - curvature[rows] * a, 1e-10)
    return Latent(mean, variance)
