"""Estimators that keep a few informative rows: learn theta, choose the rows, and say what cannot be before any work."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..estimators._base import available_memory, choose
from ..hyper.held_out import HeldOut
from ..hyper.sampler import Sampler
from ..inference import IVM
from ..inference.active.active_set import ActiveSites
from ..inference.base import Fit
from ..inference.posteriors import GaussianPosterior
from ..likelihoods import Likelihood
from .learning import HYPER_OF_MANY, for_many_rows

#: The model is made again with rows that were set aside where their share is larger than this.
_WORTH_IT = 0.02


def fit_ivm(
    estimator: Any,
    X: np.ndarray,
    y: np.ndarray,
    likelihood: Likelihood,
    ivm: IVM,
    n_latent: int,
    start: ActiveSites | None = None,
    judges: np.ndarray | None = None,
) -> tuple[Fit, bool]:
    """Learn theta (unless ``start`` says that has been done), choose the active rows, and keep posterior and results;
    the fit, and whether Ctrl-C cut it short.

    ``judges`` (n,) are rows set aside: the fit's ``loo`` has beliefs about them by a model that has not heard their
    labels. Only then, unless their share is too small to matter, the rest of the active rows is chosen from all."""
    warn_if_too_many(ivm, len(y))
    hyper = one_theta(estimator, len(y), likelihood)
    rng = np.random.default_rng(check_random_state(estimator.random_state).randint(2**31 - 1))
    if start is None:
        model = estimator._model_of(X, y, likelihood, ivm, n_latent)
        selector = ivm.selector(model.kernel, likelihood, n_latent)  # whatever cannot be is said before any work
        check_room([len(y)], ivm, ivm.n_groups(model.kernel, n_latent, selector))
        model = estimator._learn_theta(model, hyper, ivm, rng)
        rows = model.X
    else:
        rows = estimator._scaled(X)
    selection_rng = None if estimator.random_state is None else rng

    def choose_rows(
        n_active: int, start: ActiveSites | None, excluded: np.ndarray | None
    ) -> tuple[ActiveSites, Fit, bool]:
        few = replace(ivm, n_active=n_active)
        kernel, likelihood = estimator.kernel_, estimator.likelihood_
        active, interrupted = few.select(kernel, rows, y, likelihood, n_latent, selection_rng, start, excluded)
        sites = active.sites()
        try:
            fit = few.finish(active, y, likelihood)
        except KeyboardInterrupt:
            active.clear()
            active.include_all(*sites)
            fit, interrupted = replace(few, refine=False).finish(active, y, likelihood), True
        return active.sites(), fit, interrupted

    S = ivm.size(len(y))
    aside = np.zeros(len(y), bool) if judges is None else judges
    late = round(S * float(np.mean(aside)))
    early = S if late < _WORTH_IT * S else S - late
    known, met = _split(start, aside, early, S)
    early = min(max(early, 0 if known is None else len(known.rows)), S - (0 if met is None else len(met.rows)))
    sites, fit, interrupted = choose_rows(early, known, aside)
    if early < S and len(sites.rows) == early and not interrupted:
        beliefs = fit.loo
        try:
            sites, fit, interrupted = choose_rows(S, sites if met is None else _joined(sites, met), None)
        except KeyboardInterrupt:  # before any row was chosen: what there was is whole
            interrupted = True
        fit = fit._replace(loo=beliefs)
    estimator._warn_about(ivm, fit)
    estimator._basis = None
    estimator.n_samples_seen_ = len(y)
    estimator.info_, estimator.n_iter_ = fit.info, fit.info.n_iter
    estimator.log_evidence_, estimator.objective_ = fit.log_evidence, fit.objective
    estimator.sites_ = sites
    estimator.posterior_ = GaussianPosterior(estimator.kernel_, rows[sites.rows], fit.weights)
    return fit, interrupted


def warn_if_too_many(ivm: IVM, n_rows: int) -> None:
    """Say so where more active rows are wanted than there are rows; called by what a ``fit`` calls."""
    if ivm.n_active is not None and ivm.n_active > n_rows:
        warnings.warn(f"n_active is {ivm.n_active}, but there are {n_rows} rows: all of them are used", stacklevel=5)


def _split(
    start: ActiveSites | None, aside: np.ndarray, early: int, most: int
) -> tuple[ActiveSites | None, ActiveSites | None]:
    """Active rows to go on from, at most so many: for the first selection, and for the second, which are those that are
    set aside and those that came after the first ``early``."""
    if start is None:
        return None, None
    start = ActiveSites(*(part[:most] for part in start))
    which = aside[start.rows] | (np.arange(len(start.rows)) >= early)
    return ActiveSites(*(part[~which] for part in start)), ActiveSites(*(part[which] for part in start))


def _joined(first: ActiveSites, second: ActiveSites) -> ActiveSites:
    return ActiveSites(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def one_theta(estimator: Any, n_rows: int, likelihood: Likelihood, held_out: bool = True) -> Any:
    """The setting ``hyper``, which must give one set of parameters; whether it may come from held-out rows."""
    hyper = choose("hyper", for_many_rows(estimator.hyper, n_rows, likelihood), HYPER_OF_MANY)
    if isinstance(hyper, Sampler) or (isinstance(hyper, HeldOut) and not held_out):
        expected = "'auto', 'evidence', 'held_out'" if held_out else "'evidence'"
        raise TypeError(
            f"{type(estimator).__name__} learns one set of kernel parameters: expected hyper={expected}, "
            f"'alternating', 'loo' or 'fixed', got {estimator.hyper!r}"
        )
    return hyper


def check_room(rows: list[int], ivm: IVM, n_groups: int) -> None:
    """Refuse, before starting, a fit whose large arrays cannot fit: one for each of some numbers of rows."""
    needed = sum(n * ivm.size(n) for n in rows) * n_groups * np.dtype(ivm.dtype).itemsize
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{ivm.size(sum(rows))} active rows of {sum(rows)} need {needed / 2**30:.1f} GiB for {n_groups} matrices "
            f"of that shape, and this machine has {available / 2**30:.1f} GiB free; choose a smaller n_active, "
            "dtype='float32', or update='vb', for which all classes share one matrix"
        )
