"""The factors and the share of lapses: slopes against differences, with and without coupling and label noise."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from gpclass.inference.calibration import LooPrediction, _coupled_slopes, _independent_slopes, calibrate
from gpclass.likelihoods import MultinomialProbit, Probit, Softmax
from tests.conftest import central_difference, relative_error

LIKELIHOODS = {
    "probit": MultinomialProbit(),
    "noisy": MultinomialProbit(label_noise=0.1),
    "softmax": Softmax(),
}


def _latent(n=12, K=4):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(n, K, K))
    return rng.integers(K, size=n), 2.0 * rng.normal(size=(n, K)), A @ A.transpose(0, 2, 1) + 0.1 * np.eye(K)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_slopes_with_coupling(name):
    likelihood = LIKELIHOODS[name]
    y, m, V = _latent()

    def total(t):
        return _coupled_slopes(likelihood, y, np.exp(t[0]) * m, np.exp(t[1]) * V)[0].sum()

    slopes = _coupled_slopes(likelihood, y, m, V)[1].sum(axis=1)
    assert relative_error(slopes, central_difference(total, np.zeros(2))) < 1e-5


@pytest.mark.parametrize("name", ["probit", "noisy"])
def test_slopes_without_coupling(name):
    likelihood = LIKELIHOODS[name]
    y, m, V = _latent()
    v = np.einsum("ncc->nc", V)

    def total(t):
        return _independent_slopes(likelihood, y, np.exp(t[0]) * m, np.exp(t[1]) * v)[0].sum()

    slopes = _independent_slopes(likelihood, y, m, v)[1].sum(axis=1)
    assert relative_error(slopes, central_difference(total, np.zeros(2))) < 1e-6


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_factors_improve_what_they_are_learned_from(name):
    # Labels drawn from predictions three times as certain as the ones given.
    likelihood = LIKELIHOODS[name]
    rng = np.random.default_rng(1)
    mean = 1.5 * rng.normal(size=(400, 3))
    cov = np.tile(np.eye(3), (400, 1, 1))
    proba = likelihood.predict(3.0 * mean, cov)
    y = np.array([rng.choice(3, p=p) for p in proba])
    found = calibrate([LooPrediction(np.zeros(400), likelihood, mean, cov)], y, np.ones(400))
    assert 2.0 < found.mean_scale / np.sqrt(found.variance_scale) < 4.5
    before, after = (likelihood.loo_log_prob(y, *scaled).sum() for scaled in ((mean, cov), found(mean, cov)))
    assert after > before + 10.0


def test_factors_for_several_models():
    # Two models with different shares at every row: the optimum by a search without slopes.
    likelihood = MultinomialProbit()
    rng = np.random.default_rng(2)
    n = 60
    y = rng.integers(3, size=n)
    predictions = []
    for size in (0.3, 3.0):
        mean = size * (np.eye(3)[y] + 0.7 * rng.normal(size=(n, 3)))
        predictions.append(
            LooPrediction(np.log(rng.uniform(0.2, 0.8, size=n)), likelihood, mean, rng.uniform(0.5, 2.0, size=(n, 3)))
        )
    counts = rng.uniform(0.5, 2.0, size=n)

    def loss(t):
        proba = sum(
            np.exp(b.log_share + likelihood.loo_log_prob(y, np.exp(t[0]) * b.mean, np.exp(t[1]) * b.cov))
            for b in predictions
        )
        lapse_rate = expit(t[2])
        prior = -0.5 * t[:2] @ t[:2] / 0.3**2 + 0.1 * np.log(lapse_rate) + np.log1p(-lapse_rate)
        return -counts @ np.log((1.0 - lapse_rate) * proba + lapse_rate / 3.0) - prior

    settings = {"xatol": 1e-6, "fatol": 1e-10, "maxiter": 5000}
    expected = minimize(loss, [0.0, 0.0, -4.0], method="Nelder-Mead", options=settings).x
    found = calibrate(predictions, y, counts)
    assert np.allclose(np.log(found[:2]), expected[:2], atol=1e-3)
    assert found.lapse_rate == pytest.approx(expit(expected[2]), rel=1e-2)


def test_lapses_are_counted():
    likelihood = Probit()
    rng = np.random.default_rng(3)
    mean, var = 30.0 * np.sign(rng.normal(size=(500, 1))), np.ones((500, 1))
    y = (mean[:, 0] > 0).astype(int)
    sure = calibrate([LooPrediction(np.zeros(500), likelihood, mean, var)], y, np.ones(500))
    assert sure.lapse_rate == pytest.approx(2 * 0.1 / 500, rel=0.1)  # none yet, and no promise for the next
    y[:10] = 1 - y[:10]
    found = calibrate([LooPrediction(np.zeros(500), likelihood, mean, var)], y, np.ones(500))
    assert found.lapse_rate == pytest.approx(2 * 10 / 500, rel=0.1)  # half of all lapses are right by chance
    assert found.log_proba(likelihood, mean, var).min() == pytest.approx(np.log(found.lapse_rate / 2))
    copies = calibrate([LooPrediction(np.zeros(500), likelihood, mean, var)], y, np.full(500, 2.0))
    twice = [LooPrediction(np.zeros(1000), likelihood, np.vstack([mean, mean]), np.vstack([var, var]))]
    np.testing.assert_allclose(copies, calibrate(twice, np.concatenate([y, y]), np.ones(1000)), rtol=1e-4)
