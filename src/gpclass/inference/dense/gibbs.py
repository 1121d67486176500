"""Gibbs sampling of probit models with auxiliary variables (GR06 section 4.1 and appendix D): slow, and the truth.

Two blocks, at fixed kernel parameters. Given the auxiliaries Y the latent functions are Gaussian, m_c ~ N(Sigma y_c,
Sigma) with Sigma = K (I + K)^-1: one factorisation for all draws. Given m, each row's auxiliaries are Gaussian in the
cone where the label's is the largest (``probit_sampling``).

Predictions average over draws, each with its latent Gaussian integrated out.

Chains run on the host, one processor each: K is copied there once, and what predictions need is copied back.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from scipy.special import logsumexp

from ...likelihoods import Likelihood, MultinomialProbit, Probit
from ...numerics import linalg, probit_sampling
from ...numerics.arrays import like, to_host
from ...numerics.diagnostics import FEWEST_DRAWS, effective_sample_size, effective_weights, split_r_hat
from ...training.monitor import SILENT, Monitor
from ..base import Draws, Engine, Fit, Info, check_prior_variance
from ..prior import DensePrior
from ..settings import check_settings
from .ep import EP
from .product_form_posterior import ProductFormPosterior
from .vb import VB


@dataclass(frozen=True)
class Gibbs(Engine):
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

    prior_type: ClassVar = DensePrior
    needs: ClassVar = ("augment",)
    shares_factor: ClassVar = True

    def __post_init__(self) -> None:
        check_settings(self, n_draws=FEWEST_DRAWS, burn_in=0, thin=1, n_chains=1)

    @property
    def n_sweeps(self) -> int:
        """Of each chain."""
        return self.burn_in + self.n_draws * self.thin

    @property
    def learner(self) -> Engine:
        """Sampling has no gradient: kernel parameters are learned by variational Bayes."""
        return VB()

    def why_not_converged(self, info: Info) -> str:
        return (
            f"the chains have not mixed: R-hat is up to {info.r_hat:.2f}, expected below 1.1. Raise burn_in, thin or "
            "n_draws of Gibbs(...)"
        )

    def check(self, likelihood: Likelihood, n_latent: int) -> None:
        super().check(likelihood, n_latent)
        if not is_plain_probit(likelihood):
            raise TypeError(
                "Gibbs sampling needs Probit() or MultinomialProbit() with unit variance and without label noise, got "
                f"{likelihood!r}"
            )

    def infer(
        self, prior: DensePrior, y: np.ndarray, likelihood: Likelihood, init: Any, gradient: bool, monitor: Monitor
    ) -> Fit:
        n, n_latent = len(y), prior.n_latent
        if gradient:
            raise TypeError("Gibbs sampling gives no gradient; learn with another engine, then sample")
        check_prior_variance(prior.K)
        K = to_host(prior.K)
        chol = linalg.cholesky(K + np.eye(n))
        Sigma = np.eye(n) - linalg.inverse(chol)
        root = linalg.cholesky(Sigma)
        seeds = np.random.SeedSequence(self.random_state).spawn(self.n_chains)
        work = (delayed(self._chain)(Sigma, root, y, likelihood, n_latent, seed, monitor) for seed in seeds)
        means, alphas = zip(*Parallel(n_jobs=self.n_jobs)(work), strict=True)
        n_kept = min(map(len, means))  # a callback may have stopped some chains
        chains = np.stack([own[:n_kept] for own in means])
        # Only differences between classes show in labels: a shift common to all of them depends on the prior alone.
        visible = chains - chains.mean(axis=-1, keepdims=True) if n_latent > 1 else chains
        r_hat = float(np.max(split_r_hat(visible)))
        evidence = float("nan")
        if self.evidence:
            rng = np.random.default_rng(self.random_state)
            evidence = importance_evidence(replace(prior, K=K), y, likelihood, rng)
        info = Info(
            self.burn_in + n_kept * self.thin,
            r_hat < 1.1,
            r_hat=r_hat,
            n_effective=effective_sample_size(visible),
            stopped=n_kept < self.n_draws,
        )
        alpha = np.stack([own[:n_kept] for own in alphas])
        draws = Draws(like(alpha, prior.K), like(np.ones(n), prior.K), like(chol, prior.K), chains)
        return Fit(prior.posterior(draws), evidence, evidence, info)

    def _chain(
        self,
        Sigma: np.ndarray,
        root: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        C: int,
        seed: np.random.SeedSequence,
        monitor: Monitor = SILENT,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draws of the latent values (S, n, C) and of alpha; fewer than ``n_draws`` where a callback asks to stop."""
        rng = np.random.default_rng(seed)
        n = len(y)
        m = linalg.product(root, rng.standard_normal((n, C)))
        labels = np.asarray(y, dtype=np.int64)
        auxiliary = start_auxiliaries(labels, m, rng)
        kept_m, kept_alpha = np.empty((2, self.n_draws, n, C))
        n_kept, enough = 0, self.burn_in + FEWEST_DRAWS * self.thin
        with monitor.task("sweeps", self.n_sweeps) as sweeps:
            for step in sweeps.each(range(self.n_sweeps), at_least=enough):
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
    return probit_sampling.start(labels, m, rng) if m.shape[1] > 1 else np.zeros_like(m)


def draw_auxiliaries(
    labels: np.ndarray, m: np.ndarray, last: np.ndarray, likelihood: Likelihood, rng: np.random.Generator
) -> np.ndarray:
    """Auxiliaries given the latent values; with more than two classes a step from the ``last`` ones, in their place."""
    if m.shape[1] > 1:
        probit_sampling.redraw(labels, m, last, rng)
        return last
    bias = getattr(likelihood, "bias", 0.0)
    return probit_sampling.draw_half_line(labels, m + bias, rng) - bias


def importance_evidence(
    prior: DensePrior, y: np.ndarray, likelihood: Likelihood, rng: np.random.Generator, n_samples: int = 2000
) -> float:
    """log p(y) by importance sampling from the EP posterior with coupled sites.

    With site precisions T, locations nu and posterior N(mu, Sigma), N(f; 0, K) / N(f; mu, Sigma) = exp(f' T f / 2 -
    nu' f + nu' mu / 2) / |I + T K|^1/2: the prior is never inverted.
    """
    d, nu = EP(coupling="full")(prior, y, likelihood).state
    posterior = ProductFormPosterior(prior.K, d)
    mean = posterior.apply(nu)
    f = posterior.draws(mean, n_samples, rng)
    log_weight = 0.5 * np.vdot(nu, mean) - 0.5 * posterior.log_det - np.einsum("snc,nc->s", f, nu)
    log_weight += 0.5 * np.einsum("snc,ncd,snd->s", f, posterior.precision(), f, optimize=True)
    labels = np.tile(y, n_samples)
    log_weight += likelihood.log_prob(labels, f.reshape(-1, prior.n_latent)).reshape(n_samples, -1).sum(axis=1)
    enough = effective_weights(log_weight) >= 10.0
    return float(logsumexp(log_weight) - np.log(n_samples)) if enough else float("nan")
