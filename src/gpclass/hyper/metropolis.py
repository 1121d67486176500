"""Kernel parameters and latent functions sampled together: Metropolis steps inside the Gibbs sampler (GR06 appendix D).

Each sweep has four blocks. Y are the auxiliaries, m = L nu the latent values with L L' = K.

1. theta given Y, with m integrated out: Metropolis on prod_c N(y_c | 0, I + K) p(theta). Given m instead, theta could
   hardly move: m pins it down.
2. m given theta and Y: Gaussian. Together with 1 this is one joint draw of (theta, m).
3. theta given nu, with Y integrated out: Metropolis on p(t | m = L nu) p(theta). The labels alone hold theta here, so
   large steps pass where block 1 must take small ones, and the other way round (Murray and Adams 2010).
4. Y given m.

Random-walk proposals adapt their size and shape during burn-in only.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import LinAlgError

from ..inference.base import Draws, Fit, Info
from ..inference.dense.gibbs import Gibbs, draw_auxiliaries, start_auxiliaries
from ..inference.posteriors import make_posterior
from ..numerics import linalg
from ..training.monitor import Monitor
from .objective import Objective
from .priors import LogPrior
from .results import HyperResult
from .sampler import Sampler, from_chains, scattered
from .search import Effort

#: Acceptance that random-walk steps are adapted to.
_GOAL = 0.3
#: Sweeps at one theta, kept for prediction with one factor of its matrix.
_INNER = 20


@dataclass(frozen=True, kw_only=True)
class Metropolis(Sampler):
    """Metropolis steps for theta within the Gibbs sampler.

    ``inference`` must be "gibbs", whose settings (draws, burn-in, thinning, chains) hold for theta too. ``prior`` and
    ``n_models`` are as for every sampler (``Sampler``).
    """

    def check(self, objective: Objective) -> None:
        if not isinstance(objective.engine, Gibbs):
            raise TypeError(
                "hyper='metropolis' samples kernel parameters inside the Gibbs sampler: expected inference='gibbs', "
                f"got {type(objective.engine).__name__}; for other engines there is hyper='nuts'"
            )
        if self.max_rows is not None:
            raise ValueError("Metropolis samples theta and the latent functions of all rows: max_rows must be None")

    def sample(self, objective: Objective, rng: np.random.Generator, monitor: Monitor, effort: Effort) -> HyperResult:
        gibbs: Any = objective.engine
        best = self.optimum(objective, rng, monitor, effort)
        target = self.target(objective)
        starts = [scattered(target, best, rng) for _ in range(gibbs.n_chains)]
        spread = np.full(len(best.theta), 0.5) if best.standard_error is None else best.standard_error
        shape = np.diag(np.where(np.isfinite(spread), spread, 0.5))
        n_kept = max(1, -(-self.n_models // gibbs.n_chains))
        seeds = np.random.SeedSequence(gibbs.random_state).spawn(gibbs.n_chains)
        prior = objective.log_prior(self.prior_for(objective))
        runs = []
        with monitor.task("chains", gibbs.n_chains) as chains:
            work = (
                delayed(_Chain(objective, prior, theta, shape, seed).run)(n_kept, chains)
                for theta, seed in zip(starts, seeds, strict=True)
            )
            for run in Parallel(n_jobs=effort.n_jobs, return_as="generator")(work):
                runs.append(run)
                chains.step()
        thetas, densities, rates, parts = zip(*runs, strict=True)
        found = from_chains(
            np.stack(thetas),
            np.stack(densities),
            objective,
            best.n_evaluations + 2 * gibbs.n_chains * gibbs.n_sweeps,
            acceptance=float(np.mean(rates)),
            stopped=best.stopped,
        )
        assert found.samples is not None
        info = Info(gibbs.n_sweeps, found.converged, r_hat=found.samples.r_hat)
        members = [part for chain in parts for part in chain]
        fits = []
        for theta, draws in members:
            posterior = make_posterior(objective.at(theta)[0], objective.problem.X, draws)
            fits.append((theta, 1.0 / len(members), Fit(posterior, float("nan"), float("nan"), info)))
        return replace(found, fits=tuple(fits))


class _Walk:
    """Random-walk proposals for one block, adapted while ``learning``."""

    def __init__(self, shape: np.ndarray) -> None:
        self.chol = shape
        self.log_size = np.log(2.4 / np.sqrt(len(shape)))
        self.n = self.n_taken = 0

    def propose(self, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return theta + np.exp(self.log_size) * self.chol @ rng.standard_normal(len(theta))

    def note(self, accepted: bool, learning: bool) -> None:
        self.n += 1
        self.n_taken += accepted
        if learning:
            self.log_size += (accepted - _GOAL) / self.n**0.6


class _Place:
    """A value of theta with the factors that the blocks need, computed on demand."""

    def __init__(self, objective: Objective, prior: LogPrior, theta: np.ndarray) -> None:
        self.theta = theta
        self.K = objective.at(theta)[0](objective.problem.X)
        self.log_prior = prior(theta, of_theta=True)[0]
        self._noisy: np.ndarray | None = None
        self._plain: np.ndarray | None = None

    @property
    def noisy(self) -> np.ndarray:
        """Factor of I + K."""
        if self._noisy is None:
            self._noisy = linalg.cholesky(self.K + np.eye(self.K.shape[-1]))
        return self._noisy

    @property
    def plain(self) -> np.ndarray:
        """Factor of K."""
        if self._plain is None:
            self._plain = linalg.cholesky(self.K)
        return self._plain

    def log_density_of(self, Y: np.ndarray) -> float:
        """sum_c log N(y_c | 0, I + K), up to a constant."""
        fit = float(np.vdot(Y, linalg.solve(self.noisy, Y)))
        n_shared = Y.shape[1] if self.K.ndim == 2 else 1
        return -0.5 * (fit + n_shared * float(np.sum(linalg.log_det(self.noisy))))

    def colour(self, white: np.ndarray) -> np.ndarray:
        """L nu for nu (n, C)."""
        if self.K.ndim == 2:
            return self.plain @ white
        return np.stack([factor @ white[:, c] for c, factor in enumerate(self.plain)], axis=1)

    def whiten(self, m: np.ndarray) -> np.ndarray:
        """nu with L nu = m."""
        if self.K.ndim == 2:
            return linalg.solve_triangular(self.plain, m)
        return np.stack([linalg.solve_triangular(factor, m[:, c]) for c, factor in enumerate(self.plain)], axis=1)

    def draw_latent(self, Y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """m ~ N(Sigma y, Sigma), by correcting a draw from the prior and its noise."""
        prior = self.colour(rng.standard_normal(Y.shape))
        noise = rng.standard_normal(Y.shape)
        correction = linalg.solve(self.noisy, Y - prior - noise)
        return prior + linalg.product(self.K, correction)


class _Chain:
    """One chain over (theta, m, Y)."""

    def __init__(
        self, objective: Objective, prior: LogPrior, theta: np.ndarray, shape: np.ndarray, seed: np.random.SeedSequence
    ) -> None:
        self.objective, self.prior, self.seed = objective, prior, seed
        self.rng = np.random.default_rng(seed)
        self.place = _Place(objective, prior, theta)
        self.walks = (_Walk(shape), _Walk(shape))
        self.labels = np.asarray(objective.problem.y, dtype=np.int64)
        self.m = self.place.colour(self.rng.standard_normal((len(objective.problem.y), objective.problem.n_latent)))
        self.Y = start_auxiliaries(self.labels, self.m, self.rng)
        self.Y = self._auxiliaries()

    def run(
        self, n_kept: int, monitor: Monitor
    ) -> tuple[np.ndarray, np.ndarray, float, list[tuple[np.ndarray, Draws]]]:
        """Draws (S, p), their log densities, the acceptance, and for n_kept of them draws of the latent functions."""
        with linalg.suited_threads(len(self.labels)):
            return self._run(n_kept, monitor)

    def _run(
        self, n_kept: int, monitor: Monitor
    ) -> tuple[np.ndarray, np.ndarray, float, list[tuple[np.ndarray, Draws]]]:
        gibbs: Any = self.objective.engine
        # Latents first: they have to come to terms with the labels before theta can listen to them.
        for _ in range(min(50, gibbs.burn_in)):
            self._sweep_latent()
        n_sweeps = gibbs.n_sweeps
        keep_at = np.unique(np.linspace(gibbs.thin, gibbs.n_draws * gibbs.thin, n_kept).astype(int))
        thetas, densities, parts = [], [], []
        history: list[np.ndarray] = []
        with monitor.task("sweeps", n_sweeps) as sweeps:
            for step in range(n_sweeps):
                learning = step < gibbs.burn_in
                self._move_given_auxiliaries(learning)
                self.m = self.place.draw_latent(self.Y, self.rng)
                self._move_given_white(learning)
                # With Y integrated out it must be drawn afresh. Cone draws are Metropolis steps that refuse one row in
                # a hundred; three in a row refuse one in a million.
                for _ in range(3 if self.objective.problem.n_latent > 1 else 1):
                    self.Y = self._auxiliaries()
                if learning:
                    history.append(self.place.theta)
                    if len(history) % 100 == 0:
                        self._reshape(np.array(history[len(history) // 2 :]))
                after = step - gibbs.burn_in + 1
                if after > 0 and after % gibbs.thin == 0:
                    thetas.append(self.place.theta)
                    densities.append(self.place.log_prior + self.place.log_density_of(self.Y))
                if after in keep_at:
                    parts.append((self.place.theta, self._latent_draws()))
                sweeps.step()
        walked = sum(walk.n_taken for walk in self.walks) / sum(walk.n for walk in self.walks)
        return np.array(thetas), np.array(densities), walked, parts

    def _reshape(self, recent: np.ndarray) -> None:
        """Proposals shaped like the chain's recent spread."""
        if len(np.unique(recent, axis=0)) > 5 * recent.shape[1]:
            spread = np.cov(recent.T).reshape(recent.shape[1], -1)
            for walk in self.walks:
                walk.chol = linalg.cholesky(spread + 1e-6 * np.eye(len(spread)))

    def _try(self, theta: np.ndarray) -> _Place | None:
        low, high = self.objective.theta_bounds.T
        if np.any(theta < low) or np.any(theta > high):
            return None
        return _Place(self.objective, self.prior, theta)

    def _move_given_auxiliaries(self, learning: bool) -> None:
        def change(new: _Place) -> tuple[float, np.ndarray]:
            return new.log_density_of(self.Y) - self.place.log_density_of(self.Y), self.m

        self._step(self.walks[0], change, learning)

    def _move_given_white(self, learning: bool) -> None:
        def change(new: _Place) -> tuple[float, np.ndarray]:
            m = new.colour(self.place.whiten(self.m))
            return float(np.sum(self._log_prob(m) - self._log_prob(self.m))), m

        self._step(self.walks[1], change, learning)

    def _step(self, walk: _Walk, change: Callable[[_Place], tuple[float, np.ndarray]], learning: bool) -> None:
        """One Metropolis step; ``change`` gives the gain in log density but for the prior, and the latent values."""
        accepted = False
        new = self._try(walk.propose(self.place.theta, self.rng))
        if new is not None:
            try:
                gain, m = change(new)
                accepted = bool(np.log(self.rng.uniform()) < gain + new.log_prior - self.place.log_prior)
            except LinAlgError:
                pass  # where nothing can be computed there is no density
        if accepted and new is not None:
            self.place, self.m = new, m
        walk.note(accepted, learning)

    def _log_prob(self, m: np.ndarray) -> np.ndarray:
        return self.objective.problem.likelihood.log_prob(self.objective.problem.y, m)

    def _auxiliaries(self) -> np.ndarray:
        return draw_auxiliaries(self.labels, self.m, self.Y, self.objective.problem.likelihood, self.rng)

    def _sweep_latent(self) -> np.ndarray:
        """m given Y, then Y given m; alpha of the Y that m was drawn from."""
        alpha = linalg.solve(self.place.noisy, self.Y)  # (I + K)^-1 y
        self.m = self.place.draw_latent(self.Y, self.rng)
        self.Y = self._auxiliaries()
        return alpha

    def _latent_draws(self) -> Draws:
        """A few sweeps at the present theta."""
        alphas, latents = [], []
        for _ in range(_INNER):
            alphas.append(self._sweep_latent())
            latents.append(self.m)
        return Draws(np.array(alphas)[None], np.ones(len(self.labels)), self.place.noisy, np.array(latents)[None])
