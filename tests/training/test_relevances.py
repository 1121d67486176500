"""Columns that a model chooses: scores against differences and permutations, promises, and sparse problems."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

from gpclass import GPClassifier, GPRegressor
from gpclass.hyper import Evidence, Objective
from gpclass.inference import VB, DensePrior
from gpclass.inference.problem import Problem
from gpclass.kernels import Additive, Categorical, Matern, Quantiles, View
from gpclass.likelihoods import MultinomialProbit, Probit
from gpclass.tabular import TableModel
from gpclass.training import default_kernel
from gpclass.training.monitor import SILENT
from gpclass.training.relevances import (
    Optimum,
    add_all_columns,
    choose_columns,
    column_scores,
    cosines,
    on_columns,
    promised_gains,
    slope_in_covariance,
)


def sparse_rows(n, p, seed=0):
    """Rows of which column 7 has a linear and column 30 an even effect on the latent value."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 7] + (X[:, 30] ** 2 - 1.0) / np.sqrt(2.0) + 0.2 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def sparse():
    X, f = sparse_rows(150, 60)
    return X, (f > 0.0).astype(int)


def optimum(X, y, kernel=None, max_rows=350):
    kernel = 100.0 * Matern(np.sqrt(X.shape[1]), nu=2.5) if kernel is None else kernel
    objective = Objective(Problem(kernel, Probit(), X, y, 1), VB(), VB())
    return Optimum(objective, Evidence(max_rows=max_rows)(objective, np.random.default_rng(0)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_slope_of_the_evidence_towards_a_function_of_a_column(n_classes):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 3))
    y = np.digitize(X[:, 0], [0.0] if n_classes == 2 else [-0.5, 0.5])
    likelihood, n_latent = (Probit(), 1) if n_classes == 2 else (MultinomialProbit(), 3)
    objective = Objective(Problem(2.0 * Matern(2.0, nu=2.5), likelihood, X, y, n_latent), VB(), VB())
    model = Optimum(objective, Evidence(max_iter=1)(objective, rng))
    phi = cosines(X)[:, :, 1]
    k = phi.T @ phi

    def evidence(w):
        return VB()(DensePrior(model.kernel(X) + w * k, n_latent), y, likelihood, None, False).objective

    slope = (evidence(1e-3) - evidence(-1e-3)) / 2e-3
    assert np.sum(slope_in_covariance(model, None) * k) == pytest.approx(slope, rel=1e-4)


def test_scores_are_in_standard_deviations_of_random_orders():
    rng = np.random.default_rng(2)
    root = rng.standard_normal((50, 20))
    G = root @ root.T
    G = G - G.mean(axis=0) - G.mean(axis=1)[:, None] + G.mean()
    column = rng.standard_normal((50, 1))
    phi = cosines(column)[:, :, 0]
    drawn = [np.sum(G * (phi[:, order].T @ phi[:, order])) for order in (rng.permutation(50) for _ in range(4000))]
    expected = (np.sum(G * (phi.T @ phi)) - np.mean(drawn)) / np.std(drawn)
    assert column_scores(G, column)[0] == pytest.approx(expected, abs=0.1 + 0.1 * abs(expected))


def test_a_column_that_does_not_vary_scores_nothing():
    G = np.diag(np.arange(6.0)) - 2.5
    assert column_scores(G, np.ones((6, 2))).tolist() == [0.0, 0.0]


def test_promised_gain_is_that_of_the_best_variance():
    s, q = 2.0, 5.0

    def loss(w):
        return 0.5 * np.log1p(w * s) - 0.5 * w * q**2 / (1.0 + w * s)

    best = -minimize_scalar(loss, bounds=(0.0, 100.0), method="bounded", options={"xatol": 1e-8}).fun
    # The slope at w = 0 in units of its standard deviation s / sqrt(2), as q^2 / s is chi squared by chance.
    score = 0.5 * (q**2 - s) / (s / np.sqrt(2.0))
    np.testing.assert_allclose(promised_gains(np.array([score, -1.0])), [best, 0.0], rtol=1e-6, atol=1e-12)


