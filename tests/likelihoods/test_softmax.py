"""Predictions of the softmax against a plain loop over the nodes, dense grids and quasi-random averages."""

import numpy as np
import pytest
from scipy.linalg import helmert
from scipy.special import log_softmax, softmax
from scipy.stats import qmc

from gpclass.likelihoods import Softmax
from gpclass.numerics.special import gaussian_rule


def _rows(n, K, widest):
    """Means and covariances whose contrasts have at most this variance."""
    rng = np.random.default_rng(K)
    root = rng.normal(size=(n, K, K))
    S = root @ root.transpose(0, 2, 1) + 0.1 * np.eye(K)
    own = np.einsum("ncc->nc", S)
    contrasts = own[:, :, None] + own[:, None, :] - 2.0 * S
    return np.sqrt(widest) * rng.normal(size=(n, K)), S * (widest / contrasts.max(axis=(1, 2)))[:, None, None]


def _plain(mean, cov):
    """The same rule, one row and one node at a time."""
    K = mean.shape[1]
    P, (nodes, weights), out = helmert(K), gaussian_rule(K - 1, budget=2**14), np.full(mean.shape, -np.inf)
    for n in range(len(mean)):
        values, vectors = np.linalg.eigh(P @ cov[n] @ P.T)
        root = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]
        for node, weight in zip(nodes, weights, strict=True):
            out[n] = np.logaddexp(out[n], np.log(weight) + log_softmax(mean[n] + P.T @ (root @ node)))
    return out


@pytest.mark.parametrize("K", [2, 3, 5, 8])
def test_predictions_are_those_of_the_plain_loop(K):
    mean, cov = _rows(3, K, 5.0)
    mean[0, 0] += 800.0  # the other probabilities are smaller than any number
    np.testing.assert_allclose(Softmax().predict_log(mean, cov), _plain(mean, cov), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("K", "widest", "tol"), [(2, 5.0, 1e-8), (2, 29.0, 1e-4), (3, 5.0, 1e-8), (3, 29.0, 1e-5)])
def test_predictions_of_few_classes_are_a_grids(K, widest, tol):
    mean, cov = _rows(4, K, widest)
    P, axis = helmert(K), np.linspace(-9.0, 9.0, 601)
    u = np.stack(np.meshgrid(*[axis] * (K - 1)), axis=-1).reshape(-1, K - 1)
    weight = np.exp(-0.5 * (u**2).sum(axis=1))
    for m, S, found in zip(mean, cov, np.exp(Softmax().predict_log(mean, cov)), strict=True):
        root = np.linalg.cholesky(P @ S @ P.T)
        truth = weight @ softmax((P @ m + u @ root.T) @ P, axis=1) / weight.sum()
        np.testing.assert_allclose(found, truth, atol=tol)


@pytest.mark.parametrize(("K", "tol"), [(4, 1e-4), (5, 1e-3), (6, 3e-4), (10, 1e-3)])
def test_predictions_of_many_classes_are_a_long_average(K, tol):
    mean, cov = _rows(3, K, 10.0)
    u = qmc.MultivariateNormalQMC(np.zeros(K), rng=np.random.default_rng(0)).random(2**17)
    for m, S, found in zip(mean, cov, np.exp(Softmax().predict_log(mean, cov)), strict=True):
        truth = softmax(m + u @ np.linalg.cholesky(S).T, axis=1).mean(axis=0)
        np.testing.assert_allclose(found, truth, atol=tol)


def test_independent_variances_and_certain_values():
    rng = np.random.default_rng(0)
    mean, var = rng.normal(size=(200, 4)), rng.uniform(0.0, 3.0, size=(200, 4))
    found = Softmax().predict_log(mean, var)
    np.testing.assert_allclose(found, Softmax().predict_log(mean, var[:, :, None] * np.eye(4)), rtol=1e-12)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(Softmax().predict_log(mean, np.zeros((200, 4))), log_softmax(mean, axis=1), rtol=1e-9)
    assert Softmax().predict_log(mean[:0], var[:0]).shape == (0, 4)
