"""G06's models of objects seen through several sources: one joint model, and one for each source with rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from .. import GPClassifier, ViewVotingClassifier
from ..kernels import RBF, View, WeightedSum
from .scores import scores

Views = dict[str, slice]
SUM, PRODUCT, LEARNED = "sum rule", "product rule", "learned combination"


def side_by_side(parts: dict[str, np.ndarray]) -> tuple[np.ndarray, Views]:
    """Arrays by name as one, and the columns of each."""
    stops = np.cumsum([part.shape[1] for part in parts.values()]).tolist()
    columns = {name: slice(stop - part.shape[1], stop) for (name, part), stop in zip(parts.items(), stops, strict=True)}
    return np.hstack(list(parts.values())), columns


def together(X: np.ndarray, y: np.ndarray, views: Views) -> GPClassifier:
    """One model: in every view an RBF as wide as its rows are apart (the median), and only the weights are learned."""
    kernels = {
        name: View(RBF(float(np.median(pdist(X[:, columns]))), fixed=True), columns) for name, columns in views.items()
    }
    return GPClassifier(WeightedSum(kernels), inference="ep", standardize=False).fit(X, y)


def apart(X: np.ndarray, y: np.ndarray, views: Views) -> ViewVotingClassifier:
    """A model for each view, with an amplitude and a length-scale of its own."""
    alone = GPClassifier(WeightedSum({"own": RBF()}), inference="ep", standardize=False)
    return ViewVotingClassifier(alone, views).fit(X, y)


def measured(method: str, model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Error in per cent and mean log probability of the true labels."""
    found = scores(model, X, y)
    return {
        "method": method,
        "error": found["error"],
        "log_probability": found["log_likelihood"] / len(y),
        "n_test": len(y),
    }


def measured_apart(voting: ViewVotingClassifier, X: np.ndarray, y: np.ndarray) -> Iterator[dict[str, Any]]:
    """Every view, and both rules."""
    for name, model in voting.estimators_.items():
        yield measured(name, model, X, y)
    yield measured(SUM, voting.set_params(voting="sum"), X, y)
    yield measured(PRODUCT, voting.set_params(voting="product"), X, y)


def measured_together(model: GPClassifier, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """The joint model, with the shares of its views."""
    shares = model.view_weights_
    return {
        **measured(LEARNED, model, X, y),
        "views_in_order": list(shares.names),
        "shares": [float(own) for own in shares.mean],
    }
