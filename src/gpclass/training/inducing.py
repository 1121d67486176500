"""Training through inducing points: theta from a sample of the rows, inference from all of them in blocks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import kmeans_plusplus

from ..hyper import HyperResult, Objective
from ..inference.active.ivm import IVM
from ..inference.inducing.features import ArrayRows, BlockSums, Features, InducingBasis
from ..inference.inducing.parallel_ep import ParallelEP, Rounds
from ..inference.inducing.sparse_ep import SparseEP
from ..inference.prior import ActivePrior, InducingPrior
from ..inference.problem import InducingProblem, Problem
from ..kernels import Kernel
from ..likelihoods import Likelihood
from .checkpoint import Checkpoint
from .learning import convergence_messages, learn
from .loo import calibrated
from .monitor import SILENT, Monitor
from .trained import LabelWeights, Settings, Trained, WeightedFit, summary

#: Learning from at most so many rows goes without inducing points.
PLAIN_ROWS = 1000


@dataclass(frozen=True)
class InducingPoints:
    """How inducing points are chosen: "ivm", "kmeans++", "random" or an array of them in the kernel's units; and the
    informative vector machine that selects them, or searches by held-out rows."""

    choice: Any
    selector: IVM

    def choose(
        self, problem: Problem, kernel: Kernel, likelihood: Likelihood, rng: np.random.Generator, monitor: Monitor
    ) -> tuple[np.ndarray, bool]:
        """The inducing points, in the kernel's units, and whether a callback asked for fewer of them."""
        if not isinstance(self.choice, str):
            return self.choice, False
        X, n = problem.X, problem.n_rows
        S = self.selector.size(n)
        if self.choice == "random":
            return X[np.sort(rng.choice(n, S, replace=False))], False
        if self.choice == "kmeans++":
            return kmeans_plusplus(X, S, random_state=int(rng.integers(2**31 - 1)))[0], False
        prior = ActivePrior(kernel, X, problem.n_latent)
        active, interrupted, stopped = self.selector.select(prior, problem.y, likelihood, monitor=monitor)
        if interrupted:
            raise KeyboardInterrupt
        return X[active.rows], stopped


def train_inducing(
    sample: Problem,
    codes: Any,
    settings: Settings,
    points: InducingPoints,
    make_basis: Callable[[Kernel, np.ndarray], InducingBasis],
    all_rows: Callable[[InducingBasis], BlockSums],
    rng: np.random.Generator,
    monitor: Monitor = SILENT,
    labels: LabelWeights | None = None,
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Learn theta from the ``sample``, choose inducing points, and fit to ``all_rows`` with their class ``codes``.

    Goes on from the ``checkpoint`` where there is one.
    """
    kept = None if checkpoint is None else checkpoint.load()
    learned, init = (_fit_to_sample(sample, settings, points, rng, monitor), None) if kept is None else kept
    engine, (objective, hyper, messages, Z, stopped) = settings.engine, learned
    kernel, likelihood = objective.at(hyper.theta)
    basis = make_basis(kernel, Z)
    features = all_rows(basis)
    if checkpoint is not None and kept is None:
        checkpoint.save((learned, init))
    if isinstance(engine, ParallelEP) and init is None:
        few = InducingPrior(Features.on(basis, ArrayRows(sample.X)), sample.n_latent)
        posterior = SparseEP()(few, sample.y, likelihood, monitor=monitor).posterior
        init = Rounds.from_sample(posterior, sample.n_rows / len(features))
    if isinstance(engine, ParallelEP) and checkpoint is not None:
        engine = replace(engine, keep=lambda rounds: checkpoint.save((learned, rounds.copy())))
    prior = InducingPrior(features, sample.n_latent)
    fit = engine(prior, codes, likelihood, init=init, monitor=monitor)
    fit = fit._replace(info=fit.info._replace(stopped=stopped or fit.info.stopped))
    messages += convergence_messages(hyper, objective.problem, engine, fit.info, settings.default_kernel)
    # For the evidence at other parameters.
    through_points = Objective(through(objective.problem, Z), points.selector, LEARNER)
    trained = Trained(
        through_points, kernel, likelihood, fit.posterior, hyper, loo=fit.loo, messages=messages, **summary([fit])
    )
    return calibrated(trained, [WeightedFit(1.0, fit, likelihood)], labels, settings)


class SampleFit(NamedTuple):
    """What is known before the first pass over all rows."""

    objective: Objective
    hyper: HyperResult
    messages: tuple[Warning, ...]
    Z: np.ndarray
    stopped: bool


def _fit_to_sample(
    sample: Problem, settings: Settings, points: InducingPoints, rng: np.random.Generator, monitor: Monitor
) -> SampleFit:
    """Theta and inducing points. From few rows theta is learned without inducing points, by the learner of
    ``points.selector``."""
    limit = _rows_learned_from(settings.search)
    if limit is not None and limit <= PLAIN_ROWS:
        start = Objective(sample, points.selector, points.selector.learner)
    else:
        Z, _ = points.choose(sample, sample.kernel, sample.likelihood, rng, monitor)
        start = Objective(through(sample, Z), points.selector, LEARNER)
    objective, hyper, messages = learn(start, settings, rng, monitor).without_state()
    kernel, likelihood = objective.at(hyper.theta)
    return SampleFit(objective, hyper, messages, *points.choose(sample, kernel, likelihood, rng, monitor))


#: Gradients of the evidence need sites that have converged.
LEARNER = SparseEP(tol=1e-5, max_iter=200)


def through(problem: Problem, Z: np.ndarray) -> InducingProblem:
    """The same problem through inducing points."""
    return InducingProblem(problem.kernel, problem.likelihood, problem.X, problem.y, problem.n_latent, Z)


def _rows_learned_from(search: Any) -> int | None:
    """How many rows a search learns from; one that leaves theta alone needs none."""
    first = search.first if search.adjusts else search
    return first.row_limit if first.learns else 0
