"""Theta: learned or sampled for an objective, with the messages that this gives rise to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from sklearn.exceptions import ConvergenceWarning

from ..hyper import HyperResult, Objective, Samples
from ..hyper.search import Effort
from ..inference.base import Engine, Info
from ..inference.problem import Problem
from ..kernels import PerClass
from ..kernels.rows import on_host, select
from ..numerics.arrays import to_host
from .default_kernel import coarse_optimum, learn_default, with_relevances
from .monitor import Monitor
from .trained import Settings, WeightedFit


class LearnedTheta(NamedTuple):
    """The objective, its kernel perhaps with more parameters now, what was found, and messages."""

    objective: Objective
    hyper: HyperResult
    messages: tuple[Warning, ...] = ()

    def without_state(self) -> LearnedTheta:
        """The same without what a next fit on the same rows could start from."""
        return self._replace(hyper=replace(self.hyper, state=None))


def learn(
    objective: Objective,
    settings: Settings,
    rng: np.random.Generator,
    monitor: Monitor,
    other_starts: tuple[Problem, ...] = (),
    search: Any = None,
) -> LearnedTheta:
    """Learn or sample theta; from several starting points, the one with the highest log posterior is kept.

    The result says that learning was stopped where a callback has stopped any part of it.
    """
    search = settings.search if search is None else search
    search.check(objective)
    if search.adjusts:
        objective, found, messages = learn(objective, settings, rng, monitor, other_starts, search.first)
        return LearnedTheta(objective, search.adjust(objective, found, monitor), messages)
    best = _learn_from(objective, search, settings, rng, monitor)
    if search.learns and not search.samples:
        for problem in other_starts if not monitor.should_stop else ():
            other = _learn_from(replace(objective, problem=problem), search, settings, rng, monitor)
            stopped = best.hyper.stopped or other.hyper.stopped
            best = other if other.hyper.value > best.hyper.value else best
            best = best._replace(hyper=replace(best.hyper, stopped=stopped))
    return best


def _learn_from(
    objective: Objective, search: Any, settings: Settings, rng: np.random.Generator, monitor: Monitor
) -> LearnedTheta:
    messages: tuple[Warning, ...] = ()
    if search.learns:
        problem = objective.problem
        if settings.default_kernel and search.needs_relevances:
            problem = replace(problem, kernel=with_relevances(problem.kernel, problem.X.shape[1]))
        objective = replace(
            objective, problem=replace(problem, kernel=problem.kernel.with_data_driven_start(on_host(problem.X)))
        )
        messages = _if_no_rows_are_similar(objective.problem)
    effort = Effort(settings.n_restarts_optimizer, settings.n_jobs)
    if settings.default_kernel and search.tries_relevances:
        coarse = None
        if settings.coarse is not None and not search.samples:
            coarse = coarse_optimum(objective, settings.coarse, search, rng, monitor)
        if coarse is not None:
            effort = effort._replace(start=coarse.start)
        objective, found = learn_default(objective, search, rng, monitor, effort)
        found = replace(found, stopped=found.stopped or (coarse is not None and coarse.stopped))
    else:
        found = search(objective, rng, monitor, effort)
    if search.row_limit is not None:
        rows = objective.problem.spread_rows(search.row_limit)
        if len(rows) < objective.n_rows:
            found = replace(found, rows=rows)
    return LearnedTheta(objective, found, messages)


def _if_no_rows_are_similar(problem: Problem) -> tuple[Warning, ...]:
    """A message when no two rows are correlated at the starting values: learning has no slope to follow from there."""
    kernel = problem.kernel
    if kernel.pairwise or isinstance(kernel, PerClass) or problem.n_rows < 2:
        return ()
    K = to_host(kernel(select(problem.X, slice(0, min(problem.n_rows, 500)))))
    scale = np.sqrt(np.diag(K))
    if np.any(scale <= 0):
        return ()
    largest = np.abs(K / scale / scale[:, None])[~np.eye(len(K), dtype=bool)].max()
    if largest >= 1e-6:
        return ()
    return (
        UserWarning(
            f"at its starting values the kernel sees no two rows as similar (largest correlation {largest:.1g}), so "
            "nothing can be learned; scale the inputs (standardize=True) or start from a larger length_scale"
        ),
    )


def convergence_messages(
    hyper: HyperResult, problem: Problem, engine: Engine, info: Info, default_kernel: bool
) -> tuple[Warning, ...]:
    """What did not converge or ended at a bound, and what to do about it."""
    found: list[str] = []
    if hyper.samples is not None and not hyper.converged:
        found.append(_why_not_mixed(hyper.samples))
    elif hyper.stopped:
        found.append(
            f"learning was stopped after {hyper.n_evaluations} evaluations without converging; the best parameters "
            "found are kept"
        )
    elif not hyper.converged:
        found.append(
            f"learning stopped after {hyper.n_evaluations} evaluations without converging; the best parameters found "
            "are kept. Raise Evidence(max_iter=...) or HeldOut(max_evaluations=...), whichever is learning, or start "
            "from other values."
        )
    # To find no label noise, or that a view is of no use, is a result.
    noise = getattr(problem.at(hyper.theta)[1].predictive, "label_noise", 0.0)
    harmless = {"weights"} if noise > 1e-3 else {"weights", "label_noise"}
    roles = {entry.name: entry.role for entry in problem.theta_entries}
    at_bounds = [name for name in hyper.at_bounds if roles[name] not in harmless]
    if at_bounds and not default_kernel:
        found.append(
            f"learning ended with {', '.join(at_bounds)} at a bound; widen it with bounds={{...}} or fix the parameter"
        )
    if not info.converged and hyper.fits is None:
        found.append(engine.why_not_converged(info))
    return tuple(ConvergenceWarning(text) for text in found)


def _why_not_mixed(samples: Samples) -> str:
    """What is wrong with samples that did not converge, and what to do about it."""
    if samples.acceptance is not None and samples.acceptance <= 0.05:
        return (
            f"nearly every proposal for the kernel parameters was refused (acceptance {samples.acceptance:.2f}): take "
            "a smaller step_size, or widen the bounds of the parameters"
        )
    if samples.r_hat is not None:
        return (
            f"the samples of the kernel parameters have not mixed: R-hat is up to {samples.r_hat:.2f}, expected below "
            "1.1. Draw more (hyper='metropolis' draws as Gibbs(...) says), or give a tighter prior."
        )
    if samples.pareto_k is not None and samples.n_effective is not None and samples.n_effective >= 10.0:
        return (
            f"the tail of the importance weights is heavy (Pareto k {samples.pareto_k:.2f}, expected below 0.7): few "
            "draws may carry the average. Draw more, or sample with hyper='nuts'."
        )
    return (
        f"few importance samples carry all the weight: effectively {samples.n_effective:.1f} of {len(samples.flat)}. "
        "Draw more, or sample with hyper='nuts'."
    )


def fit_samples(
    final: Objective, hyper: HyperResult, n_models: int, rng: np.random.Generator, monitor: Monitor
) -> tuple[list[WeightedFit], tuple[Warning, ...], bool]:
    """Fits at representatives of the samples of theta, without those that fail; messages; and whether a callback asked
    for fewer fits."""
    assert hyper.samples is not None
    if hyper.fits is not None:
        return [WeightedFit(weight, fit, final.at(theta)[1].predictive) for theta, weight, fit in hyper.fits], (), False
    found: list[WeightedFit] = []
    state, cause, n_failed, n_tried = None, "", 0, 0
    thetas, weights = hyper.samples.representatives(n_models, rng)
    with monitor.task("models", len(thetas)) as steps:
        for theta, weight in steps.each(zip(thetas, weights, strict=True)):
            n_tried += 1
            try:
                fit = final.fit(theta, state).settled()
            except LinAlgError as error:
                cause = str(error)
                continue
            state = fit.state
            n_failed += not fit.info.converged
            found.append(WeightedFit(weight, fit, final.at(theta)[1].predictive))
    if not found:
        raise LinAlgError(f"inference failed at every sample of the parameters: {cause}")
    total = sum(one.weight for one in found)
    message = ConvergenceWarning(
        f"inference did not converge at {n_failed} of {len(found)} samples of the parameters; raise max_iter or loosen "
        "tol of the engine"
    )
    scaled = [one._replace(weight=one.weight / total) for one in found]
    return scaled, (message,) if n_failed else (), n_tried < len(thetas)
