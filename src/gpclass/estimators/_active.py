"""What estimators with an active set share: the engine, warm starts, and updates by batches of rows."""

from dataclasses import fields, replace
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..hyper import Objective, Search
from ..inference import IVM
from ..inference.active.active_set import ActiveSites
from ..inference.active.ivm import DEFAULT_SIZES
from ..inference.active.online import Basis
from ..inference.active.selection import Selector
from ..inference.base import Engine, Info, Latent
from ..inference.posteriors import GaussianPosterior, InducingPosterior
from ..kernels import PerClass
from ..likelihoods import Likelihood
from ..training.learning import learn
from ..training.memory import check_active_memory
from ..training.monitor import Monitor
from ..training.trained import Trained
from ._base import MANY_ROWS, NEIGHBOR_ROWS, Base, choose_search, generator
from ._inputs import Inputs

#: Why leave-one-out predictions of active rows flatter the model.
ACTIVE_FLAW = "rows that were not kept are the easier ones"
#: Searches that give one set of kernel parameters.
ONE_THETA = ("auto", "evidence", "held_out", "alternating", "loo", "neighbors", "fixed")


def search_for_many_rows(
    hyper: Any,
    n_rows: int,
    likelihood: Likelihood,
    owner: str,
    allowed: tuple[str, ...] = ONE_THETA,
    by_neighbors: bool = False,
) -> Search:
    """The parameter ``hyper`` of an estimator for many rows: "auto" is "neighbors" for many of them, where that can be
    done, or "held_out"."""
    if isinstance(hyper, str) and hyper == "auto" and by_neighbors and n_rows >= NEIGHBOR_ROWS:
        hyper = "neighbors"
    elif isinstance(hyper, str) and hyper == "auto":
        # Every row is scored for every inclusion: too often for quadrature over several latent functions.
        quick = likelihood.n_latent(2) == 1 or "augment" in likelihood.supports
        hyper = "held_out" if n_rows >= MANY_ROWS and quick else "evidence"
    return choose_search(hyper, allowed, owner)


def ivm_of(estimator: Any, learn_by: Engine, **settings: Any) -> IVM:
    """The informative vector machine that an estimator's parameters describe."""
    given = {field.name: getattr(estimator, field.name) for field in fields(IVM) if hasattr(estimator, field.name)}
    return IVM(**{**given, **settings, "learn_by": learn_by})


class Batch(NamedTuple):
    """What a batch of rows has left behind: the model so far, and how each row was predicted before its target came."""

    inputs: Inputs
    trained: Trained
    basis: Basis
    predictions: Latent


