"""GPRegressor against scikit-learn's exact regression and against its own promises."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from gpclass import GPRegressor
from gpclass.kernels import RBF, PerClass
from gpclass.likelihoods import Gaussian, MultinomialProbit


@pytest.fixture(scope="module")
def sinc():
    rng = np.random.default_rng(0)
    X = rng.uniform(-10, 10, size=(60, 1))
    return X, 5.0 + 3.0 * np.sinc(X[:, 0] / np.pi) + 0.1 * rng.normal(size=60)


def test_same_answers_as_sklearn_at_fixed_parameters(sinc):
    X, y = sinc
    mean, scale = y.mean(), y.std()
    theirs = GaussianProcessRegressor(2.0 * sk.RBF(1.5), alpha=0.05, optimizer=None).fit(X, (y - mean) / scale)
    ours = GPRegressor(2.0 * RBF(1.5), likelihood=Gaussian(0.05), hyper="fixed").fit(X, y)
    X_new = np.linspace(-12, 12, 40)[:, None]
    expected, covariance = theirs.predict(X_new, return_cov=True)
    predicted, spread = ours.predict(X_new, return_std=True)
    np.testing.assert_allclose(predicted, mean + scale * expected, rtol=1e-9)
    np.testing.assert_allclose(spread, scale * np.sqrt(np.diag(covariance) + 0.05), rtol=1e-7)
    _, full = ours.predict(X_new, return_cov=True)
    np.testing.assert_allclose(full, scale**2 * (covariance + 0.05 * np.eye(40)), atol=1e-8)
    evidence = theirs.log_marginal_likelihood_value_ - 60 * np.log(scale)
    assert ours.log_evidence_ == pytest.approx(evidence, rel=1e-9)


def test_learns_noise_and_length_scale(sinc):
    X, y = sinc
    model = GPRegressor().fit(X, y)
    assert model.noise_std_ == pytest.approx(0.1, rel=0.35)
    X_new = np.linspace(-9, 9, 50)[:, None]
    truth = 5.0 + 3.0 * np.sinc(X_new[:, 0] / np.pi)
    predicted, spread = model.predict(X_new, return_std=True)
    assert np.sqrt(np.mean((predicted - truth) ** 2)) < 0.1
    assert np.mean(np.abs(predicted - truth) < 2 * spread) > 0.9


def test_refusals(sinc):
    X, y = sinc
    with pytest.raises(ValueError, match="at most one of return_std and return_cov"):
        GPRegressor(hyper="fixed").fit(X, y).predict(X, return_std=True, return_cov=True)
    with pytest.raises(TypeError, match="Gaussian likelihood, got MultinomialProbit"):
        GPRegressor(likelihood=MultinomialProbit(), hyper="fixed").fit(X, y)


def test_constant_target_is_fine():
    X = np.arange(10.0)[:, None]
    model = GPRegressor(hyper="fixed").fit(X, np.full(10, 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0)


def test_a_kernel_per_output_of_one_output(sinc):
    X, y = sinc
    plain = GPRegressor(2.0 * RBF(1.5), hyper="fixed").fit(X, y)
    stacked = GPRegressor(PerClass(2.0 * RBF(1.5)), hyper="fixed").fit(X, y)
    np.testing.assert_allclose(stacked.predict(X), plain.predict(X))


def test_the_unit_of_the_target_does_not_matter(sinc):
    X, y = sinc
    plain = GPRegressor(hyper="fixed").fit(X, y).predict(X)
    np.testing.assert_allclose(GPRegressor(hyper="fixed").fit(X, 1e-14 * y).predict(X), 1e-14 * plain, rtol=1e-8)
