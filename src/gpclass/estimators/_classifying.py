"""What classifiers share: labels and likelihoods, calibration, and the probabilities of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from ..hyper.results import HyperResult
from ..inference import EP, VB, Laplace
from ..inference.base import Engine
from ..inference.calibration import Calibration, LooPrediction, calibrate
from ..kernels import Kernel, Matern
from ..likelihoods import Gaussian, Likelihood, Logit, MultinomialProbit, Probit, Softmax
from ..training.learning import Fitted

LIKELIHOODS = {
    "probit": Probit,
    "logit": Logit,
    "multinomial_probit": MultinomialProbit,
    "softmax": Softmax,
}


def best_engine(likelihood: Likelihood, weighted: bool = False) -> Engine:
    """The engine with the best log probability per second that the likelihood allows.

    Measured on nine small data sets and digits (docs/design.md): with calibration VB and EP predict alike, VB in less
    time; Laplace is as fast and, with more than two classes, mostly behind. So neither n nor K enters the rule.
    """
    for engine in (VB(), Laplace()):
        # EP learns label noise best, and knows no weights; VB and Laplace can do both.
        able = set(likelihood.theta_names) <= ({"label_noise"} if weighted else set())
        if able and all(likelihood.provides(name) for name in engine.needs):
            return engine
    return EP()


#: Three numbers are settled by so many rows, evenly spaced.
_ENOUGH_ROWS = 20000


class GPClassifierMixin(ClassifierMixin):
    """For classifiers that are also ``GPEstimator``."""

    likelihood: Any
    calibration: str | None
    hyper_: HyperResult
    posterior_: Any
    likelihood_: Likelihood
    _checked: Any

    # Latent values of well-separated classes are far apart in units of the probit noise: on the data sets of GR06's
    # table 1 the evidence is largest at amplitudes between ten and a few thousand.
    _start_variance = 100.0

    def _default_shape(self, length_scale: float) -> Kernel:
        # Between RBF and rougher kernels there is little, on seven data sets, but for glass (docs/design.md).
        return Matern(length_scale, nu=2.5)

    def _check_calibration(self) -> None:
        if self.calibration not in ("loo", None):
            raise ValueError(f"calibration must be 'loo' or None, got {self.calibration!r}")

    def _encode(self, y: Any) -> np.ndarray:
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
        if isinstance(likelihood, type):
            raise TypeError(f"likelihood must be an object, not a class: write {likelihood.__name__}() with brackets")
        if not isinstance(likelihood, Likelihood):
            raise TypeError(f"likelihood must be a gpclass likelihood, got {likelihood!r}")
        if isinstance(likelihood, Gaussian):
            raise TypeError("the Gaussian likelihood is for numbers, not labels; use GPRegressor")
        if likelihood.n_latent(n_classes) == 1 and likelihood.n_outcomes(1) != n_classes:
            raise ValueError(
                f"{type(likelihood).__name__} is for {likelihood.n_outcomes(1)} classes, got {n_classes}; for more "
                "there are 'multinomial_probit' and 'softmax'"
            )
        return likelihood

    def _calibrate_labels(self, labels: np.ndarray, fits: list[Fitted], judges: np.ndarray | None = None) -> None:
        """``_calibrate`` for certain labels; ``judges`` says how often each row counts in it, once by default."""
        proba = np.eye(len(self.classes_))[labels]
        counts = np.ones(len(labels)) if judges is None else judges
        self._calibrate(proba, fits, counts, np.ones(len(labels), bool))

    def _calibrate(
        self,
        proba: np.ndarray,
        fits: list[Fitted],
        weights: np.ndarray,
        kept: np.ndarray,
        left_out: np.ndarray | None = None,
    ) -> None:
        """Leave-one-out probabilities, and the calibration learned from them; of each row's weight the share
        ``left_out`` was left out, all of it by default."""
        self.calibration_ = Calibration()
        self.loo_proba_: np.ndarray | None = None
        # One row for every label that has a probability.
        rows, labels = np.nonzero(proba)
        counts = weights[rows] * proba[rows, labels]
        beliefs = []
        for weight, fit, likelihood in fits:
            if fit.loo is None:
                return
            mean, cov = fit.loo
            log_share = np.full(len(proba), np.log(weight))
            if len(fits) > 1:
                # p(theta | all but row n) is, up to a constant, p(theta | all) / p(y_n | the others, theta), to the
                # power of what is left out of the row; and theta may never have seen it.
                seen = weights * (1.0 if left_out is None else left_out)
                if self.hyper_.rows is not None:
                    seen[np.setdiff1d(np.arange(len(seen)), self.hyper_.rows)] = 0.0
                log_z = likelihood.loo_log_prob(labels, mean[rows], cov[rows])
                log_share -= np.bincount(rows, weights=seen[rows] * proba[rows, labels] * log_z, minlength=len(proba))
            beliefs.append(LooPrediction(log_share, likelihood, mean, cov))
        total = logsumexp([belief.log_share for belief in beliefs], axis=0)
        beliefs = [belief._replace(log_share=belief.log_share - total) for belief in beliefs]
        if self.calibration == "loo":
            counted = np.flatnonzero(counts > 0)
            few = counted[np.linspace(0, len(counted) - 1, min(len(counted), _ENOUGH_ROWS)).round().astype(int)]
            some = rows[few]
            by_label = [LooPrediction(share[some], like, mean[some], cov[some]) for share, like, mean, cov in beliefs]
            self.calibration_ = calibrate(by_label, labels[few], counts[few])
        self.loo_proba_ = np.full((len(kept), len(self.classes_)), np.nan)
        mixed = sum(
            np.exp(share[:, None] + self.calibration_.log_proba(like, mean, cov)) for share, like, mean, cov in beliefs
        )
        self.loo_proba_[kept] = mixed / np.sum(mixed, axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log probabilities (m, n_classes), accurate far in the tails; columns as in ``classes_``."""
        X = self._checked(X)
        return self.posterior_.predict_log(self.likelihood_, X, self.calibration_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (m, n_classes), with the latent uncertainty integrated out; columns as in ``classes_``."""
        X = self._checked(X)
        proba = np.exp(self.posterior_.predict_log(self.likelihood_, X, self.calibration_))
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]
