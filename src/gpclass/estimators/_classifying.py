"""What classifiers share: likelihoods, default engines, and the probabilities of new rows."""

from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from ..evaluation.prediction_sets import PredictionSets
from ..inference import EP, VB, Laplace
from ..inference.base import Engine
from ..inference.calibration import Calibration
from ..kernels import Kernel
from ..likelihoods import Gaussian, Likelihood, Logit, MultinomialProbit, Probit, Softmax, check_log_concave
from ..numerics.devices import beside, host_labels, host_rows
from ..training.trained import Trained
from ._base import SHAPES, Base
from .distributed import lazily

LIKELIHOODS = {"probit": Probit, "logit": Logit, "multinomial_probit": MultinomialProbit, "softmax": Softmax}


def best_engine(likelihood: Likelihood, weighted: bool = False) -> Engine:
    """The engine with the best log probability per second that the likelihood allows.

    Measured on nine small data sets and digits (docs/decisions/0015-default-engine.md): with calibration VB and EP
    predict alike, VB in less time; Laplace is as fast and, with more than two classes, mostly worse. So neither n nor K
    enters the rule.
    """
    for engine in (VB(), Laplace()):
        # EP learns label noise best, and takes no weights; VB and Laplace can do both.
        able = set(likelihood.theta_names) <= ({"label_noise"} if weighted else set())
        if able and set(engine.needs) <= likelihood.supports:
            return engine
    return EP()


def log_odds(log_proba: np.ndarray) -> np.ndarray:
    """Log odds (m, K) of each class against all others from log probabilities (m, K), of two classes those (m,) of the
    second."""
    if log_proba.shape[1] == 2:
        return log_proba[:, 1] - log_proba[:, 0]
    others = [logsumexp(np.delete(log_proba, k, axis=1), axis=1) for k in range(log_proba.shape[1])]
    return log_proba - np.column_stack(others)


