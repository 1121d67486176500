"""Selection of rows and learning of parameters in turns (LPJ05 sections 3.3-3.4, algorithm 2)."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..inference.active.active_set import ActiveSet, ActiveSites
from ..inference.active.ivm import IVM
from ..inference.active.tasks import select_parts
from ..inference.base import class_matrix
from ..inference.problem import Problem
from ..inference.settings import check_counts
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..numerics import linalg
from ..training.monitor import SILENT, Monitor
from .coordinates import Coordinates, check_coordinates
from .evidence import Fixed, maximise
from .objective import Objective
from .priors import LogPrior, Normal, PriorLike
from .results import HyperResult
from .search import ONE_START, Effort, Search
from .target import Evaluate, Target

#: Rows taken up together where there are several classes.
_BLOCK = 16
#: Small parts of a model are worked out together up to so many rows.
_MERGED = 96
#: Nats between scores that are as good as equal.
_EQUAL = 0.5


class _Round(NamedTuple):
    """Where a round has ended: theta, the objective of its kernel, and whether its turns converged."""

    theta: np.ndarray
    value: float
    converged: bool


@dataclass(frozen=True)
class Alternating(Search):
    """For the informative vector machine: choose rows, learn from their sites, choose again.

    Given the active rows and their sites the kernel's parameters maximise log N(m | 0, K_I + B^-1) (LPJ05 eq 26); then,
    with rows chosen anew, the likelihood's maximise sum_n log Z_n over all rows (eq 28). The sites are held fixed while
    the kernel is learned, so the turns do not maximise one objective: the number of rounds is given, and the parameters
    after the last are kept, or those of a better one (``keep``).

    Parameters
    ----------
    n_rounds : int
        How often.
    n_active : int
        Learn from at most so many active rows, however many the model is to keep in the end.
    prior : Prior, dictionary of parameter name to Prior, or None
        See ``gpclass.hyper.priors``; the default is weak, as for ``Evidence``.
    max_iter : int
        Limit on L-BFGS-B iterations in each turn.
    tol : float
        Stop a turn when a step changes the objective by less than this, relative to its size or its first slope.
    coordinates : "log", "softplus" or "sigmoid"
        What the search moves in, as for ``Evidence``; LPJ05 use "softplus".
    keep : "last" or "best"
        Whose parameters are kept: the last round's, as published, or those of the latest round whose active rows
        predict the labels, each without itself, within half a nat of the best round.
    """

    n_rounds: int = 4
    n_active: int = 500
    prior: PriorLike = field(default_factory=Normal)
    max_iter: int = 50
    tol: float = 1e-6
    coordinates: str = "log"
    keep: str = "last"

    def __post_init__(self) -> None:
        check_counts(self, n_rounds=1, n_active=1, max_iter=1)
        check_coordinates(self.coordinates)
        if self.keep not in ("last", "best"):
            raise ValueError(f"keep must be 'last' or 'best', got {self.keep!r}")

    def check(self, objective: Objective) -> None:
        if not isinstance(objective.engine, IVM):
            name = type(objective.engine).__name__
            raise TypeError(
                f"hyper='alternating' alternates with the selection of active rows, which {name} does not do: use "
                "hyper='evidence', or IVMClassifier, IVMRegressor or GPOrdinalClassifier(inference='ivm')"
            )

    def __call__(
        self, objective: Objective, rng: np.random.Generator, monitor: Monitor = SILENT, effort: Effort = ONE_START
    ) -> HyperResult:
        self.check(objective)
        if effort.n_restarts_optimizer:
            given = effort.n_restarts_optimizer
            raise ValueError(f"hyper='alternating' has no restarts: expected n_restarts_optimizer=0, got {given}")
        if objective.theta.size == 0:
            return Fixed()(objective, rng)
        problem = objective.problem
        prior, split = objective.log_prior(self.prior), problem.kernel.theta.size
        theta, value, n_evaluations = objective.theta, np.nan, 0
        rounds: list[_Round] = []
        stopped = False
        with monitor.task("rounds") as steps:
            for _ in steps.each(range(self.n_rounds)):
                converged = True
                if split:
                    batches = _batched(problem, [active.sites() for active in self._select(objective, theta)])
                    evidence = partial(_site_evidence, problem.kernel, batches)
                    found = self._turn(evidence, objective, prior, slice(0, split), theta, steps)
                    theta, value = np.concatenate([found.theta, theta[split:]]), found.value
                    n_evaluations, converged = n_evaluations + found.n_evaluations, found.converged
                    stopped |= found.stopped
                if split < len(theta):
                    moments = [_moments(active) for active in self._select(objective, theta)]
                    partition = partial(_partition, problem, moments)
                    found = self._turn(partition, objective, prior, slice(split, None), theta, steps)
                    theta = np.concatenate([theta[:split], found.theta])
                    n_evaluations, converged = n_evaluations + found.n_evaluations, converged and found.converged
                    stopped |= found.stopped
                rounds.append(_Round(theta, value, converged))
        kept = rounds[-1]
        if self.keep == "best":
            scores = np.array([self._score(objective, each.theta) for each in rounds])
            kept = rounds[np.flatnonzero(scores >= scores.max() - _EQUAL)[-1]]
        return HyperResult(
            kept.theta,
            kept.value,
            n_evaluations,
            kept.converged,
            stopped or len(rounds) < self.n_rounds,
            theta_names=objective.theta_names,
            trace=tuple(each.value for each in rounds),
        )

    def _select(self, objective: Objective, theta: np.ndarray) -> list[ActiveSet]:
        """The active rows at theta, of every part of the problem."""
        ivm: Any = objective.engine
        # Pseudo-observations with unit noise would hardly determine the amplitude. With covariances for every class a
        # block of rows costs little more than one.
        few = min(self.n_active, ivm.size(objective.n_rows))
        block_size = ivm.block_size if objective.problem.n_latent == 1 else max(ivm.block_size, _BLOCK)
        return select_parts(objective.problem, replace(ivm, n_active=few, update="adf", block_size=block_size), theta)

    def _score(self, objective: Objective, theta: np.ndarray) -> float:
        """How well the active rows at theta predict labels, each without itself: the sum of log probabilities."""
        parts = objective.problem.parts
        scores = [
            part.at(theta)[1].loo_log_prob(part.y, *active.without_own_site()).sum()
            for part, active in zip(parts, self._select(objective, theta), strict=True)
        ]
        return float(np.nan_to_num(sum(scores), nan=-np.inf))

    def _turn(
        self,
        evaluate: Evaluate,
        objective: Objective,
        prior: LogPrior,
        part: slice,
        theta: np.ndarray,
        monitor: Monitor,
    ) -> HyperResult:
        """Maximise over one part of theta, the rest as it is."""

        def within(own: np.ndarray, of_theta: bool) -> tuple[float, np.ndarray]:
            whole = theta.copy()
            whole[part] = own
            log_prior, slope = prior(whole, of_theta)
            return log_prior, slope[part]

        bounds = objective.theta_bounds[part]
        target = Target(evaluate, within, bounds, of_theta=False)
        coordinates = Coordinates(self.coordinates, objective.problem.positive[part], bounds)
        with monitor.task("search") as search:
            return maximise(target, theta[part], self.max_iter, self.tol, coordinates, search)


def _moments(active: ActiveSet) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (n, C) of all rows."""
    return active.mean, np.array(np.broadcast_to(active.variance, active.mean.shape))


