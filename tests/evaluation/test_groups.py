"""Leave-group-out predictions of fitted estimators."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from gpclass import GPClassifier, GPOrdinalClassifier, GPRegressor, IVMClassifier, SparseGPClassifier, load, save
from gpclass.evaluation.groups import has_group_predictions, leave_group_out_predict, leave_group_out_proba
from gpclass.hyper import Importance
from gpclass.kernels import RBF


def _patients(n_patients=12, per=5, n_classes=2, seed=0):
    """Rows of a patient are alike and have one label, which says little of other patients."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_patients), per)
    X = rng.normal(size=(n_patients, 2))[groups] + 0.1 * rng.normal(size=(len(groups), 2))
    y = rng.integers(n_classes, size=n_patients)
    y[:n_classes] = np.arange(n_classes)
    return X, y[groups], groups


def _by_refits(model, X, y, groups):
    found = np.full((len(y), len(model.classes_)), np.nan)
    for group in range(4):
        own = groups == group
        found[own] = 0.0
        one = clone(model).fit(X[~own], y[~own])
        found[np.ix_(own, np.isin(model.classes_, one.classes_))] = one.predict_proba(X[own])
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("inference", ["ep", "vb", "laplace"])
def test_fixed_kernels_against_refits(inference, n_classes):
    X, y, groups = _patients(n_classes=n_classes)
    settings = {"inference": inference, "hyper": "fixed", "calibration": None, "standardize": False}
    model = GPClassifier(10.0 * RBF(0.8), **settings).fit(X, y)
    names = np.array([f"patient {g}" for g in groups])
    found = leave_group_out_proba(model, names)
    assert_allclose(found[:20], _by_refits(model, X, y, groups)[:20], atol=0.01)
    assert_allclose(found.sum(axis=1), 1.0)
    shuffled = np.random.default_rng(0).permutation(12)[groups]
    assert_allclose(leave_group_out_proba(model, shuffled), found, atol=1e-6)


def test_the_default_mixture_and_its_calibrations():
    X, y, groups = _patients(seed=3)
    model = GPClassifier().fit(X, y)
    assert len(model.posterior_.members) > 1
    assert_array_equal(leave_group_out_proba(model, np.arange(60)), model.loo_proba_)
    found = leave_group_out_proba(model, groups)
    own = np.arange(60), y
    # The label of a patient is all that its rows have in common.
    assert np.mean(np.log(model.loo_proba_[own])) > np.mean(np.log(found[own])) + 0.3
    half = np.where(groups < 6, groups, 100 + np.arange(60))
    mixed = leave_group_out_proba(model, half)
    assert_array_equal(mixed[30:], model.loo_proba_[30:])
    assert_allclose(mixed[:30], found[:30], atol=1e-10)


def test_ordered_labels_against_refits():
    X, y, groups = _patients(n_classes=3, seed=1)
    model = GPOrdinalClassifier(4.0 * RBF(0.8), order=[0, 1, 2], hyper="fixed", calibration=None, standardize=False)
    model.fit(X, y)
    fixed = clone(model).set_params(likelihood=model.likelihood_)  # its cut points come from the labels
    refitted = _by_refits(fixed.fit(X, y), X, y, groups)
    assert_allclose(leave_group_out_proba(model, groups)[:20], refitted[:20], atol=0.01)


def test_regression_is_exact_at_given_parameters(tmp_path):
    X, _, groups = _patients()
    y = 50.0 + 10.0 * np.sin(X[:, 0]) + np.random.default_rng(1).normal(size=60)
    model = GPRegressor(RBF(1.0)).fit(X, y)
    mean, sd = leave_group_out_predict(model, groups)
    K = model.kernel_(model.posterior_.X) + model.likelihood_.variance * np.eye(60)
    centre = model._targets.inverse(model.likelihood_.bias)
    for group in range(12):
        own, rest = groups == group, groups != group
        weights = np.linalg.solve(K[np.ix_(rest, rest)], K[np.ix_(rest, own)])
        assert_allclose(mean[own], centre + weights.T @ (y[rest] - centre), rtol=1e-8)
        variance = np.diag(K[np.ix_(own, own)] - K[np.ix_(own, rest)] @ weights)
        assert_allclose(sd[own], model.target_scale_ * np.sqrt(variance), rtol=1e-8)
    single = leave_group_out_predict(model, np.arange(60))
    assert_allclose(single[0], model.loo_mean_, rtol=1e-9)
    assert_allclose(single[1], model.loo_std_, rtol=1e-9)
    save(model, tmp_path / "model.gpclass")
    assert_allclose(leave_group_out_predict(load(tmp_path / "model.gpclass"), groups)[0], mean, rtol=1e-10)


def test_all_copies_of_a_row_leave_with_its_group():
    X, y, groups = _patients(n_patients=6)
    weights = np.tile([1.0, 2.0, 1.0, 3.0, 0.0], 6)
    settings = {"inference": "vb", "hyper": "fixed", "calibration": None, "standardize": False}
    weighted = GPClassifier(10.0 * RBF(0.8), **settings).fit(X, y, sample_weight=weights)
    copies = np.repeat(np.arange(30), weights.astype(int))
    plain = GPClassifier(10.0 * RBF(0.8), **settings).fit(X[copies], y[copies])
    found = leave_group_out_proba(weighted, groups)
    assert_allclose(found[copies], leave_group_out_proba(plain, groups[copies]), atol=1e-5)
    assert np.all(np.isnan(found[weights == 0]))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(60), "at least two groups, got 1"),
        (np.arange(59), r"shape \(60,\), one for each training row, got \(59,\)"),
        (np.ones((60, 2)), r"got \(60, 2\)"),
        (["a", None, *["b"] * 58], "got None in row 1"),
        (np.where(np.arange(60) == 7, np.nan, 1.0), "got nan in row 7"),
        (pd.array([1, 2, None] * 20, dtype="Int64"), "got <NA> in row 2"),
        (np.ma.masked_equal(np.arange(60), 3), "expected groups without a mask"),
    ],
)
def test_groups_that_are_none(groups, message):
    X, y, _ = _patients()
    model = GPClassifier(RBF(1.0), hyper="fixed", inference="vb").fit(X, y)
    with pytest.raises(ValueError, match=message):
        leave_group_out_proba(model, groups)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (IVMClassifier(RBF(1.0), n_active=20, hyper="fixed"), "IVMClassifier keeps no posterior over all"),
        (SparseGPClassifier(RBF(1.0), n_inducing=10, hyper="fixed"), "SparseGPClassifier keeps no posterior over all"),
        (GPOrdinalClassifier(RBF(1.0), inference="ivm", hyper="fixed"), "GPOrdinalClassifier keeps no posterior"),
        (GPClassifier(RBF(1.0), inference="vb", hyper=Importance(n_draws=30), random_state=0), "sampled kernel"),
        (GPRegressor(RBF(1.0), hyper="fixed"), "GPRegressor has no loo_proba_; see leave_group_out_predict"),
    ],
)
def test_models_without_a_closed_form(model, reason):
    X, y, groups = _patients()
    model.fit(X, y)
    assert has_group_predictions(model) == isinstance(model, GPRegressor)
    with pytest.raises(TypeError, match=f"expected a GPClassifier.*{reason}.*Refit with sklearn"):
        leave_group_out_proba(model, groups)