def test_kernels_on_some_columns():
    rng = np.random.default_rng(3)
    X, scales = rng.standard_normal((9, 5)), np.arange(1.0, 6.0)
    shape = Additive(1.0) + 0.5 * Matern(2.0, nu=2.5)
    kernel = on_columns((3.0 * Quantiles(shape)).bind(X), [4, 1], scales)
    own = 3.0 * Quantiles(Additive([5.0, 2.0]) + 0.5 * Matern([5.0, 2.0], nu=2.5)).bind(X[:, [4, 1]])
    np.testing.assert_allclose(kernel(X), own(X[:, [4, 1]]))
    assert kernel.used_columns(5).tolist() == [False, True, False, False, True]


def test_categories_stay():
    table = np.column_stack([np.random.default_rng(4).standard_normal((8, 2)), np.arange(8) % 2, np.arange(8)])
    kernel = 2.0 * (View(Matern(1.0, nu=2.5), columns=[0, 1, 3]) * View(Categorical(1.0), columns=[2]))
    chosen = on_columns(kernel.bind(table), [3], np.full(4, 2.0))
    own = 2.0 * (View(Matern([2.0], nu=2.5), columns=[3]) * View(Categorical(1.0), columns=[2]))
    np.testing.assert_allclose(chosen(table), own(table))


@pytest.mark.parametrize("kernel", [None, "additive"])
def test_few_relevant_inputs_are_found_and_others_left_out(sparse, kernel):
    X, f = sparse_rows(500, 60, seed=1)
    y = (f > 0.0).astype(int)
    model = GPClassifier(kernel, random_state=0).fit(*sparse)
    assert np.flatnonzero(model.relevance_).tolist() == [7, 30]
    loss = -np.mean(model.predict_log_proba(X)[np.arange(500), y])
    assert loss < 0.3  # 0.66 with one length-scale for all


def test_slopes_that_promise_little_do_not_raise_what_a_column_must_promise(monkeypatch, sparse):
    asked = []
    monkeypatch.setattr(default_kernel, "choose_columns", lambda _, __, least, *rest: asked.append(least))
    for promised in (0.0, 8.0, 100.0):
        monkeypatch.setattr(default_kernel, "_largest_gain", lambda *_, promised=promised: promised)
        GPClassifier(random_state=0).fit(*sparse)
    # 60 inputs promise 3 nats by chance.
    np.testing.assert_allclose(asked, [5.0, 0.0, 0.0])


def test_regression_chooses_columns_too():
    model = GPRegressor(random_state=0).fit(*sparse_rows(100, 60))
    assert np.flatnonzero(model.relevance_).tolist() == [7, 30]


@pytest.mark.parametrize("labels", ["noise", "all inputs alike"])
def test_no_columns_are_chosen_where_none_stands_out(labels):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 60))
    y = (rng.standard_normal(150) if labels == "noise" else X.sum(axis=1)) > 0.0
    found = choose_columns(optimum(X, y.astype(int)), Evidence(), 0.0, rng, SILENT)
    assert found is None or labels != "noise"
    assert np.all(GPClassifier(random_state=0).fit(X, y).relevance_ > 0.0)


def test_a_function_of_all_columns_is_added_where_it_helps(sparse):
    rng = np.random.default_rng(6)
    isotropic = optimum(*sparse)
    few = choose_columns(isotropic, Evidence(), 5.0, rng, SILENT)
    assert few.found.n_evaluations > isotropic.found.n_evaluations
    assert add_all_columns(few, isotropic, Evidence(), rng, SILENT) is None
    X, _ = sparse_rows(300, 40)
    y = (3.0 * (X[:, 7] ** 2 - 1.0) + X @ rng.standard_normal(40) / 3.0 > 0.0).astype(int)
    model = GPClassifier(random_state=0).fit(X, y)
    assert model.relevance_.argmax() == 7
    assert model.kernel_.label == "sum"
    assert np.all(model.relevance_ > 0.0)


def test_rows_are_thinned_for_scores(sparse):
    X, y = sparse
    model = optimum(X, y, max_rows=80)
    assert slope_in_covariance(model, 80).shape == (80, 80)
    assert choose_columns(model, Evidence(max_rows=80), 0.0, np.random.default_rng(0), SILENT) is not None


def test_the_note_of_a_table_tells(sparse):
    X, y = sparse
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(60)]).assign(y=np.where(y, "up", "down"))
    assert "2 of 60 columns drive the model: 'x7', 'x30'" in TableModel("y").fit(table).notes_
    assert not [note for note in TableModel("y").fit(table.iloc[:, 7:8].assign(y=table["y"])).notes_ if "drive" in note]
