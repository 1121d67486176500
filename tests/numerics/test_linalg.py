"""Linear algebra: NumPy's way through LAPACK, and that of every other namespace (array_api_strict)."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError

from gpclass.numerics import linalg
from gpclass.numerics.arrays import device, namespace, to_host


def _strict(x):
    """On a device of its own, so that an array left on the host would be refused."""
    xp = pytest.importorskip("array_api_strict")
    return xp.asarray(np.array(x), device=xp.Device("device1"))


@pytest.fixture(params=[np.array, _strict], ids=["numpy", "strict"])
def to(request):
    """Moves a NumPy array to the namespace under test."""
    return request.param


def _check(found, expected, reference, **tolerances):
    assert namespace(found, reference) is namespace(reference)
    assert device(found) == device(reference)
    np.testing.assert_allclose(to_host(found), expected, **(tolerances or {"rtol": 1e-10, "atol": 1e-12}))


@pytest.fixture
def stack():
    A = np.random.default_rng(0).normal(size=(3, 5, 5))
    return A @ A.transpose(0, 2, 1) + np.eye(5)


@pytest.fixture
def columns():
    return np.random.default_rng(1).normal(size=(5, 3))


def test_cholesky_solves_and_determinants_for_one_matrix_and_a_stack(to, stack, columns):
    A, B = to(stack), to(columns)
    L = linalg.cholesky(A)
    _check(L @ L.mT, stack, A, rtol=1e-12)
    _check(L, np.tril(to_host(L)), A, atol=0.0)
    own = np.stack([np.linalg.solve(stack[c], columns[:, c]) for c in range(3)], axis=1)
    _check(linalg.solve(L, B), own, A)
    _check(linalg.solve(L[0, ...], B), np.linalg.solve(stack[0], columns), A)
    _check(linalg.solve(L[0, ...], B[:, 0]), np.linalg.solve(stack[0], columns[:, 0]), A)
    _check(linalg.inverse(L), np.linalg.inv(stack), A, rtol=1e-9, atol=1e-12)
    _check(linalg.log_det(L), np.linalg.slogdet(stack)[1], A)
    _check(linalg.product(A, B), np.stack([stack[c] @ columns[:, c] for c in range(3)], axis=1), A)


def test_triangular_solves(to, stack, columns):
    factor = np.linalg.cholesky(stack[0])
    L, B = to(factor), to(columns)
    _check(linalg.solve_triangular(L, B), np.linalg.solve(factor, columns), L)
    _check(linalg.solve_triangular(L, B[:, 0]), np.linalg.solve(factor, columns[:, 0]), L)
    _check(linalg.solve_triangular(L, B, transposed=True), np.linalg.solve(factor.T, columns), L)
    _check(linalg.inverse_factor(L), np.linalg.inv(factor), L)
    place = to(np.asfortranarray(columns))
    linalg.solve_triangular_in_place(L, place)
    _check(place, np.linalg.solve(factor, columns), L)


def test_factors_in_memory_that_is_given(to, stack):
    sqrt_precision = np.array([0.1, 1.0, 2.0, 3.0, 0.0])
    whitened = np.eye(5) + sqrt_precision[:, None] * stack * sqrt_precision
    K = to(stack)
    _check(linalg.whitened_factor(K, to(sqrt_precision)), np.linalg.cholesky(whitened), K)
    factor, inverse = to(np.empty((5, 5), order="F")), to(np.empty((5, 5), order="F"))
    assert linalg.whitened_factor(K[1, ...], to(sqrt_precision), out=factor) is factor
    _check(factor, np.linalg.cholesky(whitened[1]), K)
    assert linalg.inverse(factor, out=inverse) is inverse
    _check(inverse, np.linalg.inv(whitened[1]), K)
    place = to(np.asfortranarray(whitened[2]))
    linalg.cholesky_in_place(place)
    _check(place, np.linalg.cholesky(whitened[2]), K)


def test_products(to, stack, columns):
    A, B = to(stack), to(columns)
    _check(linalg.gram(B), columns.T @ columns, A)
    lower = np.tril(stack[0])
    _check(linalg.column_norms(to(lower), B), np.sum((lower @ columns) ** 2, axis=0), A)
    W = np.random.default_rng(2).normal(size=(5, 3, 3))
    _check(linalg.row_products(to(W), B), np.einsum("ncd,nd->nc", W, columns), A)
    scaled = sum(np.diag(columns[:, c]) @ stack[c] @ np.diag(columns[:, c]) for c in range(3))
    _check(linalg.scaled_sum(A, B), scaled, A)
    _check(linalg.class_covariances(A), np.einsum("akn,bkn->nab", stack, stack), A)
    assert linalg.dot(B, B) == pytest.approx(np.sum(columns**2), rel=1e-14)
    linalg.add_to_diagonal(A, 2.0)
    _check(A, stack + 2.0 * np.eye(5), A)
    linalg.add_to_diagonal(A, to(np.arange(5.0)))
    _check(A, stack + np.diag(2.0 + np.arange(5.0)), A)


def test_jitter_ladder_mends_rounding_and_refuses_the_rest(to):
    X = np.linspace(0, 1, 40)[:, None]
    nearly_singular = np.exp(-0.5 * (X - X.T) ** 2)
    for factor in (linalg.cholesky, _in_place):
        L = to_host(factor(to(nearly_singular)))
        assert np.abs(L @ L.T - nearly_singular).max() <= 1.01e-6
        with pytest.raises(LinAlgError, match="smallest eigenvalue -1"):
            factor(to(np.array([[1.0, 2.0], [2.0, 1.0]])))
        with pytest.raises(LinAlgError, match="finite"):
            factor(to(np.array([[1.0, np.nan], [np.nan, 1.0]])))


def _in_place(A):
    place = namespace(A).asarray(A, copy=True).mT  # symmetric, and for NumPy in LAPACK's order
    linalg.cholesky_in_place(place)
    return place


def test_classes_are_worked_on_in_order():
    for on_host in (True, False):
        assert linalg.for_each_class(lambda c: c, 5, 1000, on_host=on_host) == list(range(5))


def test_blas_limits_survive_threads_that_come_and_go():
    from concurrent.futures import ThreadPoolExecutor
    from time import sleep

    # The pools of NumPy and SciPy: other libraries bring their own, which the package leaves alone.
    def pools():
        return [pool.num_threads for pool in linalg.one_thread._pools]

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
