"""Expectation propagation through inducing points: every row has a site, every class an S x S matrix.

With site precisions tau and locations nu of one class (``ep``), e = 1 / (1 + D tau), Lambda = tau e and B = I + V
Lambda V', the posterior of w is N(B^-1 V (e nu), B^-1), and that of row n has

    mean = D e nu + e v' w,   variance = D e + e^2 v' B^-1 v.

A sweep is one pass over blocks of rows. The rows of a block are given new sites together, from the B that the blocks
before it have left, and B is updated before the next block: with all rows at once the sweeps would oscillate.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...numerics.arrays import Array, cast, is_numpy, like, namespace, to_host
from ...training.monitor import Monitor
from ..base import Engine, Fit, Info, Latent
from ..dense.cavities import matching_sites
from ..dense.ep import FLOOR, Sites
from ..posteriors import InducingPosterior
from ..prior import InducingPrior
from ..settings import check_settings
from .features import Block, Features, weighted_gram


@dataclass(frozen=True)
class SparseEP(Engine):
    """Expectation propagation with inducing points, sites independent between classes.

    Parameters
    ----------
    damping : float in (0, 1]
        Share of the way to the matching site that a sweep goes; less while sweeps go to and fro.
    tol : float
        Stop when the rows' cavity means (each row's that moves most) would, undamped, move by less than this in root
        mean square, in units of their own spread and the unit noise, and apart from what all classes have in common.
    max_iter : int
        Limit on sweeps.
    """

    damping: float = 0.8
    tol: float = 0.05
    max_iter: int = 100

    prior_type: ClassVar = InducingPrior
    # Site locations that no label depends on settle last, and hardly change the evidence.
    close_before_convergence: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self, max_iter=1)

    def differentiates(self, likelihood: Likelihood) -> bool:
        """Whether the evidence is stationary in the sites, as for ``EP``."""
        return likelihood.log_concave

    def infer(
        self, prior: InducingPrior, y: np.ndarray, likelihood: Likelihood, init: Any, gradient: bool, monitor: Monitor
    ) -> Fit:
        features, n_latent = prior.features, prior.n_latent
        if not isinstance(features, Features):
            raise TypeError("SparseEP visits rows one after the other, and needs them on this machine; use ParallelEP")
        run = _Run(features, y, likelihood, n_latent, init)
        xp = namespace(run.tau)
        trace, converged, damping, last = [], False, self.damping, xp.zeros_like(run.tau)
        with monitor.task("EP sweeps") as sweeps:
            for _ in sweeps.each(range(self.max_iter)):
                before = xp.asarray(run.cavity_mean, copy=True)
                trace.append(run.sweep(damping))
                step = run.cavity_mean - before
                if n_latent > 1:  # what all classes have in common changes no label, and is slow to settle
                    step -= xp.mean(step, axis=1, keepdims=True)
                max_step = xp.max(xp.abs(step) / xp.sqrt(1.0 + run.cavity_variance), axis=1) / damping
                if len(trace) > 1 and float(xp.mean(max_step**2)) ** 0.5 < self.tol:
                    converged = True
                    break
                lengths = linalg.dot(step, step) ** 0.5 * linalg.dot(last, last) ** 0.5
                alike = linalg.dot(step, last) / max(lengths, 1e-300)
                if alike < -0.2:  # to and fro
                    damping = max(0.5 * damping, 0.05)
                elif alike > 0.5:
                    damping = min(1.5 * damping, self.damping)
                last = step if len(trace) > 1 else xp.zeros_like(step)  # the first sweep sets out from nothing
        log_evidence = run.sweep(0.0)
        trace.append(log_evidence)
        stopped = sweeps.should_stop and not converged
        info = Info(len(trace) - 1, converged, tuple(trace), run.n_skipped, stopped=stopped)
        posterior = InducingPosterior(features.kernel, features.Z, features.chol, run.w, run.R)
        cavity_mean, cavity_variance = to_host(run.cavity_mean), to_host(run.cavity_variance)
        loo = Latent(cavity_mean, cavity_variance + features.dropped_variance()[:, None])
        slope = run.gradient() if gradient else None
        return Fit(posterior, log_evidence, log_evidence, info, loo, slope, run.sites)


class _Run:
    """The state of one call: sites (n, C), and per class R'R = B^-1 and w = B^-1 V (e nu)."""

    def __init__(self, features: Features, y: np.ndarray, likelihood: Likelihood, C: int, init: Any) -> None:
        self.features, self.y, self.likelihood = features, y, likelihood
        n, S = len(features), features.Z.shape[0]
        zeros = like(np.zeros((n, C)), features.chol)
        self.n_skipped = 0
        self.cavity_mean, self.cavity_variance, self.tau, self.nu = zeros, zeros + 1.0, 0.0 * zeros, 0.0 * zeros
        self.R = like(np.broadcast_to(np.eye(S), (C, S, S)).copy(), features.chol)
        self._narrow = cast(self.R, features.dtype)  # R in the precision of V
        self.w, self.log_det = like(np.zeros((S, C)), features.chol), np.zeros(C)
        # B and V (e nu)
        self._B, self._location = namespace(self.R).asarray(self.R, copy=True), 0.0 * self.w
        if isinstance(init, Sites) and init.precision.shape == (n, C):
            self.tau, self.nu = (0.0 * zeros + like(part, zeros) for part in init)
            for block in features:
                self._add(block, *self._weights(block))
            self._settle()

    @property
    def sites(self) -> Sites:
        return Sites(self.tau, self.nu)

    def sweep(self, damping: float) -> float:
        """One pass; the log evidence on the way. With ``damping`` 0 nothing moves, and it is that of the sites."""
        log_evidence, waiting = -0.5 * float(self.log_det.sum()), 0
        for block in self.features:
            before = self._weights(block)
            log_evidence += self._visit(block, damping)
            if damping:
                self._add(block, *(new - old for new, old in zip(self._weights(block), before, strict=True)))
                waiting += block.V.shape[1]
            if waiting >= self.w.shape[0]:  # to factorise B is as much work as so many rows
                self._settle()
                waiting = 0
        if waiting:
            self._settle()
        return log_evidence

    def _visit(self, block: Block, damping: float) -> float:
        """Cavities and new sites of a block; its share of the log evidence."""
        rows, V, D, _ = block
        xp = namespace(V)
        tau, nu, D = self.tau[rows, :], self.nu[rows, :], D[:, None]
        e = 1.0 / (1.0 + D * tau)
        mean = D * e * nu + e * (V.T @ cast(self.w, self.features.dtype))
        variance = xp.clip(D * e + e**2 * self._spread(V), 1e-14, None)
        sites = Sites(tau, nu)
        cavity_mean, cavity_variance, broken = sites.cavities(mean, variance)
        log_z, first, second = self.likelihood.evaluate("tilted", self.y[rows], cavity_mean, cavity_variance)
        # |I + T^1/2 K T^1/2| = prod (1 + D tau) |B|
        value = float(xp.sum(log_z) + 0.5 * xp.sum(xp.log(e)))
        value += sites.log_evidence(mean, variance, cavity_mean, cavity_variance)
        self.cavity_mean[rows, :], self.cavity_variance[rows, :] = cavity_mean, cavity_variance
        matched = matching_sites(cavity_mean, cavity_variance, first, second, FLOOR / variance)
        keep = broken | ~xp.all(xp.isfinite(matched), axis=0)  # a broken cavity keeps the site it has
        self.n_skipped += int(xp.count_nonzero(keep))
        new_tau, new_nu = matched[0, ...], matched[1, ...]
        self.tau[rows, :] = xp.where(keep, tau, tau + damping * (new_tau - tau))
        self.nu[rows, :] = xp.where(keep, nu, nu + damping * (new_nu - nu))
        return value

    def _spread(self, V: Array) -> Array:
        """v' B^-1 v for every row and class, (b, C)."""
        R = self.R if V.dtype == self.R.dtype else self._narrow
        norms = linalg.for_each_class(
            lambda c: linalg.column_norms(R[c, ...], V), R.shape[0], V.shape[0], on_host=is_numpy(V)
        )
        return cast(namespace(V).stack(norms, axis=1), float)

    def _weights(self, block: Block) -> tuple[Array, Array]:
        """Lambda and e nu of a block's rows."""
        tau, nu = self.tau[block.rows, :], self.nu[block.rows, :]
        e = 1.0 / (1.0 + block.site_noise[:, None] * tau)
        return tau * e, e * nu

    def _add(self, block: Block, weight: Array, location: Array) -> None:
        """A block's share of B and of V (e nu), or a change of it."""
        V = block.V

        def one(c: int) -> None:
            self._B[c, ...] += weighted_gram(V, weight[:, c])

        linalg.for_each_class(one, self._B.shape[0], V.shape[0], on_host=is_numpy(V))
        self._location += V @ cast(location, self.features.dtype)

    def _settle(self) -> None:
        """B = L L', R = L^-1."""

        def one(c: int) -> None:
            L = linalg.cholesky(self._B[c, ...])
            R = linalg.inverse_factor(L)
            self.R[c, ...] = R
            self.w[:, c] = R.T @ (R @ self._location[:, c])
            self.log_det[c] = float(linalg.log_det(L))

        linalg.for_each_class(one, self.R.shape[0], self.w.shape[0], on_host=is_numpy(self.R))
        self._narrow = cast(self.R, self.features.dtype)

    def gradient(self) -> np.ndarray:
        """d log Z_EP / d theta of the kernel and of the likelihood; the sites drop out at the fixed point.

        In the prior covariance K = V'V + D of all rows the slope of a class is G = (alpha alpha' - (K + T^-1)^-1) / 2,
        with alpha = e nu - Lambda V' w and (K + T^-1)^-1 = Lambda - Lambda V' B^-1 V Lambda. Its diagonal g meets
        k_nn alone, since D makes up for whatever V'V changes there; the rest meets Q = K_fu K_uu^-1 K_uf. With
        A = K_uu^-1 K_uf = L^-T V that is 2 H on K_fu and -A H on K_uu, where H = (G - diag g) A' and

            H = [1/2 sum_c alpha_c (V alpha_c)' - 1/2 sum_c Lambda_c V' B_c^-1 - diag(sum_c g_c) V'] L^-1.
        """
        features, kernel = self.features, self.features.kernel
        along = np.zeros_like(self.w)  # V alpha
        for block in features:
            along += block.V @ self._alpha(block)
        total, inner = np.zeros(kernel.theta.size), np.zeros((len(self.w),) * 2)
        inverse_factor = linalg.inverse_factor(features.chol)
        for (_, X), block in zip(features.rows.blocks(), features, strict=True):
            V, alpha = np.asarray(block.V, float), self._alpha(block)
            weight, _ = self._weights(block)
            own = 0.5 * (alpha**2 - weight + weight**2 * self._spread(V)).sum(axis=1)
            H = 0.5 * alpha @ along.T - own[:, None] * V.T
            for c, R in enumerate(self.R):
                H -= 0.5 * weight[:, c, None] * ((R @ V).T @ R)
            H = H @ inverse_factor
            total += kernel.vjp(X, features.Z)[1](2.0 * H) + kernel.diag_pullback(X, own)
            inner += inverse_factor.T @ (V @ H)
        total -= kernel.vjp(features.Z, features.Z)[1](inner)
        by_noise = self.likelihood.tilted_gradient(self.y, self.cavity_mean, self.cavity_variance)
        return np.concatenate([total, by_noise])

    def _alpha(self, block: Block) -> np.ndarray:
        """K^-1 mean of a block's rows."""
        weight, location = self._weights(block)
        return location - weight * (block.V.T @ self.w)
