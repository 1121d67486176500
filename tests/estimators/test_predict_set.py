"""Sets of labels by estimators: from honest leave-one-out predictions, or refused."""

import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

from gpclass import GPClassifier, GPOrdinalClassifier, IVMClassifier, SparseGPClassifier
from gpclass.evaluation.prediction_sets import PredictionSets
from gpclass.inference import Gibbs
from gpclass.io.persistence import load, save
from gpclass.kernels import RBF, Precomputed
from tests.estimators.registry import ESTIMATORS, fitted

KERNEL = 9.0 * RBF(2.0)
NAMES = np.array(["high", "low", "mid"])


def rows(n, seed=0):
    X, y = make_classification(
        n, 4, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, flip_y=0.2, random_state=seed
    )
    return X, NAMES[y]


X, y = rows(700)
X, X_new, y, y_new = X[:200], X[200:], y[:200], y[200:]
WEIGHTS = np.random.default_rng(0).choice([0.0, 1.0, 3.0], len(y))
fixed = {"hyper": "fixed", "standardize": True}

MODELS = {
    "exact": lambda: GPClassifier(KERNEL, **fixed).fit(X, y),
    "Laplace": lambda: GPClassifier(KERNEL, inference="laplace", **fixed).fit(X, y),
    "two classes": lambda: GPClassifier(KERNEL, **fixed).fit(X, np.where(y == "mid", "mid", "other")),
    "class weights": lambda: GPClassifier(KERNEL, class_weight={"low": 5.0}, **fixed).fit(X, y),
    "ordered": lambda: GPOrdinalClassifier(KERNEL, order=["low", "mid", "high"], **fixed).fit(X, y),
    "sparse": lambda: SparseGPClassifier(KERNEL, n_inducing=30, random_state=0, **fixed).fit(X, y),
    "blocks": lambda: SparseGPClassifier(KERNEL, n_inducing=30, random_state=0, **fixed).fit(
        [(X[:90], y[:90]), (X[90:], y[90:])]
    ),
}


@cache
def model_of(name):
    return MODELS[name]()


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_sets_are_calibrated_by_leave_one_out_predictions(name, by_class):
    model = model_of(name)
    labels = np.where(y == "mid", "mid", "other") if name == "two classes" else y
    np.testing.assert_array_equal(model.loo_labels_, labels)
    plain = PredictionSets.calibrate(labels, model.loo_proba_, model.classes_, 0.8, by_class)
    found = model.predict_set(X_new, coverage=0.8, by_class=by_class)
    np.testing.assert_array_equal(found, plain.of(model.predict_proba(X_new)))
    assert found.shape == (len(X_new), len(model.classes_))
    truth = np.where(y_new == "mid", "mid", "other") if name == "two classes" else y_new
    inside = found[truth[:, None] == model.classes_]
    assert 0.7 < inside.mean() < 0.92  # and not, as on training rows, more


def test_training_rows_flatter_and_leave_one_out_predictions_do_not():
    """The mean coverage of nine small samples, whose standard deviation is 0.01."""
    reached, flattered = [], []
    for seed in range(9):
        X, y = rows(600, seed)
        model = GPClassifier(100.0 * RBF(1.0), calibration=None, **fixed).fit(X[:100], y[:100])
        truth = y[100:, None] == model.classes_
        reached.append(model.predict_set(X[100:], 0.85)[truth].mean())
        bad = PredictionSets.calibrate(y[:100], model.predict_proba(X[:100]), model.classes_, 0.85)
        flattered.append(bad.of(model.predict_proba(X[100:]))[truth].mean())
    assert abs(np.mean(reached) - 0.85) < 0.03
    assert np.mean(flattered) < 0.8


