"""The maximum of J(m) = sum_n log p(y_n | m_n) - 1/2 sum_c m_c' K_c^-1 m_c: Laplace's mode, and the mean of VB.

Newton's method finds it. Its systems (K^-1 + W) x = r are solved by conjugate gradients, with one of three
preconditioners (K^-1 + V)^-1:

    V = I / noise          one factorisation for all classes; 0 <= W <= V if y is a function of f plus Gaussian noise
    V_n = mean_c W_ncc I   another; for large amplitudes, where most curvatures are small, and for one latent function,
                           where V is W itself at the point it was taken
    V = product form of W  ``ProductFormPosterior``, C + 1 factorisations; where the others do not converge

K itself is never inverted: alpha = K^-1 m is carried beside m.

All arrays have the namespace of K. Labels y stay on the host, where the likelihood computes row by row.
"""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...numerics.arrays import Array, like, namespace, to_host
from ...numerics.product_form import product_form
from ...training.monitor import Monitor
from ..base import Latent, check_prior_variance
from .left_out import SIZE_OF_MODES, by_modes, solve_again
from .product_form_posterior import ProductFormPosterior

#: Latent values beyond this are an overshoot, and log probabilities of minus their square have no digits left.
_TOO_FAR = 1e6


#: With one latent function and fewer rows than this, factorising at every step beats conjugate gradients.
_FEW_ROWS = 200
#: From this mean prior variance on, a warm start goes by the curvatures there and not by the noise.
_LARGE_VARIANCE = 3.0
#: Steps of conjugate gradients after which the next preconditioner is tried.
_CG_STEPS, _MORE_CG_STEPS = 60, 100
#: Smallest mean curvature of a row in its preconditioner: below it the row's prior is all that counts.
_SMALLEST_CURVATURE = 1e-6
#: After so many Newton steps only the product form is used: where labels are all but certain, curvatures are so small
#: that the others' measure of what is solved overlooks the directions in which the mode is still far away.
_PATIENCE = 20


class Point(NamedTuple):
    """An iterate m = K alpha with J, the likelihood's gradient p (n, C) and its curvature W (n, C, C)."""

    m: Array
    alpha: Array
    J: float
    p: Array
    W: Array


class Maximum(NamedTuple):
    """The best point found, J after each step, and whether the iteration converged there."""

    mode: Point
    objective_trace: list[float]
    converged: bool
    stopped: bool = False


class LaplaceEvidence(NamedTuple):
    """Laplace evidence at a mode, the posterior it belongs to, and the gradient in K and the likelihood's theta."""

    value: float
    posterior: ProductFormPosterior
    dK: Array | None = None
    dlikelihood: np.ndarray = np.zeros(0)


class Preconditioner(NamedTuple):
    """r -> (K^-1 + V)^-1 r for a curvature V (n, C, C), and how many steps of conjugate gradients it may take."""

    apply: Callable[[Array], Array]
    V: Array
    max_iter: int


class Smoother:
    """(K^-1 + V)^-1 for a curvature V = diag(v) that all latent functions share."""

    def __init__(self, K: Array, v: Array) -> None:
        self.v, self._root = v, namespace(K).sqrt(v)
        self.chol = linalg.whitened_factor(K, self._root)

    @cached_property
    def Sigma(self) -> Array:
        """The matrix: conjugate gradients over several classes apply it so often that a product beats two solves."""
        return _covariance(self.chol, self._root)

    def smooth(self, r: Array) -> Array:
        """(K^-1 + V)^-1 r"""
        if r.shape[1] == 1:
            return (r - self.alpha(r)) / self.v[:, None]
        return linalg.product(self.Sigma, r)

    def alpha(self, r: Array) -> Array:
        """K^-1 (K^-1 + V)^-1 r = (I + V K)^-1 r = V^1/2 B^-1 V^-1/2 r with B = I + V^1/2 K V^1/2."""
        if r.shape[1] == 1:
            return self._root[:, None] * linalg.solve(self.chol, r / self._root[:, None])
        return r - self.v[:, None] * self.smooth(r)


