"""GPClassifier: joint multi-class Gaussian-process classification."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from ._estimator import GPEstimator, choose, untouched_on_failure
from .inference import VB
from .likelihoods import Likelihood, Logit, MultinomialProbit, Probit, Softmax

ENGINES = {"vb": VB}
LIKELIHOODS = {
    "probit": Probit,
    "logit": Logit,
    "multinomial_probit": MultinomialProbit,
    "softmax": Softmax,
}


class GPClassifier(ClassifierMixin, GPEstimator):
    """Gaussian-process classifier with one joint model for all classes.

    Parameters
    ----------
    kernel : kernel of ``gpclass.kernels`` or of scikit-learn, default=None
        Covariance of the latent functions and the starting values of its parameters. None is amplitude * RBF on
        standardised inputs.
    likelihood : Likelihood or str, default=None
        None is ``Probit`` for two classes and ``MultinomialProbit`` for more.
    inference : engine or str, default="vb"
        "vb" is the variational Bayes of GR06.
    hyper : "evidence", "fixed" or an object of ``gpclass.hyper``, default="evidence"
        Learn kernel parameters from the training data, or leave them alone.
    n_restarts : int, default=0
        Further starting points for learning, drawn at random.
    standardize : "auto" or bool, default="auto"
        Whether inputs are scaled to mean 0 and variance 1 first; "auto" does so exactly when no kernel was given.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Processes for restarts.

    Attributes
    ----------
    classes_ : array of the labels, sorted
    kernel_, likelihood_ : as learned
    log_evidence_ : float
        The engine's log evidence; for "vb" the variational bound, never above the truth.
    objective_ : float
        What learning maximised (without the prior); for "vb" the Laplace evidence at the same mode.
    relevance_ : (n_features,) inverse squared length-scales
    hyper_, info_ : how learning and inference went (evaluations, convergence, bound after each iteration)
    n_iter_ : int, iterations of the engine
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gpclass import GPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> GPClassifier().fit(X, y).predict_proba(X[:2]).round(2)
    array([[0.99, 0.01, 0.  ],
           [0.98, 0.02, 0.  ]])
    """

    # Latent values of well-separated classes are far apart in units of the probit noise: on the data sets of GR06's
    # table 1 the evidence is largest at amplitudes between ten and a few thousand.
    _start_variance = 100.0

    def __init__(
        self,
        kernel: Any = None,
        *,
        likelihood: Any = None,
        inference: Any = "vb",
        hyper: Any = "evidence",
        n_restarts: int = 0,
        standardize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.inference = inference
        self.hyper = hyper
        self.n_restarts = n_restarts
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> GPClassifier:
        """Fit to rows X (n, n_features) with labels y (n,): strings, numbers or any sortable objects."""
        with untouched_on_failure(self):
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
            labels = self._encode(y)
            likelihood = self._resolve_likelihood(len(self.classes_))
            engine = choose("inference", self.inference, ENGINES)
            self._learn(X, labels, likelihood, engine, likelihood.n_latent(len(self.classes_)))
        return self

    def _encode(self, y: Any) -> np.ndarray:
        y = column_or_1d(y, warn=True)
        if y.dtype == object:
            missing = [i for i, label in enumerate(y) if label is None or label != label]
            if missing:
                raise ValueError(f"expected a label in every row, got {y[missing[0]]!r} in row {missing[0]}")
            kinds = sorted({type(label).__name__ for label in y})
            try:
                np.unique(y)
            except TypeError:
                raise ValueError(f"expected labels of one type, got a mixture of {' and '.join(kinds)}") from None
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            only = self.classes_.tolist()[0]
            raise ValueError(f"expected labels of at least 2 classes, got 1 class: all {len(y)} labels are {only!r}")
        return labels

    def _resolve_likelihood(self, n_classes: int) -> Likelihood:
        if self.likelihood is None:
            return Probit() if n_classes == 2 else MultinomialProbit()
        if isinstance(self.likelihood, str):
            if self.likelihood not in LIKELIHOODS:
                raise ValueError(
                    f"likelihood must be one of {sorted(LIKELIHOODS)} or an object, got {self.likelihood!r}"
                )
            likelihood = LIKELIHOODS[self.likelihood]()
        else:
            likelihood = self.likelihood
        if not isinstance(likelihood, Likelihood):
            raise TypeError(f"likelihood must be a gpclass likelihood, got {likelihood!r}")
        if likelihood.n_latent(n_classes) == 1 and likelihood.n_outcomes(1) != n_classes:
            raise ValueError(f"{type(likelihood).__name__} is for {likelihood.n_outcomes(1)} classes, got {n_classes}")
        return likelihood

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log probabilities (m, n_classes), accurate far in the tails; columns as in ``classes_``."""
        X = self._checked(X)
        return self.likelihood_.predict_log(*self.posterior_.latent(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (m, n_classes), with the latent uncertainty integrated out; columns as in ``classes_``."""
        X = self._checked(X)
        return self.likelihood_.predict(*self.posterior_.latent(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]
