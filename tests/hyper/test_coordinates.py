"""Coordinates of the search for theta: ways to the same optimum."""

import numpy as np
import pytest

from gpclass import GPClassifier, IVMClassifier
from gpclass.datasets import make_rings
from gpclass.hyper import Alternating, Evidence
from gpclass.hyper.coordinates import COORDINATES, Coordinates
from gpclass.hyper.evidence import maximise
from gpclass.hyper.priors import LogPrior
from gpclass.hyper.target import Target
from gpclass.kernels import RBF
from gpclass.likelihoods import Probit

BOUNDS = np.log([[1e-5, 1e5], [0.5, 3.0], [1e-5, 1e5], [1e-5, 1e5]])


@pytest.fixture(params=COORDINATES)
def coordinates(request):
    bounds = BOUNDS.copy()
    bounds[2] = -np.inf, np.inf
    return Coordinates(request.param, np.array([True, True, False, True]), bounds)


def test_there_and_back(coordinates):
    theta = np.array([np.log(1e-4), 0.3, -2.0, np.log(2e4)])
    back, slope = coordinates.back(coordinates.of(theta))
    assert np.allclose(back, theta, rtol=1e-10)
    assert np.all(slope > 0.0)


def test_slope_by_differences(coordinates):
    u, h = coordinates.of(np.array([np.log(0.02), 0.3, -2.0, np.log(30.0)])), 1e-3
    at = [coordinates.back(u + step * h)[0] for step in (-2, -1, 1, 2)]
    numeric = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)
    assert np.allclose(coordinates.back(u)[1], numeric, rtol=1e-9)


def test_they_are_what_the_paper_says():
    """LPJ05 appendix B: theta = log(1 + exp(theta')), and alpha = 1 / (1 + exp(-alpha'))."""
    positive, u = np.array([True]), np.array([0.7])
    softplus = Coordinates("softplus", positive, np.log([[1e-5, 1e5]]))
    assert np.exp(softplus.back(u)[0]) == pytest.approx(np.log(1.0 + np.exp(0.7)))
    sigmoid = Coordinates("sigmoid", positive, np.log([[1e-300, 1.0]]))
    assert np.exp(sigmoid.back(u)[0]) == pytest.approx(1.0 / (1.0 + np.exp(-0.7)))


def test_ranges_end_where_the_bounds_do(coordinates):
    low, high = (coordinates.back(np.clip(end, -800.0, 1e6))[0] for end in coordinates.ranges.T)
    which = coordinates.positive
    assert np.allclose(low[which], coordinates.bounds[which, 0], atol=1e-9)
    assert np.allclose(high[which], coordinates.bounds[which, 1], atol=1e-9)


def test_a_start_on_a_bound_can_leave_it(coordinates):
    theta = np.array([0.0, np.log(3.0), 0.0, 0.0])
    assert np.all(np.isfinite(coordinates.of(theta)))
    assert coordinates.back(coordinates.of(theta))[0][1] == pytest.approx(np.log(3.0), abs=0.011)


def test_a_range_of_one_value_is_left_alone():
    theta = np.array([0.5])
    coordinates = Coordinates("sigmoid", np.array([True]), np.array([[0.5, 0.5]]))
    assert np.array_equal(coordinates.of(theta), theta)
    assert np.array_equal(coordinates.ranges, [[0.5, 0.5]])


def test_endless_ranges_and_optima_at_a_bound():
    X, y = make_rings(60, random_state=0)
    X = X[:, :2]
    endless = RBF(1.0, bounds={"length_scale": (0.1, np.inf)})
    GPClassifier(endless, likelihood=Probit(), hyper=Evidence(coordinates="sigmoid")).fit(X, y == 1)
    tight = RBF(1.0, bounds={"length_scale": (0.4, 3.0)})
    with pytest.warns(UserWarning, match="length_scale at a bound"):
        GPClassifier(tight, likelihood=Probit(), hyper=Evidence(coordinates="sigmoid")).fit(X, y == 1)


@pytest.mark.parametrize("kind", ["softplus", "sigmoid"])
def test_evidence_has_the_same_optimum(kind):
    X, y = make_rings(120, random_state=0)
    kernel = 3.0 * RBF(2.0, bounds={"length_scale": (0.05, 20.0)})
    models = [
        GPClassifier(kernel, likelihood=Probit(), hyper=Evidence(coordinates=c, tol=1e-10)).fit(X, y == 1)
        for c in ("log", kind)
    ]
    assert np.allclose(models[0].hyper_.theta, models[1].hyper_.theta, atol=2e-3)
    assert models[0].hyper_.value == pytest.approx(models[1].hyper_.value, abs=1e-4)


def test_alternating_has_the_same_optimum():
    X, y = make_rings(200, random_state=1)
    found = [
        IVMClassifier(5.0 * RBF(1.0), n_active=40, hyper=Alternating(coordinates=c)).fit(X, y == 1).hyper_.theta
        for c in ("log", "softplus")
    ]
    assert np.allclose(*found, atol=5e-3)


@pytest.mark.parametrize("learner", [Evidence, Alternating])
def test_unknown_coordinates_are_named(learner):
    with pytest.raises(ValueError, match=r"one of \['log', 'softplus', 'sigmoid'\], got 'square'"):
        learner(coordinates="square")


@pytest.mark.parametrize("variance", [100.0, 1e3, 1e4])
@pytest.mark.parametrize("fixed", [True, False])
def test_softplus_finds_its_way_from_large_parameters(variance, fixed):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    kernel = variance * RBF(1.0, fixed=fixed)
    log, softplus = (
        GPClassifier(kernel, hyper=Evidence(prior=None, coordinates=c)).fit(X, X[:, 0] > 0).hyper_
        for c in ("log", "softplus")
    )
    assert softplus.converged
    assert softplus.value == pytest.approx(log.value, abs=1e-4)
    assert np.allclose(softplus.theta, log.theta, atol=0.02)


def test_a_slope_that_is_left_is_no_optimum():
    """A latent with its top at x = e^10, which steps of x hardly come nearer to."""

    def latent(theta, init):
        return float(-0.01 * (theta[0] - 10.0) ** 2), -0.02 * (theta - 10.0), init

    start, bounds = np.zeros(1), np.log([[1e-5, 1e5]])
    found = {}
    for kind in ("log", "softplus"):
        target = Target(latent, LogPrior((), start), bounds, of_theta=False)
        found[kind] = maximise(target, start, 200, 1e-7, Coordinates(kind, np.array([True]), bounds))
    assert found["log"].converged
    assert found["log"].theta[0] == pytest.approx(10.0, abs=1e-2)
    assert found["softplus"].theta[0] < 9.5
    assert not found["softplus"].converged


def test_an_optimum_at_a_bound_has_a_slope():
    def slope(theta, init):
        return float(theta[0]), np.ones(1), init

    start, bounds = np.zeros(1), np.log([[0.1, 10.0]])
    for kind in COORDINATES:
        target = Target(slope, LogPrior((), start), bounds, of_theta=False)
        found = maximise(target, start, 200, 1e-7, Coordinates(kind, np.array([True]), bounds))
        assert found.converged
        assert found.theta[0] == pytest.approx(np.log(10.0), abs=1e-3)