class LatentObjective:
    """J for one prior covariance and one set of observations."""

    def __init__(self, K: Array, y: np.ndarray, likelihood: Likelihood, n_latent: int) -> None:
        self._xp = namespace(K)
        self.K, self.y, self.likelihood, self.shape = K, y, likelihood, (len(y), n_latent)
        check_prior_variance(K)
        self.noise = like(likelihood.auxiliary_noise(len(y)), K)

    @cached_property
    def by_noise(self) -> Smoother:
        """(K^-1 + I / noise)^-1, the posterior covariance of VB."""
        return Smoother(self.K, 1.0 / self.noise)

    @property
    def log_det(self) -> float:
        """sum_c log |I + noise^-1/2 K_c noise^-1/2|"""
        total = float(self._xp.sum(linalg.log_det(self.by_noise.chol)))
        return total * self.shape[1] if self.K.ndim == 2 else total

    def at(self, alpha: Array) -> Point:
        m = linalg.product(self.K, alpha)
        if not self.largest(m) <= _TOO_FAR:
            # No mode is so far away; -inf makes the line search step back.
            zeros = like(np.zeros((*m.shape, m.shape[1])), m)
            return Point(m, alpha, -np.inf, zeros[:, :, 0], zeros)
        log_prob, p, hessian = self.likelihood.evaluate("derivatives", self.y, m)
        return Point(m, alpha, float(self._xp.sum(log_prob)) - 0.5 * linalg.dot(m, alpha), p, -hessian)

    def largest(self, x: Array) -> float:
        """The largest absolute value."""
        return float(self._xp.max(self._xp.abs(x)))

    def start(self, init: Array | None) -> Point:
        """One step from the means of a neighbour's mode, unless J is higher at zero.

        The step is that of ``_newton_target`` with V alone. At other parameters the neighbour's means are closer to the
        mode than K alpha for its alpha.
        """
        if getattr(init, "shape", None) == self.shape:  # not the state of another problem or engine
            m = like(init, self.K)
            _, p, hessian = self.likelihood.evaluate("derivatives", self.y, m)
            self._choose_preconditioner(Point(m, p, -np.inf, p, -hessian), warm=True)
            point = self.at(self._smoother.alpha(p + self._smoother.v[:, None] * m))
            if float(np.sum(self.likelihood.log_prob(self.y, np.zeros(self.shape)))) < point.J:
                return point
        origin = self.at(like(np.zeros(self.shape), self.K))
        self._choose_preconditioner(origin, warm=False)
        return origin

    def _choose_preconditioner(self, point: Point, warm: bool) -> None:
        """By the curvatures at a point, where those are about what the mode will have, or by the noise."""
        variance = float(self._xp.mean(self._xp.linalg.diagonal(self.K)))
        if self.shape[1] == 1 or (warm and variance > _LARGE_VARIANCE):
            self._preconditioner = self._averaged(point)
        else:
            self._smoother = self.by_noise
            self._preconditioner = self._diagonal(self.by_noise, _CG_STEPS)

    def maximise(self, init: Array | None, tol: float, max_iter: int, monitor: Monitor) -> Maximum:
        """Newton's method on J with backtracking; where J is concave it cannot miss."""
        point = self.start(init)
        objective_trace = [point.J]
        few_rows = self.shape[1] == 1 and self.shape[0] < _FEW_ROWS
        with monitor.task("Newton steps") as steps:
            for step in steps.each(range(max_iter)):
                if step >= _PATIENCE:
                    self._preconditioner = self._curved(point)
                elif few_rows and (step or self.largest(point.alpha) > 0.0):
                    self._preconditioner = self._averaged(point)
                target = self._newton_target(point)
                new, size = self.at(target), 1.0
                # To first order J gains this on the way.
                gain = linalg.dot(point.p - point.alpha, new.m - point.m)
                while True:
                    # Close to the mode J cannot resolve the gain any more, and the full step is safe.
                    if point.J + 1e-4 * size * gain <= new.J or gain < 1e-9 * (1.0 + abs(point.J)):
                        break
                    size *= 0.5
                    if size < 1e-10:
                        return Maximum(point, objective_trace, False)
                    new = self.at(point.alpha + size * (target - point.alpha))
                max_step = self.largest(new.m - point.m)
                point = new
                objective_trace.append(point.J)
                if max_step < tol:
                    return Maximum(point, objective_trace, True)
            return Maximum(point, objective_trace, False, steps.should_stop)

    def _newton_target(self, point: Point) -> Array:
        """The alpha where a full Newton step would go.

        With (K^-1 + W) x = p - alpha the step goes to m + x, where K^-1 (m + x) = p - W x. So (K^-1 + V) (m + x) = u =
        p - W x + V (m + x), and alpha = (I + V K)^-1 u. Taken from there it belongs to the mean K alpha, whether or not
        K is singular or x is rough. Where V is W, no x is needed.
        """
        if self.shape[1] == 1 and bool(self._xp.all(self._smoother.v == point.W[:, 0, 0])):
            return self._smoother.alpha(point.p + self._smoother.v[:, None] * point.m)
        W = point.W if self.likelihood.log_concave else linalg.positive_part(point.W)
        x = self._solve_by_gradients(point, W, point.p - point.alpha)
        # With V from the noise an error of x shrinks; small mean curvatures of several classes may raise it.
        by_diagonal = self._smoother if self.shape[1] == 1 else self.by_noise
        return by_diagonal.alpha(point.p - linalg.row_products(W, x) + by_diagonal.v[:, None] * (point.m + x))

    def _solve_by_gradients(self, point: Point, W: Array, residual: Array) -> Array:
        """(K^-1 + W)^-1 residual by conjugate gradients."""
        x, solved = self.solve(W, residual, None, self._preconditioner)
        for stronger in (self._averaged, self._curved):
            if solved:
                break
            # Kept for the steps that follow: curvatures change little from now on.
            self._preconditioner = stronger(point)
            x, solved = self.solve(W, residual, None, self._preconditioner)
        return x

    def _diagonal(self, smoother: Smoother, max_iter: int) -> Preconditioner:
        V = smoother.v[:, None, None] * like(np.eye(self.shape[1]), self.K)
        return Preconditioner(smoother.smooth, V, max_iter)

    def _averaged(self, point: Point) -> Preconditioner:
        """The preconditioner by each row's mean curvature over the classes."""
        xp = self._xp
        curvature = xp.mean(xp.linalg.diagonal(point.W), axis=1)
        curvature = xp.where(curvature > _SMALLEST_CURVATURE, curvature, _SMALLEST_CURVATURE)
        self._smoother = Smoother(self.K, curvature)
        return self._diagonal(self._smoother, _MORE_CG_STEPS)

    def _curved(self, point: Point) -> Preconditioner:
        """The preconditioner by the product form of the curvature."""
        diagonal = to_host(self._xp.linalg.diagonal(point.W))
        d = np.maximum(diagonal, 1e-14) if self.shape[1] == 1 else product_form(np.maximum(diagonal, 0.0))[0]
        curved = ProductFormPosterior(self.K, like(d, self.K))
        return Preconditioner(curved.apply, curved.precision(), _CG_STEPS)

    def solve(self, W: Array, r: Array, tol: float | None, preconditioner: Preconditioner) -> tuple[Array, bool]:
        """x with (K^-1 + W) x = r, and whether the tolerance was reached."""
        apply, V, max_iter = preconditioner
        return conjugate_gradients(apply, W - V, r, tol, max_iter)

    def laplace(self, mode: Point, gradient: bool) -> LaplaceEvidence:
        """Laplace evidence E = J(m) - 1/2 log |I + W K|, with the terms of its gradient through the mode (WB98 appendix
        B), and the posterior."""
        d, pull = self.likelihood.evaluate("curvature", self.y, mode.m)
        posterior = ProductFormPosterior(self.K, d)
        value = mode.J - 0.5 * posterior.log_det
        if not gradient:
            return LaplaceEvidence(value, posterior)
        by_K, by_log_d = posterior.log_det_gradient()
        # The mode moves by dm = (I + K W)^-1 dK alpha. With q = dE/dm through the curvature,
        # q' dm = b' dK alpha, b = (I + W K)^-1 q = q - W x, (K^-1 + W) x = q.
        q = -0.5 * pull(by_log_d)
        x, _ = self.solve(mode.W, q, 1e-10, Preconditioner(posterior.apply, posterior.precision(), 300))
        b = q - linalg.row_products(mode.W, x)
        # dE/dK_c = 1/2 (alpha_c alpha_c' + alpha_c b_c' + b_c alpha_c' - d log_det / dK_c), and the first three are
        # (alpha_c + b_c) (alpha_c + b_c)' - b_c b_c'.
        both = mode.alpha + b
        dK = self.outer(both, both)
        dK -= self.outer(b, b)
        dK -= by_K
        dK *= 0.5
        return LaplaceEvidence(value, posterior, dK, self._by_noise(mode, x, by_log_d))

    def outer(self, a: Array, b: Array) -> Array:
        """sum_c a_c b_c', or a_c b_c' for every c, shaped as K."""
        return linalg.outer(a, b, stacked=self.K.ndim == 3)

    def leave_one_out(self, mode: Point, posterior: ProductFormPosterior) -> Latent:
        """Latent means (n, C) and covariances (n, C, C) at every training row without its label.

        By linear response: taking out row n's Gaussian site (precision W_n, gradient p_n at the mode) leaves the
        covariance (A_n^-1 - W_n)^-1 = A_n (I - W_n A_n)^-1 and moves the mean by minus that covariance times p_n. The
        curvature must be the likelihood's own: a pseudo-target that already knows its label would look far too good.
        Rows of several classes that move far are solved for again, with the rows around them (``left_out``).
        """
        share = like(self.likelihood.share_left_out(len(self.y)), self.K)
        W = mode.W if self.likelihood.log_concave else posterior.precision()
        W = share[:, None, None] * W
        marginals = posterior.marginals()
        without = marginals @ self._xp.linalg.inv(like(np.eye(self.shape[1]), W) - W @ marginals)
        mean = mode.m - linalg.row_products(without, share[:, None] * mode.p)
        if self.shape[1] == 1:
            return Latent.on_host(mean, without[:, :, 0])
        left_out = Latent.on_host(mean, without)
        solve = by_modes(self.y, self.likelihood)
        solve_again(
            posterior, self.likelihood, self.y, (to_host(mode.m), to_host(mode.p)), left_out, solve, SIZE_OF_MODES
        )
        return left_out

    def _by_noise(self, mode: Point, x: Array, by_log_d: Array) -> np.ndarray:
        """dE / d label_noise where that is learned: its own, through the curvature, and through the mode."""
        if not self.likelihood.theta.size:
            return np.zeros(0)
        by_noise, by_gradient, by_curvature = self.likelihood.noise_slopes(self.y, to_host(mode.m))
        x, by_log_d = to_host(x), to_host(by_log_d)
        return np.array([by_noise.sum() - 0.5 * np.sum(by_log_d * by_curvature) + np.vdot(x, by_gradient)])


