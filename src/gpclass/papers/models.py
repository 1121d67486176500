"""Classifiers that several experiments share, those of WB98 (equation 4, section 5), and scores of any."""

from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .. import GPClassifier
from ..hyper import HMC, Evidence
from ..hyper.priors import Normal, Prior, Relevance
from ..kernels import RBF, Constant, Kernel

#: log v0, log v1 and every log w are normal with mean -3 and standard deviation 3.
PRIOR: dict[str, Prior | None] = {"length_scale": Relevance(Normal(-3, 3)), "variance": Normal(-3, 3)}
#: The paper's step of 0.1 for every parameter; 0.1 in log w is 0.05 in the logarithm of a length-scale.
STEPS = {"length_scale": 0.05, "variance": 0.1}


def covariance(n_inputs: int) -> Kernel:
    """v0 exp(-1/2 sum_l w_l (x_l - x'_l)^2) + v1, from log w = -2 and log v0 = 0; log v1 from its prior's mean."""
    return 1.0 * RBF(np.full(n_inputs, np.e)) + Constant(np.exp(-3.0))


def map_classifier(kernel: Kernel, likelihood: str = "logit") -> GPClassifier:
    """Parameters that maximise the penalised likelihood (the paper's MPL)."""
    return _laplace(kernel, Evidence(prior=PRIOR, max_rows=None), likelihood=likelihood)


def hmc_classifier(kernel: Kernel, n_iter: int, seed: int) -> GPClassifier:
    """An average over the trajectories of hybrid Monte Carlo, less the first third."""
    return _laplace(kernel, HMC(prior=PRIOR, step_size=STEPS, n_iter=n_iter, n_models=n_iter), random_state=seed)


def peers() -> dict[str, Any]:
    """The other methods of the paper's tables that are specified unambiguously."""
    logistic = make_pipeline(StandardScaler(), LogisticRegression(C=np.inf, max_iter=1000))
    return {"linear discriminant": LinearDiscriminantAnalysis(), "logistic regression": logistic}


def test_set_scores(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Error in per cent, and the sum of the log probabilities of the true labels, the papers' predictive likelihood."""
    log_p = model.predict_log_proba(X)
    true = np.searchsorted(model.classes_, y)
    unknown = ~np.isin(y, model.classes_)
    if np.any(unknown):
        raise ValueError(f"expected test labels among {model.classes_.tolist()}, got {np.asarray(y)[unknown][0]!r}")
    return {
        "error": 100.0 * float(np.mean(log_p.argmax(axis=1) != true)),
        "log_likelihood": float(log_p[np.arange(len(y)), true].sum()),
    }


def _laplace(kernel: Kernel, hyper: Any, likelihood: str = "logit", **settings: Any) -> GPClassifier:
    fixed: dict[str, Any] = {"inference": "laplace", "calibration": None, "standardize": True}
    return GPClassifier(kernel, likelihood=likelihood, hyper=hyper, **fixed, **settings)
