"""Gibbs sampling of probit models with auxiliary variables (GR06 section 4.1 and appendix D): slow, and the truth.

Two blocks, at fixed kernel parameters. Given the auxiliaries Y the latent functions are Gaussian, m_c ~ N(Sigma y_c,
Sigma) with Sigma = K (I + K)^-1: one factorisation for all draws. Given m, each row's auxiliaries are Gaussian in the
cone where the label's is the largest (``probit_sampling``).

Predictions average over draws, each with its latent Gaussian integrated out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import logsumexp

from ...likelihoods import Likelihood, MultinomialProbit, Probit
from ...numerics import linalg
from ...numerics import probit_sampling as cone_draws
from ...numerics.diagnostics import FEWEST_DRAWS, effective_sample_size, effective_weights, split_r_hat
from ...training.monitor import track
from ..base import Fit, GaussianTerms, Info, check_prior, threads_suited_to_size
from ..settings import check_settings
from .ep import EP
from .product_form_posterior import ProductFormPosterior
from .vb import VB


class Draws(NamedTuple):
    """Posterior draws of alpha = (I + K)^-1 y, (chains, draws, n, C), what all draws share, and the latent values at
    the training rows that were drawn with them, shaped as alpha."""

    alpha: np.ndarray
    root: np.ndarray
    chol: np.ndarray
    latent: np.ndarray

    def flat(self) -> list[GaussianTerms]:
        """One Gaussian for each draw."""
        alphas = self.alpha.reshape(-1, *self.alpha.shape[2:])
        return [GaussianTerms(alpha, self.root, self.chol) for alpha in alphas]


@dataclass(frozen=True)
class Gibbs:
    """Gibbs sampler for ``Probit`` and ``MultinomialProbit``.

    Parameters
    ----------
    n_draws : int
        Kept draws of each chain.
    burn_in : int
        Draws thrown away at the start of each chain.
    thin : int
        Keep every thin-th draw.
    n_chains : int
        Independent chains, from different starts.
    random_state : int
        Seed of all chains.
    n_jobs : int or None
        Processes for chains.
    evidence : bool
        Whether the evidence is estimated too, which can take longer than the chains; otherwise it is NaN.
    """

    n_draws: int = 250
    burn_in: int = 500
    thin: int = 4
    n_chains: int = 4
    random_state: int = 0
    n_jobs: int | None = None
    evidence: bool = True

    needs: ClassVar = ("augment",)
    #: Sampling gives no gradient; kernel parameters are learned with this engine first.
    learner: ClassVar = VB()

    def __post_init__(self) -> None:
        check_settings(self, n_draws=FEWEST_DRAWS, burn_in=0, thin=1, n_chains=1)

    @property
    def n_sweeps(self) -> int:
        """Of each chain."""
        return self.burn_in + self.n_draws * self.thin

    def check(self, likelihood: Likelihood) -> None:
        """Refuse a likelihood it cannot sample, before any work is done."""
        if not is_plain_probit(likelihood):
            raise TypeError(
                "Gibbs sampling needs Probit() or MultinomialProbit() with unit variance and without label noise, got "
                f"{likelihood!r}"
            )

    @threads_suited_to_size
    def __call__(
        self,
        K: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        n_latent: int,
        init: Any = None,
        gradient: bool = False,
    ) -> Fit:
        self.check(likelihood)
        if gradient:
            raise TypeError("Gibbs sampling gives no gradient; learn with another engine, then sample")
        check_prior(K)
        n = len(y)
        chol = linalg.cholesky(K + np.eye(n))
        Sigma = np.eye(n) - linalg.inverse(chol)
        root = linalg.cholesky(Sigma)
        seeds = np.random.SeedSequence(self.random_state).spawn(self.n_chains)
        work = (delayed(self._chain)(Sigma, root, y, likelihood, n_latent, seed) for seed in seeds)
        means, alphas = zip(*Parallel(n_jobs=self.n_jobs)(work), strict=True)
        n_kept = min(map(len, means))  # a callback may have stopped some chains
        chains = np.stack([own[:n_kept] for own in means])
        # Only differences between classes show in labels: a shift common to all of them is the prior's business.
        visible = chains - chains.mean(axis=-1, keepdims=True) if n_latent > 1 else chains
        r_hat = float(np.max(split_r_hat(visible)))
        evidence = float("nan")
        if self.evidence:
            evidence = importance_evidence(K, y, likelihood, n_latent, np.random.default_rng(self.random_state))
        info = Info(
            self.burn_in + n_kept * self.thin,
            r_hat < 1.1,
            r_hat=r_hat,
            n_effective=effective_sample_size(visible),
        )
        draws = Draws(np.stack([own[:n_kept] for own in alphas]), np.ones(n), chol, chains)
        return Fit(draws, evidence, evidence, info)

    def _chain(
        self,
        Sigma: np.ndarray,
        root: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        C: int,
        seed: np.random.SeedSequence,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draws of the latent values (S, n, C) and of alpha; fewer than ``n_draws`` where a callback asks to stop."""
        rng = np.random.default_rng(seed)
        n = len(y)
        m = linalg.product(root, rng.standard_normal((n, C)))
        labels = np.asarray(y, dtype=np.int64)
        auxiliary = start_auxiliaries(labels, m, rng)
        kept_m, kept_alpha = np.empty((2, self.n_draws, n, C))
        n_kept, enough = 0, self.burn_in + FEWEST_DRAWS * self.thin
        for step in track(range(self.n_sweeps), "sweeps", self.n_sweeps, at_least=enough):
            auxiliary = draw_auxiliaries(labels, m, auxiliary, likelihood, rng)
            smoothed = linalg.product(Sigma, auxiliary)
            m = smoothed + linalg.product(root, rng.standard_normal((n, C)))
            after = step - self.burn_in
            if after >= 0 and (after + 1) % self.thin == 0:
                kept_m[n_kept], kept_alpha[n_kept] = m, auxiliary - smoothed
                n_kept += 1
        return kept_m[:n_kept], kept_alpha[:n_kept]


