"""Searches that start near an optimum whose covariance is known roughly."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gpclass import GPClassifier, IVMClassifier, SparseGPClassifier
from gpclass.hyper import Evidence, Objective
from gpclass.hyper.evidence import maximise_near
from gpclass.hyper.results import Start
from gpclass.hyper.search import Effort
from gpclass.hyper.target import Target
from gpclass.inference import EP, VB
from gpclass.inference.problem import Problem
from gpclass.kernels import RBF
from gpclass.likelihoods import MultinomialProbit
from gpclass.training.default_kernel import coarse_optimum
from gpclass.training.monitor import SILENT

RNG = np.random.default_rng(0)
MODE, COVARIANCE = np.array([1.0, -2.0, 0.5]), np.array([[1.0, 0.6, 0.0], [0.6, 0.5, 0.1], [0.0, 0.1, 0.2]])


def quadratic(bounds=((-9.0, 9.0),) * 3):
    """The log density of a normal distribution."""

    def evaluate(theta, state):
        slope = np.linalg.solve(COVARIANCE, MODE - theta)
        return -0.5 * (MODE - theta) @ slope, slope, state

    return Target(evaluate, lambda theta, of_theta: (0.0, np.zeros(3)), np.array(bounds), of_theta=False)


def test_with_the_right_covariance_the_first_step_is_newtons():
    target = quadratic()
    found = maximise_near(target, Start(MODE + np.array([0.5, 0.5, -0.2]), COVARIANCE), 50)
    np.testing.assert_allclose(found.theta, MODE, atol=1e-6)
    assert found.converged
    assert target.n_evaluations == 2


def test_with_a_wrong_covariance_the_optimum_is_found_to_a_tenth_of_a_standard_deviation():
    target = quadratic()
    found = maximise_near(target, Start(MODE + 2.0, np.diag([0.1, 2.0, 0.5])), 50)
    assert found.converged
    off = found.theta - MODE
    assert np.sqrt(off @ np.linalg.solve(COVARIANCE, off)) < 0.1
    assert target.n_evaluations < 15


def test_the_covariance_on_the_way_is_that_of_the_density():
    found = maximise_near(quadratic(), Start(MODE + 2.0, np.eye(3)), 50)
    again = quadratic()
    assert maximise_near(again, Start(MODE + 1.0, found.rough_covariance), 50).converged
    assert again.n_evaluations < 6


@pytest.fixture(scope="module")
def objective():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = Problem(100.0 * RBF(2.0), MultinomialProbit(), X[::2], y[::2], 3)
    return Objective(problem, VB(), VB())


def test_a_search_from_near_ends_where_one_from_the_starting_values_does(objective):
    cold = Evidence()(objective, RNG)
    effort = Effort(start=Start(cold.theta + np.array([0.4, -0.2]), cold.rough_covariance))
    near = Evidence()(objective, RNG, effort=effort)
    assert near.converged
    assert near.value > cold.value - 0.01
    assert np.all(np.abs(near.theta - cold.theta) < 0.15 * cold.standard_error)
    assert near.n_evaluations < cold.n_evaluations


def test_an_optimum_at_a_bound_is_found_all_the_same(objective):
    problem = objective.problem
    kernel = 100.0 * RBF(2.0, bounds={"length_scale": (1.9, 2.1)})
    bounded = replace(objective, problem=replace(problem, kernel=kernel))
    cold = Evidence()(bounded, RNG)
    assert cold.at_bounds == ("length_scale",)
    near = Evidence()(bounded, RNG, effort=Effort(start=Start(bounded.theta, np.eye(2))))
    assert near.at_bounds == ("length_scale",)
    np.testing.assert_allclose(near.theta, cold.theta, atol=1e-2)


def test_a_few_rows_give_a_start(objective):
    many = replace(objective, learner=EP(tol=1e-2))
    coarse = coarse_optimum(many, VB(tol=1e-3), Evidence(), RNG, SILENT)
    whole = Evidence()(many, RNG)
    off = coarse.theta - whole.theta
    # Laplace's evidence is not EP's, but its optimum is within a few standard deviations.
    assert off @ np.linalg.solve(coarse.start.covariance, off) < 9.0
    # The same engine on nearly as many rows would only do the same work twice.
    assert coarse_optimum(objective, VB(tol=1e-3), Evidence(), RNG, SILENT) is None


@pytest.mark.parametrize("estimator", [GPClassifier(), IVMClassifier(n_active=15), SparseGPClassifier(n_inducing=15)])
def test_models_do_not_keep_what_a_search_could_go_on_from(estimator):
    X, y = load_iris(return_X_y=True)
    assert estimator.fit(X[::3], y[::3]).hyper_.state is None
