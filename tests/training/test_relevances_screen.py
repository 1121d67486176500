"""Whether a length-scale for each input is tried at all: by the slopes at the isotropic optimum."""

import numpy as np
import pytest

from gpclass import GPClassifier
from gpclass.hyper import Evidence, Objective
from gpclass.inference import VB
from gpclass.inference.problem import Problem
from gpclass.kernels import Matern
from gpclass.likelihoods import Probit
from gpclass.training.default_kernel import _largest_gain, _needed, _within_reach, with_relevances
from tests.conftest import central_difference


def linear_problem(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, (X[:, 0] - 0.5 * X[:, 1] > 0.0).astype(int)


def test_promised_gain_is_half_the_squared_slope_times_the_prior_variance():
    X, y = linear_problem(40, 3)
    kernel = with_relevances(2.0 * Matern(1.5, nu=2.5), 3)
    problem = Problem(kernel, Probit(), X, y, 1)
    objective = Objective(problem, VB(), VB())

    def evidence(scales):
        theta = np.concatenate([objective.theta[:-3], scales])
        return objective.fit(theta).objective

    slopes = central_difference(evidence, objective.theta[-3:])
    assert _largest_gain(objective, Evidence()) == pytest.approx(0.5 * 0.5**2 * float(slopes @ slopes), rel=1e-4)


def test_relevances_are_learned_with_many_inputs():
    X, y = linear_problem(150, 60)
    model = GPClassifier("matern", random_state=0).fit(X, y)
    assert np.argsort(-model.relevance_)[:2].tolist() == [0, 1]
    assert model.relevance_[0] > 10 * np.median(model.relevance_)


def test_nothing_is_tried_where_all_inputs_matter_alike(monkeypatch):
    X = np.random.default_rng(1).standard_normal((80, 4))
    y = (X.sum(axis=1) > 0.0).astype(int)
    searches = []
    original = Evidence.__call__
    monkeypatch.setattr(Evidence, "__call__", lambda self, *a, **k: searches.append(self) or original(self, *a, **k))
    GPClassifier("matern", random_state=0).fit(X, y)
    assert len(searches) == 1
    searches.clear()
    GPClassifier("matern", random_state=0).fit(X, (X[:, 0] > 0.0).astype(int))
    assert len(searches) > 1


def test_no_more_is_asked_of_relevances_than_can_be_gained():
    X, y = linear_problem(40, 3)
    labels = Problem(Matern(), Probit(), X, y, 1)
    assert _within_reach(20.0, -100.0, labels) == 20.0
    assert _within_reach(20.0, -16.0, labels) == 8.0
    assert _within_reach(20.0, -2.0, labels) == 5.0
    assert _within_reach(20.0, -16.0, Problem(Matern(), Probit(), X, X[:, 0], 1)) == 20.0


def test_many_classes_and_rows_need_a_larger_promise():
    X, y = linear_problem(350, 3)
    one, many = (Problem(Matern(1.5, nu=2.5), Probit(), X, y, n_latent) for n_latent in (1, 10))
    assert _needed(one) == 5.0
    assert _needed(many) == 35.0
