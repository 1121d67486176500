"""Active rows of several tasks: one budget for all, and the most informative row of any task comes next.

Given the kernel the tasks are independent, so the posterior is block-diagonal (LPJ05 eq 31): every task has an active
set of its own, and a row that one of them includes changes nothing in the others. Algorithm 3 therefore scores anew
only the rows of the task that has grown.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...kernels import Kernel
from ...likelihoods import Likelihood
from ...numerics import linalg
from ...training.monitor import SILENT, Monitor
from ..prior import ActivePrior
from ..problem import Problem
from .active_set import ActiveSet
from .ivm import IVM
from .selection import row_scorer


class Selection(NamedTuple):
    """The active sets of the tasks, which task each inclusion went to, and whether Ctrl-C or a callback cut the
    selection short."""

    active: list[ActiveSet]
    order: list[int]
    interrupted: bool
    stopped: bool = False


def select_across(
    ivm: IVM,
    kernel: Kernel,
    tasks: Sequence[tuple[np.ndarray, np.ndarray]],
    likelihood: Likelihood,
    n_latent: int,
    rng: np.random.Generator | None = None,
    monitor: Monitor = SILENT,
) -> Selection:
    """Choose active rows for tasks (X, y) until there are ``ivm.n_active`` in all (LPJ05 algorithm 3).

    The last places go to tasks that have got no row, if there are any; so ``n_active`` must be at least their number.
    Every task gets one, also where no row of it lowers the entropy, or a callback asks to stop before.
    """
    selector = ivm.selector(kernel, likelihood, n_latent)
    budget = ivm.size(sum(len(y) for _, y in tasks))
    active = [ivm.empty(kernel, X, n_latent, selector) for X, _ in tasks]
    # One generator for all: the marks of the criterion "random" must differ between tasks.
    draws = np.random.default_rng(0) if rng is None and selector.criterion == "random" else rng
    scorers = [row_scorer(selector, own, y, likelihood, draws) for own, (_, y) in zip(active, tasks, strict=True)]
    best = [scorer.best() for scorer in scorers]
    least = selector.least(likelihood)
    order: list[int] = []
    try:
        with linalg.one_thread, monitor.task("active rows", budget) as steps:
            while len(order) < budget:
                empty = np.array([not own.size for own in active])
                scores = np.array([found.score for found in best])
                last = steps.should_stop or budget - len(order) <= np.count_nonzero(empty)
                open_to = empty if last else empty | (scores > least)
                if not np.any(open_to):
                    break
                m = int(np.argmax(np.where(open_to, scores, -np.inf)))
                selector.include(active[m], tasks[m][1], likelihood, best[m].row)
                order.append(m)
                full = active[m].size == len(tasks[m][1])
                best[m] = best[m]._replace(score=-np.inf) if full else scorers[m].best()
                steps.step()
    except KeyboardInterrupt:
        if not all(own.size for own in active):
            raise
        for own in active:  # a row may have been half included
            whole = own.sites()
            own.clear()
            own.include_all(*whole)
        return Selection(active, _as_many(order, active), True)
    return Selection(active, order, False, steps.should_stop and len(order) < budget)


def _as_many(order: list[int], active: list[ActiveSet]) -> list[int]:
    """The order, with an inclusion that an interrupt left unrecorded."""
    counts = np.bincount(order, minlength=len(active))
    return order + [m for m, own in enumerate(active) for _ in range(own.size - counts[m])]


def select_parts(problem: Problem, ivm: IVM, theta: np.ndarray) -> list[ActiveSet]:
    """The active rows that an informative vector machine selects at theta, for each part of a problem."""
    kernel, likelihood = problem.at(theta)
    if problem.shared_budget:
        tasks = [(part.X, part.y) for part in problem.parts]
        found = select_across(ivm, kernel, tasks, likelihood, problem.n_latent)
        selected, interrupted = found.active, found.interrupted
    else:
        selected, interrupted = [], False
        for part in problem.parts:
            own_kernel, own_likelihood = part.at(theta)
            prior = ActivePrior(own_kernel, part.X, part.n_latent)
            active, interrupted, _ = ivm.select(prior, part.y, own_likelihood)
            selected.append(active)
            if interrupted:
                break
    if interrupted:
        raise KeyboardInterrupt
    return selected
