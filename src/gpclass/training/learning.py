"""Between estimators and ``gpclass.hyper``: words for ``hyper=``, the default kernel, and fits at samples of theta."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from sklearn.exceptions import ConvergenceWarning

from ..hyper import (
    HMC,
    NUTS,
    Alternating,
    Evidence,
    Fixed,
    HeldOut,
    HyperResult,
    Importance,
    LeaveOneOut,
    Metropolis,
    Model,
    Samples,
)
from ..hyper.priors import Normal
from ..kernels import Kernel, View
from ..kernels.stationary import Stationary
from ..likelihoods import Likelihood
from .monitor import quiet, track

HYPER = {
    "alternating": Alternating,
    "evidence": Evidence,
    "fixed": Fixed,
    "held_out": HeldOut,
    "hmc": HMC,
    "importance": Importance,
    "loo": LeaveOneOut,
    "metropolis": Metropolis,
    "nuts": NUTS,
}


#: The words that estimators for many rows know; "auto" is settled by ``for_many_rows``.
HYPER_OF_MANY = {"auto": HeldOut, **HYPER}
#: From so many rows on, the estimators for many rows learn by rows set aside (measured: docs/design.md).
MANY = 5000


def for_many_rows(hyper: Any, n_rows: int, likelihood: Likelihood) -> Any:
    """The setting ``hyper`` of an estimator for many rows, "auto" settled."""
    if isinstance(hyper, str) and hyper == "auto":
        return "held_out" if n_rows >= MANY and likelihood.provides("tilted") else "evidence"
    return hyper


class Fitted(NamedTuple):
    """One fit, its share in predictions, and the likelihood it was made with."""

    weight: float
    fit: Any
    likelihood: Likelihood


#: With more inputs than this the default kernel keeps one length-scale.
_MOST_RELEVANCES = 30
#: How many nats leave-one-out predictions must gain before the default kernel gets a length-scale for each input.
_CLEAR_GAIN = 5.0
#: Length-scales of different inputs are expected to be alike.
_ALIKE = Normal(sd=0.5)
#: How many nats for each input they must gain before that expectation is given up.
_GAIN_OF_EACH = 2.0


def learn_default(
    model: Model, hyper: Any, rng: np.random.Generator, n_restarts_optimizer: int, n_jobs: int | None
) -> tuple[Model, HyperResult]:
    """Learn, or sample, the parameters of the default kernel, and whether it gets a length-scale for each input.

    Leave-one-out predictions decide that, at the optimum of each; a sampler then samples what was decided.
    """
    search = hyper
    if not isinstance(hyper, Evidence):
        search = Evidence() if isinstance(hyper.prior, str) else Evidence(prior=hyper.prior)
    learned = search(model, rng, n_restarts_optimizer, n_jobs)
    if model.X.shape[1] not in range(2, _MOST_RELEVANCES + 1):
        relevant, found, alike = model, learned, False
    else:
        relevant, found, alike = _try_relevances(model, learned, search, rng)
    if isinstance(hyper, Evidence):
        return relevant, found
    if alike:
        hyper = replace(hyper, prior=_held_alike(hyper.prior, relevant.theta_names))
    return relevant, hyper(relevant, rng, n_restarts_optimizer, n_jobs)


def _held_alike(prior: Any, names: Sequence[str]) -> Any:
    """A prior of parameters of these names under which length-scales that were given none are expected to be alike."""
    if prior is None:
        prior = dict.fromkeys(name for name in names if "length_scale" not in name)
    if isinstance(prior, Mapping):
        return {"length_scale": _ALIKE, **prior}
    # One prior for all is one for length-scales too; the default is nobody's word.
    return _ALIKE if prior == Normal() else prior


def _try_relevances(
    model: Model, learned: HyperResult, hyper: Evidence, rng: np.random.Generator
) -> tuple[Model, HyperResult, bool]:
    """One length-scale for each input instead of one for all, where that clearly predicts better.

    Learning starts from the isotropic optimum and stays near it by a tight prior; where that pays, it goes on from
    there without that prior, and leave-one-out predictions decide again, by a margin that grows with what was set free.
    Length-scales that were given a prior keep it, and are set free at once. Also given back: whether length-scales were
    found with the tight prior.
    """
    alike = False
    few = hyper.max_rows or len(model.y)
    with quiet():
        score = model.thinned(few).loo_score(learned.theta)[0]
    kernel, likelihood = model.at(learned.theta)
    relevant = replace(model, kernel=_with_relevances(kernel, model.X.shape[1]), likelihood=likelihood)
    tight, margin_of_all = _held_alike(hyper.prior, relevant.theta_names), _GAIN_OF_EACH * model.X.shape[1]
    stages = [(tight, _CLEAR_GAIN), (hyper.prior, margin_of_all)]
    if tight == hyper.prior:
        stages = [(hyper.prior, max(_CLEAR_GAIN, margin_of_all))]
    for prior, margin in stages:
        found = replace(hyper, prior=prior)(relevant, rng)
        with quiet():
            gained = relevant.thinned(few).loo_score(found.theta)[0] - score
        if not (gained > margin and found.converged):
            break
        model, score, alike = relevant, score + gained, prior is not hyper.prior
        learned = found._replace(n_evaluations=learned.n_evaluations + found.n_evaluations)
        kernel, likelihood = relevant.at(found.theta)
        relevant = replace(relevant, kernel=kernel, likelihood=likelihood)
    return model, learned, alike


def _with_relevances(kernel: Kernel, n_features: int) -> Kernel:
    """The default kernel, or a part of it, with a length-scale for each of so many inputs."""
    if isinstance(kernel, Stationary):
        return replace(kernel, length_scale=np.full(n_features, kernel.length_scale))
    own = len(np.arange(n_features)[kernel.columns]) if isinstance(kernel, View) else n_features
    return kernel._with_children([_with_relevances(child, own) for child in kernel.children])


def why_not_mixed(samples: Samples) -> str:
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
    model: Model, learned: HyperResult, n_models: int, rng: np.random.Generator
) -> list[tuple[np.ndarray, Fitted]]:
    """Fits at representatives of the samples of theta. One that fails is left out; when all do, the cause is told."""
    assert learned.samples is not None
    if learned.fits is not None:
        return [(theta, Fitted(weight, fit, model.at(theta)[1].predictive)) for theta, weight, fit in learned.fits]
    found: list[tuple[np.ndarray, Fitted]] = []
    state, cause, n_unsettled = None, "", 0
    thetas, weights = learned.samples.representatives(n_models, rng)
    for theta, weight in track(zip(thetas, weights, strict=True), "models", len(thetas)):
        try:
            with quiet():
                fit = model.fit(theta, state)
        except LinAlgError as error:
            cause = str(error)
            continue
        state = fit.state
        n_unsettled += not fit.info.converged
        found.append((theta, Fitted(weight, fit, model.at(theta)[1].predictive)))
    if not found:
        raise LinAlgError(f"inference failed at every sample of the parameters: {cause}")
    if n_unsettled:
        warnings.warn(
            f"inference did not converge at {n_unsettled} of {len(found)} samples of the parameters; raise max_iter or "
            "loosen tol of the engine",
            ConvergenceWarning,
            stacklevel=5,
        )
    total = sum(fitted.weight for _, fitted in found)
    return [(theta, fitted._replace(weight=fitted.weight / total)) for theta, fitted in found]
