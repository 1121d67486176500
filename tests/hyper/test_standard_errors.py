"""Standard errors of theta: computed when asked for, and equal to the inverse curvature of the log posterior."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gpclass import GPClassifier, GPRegressor
from gpclass.hyper import Evidence, HyperResult
from gpclass.hyper.search import Effort
from gpclass.kernels import RBF
from tests.conftest import central_difference

from .conftest import PRIOR

X, y = (part[::3] for part in load_iris(return_X_y=True))
#: Standard errors that version 0.1 computed at the end of each search.
VERSION_0_1 = {
    "isotropic": (GPClassifier(5.0 * RBF(1.0)), [1.1398284352, 0.1674753113]),
    "ard": (
        GPClassifier(5.0 * RBF(np.ones(4))),
        [1.2465058519, 1.4186096857, 1.5093855606, 0.9020269237, 0.3323468178],
    ),
    "default": (GPClassifier("matern"), [1.1283682594, 0.3067545061]),
    "ep": (GPClassifier(5.0 * RBF(1.0), inference="ep"), [1.6953796771, 0.3720960829]),
}


@pytest.fixture
def calls(monkeypatch):
    """The thetas at which covariances were computed."""
    seen, original = [], Evidence.covariance_at

    def counted(self, objective, theta):
        seen.append(theta)
        return original(self, objective, theta)

    monkeypatch.setattr(Evidence, "covariance_at", counted)
    return seen


@pytest.mark.parametrize("model", [GPClassifier(), GPClassifier(5.0 * RBF(1.0)), GPRegressor()])
def test_covariance_is_computed_once_and_only_when_asked_for(model, calls):
    hyper = model.fit(X[:, :2], X[:, 2] if isinstance(model, GPRegressor) else y).hyper_
    assert len(calls) == 0
    first = hyper.standard_error
    assert len(calls) == 1
    np.testing.assert_array_equal(hyper.standard_error, first)
    np.testing.assert_array_equal(np.sqrt(np.diag(hyper.covariance)), first)
    assert len(calls) == 1


def test_a_search_computes_none(regression, calls):
    found = Evidence(prior=PRIOR)(regression, np.random.default_rng(0), effort=Effort(1))
    assert len(calls) == 0
    copied = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copied.covariance, found.covariance)
    assert len(calls) == 2


@pytest.mark.parametrize("name", VERSION_0_1)
def test_values_are_those_of_version_0_1(name):
    model, expected = VERSION_0_1[name]
    np.testing.assert_allclose(model.fit(X, y).hyper_.standard_error, expected, rtol=1e-5)


def test_covariance_is_the_inverse_curvature(regression):
    search = Evidence(prior=PRIOR, tol=1e-12)
    found = search(regression, np.random.default_rng(0))
    target = search.target(regression)

    def slope(theta):
        return central_difference(lambda near: target(near)[0], theta, step=1e-3)

    hessian = central_difference(slope, found.theta, step=1e-2)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(-hessian), rtol=2e-3)


@pytest.mark.filterwarnings("ignore:learning ended with length_scale at a bound")
def test_entries_at_a_bound_have_none():
    bounded = 5.0 * RBF(1.0, bounds={"length_scale": (0.5, 1.0)})
    model = GPClassifier(bounded, inference="laplace", likelihood="softmax").fit(X, y)
    np.testing.assert_allclose(model.hyper_.standard_error, [1.1292496357, np.nan], rtol=1e-5)


def test_none_where_no_log_posterior_was_maximised(regression):
    for hyper in ("fixed", "loo"):
        model = GPClassifier(5.0 * RBF(1.0), hyper=hyper).fit(X, y)
        assert model.hyper_.covariance is None
        assert model.hyper_.standard_error is None
    assert HyperResult(np.zeros(2), 0.0, 1, True).standard_error is None
    found = Evidence()(regression, np.random.default_rng(0))
    assert replace(found, objective=None).covariance is None  # as after loading a model without its rows
