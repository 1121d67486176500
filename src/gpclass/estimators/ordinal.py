"""GPOrdinalClassifier: labels with an order, such as low, middle and high."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.callback import with_callbacks
from sklearn.utils.multiclass import check_classification_targets

from ..hyper import Fixed, HeldOut, Model
from ..hyper.sampler import Sampler
from ..inference import EP, IVM
from ..inference.active.active_set import ActiveSites
from ..inference.base import Engine
from ..likelihoods import Likelihood, OrderedProbit, Probit
from ..training.active import fit_ivm
from ..training.learning import Fitted
from ._base import GPEstimator, choose
from ._classifying import GPClassifierMixin
from ._labels import refuse_mixed_labels

ENGINES = {"ep": EP, "ivm": IVM}


class GPOrdinalClassifier(GPClassifierMixin, GPEstimator):
    """Gaussian-process classifier for ordered labels: one latent function, and cut points that divide its range.

    Parameters
    ----------
    kernel : kernel of ``gpclass.kernels`` or of scikit-learn, default=None
        As for ``GPClassifier``.
    order : sequence of labels, default=None
        All labels from lowest to highest; None sorts those of y.
    likelihood : OrderedProbit, default=None
        Cut points to start from; None starts from those that give every category its share of the rows.
    inference : "ep", "ivm" or an object, default="ep"
        Expectation propagation on all rows, or the informative vector machine: ``IVM(n_active=...)`` keeps the most
        informative rows, where there are thousands.
    hyper, calibration, n_restarts_optimizer, standardize, random_state, n_jobs, verbose
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
    sites_: ActiveSites | None = None

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
        self._check_calibration()
        with self._fitting():
            refuse_mixed_labels(y)
            X, y = self._validated(X, y, order="C", ensure_min_samples=2)
            labels = self._encode(y)
            likelihood = self._resolve_likelihood(len(self.classes_), labels)
            given = self.inference
            engine = given if isinstance(given, IVM) else choose("inference", given, ENGINES)
            interrupted = False
            if isinstance(engine, IVM):
                fit, interrupted = fit_ivm(self, X, labels, likelihood, engine, 1)
                fits = [Fitted(1.0, fit, self.likelihood_)]
            else:
                self.sites_ = None
                fits = self._learn(X, labels, likelihood, engine, 1)
            self._calibrate_labels(labels, fits)
        if interrupted:
            raise KeyboardInterrupt(f"the model has the {len(self.posterior_.X)} rows chosen so far")
        return self

    def _learn_theta(self, model: Model, hyper: Any, engine: Engine, rng: np.random.Generator) -> Model:
        """As the others learn, and for the default kernel and likelihood once more from a small amplitude: from a large
        one a weak signal is missed, and learning ends where every row is explained by itself."""
        learned = super()._learn_theta(model, hyper, engine, rng)
        # What HeldOut puts right was learned by this method too, from both starts.
        if self.kernel is not None or self.likelihood is not None or isinstance(hyper, (Fixed, HeldOut, Sampler)):
            return learned
        first = {name: getattr(self, name) for name in ("hyper_", "kernel_", "likelihood_", "_model")}
        small = replace(model, kernel=model.kernel.with_params(variance=1.0))
        if isinstance(model.likelihood, OrderedProbit):
            cut_points = model.likelihood.cut_points / np.sqrt(self._start_variance)
            small = replace(small, likelihood=OrderedProbit.from_cut_points(cut_points))
        again = super()._learn_theta(small, hyper, engine, rng)
        if self.hyper_.value > first["hyper_"].value:
            return again
        self.__dict__.update(first)
        return learned

    @property
    def _files_rows(self) -> bool:  # type: ignore[override]
        return self.sites_ is None

    @property
    def cut_points_(self) -> np.ndarray:
        """Where the latent function passes from one label to the next."""
        likelihood = self.likelihood_
        return np.array([-likelihood.bias]) if isinstance(likelihood, Probit) else likelihood.cut_points  # type: ignore[attr-defined]

    def _encode(self, y: Any) -> np.ndarray:
        if self.order is None:
            return super()._encode(y)
        check_classification_targets(y)
        order = np.asarray(self.order)
        if order.ndim != 1 or len(order) < 2 or len(np.unique(order)) != len(order):
            raise ValueError(
                f"order must list at least 2 labels, each once, from lowest to highest; got {self.order!r}"
            )
        places = {label: place for place, label in enumerate(order.tolist())}
        unknown = sorted({label for label in np.asarray(y).tolist() if label not in places})
        if unknown:
            if {str(label) for label in places}.isdisjoint(map(str, unknown)):
                raise ValueError(f"expected labels of order={order.tolist()}, got {unknown} too")
            # The same to the eye: what differs is the type.
            wanted, got = (type(labels[0]).__name__ for labels in (order.tolist(), unknown))
            raise ValueError(f"expected labels of order={order.tolist()} ({wanted}), got {unknown} ({got})")
        self.classes_ = order
        return np.array([places[label] for label in np.asarray(y).tolist()])

    def _resolve_likelihood(self, n_classes: int, labels: np.ndarray | None = None) -> Likelihood:
        if self.likelihood is not None:
            if not isinstance(self.likelihood, OrderedProbit):
                raise TypeError(f"likelihood must be an OrderedProbit, got {self.likelihood!r}")
            if self.likelihood.n_outcomes(1) != n_classes:
                raise ValueError(
                    f"the likelihood has {self.likelihood.n_outcomes(1)} categories, but there are {n_classes} labels"
                )
            return self.likelihood
        assert labels is not None
        if n_classes == 2:
            return Probit(fixed=("variance", "label_noise"))  # a single cut point: minus the bias
        # Latent values have about this spread a priori; every category begins with its share of it (and at least some).
        share = np.bincount(labels, minlength=n_classes) + 1.0
        below = np.cumsum(share / share.sum())[:-1]
        return OrderedProbit.from_cut_points(np.sqrt(self._start_variance) * norm.ppf(below))
