"""The probit of several classes on arrays of any namespace, beside its compiled twin."""

import numpy as np
import pytest

from gpclass.numerics import cone_quadrature, probit_moments
from gpclass.numerics.arrays import to_host
from gpclass.numerics.special import hazard, log_ndtr_and_hazard, log_Phi
from tests.conftest import central_difference
from tests.inference.namespaces import NAMESPACES, moved


def rows(K, scale, n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, K, size=n), scale * rng.standard_normal((n, K))


@pytest.mark.parametrize("K", [2, 3, 10, 26])
@pytest.mark.parametrize("scale", [0.0, 1.0, 5.0, 30.0, 1000.0])
def test_numbers_are_those_of_the_compiled_twin(K, scale):
    labels, means = rows(K, scale)
    found, expected = cone_quadrature.derivatives(labels, means), probit_moments.derivatives(labels, means)
    size = 1.0 + np.abs(expected[0])
    for one, other in zip(found, expected, strict=True):
        error = np.abs(one - other) / np.expand_dims(size, tuple(range(1, one.ndim)))
        assert error.max() < (1e-10 if scale <= 5.0 else 1e-8)


@pytest.mark.parametrize("K", [2, 3, 10, 26])
@pytest.mark.parametrize("scale", [0.0, 1.0, 5.0, 30.0, 1000.0])
@pytest.mark.parametrize("spread", [0.0, 1.0, 1e4])
def test_moments_under_variances_are_those_of_the_compiled_twin(K, scale, spread):
    labels, means = rows(K, scale * np.sqrt(1.0 + spread))
    variances = spread * np.random.default_rng(1).gamma(1.0, size=means.shape)
    found, expected = (module.tilted(labels, means, variances) for module in (cone_quadrature, probit_moments))
    size = 1.0 + np.abs(expected[0])
    for one, other in zip(found, expected, strict=True):
        error = np.abs(one - other) / np.expand_dims(size, tuple(range(1, one.ndim)))
        assert error.max() < (1e-10 if scale <= 5.0 else 1e-8)


@pytest.mark.parametrize("name", NAMESPACES)
def test_other_namespaces_give_the_same_numbers(name):
    labels, means = rows(4, 3.0)
    found = cone_quadrature.derivatives(labels, moved(means, name))
    for one, other in zip(found, cone_quadrature.derivatives(labels, means), strict=True):
        np.testing.assert_allclose(to_host(one), other, rtol=1e-12, atol=1e-13)


def test_blocks_of_rows_change_nothing(monkeypatch):
    labels, means = rows(3, 2.0)
    whole = cone_quadrature.derivatives(labels, means)
    monkeypatch.setattr(cone_quadrature, "_BLOCK", 7 * 3 * 112)
    for one, other in zip(cone_quadrature.derivatives(labels, means), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)


def test_gradient_and_hessian_are_slopes():
    labels, means = rows(4, 2.0, n=1)
    _, gradient, hessian = cone_quadrature.derivatives(labels, means)

    def value(m):
        return float(cone_quadrature.derivatives(labels, m[None])[0][0])

    np.testing.assert_allclose(gradient[0], central_difference(value, means[0]), atol=1e-9)
    for k in range(4):
        slope = central_difference(
            lambda m, k=k: float(cone_quadrature.derivatives(labels, m[None])[1][0, k]), means[0]
        )
        np.testing.assert_allclose(hessian[0, k], slope, atol=1e-9)


def test_latent_means_that_are_too_large():
    with pytest.raises(ValueError, match=r"expected latent means up to 1e\+07 in size, got 2e\+07"):
        cone_quadrature.derivatives(np.array([0]), np.array([[2e7, 0.0]]))


@pytest.mark.parametrize("name", NAMESPACES)
def test_distribution_function_and_hazard(name):
    x = np.r_[np.linspace(-40.0, 40.0, 801), -1e7, 1e7]
    found = log_ndtr_and_hazard(moved(x, name))
    np.testing.assert_allclose(to_host(found[0]), log_Phi(x), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(to_host(found[1]), hazard(x), rtol=1e-12, atol=1e-300)
