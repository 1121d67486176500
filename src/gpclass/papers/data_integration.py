"""G06's models of several views: one joint model, and one model for each view, combined by rules."""

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from .. import GPClassifier, ViewVotingClassifier
from ..kernels import RBF, View, WeightedSum
from .base import Row, Rows
from .data import Split
from .models import test_set_scores

Views = dict[str, slice]
SUM, PRODUCT, LEARNED = "sum rule", "product rule", "learned combination"


def side_by_side(parts: dict[str, np.ndarray]) -> tuple[np.ndarray, Views]:
    """Arrays by name as one, and the columns of each."""
    stops = np.cumsum([part.shape[1] for part in parts.values()]).tolist()
    columns = {name: slice(stop - part.shape[1], stop) for (name, part), stop in zip(parts.items(), stops, strict=True)}
    return np.hstack(list(parts.values())), columns


def record(method: str, model: Any, X: np.ndarray, y: np.ndarray) -> Row:
    """Error in per cent and mean log probability of the true labels."""
    scores, n = test_set_scores(model, X, y), len(y)
    log_probability = scores["log_likelihood"] / n
    return {"method": method, "error": scores["error"], "log_probability": log_probability, "n_test": n}


def separate_records(data: Split, views: Views) -> Rows:
    """One model for each view, each with its amplitude and length-scale, and both rules."""
    X, y, *test = data
    single = GPClassifier(WeightedSum({"own": RBF()}), inference="ep", standardize=False)
    voting = ViewVotingClassifier(single, views).fit(X, y)
    for name, model in voting.estimators_.items():
        yield record(name, model, *test)
    yield record(SUM, voting.set_params(voting="sum"), *test)
    yield record(PRODUCT, voting.set_params(voting="product"), *test)


def joint_record(data: Split, views: Views) -> Row:
    """One model: an RBF for each view whose length-scale is the median distance of its rows; weights are learned."""
    X, y, *test = data
    widths = {name: float(np.median(pdist(X[:, columns]))) for name, columns in views.items()}
    kernel = WeightedSum({name: View(RBF(widths[name], fixed=True), columns) for name, columns in views.items()})
    model = GPClassifier(kernel, inference="ep", standardize=False).fit(X, y)
    weights = model.view_weights_
    return {**record(LEARNED, model, *test), "views_in_order": list(weights.names), "shares": weights.mean.tolist()}