def conjugate_gradients(
    apply: Callable[[Array], Array], excess: Array, r: Array, tol: float | None, max_iter: int
) -> tuple[Array, bool]:
    """x with (P^-1 + excess) x = r by conjugate gradients with the preconditioner P, ``apply``, and whether the
    tolerance was reached; ``excess`` (n, C, C) acts row by row.

    Without a tolerance the solution is rough far away from a mode and tight close by: that keeps the quadratic
    convergence of Newton's method.

    We carry P^-1 v beside every vector v, which the recurrences give for free; so P^-1, which has K^-1 in it, is never
    needed.
    """
    x, residual = namespace(r).zeros_like(r), r
    direction, raised = apply(residual), residual
    size = linalg.dot(residual, direction)
    if tol is None:
        tol = min(0.1, max(size, 1e-16) ** 0.5)
    goal = tol * tol * size
    for _ in range(max_iter):
        if size <= goal or size <= 0.0:
            return x, True
        image = raised + linalg.row_products(excess, direction)
        curvature = linalg.dot(direction, image)
        if not curvature > 0.0:  # rounding has left nothing of the direction
            return x, False
        step = size / curvature
        x = x + step * direction
        residual = residual - step * image
        z = apply(residual)
        last, size = size, linalg.dot(residual, z)
        direction = z + size / last * direction
        raised = residual + size / last * raised
    return x, False


def _covariance(chol: Array, sqrt_precision: Array) -> Array:
    """(K^-1 + V)^-1 = V^-1 - V^-1/2 (L L')^-1 V^-1/2 for the factor L of I + V^1/2 K V^1/2, V = diag(sqrt_precision^2).

    As a matrix: conjugate gradients apply it often, and one product beats two solves. Computed in place, as n x n
    matrices fill a device.
    """
    Sigma = namespace(chol).matrix_transpose(linalg.inverse(chol))
    Sigma *= -1.0
    linalg.add_to_diagonal(Sigma, 1.0)
    Sigma /= sqrt_precision[:, None]
    Sigma /= sqrt_precision
    return Sigma