class ActiveSetMixin(Base):
    """For estimators that are also ``GPEstimator``."""

    likelihood: Any
    n_active: int | None
    criterion: str
    block_size: int
    warm_start: bool
    dtype: str
    sites_: ActiveSites | None
    _trained: Trained
    _fingerprint: str
    # Gaussian sites are exact: there is one way to include a row, and nothing to refine.
    update: str = "adf"
    n_exchanges: int = 0
    refine: bool = False
    _saves_rows = False
    _loo_flaw: str | None = ACTIVE_FLAW

    @property
    def active_(self) -> np.ndarray:
        """The rows kept, in the order of their inclusion, as rows of the X of ``fit``."""
        check_is_fitted(self)
        if self.sites_ is None:
            raise AttributeError("active_ counts the rows of fit; after partial_fit the rows kept are in active_rows_")
        return self.sites_.rows

    @property
    def active_rows_(self) -> np.ndarray:
        """The rows kept, (S, n_features), in the units of X."""
        check_is_fitted(self)
        return self._inputs.unscaled(self.posterior_.X)

    def _previous(self, X: np.ndarray, y: np.ndarray) -> tuple[str, Trained | None]:
        """A fingerprint of data and model; and, with ``warm_start``, the result of the last fit if it has the same."""
        settings = (self.kernel, self.likelihood, self.hyper, self.update, self.standardize)
        digest = blake2b(repr((X.shape, settings)).encode())
        for data in (X, y):
            digest.update(np.ascontiguousarray(data).data)
        fingerprint = digest.hexdigest()
        if not self.warm_start or getattr(self, "sites_", None) is None:
            return fingerprint, None
        if self._fingerprint != fingerprint:
            raise ValueError(
                "warm_start=True continues a fit to the same data, but X, y, the kernel, the "
                "likelihood, hyper, standardize or update have changed; for new rows there is "
                "partial_fit, and warm_start=False to start again"
            )
        return fingerprint, self._trained

    # ---- batches of rows -----------------------------------------------------------------------------

    def _absorbed(
        self,
        inputs: Inputs,
        rows: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        learn_by: Engine,
        n_latent: int,
        monitor: Monitor,
        calibrates: bool = True,
    ) -> Batch:
        """The model after a batch of checked rows; at the first, its units and the kernel's parameters are learned."""
        if isinstance(self.kernel, PerClass):
            raise TypeError("partial_fit needs one kernel for all classes, got a PerClass kernel")
        trained = getattr(self, "_trained", None)
        if trained is None:
            # A column that is constant in the first batch may vary in the next.
            inputs = inputs.standardized(rows, self.kernel, self.standardize, constant_scale=1.0)
            problem = self._problem(inputs, rows, y, likelihood, n_latent)
            ivm = ivm_of(self, learn_by)
            selector = ivm.selector(problem.kernel, likelihood, n_latent)
            check_active_memory([self._budget], ivm, ivm.n_groups(problem.kernel, n_latent, selector))
            search = search_for_many_rows(self.hyper, len(y), likelihood, type(self).__name__)
            start = Objective(problem, ivm, ivm.learner)
            settings = self._settings(ivm, search, calibrates)
            objective, hyper, messages = learn(start, settings, generator(self.random_state), monitor).without_state()
            kernel, likelihood = objective.at(hyper.theta)
            trained = Trained(
                objective, kernel, likelihood, None, hyper, 0.0, None, Info(0, True), 0, messages=messages
            )
        selector = Selector(update="adf" if self.update == "auto" else self.update)
        groups = 1 if selector.update == "vb" else n_latent
        basis = getattr(self, "_basis", None)
        X = inputs.scaled(rows)
        if basis is None:
            basis = self._first_basis(trained, X.shape[1], n_latent, groups)
        else:
            basis = basis.resized(self._budget, groups)
        predictions = basis.absorb(X, y, trained.likelihood, selector, monitor)
        log_z = trained.likelihood.tilted(y[: len(predictions.mean)], *predictions)[0]
        posterior = InducingPosterior.from_moments(trained.kernel, basis.rows.copy(), basis.mean, basis.Sigma)
        trained = replace(
            trained,
            posterior=posterior,
            sites=None,
            loo_proba=None,
            log_evidence=trained.log_evidence + float(log_z.sum()),
            info=trained.info._replace(stopped=len(predictions.mean) < len(y)),
        )
        return Batch(inputs, trained, basis, predictions)

    @property
    def _budget(self) -> int:
        return DEFAULT_SIZES[0] if self.n_active is None else self.n_active

    def _first_basis(self, trained: Trained, n_features: int, n_latent: int, groups: int) -> Basis:
        """Nothing known yet, or what ``fit`` has left."""
        if trained.posterior is None:
            empty = np.zeros((0, n_features)), np.zeros((0, n_latent)), np.zeros((groups, 0, 0))
            return Basis(trained.kernel, self._budget, *empty)
        posterior = trained.posterior
        assert isinstance(posterior, GaussianPosterior)
        rows, terms = posterior.X, posterior.terms
        K = trained.kernel(rows)
        if terms.chol.ndim == 3 and groups == 1 < n_latent:
            raise ValueError(
                "update='vb' shares covariances between classes, but the model was fitted with update='adf'"
            )
        halves = [posterior.whitened_cross_cov(K, g) for g in range(groups)]
        Sigma = np.stack([K - half.T @ half for half in halves])
        return Basis(trained.kernel, self._budget, rows, K @ terms.alpha, Sigma)
