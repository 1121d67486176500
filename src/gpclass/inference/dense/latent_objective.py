"""The maximum of J(m) = sum_n log p(y_n | m_n) - 1/2 sum_c m_c' K_c^-1 m_c: Laplace's mode, and the mean of VB.

Newton's method climbs it. Its systems (K^-1 + W) x = r are solved by conjugate gradients. The cheap preconditioner is
Sigma = (K^-1 + I / noise)^-1: good because 0 <= W <= I / noise when the observation is a function of f plus Gaussian
noise, and in need of only one factorisation for all classes and all steps. Where the amplitude is so large that it does
not get there, the product form of the curvature (``coupling.py``) takes its place, at C + 1 factorisations. K itself
is never inverted: alpha = K^-1 m is carried beside m.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...training.monitor import track
from ..base import check_prior, class_matrix
from .product_form_posterior import ProductFormPosterior

#: Latent values beyond this are an overshoot, and log probabilities of minus their square have no digits left.
_TOO_FAR = 1e6


#: With one latent function and fewer rows than this, factorising beats conjugate gradients.
_FEW_ROWS = 200
#: After so many Newton steps the cheap preconditioner is given up: where labels are all but certain, curvatures are so
#: small that its measure of what is solved overlooks the directions in which the mode still has far to go.
_PATIENCE = 20


class Point(NamedTuple):
    """A place on the way up, with m = K alpha and the likelihood's derivatives there."""

    m: np.ndarray
    alpha: np.ndarray
    J: float
    p: np.ndarray
    W: np.ndarray


class Maximum(NamedTuple):
    """The highest point found, J after each step, and whether it is the top."""

    top: Point
    objective_trace: list[float]
    converged: bool


class Evidence(NamedTuple):
    """Laplace evidence at a mode, the posterior it belongs to, and the gradient in K and the likelihood's theta."""

    value: float
    posterior: ProductFormPosterior
    dK: np.ndarray | None = None
    dlikelihood: np.ndarray | None = None


class Preconditioner(NamedTuple):
    """r -> (K^-1 + V)^-1 r for a curvature V (n, C, C), and how many steps of conjugate gradients it may take."""

    apply: Callable[[np.ndarray], np.ndarray]
    V: np.ndarray
    max_iter: int


