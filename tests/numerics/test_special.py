"""Normal functions far in the tails, and quadrature rules."""

import mpmath
import numpy as np
import pytest

from gpclass.numerics import special
from gpclass.numerics.compiled import mills, normal_parts

POINTS = [-1e4, -300.0, -38.0, -10.0, -3.0, -0.5, 0.0, 0.5, 3.0, 10.0, 38.0, 1e4]


def _exact(x):
    mpmath.mp.dps = 60
    x = mpmath.mpf(x)
    log_Phi = mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2)
    return log_Phi, mpmath.exp(-x * x / 2 - mpmath.log(2 * mpmath.pi) / 2 - log_Phi)


@pytest.mark.parametrize("x", POINTS)
def test_log_Phi_and_hazard(x):
    log_Phi, hazard = _exact(x)
    assert special.log_Phi(x) == pytest.approx(float(log_Phi), rel=1e-13)
    assert special.hazard(x) == pytest.approx(float(hazard), rel=1e-13)


@pytest.mark.parametrize("x", POINTS)
def test_compiled_normal_functions(x):
    log_Phi, hazard = _exact(x)
    mantissa, exponent, h = normal_parts(x)
    assert np.log(mantissa) + exponent == pytest.approx(float(log_Phi), rel=1e-13, abs=1e-15)
    assert h == pytest.approx(float(hazard), rel=1e-13, abs=1e-300)
    if x <= 0:
        expected = mpmath.exp(mpmath.mpf(x) ** 2 / 2 + log_Phi)
        assert mills(-x) == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize(("low", "high"), [(-1, 2), (30, 31), (-31, -30), (5, np.inf), (-np.inf, -40), (8, 8.001)])
def test_log_Phi_difference(low, high):
    mpmath.mp.dps = 400
    exact = mpmath.log(mpmath.ncdf(mpmath.mpf(high)) - mpmath.ncdf(mpmath.mpf(low)))
    assert special.log_Phi_difference(low, high) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_gaussian_rules_integrate_moments(dimension):
    nodes, weights = special.gaussian_rule(dimension)
    exact = dimension <= 4
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(weights @ nodes, 0.0, atol=1e-12 if exact else 5e-3)
    np.testing.assert_allclose((nodes.T * weights) @ nodes, np.eye(dimension), atol=1e-10 if exact else 2e-2)
