"""The default kernel: one length-scale, or one for each input where that clearly predicts better."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..hyper import Evidence, HyperResult, Objective
from ..hyper.priors import Normal
from ..hyper.search import Effort
from ..inference.problem import Problem
from ..kernels import Kernel, View
from ..kernels.stationary import Stationary
from .monitor import Monitor
from .relevances import choose_columns

#: How many nats leave-one-out predictions must gain before the default kernel gets a length-scale for each input.
_CLEAR_GAIN = 5.0
#: How many nats slopes promise for each input by chance (0.06 to 0.08 on tables where nothing was to be gained).
_CHANCE_GAIN = 0.05
#: A prior under which length-scales of different inputs are similar.
_SIMILAR = Normal(sd=0.5)
#: How many nats for each input, of up to so many, they must gain before that prior is dropped.
_GAIN_PER_INPUT, _COUNTED_INPUTS = 2.0, 30


def learn_default(
    objective: Objective, search: Any, rng: np.random.Generator, monitor: Monitor, effort: Effort
) -> tuple[Objective, HyperResult]:
    """Learn, or sample, the parameters of the default kernel, and whether it gets a length-scale for each input.

    Leave-one-out predictions decide that, at the optimum of each; a sampler then samples what was decided.
    """
    optimiser = search
    if search.samples:
        optimiser = Evidence() if isinstance(search.prior, str) else Evidence(prior=search.prior)
    found = optimiser(objective, rng, monitor, effort)
    similar = False
    if objective.problem.X.shape[1] > 1:
        few = _try_few_columns(objective, found, optimiser, rng, monitor)
        if few is None:
            objective, found, similar = _try_relevances(objective, found, optimiser, rng, monitor)
        else:
            objective, found = few
    if not search.samples:
        return objective, found
    if similar:
        search = replace(search, prior=_with_similar_scales(search.prior, objective.problem))
    sampled = search(objective, rng, monitor, effort)
    return objective, replace(sampled, stopped=sampled.stopped or found.stopped)


def _with_similar_scales(prior: Any, problem: Problem) -> Any:
    """A prior under which length-scales that were given none are similar."""
    if prior is None:
        prior = dict.fromkeys(entry.name for entry in problem.theta_entries if entry.role != "length_scale")
    if isinstance(prior, Mapping):
        return {"length_scale": _SIMILAR, **prior}
    # One prior for all parameters holds for length-scales too; the default was given by nobody.
    return _SIMILAR if prior == Normal() else prior


def _try_few_columns(
    objective: Objective, found: HyperResult, search: Evidence, rng: np.random.Generator, monitor: Monitor
) -> tuple[Objective, HyperResult] | None:
    """Only the few columns that matter instead of all, where such stand out and that clearly predicts better."""
    chosen = choose_columns(objective, found, search, _CLEAR_GAIN, rng, monitor)
    if chosen is None or not chosen[1].converged:
        return None
    before, after = (one.thinned(search.max_rows).loo_score(at.theta)[0] for one, at in ((objective, found), chosen))
    return chosen if after - before > _CLEAR_GAIN else None


def _try_relevances(
    objective: Objective, found: HyperResult, search: Evidence, rng: np.random.Generator, monitor: Monitor
) -> tuple[Objective, HyperResult, bool]:
    """One length-scale for each input instead of one for all, where that clearly predicts better.

    Nothing is tried where the slopes at the isotropic optimum promise little. Else learning starts there and stays
    near it by a tight prior. Where that pays, it goes on without that prior, and leave-one-out predictions decide
    again, by a margin that grows with the number of inputs. Length-scales that were given a prior keep it, and are
    learned freely at once. Also returned: whether length-scales were found with the tight prior.
    """
    similar, stopped = False, found.stopped
    few = search.max_rows or objective.n_rows
    n_features = objective.problem.X.shape[1]
    at_optimum = objective.problem.started_at(found.theta)
    ard = replace(objective, problem=replace(at_optimum, kernel=with_relevances(at_optimum.kernel, n_features)))
    tight, margin = _with_similar_scales(search.prior, ard.problem), _GAIN_PER_INPUT * min(n_features, _COUNTED_INPUTS)
    stages = [(tight, _CLEAR_GAIN), (search.prior, margin)]
    if tight == search.prior:
        stages = [(search.prior, max(_CLEAR_GAIN, margin))]
    elif _largest_gain(ard, search) < _CLEAR_GAIN + _CHANCE_GAIN * n_features:
        return objective, found, similar
    score = objective.thinned(few).loo_score(found.theta)[0]
    for prior, least in stages:
        trial = replace(search, prior=prior)(ard, rng, monitor)
        stopped |= trial.stopped
        gained = ard.thinned(few).loo_score(trial.theta)[0] - score
        if not (gained > least and trial.converged):
            break
        objective, score, similar = ard, score + gained, prior is not search.prior
        found = replace(trial, n_evaluations=found.n_evaluations + trial.n_evaluations)
        ard = replace(ard, problem=ard.problem.started_at(trial.theta))
    return objective, replace(found, stopped=stopped), similar


def _largest_gain(ard: Objective, search: Evidence) -> float:
    """How much the log posterior can rise by length-scales that are expected to be similar.

    With slopes g of a concave evidence and prior variances s^2 of the steps, by at most s^2 |g|^2 / 2.
    """
    _, slopes = replace(search, prior=None).target(ard.thinned(search.max_rows), strict=False)(ard.theta)
    of_scales = np.array([entry.role == "length_scale" for entry in ard.problem.theta_entries])
    return 0.5 * _SIMILAR.sd**2 * float(np.sum(slopes[of_scales] ** 2))


def with_relevances(kernel: Kernel, n_features: int) -> Kernel:
    """The default kernel, or a part of it, with a length-scale for each of so many inputs."""
    if isinstance(kernel, Stationary):
        return replace(kernel, length_scale=np.full(n_features, kernel.length_scale))
    own = len(np.arange(n_features)[kernel.columns]) if isinstance(kernel, View) else n_features
    return kernel._with_children([with_relevances(child, own) for child in kernel.children])
