"""Kernels by name, and the family of kernels of ``kernel="auto"``."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import gpclass
from gpclass import GPClassifier, GPRegressor, IVMClassifier
from gpclass.estimators import gp_classifier
from gpclass.evaluation.uncertainty import entropy_split
from gpclass.hyper import Importance
from gpclass.kernels import RBF, Additive, Categorical, Constant, Laplacian, Matern, Quantiles, Sum


@pytest.fixture(scope="module")
def table():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order[:90]], y[order[:90]], X[order[90:]], y[order[90:]]


@pytest.fixture(scope="module")
def family(table):
    X, y, _, _ = table
    return GPClassifier("auto", random_state=0).fit(X, y)


@pytest.mark.parametrize(("name", "kind"), [("matern", Matern), ("rbf", RBF), ("laplacian", Laplacian)])
def test_a_name_is_a_default_kernel_of_that_shape(table, name, kind):
    X, y, X_test, y_test = table
    model = GPClassifier(name, random_state=0).fit(X, y)
    assert isinstance(model.kernel_.kernel, kind)
    assert model.hyper_.members == ()
    # It is learned on standardised inputs: their units do not matter.
    again = GPClassifier(name, random_state=0).fit(1000.0 * X + 7.0, y)
    np.testing.assert_allclose(again.predict_proba(1000.0 * X_test + 7.0), model.predict_proba(X_test), atol=1e-6)
    assert model.score(X_test, y_test) > 0.9


def test_additive_has_a_part_for_each_input_and_one_for_all(table):
    X, y, _, _ = table
    shape = GPClassifier("additive", random_state=0).fit(X, y).kernel_.kernel
    assert isinstance(shape, Sum)
    assert isinstance(shape.children[0], Additive)


def test_the_default_is_the_family(table, family):
    X, y, X_test, _ = table
    again = GPClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X_test), family.predict_proba(X_test))


def test_other_estimators_know_the_names(table):
    X, y, _, _ = table
    assert isinstance(IVMClassifier("laplacian", n_active=30).fit(X, y).kernel_.kernel, Laplacian)
    assert isinstance(GPRegressor("rbf").fit(X[:, :3], X[:, 3]).kernel_.kernel, RBF)


@pytest.mark.parametrize(
    ("estimator", "names"), [(GPClassifier("cubic"), "'auto', 'matern'"), (IVMClassifier("auto"), "'matern'")]
)
def test_unknown_names_are_refused(table, estimator, names):
    with pytest.raises(ValueError, match=f"kernel must be a kernel, None or one of .{names}.*, got"):
        estimator.fit(*table[:2])


@pytest.fixture(scope="module")
def additive(table):
    """The first member by itself."""
    X, y, _, _ = table
    return GPClassifier("additive", inference="ep", random_state=0).fit(X, y)


NAMES = ["additive", "quantiles", "linear", "constant"]


def test_members_are_an_additive_kernel_its_twin_on_normal_scores_a_line_and_a_constant(family, additive):
    members = family.hyper_.members
    assert [member.name for member in members] == NAMES
    assert sum(member.weight for member in members) == pytest.approx(1.0)
    np.testing.assert_array_equal(members[0].kernel.theta, additive.kernel_.theta)
    assert isinstance(members[1].kernel.kernel, Quantiles)
    assert members[2].kernel.kernel.length_scale == 8.0 * np.sqrt(4)
    assert isinstance(members[3].kernel, Constant)
    # The labels of iris are no matter of chance.
    assert members[3].weight == 0.0
    assert family.kernel_ is max(members, key=lambda member: member.weight).kernel


def test_normal_scores_are_learned_to_the_optimum(table, family):
    """The second kernel starts at the optimum of the first: where it ends no other start finds more."""
    X, y, _, _ = table
    kernel = family.hyper_.members[1].kernel
    alone = GPClassifier("quantiles", inference="ep", random_state=0).fit(X, y)
    model = GPClassifier(kernel, inference="ep", hyper="fixed", standardize=True).fit(X, y)
    assert model.log_evidence_ > alone.log_evidence_ - 0.3  # their priors differ a little


def test_probabilities_are_weighted_means_of_the_members(table, family, additive):
    _, _, X_test, _ = table
    weights = [member.weight for member in family.hyper_.members]
    by_member = [
        np.exp(part.calibration.log_proba(part.likelihood, *part.posterior.latent(family._rows(X_test))))
        for part in family.posterior_.members
    ]
    in_order = sorted([weight for weight in weights if weight > 0.0], reverse=True)
    expected = sum(weight * part for weight, part in zip(in_order, by_member, strict=True))
    np.testing.assert_allclose(family.predict_proba(X_test), expected, atol=1e-12)
    first = sorted(weights, reverse=True).index(weights[0])
    np.testing.assert_allclose(by_member[first], additive.predict_proba(X_test), atol=1e-9)


def test_weights_are_those_of_the_largest_leave_one_out_probability(table, family):
    _, y, _, _ = table
    weights = np.array([part.weight for part in family.posterior_.members])
    own = np.array(
        [
            GPClassifier(member.kernel, inference="ep", hyper="fixed", standardize=True)
            .fit(*table[:2])
            .loo_proba_[np.arange(len(y)), y]
            for member in sorted(family.hyper_.members, key=lambda one: -one.weight)[: len(weights)]
        ]
    )
    # At the maximum of sum_n log sum_k w_k p_kn + sum_k a log w_k the slopes in all w_k are n + the sum of all a.
    slopes = (own / (weights @ own)).sum(axis=1) + 0.3 / weights
    np.testing.assert_allclose(slopes, len(y) + 3 * 0.3 + 0.6, rtol=0.02)


def test_a_constant_predicts_the_classes_of_few_rows_whose_inputs_say_nothing():
    behind = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((210, 4)), np.r_[0, 1, (rng.uniform(size=208) < 0.2).astype(int)]
        model = GPClassifier(random_state=seed).fit(X[:10], y[:10])
        shares = np.bincount(y[:10])[y[10:]] / 10
        behind.append(np.log(shares).mean() - model.predict_log_proba(X[10:])[np.arange(200), y[10:]].mean())
    assert np.mean(behind) < 0.05  # 0.077 without it


def test_the_kernel_that_fits_gets_more_weight():
    # Classes that alternate in the logarithm of an input: ranks spread them evenly.
    rng = np.random.default_rng(0)
    X = np.exp(rng.uniform(-3.0, 3.0, (150, 1))) * rng.choice([-1.0, 1.0], (150, 1))
    y = (np.sin(2.0 * np.sign(X[:, 0]) * np.log(np.abs(X[:, 0]))) > 0.0).astype(int)
    members = GPClassifier("auto", random_state=0).fit(X, y).hyper_.members
    assert members[1].weight > 0.6


def test_members_with_weights_of_rows_are_learned_by_vb(table):
    X, y, _, _ = table
    model = GPClassifier("auto", random_state=0).fit(X, y, sample_weight=np.linspace(0.5, 1.5, len(y)))
    assert [member.name for member in model.hyper_.members] == NAMES


def test_family_can_be_saved_cloned_and_split(table, family, tmp_path):
    X, y, X_test, _ = table
    expected = family.predict_proba(X_test)
    gpclass.save(family, tmp_path / "model.gpc")
    np.testing.assert_allclose(gpclass.load(tmp_path / "model.gpc").predict_proba(X_test), expected, atol=1e-9)
    np.testing.assert_allclose(pickle.load(io.BytesIO(pickle.dumps(family))).predict_proba(X_test), expected)
    np.testing.assert_allclose(clone(family).fit(X, y).predict_proba(X_test), expected)
    split = entropy_split(family, X_test)
    assert np.all(split.epistemic >= 0.0)
    assert np.all(split.aleatoric >= 0.0)
    assert family.latent(X_test).mean.shape == (len(X_test), 3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_where_there_is_nothing_to_choose_from_one_kernel_is_learned(table):
    X, y, _, _ = table
    frame = pd.DataFrame({"a": np.where(X[:, 0] > 5.8, "long", "short"), "b": np.where(X[:, 2] > 3, "x", "y")})
    model = GPClassifier().fit(frame, y)
    assert model.hyper_.members == ()
    assert isinstance(model.kernel_.kernel.kernel, Categorical)
    sampled = GPClassifier(hyper=Importance(n_draws=25, n_models=4), random_state=0)
    for model in (GPClassifier(hyper="fixed"), sampled):
        assert isinstance(model.fit(X, y).kernel_.kernel, Matern)


@pytest.mark.parametrize("limit", ["_MOST_WORK", "_MOST_LEARNING"])
def test_with_many_rows_and_classes_one_kernel_is_learned_by_vb(table, monkeypatch, limit):
    X, y, _, _ = table
    monkeypatch.setattr(gp_classifier, limit, 3 * 89.0**3)
    model = GPClassifier(random_state=0).fit(X, y)
    alone = GPClassifier("matern", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    assert len(GPClassifier(random_state=0).fit(X[:-2], y[:-2]).hyper_.members) == 4


def test_categories_keep_their_kernel_beside_normal_scores(table):
    X, y, _, _ = table
    frame = pd.DataFrame({"a": np.where(X[:, 0] > 5.8, "long", "short"), "b": X[:, 2], "c": X[:, 3]})
    _, scored, linear, _ = (member.kernel for member in GPClassifier(random_state=0).fit(frame, y).hyper_.members)
    for kernel, kind in ((scored, Quantiles), (linear, RBF)):
        numbers, categories = kernel.kernel.children
        assert isinstance(numbers.kernel, kind)
        assert numbers.columns == [1, 2]
        assert isinstance(categories.kernel, Categorical)


def test_lines_win_where_classes_are_divided_by_one():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5))
    y = (X @ [2.0, -1.0, 1.0, 0.5, 0.0] + rng.logistic(size=120) > 0.0).astype(int)
    model = GPClassifier(random_state=0).fit(X, y)
    assert model.hyper_.members[2].weight > 0.5
    # Far away nothing is known, as under the other kernels.
    np.testing.assert_allclose(model.predict_proba([[500.0, 0.0, 0.0, 0.0, 0.0]]), 0.5, atol=0.02)
