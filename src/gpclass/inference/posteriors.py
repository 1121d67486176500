"""Posteriors: what is known of the latent functions anywhere, after fitting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from ..io.filing import is_filing
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..numerics import linalg
from .base import GaussianTerms, class_matrix
from .calibration import Calibration
from .dense.gibbs import Draws
from .dense.product_form_posterior import add_coupling

#: Rows are predicted in blocks, each with about this many bytes of covariances.
BLOCK_BYTES = 64 * 2**20


class Latent(NamedTuple):
    """Gaussian beliefs about C latent functions at m rows: mean (m, C) and cov.

    ``cov`` holds the marginal variances (m, C); or covariances between latent functions at each row (m, C, C), from
    an engine that couples them; or the full covariances between rows (C, m, m) when those were asked
    for.
    """

    mean: np.ndarray
    cov: np.ndarray


def row_blocks(n_rows: int, n_train: int, n_matrices: int = 1) -> Iterator[slice]:
    """Slices of rows whose covariances with the training rows fit into a block."""
    size = max(1, BLOCK_BYTES // (8 * max(n_train, 1) * n_matrices))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


@dataclass(frozen=True)
class GaussianPosterior:
    """Gaussian process given the training rows, in the form of ``GaussianTerms``."""

    kernel: Kernel
    X: np.ndarray
    weights: GaussianTerms

    @property
    def n_latent(self) -> int:
        return self.weights.alpha.shape[1]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if is_filing() and np.array_equal(self._factor(), self.weights.chol):
            state["weights"] = self.weights._replace(chol=None)  # type: ignore[arg-type]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.weights.chol is None:
            vars(self)["weights"] = self.weights._replace(chol=self._factor())

    def _factor(self) -> np.ndarray:
        """The factor of I + root K root, computed anew: most engines' own, and then the same to the last bit."""
        root = self.weights.root
        with linalg.suited_threads(len(self.X)):
            K = self.kernel(self.X)
            if root.ndim == 1:
                return linalg.whitened_factor(K, root)
            return np.stack([linalg.whitened_factor(class_matrix(K, c), own) for c, own in enumerate(root.T)])

    def latent(self, X: np.ndarray) -> Latent:
        """Marginal means and variances at new rows, computed in blocks."""
        coupled = self.weights.coupling is not None
        stacked = 1 if self.weights.chol.ndim == 2 else self.n_latent
        mean = np.empty((len(X), self.n_latent))
        cov = np.empty((len(X), self.n_latent, self.n_latent) if coupled else (len(X), self.n_latent))
        for rows in row_blocks(len(X), len(self.X), stacked * (2 if coupled else 1)):
            cross = self.kernel(X[rows], self.X)
            prior = self.kernel.diag(X[rows])
            mean[rows] = self._mean(cross)
            own, between = [], []
            for c in range(stacked):
                V = self.half(cross, c)
                variance = prior if prior.ndim == 1 else prior[c]
                # Rounding can push a variance just below zero where the data settle everything.
                own.append(np.maximum(variance - np.einsum("ij,ij->j", V, V), 1e-12 * variance))
                if coupled:
                    between.append(self._shared(V, c))
            cov[rows] = add_coupling(own, np.stack(between)) if coupled else np.stack(own, axis=1)
        return Latent(mean, cov)

    def _shared(self, V: np.ndarray, c: int) -> np.ndarray:
        """What latent function c shares with the others at new rows (``inference.coupling``): M^-1/2 R_c L_c^-T V."""
        assert self.weights.coupling is not None
        assert self.weights.root_rho is not None
        back = solve_triangular(self.weights.chol[c], V, lower=True, trans="T", check_finite=False)
        return linalg.solve_triangular(self.weights.coupling, self.weights.root_rho[:, c, None] * back)

    def joint(self, X: np.ndarray) -> Latent:
        """Means and full covariances (C, m, m) between new rows."""
        if self.kernel.pairwise:
            raise ValueError(
                "covariances between new rows need their own Gram matrix, which a Precomputed kernel does not have; "
                "ask for variances (full_cov=False)"
            )
        cross, prior = self.kernel(X, self.X), self.kernel(X)
        covariances = []
        for c in range(self.n_latent):
            if c == 0 or self.weights.chol.ndim == 3:
                V = self.half(cross, c)
                covariance = class_matrix(prior, c) - V.T @ V
                if self.weights.coupling is not None:
                    shared = self._shared(V, c)
                    covariance += shared.T @ shared
            covariances.append(covariance)
        return Latent(self._mean(cross), np.stack(covariances))

    def sample(self, X: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows."""
        mean, covariances = self.joint(X)
        alike = self.weights.chol.ndim == 2
        coupled = self.weights.coupling is not None
        cross = self.kernel(X, self.X)
        draws = np.empty((n_samples, *mean.shape))
        common = rng.standard_normal((n_samples, len(self.X))) if coupled else None
        for c, covariance in enumerate(covariances):
            if common is not None:
                # What the classes share comes from one draw for all of them, the rest from draws of their own.
                shared = self._shared(self.half(cross, c), c)
                draws[:, :, c] = mean[:, c] + common @ shared
                covariance = covariance - shared.T @ shared
            else:
                draws[:, :, c] = mean[:, c]
            if c == 0 or not alike:
                L = linalg.cholesky(covariance)
            draws[:, :, c] += rng.standard_normal((n_samples, len(X))) @ L.T
        return draws

    def predict_log(self, likelihood: Likelihood, X: np.ndarray, calibration: Calibration) -> np.ndarray:
        """log probabilities (m, K) of the labels of new rows."""
        return calibration.log_proba(likelihood, *self.latent(X))

    def _mean(self, cross: np.ndarray) -> np.ndarray:
        return linalg.product(cross, self.weights.alpha)

    def half(self, cross: np.ndarray, c: int) -> np.ndarray:
        """L^-1 (root * k*), one column for each new row."""
        root = self.weights.root if self.weights.root.ndim == 1 else self.weights.root[:, c]
        return linalg.solve_triangular(class_matrix(self.weights.chol, c), root[:, None] * class_matrix(cross, c).T)


@dataclass(frozen=True)
class InducingPosterior:
    """Gaussian beliefs about the latent values at S basis rows; anywhere else the prior says how f depends on them.

    With v = L^-1 k* for the factor L (``chol``) of the basis rows' prior covariance and the covariances k* of a new row
    with them, the latent mean is v' ``mean`` and the variance k** - |v|^2 + |R v|^2, R = ``spread``, (G, S, S) with one
    matrix for all latent functions or one for each.
    """

    kernel: Kernel
    X: np.ndarray
    chol: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def from_moments(cls, kernel: Kernel, X: np.ndarray, mean: np.ndarray, Sigma: np.ndarray) -> InducingPosterior:
        """From means (S, C) and covariances (G, S, S) of the latent values at the basis rows."""
        L = linalg.cholesky(kernel(X))
        spreads = []
        for covariance in Sigma:
            # R'R = L^-1 Sigma L^-T
            white = linalg.solve_triangular(L, linalg.solve_triangular(L, covariance).T)
            spreads.append(linalg.cholesky(0.5 * (white + white.T)).T)
        return cls(kernel, X, L, linalg.solve_triangular(L, mean), np.stack(spreads))

    @property
    def n_latent(self) -> int:
        return self.mean.shape[1]

    def latent(self, X: np.ndarray) -> Latent:
        """Marginal means and variances at new rows, computed in blocks."""
        mean, cov = np.empty((2, len(X), self.n_latent))
        for rows in row_blocks(len(X), len(self.X), 2):
            V = self._whitened(X[rows])
            prior = self.kernel.diag(X[rows])
            mean[rows] = V.T @ self.mean
            unknown = prior - np.einsum("ij,ij->j", V, V)
            for g, R in enumerate(self.spread):
                own = slice(None) if len(self.spread) == 1 else slice(g, g + 1)
                RV = R @ V
                cov[rows, own] = np.maximum(unknown + np.einsum("ij,ij->j", RV, RV), 1e-12 * prior)[:, None]
        return Latent(mean, cov)

    def joint(self, X: np.ndarray) -> Latent:
        """Means and full covariances (C, m, m) between new rows."""
        V = self._whitened(X)
        unknown = self.kernel(X) - V.T @ V
        own = [unknown + (R @ V).T @ (R @ V) for R in self.spread]
        return Latent(V.T @ self.mean, np.stack(own * self.n_latent if len(own) == 1 else own))

    def sample(self, X: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows."""
        mean, covariances = self.joint(X)
        draws = np.empty((n_samples, *mean.shape))
        for c, covariance in enumerate(covariances):
            L = linalg.cholesky(covariance)
            draws[:, :, c] = mean[:, c] + rng.standard_normal((n_samples, len(X))) @ L.T
        return draws

    def predict_log(self, likelihood: Likelihood, X: np.ndarray, calibration: Calibration) -> np.ndarray:
        """log probabilities (m, K) of the labels of new rows."""
        return calibration.log_proba(likelihood, *self.latent(X))

    def _whitened(self, X: np.ndarray) -> np.ndarray:
        return linalg.solve_triangular(self.chol, self.kernel(self.X, X))


@dataclass(frozen=True)
class DrawsPosterior:
    """Draws of the latent functions at the training rows, each a Gaussian elsewhere with means of its own and shared
    variances; probabilities are averaged over them."""

    kernel: Kernel
    X: np.ndarray
    draws: Draws

    @property
    def n_latent(self) -> int:
        return self.draws.alpha.shape[-1]

    def _parts(self) -> list[GaussianPosterior]:
        return [GaussianPosterior(self.kernel, self.X, weights) for weights in self.draws.flat()]

    def latent(self, X: np.ndarray) -> Latent:
        """Mean and variance of the whole mixture: variance within a draw plus that of the means between draws."""
        mean, cov = np.empty((2, len(X), self.n_latent))
        for rows in self._row_blocks(X):
            means = self._means(X[rows])
            mean[rows] = means.mean(axis=0)
            cov[rows] = self._parts()[0].latent(X[rows]).cov + means.var(axis=0)
        return Latent(mean, cov)

    def _row_blocks(self, X: np.ndarray) -> Iterator[slice]:
        """Blocks in which the means of all draws fit beside the covariances with the training rows."""
        n_draws = self.draws.alpha.shape[0] * self.draws.alpha.shape[1]
        return row_blocks(len(X), max(len(self.X), n_draws * self.n_latent), 4)

    def _means(self, X: np.ndarray) -> np.ndarray:
        """Latent means (S, m, C) of all draws at new rows."""
        alphas = self.draws.alpha.reshape(-1, *self.draws.alpha.shape[2:])
        cross = self.kernel(X, self.X)
        spec = "mn,snc->smc" if cross.ndim == 2 else "cmn,snc->smc"
        return np.einsum(spec, cross, alphas, optimize=True)

    def predict_log(self, likelihood: Likelihood, X: np.ndarray, calibration: Calibration) -> np.ndarray:
        """log of the average over draws (GR06 appendix D, with each draw's latent Gaussian integrated out)."""
        found = np.empty((len(X), likelihood.n_outcomes(self.n_latent)))
        for rows in self._row_blocks(X):
            variance = self._parts()[0].latent(X[rows]).cov
            means = self._means(X[rows])
            flat = means.reshape(-1, means.shape[2]), np.tile(variance, (len(means), 1))
            log_proba = calibration.log_proba(likelihood, *flat).reshape(len(means), variance.shape[0], -1)
            found[rows] = logsumexp(log_proba, axis=0) - np.log(len(means))
        return found

    def joint(self, X: np.ndarray) -> Latent:
        raise ValueError("draws give no joint Gaussian over new rows; use sample_latent")

    def sample(self, X: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows, each from a draw of the posterior."""
        parts = self._parts()
        chosen = rng.integers(len(parts), size=n_samples)
        return np.stack([parts[i].sample(X, 1, rng)[0] for i in chosen])


@dataclass(frozen=True)
class SeparatePosterior:
    """One latent function for each class, with rows of its own, and a bias (C,) that is added to each."""

    parts: tuple[GaussianPosterior, ...]
    bias: np.ndarray

    @property
    def n_latent(self) -> int:
        return len(self.parts)

    def latent(self, X: np.ndarray) -> Latent:
        """Marginal means and variances at new rows."""
        found = [part.latent(X) for part in self.parts]
        mean = np.hstack([part.mean for part in found]) + self.bias
        return Latent(mean, np.hstack([part.cov for part in found]))

    def joint(self, X: np.ndarray) -> Latent:
        """Means and full covariances (C, m, m) between new rows."""
        found = [part.joint(X) for part in self.parts]
        mean = np.hstack([part.mean for part in found]) + self.bias
        return Latent(mean, np.concatenate([part.cov for part in found]))

    def sample(self, X: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows."""
        return np.concatenate([part.sample(X, n_samples, rng) for part in self.parts], axis=2) + self.bias

    def predict_log(self, likelihood: Likelihood, X: np.ndarray, calibration: Calibration) -> np.ndarray:
        """log probabilities (m, K) of the labels of new rows."""
        return calibration.log_proba(likelihood, *self.latent(X))


#: of one model
Posterior = GaussianPosterior | InducingPosterior | DrawsPosterior | SeparatePosterior


class Member(NamedTuple):
    """One of several models whose probabilities are averaged: its share, its posterior and its likelihood."""

    weight: float
    posterior: Posterior
    likelihood: Likelihood


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

    def latent(self, X: np.ndarray) -> Latent:
        """Mean and (co)variance of the mixture."""
        return self._pooled([member.posterior.latent(X) for member in self.members])

    def joint(self, X: np.ndarray) -> Latent:
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

    def predict_log(self, likelihood: Likelihood, X: np.ndarray, calibration: Calibration) -> np.ndarray:
        """log of the average probabilities; every member has a likelihood of its own, the one given is not used."""
        parts = [member.posterior.predict_log(member.likelihood, X, calibration) for member in self.members]
        return logsumexp(np.stack(parts), axis=0, b=self.weights[:, None, None])

    def sample(self, X: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows, each from a member drawn by weight."""
        counts = rng.multinomial(n_samples, self.weights / self.weights.sum())
        draws = [
            member.posterior.sample(X, count, rng) for member, count in zip(self.members, counts, strict=True) if count
        ]
        return rng.permutation(np.concatenate(draws))


def members_of(posterior: Posterior | MixturePosterior, likelihood: Likelihood) -> tuple[Member, ...]:
    """The models that predictions average over: one, or those of a mixture."""
    return posterior.members if isinstance(posterior, MixturePosterior) else (Member(1.0, posterior, likelihood),)


def make_posterior(kernel: Kernel, X: np.ndarray, weights: GaussianTerms | Draws) -> GaussianPosterior | DrawsPosterior:
    """The posterior that an engine's weights stand for."""
    kind = DrawsPosterior if isinstance(weights, Draws) else GaussianPosterior
    return kind(kernel, X, weights)  # type: ignore[arg-type]
