"""Correlated latent values in the multinomial probit against sampling and against the independent case."""

import numpy as np

from gpclass import cone, orthant


def test_independent_latent_values_agree_with_the_cone():
    rng = np.random.default_rng(0)
    for K, worst in ((2, 1e-8), (3, 0.01), (6, 0.02)):
        mean, var = 2.0 * rng.normal(size=(50, K)), rng.gamma(1.0, 3.0, size=(50, K))
        ours = np.exp(orthant.log_proba(mean, np.einsum("nk,kl->nkl", var, np.eye(K))))
        np.testing.assert_allclose(ours.sum(axis=1), 1.0, rtol=1e-12)
        assert np.max(np.abs(ours - np.exp(cone.log_proba(mean, var)))) < worst


def test_correlated_latent_values_agree_with_sampling():
    rng = np.random.default_rng(1)
    mean, A = 2.0 * rng.normal(size=(4, 4)), rng.normal(size=(4, 4, 4))
    S = 3.0 * A @ A.transpose(0, 2, 1)
    root = np.linalg.cholesky(S + np.eye(4))
    draws = mean + np.einsum("nij,snj->sni", root, rng.normal(size=(200_000, 4, 4)))
    frequency = np.stack([(draws.argmax(-1) == k).mean(0) for k in range(4)], axis=1)
    assert np.max(np.abs(np.exp(orthant.log_proba(mean, S)) - frequency)) < 0.015


def test_a_common_shift_changes_nothing():
    rng = np.random.default_rng(2)
    mean, A = rng.normal(size=(3, 5)), rng.normal(size=(3, 5, 5))
    S = A @ A.transpose(0, 2, 1)
    np.testing.assert_allclose(orthant.log_proba(mean + 7.0, S + 50.0), orthant.log_proba(mean, S), atol=1e-6)
