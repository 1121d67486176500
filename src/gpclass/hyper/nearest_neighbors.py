"""Kernel parameters of models with many rows: length-scales by nearest neighbours, the rest by held-out rows."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..inference.inducing.softmax_map import softmax_mode
from ..inference.neighbors.link import ClassLink
from ..inference.problem import Problem, held_out_rows
from ..inference.settings import check_counts
from ..kernels import Matern
from ..numerics.arrays import to_host
from ..numerics.devices import Place
from ..training.monitor import SILENT, Monitor
from .held_out import HeldOut
from .metric_learning import HELD_BACK, NeighborProblem, NeighborSettings, learn_metric
from .objective import Objective
from .results import HyperResult
from .search import ONE_START, Effort, Search

#: A softmax has the noise of a logistic distribution in differences of functions, variance pi^2 / 3; the multinomial
#: probit has variance 2.
_SOFTMAX_VARIANCE = np.pi**2 / 6.0


@dataclass(frozen=True)
class NeighborScales(Search):
    """Length-scales that predict each row best from its nearest others, as ``NearestNeighborGPClassifier`` learns them.

    All other parameters stay as they are. Works for classes and for kernels with one length-scale for each input.

    Parameters
    ----------
    n_rows : int
        Rows to learn from, evenly spaced within each class.
    max_iter : int
        Limit on steps.
    """

    n_rows: int = 20_000
    max_iter: int = 300

    def __post_init__(self) -> None:
        check_counts(self, n_rows=10, max_iter=1)

    needs_relevances: ClassVar[bool] = True

    @property
    def row_limit(self) -> int | None:
        return self.n_rows

    def check(self, objective: Objective) -> None:
        problem = objective.problem
        scales = [entry for entry in problem.kernel.theta_entries if entry.role == "length_scale"]
        if not scales or len({entry.parameter for entry in scales}) > 1 or problem.kernel.pairwise:
            raise TypeError(
                "learning by nearest neighbours needs a kernel of features with one parameter length_scale, got "
                f"{problem.kernel!r}"
            )
        if not np.issubdtype(np.asarray(problem.y).dtype, np.integer):
            raise TypeError("learning by nearest neighbours needs classes, got regression targets")

    def __call__(
        self, objective: Objective, rng: np.random.Generator, monitor: Monitor = SILENT, effort: Effort = ONE_START
    ) -> HyperResult:
        self.check(objective)
        problem = objective.problem
        few = problem.subset(problem.spread_rows(self.n_rows))
        learned = _learned_scales(few, self.max_iter, rng, monitor)
        where = [j for j, entry in enumerate(problem.kernel.theta_entries) if entry.role == "length_scale"]
        theta, log_scales = problem.theta.copy(), np.log(learned.problem.kernel.params["length_scale"])
        theta[where] = log_scales if len(where) == len(log_scales) else log_scales.mean()
        return HyperResult(
            np.clip(theta, *problem.theta_bounds.T),
            learned.value,
            learned.n_iter,
            learned.converged,
            learned.stopped,
            theta_names=tuple(problem.theta_names),
            trace=learned.trace,
        )


def _learned_scales(problem: Problem, max_iter: int, rng: np.random.Generator, monitor: Monitor) -> Any:
    y = np.asarray(problem.y)
    K = problem.likelihood.n_outcomes(problem.n_latent)
    shares = np.bincount(y, minlength=K) / len(y)
    kernel, X = Matern(np.ones(problem.X.shape[1]), nu=1.5), to_host(problem.X)
    neighbors = NeighborProblem(kernel, ClassLink.start(shares), X, y, np.eye(K)[y] - shares, place=Place.of(problem.X))
    aside = held_out_rows(y, min(len(y) // 5, HELD_BACK))
    settings = NeighborSettings(max_iter=max_iter, mixes=False)
    return learn_metric(neighbors.subset(~aside), neighbors.subset(aside), settings, rng, monitor)


@dataclass(frozen=True)
class NearestNeighbors(HeldOut):
    """Length-scales by nearest neighbours, then one factor for all of them and one for the variance by held-out rows.

    What predicts well from near rows finds the inputs that matter, with a slope for each of them and from all rows. A
    model of the whole table is smoother, so that the common scale is adjusted: a softmax model through random inducing
    points predicts rows set aside, which takes a second for each value tried.

    Parameters
    ----------
    first : object of ``gpclass.hyper`` that learns one theta
        Where the adjustment sets out from.
    n_active : int
        Inducing points of the models that are compared.
    n_held_out, n_rows, max_evaluations, tol
        As for ``HeldOut``.
    """

    first: Any = field(default_factory=NeighborScales)
    max_evaluations: int = 40
    tol: float = 0.3

    def check(self, objective: Objective) -> None:
        self.first.check(objective)

    def score(self, objective: Objective, held_out: np.ndarray, theta: np.ndarray) -> float:
        """Mean log probability of the held-out labels under a softmax model of the others."""
        problem = objective.problem
        kernel, likelihood = problem.at(theta)
        X, y, n_classes = problem.X, np.asarray(problem.y), likelihood.n_outcomes(problem.n_latent)
        rows, tested = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        Z = X[rows[:: max(1, len(rows) // self.n_active)]]
        model = softmax_mode(_SOFTMAX_VARIANCE * kernel, Z, X[rows], y[rows], n_classes)
        return float(model.predict_log(X[tested])[np.arange(len(tested)), y[tested]].mean())