def test_weights_and_rows_without_any():
    model = GPClassifier(KERNEL, **fixed).fit(X, y, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(model.loo_weights_, WEIGHTS)
    kept = WEIGHTS > 0
    assert np.isnan(model.loo_proba_[~kept]).all()
    proba, plain = model.predict_proba(X_new), model.loo_proba_[kept]
    expected = PredictionSets.calibrate(y[kept], plain, model.classes_, 0.8, sample_weight=WEIGHTS[kept])
    np.testing.assert_array_equal(model.predict_set(X_new, 0.8), expected.of(proba))
    unweighted = PredictionSets.calibrate(y[kept], plain, model.classes_, 0.8)
    assert np.any(unweighted.of(proba) != expected.of(proba))
    assert model_of("exact").loo_weights_ is None


def test_gram_matrices():
    gram, cross = KERNEL(X), KERNEL(X_new, X)
    model = GPClassifier(Precomputed(), hyper="fixed").fit(gram, y)
    assert (
        model.predict_set(cross, 0.8).sum()
        == GPClassifier(KERNEL, hyper="fixed").fit(X, y).predict_set(X_new, 0.8).sum()
    )


@pytest.mark.parametrize("name", ["exact", "ordered", "sparse"])
def test_copies_and_files_give_the_same_sets(name, tmp_path):
    model = model_of(name)
    expected = model.predict_set(X_new, 0.8)
    for again in (load(save(model, tmp_path / "m.gpclass")), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_set(X_new, 0.8), expected)
        np.testing.assert_array_equal(again.loo_labels_, y)
    assert not hasattr(clone(model), "loo_labels_")


def test_labels_take_little_room():
    assert model_of("exact")._loo_codes.dtype == np.uint8


FLAWED = {
    "IVMClassifier": "rows that were not kept are the easier ones",
    "MultiTaskIVMClassifier": "rows that were not kept are the easier ones",
    "NullCategoryClassifier": "rows that were not kept are the easier ones",
    "NearestNeighborGPClassifier": "its metric is learned by these very predictions",
}


@pytest.mark.parametrize("name", FLAWED)
def test_predictions_that_flatter_are_refused(name):
    with pytest.raises(ValueError, match=f"got a {name}: {FLAWED[name]}. For sets keep labelled rows aside"):
        fitted(name).predict_set(ESTIMATORS[name].data().X, 0.5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_models_without_such_predictions_are_refused():
    soft = np.full((len(y), 3), 0.1) + 0.7 * (y[:, None] == NAMES)
    model = GPClassifier(KERNEL, **fixed).fit(X, soft)
    with pytest.raises(ValueError, match="got a GPClassifier: labels were soft"):
        model.predict_set(X_new)
    with pytest.raises(AttributeError, match="rows with certain labels"):
        _ = model.loo_labels_
    gibbs = GPClassifier(KERNEL, inference=Gibbs(n_draws=5, burn_in=2, thin=1, n_chains=1, evidence=False), **fixed)
    with pytest.raises(ValueError, match="got a GPClassifier: there are none"):
        gibbs.fit(X[:40], y[:40]).predict_set(X_new)
    with pytest.raises(ValueError, match="got a IVMClassifier: rows that were not kept"):
        IVMClassifier(KERNEL, n_active=10, **fixed).partial_fit(X, y).predict_set(X_new)


def test_another_engine_at_the_next_fit():
    model = GPOrdinalClassifier(KERNEL, order=["low", "mid", "high"], inference="ivm", **fixed).fit(X, y)
    with pytest.raises(ValueError, match="got a GPOrdinalClassifier: rows that were not kept"):
        model.predict_set(X_new)
    assert model.set_params(inference="ep").fit(X, y).predict_set(X_new).any(axis=1).all()


@pytest.mark.parametrize("coverage", [0.0, 1.0, np.nan, "0.9", None, True])
def test_bad_coverage(coverage):
    with pytest.raises(ValueError, match="expected a coverage between 0 and 1"):
        model_of("exact").predict_set(X_new, coverage)


def test_too_few_rows_of_a_class():
    model = GPClassifier(KERNEL, **fixed).fit(X, np.where(np.arange(len(y)) < 8, "rare", y))
    assert model.predict_set(X_new, 0.9).any(axis=1).all()
    with pytest.raises(ValueError, match=r"expected at least 9 rows of 'rare' for a coverage of 0.9, got 8"):
        model.predict_set(X_new, 0.9, by_class=True)
