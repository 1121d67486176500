"""Cavities and joint covariances of posteriors whose sites couple the classes, against plain inverses."""

import numpy as np
import pytest

from gpclass.inference.dense.cavities import cavities
from gpclass.inference.dense.product_form_posterior import ProductFormPosterior
from gpclass.kernels import Matern
from gpclass.numerics import product_form


def beliefs(n, C, seed=0):
    """Means and cavity covariances of n rows, and sites."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, C, C + 2))
    return rng.standard_normal((n, C)), A @ np.swapaxes(A, 1, 2), np.exp(rng.standard_normal((n, C)))


def without_site(S, d):
    return np.linalg.inv(np.linalg.inv(S) - product_form.precision(d))


@pytest.mark.parametrize("C", [2, 3, 7])
def test_a_cavity_and_its_site_make_the_posterior(C):
    mean, V, d = beliefs(20, C)
    T = product_form.precision(d)
    S = np.linalg.inv(np.linalg.inv(V) + T)
    alpha = np.random.default_rng(1).standard_normal((20, C))
    found = cavities(mean, S, d, alpha)
    np.testing.assert_allclose(found.cov, V, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.mean, mean - np.einsum("ncd,nd->nc", V, alpha), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.log_det, -np.linalg.slogdet(np.eye(C) + V @ T)[1], rtol=1e-8, atol=1e-10)
    assert not found.broken.any()


def test_rows_whose_cavity_is_no_distribution_keep_their_posterior():
    mean, S, d = beliefs(6, 3)
    d *= 1e-3
    d[[1, 4]] *= 1e6  # sites that say more than the posterior
    found = cavities(mean, S, d, np.ones((6, 3)))
    alone = [cavities(*(part[[n]] for part in (mean, S, d, np.ones((6, 3))))) for n in range(6)]
    for n in range(6):
        eigenvalues = np.linalg.eigvalsh(np.linalg.inv(S[n]) - product_form.precision(d[[n]])[0])
        assert found.broken[n] == (eigenvalues[0] <= 0.0)
        np.testing.assert_allclose(found.cov[n], alone[n].cov[0], rtol=1e-10)
        if found.broken[n]:
            np.testing.assert_array_equal(found.cov[n], S[n])
            np.testing.assert_array_equal(found.mean[n], mean[n])
            assert found.log_det[n] == 0.0
        else:
            np.testing.assert_allclose(found.cov[n], without_site(S[[n]], d[[n]])[0], rtol=1e-7)
    assert found.broken[[1, 4]].all()
    assert not found.broken.all()


@pytest.mark.parametrize("tiny", [1.0, 1e-12], ids=["all rows", "rows of tiny curvature"])
def test_joint_covariances_are_those_of_the_inverse(tiny):
    n, C = 9, 3
    rng = np.random.default_rng(2)
    K = 4.0 * Matern(1.0, nu=1.5)(rng.standard_normal((n, 2)))
    d = np.exp(rng.standard_normal((n, C)))
    d[::3] *= tiny
    d[1, 1] *= tiny
    own, shared = ProductFormPosterior(K, d).joint()
    W = np.zeros((C, n, C, n))
    for row, block in enumerate(product_form.precision(d)):
        W[:, row, :, row] = block
    prior = np.kron(np.eye(C), K)
    expected = prior @ np.linalg.inv(np.eye(C * n) + W.reshape(C * n, C * n) @ prior)
    found = np.zeros((C, n, C, n))
    for a in range(C):
        found[a, :, a] += own[a]
        for b in range(C):
            found[a, :, b] += shared[a].T @ shared[b]
    np.testing.assert_allclose(found.reshape(C * n, C * n), expected, atol=2e-7)
