"""Expectation propagation through inducing points, all rows side by side: rounds of sums, for rows anywhere.

``sparse_ep`` visits blocks in turn and keeps a site for every row. Its fixed point needs neither. Of the posterior
N(w, B^-1) a row sees v'w ~ N(mu, a), and there its cavity N(m, s) is the one whose tilted moments are mu and a:

    m + s g = mu,   s (1 - s h) = a,   g = d log Z / dm,   h = -d2 log Z / dm2,

log Z that of f ~ N(m, s + D). The matching site has the precision Lambda = h / (1 - s h), and B = I + sum Lambda v v',
w = sum g v. So a round needs the posterior and nothing of the rounds before it, its answer is sums over rows, and
where rows are does not matter.

From the present posterior a round computes B' and the mean w + B'^-1 (sum g v - w): a step of Newton's method that
leaves out the curvature between classes. Two classes that compete then overshoot by all of the step, so half of it is
taken, with Anderson acceleration. Classes are determined by differences of latent functions, so sum_c g_c = 0 for every
row, and sum_c w_c = 0 at the fixed point; in that direction steps would be very short, and it is set.

Rows that the posterior has not seen have the posterior itself as their cavity: so a round can start from a fit to a
sample of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...numerics.arrays import Array, cast, cast_as, identity, is_numpy, like, namespace, take, to_host
from ...training.monitor import Monitor
from ..base import Engine, Fit, Info, Latent
from ..dense.anderson import Anderson
from ..posteriors import InducingPosterior
from ..prior import InducingPrior
from ..settings import check_settings
from .features import Block, weighted_gram

#: Steps on a row's cavity, and how exact it is as a share of the engine's ``tol``.
_CAVITY_STEPS, _CAVITY_TOL = 30, 0.02
#: An accelerated precision matrix keeps at least this share of the present one in every direction.
_LEAST_PRECISION = 0.05


class WhitenedPosterior(NamedTuple):
    """A posterior of w: means (S, C) and R with R'R = B^-1 (C, S, S); whether it has ``seen`` the labels."""

    w: Array
    R: Array
    seen: bool


class Rounds(NamedTuple):
    """Where rounds have got: natural parameters x = [B | B w] (C, S, S + 1), the acceleration, the trace."""

    x: Array
    seen: bool
    acceleration: Anderson
    trace: tuple[float, ...] = ()

    @classmethod
    def start(cls, x: Array, seen: bool) -> Rounds:
        return cls(x, seen, Anderson(depth=6, mixing=0.5, warm_up=2))

    def copy(self) -> Rounds:
        """The same, apart from what further rounds do to the acceleration."""
        return self._replace(acceleration=copy(self.acceleration))

    @classmethod
    def from_nothing(cls, S: int, C: int, reference: Array) -> Rounds:
        """From the prior."""
        return cls.start(like(np.broadcast_to(np.eye(S, S + 1), (C, S, S + 1)).copy(), reference), False)

    @classmethod
    def from_sample(cls, posterior: InducingPosterior, share: float) -> Rounds:
        """From the posterior of a sample, this share of the rows; all of them determine B that much better. A sample of
        all rows has seen them."""
        R = posterior.spread
        xp, S = namespace(R), R.shape[1]
        w, eye = _without_shared_component(posterior.mean), identity(S, R)
        parts = []
        for c in range(R.shape[0]):
            L = linalg.solve_triangular(R[c, ...], eye)
            B = eye + (L @ L.T - eye) / share
            parts.append(xp.concat([B, (B @ w[:, c])[:, None]], axis=1))
        return cls.start(xp.stack(parts), share >= 1.0)


@dataclass(frozen=True)
class ParallelEP(Engine):
    """Expectation propagation with inducing points, in rounds of sums over all rows.

    Parameters
    ----------
    tol : float
        Stop when the update of a round is this close to the present posterior: root mean square over
        parameters, in units of their posterior spread.
    max_iter : int
        Limit on rounds.
    keep : function or None
        Called with the ``Rounds`` after each, to go on from later.
    """

    tol: float = 0.02
    max_iter: int = 50
    keep: Callable[[Rounds], None] | None = None

    prior_type: ClassVar = InducingPrior
    close_before_convergence: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self, max_iter=1)

    def infer(
        self, prior: InducingPrior, y: Any, likelihood: Likelihood, init: Any, gradient: bool, monitor: Monitor
    ) -> Fit:
        if gradient:
            raise TypeError("ParallelEP has no gradient of an evidence; learn with SparseEP")
        features, C = prior.features, prior.n_latent
        basis = features.basis
        S = basis.Z.shape[0]
        rounds = init if isinstance(init, Rounds) else Rounds.from_nothing(S, C, basis.chol)
        converged, cavity_tol, n_open = False, _CAVITY_TOL * self.tol, 0
        log_evidence = rounds.trace[-1] if rounds.trace else -np.inf
        with monitor.task("EP rounds") as task:
            for _ in task.each(range(len(rounds.trace), self.max_iter)):
                point = _point(rounds)
                found, log_evidence, n_open = _update(features, y, likelihood, point, cavity_tol)
                residual = found - rounds.x
                change = _whitened(residual, point)
                size = (linalg.dot(change, change) / (S * C)) ** 0.5
                rounds = _next(rounds, residual, point, size, log_evidence)
                if point.seen and size < self.tol:
                    converged = True
                    break
                if self.keep is not None:
                    self.keep(rounds)
        stopped = task.should_stop and not converged
        point = _point(rounds)
        info = Info(len(rounds.trace), converged, rounds.trace, n_open, stopped=stopped)
        posterior = InducingPosterior(basis.kernel, basis.Z, basis.chol, point.w, point.R)
        loo = _left_out(features, y, likelihood, point, cavity_tol)
        return Fit(posterior, log_evidence, log_evidence, info, loo)


