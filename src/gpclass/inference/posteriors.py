"""Posteriors: distributions of the latent functions anywhere, after fitting.

Matrices of covariances with the training rows have the namespace of the terms, X that which the kernel takes.
Predictions are NumPy arrays: each block of rows is copied to the host when it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..kernels import Kernel
from ..kernels.rows import on_host, select
from ..likelihoods import Likelihood
from ..numerics import linalg
from ..numerics.arrays import Array, is_numpy, like, namespace, to_host
from .base import Draws, GaussianTerms, Latent, LatentTerms, class_matrix
from .calibration import Calibration
from .dense.product_form_posterior import add_coupling
from .whitened import MANY_ROWS, whitened_factor

#: Rows are predicted in blocks, each with about this many bytes of covariances; larger ones on a device.
BLOCK_BYTES, DEVICE_BLOCK_BYTES = 64 * 2**20, 2**30


#: Covariances (m, C, k, C) between the latent values of m new rows and those of k others that are fixed.
CrossCovariance = Callable[[Any], np.ndarray]


def of_own_functions(covariances: list[Array], n_latent: int) -> np.ndarray:
    """Covariances (m, C, k, C) from those (m, k) of each latent function, or of all; different functions have none."""
    found = np.zeros((covariances[0].shape[0], n_latent, covariances[0].shape[1], n_latent))
    for c in range(n_latent):
        found[:, c, :, c] = to_host(covariances[c if len(covariances) > 1 else 0])
    return found


def row_blocks(n_rows: int, n_train: int, n_matrices: int = 1, on_host: bool = True) -> Iterator[slice]:
    """Slices of rows whose covariances with the training rows fit into a block."""
    size = max(1, (BLOCK_BYTES if on_host else DEVICE_BLOCK_BYTES) // (8 * max(n_train, 1) * n_matrices))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


class LatentPosterior:
    """Base of posteriors whose latent values are Gaussian at every row."""

    def latent(self, X: Any) -> Latent:
        """Marginal means and variances at new rows."""
        raise NotImplementedError

    def predict_log(self, likelihood: Likelihood, X: Any, calibration: Calibration) -> np.ndarray:
        """log probabilities (m, K) of the labels of new rows."""
        return calibration.log_proba(likelihood, *self.latent(X))


@dataclass(frozen=True)
class GaussianPosterior(LatentPosterior):
    """Gaussian process given the training rows, in the form of ``GaussianTerms``."""

    kernel: Kernel
    X: Any
    terms: GaussianTerms

    @property
    def n_latent(self) -> int:
        return self.terms.alpha.shape[1]

    @property
    def _n_factors(self) -> int:
        """How many groups of latent functions with the same covariances there are."""
        return 1 if self.terms.chol.ndim == 2 else self.n_latent

    def compact(self) -> GaussianPosterior:
        """A copy for a file: NumPy arrays, without the factor where that comes out the same when computed again.

        Of many rows it is left out in any case; rounding may differ then.
        """
        bare = self.terms._replace(chol=np.zeros((0, 0))) if self._has_many_rows else self.terms
        terms = GaussianTerms(*(None if part is None else to_host(part) for part in bare))
        here = replace(self, X=on_host(self.X), terms=terms)
        if not self._has_many_rows and np.array_equal(here._factor(), terms.chol):
            return replace(here, terms=terms._replace(chol=np.zeros((0, 0))))
        return here

    def restored(self) -> GaussianPosterior:
        """The posterior that ``compact`` was called on."""
        if self.terms.chol.size or not self.X.shape[0]:
            return self
        return replace(self, terms=self.terms._replace(chol=self._factor()))

    @property
    def _has_many_rows(self) -> bool:
        return self.X.shape[0] > MANY_ROWS and self.terms.sqrt_precision.ndim == 1

    def _factor(self) -> Array:
        """The factor of I + S K S with S = diag(sqrt_precision), computed anew."""
        root = self.terms.sqrt_precision
        if self._has_many_rows:
            return whitened_factor(self.kernel, self.X, root)
        with linalg.suited_threads(self.X.shape[0]):
            K = like(self.kernel(self.X), root)
            if root.ndim == 1:
                return linalg.whitened_factor(K, root)
            factors = [linalg.whitened_factor(class_matrix(K, c), root[:, c]) for c in range(root.shape[1])]
            return namespace(root).stack(factors)

    def latent(self, X: Any) -> Latent:
        """Marginal means and variances at new rows, computed in blocks."""
        n, C = X.shape[0], self.n_latent
        coupled = self.terms.coupling is not None
        mean, cov = np.empty((n, C)), np.empty((n, C, C) if coupled else (n, C))
        on_host = is_numpy(self.terms.alpha)
        for rows in row_blocks(n, self.X.shape[0], self._n_factors * (2 if coupled else 1), on_host):
            mean[rows], cov[rows] = map(to_host, self.moments(select(X, rows)))
        return Latent(mean, cov)

    def moments(self, X: Any) -> tuple[Array, Array]:
        """``latent`` of a few rows, as arrays of the namespace of the terms."""
        xp, coupled = namespace(self.terms.alpha), self.terms.coupling is not None
        cross = self._cross_cov(X)
        prior = like(self.kernel.diag(X), cross)
        own, between = [], []
        for c in range(self._n_factors):
            V = self.whitened_cross_cov(cross, c)
            variance = prior if prior.ndim == 1 else prior[c, ...]
            # Rounding can push a variance just below zero where the data leave no doubt.
            own.append(xp.maximum(variance - linalg.squared_norms(V), 1e-12 * variance))
            if coupled:
                between.append(self._shared(V, c))
        cov = add_coupling(own, xp.stack(between)) if coupled else xp.stack(own * (self.n_latent // len(own)), axis=1)
        return linalg.product(cross, self.terms.alpha), cov

    def latent_terms(self, x: Any) -> LatentTerms:
        """alpha_i k(x, x_i) of every training row, for one row x (1, d)."""
        cross = self._cross_cov(x)
        own = [to_host(class_matrix(cross, c)[0, ...] * self.terms.alpha[:, c]) for c in range(self.n_latent)]
        return LatentTerms(np.arange(self.X.shape[0]), np.stack(own, axis=1))

    def joint(self, X: Any) -> Latent:
        """Means and full covariances (C, m, m) between new rows."""
        if self.kernel.pairwise:
            raise ValueError(
                "covariances between new rows need their own Gram matrix, which a Precomputed kernel does not have; "
                "ask for variances (full_cov=False)"
            )
        cross = self._cross_cov(X)
        prior = like(self.kernel(X), cross)
        covariances = []
        for c in range(self._n_factors):
            V = self.whitened_cross_cov(cross, c)
            covariance = class_matrix(prior, c) - V.T @ V
            if self.terms.coupling is not None:
                shared = self._shared(V, c)
                covariance += shared.T @ shared
            covariances.append(to_host(covariance))
        each = covariances * self.n_latent if len(covariances) == 1 else covariances
        return Latent(to_host(linalg.product(cross, self.terms.alpha)), np.stack(each))

    def covariances_with(self, Z: Any) -> CrossCovariance:
        """Covariances of new rows with the rows Z, n operations for each pair once those of Z are solved for."""
        if self.kernel.pairwise:
            raise ValueError("a Precomputed kernel has no covariances between new rows")
        cross, C = self._cross_cov(Z), self.n_latent
        whitened = [self.whitened_cross_cov(cross, c) for c in range(self._n_factors)]
        # S L^-T L^-1 S k*, with S = diag(sqrt_precision)
        explained = [self._scaled_back(V, c) for c, V in enumerate(whitened)]
        coupling: list[list[Array]] = []
        if self.terms.coupling is not None:
            assert self.terms.sqrt_rho is not None
            pulls = [linalg.solve_triangular(self.terms.coupling, self._shared(whitened[b], b), True) for b in range(C)]
            weighted = [[self.terms.sqrt_rho[:, a, None] * pull for pull in pulls] for a in range(C)]
            coupling = [
                [self._scaled_back(linalg.solve_triangular(self.terms.chol[a, ...], R), a) for R in weighted[a]]
                for a in range(C)
            ]

        def covariances(X: Any) -> np.ndarray:
            prior, k = like(self.kernel(X, Z), self.terms.alpha), self._cross_cov(X)
            own = [class_matrix(prior, c) - class_matrix(k, c) @ part for c, part in enumerate(explained)]
            found = of_own_functions(own, C)
            for a, parts in enumerate(coupling):
                for b, part in enumerate(parts):
                    found[:, a, :, b] += to_host(class_matrix(k, a) @ part)
            return found

        return covariances

    def sample(self, X: Any, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows."""
        mean, covariances = self.joint(X)
        coupled = self.terms.coupling is not None
        cross = self._cross_cov(X)
        draws = np.tile(mean, (n_samples, 1, 1))
        common = rng.standard_normal((n_samples, self.X.shape[0])) if coupled else None
        for c, covariance in enumerate(covariances):
            if common is not None:
                # What the classes share comes from one draw for all of them, the rest from draws of their own.
                shared = to_host(self._shared(self.whitened_cross_cov(cross, c), c))
                draws[:, :, c] += common @ shared
                covariance = covariance - shared.T @ shared
            if c < self._n_factors:
                L = linalg.cholesky(covariance)
            draws[:, :, c] += rng.standard_normal((n_samples, len(mean))) @ L.T
        return draws

    def _cross_cov(self, X: Any) -> Array:
        """k*: covariances of new rows with the training rows."""
        return like(self.kernel(X, self.X), self.terms.alpha)

    def _root(self, c: int) -> Array:
        return self.terms.sqrt_precision if self.terms.sqrt_precision.ndim == 1 else self.terms.sqrt_precision[:, c]

    def whitened_cross_cov(self, cross: Array, c: int) -> Array:
        """L^-1 (sqrt_precision * k*), one column for each new row."""
        scaled = self._root(c)[:, None] * class_matrix(cross, c).T
        return linalg.solve_triangular(class_matrix(self.terms.chol, c), scaled)

    def _scaled_back(self, V: Array, c: int) -> Array:
        """sqrt_precision * L^-T V"""
        back = linalg.solve_triangular(class_matrix(self.terms.chol, c), V, transposed=True)
        return self._root(c)[:, None] * back

    def _shared(self, V: Array, c: int) -> Array:
        """What latent function c shares with the others at new rows (``ProductFormPosterior``): M^-1/2 R_c L_c^-T V."""
        assert self.terms.sqrt_rho is not None
        back = linalg.solve_triangular(self.terms.chol[c, ...], V, transposed=True)
        return linalg.solve_triangular(self.terms.coupling, self.terms.sqrt_rho[:, c, None] * back)