def is_plain_probit(likelihood: Likelihood) -> bool:
    """Whether the labels are those of Gaussian auxiliaries of unit variance about the latent values (and a bias)."""
    plain = isinstance(likelihood, (Probit, MultinomialProbit)) and getattr(likelihood, "variance", 1.0) == 1.0
    return plain and likelihood.log_concave


def start_auxiliaries(labels: np.ndarray, m: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Some auxiliaries (n, C) that agree with the labels, to start from."""
    return cone_draws.start(labels, m, rng) if m.shape[1] > 1 else np.zeros_like(m)


def draw_auxiliaries(
    labels: np.ndarray, m: np.ndarray, last: np.ndarray, likelihood: Likelihood, rng: np.random.Generator
) -> np.ndarray:
    """Auxiliaries given the latent values; with more than two classes a step from the ``last`` ones, in their place."""
    if m.shape[1] > 1:
        cone_draws.redraw(labels, m, last, rng)
        return last
    bias = getattr(likelihood, "bias", 0.0)
    return cone_draws.draw_half_line(labels, m + bias, rng) - bias


def importance_evidence(
    K: np.ndarray,
    y: np.ndarray,
    likelihood: Likelihood,
    n_latent: int,
    rng: np.random.Generator,
    n_samples: int = 2000,
) -> float:
    """log p(y) by importance sampling from the EP posterior with coupled sites.

    With site precisions T, locations nu and posterior N(mu, Sigma), N(f; 0, K) / N(f; mu, Sigma) = exp(f' T f / 2 -
    nu' f + nu' mu / 2) / |I + T K|^1/2: the prior is never inverted.
    """
    d, nu = EP(coupling="full")(K, y, likelihood, n_latent).state
    posterior = ProductFormPosterior(K, d)
    mean = posterior.apply(nu)
    f = posterior.draws(mean, n_samples, rng)
    log_weight = 0.5 * np.vdot(nu, mean) - 0.5 * posterior.log_det - np.einsum("snc,nc->s", f, nu)
    log_weight += 0.5 * np.einsum("snc,ncd,snd->s", f, posterior.precision(), f, optimize=True)
    labels = np.tile(y, n_samples)
    log_weight += likelihood.log_prob(labels, f.reshape(-1, n_latent)).reshape(n_samples, -1).sum(axis=1)
    enough = effective_weights(log_weight) >= 10.0
    return float(logsumexp(log_weight) - np.log(n_samples)) if enough else float("nan")
