"""Exact models of many rows, with a single n x n matrix in memory at any time.

That matrix is first A = B^-1 for B = I + S K S, where S^2 are the precisions of the rows, the same for all latent
functions that share a kernel. It is computed in place; K is not kept. All that the mode of ``VB`` needs are products
with A: for t = u / S,

    (K^-1 + S^2)^-1 u = (t - A t) / S    and    K^-1 of that is S A t,

so each iterate is known by its u, and both its mean and its K^-1 mean come from one product. When the mode is found, K
is computed again, and the factor of B takes the place of A: predictions from a factor keep their digits at large prior
variances, those from an inverse do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...likelihoods import Gaussian, Likelihood
from ...numerics import in_place, linalg
from ...numerics.arrays import Array, like, namespace, take, to_host
from ...training.monitor import Monitor
from ..base import Engine, Fit, GaussianTerms, Info, Latent
from ..prior import UnevaluatedPrior
from ..problem import held_out_rows
from ..whitened import whitened, whitened_factor
from .latent_objective import conjugate_gradients

#: So many rows are held out of a classification model, for leave-one-out predictions and calibration.
_HELD_OUT = 2000
#: Each Newton system is solved to this share of its residual, in at most so many steps of conjugate gradients.
_CG_TOL, _CG_STEPS = 0.1, 500


@dataclass(frozen=True)
class OneMatrixVB(Engine):
    """``VB`` for many rows.

    The mode is that of VB, found by Newton's method and conjugate gradients with (K^-1 + S^2)^-1 as preconditioner.
    Leave-one-out predictions of all rows would take a factorisation for each class. Instead some rows are held out
    together: the mode without their labels, which is near the other one, and VB's variances without them. The
    predictions of all other rows are NaN.

    Parameters
    ----------
    tol : float
        Stop after a Newton step that moves the means by less than this, in standard deviations of the posterior.
    max_iter : int
        Limit on Newton steps.
    """

    tol: float = 0.01
    max_iter: int = 200

    prior_type: ClassVar = UnevaluatedPrior
    needs: ClassVar = ("augment", "derivatives")
    takes_weights: ClassVar = True

    def infer(
        self,
        prior: UnevaluatedPrior,
        y: np.ndarray,
        likelihood: Likelihood,
        init: Any,
        gradient: bool,
        monitor: Monitor,
    ) -> Fit:
        root = prior.beside_rows(likelihood.auxiliary_noise(len(y)) ** -0.5)
        matrix = whitened(prior.kernel, prior.X, root)
        log_det = in_place.invert(matrix)
        rest = _Rest(matrix, root[:, None], y, likelihood, np.ones(len(y)))
        mode, trace, converged, stopped = rest.maximise(None, prior.n_latent, self, monitor)
        alpha, left_out = mode.alpha, self._held_out(rest, mode, monitor)
        whitened_factor(prior.kernel, prior.X, root, out=matrix)
        bounds = tuple(J - 0.5 * prior.n_latent * log_det for J in trace)
        info = Info(len(trace) - 1, converged, bounds, stopped=stopped)
        terms = GaussianTerms(alpha, root, matrix)
        return Fit(prior.posterior(terms), bounds[-1], bounds[-1], info, left_out)

    def _held_out(self, rest: _Rest, mode: _Point, monitor: Monitor) -> Latent:
        """Means and variances (n, C) of the rows held out, NaN for the others."""
        n, C = mode.m.shape
        held_out = held_out_rows(rest.y, _HELD_OUT)
        share = np.where(held_out, rest.likelihood.share_left_out(n), 0.0)
        without = rest._replace(counts=1.0 - share).maximise(mode, C, self, monitor).mode
        mean, variance = np.full((2, n, C), np.nan)
        mean[held_out] = to_host(take(without.m, held_out))
        variance[held_out] = to_host(rest.variance_without(held_out, share[held_out]))[:, None]
        return Latent(mean, variance)


class _Point(NamedTuple):
    """An iterate (K^-1 + S^2)^-1 u: its mean m and alpha = K^-1 m, J, the likelihood's gradient p (n, C) and its
    curvature W (n, C, C)."""

    u: Array
    m: Array
    alpha: Array
    J: float
    p: Array
    W: Array


class _Maximum(NamedTuple):
    mode: _Point
    trace: list[float]
    converged: bool
    stopped: bool


class _Rest(NamedTuple):
    """J(m) = sum_n counts_n log p(y_n | m_n) - 1/2 sum_c m_c' K^-1 m_c, by A = (I + S K S)^-1 and S as a column."""

    A: Array
    S: Array
    y: np.ndarray
    likelihood: Likelihood
    counts: np.ndarray

    def smooth(self, u: Array) -> tuple[Array, Array]:
        """(K^-1 + S^2)^-1 u, and K^-1 of that."""
        t = u / self.S
        image = self.A @ t
        return (t - image) / self.S, self.S * image

    def at(self, u: Array, m: Array, alpha: Array) -> _Point:
        log_prob, p, hessian = self.likelihood.evaluate("derivatives", self.y, m)
        counts = like(self.counts, m)
        J = linalg.dot(counts[:, None], log_prob[:, None]) - 0.5 * linalg.dot(m, alpha)
        W = -counts[:, None, None] * hessian
        W = W if self.likelihood.log_concave else linalg.positive_part(W)
        return _Point(u, m, alpha, J, counts[:, None] * p, W)

    def maximise(self, start: _Point | None, n_latent: int, limits: OneMatrixVB, monitor: Monitor) -> _Maximum:
        """Newton's method with backtracking."""
        zeros = like(np.zeros((len(self.y), n_latent)), self.A)
        point = self.at(zeros, zeros, zeros) if start is None else self.at(start.u, start.m, start.alpha)
        trace = [point.J]
        with monitor.task("Newton steps") as steps:
            for _ in steps.each(range(limits.max_iter)):
                new, length = self._step(point)
                if new is None:
                    return _Maximum(point, trace, False, False)
                point = new
                trace.append(point.J)
                if length < limits.tol:
                    return _Maximum(point, trace, True, False)
            return _Maximum(point, trace, False, steps.should_stop)

    def _step(self, point: _Point) -> tuple[_Point | None, float]:
        """The next iterate, None where J grows nowhere on the way, and the length of Newton's step in standard
        deviations of the posterior.

        With (K^-1 + W) x = p - alpha the step goes to m + x, where (K^-1 + S^2) (m + x) = p - W x + S^2 (m + x).
        """
        S2 = self.S**2
        residual = point.p - point.alpha
        excess = point.W - S2[:, :, None] * like(np.eye(point.m.shape[1]), self.A)
        x, _ = conjugate_gradients(lambda r: self.smooth(r)[0], excess, residual, _CG_TOL, _CG_STEPS)
        length = max(linalg.dot(x, residual), 0.0) ** 0.5  # x' (K^-1 + W) x
        u = point.p - linalg.row_products(point.W, x) + S2 * (point.m + x)
        target = u, *self.smooth(u)
        gain = linalg.dot(residual, target[1] - point.m)
        size, new = 1.0, self.at(*target)
        # Close to the mode J cannot resolve the gain any more, and the full step is safe.
        while not (point.J + 1e-4 * size * gain <= new.J or gain < 1e-9 * (1.0 + abs(point.J))):
            size *= 0.5
            if size < 1e-10:
                return None, length
            new = self.at(*(old + size * (far - old) for old, far in zip(point[:3], target, strict=True)))
        return new, length

    def variance_without(self, rows: np.ndarray, share: np.ndarray) -> Array:
        """Variances of some rows without these shares of their own precisions.

        With their posterior covariance V = S^-1 (I - A) S^-1 and D = share S^2, the diagonal of
        (V^-1 - D)^-1 = V + V D^1/2 (I - D^1/2 V D^1/2)^-1 D^1/2 V.
        """
        S = take(self.S, rows)
        V = -take(take(self.A, rows), rows, axis=1)
        linalg.add_to_diagonal(V, 1.0)
        V = V / S / S.T
        root = like(np.sqrt(share), V)[:, None] * S
        left = -root * V * root.T
        linalg.add_to_diagonal(left, 1.0)
        more = linalg.solve_triangular(linalg.cholesky(left), root * V)
        return namespace(V).linalg.diagonal(V) + linalg.squared_norms(more)


