"""Factors and inverses in place, panel by panel: the numbers of LAPACK."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError

from gpclass.numerics import in_place
from gpclass.numerics.arrays import to_host
from tests.inference.namespaces import NAMESPACES, moved


def covariance(n):
    G = np.random.default_rng(n).normal(size=(n, n))
    return G @ G.T + 0.1 * np.eye(n)


@pytest.fixture(params=["numpy", *NAMESPACES])
def beside(request):
    if request.param == "numpy":
        return lambda x: np.array(x, order="F")
    return lambda x: moved(x, request.param)


@pytest.mark.parametrize("n", [1, 7, 14, 23])
def test_factor_and_inverse(n, beside, monkeypatch):
    monkeypatch.setattr(in_place, "BLOCK", 7)
    A = covariance(n)
    factor, inverse = beside(A), beside(A)
    in_place.factorise(factor)
    np.testing.assert_allclose(to_host(factor), np.linalg.cholesky(A), rtol=0, atol=1e-12)
    log_det = in_place.invert(inverse)
    np.testing.assert_allclose(to_host(inverse), np.linalg.inv(A), rtol=0, atol=1e-9)
    assert log_det == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-12)


def test_a_matrix_that_is_not_positive_definite(beside, monkeypatch):
    monkeypatch.setattr(in_place, "BLOCK", 7)
    A = covariance(20)
    A[12, 12] = -1.0
    with pytest.raises(LinAlgError, match="positive definite"):
        in_place.factorise(beside(A))