def _point(rounds: Rounds) -> WhitenedPosterior:
    xp, x = namespace(rounds.x), rounds.x
    R = [linalg.inverse_factor(linalg.cholesky(x[c, :, :-1])) for c in range(x.shape[0])]
    w = xp.stack([r.T @ (r @ x[c, :, -1]) for c, r in enumerate(R)], axis=1)
    return WhitenedPosterior(w, xp.stack(R), rounds.seen)


def _without_shared_component(w: Array) -> Array:
    """w (S, C) without the component that all classes share."""
    return w if w.shape[1] == 1 else w - namespace(w).mean(w, axis=1, keepdims=True)


def _update(
    features: Any, y: Any, likelihood: Likelihood, point: WhitenedPosterior, cavity_tol: float
) -> tuple[Array, float, int]:
    """[B' | B' w'] of the sites at a posterior, their log evidence, and how many cavities were not found."""
    grams, slopes, value, n_open = features.sums(site_sums, y, likelihood, point, cavity_tol)
    xp, w = namespace(point.w), point.w
    grams, slopes = like(grams, w), like(slopes, w)
    log_evidence, parts = float(value), []
    for c in range(w.shape[1]):
        B = identity(w.shape[0], w) + grams[c, ...]
        b = slopes[:, c] + grams[c, ...] @ w[:, c]
        L = linalg.cholesky(B)
        half = linalg.solve_triangular(L, b[:, None])
        log_evidence += 0.5 * linalg.dot(half, half) - 0.5 * float(linalg.log_det(L))
        parts.append(xp.concat([B, b[:, None]], axis=1))
    return xp.stack(parts), log_evidence, int(n_open)


def _next(rounds: Rounds, residual: Array, point: WhitenedPosterior, size: float, log_evidence: float) -> Rounds:
    """Where to look next: the accelerated step, or where that is no precision matrix, half of the plain one."""
    xp, acceleration = namespace(rounds.x), rounds.acceleration
    plain = rounds.x + acceleration.mixing * residual
    x = acceleration.step(rounds.x, residual, lambda change: _whitened(change, point))
    acceleration.watch(size)
    try:
        for c in range(x.shape[0]):
            linalg.cholesky(x[c, :, :-1] - _LEAST_PRECISION * rounds.x[c, :, :-1])
    except LinAlgError:
        x = plain
    w = _without_shared_component(_point(rounds._replace(x=x)).w) if x.shape[0] > 1 else None
    if w is not None:
        b = [(x[c, :, :-1] @ w[:, c])[:, None] for c in range(x.shape[0])]
        x = xp.concat([x[:, :, :-1], xp.stack(b)], axis=2)
    return rounds._replace(x=x, seen=True, trace=(*rounds.trace, log_evidence))


def _whitened(change: Array, point: WhitenedPosterior) -> Array:
    """A change of [B | B w] in units of the posterior, |.|^2 / 2 being the divergence between old and new."""
    xp, parts = namespace(change), []
    for c in range(change.shape[0]):
        R, dB = point.R[c, ...], change[c, :, :-1]
        moved = R @ (change[c, :, -1] - dB @ point.w[:, c])
        parts.append(xp.concat([(R @ dB) @ R.T * 0.5**0.5, moved[:, None]], axis=1))
    return xp.stack(parts)


class RowCavities(NamedTuple):
    """Of the rows of a block: mean and variance (b, C) of v'w without their sites, log Z (b,), g and h (b, C), and
    which were not found."""

    mean: Array
    variance: Array
    log_z: Array
    slope: Array
    curvature: Array
    left: Array


