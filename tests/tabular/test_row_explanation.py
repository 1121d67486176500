"""Explanations of single predictions: Shapley values against their definition, and terms of the latent mean."""

from functools import partial
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest

import gpclass
from gpclass.tabular import TableError, TableModel, explain_row, row_explanation
from gpclass.tabular.explanation import predictions
from gpclass.tabular.row_explanation import kept_row, row_of
from gpclass.tabular.shapley import exact, sampled
from gpclass.tabular.tables import from_frame
from tests.tabular.conftest import flowers


def game_of(function, row, background):
    def game(coalitions, numbers):
        return function(np.where(coalitions, row, background[numbers]))

    return game


def from_the_definition(function, row, background):
    """phi_j = sum over S without j of |S|! (p - |S| - 1)! / p! (v(S + j) - v(S)), one set after the other."""
    p = len(row)

    def v(columns):
        mixed = background.copy()
        mixed[:, list(columns)] = row[list(columns)]
        return function(mixed).mean()

    phi = np.zeros(p)
    for j in range(p):
        others = [k for k in range(p) if k != j]
        for size in range(p):
            weight = factorial(size) * factorial(p - size - 1) / factorial(p)
            for S in combinations(others, size):
                phi[j] += weight * (v((*S, j)) - v(S))
    return phi


def interacting(X):
    return 1.0 / (1.0 + np.exp(-X[:, 0] * X[:, 1] - np.maximum(X[:, 2], X[:, 0]) + 0.3 * X[:, -1] ** 2))


@pytest.mark.parametrize("p", [1, 3, 4])
def test_exact_values_are_those_of_the_definition(p):
    rng = np.random.default_rng(0)
    row, background = rng.normal(size=p), rng.normal(size=(7, p))
    function = interacting if p > 2 else lambda X: np.tanh(X[:, 0])
    found = exact(game_of(function, row, background), p, 7)
    np.testing.assert_allclose(found.contributions, from_the_definition(function, row, background), atol=1e-14)
    assert found.base == pytest.approx(function(background).mean())
    assert found.value == pytest.approx(function(row[None])[0])


def test_values_of_a_linear_function_have_a_closed_form():
    rng = np.random.default_rng(1)
    slopes, row, background = rng.normal(size=6), rng.normal(size=6), rng.normal(size=(11, 6))
    game = game_of(lambda X: X @ slopes + 3.0, row, background)
    expected = slopes * (row - background.mean(axis=0))
    np.testing.assert_allclose(exact(game, 6, 11).contributions, expected, atol=1e-13)
    from_orders = sampled(game, 6, 11, 2, rng)
    np.testing.assert_allclose(from_orders.contributions, expected, atol=1e-13)
    np.testing.assert_allclose(from_orders.errors, 0.0, atol=1e-13)


def test_sampled_values_are_unbiased_with_honest_errors_and_add_up():
    rng = np.random.default_rng(2)
    row, background = rng.normal(size=4), rng.normal(size=(20, 4))
    game = game_of(interacting, row, background)
    truth = exact(game, 4, 20)
    found = [sampled(game, 4, 20, 5, np.random.default_rng(seed)) for seed in range(300)]
    for one in found:
        assert one.contributions.sum() == pytest.approx(truth.value - truth.base)
    contributions = np.array([one.contributions for one in found])
    spread, error = contributions.std(axis=0), np.sqrt(np.mean([one.errors**2 for one in found], axis=0))
    np.testing.assert_allclose(error, spread, rtol=0.2)
    np.testing.assert_array_less(np.abs(contributions.mean(axis=0) - truth.contributions), 4 * spread / np.sqrt(300))


def test_contributions_of_a_model_are_those_of_the_definition(model, frame):
    row = frame.iloc[[3]]
    found = explain_row(model, row)
    raw, _ = model.schema_.frame(from_frame(row))
    background, _ = model.schema_.frame(model.sample_)
    names = list(raw.columns)
    k = model.labels.index(found["prediction"])

    def function(X):
        mixed = pd.DataFrame(X, columns=names).astype(background.dtypes)
        return predictions(model, mixed)[:, k]

    expected = from_the_definition(function, raw.iloc[0].to_numpy(object), background.to_numpy(object))
    contributions = {column["column"]: column["contribution"] for column in found["columns"]}
    np.testing.assert_allclose([contributions[name] for name in names], expected, atol=1e-12)
    assert found["exact"]
    assert found["background_rows"] == 60
    assert found["value"] == pytest.approx(model.predict_proba(frame)[3].max())
    assert sum(contributions.values()) == pytest.approx(found["value"] - found["base"])
    sizes = [abs(column["contribution"]) for column in found["columns"]]
    assert sizes == sorted(sizes, reverse=True)


