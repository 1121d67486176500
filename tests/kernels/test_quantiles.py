"""The kernel of normal scores: invariance, ties, rows beyond the training rows, refusals, saved files."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.datasets import load_wine

import gpclass
from gpclass import GPClassifier
from gpclass.kernels import RBF, Matern, Quantiles, View
from gpclass.kernels.quantiles import Distribution


def scores_of(ranks):
    scores = norm.ppf(ranks / len(ranks))
    return (scores - scores.mean()) / scores.std()


def test_positions_are_normal_scores_with_mean_zero_and_variance_one():
    X = np.array([[3.0], [1.0], [1.0], [2.0], [7.0]])
    expected = scores_of(np.array([3.5, 1.0, 1.0, 2.5, 4.5]))  # the rows below, and half of those with the same value
    np.testing.assert_allclose(Distribution.of(X)(X)[:, 0], expected, atol=1e-12)


def test_monotone_transformations_of_an_input_change_no_covariance():
    X = np.random.default_rng(0).lognormal(size=(40, 3))
    Z = X[::4]
    one = Quantiles(RBF(0.7)).bind(X)
    other = Quantiles(RBF(0.7)).bind(np.log(X))
    np.testing.assert_allclose(one(X, Z), other(np.log(X), np.log(Z)), atol=1e-12)


def test_many_values_are_thinned_and_missing_ones_passed_on():
    X = np.random.default_rng(1).standard_normal((2000, 1))
    X[:3] = np.nan
    learned = Distribution.of(X)
    assert len(learned.values[0]) == 200
    ranks = np.argsort(np.argsort(X[3:, 0])) + 0.5
    off = np.abs(learned(X[3:])[:, 0] - scores_of(ranks))
    assert off.mean() < 0.01
    assert off.max() < 0.25  # between the last two values of a tail
    assert np.all(np.isnan(learned(X[:3])))


def test_rows_far_beyond_the_training_rows_stay_far_away():
    X = np.random.default_rng(2).standard_normal((30, 2))
    kernel = Quantiles(Matern(1.0, nu=2.5)).bind(X)
    assert kernel(X, np.array([[50.0, 0.0], [-50.0, 0.0]])).max() < 1e-10
    # A constant column says nothing within the training rows.
    flat = np.ones((5, 1))
    np.testing.assert_array_equal(Quantiles(RBF()).bind(flat)(flat), np.ones((5, 5)))


def test_refusals_say_what_was_expected():
    X = np.random.default_rng(3).standard_normal((10, 2))
    with pytest.raises(ValueError, match=r"knows no distribution of the inputs yet: fit an estimator, or call bind"):
        Quantiles(RBF())(X)
    with pytest.raises(ValueError, match="knows 2 columns, got 3"):
        Quantiles(RBF()).bind(X)(np.ones((4, 3)))
    frame = pd.DataFrame({"a": X[:, 0], "b": ["u", "v"] * 5})
    with pytest.raises(ValueError, match=r"expects numbers, got 1 columns of categories; write View\(Quantiles"):
        GPClassifier(Quantiles(View(RBF(), dtype="number"))).fit(frame.assign(b=frame.b.astype("category")), [0, 1] * 5)


def test_distributions_tell_kernels_apart():
    X = np.random.default_rng(4).standard_normal((10, 2))
    assert Quantiles(RBF()).bind(X) == Quantiles(RBF()).bind(X.copy())
    assert Quantiles(RBF()).bind(X) != Quantiles(RBF()).bind(2.0 * X)


def test_a_classifier_by_ranks_is_saved_with_its_distribution(tmp_path):
    X, y = load_wine(return_X_y=True)
    model = GPClassifier("quantiles", random_state=0).fit(X[::3], y[::3])
    assert isinstance(model.kernel_.kernel, Quantiles)
    assert model.score(X, y) > 0.95
    assert model.relevance_.shape == (13,)
    gpclass.save(model, tmp_path / "ranks.gpc")
    np.testing.assert_allclose(gpclass.load(tmp_path / "ranks.gpc").predict_proba(X), model.predict_proba(X), atol=1e-9)
