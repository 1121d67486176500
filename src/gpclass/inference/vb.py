"""Variational Bayes for probit models with auxiliary variables (GR06 section 4.3, appendices A and C).

The factorised posterior Q(Y) Q(M) has Q(m_c) = N(m_c, Sigma_c) with Sigma_c = K_c (I + K_c)^-1, whatever the labels.
The published iteration m <- Sigma (m + p(m)), p = d log P(t | m) / dm (eq 4.6), stops where K^-1 m = p(m): at the
maximum of the concave function

    J(m) = sum_n log P(t_n | m_n) - 1/2 sum_c m_c' K_c^-1 m_c.

So we climb J by Newton's method. Its systems (K^-1 + W) x = r are solved by conjugate gradients with the
preconditioner Sigma, which is good because 0 <= W <= I for unit-variance auxiliaries, and which needs one factorisation
of I + K for all classes and all steps. K itself is never inverted: alpha = K^-1 m is carried beside m.

The bound of appendix C after the Q(Y) update, re-derived (the printed one has a superfluous (N - NK)/2 log 2 pi), is

    B = J(m) - 1/2 sum_c log |I + K_c|  <=  log p(t).

As a guide for kernel parameters B is poor. ``objective="laplace"`` takes the Laplace evidence at the same mode,
J - 1/2 log |I + W K|, with the curvature in product form (exact for up to three classes; see ``gpclass.curvature``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .. import linalg
from ..likelihoods import Likelihood
from .base import Fit, Info, Weights, class_matrix, require
from .determinant import coupled_log_det

_MAX_CG = 500


class _Point(NamedTuple):
    """A place on the way up, with m = K alpha and the likelihood's derivatives there."""

    m: np.ndarray
    alpha: np.ndarray
    J: float
    p: np.ndarray
    W: np.ndarray


@dataclass(frozen=True)
class VB:
    """Variational Bayes for ``Probit`` and ``MultinomialProbit``.

    Parameters
    ----------
    objective : "laplace" or "bound"
        What learning of kernel parameters maximises.
    solver : "newton" or "plain"
        Newton's method, or the iteration of GR06 eq 4.6 as published.
    tol : float
        Stop when no latent mean moves by more than this.
    max_iter : int
        Limit on Newton steps (a few dozen are plenty) or plain iterations.
    """

    objective: str = "laplace"
    solver: str = "newton"
    tol: float = 1e-7
    max_iter: int = 200

    needs: ClassVar = ("augment", "derivatives", "curvature")

    def __post_init__(self) -> None:
        for name, known in (("objective", ("laplace", "bound")), ("solver", ("newton", "plain"))):
            if getattr(self, name) not in known:
                raise ValueError(f"VB: {name} must be one of {known}, got {getattr(self, name)!r}")

    def __call__(
        self,
        K: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        n_latent: int,
        init: np.ndarray | None = None,
        gradient: bool = False,
    ) -> Fit:
        require(self, likelihood)
        noise = getattr(likelihood, "variance", 1.0)
        if noise != 1.0:
            raise ValueError(
                f"VB's auxiliary variables have unit variance, got likelihood variance {noise}; "
                "scale the kernel instead"
            )
        n = len(y)
        L = linalg.cholesky(K + np.eye(n))
        log_det = float(np.sum(linalg.log_det(L))) * (n_latent if K.ndim == 2 else 1)

        def at(alpha: np.ndarray) -> _Point:
            m = linalg.product(K, alpha)
            log_prob, p, hessian = likelihood.derivatives(y, m)
            return _Point(m, alpha, float(log_prob.sum() - 0.5 * np.vdot(m, alpha)), p, -hessian)

        # Sigma = K (I + K)^-1 as a matrix: conjugate gradients apply it often, and one product beats two solves.
        Sigma = np.eye(n) - linalg.inverse(L)

        def smooth(r: np.ndarray) -> np.ndarray:
            return linalg.product(Sigma, r)

        alpha = np.zeros((n, n_latent)) if init is None else np.asarray(init, dtype=float)
        climb = _climb_newton if self.solver == "newton" else _climb_plain
        best, steps, converged = climb(at, smooth, alpha, self.tol, self.max_iter)
        bounds = tuple(J - 0.5 * log_det for J in steps)
        bound = best.J - 0.5 * log_det
        weights = Weights(best.alpha, np.ones(n), L)
        info = Info(len(steps) - 1, converged, bounds)

        if self.objective == "bound":
            dK = _bound_gradient(K, best.alpha, L) if gradient else None
            return Fit(weights, bound, bound, info, dK, likelihood._collect({}) if gradient else None)
        value, dK = _laplace(K, y, likelihood, best, smooth, gradient)
        return Fit(weights, bound, value, info, dK, likelihood._collect({}) if gradient else None)


Climb = tuple[_Point, list[float], bool]


