"""Missing values: filled, with an indicator for the default kernel, by one rule in every estimator."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer

import gpclass
from gpclass import (
    GPClassifier,
    GPRegressor,
    IVMClassifier,
    NearestNeighborGPClassifier,
    NearestNeighborGPRegressor,
    NullCategoryClassifier,
    SparseGPClassifier,
    ViewVotingClassifier,
)
from gpclass.estimators._features import Added, FeatureMap
from gpclass.kernels import RBF, Categorical, Matern, View
from gpclass.plotting import log_relevance

N = 60
rng = np.random.default_rng(3)
WHOLE = rng.normal(size=(N, 3))
Y = (WHOLE[:, 0] + WHOLE[:, 1] > 0).astype(int)
X = WHOLE.copy()
X[::5, 0] = X[3::7, 2] = np.nan


def test_the_default_kernel_sees_medians_and_indicators_that_are_centred_but_not_scaled():
    """The twin: the features by hand."""
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    gaps = np.isnan(X[:, [0, 2]]).astype(float)
    features = np.hstack([(filled - filled.mean(axis=0)) / filled.std(axis=0), gaps - gaps.mean(axis=0)])
    plain = GPClassifier(100.0 * Matern(np.sqrt(5.0), nu=2.5), hyper="fixed", standardize=False).fit(features, Y)
    model = GPClassifier("matern", hyper="fixed").fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(features), rtol=1e-10)
    assert model.input_names_ == ["x0", "x1", "x2", "x0 (missing)", "x2 (missing)"]
    assert model.n_features_in_ == 3
    assert model.relevance_.shape == log_relevance(model)[0].shape == (3,)


def test_values_missing_in_new_rows_alone_are_filled():
    model = GPClassifier("matern", hyper="fixed").fit(X, Y)
    new = WHOLE[:4].copy()
    new[:, 1] = np.nan
    filled = new.copy()
    filled[:, 1] = np.median(X[:, 1])
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(filled))


@pytest.mark.parametrize(
    "kernel", [30.0 * RBF([1.0, 2.0, 3.0]), 30.0 * View(RBF(), [0, 2]) + 2.0 * View(RBF(), [1])], ids=["ard", "views"]
)
@pytest.mark.parametrize("standardize", [True, False])
def test_a_kernel_that_is_given_keeps_its_columns(kernel, standardize):
    imputer = SimpleImputer(strategy="median").fit(X)
    settings = {"hyper": "fixed", "standardize": standardize}
    filled = GPClassifier(kernel, **settings).fit(imputer.transform(X), Y)
    model = GPClassifier(kernel, **settings).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), filled.predict_proba(imputer.transform(X)), rtol=1e-12)
    assert model.input_names_ == ["x0", "x1", "x2"]


def test_codes_of_categories_are_filled_by_the_most_frequent():
    codes = np.column_stack([X[:, 0], np.arange(N) % 4])
    codes[codes[:, 1] == 2, 1] = 0.0
    codes[5, 1] = np.nan
    model = GPClassifier(View(RBF(), [0]) * View(Categorical(), [1]), hyper="fixed").fit(codes, Y)
    np.testing.assert_array_equal(model._inputs.feature_map.fills, [np.nanmedian(X[:, 0]), 0.0])


@pytest.mark.parametrize("kernel", [None, 30.0 * RBF(2.0)], ids=["default", "given"])
def test_a_column_without_any_value_is_left_out_by_name(kernel):
    empty = X.copy()
    empty[:, 1] = np.nan
    with pytest.warns(UserWarning, match=r"columns \['x1'\] have no value in any row: they are left out"):
        model = GPClassifier(kernel, hyper="fixed").fit(empty, Y)
    proba = model.predict_proba(X)
    moved = X.copy()
    moved[:, 1] = 1e6
    np.testing.assert_array_equal(model.predict_proba(moved), proba)
    with pytest.raises(ValueError, match=r"expected a column with values, got none in any row of \['x0', 'x1', 'x2'\]"):
        GPClassifier(kernel, hyper="fixed").fit(np.full_like(X, np.nan), Y)


def test_frames_and_arrays_agree():
    model = GPClassifier("matern", hyper="fixed").fit(X, Y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    nullable = frame.astype("Float64")
    assert nullable["a"].isna().any()
    for given in (frame, nullable, frame.astype(object).where(frame.notna(), None)):
        other = GPClassifier("matern", hyper="fixed").fit(given, Y)
        np.testing.assert_array_equal(other.predict_proba(given), model.predict_proba(X))
        assert other.input_names_ == ["a", "b", "c", "a (missing)", "c (missing)"]
    # With a category beside them, which has a code of its own where it is missing.
    frame["colour"] = np.where(np.arange(N) % 3, "red", None)
    mixed = GPClassifier(hyper="fixed").fit(frame, Y)
    assert mixed.input_names_ == ["a", "b", "c", "colour", "a (missing)", "c (missing)"]
    assert mixed.relevance_.shape == (4,)


def test_nullable_booleans_are_numbers():
    frame = pd.DataFrame(
        {"a": WHOLE[:, 0], "b": pd.array(np.where(np.arange(N) % 3, WHOLE[:, 1] > 0, None), "boolean")}
    )
    model = GPClassifier(hyper="fixed").fit(frame, Y)
    assert model.input_names_ == ["a", "b", "b (missing)"]
    assert model.categories_ == {}
    assert np.isfinite(model.predict_proba(frame)).all()


ESTIMATORS = {
    "sparse": SparseGPClassifier(hyper="fixed", n_inducing=20),
    "ivm": IVMClassifier(hyper="fixed", n_active=20),
    "nearest": NearestNeighborGPClassifier(hyper="fixed", n_neighbors=10),
    "regression": GPRegressor(hyper="fixed"),
    "views": ViewVotingClassifier(GPClassifier(hyper="fixed"), {"a": [0, 1], "b": [2]}),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_keep_the_rule_in_their_files(name, tmp_path):
    model = ESTIMATORS[name].fit(X, Y)
    assert model.score(X, Y) > (0.3 if name == "regression" else 0.75)
    again = gpclass.load(gpclass.save(model, tmp_path / "m.gpclass"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_rows_kept_are_in_the_columns_of_x():
    assert SparseGPClassifier(hyper="fixed", n_inducing=9).fit(X, Y).inducing_rows_.shape == (9, 3)
    model = IVMClassifier(hyper="fixed", n_active=9).fit(X, Y)
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    np.testing.assert_allclose(model.active_rows_, filled[model.active_])
    given = SparseGPClassifier(hyper="fixed", inducing=WHOLE[:8]).fit(X, Y)
    np.testing.assert_allclose(given.inducing_rows_, WHOLE[:8])


@pytest.mark.parametrize("estimator", [IVMClassifier(hyper="fixed", n_active=30), ESTIMATORS["nearest"]])
def test_batches_are_filled_as_the_first_one(estimator):
    first, later = X[:30], X[30:].copy()
    later[:, 1] = np.nan
    filled = later.copy()
    filled[:, 1] = np.median(first[:, 1])
    answers = []
    for batch in (later, filled):
        model = clone(estimator)
        answers.append(model.partial_fit(first, Y[:30]).partial_fit(batch, Y[30:]).predict_proba(X))
    np.testing.assert_array_equal(*answers)


def test_rows_without_labels_may_have_gaps_too():
    some = np.where(np.arange(N) % 3, -1, Y)
    model = NullCategoryClassifier(30.0 * RBF(2.0), hyper="fixed", n_active=30).fit(X, some)
    assert np.mean(model.transduction_ == Y) > 0.7


def test_features_by_hand():
    rows = np.array([[1.0, 2.0], [np.nan, 2.0], [3.0, 5.0], [9.0, 2.0]])
    made = FeatureMap.fit(rows, np.array([False, True]), {}, {}, adds=True)
    assert made.added == (Added(0, "missing"),)
    expected = [[1.0, 2.0, 0.0], [3.0, 2.0, 1.0], [3.0, 5.0, 0.0], [9.0, 2.0, 0.0]]
    np.testing.assert_array_equal(made.transform(rows, {}), expected)
    np.testing.assert_array_equal(made.transform(np.array([[0.0, np.nan]]), {}), [[0.0, 2.0, 0.0]])
    np.testing.assert_array_equal(made.by_column(np.array([[1.0, 2.0, 7.0]])), [[7.0, 2.0]])
    whole = rows[[0, 2, 3]]
    none_missing = FeatureMap.fit(whole, np.array([False, True]), {}, {}, adds=True)
    assert none_missing.transform(whole, {}) is whole


@pytest.mark.parametrize(
    "estimator",
    [
        GPClassifier("rbf", hyper="fixed", inference="laplace"),
        NearestNeighborGPClassifier(hyper="fixed", random_state=0),
        NearestNeighborGPRegressor(hyper="fixed", random_state=0),
    ],
)
def test_rows_of_weight_0_tell_nothing_of_missing_values(estimator):
    more = np.full((20, 3), 50.0)
    more[:, 1] = np.nan  # a column with all values elsewhere
    longer, weights = np.vstack([X, more]), np.repeat([1.0, 0.0], [N, 20])
    alone = clone(estimator).fit(X, Y, sample_weight=np.ones(N))
    found = clone(estimator).fit(longer, np.append(Y, np.arange(20) % 2), sample_weight=weights)
    assert found._inputs.feature_names == alone._inputs.feature_names
    np.testing.assert_array_equal(found._inputs.feature_map.fills, np.nanmedian(X, axis=0))
    np.testing.assert_allclose(found.predict(X), alone.predict(X))


def test_a_column_with_values_in_rows_of_weight_0_only_is_left_out():
    gaps = X.copy()
    gaps[:40, 1] = np.nan
    weights = np.repeat([1.0, 0.0], [40, 20])
    with pytest.warns(UserWarning, match="no value in any row"):
        found = GPClassifier("rbf", hyper="fixed", inference="laplace").fit(gaps, Y, sample_weight=weights)
    assert np.isinf(found._inputs.scale[1])
