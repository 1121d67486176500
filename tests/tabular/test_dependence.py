"""Partial dependence against scikit-learn's."""

import copy

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.inspection import partial_dependence

from gpclass.tabular import dependence as module
from gpclass.tabular.card_figures import highest, shown_outputs
from gpclass.tabular.dependence import Dependence, dependence, grid
from gpclass.tabular.evaluation import evenly_spaced
from gpclass.tabular.explanation import predictions


class RawClassifier(ClassifierMixin, BaseEstimator):
    """A model of a table as a classifier of frames with missing values."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.model.classes_

    def predict_proba(self, X):
        return predictions(self.model, X)


@pytest.mark.parametrize("column", ["size", "colour"])
def test_it_is_that_of_scikit_learn(model, column, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 40)
    found = dependence(model, column)
    kept, _ = model.schema_.frame(model.sample_)
    rows = kept.iloc[evenly_spaced(len(kept), 40)]
    resolution = {"grid_resolution": 24} if column == "size" else {"categorical_features": ["colour"]}
    values = {} if column == "colour" else {"custom_values": {column: np.array(found.values)}}
    expected = partial_dependence(
        RawClassifier(model), rows, [column], kind="both", method="brute", **resolution, **values
    )
    order = np.argsort(found.values) if column == "colour" else slice(None)
    np.testing.assert_array_equal(np.array(found.values)[order], expected["grid_values"][0])
    np.testing.assert_allclose(found.average[order, 1], expected["average"][0], atol=1e-12)
    np.testing.assert_allclose(found.individual[:, order, 1], expected["individual"][0], atol=1e-12)


def test_values_are_those_of_scikit_learn(model):
    known = model.schema_.frame(model.sample_)[0]["size"].to_numpy()
    expected = partial_dependence(
        RawClassifier(model), model.schema_.frame(model.sample_)[0], ["size"], method="brute", grid_resolution=24
    )
    np.testing.assert_allclose(grid(known), expected["grid_values"][0], rtol=1e-2)  # quantiles by another rule
    np.testing.assert_array_equal(grid(np.array([3.0, 1.0, 3.0])), [1.0, 3.0])


def test_of_many_classes_those_that_vary_most_are_shown(ordinal_model, model, regression_model):
    found = dependence(ordinal_model, "size")
    assert found.individual.shape == (60, 24, 3)
    np.testing.assert_allclose(found.individual.sum(axis=2), 1.0)
    assert shown_outputs(model, []) == [model.positive_position()]
    negative = copy.copy(model)
    negative.positive = model.labels[1 - model.positive_position()]
    assert shown_outputs(negative, []) == [1 - model.positive_position()]
    assert shown_outputs(regression_model, []) == [0]
    assert shown_outputs(ordinal_model, [found]) == [0, 1, 2]

    class Many:
        labels = tuple("abcdefghi")

    curves = np.zeros((2, 3, 9))
    curves[:, 1, 3:] = np.arange(1, 7)
    assert shown_outputs(Many, [Dependence("x", [0, 1, 2], curves)]) == [3, 4, 5, 6, 7, 8]


def test_small_probabilities_fill_the_panel():
    rare = Dependence("x", [0, 1], np.array([[[0.98, 0.02], [0.96, 0.04]]]))
    assert highest([rare], [1]) == pytest.approx(0.044)
    assert highest([rare], [0]) == 1.0


def test_the_band_holds_the_rows_own_curves(model):
    found = dependence(model, "size")
    low, high = found.quantile(0.1), found.quantile(0.9)
    inside = (found.individual >= low) & (found.individual <= high)
    assert np.all(inside.mean(axis=0) >= 0.78)
    assert dependence(model, "colour").deciles is None