class GPClassifierMixin(ClassifierMixin, Base):
    """For classifiers that are also ``GPEstimator``."""

    likelihood: Any = None
    calibration: str | None
    classes_: np.ndarray
    calibration_: Calibration
    loo_weights_: np.ndarray | None
    #: the column of ``loo_proba_`` that each row's label has; None where labels are not certain
    _loo_codes: np.ndarray | None = None
    #: why leave-one-out predictions are better than those of new rows; None where they are not
    _loo_flaw: str | None = None

    # Latent values of well-separated classes are far apart in units of the probit noise: on the data sets of GR06's
    # table 1 the evidence is largest at amplitudes between ten and a few thousand.
    _start_variance = 100.0

    def _default_shape(self, length_scale: float) -> Kernel:
        # RBF and rougher kernels differ little on seven data sets but glass (docs/decisions/0006-default-kernel.md).
        return SHAPES["matern"](length_scale)

    @property
    def _calibrates(self) -> bool:
        if self.calibration not in ("loo", None):
            raise ValueError(f"calibration must be 'loo' or None, got {self.calibration!r}")
        return self.calibration == "loo"

    def _resolve_likelihood(self, n_classes: int) -> Likelihood:
        if self.likelihood is None:
            return Probit() if n_classes == 2 else MultinomialProbit()
        likelihood = self.likelihood
        if isinstance(likelihood, str):
            if likelihood not in LIKELIHOODS:
                raise ValueError(f"likelihood must be one of {sorted(LIKELIHOODS)} or an object, got {likelihood!r}")
            likelihood = LIKELIHOODS[likelihood]()
        if isinstance(likelihood, type):
            raise TypeError(f"likelihood must be an object, not a class: write {likelihood.__name__}() with brackets")
        if not isinstance(likelihood, Likelihood):
            raise TypeError(f"likelihood must be a gpclass likelihood, got {likelihood!r}")
        if isinstance(likelihood, Gaussian):
            raise TypeError("the Gaussian likelihood is for regression targets, not labels; use GPRegressor")
        if likelihood.n_latent(n_classes) == 1 and likelihood.n_outcomes(1) != n_classes:
            raise ValueError(
                f"{type(likelihood).__name__} is for {likelihood.n_outcomes(1)} classes, got {n_classes}; for more "
                "there are 'multinomial_probit' and 'softmax'"
            )
        check_log_concave(likelihood, n_classes)
        return likelihood

    def _class_attributes(
        self,
        classes: np.ndarray,
        trained: Trained,
        codes: np.ndarray | None = None,
        kept: np.ndarray | None = None,
        loo_weights: np.ndarray | None = None,
    ) -> dict[str, Any]:
        """Fitted attributes that classifiers have; ``codes`` (n,) are the classes of the rows where these are certain,
        ``kept`` the training rows of positive weight."""
        loo_proba = trained.loo_proba
        if loo_proba is not None and kept is not None:
            loo_proba = np.full((len(kept), len(classes)), np.nan)
            loo_proba[kept] = trained.loo_proba
        if codes is not None:  # a saved file holds them
            codes = None if loo_proba is None else codes.astype(np.min_scalar_type(len(classes)))
        return {
            "classes_": classes,
            "calibration_": trained.calibration,
            "loo_proba_": loo_proba,
            "loo_weights_": loo_weights,
            "_loo_codes": codes,
        }

    @lazily
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log probabilities (m, n_classes), accurate far in the tails; columns as in ``classes_``.

        Of a Dask collection, here and in ``predict_proba`` and ``predict``, a lazy Dask array.
        """
        return beside(self._log_proba(self._rows(X)), X)

    @lazily
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (m, n_classes), with the latent uncertainty integrated out; columns as in ``classes_``."""
        return beside(self._proba(self._rows(X)), X)

    @lazily
    def decision_function(self, X: Any) -> np.ndarray:
        """Log odds: of the second class (m,) for two classes, positive where it is predicted, or of each class against
        all others (m, n_classes), of which ``predict`` takes the largest."""
        return beside(log_odds(self._log_proba(self._rows(X))), X)

    @lazily
    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row."""
        most_probable = self._proba(self._rows(X)).argmax(axis=1)
        return beside(self.classes_[most_probable], X)

    def predict_set(self, X: Any, coverage: float = 0.9, by_class: bool = False) -> np.ndarray:
        """Sets of labels that hold the true one with a chosen probability.

        The labels of a set are those with a probability of at least a threshold, which ``loo_proba_`` gives: that share
        of training rows would have had their label in the set, predicted without it ("jackknife"). For new rows like
        these it holds as far as the model hardly changes with one row; for a guarantee without that condition calibrate
        ``gpclass.decisions.PredictionSets`` on rows set aside.

        Parameters
        ----------
        X : array-like or data frame of shape (m, n_features)
        coverage : the share of rows whose set is to hold their label, between 0 and 1
        by_class : bool, default=False
            Whether it shall be that share among the rows of every class.

        Returns
        -------
        sets : bool (m, n_classes)
            Which labels belong to the set of each row, the most probable one at least; columns as in ``classes_``.
        """
        sets = self._prediction_sets(coverage, by_class)
        return beside(sets.of(self._proba(self._rows(X))), X)

    @property
    def loo_labels_(self) -> np.ndarray:
        """The label of each row of ``loo_proba_``."""
        check_is_fitted(self)
        if self._loo_codes is None:
            raise AttributeError("loo_labels_ needs leave-one-out predictions of rows with certain labels")
        return self.classes_[self._loo_codes]

    def _prediction_sets(self, coverage: float, by_class: bool) -> PredictionSets:
        """Sets calibrated by the rows that have leave-one-out predictions."""
        check_is_fitted(self)
        # Nearest-neighbour models compute theirs when asked, and do not get here.
        proba: np.ndarray | None = vars(self).get("loo_proba_")
        if self._loo_flaw is not None or proba is None or self._loo_codes is None:
            none = "there are none" if proba is None else "labels were soft"
            raise ValueError(
                f"expected unbiased leave-one-out predictions of rows with labels, got a {type(self).__name__}: "
                f"{self._loo_flaw or none}. For sets keep labelled rows aside, and calibrate on them: "
                "gpclass.decisions.PredictionSets.calibrate(y, model.predict_proba(X), model.classes_)"
            )
        rows = np.flatnonzero(~np.isnan(proba[:, 0]))
        weights = None if self.loo_weights_ is None else self.loo_weights_[rows]
        return PredictionSets.calibrate(self.loo_labels_[rows], proba[rows], self.classes_, coverage, by_class, weights)

    @lazily
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose most probable label is right."""
        y, sample_weight = host_labels(y, X), host_labels(sample_weight, X, "sample_weight")
        return accuracy_score(y, self.predict(host_rows(X)), sample_weight=sample_weight)

    def _log_proba(self, rows: Any) -> np.ndarray:
        with self._enough_memory(rows):
            return self.posterior_.predict_log(self.likelihood_, rows, self.calibration_)

    def _proba(self, rows: Any) -> np.ndarray:
        proba = np.exp(self._log_proba(rows))
        return proba / proba.sum(axis=1, keepdims=True)
