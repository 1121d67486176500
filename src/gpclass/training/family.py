"""A family of kernels in place of one: each is learned, and leave-one-out predictions give it its weight.

The first kernel is learned as a default kernel is, with as many length-scales as pay. The second is the same on the
normal scores of the inputs: learning it starts where the first has ended. The third is an RBF kernel of so long a
length-scale that its functions are all but linear among the training rows, yet go back to the prior far away. With few
rows there is a constant for each class too, which predicts the shares of the classes: where inputs say nothing it is
the better model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..hyper import Fixed, Objective
from ..hyper.results import FamilyMember, Start
from ..hyper.search import Effort
from ..inference.posteriors import Member, MixturePosterior
from ..inference.problem import Problem
from ..kernels import RBF, Categorical, Constant, Kernel, Quantiles, Scaled, View
from ..kernels.quantiles import Distribution
from ..kernels.rows import features
from ..numerics import linalg
from ..numerics.arrays import to_host
from .default_kernel import coarse_optimum
from .dense import fit_learned, learn_theta
from .learning import LearnedTheta
from .memory import refusing_too_much
from .monitor import Monitor
from .stacking import stacking_weights
from .trained import LabelWeights, Settings, Trained

#: Pseudo-counts of a kernel and of the constant for their weights, and the smallest weight that is kept.
_PSEUDO_COUNT, _CONSTANT_COUNT, _SMALLEST_WEIGHT = 0.3, 0.6, 0.02
#: Members that predict alike take many steps to settle their weights.
_EM_STEPS = 3000
#: Length-scale of functions that are all but linear, in root mean square distances of standardised rows.
_LONG = 8.0
#: The constant for each class, and up to how many rows it takes part.
_CONSTANT, _FEW_ROWS = Constant(4.0, fixed="variance"), 100


@refusing_too_much
def train_family(
    problem: Problem, settings: Settings, rng: np.random.Generator, monitor: Monitor, labels: LabelWeights
) -> Trained:
    """Train a model of each kernel, calibrate it, and average their probabilities.

    What is reported of one model is that of the member with the largest weight.
    """
    first = learn_theta(problem, settings, rng, monitor)
    known = first.objective.problem
    scored = replace(first.objective, problem=replace(known, kernel=_on_numbers(known.kernel, known.X, _scored)))
    linear = replace(first.objective, problem=replace(problem, kernel=_on_numbers(problem.kernel, problem.X, _linear)))
    learned = {"additive": first}
    if not monitor.should_stop:
        learned["quantiles"] = _learned(scored, first.hyper.search, first.hyper.start, settings, rng, monitor)
    if not monitor.should_stop:
        learned["linear"] = _learned_from_coarse(linear, first.hyper.state, settings, rng, monitor)
    if problem.n_rows <= _FEW_ROWS:
        constant = replace(first.objective, problem=replace(problem, kernel=_CONSTANT))
        learned["constant"] = LearnedTheta(constant, Fixed()(constant, rng))
    found = {name: fit_learned(one, settings, rng, monitor, labels) for name, one in learned.items()}
    loo_probas = [one.loo_proba for one in found.values() if one.loo_proba is not None]
    weights = _weights(loo_probas, [_CONSTANT_COUNT if name == "constant" else _PSEUDO_COUNT for name in found], labels)
    members = tuple(
        FamilyMember(name, float(weight), one.kernel)
        for (name, one), weight in zip(found.items(), weights, strict=True)
    )
    kept = [one for one, weight in zip(found.values(), weights, strict=True) if weight > 0.0]
    shares = weights[weights > 0.0]
    best = kept[int(np.argmax(shares))]
    stopped = monitor.should_stop or any(one.hyper.stopped for one in found.values())
    hyper = replace(best.hyper, members=members, stopped=stopped)
    if len(kept) == 1:
        return replace(best, hyper=hyper)
    parts = [
        Member(float(w), one.posterior, one.likelihood, one.calibration) for w, one in zip(shares, kept, strict=True)
    ]
    # The first member of a mixture stands for it where one kernel is asked for.
    parts.sort(key=lambda part: -part.weight)
    loo_proba = sum(w * one.loo_proba for w, one in zip(shares, kept, strict=True))
    messages = tuple({str(message): message for one in kept for message in one.messages}.values())
    return replace(
        best, posterior=MixturePosterior(tuple(parts)), hyper=hyper, loo_proba=loo_proba, loo=None, messages=messages
    )


def _learned_from_coarse(
    objective: Objective, state: Any, settings: Settings, rng: np.random.Generator, monitor: Monitor
) -> LearnedTheta:
    """The optimum of a search that starts at that of a few rows, and with a ``state`` of the engine."""
    coarse = coarse_optimum(objective, settings.coarse, settings.search, rng, monitor) if settings.coarse else None
    start = coarse.start if coarse else None
    if start is not None:
        start = start._replace(state=state)
    return _learned(objective, settings.search, start, settings, rng, monitor)


def _learned(
    objective: Objective,
    search: Any,
    start: Start | None,
    settings: Settings,
    rng: np.random.Generator,
    monitor: Monitor,
) -> LearnedTheta:
    """The optimum of one search, and nothing else."""
    effort = Effort(settings.n_restarts_optimizer, settings.n_jobs, start)
    with linalg.suited_threads(objective.n_rows):
        found = search(objective, rng, monitor, effort)
    few = objective.problem.spread_rows(search.max_rows) if search.max_rows else ()
    return LearnedTheta(objective, replace(found, rows=few if 0 < len(few) < objective.n_rows else None))


def _on_numbers(kernel: Kernel, X: np.ndarray, change: Callable[[Kernel, np.ndarray], Kernel]) -> Kernel:
    """The kernel with another in place of each that works on numbers, the columns of X."""
    if isinstance(kernel, Categorical):
        return kernel
    if isinstance(kernel, View):
        return replace(kernel, kernel=_on_numbers(kernel.kernel, kernel._select(X), change))
    if isinstance(kernel, Scaled) or any(isinstance(part, View) for part in _all_parts(kernel)):
        return kernel._with_children([_on_numbers(child, X, change) for child in kernel.children])
    return change(kernel, to_host(features(X)))


def _scored(kernel: Kernel, X: np.ndarray) -> Kernel:
    """The kernel on the normal scores of the columns of X."""
    return Quantiles(kernel, Distribution.of(X))


def _linear(kernel: Kernel, X: np.ndarray) -> Kernel:
    """Functions that are all but linear, in place of those of the kernel."""
    return RBF(_LONG * np.sqrt(X.shape[1]), fixed="length_scale")


def _all_parts(kernel: Kernel) -> list[Kernel]:
    return [kernel, *(part for child in kernel.children for part in _all_parts(child))]


def _weights(loo_probas: list[np.ndarray], pseudo_counts: list[float], labels: LabelWeights) -> np.ndarray:
    """Weights of the members, 0 for those that hardly matter."""
    rows, codes = np.nonzero(labels.proba)
    counts = labels.weights[rows] * labels.proba[rows, codes]
    log_probs = np.log(np.maximum([proba[rows, codes] for proba in loo_probas], 1e-300))
    weights = stacking_weights(log_probs, np.array(pseudo_counts), counts, _EM_STEPS)
    weights = np.where(weights < _SMALLEST_WEIGHT, 0.0, weights)
    return weights / weights.sum()