@dataclass(frozen=True)
class OneMatrixExact(Engine):
    """``Exact`` for many rows: the inverse first, for leave-one-out predictions of all rows, then the factor."""

    prior_type: ClassVar = UnevaluatedPrior

    def infer(
        self,
        prior: UnevaluatedPrior,
        y: np.ndarray,
        likelihood: Likelihood,
        init: Any,
        gradient: bool,
        monitor: Monitor,
    ) -> Fit:
        assert isinstance(likelihood, Gaussian)
        n, noise = len(y), likelihood.variance
        root = prior.beside_rows(np.full(n, noise**-0.5))
        matrix = whitened(prior.kernel, prior.X, root)
        log_det = in_place.invert(matrix)
        xp = namespace(matrix)
        residual = like(np.asarray(y, dtype=float)[:, None] - likelihood.bias, matrix)
        alpha = matrix @ residual / noise
        log_evidence = -0.5 * (linalg.dot(residual, alpha) + log_det + n * float(np.log(2.0 * np.pi * noise)))
        # Without row n: mean y_n - alpha_n / P_nn and variance 1 / P_nn - noise, P the inverse of K + noise.
        own = xp.linalg.diagonal(matrix)[:, None] / noise
        loo = Latent.on_host(residual - alpha / own, xp.clip(1.0 / own - noise, 1e-14 * noise, None))
        whitened_factor(prior.kernel, prior.X, root, out=matrix)
        posterior = prior.posterior(GaussianTerms(alpha, root, matrix))
        return Fit(posterior, log_evidence, log_evidence, Info(1, True, (log_evidence,)), loo)
