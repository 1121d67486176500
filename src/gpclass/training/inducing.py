"""Training through inducing points: theta from a sample of the rows, inference from all of them in blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus

from ..hyper import Objective
from ..inference.active.ivm import IVM
from ..inference.inducing.features import BlockedRows, Features
from ..inference.inducing.sparse_ep import SparseEP
from ..inference.prior import ActivePrior, InducingPrior
from ..inference.problem import InducingProblem, Problem
from ..kernels import Kernel
from ..likelihoods import Likelihood
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
    rows: BlockedRows,
    codes: np.ndarray,
    settings: Settings,
    points: InducingPoints,
    make_features: Callable[[Kernel, np.ndarray, BlockedRows], Features],
    rng: np.random.Generator,
    monitor: Monitor = SILENT,
    labels: LabelWeights | None = None,
) -> Trained:
    """Learn theta from the ``sample``, choose inducing points, and fit to all ``rows`` with their class ``codes``.

    From few rows theta is learned without inducing points, by the learner of ``points.selector``.
    """
    engine, limit = settings.engine, _rows_learned_from(settings.search)
    if limit is not None and limit <= PLAIN_ROWS:
        start = Objective(sample, points.selector, points.selector.learner)
    else:
        Z, _ = points.choose(sample, sample.kernel, sample.likelihood, rng, monitor)
        start = Objective(through(sample, Z), points.selector, LEARNER)
    objective, hyper, messages = learn(start, settings, rng, monitor).without_state()
    kernel, likelihood = objective.at(hyper.theta)
    Z, stopped = points.choose(sample, kernel, likelihood, rng, monitor)
    features = make_features(kernel, Z, rows)
    fit = engine(InducingPrior(features, sample.n_latent), codes, likelihood, monitor=monitor)
    fit = fit._replace(info=fit.info._replace(stopped=stopped or fit.info.stopped))
    messages += convergence_messages(hyper, objective.problem, engine, fit.info, settings.default_kernel)
    # For the evidence at other parameters.
    through_points = Objective(through(objective.problem, Z), points.selector, LEARNER)
    trained = Trained(
        through_points, kernel, likelihood, fit.posterior, hyper, loo=fit.loo, messages=messages, **summary([fit])
    )
    return calibrated(trained, [WeightedFit(1.0, fit, likelihood)], labels, settings)


#: Gradients of the evidence need sites that have converged.
LEARNER = SparseEP(tol=1e-5, max_iter=200)


def through(problem: Problem, Z: np.ndarray) -> InducingProblem:
    """The same problem through inducing points."""
    return InducingProblem(problem.kernel, problem.likelihood, problem.X, problem.y, problem.n_latent, Z)


def _rows_learned_from(search: Any) -> int | None:
    """How many rows a search learns from; one that leaves theta alone needs none."""
    first = search.first if search.adjusts else search
    return first.row_limit if first.learns else 0
