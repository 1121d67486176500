"""NearestNeighborGPClassifier: thousands to millions of rows, each predicted from its nearest ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from ..inference.neighbors.link import ClassLink
from ..numerics.devices import host_labels, host_rows, place_of
from ..training.neighbors import TrainedNeighbors
from ._base import GPEstimator, generator
from ._classifying import GPClassifierMixin
from ._inputs import Inputs
from ._labels import Labels, check_labels, class_factors
from ._neighbors import NeighborMixin
from .distributed import is_collection


class NearestNeighborGPClassifier(NeighborMixin, GPClassifierMixin, GPEstimator):
    """Gaussian-process classifier for thousands to millions of rows: each is predicted from its nearest training rows.

    A row is predicted by Gaussian-process regression of class indicators on its ``n_neighbors`` nearest training rows,
    under a metric with a learned length-scale for each input; a learned link turns the regression into probabilities.
    Time and memory grow linearly with the number of rows, except for the search of neighbours. A global model with
    inducing points, which captures large-scale trends, is averaged with it if held-out rows are predicted better.

    Parameters
    ----------
    kernel : kernel of ``gpclass.kernels`` or of scikit-learn, default=None
        None is Matern (nu = 1.5) with a length-scale for each standardised input and each category; at most 64 of them
        are also mixed linearly if that clearly improves predictions of held-out rows. RBF and Matern kernels are fast;
        others are called once for each row.
    n_neighbors : int, default=100
        Number of neighbours used for a prediction; the metric is learned with at most 40.
    index : "auto", "exact" or "approximate", default="auto"
        Search of neighbours; "auto" is approximate from 100,000 rows on if faiss is installed
        (``pip install gpclass[neighbors]``).
    hyper : "loo" or "fixed", default="loo"
        "loo" learns the kernel, the noise and the link by leave-one-out predictions of random batches of rows, until
        predictions of held-out rows stop improving; "fixed" learns nothing.
    max_iter : int, default=1000
        Maximum number of batches.
    global_model : bool, default=True
        Whether a global model may be averaged with the nearest-neighbour one.
    calibration : "loo" or None, default="loo"
        Whether to learn the fraction of labels that are independent of the inputs.
    class_weight : "balanced", dict of label to weight, or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    standardize, random_state, device, verbose
        As for ``GPClassifier``; ``random_state`` draws the batches. ``device`` runs the search of neighbours (exact
        there) and their regressions; the global model stays on the host.

    Attributes
    ----------
    classes_ : array of the labels, sorted
    kernel_, likelihood_ : kernel and link as learned
    calibration_ : Calibration, of which only ``lapse_rate`` is learned
    global_weight_ : weight of the global model in the probabilities, 0 if it is not used
    loo_proba_ : (n, n_classes)
        Probabilities of each training row's labels without its own label, by the nearest-neighbour model alone;
        computed on first access.
    components_ : learned matrix by which standardised inputs (with categories as indicators) are multiplied from the
        right, or None
    relevance_ : (n_features,) inverse squared length-scales
    hyper_ : how learning went; ``value`` is the mean log probability of held-out rows
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gpclass import NearestNeighborGPClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NearestNeighborGPClassifier(random_state=0).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.95
    True
    """

    _labels: Labels
    _loo_proba: np.ndarray | None

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_neighbors: int = 100,
        index: str = "auto",
        hyper: Any = "loo",
        max_iter: int = 1000,
        global_model: bool = True,
        calibration: str | None = "loo",
        class_weight: Any = None,
        standardize: Any = "auto",
        random_state: Any = None,
        device: str | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.index = index
        self.hyper = hyper
        self.max_iter = max_iter
        self.global_model = global_model
        self.calibration = calibration
        self.class_weight = class_weight
        self.standardize = standardize
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NearestNeighborGPClassifier:
        """Fit to rows X (n, n_features) with labels y (n,), which count ``sample_weight`` (n,) times.

        An interrupt (Ctrl-C) while the metric is learned leaves a model with the best one so far, and is then raised.

        X and y may be Dask collections: the metric is learned from a sample of 100,000 rows, the link to probabilities
        from neighbours in all chunks. Predictions come from the nearest rows of all chunks, which stay where they are.
        """
        if is_collection(X):
            from .distributed.neighbors import fit_chunks

            if sample_weight is not None or self.class_weight is not None:
                raise ValueError("expected no sample_weight and no class_weight with a Dask collection")

            def fit_sample(given: Any, labels: np.ndarray, n_left_out: int) -> None:
                self._fit(given, labels, n_left_out=n_left_out)

            return fit_chunks(self, X, y, generator(self.random_state), fit_sample)
        return self._fit(X, y, sample_weight)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None, n_left_out: int = 0
    ) -> NearestNeighborGPClassifier:
        """``fit``; from the first ``n_left_out`` rows only the categories of columns are learned."""
        with self._monitor() as monitor:
            settings = replace(self._check_settings(), stacks=bool(self.global_model), calibrates=self._calibrates)
            place, y = place_of(self.device, X), check_labels(host_labels(y, X))
            sample_weight, X = host_labels(sample_weight, X, "sample_weight"), host_rows(X)
            counts = sample_weight  # for fills, and no categories alone
            if n_left_out:
                counts = np.repeat([0.0, 1.0], [n_left_out, len(y) - n_left_out])
            inputs, rows, y = Inputs.fit(self, X, y, counts, order="C", ensure_min_samples=2)
            rows, y = rows[n_left_out:], y[n_left_out:]
            labels = Labels.of(y) if classes is None else Labels.listed(classes)
            codes, factors = labels.encode(y), None
            if self.class_weight is not None:
                factors = class_factors(self.class_weight, labels.classes, np.eye(len(labels))[codes])
            rows, codes, weights = self._counted(rows, codes, sample_weight, factors)
            if classes is None and len(np.unique(codes)) < len(labels):
                raise ValueError("expected rows with positive weight in every class, got none in some")
            shares = np.bincount(codes, weights, minlength=len(labels)) / len(codes if weights is None else weights)
            shares = shares / shares.sum()
            targets = self._targets_of(codes, shares)
            link = ClassLink.start(shares)
            inputs, trained, embedding = self._train(
                inputs, rows, codes, targets, link, settings, monitor, weights, place
            )
        self._store_model(inputs, trained, labels, embedding, factors, len(codes))
        return self

    def _counted(
        self, rows: np.ndarray, codes: np.ndarray, sample_weight: Any, factors: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Rows with positive weight, their classes and weights; the classes have ``factors`` where not None."""
        weights = self._weights(sample_weight, rows)
        if factors is not None:
            weights = factors[codes] if weights is None else weights * factors[codes]
        return self._without_zeros(rows, codes, weights)

    @staticmethod
    def _targets_of(codes: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Indicators of the classes minus their shares, (n, K)."""
        return np.eye(len(shares))[codes] - shares

    def _store_model(
        self, inputs: Inputs, trained: TrainedNeighbors, labels: Labels, embedding: Any, factors: Any, n: int
    ) -> None:
        more = {
            "classes_": labels.classes,
            "calibration_": trained.calibration,
            "global_weight_": getattr(trained.posterior, "weight", 0.0),
            "n_samples_seen_": n,
            "_labels": labels,
            "_factors": factors,
            "_shares": trained.likelihood.shares,
            "_embedding": embedding,
            "components_": trained.components,
            "_loo_proba": None,
        }
        self._store(inputs, trained, **more)

    @with_callbacks
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> NearestNeighborGPClassifier:
        """Let a batch of rows join the training rows, or begin a model with them.

        The first call is ``fit``; later ones leave metric, link, class weights and the global model alone. ``classes``
        (at the first call) lists all labels that can ever come; without it they are those of the first batch.
        """
        if not hasattr(self, "_labels"):
            return self._fit(X, y, sample_weight, classes)
        with self._monitor():
            y, sample_weight = check_labels(host_labels(y, X)), host_labels(sample_weight, X, "sample_weight")
            rows, y = self._inputs.check(self, host_rows(X), y, order="C")
            if classes is not None and not np.array_equal(Labels.listed(classes).classes, self.classes_):
                raise ValueError(f"classes= is {list(classes)!r}, but the model has {self.classes_.tolist()}")
            hint = "; list all classes in the first call: partial_fit(X, y, classes=...)"
            codes = self._labels.encode(y, hint=hint)
            rows, codes, weights = self._counted(rows, codes, sample_weight, self._factors)
            points = self._points(self._inputs.scaled(rows))
            targets = self._targets_of(codes, self._shares)
            longer = self._local.extended(points, targets, weights)
        stacked = self.posterior_ is not self._local
        self.posterior_ = replace(self.posterior_, local=longer) if stacked else longer
        self.n_samples_seen_ += len(codes)
        self._loo_proba = None
        return self

    @property
    def loo_proba_(self) -> np.ndarray:
        """Probabilities (n, n_classes) of each training row's labels without its own label."""
        check_is_fitted(self)
        if self._loo_proba is None:
            rows = np.arange(len(self._local.X))
            latent = self._local.leave_one_out(rows)
            proba = np.exp(self.calibration_.log_proba(self.likelihood_, *latent))
            self._loo_proba = proba / proba.sum(axis=1, keepdims=True)
        return self._loo_proba