class _Batch(NamedTuple):
    """Active rows X of one part of the model, or of several small ones: then ``together`` (S, S) says which pairs of
    rows belong to one part."""

    X: np.ndarray
    sites: ActiveSites
    together: np.ndarray | None


def _batched(problem: Problem, sites: list[ActiveSites]) -> list[_Batch]:
    """The active rows of all parts, small parts side by side: one call for ten rows costs as much as for fifty."""
    groups: list[list[int]] = []
    for m in np.argsort([len(own.rows) for own in sites]):
        if not groups or sum(len(sites[i].rows) for i in [*groups[-1], m]) > _MERGED:
            groups.append([])
        groups[-1].append(int(m))
    batches = []
    for group in groups:
        X = np.concatenate([problem.parts[m].X[sites[m].rows] for m in group])
        part = np.repeat(group, [len(sites[m].rows) for m in group])
        joined = ActiveSites(*(np.concatenate(field) for field in zip(*(sites[m] for m in group), strict=True)))
        batches.append(_Batch(X, joined, None if len(group) == 1 else np.equal.outer(part, part)))
    return batches


def _site_evidence(
    kernel: Kernel, batches: list[_Batch], theta: np.ndarray, state: Any = None
) -> tuple[float, np.ndarray, None]:
    """The sum over the parts of a model, which share the kernel."""
    kernel = kernel.with_theta(theta)
    value, slope = 0.0, np.zeros_like(theta)
    with linalg.suited_threads(max(len(batch.X) for batch in batches)):
        for batch in batches:
            more = _evidence_of_batch(kernel, batch)
            value, slope = value + more[0], slope + more[1]
    return value, slope, None


def _evidence_of_batch(kernel: Kernel, batch: _Batch) -> tuple[float, np.ndarray]:
    """sum_c log N(m_c | 0, K_I + B_c^-1) - log N(m_c | 0, B_c^-1), and its slope in the kernel's theta (LPJ05 eq 26).

    The second term depends on the sites alone. Without it a site of next to no precision, whose mean is huge, would
    swamp all others; with h = B m the difference is h' (K^-1 + B)^-1 h / 2 - log |I + B^1/2 K B^1/2| / 2. Parts that
    are independent are one with a block-diagonal K.
    """
    sites, together = batch.sites, batch.together
    K, pullback = kernel.vjp(batch.X)
    if together is not None:
        K = K * together
    S, G = len(batch.X), sites.precision.shape[1]
    value, slopes = 0.0, np.zeros_like(K)
    for g in range(G):
        classes = slice(None) if G == 1 else slice(g, g + 1)
        own, root = class_matrix(K, g), np.sqrt(sites.precision[:, g])[:, None]
        h = root**2 * sites.mean[:, classes]
        L = linalg.cholesky(np.eye(S) + root * own * root.T)
        prior_mean = own @ h
        alpha = h - root * linalg.solve(L, root * prior_mean)  # (K + B^-1)^-1 m
        value += 0.5 * (np.vdot(prior_mean, alpha) - h.shape[1] * linalg.log_det(L))
        slope = 0.5 * (alpha @ alpha.T - h.shape[1] * root * linalg.inverse(L) * root.T)
        if K.ndim == 3:
            slopes[g] += slope
        else:
            slopes += slope
    return float(value), pullback(slopes if together is None else slopes * together)


def _partition(
    problem: Problem, moments: list[tuple[np.ndarray, np.ndarray]], theta: np.ndarray, state: Any = None
) -> tuple[float, np.ndarray, None]:
    """sum_n log Z_n over all rows, and its gradient in the likelihood's theta (LPJ05 eq 28)."""
    value, gradient = 0.0, np.zeros_like(theta)
    for part, own in zip(problem.parts, moments, strict=True):
        likelihood: Likelihood = part.likelihood.with_theta(theta)
        value += float(likelihood.tilted(part.y, *own)[0].sum())
        gradient += likelihood.tilted_gradient(part.y, *own)
    return value, gradient, None
