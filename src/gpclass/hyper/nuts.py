"""The no-U-turn sampler over theta, by nutpie (``pip install gpclass[mcmc]``)."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import LinAlgError, solve_triangular

from ..inference.settings import check_counts
from ..training.monitor import Monitor
from .objective import Objective
from .results import HyperResult
from .sampler import Sampler, from_chains, scattered
from .search import Effort
from .target import Target

#: From so many rows on, matrix algebra outweighs what the interpreter does.
_MANY_ROWS = 400
#: The scale of an entry of theta that its curvature at the mode says next to nothing of.
_WIDEST = 3.0


def _nutpie() -> Any:
    with warnings.catch_warnings():
        # ArviZ 0.x, which nutpie imports, announces its successor.
        warnings.simplefilter("ignore", FutureWarning)
        try:
            import nutpie
        except ImportError as error:
            raise ImportError(
                "NUTS needs nutpie: pip install 'gpclass[mcmc]'; without it there are hyper='importance' and 'hmc'"
            ) from error
    return nutpie


@dataclass(frozen=True, kw_only=True)
class NUTS(Sampler):
    """Sample theta under the engine's evidence and the prior; chains start near the most probable theta.

    They move in coordinates in which Laplace's covariance of theta at its mode is the unit matrix, so a short tuning
    will do.

    Parameters
    ----------
    n_draws : int
        Draws of each chain after tuning.
    n_tune : int
        Draws spent on adapting step size and scales, thrown away.
    n_chains : int
    target_accept : float
        Mean acceptance that the step size is adapted to.
    prior, n_models, max_rows
        As for every sampler (``Sampler``): the prior of theta, how many draws predictions average over (50), and on how
        many rows theta is sampled (all).
    """

    n_draws: int = 250
    n_tune: int = 100
    n_chains: int = 4
    target_accept: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, n_draws=4, n_tune=20, n_chains=1)
        if not 0.0 < self.target_accept < 1.0:
            raise ValueError(f"NUTS: target_accept must be between 0 and 1, got {self.target_accept!r}")

    def sample(self, objective: Objective, rng: np.random.Generator, monitor: Monitor, effort: Effort) -> HyperResult:
        nutpie = _nutpie()
        p = objective.theta.size
        best = self.optimum(objective, rng, monitor, effort)
        # theta = mode + root z: with the covariance at the mode for root root' the entries of z are about independent.
        root = _root(best.covariance, p)
        starts = [scattered(self.target(objective), best, rng) for _ in range(self.n_chains)]
        whitened = iter([solve_triangular(root, start - best.theta, lower=True) for start in starts])
        targets: list[Target] = []
        errors: list[Exception] = []

        def make_density() -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
            target = self.target(objective)
            targets.append(target)

            def density(z: np.ndarray) -> tuple[float, np.ndarray]:
                if not errors:
                    try:
                        value, slope = target(best.theta + root @ z)
                        return value, root.T @ slope
                    except Exception as error:  # an exception in the sampler's thread would take the process down
                        errors.append(error)
                return -np.inf, np.zeros(p)

            return density

        def expand(z: np.ndarray) -> dict[str, np.ndarray]:
            if len(told) < total:  # called once for every draw, in the sampler's thread
                told.append(True)
                draws.step()
            return {"theta": best.theta + root @ z}

        compiled = nutpie.compiled_pyfunc.from_pyfunc(
            p,
            make_density,
            lambda *_: expand,
            [np.dtype("float64")],
            [(p,)],
            ["theta"],
            make_initial_point_fn=lambda seed: next(whitened, np.zeros(p)),
        )
        # Chains run in threads. On few rows the work holds the interpreter lock, and threads only fight for it.
        cores = min(effective_n_jobs(effort.n_jobs), self.n_chains) if objective.n_rows >= _MANY_ROWS else 1
        total = self.n_chains * (self.n_tune + self.n_draws)
        told: list[bool] = []
        try:
            with monitor.task("draws", total) as draws:
                sampler = nutpie.sample(
                    compiled,
                    draws=self.n_draws,
                    tune=self.n_tune,
                    chains=self.n_chains,
                    cores=cores,
                    seed=int(rng.integers(2**31)),
                    target_accept=self.target_accept,
                    progress_bar=False,
                    blocking=False,
                )
                # Left to itself nutpie takes an interrupt for an end, and the draws made so far for all.
                try:
                    trace = sampler.wait()
                except BaseException:
                    sampler.cancel()
                    raise
        except RuntimeError as error:
            causes = [target.cause for target in targets if target.cause]
            raise (errors[0] if errors else LinAlgError(f"NUTS could not start: {[*causes, str(error)][0]}")) from None
        if errors:
            raise errors[0]
        stats = trace.sample_stats
        return from_chains(
            trace.posterior["theta"].to_numpy(),
            stats["logp"].to_numpy(),
            objective,
            best.n_evaluations + sum(target.n_evaluations for target in targets),
            acceptance=float(stats["mean_tree_accept"].mean()),
            n_failed=int(stats["diverging"].sum()),
            stopped=best.stopped,
        )


def _root(covariance: np.ndarray | None, p: int) -> np.ndarray:
    """The lower factor of the covariance at the mode; standard deviations are at most ``_WIDEST``, and 0.5 where they
    are not known."""
    root = 0.5 * np.eye(p)
    if covariance is not None:
        known = np.flatnonzero(np.isfinite(np.diag(covariance)))
        factor = np.linalg.cholesky(covariance[np.ix_(known, known)])
        root[np.ix_(known, known)] = factor * np.minimum(1.0, _WIDEST / np.linalg.norm(factor, axis=1))[:, None]
    return root
