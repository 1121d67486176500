"""Normal functions far in the tails, quadrature rules, and factorisations."""

import mpmath
import numpy as np
import pytest
from scipy.linalg import LinAlgError

from gpclass.numerics import linalg, special
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


def test_cholesky_solves_and_determinants_for_one_matrix_and_a_stack():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 5, 5))
    A = A @ A.transpose(0, 2, 1) + np.eye(5)
    B = rng.normal(size=(5, 3))
    L = linalg.cholesky(A)
    np.testing.assert_allclose(L @ L.transpose(0, 2, 1), A, rtol=1e-12)
    columns = np.stack([np.linalg.solve(A[c], B[:, c]) for c in range(3)], axis=1)
    np.testing.assert_allclose(linalg.solve(L, B), columns, rtol=1e-10)
    np.testing.assert_allclose(linalg.solve(L[0], B), np.linalg.solve(A[0], B), rtol=1e-10)
    np.testing.assert_allclose(linalg.solve(L[0], B[:, 0]), np.linalg.solve(A[0], B[:, 0]), rtol=1e-10)
    np.testing.assert_allclose(linalg.inverse(L), np.linalg.inv(A), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(linalg.log_det(L), np.linalg.slogdet(A)[1])
    np.testing.assert_allclose(linalg.product(A, B), np.stack([A[c] @ B[:, c] for c in range(3)], axis=1))


def test_jitter_ladder_mends_rounding_and_refuses_the_rest():
    X = np.linspace(0, 1, 40)[:, None]
    nearly_singular = np.exp(-0.5 * (X - X.T) ** 2)
    L = linalg.cholesky(nearly_singular)
    assert np.abs(L @ L.T - nearly_singular).max() <= 1.01e-6
    with pytest.raises(LinAlgError, match="smallest eigenvalue -1"):
        linalg.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(LinAlgError, match="finite"):
        linalg.cholesky(np.array([[np.nan]]))


def test_blas_limits_survive_threads_that_come_and_go():
    from concurrent.futures import ThreadPoolExecutor
    from time import sleep

    from threadpoolctl import ThreadpoolController

    blas = ThreadpoolController().select(user_api="blas").lib_controllers

    def pools():
        return [pool.num_threads for pool in blas]

    before = pools()
    with linalg.one_thread, linalg.one_thread:
        assert set(pools()) == {1}
    assert pools() == before

    def work(i):
        with linalg.one_thread:
            sleep(0.001 * (i % 3))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(40)))
    assert pools() == before