@dataclass(frozen=True)
class InducingPosterior(LatentPosterior):
    """Gaussian distribution of the latent values at S basis rows; elsewhere the prior says how f depends on them.

    With v = L^-1 k* for the factor L (``chol``) of the basis rows' prior covariance and the covariances k* of a new row
    with them, the latent mean is v' ``mean`` and the variance k** - |v|^2 + |R v|^2, R = ``spread``, (G, S, S) with one
    matrix for all latent functions or one for each.
    """

    kernel: Kernel
    X: Any
    chol: Array
    mean: Array
    spread: Array

    @classmethod
    def from_moments(cls, kernel: Kernel, X: Any, mean: Array, Sigma: Array) -> InducingPosterior:
        """From means (S, C) and covariances (G, S, S) of the latent values at the basis rows."""
        L = linalg.cholesky(like(kernel(X), mean))
        spreads = []
        for g in range(Sigma.shape[0]):
            # R'R = L^-1 Sigma L^-T
            white = linalg.solve_triangular(L, linalg.solve_triangular(L, Sigma[g, ...]).T)
            spreads.append(linalg.cholesky(0.5 * (white + white.T)).T)
        return cls(kernel, X, L, linalg.solve_triangular(L, mean), namespace(L).stack(spreads))

    @property
    def n_latent(self) -> int:
        return self.mean.shape[1]

    def compact(self) -> InducingPosterior:
        """A copy for a file: NumPy arrays."""
        parts = (to_host(part) for part in (self.chol, self.mean, self.spread))
        return InducingPosterior(self.kernel, on_host(self.X), *parts)

    def restored(self) -> InducingPosterior:
        return self

    def latent(self, X: Any) -> Latent:
        """Marginal means and variances at new rows, computed in blocks."""
        n = X.shape[0]
        mean, cov = np.empty((2, n, self.n_latent))
        for rows in row_blocks(n, self.X.shape[0], 2, is_numpy(self.mean)):
            mean[rows], cov[rows] = map(to_host, self.moments(select(X, rows)))
        return Latent(mean, cov)

    def moments(self, X: Any) -> tuple[Array, Array]:
        """``latent`` of a few rows, as arrays of the namespace of the terms."""
        xp, V = namespace(self.mean), self._whitened(X)
        prior = like(self.kernel.diag(X), V)
        unknown = prior - linalg.squared_norms(V)
        own = [xp.maximum(unknown + linalg.squared_norms(R @ V), 1e-12 * prior) for R in self._spreads()]
        return V.T @ self.mean, xp.stack(own * (self.n_latent // len(own)), axis=1)

    def joint(self, X: Any) -> Latent:
        """Means and full covariances (C, m, m) between new rows."""
        V = self._whitened(X)
        unknown = like(self.kernel(X), V) - V.T @ V
        own = [to_host(unknown + (R @ V).T @ (R @ V)) for R in self._spreads()]
        return Latent(to_host(V.T @ self.mean), np.stack(own * self.n_latent if len(own) == 1 else own))

    def covariances_with(self, Z: Any) -> CrossCovariance:
        """Covariances of new rows with the rows Z: k(X, Z) - V_X' (I - R'R) V_Z."""
        V = self._whitened(Z)
        explained = [linalg.solve_triangular(self.chol, V - R.T @ (R @ V), transposed=True) for R in self._spreads()]

        def covariances(X: Any) -> np.ndarray:
            prior, k = like(self.kernel(X, Z), V), like(self.kernel(X, self.X), V)
            return of_own_functions([prior - k @ part for part in explained], self.n_latent)

        return covariances

    def sample(self, X: Any, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows."""
        mean, covariances = self.joint(X)
        draws = np.tile(mean, (n_samples, 1, 1))
        for c, covariance in enumerate(covariances):
            draws[:, :, c] += rng.standard_normal((n_samples, len(mean))) @ linalg.cholesky(covariance).T
        return draws

    def _whitened(self, X: Any) -> Array:
        return linalg.solve_triangular(self.chol, like(self.kernel(self.X, X), self.chol))

    def _spreads(self) -> list[Array]:
        return [self.spread[g, ...] for g in range(self.spread.shape[0])]


@dataclass(frozen=True)
class DrawsPosterior:
    """Draws of the latent functions at the training rows, each a Gaussian elsewhere with means of its own and shared
    variances; probabilities are averaged over them."""

    kernel: Kernel
    X: Any
    draws: Draws

    @property
    def n_latent(self) -> int:
        return self.draws.alpha.shape[-1]

    @property
    def n_draws(self) -> int:
        """Of all chains."""
        return self.draws.flat.shape[0]

    def _part(self, s: int) -> GaussianPosterior:
        return GaussianPosterior(self.kernel, self.X, self.draws.terms(s))

    def latent(self, X: Any) -> Latent:
        """Mean and variance of the whole mixture: variance within a draw plus that of the means between draws."""
        n = X.shape[0]
        mean, cov = np.empty((2, n, self.n_latent))
        for rows in self._row_blocks(n):
            means = self._means(select(X, rows))
            mean[rows] = means.mean(axis=0)
            cov[rows] = self._part(0).latent(select(X, rows)).cov + means.var(axis=0)
        return Latent(mean, cov)

    def _row_blocks(self, n: int) -> Iterator[slice]:
        """Blocks in which the means of all draws fit beside the covariances with the training rows."""
        return row_blocks(n, max(self.X.shape[0], self.n_draws * self.n_latent), 4)

    def _means(self, X: Any) -> np.ndarray:
        """Latent means (S, m, C) of all draws at new rows."""
        alphas = self.draws.flat
        xp, (S, n, C) = namespace(alphas), alphas.shape
        cross = like(self.kernel(X, self.X), alphas)
        if cross.ndim == 2:
            by_row = cross @ xp.reshape(xp.permute_dims(alphas, (1, 0, 2)), (n, S * C))
            return np.swapaxes(to_host(by_row).reshape(-1, S, C), 0, 1)
        return np.stack([to_host(alphas[:, :, c] @ cross[c, ...].T) for c in range(C)], axis=2)

    def predict_log(self, likelihood: Likelihood, X: Any, calibration: Calibration) -> np.ndarray:
        """log of the average over draws (GR06 appendix D, with each draw's latent Gaussian integrated out)."""
        n = X.shape[0]
        found = np.empty((n, likelihood.n_outcomes(self.n_latent)))
        for rows in self._row_blocks(n):
            variance = self._part(0).latent(select(X, rows)).cov
            means = self._means(select(X, rows))
            flat = means.reshape(-1, means.shape[2]), np.tile(variance, (len(means), 1))
            log_proba = calibration.log_proba(likelihood, *flat).reshape(len(means), variance.shape[0], -1)
            found[rows] = logsumexp(log_proba, axis=0) - np.log(len(means))
        return found

    def joint(self, X: Any) -> Latent:
        raise ValueError("draws give no joint Gaussian over new rows; use sample_latent")

    def covariances_with(self, Z: Any) -> CrossCovariance:
        """Covariances of new rows with the rows Z: those within a draw plus those of the means between draws."""
        within, means = self._part(0).covariances_with(Z), self._means(Z)
        off = means - means.mean(axis=0)

        def covariances(X: Any) -> np.ndarray:
            return within(X) + np.einsum("smc,skd->mckd", self._means(X), off, optimize=True) / len(off)

        return covariances

    def sample(self, X: Any, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows, each from a draw of the posterior."""
        chosen = rng.integers(self.n_draws, size=n_samples)
        return np.stack([self._part(s).sample(X, 1, rng)[0] for s in chosen])


@dataclass(frozen=True)
class SeparatePosterior(LatentPosterior):
    """One latent function for each class, with rows of its own, and a bias (C,) that is added to each."""

    parts: tuple[GaussianPosterior, ...]
    bias: np.ndarray

    @property
    def n_latent(self) -> int:
        return len(self.parts)

    def latent(self, X: Any) -> Latent:
        """Marginal means and variances at new rows."""
        found = [part.latent(X) for part in self.parts]
        mean = np.hstack([part.mean for part in found]) + self.bias
        return Latent(mean, np.hstack([part.cov for part in found]))

    def joint(self, X: Any) -> Latent:
        """Means and full covariances (C, m, m) between new rows."""
        found = [part.joint(X) for part in self.parts]
        mean = np.hstack([part.mean for part in found]) + self.bias
        return Latent(mean, np.concatenate([part.cov for part in found]))

    def covariances_with(self, Z: Any) -> CrossCovariance:
        """Covariances of new rows with the rows Z."""
        parts = [part.covariances_with(Z) for part in self.parts]
        return lambda X: of_own_functions([part(X)[:, 0, :, 0] for part in parts], self.n_latent)

    def sample(self, X: Any, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows."""
        return np.concatenate([part.sample(X, n_samples, rng) for part in self.parts], axis=2) + self.bias


#: of one model
Posterior = GaussianPosterior | InducingPosterior | DrawsPosterior | SeparatePosterior


class Member(NamedTuple):
    """One of several models whose probabilities are averaged: its share, its posterior and its likelihood, and its
    calibration where it has one of its own."""

    weight: float
    posterior: Posterior
    likelihood: Likelihood
    calibration: Calibration | None = None


@dataclass(frozen=True)
class MixturePosterior:
    """Models with different parameters, weighted: the uncertainty about theta reaches the prediction.

    Each member predicts with its own kernel and likelihood; probabilities are averaged, and so are moments.
    """

    members: tuple[Member, ...]

    @property
    def n_latent(self) -> int:
        return self.members[0].posterior.n_latent

    @property
    def weights(self) -> np.ndarray:
        return np.array([member.weight for member in self.members])

    def latent(self, X: Any) -> Latent:
        """Mean and (co)variance of the mixture."""
        return self._pooled([member.posterior.latent(X) for member in self.members])

    def latent_terms(self, x: Any) -> LatentTerms:
        """The weighted terms of all members, which have the same training rows."""
        parts = [one.posterior.latent_terms(x) for one in self.members if isinstance(one.posterior, GaussianPosterior)]
        if len(parts) < len(self.members):
            raise ValueError("expected members with Gaussian posteriors of the training rows, got others")
        terms = np.tensordot(self.weights, np.stack([part.terms for part in parts]), axes=1)
        return LatentTerms(parts[0].rows, terms)

    def joint(self, X: Any) -> Latent:
        """Means and full covariances (C, m, m) of the mixture between new rows."""
        return self._pooled([member.posterior.joint(X) for member in self.members], between_rows=True)

    def _pooled(self, parts: list[Latent], between_rows: bool = False) -> Latent:
        """Covariance within members plus covariance of their means."""
        means = np.stack([part.mean for part in parts])
        mean = np.tensordot(self.weights, means, axes=1)
        off = means - mean
        within = np.tensordot(self.weights, np.stack([part.cov for part in parts]), axes=1)
        if between_rows:
            between = np.einsum("s,smc,snc->cmn", self.weights, off, off)
        elif within.ndim == 3:
            between = np.einsum("s,smc,smd->mcd", self.weights, off, off)
        else:
            between = np.einsum("s,smc->mc", self.weights, off**2)
        return Latent(mean, within + between)

    def predict_log(self, likelihood: Likelihood, X: Any, calibration: Calibration) -> np.ndarray:
        """log of the average probabilities; every member has a likelihood of its own, the one given is not used."""
        parts = [
            member.posterior.predict_log(member.likelihood, X, member.calibration or calibration)
            for member in self.members
        ]
        return logsumexp(np.stack(parts), axis=0, b=self.weights[:, None, None])

    def sample(self, X: Any, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows, each from a member drawn by weight."""
        counts = rng.multinomial(n_samples, self.weights / self.weights.sum())
        draws = [
            member.posterior.sample(X, count, rng) for member, count in zip(self.members, counts, strict=True) if count
        ]
        return rng.permutation(np.concatenate(draws))


def members_of(posterior: Posterior | MixturePosterior, likelihood: Likelihood) -> tuple[Member, ...]:
    """The models that predictions average over: one, or those of a mixture."""
    return posterior.members if isinstance(posterior, MixturePosterior) else (Member(1.0, posterior, likelihood),)


def make_posterior(kernel: Any, X: Any, terms: GaussianTerms | Draws) -> GaussianPosterior | DrawsPosterior:
    """The posterior that an engine's terms stand for."""
    if isinstance(terms, Draws):
        return DrawsPosterior(kernel, X, terms)
    return GaussianPosterior(kernel, X, terms)