def test_orders_of_columns_are_sampled_where_columns_are_many(model, frame, monkeypatch):
    truth = explain_row(model, frame.iloc[[3]])
    monkeypatch.setattr(row_explanation, "EXACT_COLUMNS", 2)
    monkeypatch.setattr(row_explanation, "_BUDGET", 2000)
    found = explain_row(model, frame.iloc[[3]])
    assert not found["exact"]
    assert sum(own["contribution"] for own in found["columns"]) == pytest.approx(found["value"] - found["base"])
    exact_ones = {own["column"]: own["contribution"] for own in truth["columns"]}
    for own in found["columns"]:
        assert abs(own["contribution"] - exact_ones[own["column"]]) < 5 * own["contribution_se"] + 1e-12
    assert explain_row(model, frame.iloc[[3]]) == found


def models():
    labels = flowers(70)
    three = labels.assign(species=np.where(labels["weight"] > 0.5, "tulip", labels["species"]))
    few = three[["size", "species"]].iloc[:40]
    unlabelled = labels[["size", "species"]].assign(species=labels["species"].where(labels.index % 3 > 0))
    weighted = labels.assign(times=(labels.index % 4).astype(float))
    return {
        "two classes": (TableModel("species"), labels),
        "three classes": (TableModel("species"), three),
        "regression": (TableModel("size", regress=True), labels),
        "nearest": (TableModel("species", engine="nearest"), few),
        "nearest, regression": (
            TableModel("size", regress=True, engine="nearest"),
            labels[["size", "weight"]].dropna().iloc[:40],
        ),
        "active rows": (TableModel("species", engine="ivm"), labels),
        "labelled rows": (TableModel("species", unlabelled=""), unlabelled),
        "weights": (TableModel("species", weights="times"), weighted),
    }


@pytest.fixture
def few_steps(monkeypatch):
    for name in ("NearestNeighborGPClassifier", "NearestNeighborGPRegressor"):
        monkeypatch.setattr(gpclass, name, partial(getattr(gpclass, name), max_iter=3))


@pytest.mark.parametrize("kind", list(models()))
def test_terms_add_up_to_the_latent_mean_and_belong_to_their_rows(kind, fixed_parameters, few_steps):
    own, frame = models()[kind]
    model = own.fit(frame)
    table = from_frame(frame)
    raw, _ = model.schema_.frame(table)
    rows = model.estimator_._rows(model.imputer_.transform(raw))
    posterior = model.estimator_.posterior_
    for i in (0, 7):
        rows_of_terms, terms = posterior.latent_terms(rows[i : i + 1])
        np.testing.assert_allclose(terms.sum(axis=0), posterior.latent(rows[i : i + 1]).mean[0], rtol=1e-6, atol=1e-8)
        members = getattr(posterior, "members", None)
        X = (members[0].posterior if members else posterior).X
        kept = model.training_["positions"] - 1  # rows of the frame
        np.testing.assert_allclose(X, rows[kept])
        assert np.all(rows_of_terms < len(kept))
    found = explain_row(model, frame.iloc[[7]])["rows"]
    assert sum(abs(row["share"]) for row in found) == pytest.approx(1.0)
    cells = table.columns[model.target]
    for row in found:
        target = cells[row["position"] - 1]
        assert row["target"] == (float(target) if model.task_ == "regression" else target)


def test_a_row_speaks_for_its_own_label(model, frame):
    for i in (3, 4, 5):
        found = explain_row(model, frame.iloc[[i]])
        first = found["rows"][0]
        assert (first["share"] > 0) == (first["target"] == found["prediction"])


def test_models_without_training_rows_list_none(fixed_parameters):
    found = explain_row(TableModel("species", engine="sparse").fit(flowers(60)), flowers(60).iloc[[2]])
    assert found["rows"] == []
    assert len(found["columns"]) == 3


def test_kept_rows_are_found_by_their_position(model, frame):
    assert kept_row(model, 8).columns["plant"] == ["plant 7"]
    surprising = model.surprising_[0]
    model_with_few = TableModel("species")
    model_with_few.__dict__ = model.__dict__ | {"sample_": model.sample_.subset([0, 1])}
    assert kept_row(model_with_few, surprising["position"]).columns["plant"] == [surprising["cells"]["plant"]]
    with pytest.raises(TableError, match=r"expected a row among the 60 that the model keeps \(1, 2, .*got 61"):
        kept_row(model, 61)
    assert row_of(from_frame(frame), 60).columns["plant"] == ["plant 59"]
    with pytest.raises(TableError, match="expected a row of the table from 1 to 60, got 0"):
        row_of(from_frame(frame), 0)
    with pytest.raises(TableError, match="expected one row to explain, got 2"):
        explain_row(model, frame.iloc[:2])
