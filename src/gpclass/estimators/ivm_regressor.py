"""IVMRegressor: regression that keeps the most informative rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks

from ..inference import Exact
from ..training.active import train_active
from ..training.trained import Trained
from ._active import ActiveSetMixin, ivm_of, search_for_many_rows
from ._base import GPEstimator, generator
from ._inputs import Inputs
from ._regressing import GPRegressorMixin
from ._targets import Targets, check_targets


class IVMRegressor(ActiveSetMixin, GPRegressorMixin, GPEstimator):
    """Informative vector machine for regression: a Gaussian process that keeps the most informative rows.

    Parameters
    ----------
    kernel, n_active, criterion, block_size, hyper, warm_start, dtype
        As for ``IVMClassifier``; ``hyper`` is "evidence" by default; amplitudes are in units of the standard deviation
        of y. The entropy does not depend on y, so "entropy" spreads the rows over the inputs; "gain" depends on y too.
    n_restarts_optimizer, standardize, random_state, n_jobs, verbose : as for ``IVMClassifier``
    likelihood : as for ``GPRegressor``

    Attributes
    ----------
    active_, sites_, kernel_, likelihood_, relevance_, hyper_, info_, n_iter_ : as for ``IVMClassifier``
    log_evidence_ : float, log density of the active rows' targets, in the units of y
    noise_std_ : float, learned noise in the units of y
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_active: int | None = None,
        likelihood: Any = None,
        criterion: str = "entropy",
        block_size: int = 1,
        hyper: Any = "evidence",
        warm_start: bool = False,
        dtype: str = "float64",
        n_restarts_optimizer: int = 0,
        standardize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_active = n_active
        self.likelihood = likelihood
        self.criterion = criterion
        self.block_size = block_size
        self.hyper = hyper
        self.warm_start = warm_start
        self.dtype = dtype
        self.n_restarts_optimizer = n_restarts_optimizer
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any) -> IVMRegressor:
        """Fit to rows X (n, n_features) with targets y (n,); an interrupt keeps the rows selected so far."""
        with self._monitor() as monitor:
            rng = generator(self.random_state)
            inputs, raw, y = Inputs.fit(self, X, check_targets(y), order="C", y_numeric=True, ensure_min_samples=2)
            y = np.asarray(y, dtype=float)
            fingerprint, known = self._previous(raw, y)
            order = self._row_order(raw, y)
            raw, y = raw[order.rows], y[order.rows]
            known = None if known is None else known.renumbered(order.places)
            search = search_for_many_rows(self.hyper, len(y), self._noise(), "IVMRegressor")
            settings = self._settings(ivm_of(self, Exact()), search)
            targets = Targets.of(y)
            inputs = self._inputs if known else inputs.standardized(raw, self.kernel, self.standardize)
            problem = self._problem(inputs, raw, targets.transform(y), self._noise(), 1, numbers=order.rows)
            random_ties = self.random_state is not None
            trained = train_active(problem, settings, rng, monitor, known=known, random_ties=random_ties)
            trained = trained.renumbered(order.rows)
        assert trained.sites is not None
        self._store_active(inputs, trained, targets, len(y), len(trained.sites.rows), _fingerprint=fingerprint)
        return self

    def _store_active(
        self, inputs: Inputs, trained: Trained, targets: Targets, n_seen: int, n_used: int, **more: Any
    ) -> None:
        """Store a result for ``n_seen`` rows in all, whose evidence is that of ``n_used`` of them."""
        attributes = self._target_attributes(targets, trained, trained.objective.n_rows, n_used) | {
            "_trained": replace(trained, messages=()),  # they are for this fit alone
            "_n_used": n_used,
            "_basis": None,
            "_fingerprint": "",
            "sites_": trained.sites,
            "n_samples_seen_": n_seen,
        }
        self._store(inputs, trained, **attributes | more)

    @with_callbacks
    def partial_fit(self, X: Any, y: Any) -> IVMRegressor:
        """Absorb a batch of rows, in their order, into the model there is, or begin one.

        The model is conditioned on all rows, kept or not. The first call learns parameters and scales; later ones leave
        them alone.
        """
        with self._monitor() as monitor:
            y = check_targets(y)
            if hasattr(self, "_trained"):
                inputs, targets = self._inputs, self._targets
                raw, y = inputs.check(self, X, y, order="C", y_numeric=True)
            else:
                inputs, raw, y = Inputs.fit(self, X, y, order="C", y_numeric=True)
                targets = Targets.of(np.asarray(y, dtype=float))
            batch = self._absorbed(inputs, raw, targets.transform(y), self._noise(), Exact(), 1, monitor)
        n_new = len(batch.predictions.mean)
        n_seen, n_used = getattr(self, "n_samples_seen_", 0) + n_new, getattr(self, "_n_used", 0) + n_new
        self._store_active(batch.inputs, batch.trained, targets, n_seen, n_used, _basis=batch.basis)
        return self
