"""A family of kernels in place of one: each is learned, and leave-one-out predictions give it its weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..hyper.results import FamilyMember
from ..inference.posteriors import Member, MixturePosterior
from ..inference.problem import Problem
from .dense import train
from .monitor import Monitor
from .stacking import stacking_weights
from .trained import LabelWeights, Settings, Trained

#: Pseudo-count of each member for its weight, and the smallest weight that is kept.
_PSEUDO_COUNT, _SMALLEST_WEIGHT = 0.3, 0.02
#: Members that predict alike take many steps to settle their weights.
_EM_STEPS = 3000


def train_family(
    problems: Mapping[str, Problem],
    settings: Settings,
    rng: np.random.Generator,
    monitor: Monitor,
    labels: LabelWeights,
) -> Trained:
    """Train a model of each problem, calibrate it, and average their probabilities.

    What is reported of one model is that of the member with the largest weight.
    """
    found = {name: train(problem, settings, rng, monitor, labels) for name, problem in problems.items()}
    loo_probas = [one.loo_proba for one in found.values() if one.loo_proba is not None]
    weights = _weights(loo_probas, labels) if len(found) > 1 else np.ones(1)
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


def _weights(loo_probas: list[np.ndarray], labels: LabelWeights) -> np.ndarray:
    """Weights of the members, 0 for those that hardly matter."""
    rows, codes = np.nonzero(labels.proba)
    counts = labels.weights[rows] * labels.proba[rows, codes]
    log_probs = np.log(np.maximum([proba[rows, codes] for proba in loo_probas], 1e-300))
    weights = stacking_weights(log_probs, np.full(len(loo_probas), _PSEUDO_COUNT), counts, _EM_STEPS)
    weights = np.where(weights < _SMALLEST_WEIGHT, 0.0, weights)
    return weights / weights.sum()