class LatentObjective:
    """J for one prior covariance and one set of observations."""

    def __init__(self, K: np.ndarray, y: np.ndarray, likelihood: Likelihood, n_latent: int) -> None:
        self.K, self.y, self.likelihood, self.shape = K, y, likelihood, (len(y), n_latent)
        check_prior(K)
        self.noise = likelihood.auxiliary_noise(len(y))
        root = self.noise**-0.5
        self.chol = linalg.whitened_factor(K, root)
        # Sigma as a matrix: conjugate gradients apply it often, and one product beats two solves.
        self.Sigma = (np.eye(len(y)) - linalg.inverse(self.chol)) / root[:, None] / root
        identity = np.eye(n_latent) / self.noise[:, None, None]
        self._preconditioner = Preconditioner(self.smooth, identity, 60)

    @property
    def log_det(self) -> float:
        """sum_c log |I + noise^-1/2 K_c noise^-1/2|"""
        total = float(np.sum(linalg.log_det(self.chol)))
        return total * self.shape[1] if self.K.ndim == 2 else total

    def at(self, alpha: np.ndarray) -> Point:
        m = linalg.product(self.K, alpha)
        if not np.max(np.abs(m)) <= _TOO_FAR:
            # No posterior lives there; -inf makes the line search step back.
            return Point(m, alpha, -np.inf, np.zeros_like(m), np.zeros((*m.shape, m.shape[1])))
        log_prob, p, hessian = self.likelihood.derivatives(self.y, m)
        return Point(m, alpha, float(log_prob.sum() - 0.5 * np.vdot(m, alpha)), p, -hessian)

    def start(self, init: np.ndarray | None) -> Point:
        """The given alpha, unless plain zero is higher: a warm start from other parameters may be worse than none."""
        origin = self.at(np.zeros(self.shape))
        if not isinstance(init, np.ndarray) or init.shape != self.shape:
            return origin  # nothing, or the state of another problem or engine
        point = self.at(init)
        return point if point.J > origin.J else origin

    def smooth(self, r: np.ndarray) -> np.ndarray:
        return linalg.product(self.Sigma, r)

    def maximise(self, init: np.ndarray | None, tol: float, max_iter: int) -> Maximum:
        """Newton's method on J with backtracking; where J is concave it cannot miss."""
        point = self.start(init)
        objective_trace = [point.J]
        for step in track(range(max_iter), "Newton steps"):
            if step >= _PATIENCE:
                self._preconditioner = self._curved(point)
            m_target, target = self._newton_target(point)
            gain = float(np.vdot(point.p - point.alpha, m_target - point.m))
            size = 1.0
            while True:
                new = self.at(point.alpha + size * (target - point.alpha))
                # Close to the top J cannot resolve the gain any more, and the full step is safe.
                if point.J + 1e-4 * size * gain <= new.J or gain < 1e-9 * (1.0 + abs(point.J)):
                    break
                size *= 0.5
                if size < 1e-10:
                    return Maximum(point, objective_trace, False)
            max_step = np.max(np.abs(new.m - point.m))
            point = new
            objective_trace.append(point.J)
            if max_step < tol:
                return Maximum(point, objective_trace, True)
        return Maximum(point, objective_trace, False)

    def _newton_target(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """Where a full Newton step would go: means and alpha.

        With (K^-1 + W) x = p - alpha, the new mean m + x is Sigma / noise times the auxiliary m + x + noise (p - W
        x). Taking it and its alpha from there, not from x, keeps them consistent when K is singular or x is rough.
        """
        residual = point.p - point.alpha
        W = point.W if self.likelihood.log_concave else _positive_part(point.W)
        if self.shape[1] == 1 and self.shape[0] < _FEW_ROWS:
            x = ProductFormPosterior(self.K, np.maximum(W[:, :, 0], 1e-14)).apply(residual)
        else:
            x = self._solve_by_gradients(point, W, residual)
        auxiliary = point.m + x + self.noise[:, None] * (point.p - np.einsum("ncd,nd->nc", W, x))
        return self.split(auxiliary)

    def _solve_by_gradients(self, point: Point, W: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """(K^-1 + W)^-1 residual by conjugate gradients."""
        # Solve loosely far away and tightly close by: that keeps the quadratic end of Newton's method.
        rough = float(np.sqrt(max(np.vdot(residual, self.smooth(residual)), 0.0)))
        tol = min(0.1, max(rough, 1e-8))
        x, solved = self.solve(W, residual, tol, self._preconditioner)
        if not solved:
            # Kept for the steps that follow: curvatures change little from now on.
            self._preconditioner = self._curved(point)
            x, _ = self.solve(W, residual, tol, self._preconditioner)
        return x

    def _curved(self, point: Point) -> Preconditioner:
        """The stronger preconditioner, by the product form of the curvature."""
        curved = ProductFormPosterior(self.K, self.likelihood.curvature(self.y, point.m)[0])
        return Preconditioner(curved.apply, curved.precision(), 60)

    def split(self, auxiliary: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Posterior mean and alpha given the auxiliaries: K (K + noise)^-1 and (K + noise)^-1 times them."""
        mean = self.smooth(auxiliary / self.noise[:, None])
        return mean, (auxiliary - mean) / self.noise[:, None]

    def solve(
        self, W: np.ndarray, r: np.ndarray, tol: float, preconditioner: Preconditioner
    ) -> tuple[np.ndarray, bool]:
        """x with (K^-1 + W) x = r, by preconditioned conjugate gradients, and whether it was reached.

        With P^-1 = K^-1 + V the preconditioner's inverse, we carry P^-1 v beside every vector v, which the
        recurrences give for free; then (K^-1 + W) v = P^-1 v + (W - V) v and K^-1 is never needed.
        """
        apply, V, max_iter = preconditioner
        excess = W - V
        x = np.zeros_like(r)
        residual = r.copy()
        z = apply(residual)
        direction, raised = z.copy(), residual.copy()
        size = float(np.vdot(residual, z))
        goal = tol * tol * size
        for _ in range(max_iter):
            if size <= goal or size <= 0.0:
                return x, True
            image = raised + np.einsum("ncd,nd->nc", excess, direction)
            step = size / float(np.vdot(direction, image))
            x += step * direction
            residual -= step * image
            z = apply(residual)
            new_size = float(np.vdot(residual, z))
            ratio = new_size / size
            size = new_size
            direction = z + ratio * direction
            raised = residual + ratio * raised
        return x, False

    def laplace(self, mode: Point, gradient: bool) -> Evidence:
        """Laplace evidence E = J(m) - 1/2 log |I + W K|, with the terms of its gradient through the mode (WB98 appendix
        B), and the posterior."""
        d, pull = self.likelihood.curvature(self.y, mode.m)
        posterior = ProductFormPosterior(self.K, d)
        value = mode.J - 0.5 * posterior.log_det
        if not gradient:
            return Evidence(value, posterior)
        by_K, by_log_d = posterior.log_det_gradient()
        # The mode moves by dm = (I + K W)^-1 dK alpha. With q = dE/dm through the curvature,
        # q' dm = b' dK alpha, b = (I + W K)^-1 q = q - W x, (K^-1 + W) x = q.
        q = -0.5 * pull(by_log_d)
        x, _ = self.solve(mode.W, q, 1e-10, Preconditioner(posterior.apply, posterior.precision(), 300))
        b = q - np.einsum("ncd,nd->nc", mode.W, x)
        dK: np.ndarray = -0.5 * by_K
        alpha = mode.alpha
        if self.K.ndim == 2:
            dK += 0.5 * (alpha @ alpha.T + alpha @ b.T + b @ alpha.T)
        else:
            for c in range(alpha.shape[1]):
                own = alpha[:, c]
                through = np.outer(own, b[:, c])
                class_matrix(dK, c)[...] += 0.5 * (np.outer(own, own) + through + through.T)
        return Evidence(value, posterior, dK, self._by_noise(mode, x, by_log_d))

    def leave_one_out(self, mode: Point, posterior: ProductFormPosterior) -> tuple[np.ndarray, np.ndarray]:
        """Latent means (n, C) and covariances (n, C, C) at every training row without its label, by linear response.

        Taking out row n's Gaussian site (precision W_n, gradient p_n at the mode) leaves the covariance (A_n^-1 -
        W_n)^-1 = A_n (I - W_n A_n)^-1 and moves the mean by minus that covariance times p_n. The curvature must be the
        likelihood's own: a pseudo-target that already knows its label would look far too good.
        """
        share = self.likelihood.share_left_out(len(self.y))
        W = mode.W if self.likelihood.log_concave else posterior.precision()
        W = share[:, None, None] * W
        marginals = posterior.marginals()
        without = marginals @ np.linalg.inv(np.eye(self.shape[1]) - W @ marginals)
        mean = mode.m - np.einsum("ncd,nd->nc", without, share[:, None] * mode.p)
        return mean, without if self.shape[1] > 1 else without[:, :, 0]

    def _by_noise(self, mode: Point, x: np.ndarray, by_log_d: np.ndarray) -> np.ndarray:
        """dE / d label_noise where that is learned: its own, through the curvature, and through the mode."""
        if not self.likelihood.theta.size:
            return np.zeros(0)
        by_noise, by_gradient, by_curvature = self.likelihood.noise_slopes(self.y, mode.m)  # type: ignore[attr-defined]
        return np.array([by_noise.sum() - 0.5 * np.sum(by_log_d * by_curvature) + np.vdot(x, by_gradient)])


def _positive_part(W: np.ndarray) -> np.ndarray:
    """Negative eigenvalues of each row's curvature set to zero: an ascent direction whatever the likelihood."""
    values, vectors = np.linalg.eigh(W)
    return (vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
