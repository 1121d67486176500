"""Training of models that keep an active set of rows: one machine, tasks that share a kernel, one versus rest."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from ..hyper import Objective
from ..inference.active.active_set import ActiveSites
from ..inference.active.ivm import IVM
from ..inference.active.tasks import Selection, select_across
from ..inference.base import Fit, Latent
from ..inference.posteriors import SeparatePosterior
from ..inference.prior import ActivePrior
from ..inference.problem import Problem, TaskProblem
from ..likelihoods import Likelihood
from ..numerics import linalg
from .learning import LearnedTheta, convergence_messages, learn
from .loo import calibrated
from .memory import check_active_memory
from .monitor import SILENT, Monitor
from .trained import LabelWeights, Settings, Trained, WeightedFit, summary

#: Rows that were held out for calibration may become active afterwards, where their share is larger than this.
_WORTHWHILE = 0.02


def train_active(
    problem: Problem,
    settings: Settings,
    rng: np.random.Generator,
    monitor: Monitor = SILENT,
    labels: LabelWeights | None = None,
    *,
    held_out: np.ndarray | None = None,
    known: Trained | None = None,
    random_ties: bool = False,
    other_starts: tuple[Problem, ...] = (),
) -> Trained:
    """Learn theta, select the active rows, and calibrate by ``labels`` where they are given.

    ``known`` is an earlier result for the same problem: its theta is kept, and selection goes on from its active rows.
    ``held_out`` (n,) rows are predicted by a model that has not used their labels. Only then, unless their share is too
    small to matter, the rest of the active rows is selected from all. ``random_ties`` breaks ties by ``rng`` instead of
    in favour of the first row, and estimators put typical rows first (``row_order``).
    """
    ivm = _ivm(settings)
    learned = _learned(problem, settings, rng, monitor, known, other_starts, [problem.n_rows])
    kernel, likelihood = learned.objective.at(learned.hyper.theta)
    X, y, n_latent = learned.objective.problem.X, problem.y, problem.n_latent
    tie_rng = rng if random_ties else None

    def fit(n_active: int, start: ActiveSites | None, excluded: np.ndarray | None) -> Fit:
        prior = ActivePrior(kernel, X, n_latent, excluded)
        return replace(ivm, n_active=n_active)(prior, y, likelihood, start, monitor=monitor, rng=tie_rng)

    S = ivm.size(problem.n_rows)
    held_out = np.zeros(problem.n_rows, bool) if held_out is None else held_out
    late = round(S * float(np.mean(held_out)))
    early = S if late < _WORTHWHILE * S else S - late
    before, after = _split(None if known is None else known.sites, held_out, early, S)
    early = min(max(early, 0 if before is None else len(before.rows)), S - (0 if after is None else len(after.rows)))
    found = fit(early, before, held_out)
    if early < S and len(found.state.rows) == early and not found.info.interrupted:
        first = found
        try:
            found = fit(S, first.state if after is None else _joined(first.state, after), None)
        except KeyboardInterrupt:  # before any row was selected: what there was is complete
            found = first._replace(info=first.info._replace(interrupted=True))
        info = found.info._replace(stopped=first.info.stopped or found.info.stopped)
        found = found._replace(left_out=first.loo, info=info)
    more = {"sites": found.state, "interrupted": found.info.interrupted}
    return _finished(Trained, learned, settings, [found], labels, likelihood, found.posterior, found.loo, **more)


@dataclass(frozen=True)
class TrainedTasks(Trained):
    """Tasks that share theta; ``posterior`` is a tuple with one for each. ``active`` are rows of the problem in the
    order of their selection, ``order`` their tasks."""

    active: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    order: np.ndarray = field(default_factory=lambda: np.zeros(0, int))

    def renumbered(self, rows: np.ndarray) -> Self:
        return replace(super().renumbered(rows), active=rows[self.active])


def train_tasks(
    problem: TaskProblem,
    settings: Settings,
    rng: np.random.Generator,
    monitor: Monitor = SILENT,
    labels: LabelWeights | None = None,
    *,
    known: Trained | None = None,
    random_ties: bool = False,
) -> TrainedTasks:
    """As ``train_active`` for several tasks: the active rows are selected across tasks (LPJ05 algorithm 3)."""
    ivm = _ivm(settings)
    learned = _learned(problem, settings, rng, monitor, known, (), [len(own) for own in problem.groups])
    kernel, likelihood = learned.objective.at(learned.hyper.theta)
    tasks = [(part.X, part.y) for part in learned.objective.problem.parts]
    found = select_across(ivm, kernel, tasks, likelihood, problem.n_latent, rng if random_ties else None, monitor)
    fits, interrupted = _refined_tasks(found, ivm, tasks, likelihood, problem.n_rows)
    fits = [fit._replace(info=fit.info._replace(stopped=found.stopped)) for fit in fits]
    mean, variance = np.empty((2, problem.n_rows, problem.n_latent))
    for own, fit in zip(problem.groups, fits, strict=True):
        assert fit.loo is not None
        mean[own], variance[own] = fit.loo
    places = [iter(own[active.rows]) for own, active in zip(problem.groups, found.active, strict=True)]
    more = {
        "interrupted": interrupted,
        "active": np.array([next(places[m]) for m in found.order]),
        "order": np.array(found.order),
        "info": tuple(fit.info for fit in fits),
    }
    posterior = tuple(fit.posterior for fit in fits)
    loo = Latent(mean, variance)
    return _finished(TrainedTasks, learned, settings, fits, labels, likelihood, posterior, loo, **more)


def _refined_tasks(
    found: Selection, ivm: IVM, tasks: list[Any], likelihood: Likelihood, n_rows: int
) -> tuple[list[Fit], bool]:
    """The fits of all tasks, refined side by side; after an interrupt the rows selected stay, with their sites."""
    sites = [active.sites() for active in found.active]

    def finish(ivm: IVM) -> list[Fit]:
        return linalg.for_each_class(lambda m: ivm.finish(found.active[m], tasks[m][1], likelihood), len(tasks), n_rows)

    try:
        return finish(ivm), found.interrupted
    except KeyboardInterrupt:
        for active, before in zip(found.active, sites, strict=True):
            active.clear()
            active.include_all(*before)
        return finish(replace(ivm, refine=False)), True


@dataclass(frozen=True)
class TrainedParts(Trained):
    """One machine for each part of a problem: their likelihoods, and the active rows of each."""

    likelihoods: tuple[Any, ...] = ()
    active: tuple[np.ndarray, ...] = ()

    def renumbered(self, rows: np.ndarray) -> Self:
        return replace(super().renumbered(rows), active=tuple(rows[own] for own in self.active))


def train_parts(
    problem: Problem,
    settings: Settings,
    rng: np.random.Generator,
    monitor: Monitor = SILENT,
    *,
    link: Any,
    labels: LabelWeights,
    random_ties: bool = False,
) -> TrainedParts:
    """One machine for each part of the problem, with one kernel learned from all of them.

    ``link(likelihoods)`` is the likelihood that predictions are made with: of the one part, or of all of them jointly.
    """
    ivm = _ivm(settings)
    learned = _learned(problem, settings, rng, monitor, None, (), [problem.n_rows] * len(problem.parts))
    fits: list[Fit] = []
    likelihoods = []
    interrupted = False
    for part in learned.objective.problem.parts:
        if interrupted:
            raise KeyboardInterrupt  # some parts are missing, and so is a model
        kernel, likelihood = part.at(learned.hyper.theta)
        prior = ActivePrior(kernel, part.X, 1)
        fits.append(ivm(prior, part.y, likelihood, monitor=monitor, rng=rng if random_ties else None))
        interrupted = fits[-1].info.interrupted
        likelihoods.append(likelihood)
    mean, variance = (np.hstack([fit.loo[i] for fit in fits if fit.loo is not None]) for i in range(2))
    posterior = fits[0].posterior
    if len(fits) > 1:
        biases = np.array([likelihood.params["bias"] for likelihood in likelihoods])
        mean, posterior = mean + biases, SeparatePosterior(tuple(fit.posterior for fit in fits), biases)
    more = {
        "interrupted": interrupted,
        "likelihoods": tuple(likelihoods),
        "active": tuple(fit.state.rows for fit in fits),
    }
    loo = Latent(mean, variance)
    return _finished(TrainedParts, learned, settings, fits, labels, link(likelihoods), posterior, loo, **more)


def _ivm(settings: Settings) -> IVM:
    assert isinstance(settings.engine, IVM)
    return settings.engine


def _learned(
    problem: Problem,
    settings: Settings,
    rng: np.random.Generator,
    monitor: Monitor,
    known: Trained | None,
    other_starts: tuple[Problem, ...],
    sizes: list[int],
) -> LearnedTheta:
    """Theta, learned unless it is known; what cannot work is refused before."""
    if known is not None:
        same = replace(known.objective.problem, X=problem.X, y=problem.y)  # a saved model has no rows
        return LearnedTheta(replace(known.objective, problem=same), known.hyper)
    ivm = _ivm(settings)
    selector = ivm.selector(problem.kernel, problem.likelihood, problem.n_latent)
    check_active_memory(sizes, ivm, ivm.n_groups(problem.kernel, problem.n_latent, selector))
    return learn(Objective(problem, ivm, ivm.learner), settings, rng, monitor, other_starts).without_state()


def _finished(
    kind: Any,
    learned: LearnedTheta,
    settings: Settings,
    fits: list[Fit],
    labels: LabelWeights | None,
    likelihood: Likelihood,
    posterior: Any,
    loo: Latent | None,
    **more: Any,
) -> Any:
    """The trained model of this kind, with its messages, calibrated where ``labels`` are given."""
    (objective, hyper, messages), ivm = learned, _ivm(settings)
    n_rows = objective.n_rows
    if ivm.n_active is not None and ivm.n_active > n_rows:
        text = f"n_active is {ivm.n_active}, but there are {n_rows} rows: all of them are used"
        messages = (UserWarning(text), *messages)
    unsettled = next((fit for fit in fits if not fit.info.converged), fits[0])
    messages += convergence_messages(hyper, objective.problem, ivm, unsettled.info, settings.default_kernel)
    more = {**summary(fits), "loo": loo, "messages": messages, **more}
    trained = kind(objective, objective.at(hyper.theta)[0], likelihood, posterior, hyper, **more)
    return calibrated(trained, [WeightedFit(1.0, fits[0]._replace(left_out=loo), likelihood)], labels, settings)


def _split(
    start: ActiveSites | None, held_out: np.ndarray, early: int, most: int
) -> tuple[ActiveSites | None, ActiveSites | None]:
    """Active rows to go on from, at most so many: for the first selection, and for the second, which are those that are
    held out and those that came after the first ``early``."""
    if start is None:
        return None, None
    start = ActiveSites(*(part[:most] for part in start))
    which = held_out[start.rows] | (np.arange(len(start.rows)) >= early)
    return ActiveSites(*(part[~which] for part in start)), ActiveSites(*(part[which] for part in start))


def _joined(first: ActiveSites, second: ActiveSites) -> ActiveSites:
    return ActiveSites(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))