def site_sums(
    block: Block, y: np.ndarray, likelihood: Likelihood, point: WhitenedPosterior, cavity_tol: float
) -> tuple[Any, ...]:
    """A block's share of B (C, S, S), of sum g v (S, C) and of the log evidence; and how many cavities were not found.

    The evidence is log Z_n + 1/2 log(1 + Lambda s) - (mu^2 / a - m^2 / s) / 2 a row and class, beside |B| and b'w; the
    last bracket is Lambda mu^2 + g (mu + m).
    """
    V, xp = block.V, namespace(block.V)
    mu, found = _cavities(block, y, likelihood, point, cavity_tol)
    share = xp.clip(found.variance * found.curvature, 0.0, 1.0 - 1e-9)
    precision = found.curvature / (1.0 - share)
    tilted = found.mean + found.variance * found.slope  # mu, but for rows that the posterior has not seen
    value = float(xp.sum(found.log_z) - 0.5 * xp.sum(xp.log1p(-share)))
    value -= 0.5 * float(xp.sum(precision * tilted**2 + found.slope * (tilted + found.mean)))
    slopes = found.slope + precision * (tilted - mu)
    grams = linalg.for_each_class(
        lambda c: weighted_gram(V, precision[:, c]), mu.shape[1], V.shape[1], on_host=is_numpy(V)
    )
    return xp.stack(grams), cast(V @ cast_as(slopes, V), float), value, int(xp.count_nonzero(found.left))


def _cavities(
    block: Block, y: np.ndarray, likelihood: Likelihood, point: WhitenedPosterior, cavity_tol: float
) -> tuple[Array, RowCavities]:
    """Means mu (b, C) of v'w, and the cavities.

    Newton's method for m, in which h stands for the slope of g, and the equation for s, one after the other; rows that
    are found are left alone. A cavity is never wider than the prior. Sites have no negative precision, as in ``ep``.
    """
    V, D, xp = block.V, block.site_noise[:, None], namespace(block.V)
    w, R = cast_as(point.w, V), cast_as(point.R, V)
    norms = linalg.for_each_class(
        lambda c: linalg.column_norms(R[c, ...], V), R.shape[0], V.shape[0], on_host=is_numpy(V)
    )
    mu, a = cast(V.T @ w, float), xp.clip(cast(xp.stack(norms, axis=1), float), 1e-14, None)
    widest = xp.maximum(a, cast(linalg.squared_norms(V), float)[:, None])

    def evaluated(rows: Any, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        log_z, slope, second = likelihood.evaluate("tilted", y[rows], mean, variance + _rows_of(D, rows))
        return log_z, slope, xp.clip(-second, 0.0, None)

    mean, variance = xp.asarray(mu, copy=True), xp.asarray(a, copy=True)
    log_z, slope, curvature = evaluated(slice(None), mean, variance)
    here, left = is_numpy(V), xp.isfinite(mu[:, 0]) & point.seen
    for _ in range(_CAVITY_STEPS):
        # On the host the rows that are left; elsewhere all, of which the others stay.
        rows: Any = np.flatnonzero(left) if here else slice(None)
        m, s, g, h = (_rows_of(part, rows) for part in (mean, variance, slope, curvature))
        gap = 1.0 - s * h
        wider = xp.minimum(_rows_of(a, rows) / xp.clip(gap, 1e-3, None), _rows_of(widest, rows))
        miss, unit = m + s * g - _rows_of(mu, rows), 1.0 + s + _rows_of(D, rows)
        far = xp.any((xp.abs(miss) / unit**0.5 > cavity_tol) | (xp.abs(wider - s) / unit > cavity_tol), axis=1)
        m_new = m - miss / xp.clip(gap, 0.1, None)
        if here:
            left[rows] = far
            rows, m, s = rows[far], m_new[far], wider[far]
        else:
            left = left & far
            m, s = xp.where(left[:, None], m_new, m), xp.where(left[:, None], wider, s)
        if not bool(xp.any(left)):
            break
        mean[rows, ...], variance[rows, ...] = m, s
        log_z[rows], slope[rows, ...], curvature[rows, ...] = evaluated(rows, m, s)
    return mu, RowCavities(mean, variance, log_z, slope, curvature, left)


def _rows_of(part: Array, rows: Any) -> Array:
    return part if isinstance(rows, slice) else take(part, rows)


def _left_out(features: Any, y: Any, likelihood: Likelihood, point: WhitenedPosterior, cavity_tol: float) -> Latent:
    """The cavities of local rows, (n, C)."""
    here, labels = features.local_sample(y)
    mean, cov = np.empty((2, len(here), point.w.shape[1]))
    for block in here:
        _, found = _cavities(block, labels[block.rows], likelihood, point, cavity_tol)
        mean[block.rows] = to_host(found.mean)
        cov[block.rows] = to_host(found.variance + (block.site_noise + block.dropped_variance)[:, None])
    return Latent(mean, cov)
