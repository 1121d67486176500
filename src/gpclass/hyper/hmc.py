"""Hybrid Monte Carlo over theta with trajectories of fixed length, as WB98 ran it (section 5 and appendix D)."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import LinAlgError

from ..inference.settings import check_counts
from ..numerics.diagnostics import FEWEST_DRAWS
from ..training.monitor import Monitor
from .objective import Objective
from .priors import by_name
from .results import HyperResult
from .sampler import Sampler, from_chains
from .search import Effort
from .target import Target


@dataclass(frozen=True, kw_only=True)
class HMC(Sampler):
    """Hybrid Monte Carlo: leapfrog trajectories with unit masses.

    Numbers of trajectories and steps are those of WB98, which starts at the kernel's values. Its step, 0.1 in log w, is
    half of that in a log length-scale. ``NUTS`` adapts its steps and needs no tuning.

    Parameters
    ----------
    n_iter : int
        Trajectories of each chain.
    burn_in : int or None
        Trajectories thrown away at the start; None throws a third away.
    n_leapfrog : int
        Steps of a trajectory.
    step_size : float or dictionary of parameter name to float
        Length of a step in theta. A step of 0.1 in WB98's log w is one of 0.05 in the logarithm of a length-scale.
    n_chains : int
    prior, n_models, max_rows
        As for every sampler (``Sampler``): the prior of theta, how many draws predictions average over (50), and on how
        many rows theta is sampled (all).
    """

    n_iter: int = 200
    burn_in: int | None = None
    n_leapfrog: int = 20
    step_size: float | Mapping[str, float] = 0.1
    n_chains: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, n_iter=1, n_leapfrog=1, n_chains=1)
        if self.burn_in is not None:
            check_counts(self, burn_in=0)
        if self.n_iter < self._n_enough:
            raise ValueError(
                f"HMC: expected at least {FEWEST_DRAWS} trajectories after burn-in, got {self.n_iter} - {self._n_burnt}"
            )
        sizes = self.step_size.values() if isinstance(self.step_size, Mapping) else [self.step_size]
        if not all(isinstance(size, Real) and 0.0 < float(size) < np.inf for size in sizes):
            raise ValueError(
                "HMC: step_size must be positive and finite, a number or a dictionary of parameter name to number, got "
                f"{self.step_size!r}"
            )

    @property
    def _n_burnt(self) -> int:
        return self.n_iter // 3 if self.burn_in is None else self.burn_in

    @property
    def _n_enough(self) -> int:
        """Trajectories that a callback cannot stop."""
        return self._n_burnt + FEWEST_DRAWS

    def sample(self, objective: Objective, rng: np.random.Generator, monitor: Monitor, effort: Effort) -> HyperResult:
        # The first chain starts at the kernel's values, as in the paper; further ones around them.
        low, high = objective.theta_bounds.T
        starts = objective.theta + 0.5 * rng.standard_normal((self.n_chains, objective.theta.size))
        starts = np.clip(starts, low, high)
        starts[0] = objective.theta
        work = (
            delayed(self._chain)(self.target(objective), objective, start, child, monitor)
            for start, child in zip(starts, rng.spawn(self.n_chains), strict=True)
        )
        thetas, densities, rates, counts, failures = zip(*Parallel(n_jobs=effort.n_jobs)(work), strict=True)
        n_kept = min(map(len, thetas))  # a callback may have stopped some chains
        return from_chains(
            np.stack([own[:n_kept] for own in thetas]),
            np.stack([own[:n_kept] for own in densities]),
            objective,
            sum(counts),
            acceptance=float(np.mean(rates)),
            n_failed=sum(failures),
            stopped=n_kept < self.n_iter - self._n_burnt,
        )

    def _steps(self, objective: Objective) -> np.ndarray:
        problem, sizes = objective.problem, [self.step_size] * objective.theta.size
        if isinstance(self.step_size, Mapping):
            names, others = problem.parameter_names, [0.1] * objective.theta.size
            sizes = by_name(self.step_size, problem.theta_entries, names, others, "a step size")
        return np.array(sizes, dtype=float)

    def _chain(
        self, target: Target, objective: Objective, theta: np.ndarray, rng: np.random.Generator, monitor: Monitor
    ) -> tuple[np.ndarray, np.ndarray, float, int, int]:
        """Draws (S, p) after burn-in, their log densities, the mean acceptance, evaluations, and failures."""
        steps = self._steps(objective)
        value, slope = target(theta)
        if not np.isfinite(value):
            raise LinAlgError(f"nothing can be computed at the starting values: {target.cause}")
        draws, densities, rates = [], [], []
        with monitor.task("trajectories", self.n_iter) as trajectories:
            for _ in trajectories.each(range(self.n_iter), at_least=self._n_enough):
                momentum = rng.standard_normal(len(theta))
                place, there, gradient = theta, value, slope
                final = momentum
                for _ in range(self.n_leapfrog):
                    half = final + 0.5 * steps * gradient
                    place = place + steps * half
                    there, gradient = target(place)
                    if not np.isfinite(there):
                        break
                    final = half + 0.5 * steps * gradient
                # Metropolis on the energy H = E + p'p / 2, E = -log density.
                change = float(there - value - 0.5 * (final @ final - momentum @ momentum))
                rate = float(np.exp(min(0.0, change))) if np.isfinite(there) else 0.0
                if rng.uniform() < rate:
                    theta, value, slope = place, there, gradient
                draws.append(theta)
                densities.append(value)
                rates.append(rate)
        thetas, values, accepted = (np.array(each[self._n_burnt :]) for each in (draws, densities, rates))
        return thetas, values, float(accepted.mean()), target.n_evaluations, target.n_refused