def _climb_plain(
    at: Callable[[np.ndarray], _Point], smooth: Callable, alpha: np.ndarray, tol: float, max_iter: int
) -> Climb:
    """GR06 eq 4.6. With y~ = m + p the new mean is Sigma y~, so the new alpha is (I + K)^-1 y~ = y~ - Sigma y~."""
    point = at(alpha)
    steps = [point.J]
    for _ in range(max_iter):
        auxiliary = point.m + point.p
        new = at(auxiliary - smooth(auxiliary))
        moved = np.max(np.abs(new.m - point.m))
        point = new
        steps.append(point.J)
        if moved < tol:
            return point, steps, True
    return point, steps, False


def _climb_newton(
    at: Callable[[np.ndarray], _Point], smooth: Callable, alpha: np.ndarray, tol: float, max_iter: int
) -> Climb:
    """Newton's method on J with backtracking; J is concave, so it cannot miss."""
    point = at(alpha)
    if alpha.any():
        # A warm start from other parameters may be worse than none.
        origin = at(np.zeros_like(alpha))
        point = origin if origin.J > point.J else point
    steps = [point.J]
    for _ in range(max_iter):
        residual = point.p - point.alpha
        # Solve loosely far away and tightly close by: that keeps the quadratic end of Newton's method.
        rough = float(np.sqrt(max(np.vdot(residual, smooth(residual)), 0.0)))
        dm, dalpha = _solve(point.W, residual, smooth, min(0.1, max(rough, 1e-8)))
        gain = float(np.vdot(residual, dm))
        size = 1.0
        while True:
            new = at(point.alpha + size * dalpha)
            # Close to the top J cannot resolve the gain any more, and the full step is safe.
            if point.J + 1e-4 * size * gain <= new.J or gain < 1e-9 * (1.0 + abs(point.J)):
                break
            size *= 0.5
            if size < 1e-10:
                return point, steps, False
        moved = np.max(np.abs(new.m - point.m))
        point = new
        steps.append(point.J)
        if moved < tol:
            return point, steps, True
    return point, steps, False


def _solve(W: np.ndarray, r: np.ndarray, smooth: Callable, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """(x, K^-1 x) with (K^-1 + W) x = r, by conjugate gradients preconditioned with Sigma = (K^-1 + I)^-1.

    Beside every vector v we carry Sigma^-1 v, which the recurrences give for free; then (K^-1 + W) v = Sigma^-1 v - v
    + W v.
    """
    x, x_raised = np.zeros_like(r), np.zeros_like(r)
    residual = r.copy()
    z = smooth(residual)
    direction, raised = z.copy(), residual.copy()
    size = float(np.vdot(residual, z))
    goal = tol * tol * size
    for _ in range(_MAX_CG):
        if size <= goal or size <= 0.0:
            break
        image = raised - direction + np.einsum("ncd,nd->nc", W, direction)
        step = size / float(np.vdot(direction, image))
        x += step * direction
        x_raised += step * raised
        residual -= step * image
        z = smooth(residual)
        new_size = float(np.vdot(residual, z))
        ratio = new_size / size
        size = new_size
        direction = z + ratio * direction
        raised = residual + ratio * raised
    return x, x_raised - x


def _bound_gradient(K: np.ndarray, alpha: np.ndarray, L: np.ndarray) -> np.ndarray:
    """dB/dK = 1/2 sum_c alpha_c alpha_c' - C/2 (I + K)^-1; m drops out because it maximises J."""
    if K.ndim == 2:
        return 0.5 * (alpha @ alpha.T - alpha.shape[1] * linalg.inverse(L))
    return 0.5 * (np.einsum("ic,jc->cij", alpha, alpha) - linalg.inverse(L))


def _laplace(
    K: np.ndarray, y: np.ndarray, likelihood: Likelihood, mode: _Point, smooth: Callable, gradient: bool
) -> tuple[float, np.ndarray | None]:
    """Laplace evidence E = J(m) - 1/2 log |I + W K|, and dE/dK with the terms through the mode (WB98 appendix B)."""
    d, pull = likelihood.curvature(y, mode.m)
    log_det, by_K, by_log_d = coupled_log_det(K, d, gradient)
    value = mode.J - 0.5 * log_det
    if by_K is None or by_log_d is None:
        return value, None
    # The mode moves by dm = (I + K W)^-1 dK alpha. With q = dE/dm through the curvature,
    # q' dm = b' dK alpha, b = (I + W K)^-1 q = q - W x, (K^-1 + W) x = q.
    q = -0.5 * pull(by_log_d)
    x, _ = _solve(mode.W, q, smooth, 1e-8)
    b = q - np.einsum("ncd,nd->nc", mode.W, x)
    dK: np.ndarray = -0.5 * by_K
    alpha = mode.alpha
    if K.ndim == 2:
        dK += 0.5 * (alpha @ alpha.T + alpha @ b.T + b @ alpha.T)
    else:
        for c in range(alpha.shape[1]):
            own = alpha[:, c]
            through = np.outer(own, b[:, c])
            class_matrix(dK, c)[...] += 0.5 * (np.outer(own, own) + through + through.T)
    return value, dK
