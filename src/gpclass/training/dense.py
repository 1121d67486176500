"""Training with an engine that works on the covariances of all rows."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..hyper import HyperResult, Objective
from ..inference.base import Engine
from ..inference.posteriors import Member, MixturePosterior
from ..inference.problem import Problem
from ..inference.whitened import MANY_ROWS
from ..kernels import PerClass
from ..kernels.rows import features, select
from ..numerics import linalg
from ..numerics.devices import Place
from .learning import LearnedTheta, convergence_messages, fit_samples, learn
from .loo import calibrated
from .memory import check_memory, refusing_too_much
from .monitor import SILENT, Monitor
from .trained import LabelWeights, Settings, Trained, WeightedFit, summary


@refusing_too_much
def train(
    problem: Problem,
    settings: Settings,
    rng: np.random.Generator,
    monitor: Monitor = SILENT,
    labels: LabelWeights | None = None,
    other_starts: tuple[Problem, ...] = (),
) -> Trained:
    """Learn or sample theta, fit there, and calibrate by ``labels`` where they are given."""
    learned = learn_theta(problem, settings, rng, monitor, other_starts)
    return fit_learned(learned, settings, rng, monitor, labels)


def learn_theta(
    problem: Problem,
    settings: Settings,
    rng: np.random.Generator,
    monitor: Monitor,
    other_starts: tuple[Problem, ...] = (),
) -> LearnedTheta:
    """Learn or sample theta."""
    engine = settings.engine
    _check_memory(problem, settings)
    engine.check(problem.likelihood, problem.n_latent)
    objective = Objective(problem, engine, settings.learner or engine.learner)
    with linalg.suited_threads(problem.n_rows):  # the optimiser calls BLAS too
        return learn(objective, settings, rng, monitor, other_starts)


def fit_learned(
    learned: LearnedTheta, settings: Settings, rng: np.random.Generator, monitor: Monitor, labels: LabelWeights | None
) -> Trained:
    """The model at what was learned."""
    objective, hyper, messages = learned
    engine, search = settings.engine, settings.search
    final = replace(objective, learner=final_engine(objective.problem, settings))
    # A sampler of the latent functions has made its fits already; the first of them is reported.
    # Default kernels alone: the others are fitted from scratch, whatever way the search has gone.
    start = _start(final, hyper) if settings.default_kernel and final.learner is engine else None
    fit = final.fit(hyper.theta, start, monitor=monitor).settled() if hyper.fits is None else hyper.fits[0][2]
    hyper = replace(hyper, state=None)
    kernel, likelihood = objective.at(hyper.theta)
    likelihood = likelihood.predictive
    messages += convergence_messages(hyper, objective.problem, engine, fit.info, settings.default_kernel)
    fits, posterior = [WeightedFit(1.0, fit, likelihood)], fit.posterior
    if hyper.samples is not None and search.averages:
        fits, more, stopped = fit_samples(final, hyper, search.n_averaged, rng, monitor)
        messages += more
        hyper = replace(hyper, fits=None, stopped=hyper.stopped or stopped)
        posterior = MixturePosterior(tuple(Member(one.weight, one.fit.posterior, one.likelihood) for one in fits))
    trained = Trained(
        objective,
        kernel,
        likelihood,
        posterior,
        hyper,
        loo=fits[0].fit.loo if len(fits) == 1 else None,
        messages=messages,
        **summary([fit]),
    )
    return calibrated(trained, fits, labels, settings)


def final_engine(problem: Problem, settings: Settings) -> Engine:
    """The engine of the final model: for many rows that share a kernel, one that keeps a single n x n matrix."""
    in_one = settings.engine.in_one_matrix()
    kernel = problem.kernel
    alone = problem.n_rows > MANY_ROWS and not kernel.pairwise and not isinstance(kernel, PerClass)
    return settings.engine if in_one is None or not alone else in_one


def _start(final: Objective, hyper: HyperResult) -> Any:
    """What the final fit starts from: the engine's state where theta was learned from all rows; for an engine whose
    states are latent means (VB) those of all rows given the means at some."""
    if hyper.rows is None or getattr(hyper.state, "shape", None) != (len(hyper.rows), final.problem.n_latent):
        return hyper.state
    X, kernel = final.problem.X, final.at(hyper.theta)[0]
    some = select(X, hyper.rows)
    return kernel(X, some) @ linalg.solve(linalg.cholesky(kernel(some)), hyper.state)


def _check_memory(problem: Problem, settings: Settings) -> None:
    n_rows, n_latent, n_models = problem.n_rows, problem.n_latent, settings.search.n_averaged
    place = Place.of(features(problem.X))
    per_class = isinstance(problem.kernel, PerClass)
    if final_engine(problem, settings) is not settings.engine:
        check_memory(n_rows, 1, settings.instead, place)
        n_rows = 0 if not settings.search.learns else min(n_rows, settings.search.rows_at_once or n_rows)
    # Measured at the peak of learning: factors, inverses and gradients for every latent function, and a dozen more.
    check_memory(n_rows, 7 * n_latent + 13 if per_class else 3 * n_latent + 12, settings.instead, place)
    if n_models > 1:
        shared = settings.engine.shares_factor and not per_class
        check_memory(problem.n_rows, n_models * (1 if shared else n_latent + 1), settings.instead, place)
