"""Training does not depend on the order of the rows, and its results are numbered as the table is."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss

from gpclass import (
    GPOrdinalClassifier,
    IVMClassifier,
    IVMRegressor,
    MultiTaskIVMClassifier,
    MultiTaskIVMRegressor,
    NullCategoryClassifier,
    SparseGPClassifier,
    VirtualVectorClassifier,
)
from gpclass.hyper import Alternating, Evidence
from gpclass.inference import IVM
from gpclass.kernels import RBF, View, WeightedSum
from gpclass.training.row_order import RowOrder

KERNEL = {"kernel": 9.0 * RBF(3.0), "standardize": True}
FIXED = {**KERNEL, "hyper": "fixed"}
FEW_ROUNDS = Alternating(n_rounds=2, keep="best")
ORDERS = [np.random.default_rng(seed).permutation(60) for seed in range(6)]


def rows(load):
    """60 rows to fit and 60 others."""
    X, y = load(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:120]
    X, y = X[chosen], y[chosen]
    return X[:60], y[:60], X[60:], y[60:]


def few_labels(y):
    return np.where(np.arange(len(y)) % 3 == 0, y, -1)


MODELS = {
    "ivm": IVMClassifier(**KERNEL, n_active=15),
    "ivm, default kernel": IVMClassifier(n_active=15, hyper="fixed"),
    "ivm, alternating": IVMClassifier(**KERNEL, n_active=15, block_size=4, hyper=FEW_ROUNDS),
    "ivm, random": IVMClassifier(**FIXED, n_active=15, criterion="random", random_state=0),
    "sparse": SparseGPClassifier(**KERNEL, n_inducing=15),
    "sparse, kmeans++": SparseGPClassifier(**FIXED, n_inducing=15, inducing="kmeans++", inference="vb", random_state=0),
    "null category": NullCategoryClassifier(n_active=20, hyper=FEW_ROUNDS),
    "ordered": GPOrdinalClassifier(**FIXED, inference=IVM(n_active=15)),
    "virtual": VirtualVectorClassifier(IVMClassifier(**FIXED, n_active=15), transforms=lambda X: 1.01 * X),
}


@pytest.mark.parametrize(("load", "limit"), [(load_breast_cancer, 1e-6), (load_iris, 0.01)], ids=["two", "three"])
@pytest.mark.parametrize("name", MODELS)
def test_order_does_not_matter(name, load, limit):
    X, y, X_new, y_new = rows(load)
    if name == "null category":
        y = few_labels(y)
    losses = [log_loss(y_new, MODELS[name].fit(X[order], y[order]).predict_proba(X_new)) for order in ORDERS]
    assert np.ptp(losses) < limit


@pytest.mark.parametrize(
    "model", [IVMRegressor(n_active=15, hyper="fixed"), MultiTaskIVMRegressor(n_active=15, hyper="fixed")]
)
def test_order_does_not_matter_to_regression(model):
    X, _, X_new, _ = rows(load_iris)
    means = [model.fit(X[order, 1:], X[order, 0]).predict(X_new[:, 1:]) for order in ORDERS]
    np.testing.assert_allclose(means, means[:1] * 6, atol=1e-6)


def test_order_does_not_matter_to_tasks():
    X, y, X_new, _ = rows(load_breast_cancer)
    task = np.array(["a", "b", "b"] * 20)
    model = MultiTaskIVMClassifier(**FIXED, n_active=15)
    fits = [model.fit(X[order], y[order], task=task[order]).predict_proba(X_new, task="b") for order in ORDERS]
    np.testing.assert_allclose(fits, fits[:1] * 6, atol=1e-6)
    kept = task[ORDERS[-1]][model.active_]
    np.testing.assert_array_equal(kept, model.active_task_)
    adapted = [model.adapt(X[few], y[few]).predict_proba(X_new) for few in (np.arange(20), np.arange(20)[::-1])]
    np.testing.assert_allclose(*adapted, atol=1e-6)


def test_blocks_differ_by_the_tolerance_of_inference():
    X, y, X_new, y_new = rows(load_breast_cancer)
    model = SparseGPClassifier(**FIXED, n_inducing=15)
    losses = []
    for order in ORDERS:
        blocks = [(X[part], y[part]) for part in np.array_split(order, 3)]
        losses.append(log_loss(y_new, model.fit(blocks).predict_proba(X_new)))
    assert np.ptp(losses) < 1e-3


def test_results_are_numbered_as_the_table():
    X, y, *_ = rows(load_breast_cancer)
    settings = {**KERNEL, "n_active": 15, "hyper": Evidence(max_rows=40)}
    plain = IVMClassifier(**settings).fit(X, y)
    for order in ORDERS[:2]:
        model = IVMClassifier(**settings).fit(X[order], y[order])
        np.testing.assert_array_equal(model.active_rows_, plain.active_rows_)
        np.testing.assert_allclose(model.active_rows_, X[order][model.active_], atol=1e-12)
        np.testing.assert_array_equal(order[model.active_], plain.active_)
        np.testing.assert_array_equal(np.sort(order[model.hyper_.rows]), plain.hyper_.rows)
        np.testing.assert_allclose(model.loo_proba_, plain.loo_proba_[order])


def test_few_labels_are_numbered_as_the_table():
    X, y, *_ = rows(load_iris)
    y = few_labels(y)
    model = NullCategoryClassifier(RBF(), n_active=20, hyper="fixed", standardize=True)
    plain = model.fit(X, y).transduction_
    np.testing.assert_array_equal(plain[y >= 0], y[y >= 0])
    again = model.fit(X[::-1], y[::-1])
    np.testing.assert_array_equal(again.transduction_, plain[::-1])
    assert len(again.active_) == 3


def test_warm_start_goes_on_from_the_rows_kept():
    X, y, *_ = rows(load_breast_cancer)
    model = IVMClassifier(**FIXED, n_active=10, warm_start=True).fit(X, y)
    first = model.active_
    model.set_params(n_active=15).fit(X, y)
    np.testing.assert_array_equal(model.active_[:10], first)
    np.testing.assert_allclose(model.active_rows_, X[model.active_], atol=1e-12)


def test_messages_name_the_row_of_the_table():
    X, y, *_ = rows(load_iris)
    X[31, :2] = np.nan
    kernel = WeightedSum({"sepals": View(RBF(), slice(0, 1)), "others": View(RBF(), slice(1, 2))})
    with pytest.raises(ValueError, match="got none in row 31"):
        IVMClassifier(kernel, n_active=15).fit(X, y)


def test_typical_rows_come_first():
    X = np.array([[2.0], [0.0], [1.0], [-1.0], [1.0]])
    order = RowOrder.of(X, np.array([0, 0, 1, 0, 0]))
    np.testing.assert_array_equal(order.rows, [4, 2, 1, 0, 3])
    np.testing.assert_array_equal(order.rows[order.places], np.arange(5))
    # Of rows at the same distance the values say which comes first; missing ones count as the mean.
    np.testing.assert_array_equal(RowOrder.of(np.array([[1.0], [-1.0], [np.nan]]), np.zeros(3)).rows, [2, 1, 0])
