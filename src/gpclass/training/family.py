"""A family of kernels in place of one: each is learned, and leave-one-out predictions give it its weight.

The first kernel is learned as a default kernel is, with as many length-scales as pay. The second is the same on the
normal scores of the inputs: learning it starts where the first has ended. With few rows there is a third, a constant
for each class, which predicts the shares of the classes: where inputs say nothing it is the better model.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..hyper import Fixed
from ..hyper.results import FamilyMember
from ..hyper.search import Effort
from ..inference.posteriors import Member, MixturePosterior
from ..inference.problem import Problem
from ..kernels import Categorical, Constant, Kernel, Quantiles, View
from ..kernels.quantiles import Distribution
from ..kernels.rows import features
from ..numerics import linalg
from ..numerics.arrays import to_host
from .dense import fit_learned, learn_theta
from .learning import LearnedTheta
from .monitor import Monitor
from .stacking import stacking_weights
from .trained import LabelWeights, Settings, Trained

#: Pseudo-counts of a kernel and of the constant for their weights, and the smallest weight that is kept.
_PSEUDO_COUNT, _CONSTANT_COUNT, _SMALLEST_WEIGHT = 0.3, 0.6, 0.02
#: Members that predict alike take many steps to settle their weights.
_EM_STEPS = 3000
#: The constant for each class, and up to how many rows it takes part.
_CONSTANT, _FEW_ROWS = Constant(4.0, fixed="variance"), 100


def train_family(
    problem: Problem, settings: Settings, rng: np.random.Generator, monitor: Monitor, labels: LabelWeights
) -> Trained:
    """Train a model of each kernel, calibrate it, and average their probabilities.

    What is reported of one model is that of the member with the largest weight.
    """
    first = learn_theta(problem, settings, rng, monitor)
    learned = {"additive": first, "quantiles": _on_normal_scores(first, settings, rng, monitor)}
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
    hyper = replace(best.hyper, members=members, stopped=any(one.hyper.stopped for one in found.values()))
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


def _on_normal_scores(
    first: LearnedTheta, settings: Settings, rng: np.random.Generator, monitor: Monitor
) -> LearnedTheta:
    """The same kernel on normal scores, learned by the same search from the optimum of the first."""
    problem, hyper = first.objective.problem, first.hyper
    objective = replace(first.objective, problem=replace(problem, kernel=_scored(problem.kernel, problem.X)))
    effort = Effort(settings.n_restarts_optimizer, settings.n_jobs, hyper.start)
    with linalg.suited_threads(problem.n_rows):
        found = hyper.search(objective, rng, monitor, effort)
    return LearnedTheta(objective, replace(found, rows=hyper.rows))


def _scored(kernel: Kernel, X: np.ndarray) -> Kernel:
    """The kernel on the normal scores of the numbers among the columns of X."""
    if isinstance(kernel, Categorical):
        return kernel
    if isinstance(kernel, View):
        return replace(kernel, kernel=_scored(kernel.kernel, kernel._select(X)))
    if any(isinstance(part, View) for part in _all_parts(kernel)):
        return kernel._with_children([_scored(child, X) for child in kernel.children])
    return Quantiles(kernel, Distribution.of(to_host(features(X))))


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
