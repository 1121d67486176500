"""GPOrdinalClassifier: labels with an order, such as low, middle and high."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from ..inference import EP, IVM, ActivePrior, DensePrior
from ..inference.active.active_set import ActiveSites
from ..inference.base import Engine
from ..inference.problem import Problem
from ..likelihoods import Likelihood, OrderedProbit, Probit
from ..training.active import train_active
from ..training.dense import train
from ..training.row_order import RowOrder
from ..training.trained import LabelWeights
from ._active import ACTIVE_FLAW, search_for_many_rows
from ._base import GPEstimator, choose_engine, choose_search, generator
from ._classifying import GPClassifierMixin
from ._inputs import Inputs
from ._labels import Labels, check_labels

ENGINES = {"ep": EP, "ivm": IVM}


class GPOrdinalClassifier(GPClassifierMixin, GPEstimator):
    """Gaussian-process classifier for ordered labels: one latent function with learned cut points.

    Parameters
    ----------
    order : sequence of labels, default=None
        All labels from lowest to highest; None sorts those of y.
    likelihood : OrderedProbit, default=None
        Starting values of the cut points; None starts from those that reproduce the class frequencies.
    inference : "ep", "ivm" or an object, default="ep"
        Expectation propagation on all rows, or, for thousands of rows, the informative vector machine:
        ``IVM(n_active=...)`` keeps the most informative ones.
    kernel, hyper, calibration, n_restarts_optimizer, standardize, random_state, n_jobs, verbose
        As for ``GPClassifier`` ("ivm" learns one set of parameters, by "evidence", "held_out", "alternating", "loo" or
        "fixed").

    Attributes
    ----------
    classes_ : labels from lowest to highest
    cut_points_ : where the latent function passes from one label to the next
    kernel_, likelihood_, log_evidence_, calibration_, loo_proba_, relevance_, hyper_, info_, n_iter_, n_features_in_
        As for ``GPClassifier``.

    Examples
    --------
    >>> import numpy as np
    >>> from gpclass import GPOrdinalClassifier
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> y = np.array(["low", "mid", "high"])[X[:, 0].astype(int).clip(0, 2)]
    >>> model = GPOrdinalClassifier(order=["low", "mid", "high"]).fit(X, y)
    >>> model.predict([[0.2], [1.5], [2.8]]).tolist()
    ['low', 'mid', 'high']
    """

    _for_many_rows = ("GPOrdinalClassifier(inference='ivm')",)
    sites_: ActiveSites | None

    def __init__(
        self,
        kernel: Any = None,
        *,
        order: Any = None,
        likelihood: Any = None,
        inference: Any = "ep",
        hyper: Any = "evidence",
        calibration: str | None = "loo",
        n_restarts_optimizer: int = 0,
        standardize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.order = order
        self.likelihood = likelihood
        self.inference = inference
        self.hyper = hyper
        self.calibration = calibration
        self.n_restarts_optimizer = n_restarts_optimizer
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any) -> GPOrdinalClassifier:
        """Fit to rows X (n, n_features) with labels y (n,)."""
        with self._monitor() as monitor:
            calibrates, rng = self._calibrates, generator(self.random_state)
            engine = self._engine()
            y = check_labels(y)
            inputs, raw, y = Inputs.fit(self, X, y, order="C", ensure_min_samples=2)
            labels = Labels.of(y) if self.order is None else Labels.ordered(self.order)
            codes = labels.encode(y, source="order=")
            active = engine.prior_type is ActivePrior
            order = self._row_order(raw, codes) if active else RowOrder.unsorted(len(codes))
            raw, codes = raw[order.rows], codes[order.rows]
            inputs = inputs.standardized(raw, self.kernel, self.standardize)
            likelihood = self._ordered_likelihood(len(labels), codes)
            problem = self._problem(inputs, raw, codes, likelihood, 1, numbers=order.rows)
            weights, starts = LabelWeights.of(codes, len(labels)), self._other_starts(problem)
            if active:
                search = search_for_many_rows(
                    self.hyper, len(y), problem.likelihood, "GPOrdinalClassifier(inference='ivm')"
                )
                settings = self._settings(engine, search, calibrates)
                random_ties = self.random_state is not None
                trained = train_active(
                    problem, settings, rng, monitor, weights, random_ties=random_ties, other_starts=starts
                )
            else:
                settings = self._settings(engine, choose_search(self.hyper), calibrates)
                trained = train(problem, settings, rng, monitor, weights, starts)
            trained = trained.renumbered(order.rows)
        attributes = self._class_attributes(labels.classes, trained, codes[order.places])
        attributes |= {"_saves_rows": not active, "_loo_flaw": ACTIVE_FLAW if active else None}
        self._store(inputs, trained, sites_=trained.sites, **attributes)
        return self

    def _engine(self) -> Engine:
        given = self.inference
        active = isinstance(given, Engine) and given.prior_type is ActivePrior
        return choose_engine(given, ENGINES, "GPOrdinalClassifier", ActivePrior if active else DensePrior)

    def _other_starts(self, problem: Problem) -> tuple[Problem, ...]:
        """For the default kernel and likelihood, a start from a small amplitude: from a large one a weak signal is
        missed, and learning ends where every row is explained by itself."""
        if self.kernel is not None or self.likelihood is not None:
            return ()
        small = replace(problem, kernel=problem.kernel.with_params(variance=1.0))
        if isinstance(problem.likelihood, OrderedProbit):
            cut_points = problem.likelihood.cut_points / np.sqrt(self._start_variance)
            small = replace(small, likelihood=OrderedProbit.from_cut_points(cut_points))
        return (small,)

    @property
    def cut_points_(self) -> np.ndarray:
        """Where the latent function passes from one label to the next."""
        check_is_fitted(self)
        likelihood = self.likelihood_
        if isinstance(likelihood, OrderedProbit):
            return likelihood.cut_points
        return np.array([-likelihood.params["bias"]])  # two classes: a probit

    def _ordered_likelihood(self, n_classes: int, codes: np.ndarray) -> Likelihood:
        if self.likelihood is not None:
            if not isinstance(self.likelihood, OrderedProbit):
                raise TypeError(f"likelihood must be an OrderedProbit, got {self.likelihood!r}")
            if self.likelihood.n_outcomes(1) != n_classes:
                raise ValueError(
                    f"the likelihood has {self.likelihood.n_outcomes(1)} categories, but there are {n_classes} labels"
                )
            return self.likelihood
        if n_classes == 2:
            return Probit(fixed=("variance", "label_noise"))  # a single cut point: minus the bias
        # Latent values have about this spread a priori; every category begins with its share of it (and at least some).
        share = np.bincount(codes, minlength=n_classes) + 1.0
        below = np.cumsum(share / share.sum())[:-1]
        return OrderedProbit.from_cut_points(np.sqrt(self._start_variance) * norm.ppf(below))
