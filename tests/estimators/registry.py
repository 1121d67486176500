"""All public estimators and searches: suites that go through each of them take them from here."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import gpclass
from gpclass import (
    GPClassifier,
    GPOrdinalClassifier,
    GPRegressor,
    IVMClassifier,
    IVMRegressor,
    MultiTaskIVMClassifier,
    MultiTaskIVMRegressor,
    NearestNeighborGPClassifier,
    NearestNeighborGPRegressor,
    NullCategoryClassifier,
    SparseGPClassifier,
    ViewVotingClassifier,
    VirtualVectorClassifier,
)
from gpclass import hyper as searches
from gpclass.hyper import (
    HMC,
    NUTS,
    Alternating,
    Evidence,
    Fixed,
    HeldOut,
    Importance,
    LeaveOneOut,
    Metropolis,
    NearestNeighbors,
    Search,
    StochasticEvidence,
)
from gpclass.hyper.nearest_neighbors import NeighborScales
from gpclass.inference import Gibbs
from gpclass.kernels import RBF


class Data(NamedTuple):
    """Rows, what is observed of them, and what else ``fit`` and ``predict`` take."""

    X: np.ndarray
    y: np.ndarray
    more: dict[str, np.ndarray] = {}  # noqa: RUF012


def labels() -> Data:
    """Three classes, 38 rows."""
    X, y = load_iris(return_X_y=True)
    return Data(X[::4], y[::4])


def numbers() -> Data:
    X, y = labels()[:2]
    return Data(X[:, :3], X[:, 3] + 0.1 * y)


def few_labels() -> Data:
    X, y = labels()[:2]
    return Data(X, np.where(np.arange(len(y)) % 2, y, -1))


def task_labels() -> Data:
    X, y = labels()[:2]
    return Data(X, y, {"task": np.arange(len(y)) % 2})


def task_numbers() -> Data:
    X, y = numbers()[:2]
    return Data(X, y, {"task": np.arange(len(y)) % 2})


def images() -> Data:
    """Images of 4 x 4 pixels, whose left or right half is brighter."""
    X = np.random.default_rng(0).random((40, 4, 4))
    X[::2, :, :2] += 0.5
    X[1::2, :, 2:] += 0.5
    return Data(X.reshape(40, 16), np.arange(40) % 2)


class Entry(NamedTuple):
    """One estimator: with default settings; data to fit; and, with nothing to learn, those for scikit-learn's own
    checks, empty where their data cannot be fitted."""

    default: Any
    data: Callable[[], Data]
    checked: tuple[Any, ...]


ESTIMATORS: dict[str, Entry] = {
    "GPClassifier": Entry(
        GPClassifier(),
        labels,
        (GPClassifier(hyper="fixed"), GPClassifier(inference="laplace", hyper="fixed")),
    ),
    "GPOrdinalClassifier": Entry(GPOrdinalClassifier(), labels, (GPOrdinalClassifier(hyper="fixed"),)),
    "GPRegressor": Entry(GPRegressor(), numbers, (GPRegressor(hyper="fixed"),)),
    "IVMClassifier": Entry(IVMClassifier(), labels, (IVMClassifier(hyper="fixed"),)),
    "IVMRegressor": Entry(IVMRegressor(), numbers, (IVMRegressor(hyper="fixed"),)),
    "MultiTaskIVMClassifier": Entry(MultiTaskIVMClassifier(), task_labels, (MultiTaskIVMClassifier(hyper="fixed"),)),
    "MultiTaskIVMRegressor": Entry(MultiTaskIVMRegressor(), task_numbers, (MultiTaskIVMRegressor(hyper="fixed"),)),
    "NearestNeighborGPClassifier": Entry(
        NearestNeighborGPClassifier(max_iter=30, random_state=0),
        labels,
        (NearestNeighborGPClassifier(hyper="fixed", global_model=False, calibration=None, random_state=0),),
    ),
    "NearestNeighborGPRegressor": Entry(
        NearestNeighborGPRegressor(max_iter=30, random_state=0),
        numbers,
        (NearestNeighborGPRegressor(hyper="fixed", random_state=0),),
    ),
    # Refuses data in which every row has a label, as all of scikit-learn's have.
    "NullCategoryClassifier": Entry(NullCategoryClassifier(), few_labels, ()),
    "SparseGPClassifier": Entry(SparseGPClassifier(), labels, (SparseGPClassifier(hyper="fixed"),)),
    "ViewVotingClassifier": Entry(
        ViewVotingClassifier(views={"sepal": [0, 1], "petal": [2, 3]}),
        labels,
        (ViewVotingClassifier(LogisticRegression(), {"all": slice(None)}),),
    ),
    "VirtualVectorClassifier": Entry(
        VirtualVectorClassifier(),
        images,
        (
            VirtualVectorClassifier(
                IVMClassifier(100.0 * RBF(3.0), n_active=50, hyper="fixed", standardize=True), transforms=np.tanh
            ),
        ),
    ),
}

#: An estimator with each search, in settings that take a moment.
SEARCHES: dict[type[Search], Any] = {
    Alternating: IVMClassifier(RBF(1.0), n_active=15, hyper=Alternating(n_rounds=1, max_iter=3)),
    Evidence: GPClassifier(RBF(1.0), hyper=Evidence(max_iter=3)),
    Fixed: GPClassifier(RBF(1.0), hyper=Fixed()),
    HeldOut: IVMClassifier(RBF(1.0), n_active=15, hyper=HeldOut(first=Fixed(), n_active=10, max_evaluations=3)),
    HMC: GPClassifier(RBF(1.0), hyper=HMC(n_iter=6, n_leapfrog=2, n_models=2)),
    Importance: GPClassifier(RBF(1.0), hyper=Importance(n_draws=25, n_models=2)),
    LeaveOneOut: GPClassifier(RBF(1.0), hyper=LeaveOneOut(max_iter=2)),
    Metropolis: GPClassifier(
        RBF(1.0), inference=Gibbs(n_draws=4, burn_in=2, thin=1, n_chains=1, evidence=False), hyper=Metropolis()
    ),
    NearestNeighbors: SparseGPClassifier(
        n_inducing=10, hyper=NearestNeighbors(first=NeighborScales(max_iter=2), n_active=10, max_evaluations=3)
    ),
    NUTS: GPClassifier(RBF(1.0), hyper=NUTS(n_draws=4, n_tune=20, n_chains=1, n_models=2)),
    StochasticEvidence: GPClassifier(RBF(1.0), hyper=StochasticEvidence(n_rows=20, n_steps=3)),
}


def public_estimators() -> set[str]:
    return {name for name in gpclass.__all__ if hasattr(getattr(gpclass, name), "fit")}


def public_searches() -> set[type[Search]]:
    found = {getattr(searches, name) for name in searches.__all__}
    return {kind for kind in found if isinstance(kind, type) and issubclass(kind, Search)} - {Search}


@cache
def fitted(name: str) -> Any:
    """An estimator with default settings, fitted to its data; shared, so leave it as it is."""
    entry = ESTIMATORS[name]
    X, y, more = entry.data()
    return clone(entry.default).fit(X, y, **more)


def predictions(model: Any, data: Data) -> tuple[np.ndarray, ...]:
    """All that a model says of the rows: probabilities and labels, or means and standard deviations."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(data.X, **data.more), model.predict(data.X, **data.more)
    return model.predict(data.X, return_std=True, **data.more)
