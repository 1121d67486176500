"""Correlated latent values in the multinomial probit and the softmax: against sampling, grids, independence."""

import numpy as np
import pytest
from scipy.linalg import helmert
from scipy.special import log_softmax, softmax
from scipy.stats import norm, truncnorm

from gpclass.likelihoods import Softmax
from gpclass.numerics import nested_ep as orthant
from gpclass.numerics import probit_moments as cone
from tests.conftest import central_difference, relative_error


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


def _softmax_rows(rng, n, K, scale):
    A = rng.normal(size=(n, K, K))
    return np.sqrt(scale) * rng.normal(size=(n, K)), scale * (A @ A.transpose(0, 2, 1) + 0.1 * np.eye(K))


@pytest.mark.parametrize("scale", [0.3, 5.0, 80.0])
@pytest.mark.parametrize("K", [2, 3, 6])
def test_softmax_of_correlated_latent_values_agrees_with_sampling(K, scale):
    rng = np.random.default_rng(K)
    mean, S = _softmax_rows(rng, 4, K, scale)
    draws = mean + np.einsum("nij,snj->sni", np.linalg.cholesky(S), rng.normal(size=(200_000, 4, K)))
    truth = softmax(draws, axis=2).mean(axis=0)
    assert np.max(np.abs(np.exp(orthant.log_proba(mean, S, gumbel=True)) - truth)) < 0.02


def test_softmax_far_in_the_tail():
    # E softmax -> E exp(f_0 - f_1) = exp(gap + variance / 2) where the label is hopeless.
    for gap in (-20.0, -80.0, -160.0):
        for variance in (1e-3, 0.1, 1.0):
            log_z, d, location = orthant.site([0], [[0.0, -gap]], [np.eye(2) * variance / 2], gumbel=True)
            assert log_z[0] == pytest.approx(gap + variance / 2, abs=1e-4)
            assert np.all(d >= 0)
            np.testing.assert_allclose(location[0], [1.0, -1.0], atol=1e-4)


@pytest.mark.parametrize("gumbel", [False, True])
def test_site_carries_the_derivatives_of_its_own_log_z(gumbel):
    # d log Z / d mean = V^-1 (mean of site times belief - mean): the inner fixed point makes them consistent.
    rng = np.random.default_rng(4)
    mean, S = _softmax_rows(rng, 6, 4, 3.0)
    y = rng.integers(4, size=6)
    _, d, location = orthant.site(y, mean, S, gumbel)
    T = d[:, :, None] * (np.eye(4) - d[:, None, :] / d.sum(axis=1)[:, None, None])
    pull = location - np.einsum("nij,nj->ni", T, mean)
    slope = np.linalg.solve(np.eye(4) + T @ S, pull[:, :, None])[:, :, 0]
    numeric = central_difference(lambda m: orthant.site(y, m, S, gumbel)[0].sum(), mean)
    assert relative_error(slope, numeric) < 1e-6


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_few_classes_take_the_moments_of_the_softmax_by_quadrature(scale):
    # A dense grid over the two contrasts of three classes.
    rng = np.random.default_rng(7)
    mean, S = _softmax_rows(rng, 5, 3, scale)
    y = rng.integers(3, size=5)
    log_z, d, location = Softmax().site(y, mean, S)
    P = helmert(3)
    T = d[:, :, None] * (np.eye(3) - d[:, None, :] / d.sum(axis=1)[:, None, None])
    for n in range(5):
        m, V = P @ mean[n], P @ S[n] @ P.T
        root, axis = np.linalg.cholesky(V), np.linspace(-8.0, 8.0, 401)
        u = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        z = m + u @ root.T
        weight = np.exp(log_softmax(z @ P, axis=1)[:, y[n]] - 0.5 * (u**2).sum(axis=1)) * (0.04**2 / (2 * np.pi))
        truth = z.T @ weight / weight.sum()
        spread = (z - truth).T @ ((z - truth) * weight[:, None]) / weight.sum()
        ours = np.linalg.inv(np.linalg.inv(V) + P @ T[n] @ P.T)
        centre = ours @ (np.linalg.solve(V, m) + P @ location[n])
        assert log_z[n] == pytest.approx(np.log(weight.sum()), abs=0.005)
        np.testing.assert_allclose(centre, truth, atol=0.02 * np.sqrt(np.trace(spread)))
        np.testing.assert_allclose(ours, spread, atol=0.02 * np.trace(spread))


@pytest.mark.parametrize(("m", "v"), [(1838.66, 9e4), (0.0, 1e6), (-500.0, 1e5)])
def test_a_gumbel_factor_under_a_very_wide_belief(m, v):
    # Far wider than the step, the factor is a step: P(x > step), and the moments of a truncated normal.
    log_z, precision, location = orthant._gumbel_factor(False, m, v)
    assert log_z == pytest.approx(norm.logcdf(m / np.sqrt(v)), abs=0.02)
    spread = 1.0 / (1.0 / v + precision)
    truncated = truncnorm(-m / np.sqrt(v), np.inf, loc=m, scale=np.sqrt(v))
    assert spread == pytest.approx(truncated.var(), rel=0.02)
    assert spread * (m / v + location) == pytest.approx(truncated.mean(), rel=0.02)


@pytest.mark.parametrize("scale", [100.0, 1e4])
def test_softmax_predictions_under_wide_beliefs(scale):
    rng = np.random.default_rng(3)
    mean, S = _softmax_rows(rng, 4, 3, scale)
    draws = mean + np.einsum("nij,snj->sni", np.linalg.cholesky(S), rng.normal(size=(200_000, 4, 3)))
    truth = softmax(draws, axis=2).mean(axis=0)
    assert np.max(np.abs(np.exp(Softmax().predict_log(mean, S)) - truth)) < 0.02
