"""Selection of rows and learning of parameters in turns (LPJ05 sections 3.3-3.4, algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..inference.active.active_set import ActiveSet, ActiveSites
from ..inference.active.ivm import IVM
from ..inference.base import class_matrix
from ..inference.settings import check_counts
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..numerics import linalg
from ..training.monitor import quiet, track
from .coordinates import Coordinates, check_coordinates
from .evidence import Fixed, maximise
from .objective import Model
from .priors import LogPrior, Normal, PriorLike
from .results import HyperResult
from .target import Target

#: Rows taken up together where there are several classes.
_BLOCK = 16
#: Small parts of a model are worked out together up to so many rows.
_MERGED = 96
#: Nats between scores that are as good as equal.
_ALIKE = 0.5


class _Round(NamedTuple):
    """Where a round has ended: theta, the objective of its kernel, and whether its turns converged."""

    theta: np.ndarray
    value: float
    settled: bool


@dataclass(frozen=True)
class Alternating:
    """For the informative vector machine: choose rows, learn from their sites, choose again.

    Given the active rows and their sites the kernel's parameters maximise log N(m | 0, K_I + B^-1) (LPJ05 eq 26); then,
    with rows chosen anew, the likelihood's maximise sum_n log Z_n over all rows (eq 28). The sites are held fixed while
    the kernel is learned, so the turns are not steps up one hill: the number of rounds is given, and the parameters
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

    def check(self, engine: Any) -> None:
        if not isinstance(engine, IVM):
            raise TypeError(
                "hyper='alternating' takes turns with the selection of active rows: expected IVMClassifier, "
                f"IVMRegressor or inference='ivm', got {type(engine).__name__}; use hyper='evidence'"
            )

    def __call__(
        self, model: Model, rng: np.random.Generator, n_restarts_optimizer: int = 0, n_jobs: int | None = None
    ) -> HyperResult:
        self.check(model.engine)
        if n_restarts_optimizer:
            raise ValueError(
                f"hyper='alternating' has no restarts: expected n_restarts_optimizer=0, got {n_restarts_optimizer}"
            )
        if model.theta.size == 0:
            return Fixed()(model, rng)
        prior, split = model.log_prior(self.prior), model.kernel.theta.size
        theta, value, n_evaluations = model.theta, np.nan, 0
        rounds: list[_Round] = []
        for _ in track(range(self.n_rounds), "rounds"):
            settled = True
            if split:
                batches = _batched(model, [active.sites() for active in self._select(model, theta)])
                evidence = partial(_site_evidence, model.kernel, batches)
                target = self._target(evidence, model, prior, slice(0, split), theta)
                found = maximise(
                    target, theta[:split], self.max_iter, self.tol, self._coordinates(model, slice(0, split))
                )
                theta, value = np.concatenate([found.theta, theta[split:]]), found.value
                n_evaluations, settled = n_evaluations + found.n_evaluations, found.converged
            if split < len(theta):
                beliefs = [_beliefs(active) for active in self._select(model, theta)]
                target = self._target(partial(_partition, model, beliefs), model, prior, slice(split, None), theta)
                own = self._coordinates(model, slice(split, None))
                found = maximise(target, theta[split:], self.max_iter, self.tol, own)
                theta = np.concatenate([theta[:split], found.theta])
                n_evaluations, settled = n_evaluations + found.n_evaluations, settled and found.converged
            rounds.append(_Round(theta, value, settled))
        kept = rounds[-1]
        if self.keep == "best":
            scores = np.array([self._predicts(model, each.theta) for each in rounds])
            kept = rounds[np.flatnonzero(scores >= scores.max() - _ALIKE)[-1]]
        names, trace = tuple(model.theta_names), tuple(each.value for each in rounds)
        return HyperResult(kept.theta, kept.value, n_evaluations, kept.settled, theta_names=names, trace=trace)

    def _select(self, model: Model, theta: np.ndarray) -> list[ActiveSet]:
        """The active rows at theta, of every part of the model."""
        ivm: Any = model.engine
        # Pseudo-observations with unit noise would say little of the amplitude. With covariances for every class a
        # block of rows costs little more than one.
        few = min(self.n_active, ivm.size(len(model.y)))
        block_size = ivm.block_size if model.n_latent == 1 else max(ivm.block_size, _BLOCK)
        ivm = replace(ivm, n_active=few, update="adf", block_size=block_size)
        with quiet():
            active, interrupted = model.select(ivm, theta)
        if interrupted:
            raise KeyboardInterrupt
        return active

    def _predicts(self, model: Model, theta: np.ndarray) -> float:
        """How well the active rows at theta predict labels, each without itself: the sum of log probabilities."""
        likelihoods = [part.at(theta)[1] for part in model.parts]
        scores = [
            likelihood.loo_log_prob(part.y, *active.without_own_site()).sum()
            for likelihood, part, active in zip(likelihoods, model.parts, self._select(model, theta), strict=True)
        ]
        return float(np.nan_to_num(sum(scores), nan=-np.inf))

    def _coordinates(self, model: Model, part: slice) -> Coordinates:
        return Coordinates(self.coordinates, model.positive[part], model.theta_bounds[part])

    def _target(self, evaluate: Any, model: Model, prior: LogPrior, part: slice, theta: np.ndarray) -> Target:
        """The objective of one turn in its part of theta, the rest as it is."""

        def within(own: np.ndarray, of_theta: bool) -> tuple[float, np.ndarray]:
            whole = theta.copy()
            whole[part] = own
            log_prior, slope = prior(whole, of_theta)
            return log_prior, slope[part]

        return Target(evaluate, within, model.theta_bounds[part], of_theta=False)  # type: ignore[arg-type]


def _beliefs(active: ActiveSet) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (n, C) of all rows."""
    return active.mean, np.array(np.broadcast_to(active.variance, active.mean.shape))


class _Batch(NamedTuple):
    """Active rows X of one part of the model, or of several small ones: then ``together`` (S, S) says which pairs of
    rows belong to one part."""

    X: np.ndarray
    sites: ActiveSites
    together: np.ndarray | None


def _batched(model: Model, sites: list[ActiveSites]) -> list[_Batch]:
    """The active rows of all parts, small parts side by side: one call for ten rows costs as much as for fifty."""
    groups: list[list[int]] = []
    for m in np.argsort([len(own.rows) for own in sites]):
        if not groups or sum(len(sites[i].rows) for i in [*groups[-1], m]) > _MERGED:
            groups.append([])
        groups[-1].append(int(m))
    batches = []
    for group in groups:
        X = np.concatenate([model.parts[m].X[sites[m].rows] for m in group])
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
    model: Model, beliefs: list[tuple[np.ndarray, np.ndarray]], theta: np.ndarray, state: Any = None
) -> tuple[float, np.ndarray, None]:
    """sum_n log Z_n over all rows, and its gradient in the likelihood's theta (LPJ05 eq 28)."""
    value, gradient = 0.0, np.zeros_like(theta)
    for part, own in zip(model.parts, beliefs, strict=True):
        likelihood: Likelihood = part.likelihood.with_theta(theta)
        value += float(likelihood.tilted(part.y, *own)[0].sum())
        gradient += likelihood.tilted_gradient(part.y, *own)
    return value, gradient, None
