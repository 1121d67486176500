"""The default kernel: one length-scale, or one for each input where that clearly predicts better."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..hyper import Evidence, HyperResult, Objective
from ..hyper.priors import Normal
from ..hyper.results import Start
from ..hyper.search import Effort
from ..inference.base import Engine
from ..inference.problem import Problem
from ..kernels import Kernel, View
from ..kernels.stationary import Stationary
from .monitor import Monitor
from .relevances import Optimum, add_all_columns, choose_columns

#: How many nats leave-one-out predictions must gain before the default kernel gets a length-scale for each input.
_CLEAR_GAIN = 5.0
#: Where an evaluation of the evidence costs more than this many latent functions times cubed rows, so many nats for
#: each row must be promised before more length-scales are tried: they take most of the time of a fit.
_EXPENSIVE, _GAIN_PER_ROW = 2e8, 0.1
#: How many nats slopes promise for each input by chance (0.06 to 0.08 on tables where nothing was to be gained).
_CHANCE_GAIN = 0.05
#: Rows, and relative change of the objective, of the search that finds a start.
_COARSE_ROWS, _COARSE_TOL = 120, 1e-5
#: A prior under which length-scales of different inputs are similar.
_SIMILAR = Normal(sd=0.5)
#: How many nats for each input, of up to so many, they must gain before that prior is dropped.
_GAIN_PER_INPUT, _COUNTED_INPUTS = 2.0, 30


def coarse_optimum(
    objective: Objective, engine: Engine, search: Any, rng: np.random.Generator, monitor: Monitor
) -> HyperResult | None:
    """The optimum of a few rows by a quick engine, with its covariance scaled to all rows; None where it would cost as
    much as the search itself."""
    few = replace(objective, learner=engine).thinned(_COARSE_ROWS)
    n_rows = objective.thinned(search.max_rows).n_rows
    if type(engine) is type(objective.learner) and 2 * few.n_rows > n_rows:
        return None
    found = replace(search, tol=_COARSE_TOL)(few, rng, monitor)
    if not found.converged or found.rough_covariance is None:
        return replace(found, rough_covariance=None, state=None)
    return replace(found, rough_covariance=few.n_rows / n_rows * found.rough_covariance, state=None)


def learn_default(
    objective: Objective, search: Any, rng: np.random.Generator, monitor: Monitor, effort: Effort
) -> tuple[Objective, HyperResult]:
    """Learn, or sample, the parameters of the default kernel, and whether it gets a length-scale for each input.

    Leave-one-out predictions decide that, at the optimum of each; a sampler then samples what was decided.
    """
    optimiser = search
    if search.samples:
        optimiser = Evidence() if isinstance(search.prior, str) else Evidence(prior=search.prior)
    best, similar = Optimum(objective, optimiser(objective, rng, monitor, effort)), False
    if objective.problem.X.shape[1] > 1 and not monitor.should_stop:
        best, similar = _try_more_scales(best, optimiser, rng, monitor)
    objective, found = best
    found = replace(found, stopped=found.stopped or monitor.should_stop)
    if not search.samples:
        return objective, found
    if similar:
        search = replace(search, prior=_with_similar_scales(search.prior, objective.problem))
    sampled = search(objective, rng, monitor, effort)
    return objective, replace(sampled, stopped=sampled.stopped or found.stopped)


def _try_more_scales(
    isotropic: Optimum, search: Evidence, rng: np.random.Generator, monitor: Monitor
) -> tuple[Optimum, bool]:
    """More length-scales than one, where that clearly predicts better: for a few columns, or for all inputs.

    A few columns come first: slopes of length-scales do not show all that matter, and they cost less. Nothing is tried
    where neither functions of one column nor slopes promise a gain. Length-scales of all inputs are tried where they
    promise more than the few columns have gained. Also returned: whether they were found with the tight prior.
    """
    problem = isotropic.objective.problem.started_at(isotropic.found.theta)
    n_features = problem.X.shape[1]
    relevances = replace(problem, kernel=with_relevances(problem.kernel, n_features))
    ard = replace(isotropic.objective, problem=relevances)
    promised = _largest_gain(ard, search, isotropic.found.state) - _CHANCE_GAIN * n_features
    needed = _needed(problem.thinned(search.max_rows or problem.n_rows))
    least = float(np.clip(needed - promised, 0.0, needed))
    few = _few_columns(isotropic, least, search, rng, monitor)
    # A prior that was given to length-scales says nothing of how far slopes can lead.
    tries = promised > needed or _with_similar_scales(search.prior, relevances) == search.prior
    tries = tries and not monitor.should_stop
    if few.objective is isotropic.objective:
        return _relevances(few, ard, search, rng, monitor) if tries else (few, False)
    before, after, margin = _loo_score(isotropic, search), _loo_score(few, search), _free_margin(problem)
    # Labels cannot be predicted with a log probability above 0.
    room = -after if np.issubdtype(problem.y.dtype, np.integer) else np.inf
    if tries and promised > after - before and room > margin:
        other, similar = _relevances(isotropic, ard, search, rng, monitor)
        if _loo_score(other, search) - after > (_CLEAR_GAIN if similar else margin):
            return other, similar
        few = few._replace(found=replace(few.found, stopped=few.found.stopped or other.found.stopped))
    return few, False


def _few_columns(
    isotropic: Optimum, least: float, search: Evidence, rng: np.random.Generator, monitor: Monitor
) -> Optimum:
    """A model of a few columns, or the sum of that and one of all, where it clearly predicts better."""
    few = choose_columns(isotropic, search, least, rng, monitor)
    if few is None:
        return isotropic
    best, score, stopped = isotropic, _loo_score(isotropic, search), False
    for trial in (few, add_all_columns(few, isotropic, search, rng, monitor)):
        if trial is None:
            continue
        stopped |= trial.found.stopped
        after = _loo_score(trial, search)
        if trial.found.converged and after - score > _CLEAR_GAIN:
            best, score = trial, after
    found = search(best.objective, rng, monitor) if best is few else best.found
    n_evaluations = found.n_evaluations + (few.found.n_evaluations if best is few else 0)
    return Optimum(best.objective, replace(found, n_evaluations=n_evaluations, stopped=stopped or found.stopped))


def _needed(problem: Problem) -> float:
    """How many nats must be promised before more length-scales than one are tried."""
    n_rows, expensive = problem.n_rows, problem.n_latent * float(problem.n_rows) ** 3 > _EXPENSIVE
    return max(_CLEAR_GAIN, _GAIN_PER_ROW * n_rows) if expensive else _CLEAR_GAIN


def _free_margin(problem: Problem) -> float:
    """What leave-one-out predictions must gain by a length-scale for each input without a tight prior."""
    return max(_CLEAR_GAIN, _GAIN_PER_INPUT * min(problem.X.shape[1], _COUNTED_INPUTS))


def _within_reach(margin: float, score: float, problem: Problem) -> float:
    """The margin, at most half of what can be gained: labels have no log probability above 0."""
    labels = np.issubdtype(problem.y.dtype, np.integer)
    return max(_CLEAR_GAIN, min(margin, -0.5 * score)) if labels else margin


def _loo_score(model: Optimum, search: Evidence) -> float:
    return model.objective.thinned(search.max_rows).loo_score(model.found.theta, model.found.state)[0]


def _with_similar_scales(prior: Any, problem: Problem) -> Any:
    """A prior under which length-scales that were given none are similar."""
    if prior is None:
        prior = dict.fromkeys(entry.name for entry in problem.theta_entries if entry.role != "length_scale")
    if isinstance(prior, Mapping):
        return {"length_scale": _SIMILAR, **prior}
    # One prior for all parameters holds for length-scales too; the default was given by nobody.
    return _SIMILAR if prior == Normal() else prior


def _relevances(
    isotropic: Optimum, ard: Objective, search: Evidence, rng: np.random.Generator, monitor: Monitor
) -> tuple[Optimum, bool]:
    """One length-scale for each input instead of one for all, where that clearly predicts better.

    Learning starts at the isotropic optimum and stays near it by a tight prior. Where that pays, it goes on without
    that prior, and leave-one-out predictions decide again, by a margin that grows with the number of inputs.
    Length-scales that were given a prior keep it, and are learned freely at once. Also returned: whether length-scales
    were found with the tight prior.
    """
    similar, (objective, found) = False, isotropic
    stopped = found.stopped
    tight, margin = _with_similar_scales(search.prior, ard.problem), _free_margin(ard.problem)
    stages = [(search.prior, margin)] if tight == search.prior else [(tight, _CLEAR_GAIN), (search.prior, margin)]
    score, start = _loo_score(isotropic, search), _start_of_scales(isotropic, ard)
    for prior, margin in stages:
        trial = replace(search, prior=prior)(ard, rng, monitor, Effort(start=start))
        stopped |= trial.stopped
        gained = _loo_score(Optimum(ard, trial), search) - score
        if similar:
            margin = _within_reach(margin, score, ard.problem)
        if not (gained > margin and trial.converged):
            break
        objective, score, similar = ard, score + gained, prior is not search.prior
        found = replace(trial, n_evaluations=found.n_evaluations + trial.n_evaluations)
        ard = replace(ard, problem=ard.problem.started_at(trial.theta))
        start = trial.start
    return Optimum(objective, replace(found, stopped=stopped)), similar


def _start_of_scales(isotropic: Optimum, ard: Objective) -> Start | None:
    """The isotropic optimum as a start for a length-scale for each input: what is known of the other parameters, and
    length-scales that change by about a third."""
    known = isotropic.found.rough_covariance
    if known is None:
        return None
    before, after = (
        np.array([entry.role == "length_scale" for entry in one.problem.theta_entries])
        for one in (isotropic.objective, ard)
    )
    covariance = np.diag(np.full(len(after), 0.5 * _SIMILAR.sd**2))
    covariance[np.ix_(~after, ~after)] = known[np.ix_(~before, ~before)]
    return Start(ard.theta, covariance, isotropic.found.state)


def _largest_gain(ard: Objective, search: Evidence, state: Any = None) -> float:
    """How much the log posterior can rise by length-scales that are expected to be similar.

    With slopes g of a concave evidence and prior variances s^2 of the steps, by at most s^2 |g|^2 / 2. The engine
    starts from ``state``.
    """
    target = replace(search, prior=None).target(ard.thinned(search.max_rows), strict=False)
    target.state = state
    _, slopes = target(ard.theta)
    of_scales = np.array([entry.role == "length_scale" for entry in ard.problem.theta_entries])
    return 0.5 * _SIMILAR.sd**2 * float(np.sum(slopes[of_scales] ** 2))


def with_relevances(kernel: Kernel, n_features: int) -> Kernel:
    """The default kernel, or a part of it, with a length-scale for each of so many inputs."""
    if isinstance(kernel, Stationary):
        return replace(kernel, length_scale=np.full(n_features, kernel.length_scale))
    own = len(np.arange(n_features)[kernel.columns]) if isinstance(kernel, View) else n_features
    return kernel._with_children([with_relevances(child, own) for child in kernel.children])
