"""The sampler against closed forms, its own calibration, and the engines that approximate what it samples."""

import warnings

import numpy as np
import pytest
from scipy.special import log_ndtr
from scipy.stats import chi2, kstest, truncnorm
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from gpclass import GPClassifier
from gpclass.inference import EP, VB, DensePrior, Gibbs, Laplace, posteriors
from gpclass.inference.calibration import Calibration
from gpclass.inference.dense.gibbs import importance_evidence
from gpclass.kernels import RBF
from gpclass.likelihoods import Gaussian, MultinomialProbit, Probit
from gpclass.numerics import probit_moments as cone
from gpclass.numerics import probit_sampling as cone_draws
from gpclass.numerics.arrays import namespace, to_host
from gpclass.numerics.diagnostics import split_r_hat
from gpclass.numerics.probit_moments import _log_integrand, _support
from gpclass.numerics.probit_sampling import _draw_label
from tests.inference.namespaces import NAMESPACES, moved


@pytest.mark.parametrize("mean", [[0.3, -0.4, 1.8, 0.0], [-6.0, 2.0, 1.0], [20.0, 0.0]])
def test_cone_draws_have_the_right_moments(mean):
    rng = np.random.default_rng(0)
    n = 40_000
    means = np.tile(mean, (n, 1))
    labels = np.zeros(n, dtype=np.int64)
    values = cone_draws.start(labels, means, rng)
    for _ in range(4):
        before = values[:, 0].copy()
        cone_draws.redraw(labels, means, values, rng)
    assert np.mean(values[:, 0] != before) > 0.97
    assert np.all(values.argmax(axis=1) == 0)
    _, gradient, hessian = cone.derivatives(np.array([0]), np.array([mean]))
    covariance = hessian[0] + np.eye(len(mean))
    error = np.sqrt(np.diag(covariance) / n)
    assert np.max(np.abs(values.mean(axis=0) - mean - gradient[0]) / error) < 4.5
    assert np.max(np.abs(np.cov(values.T) - covariance)) < 0.05


def test_metropolis_step_accepts_by_the_right_ratio():
    # The plain twin: target and log-linear proposal at both points, from the same nodes.
    a, b = np.ones(3), np.array([0.7, -1.5, 0.3])
    peak, low, high, intervals, _ = _support(a, b, 3)
    nodes = np.linspace(low, high, intervals + 1)
    log_density = np.array([_log_integrand(u, a, b, 3)[0] for u in nodes]) - peak
    buffer = np.empty(4096)
    refused = 0
    for where in np.linspace(0.02, 0.98, 25):
        proposal = _draw_label(a, b, 3, low - 1.0, where, 0.5, buffer)
        for current in np.linspace(low + 1.0, high - 1.0, 9):
            log_ratio = 0.0
            for u, sign in ((proposal, 1.0), (current, -1.0)):
                log_ratio += sign * (_log_integrand(u, a, b, 3)[0] - peak - np.interp(u, nodes, log_density))
            below, above = np.exp(log_ratio - 1e-7), np.exp(log_ratio + 1e-7)
            assert _draw_label(a, b, 3, current, where, below, buffer) == proposal
            if above < 1.0:
                refused += 1
                assert _draw_label(a, b, 3, current, where, above, buffer) == current
    assert refused > 20


@pytest.mark.parametrize("mean", [-8.0, -0.3, 5.0])
@pytest.mark.parametrize("label", [0, 1])
def test_half_line_draws_are_truncated_normals(mean, label):
    rng = np.random.default_rng(1)
    draws = cone_draws.draw_half_line(np.full(5000, label), np.full((5000, 1), mean), rng)[:, 0]
    ends = (0.0, np.inf) if label else (-np.inf, 0.0)
    assert kstest(draws, truncnorm(ends[0] - mean, ends[1] - mean, loc=mean).cdf).pvalue > 1e-3


@pytest.mark.parametrize("log_p", [-1e8, -500.0, -5.0, -0.7, -0.6, -1e-3, -1e-12])
def test_inverse_of_log_phi(log_p):
    x = cone_draws.inverse_log_phi(log_p)
    assert log_ndtr(x) == pytest.approx(log_p, rel=1e-9)


ENGINES = {"coupled EP": EP(), "EP": EP(coupling="none"), "VB": VB(), "Laplace": Laplace()}


def _small(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X @ rng.normal(size=(2, n_classes)) + 0.5 * rng.normal(size=(n, n_classes))).argmax(axis=1)


def test_importance_sampled_evidence_of_three_labels_is_the_closed_form():
    X, y = _small(3, 2)
    K = (2.0 * RBF(1.0))(X)
    r = np.outer(2 * y - 1, 2 * y - 1) * K / 3.0
    exact = np.log(0.125 + (np.arcsin(r[0, 1]) + np.arcsin(r[0, 2]) + np.arcsin(r[1, 2])) / (4 * np.pi))
    estimate = importance_evidence(DensePrior(K, 1), y, Probit(), np.random.default_rng(0), n_samples=50_000)
    assert estimate == pytest.approx(exact, abs=0.005)


def test_an_importance_sample_that_misses_is_not_reported():
    X, y = _small(60, 3)
    y = (y + (np.random.default_rng(1).random(60) < 0.3)) % 3
    prior = DensePrior((1e5 * RBF(1.0))(X), 3)
    assert np.isnan(importance_evidence(prior, y, MultinomialProbit(), np.random.default_rng(0), n_samples=200))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_draws": 1}, "n_draws must be a whole number of at least 4"),
        ({"thin": 0}, "thin"),
        ({"n_chains": 0}, "n_chains"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        Gibbs(**settings)


@pytest.mark.parametrize(("likelihood", "C"), [(Probit(), 1), (MultinomialProbit(), 3)])
def test_posterior_ranks_are_uniform(likelihood, C):
    """Simulation-based calibration: truth drawn from the prior ranks uniformly among draws of its posterior."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 1))
    kernel = 2.0 * RBF(1.0)
    K = kernel(X)
    root = np.linalg.cholesky(K + 1e-10 * np.eye(8))
    n_bins, ranks = 8, []
    sampler = Gibbs(n_draws=63, thin=8, burn_in=100, n_chains=1)
    for trial in range(160):
        f = root @ rng.standard_normal((8, C))
        noisy = f + rng.standard_normal((8, C))
        y = noisy.argmax(axis=1) if C > 1 else (noisy[:, 0] > 0).astype(int)
        means, _ = sampler._chain(
            K @ np.linalg.inv(K + np.eye(8)),
            np.linalg.cholesky(K @ np.linalg.inv(K + np.eye(8)) + 1e-12 * np.eye(8)),
            y,
            likelihood,
            C,
            np.random.SeedSequence(trial),
        )
        # A quantity that the labels depend on.
        quantity = (lambda g: g[..., 0, 0] - g[..., 0, 1]) if C > 1 else (lambda g: g[..., 0, 0])
        ranks.append(int(np.sum(quantity(means) < quantity(f))))
    counts = np.bincount(np.array(ranks) * n_bins // 64, minlength=n_bins)
    statistic = np.sum((counts - 160 / n_bins) ** 2) / (160 / n_bins)
    assert chi2.sf(statistic, n_bins - 1) > 0.005


def test_split_r_hat_sees_chains_that_disagree():
    rng = np.random.default_rng(0)
    chains = rng.normal(size=(4, 400, 3))
    assert split_r_hat(chains).max() < 1.05
    chains[0] += 3.0
    assert split_r_hat(chains).min() > 1.3


def test_sampling_behind_the_estimator():
    X, y = _small(40, 3)
    model = GPClassifier(1.0 * RBF(1.0), inference=Gibbs(n_draws=150, burn_in=300), hyper="fixed").fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posteriors, "BLOCK_BYTES", 2**16)
        np.testing.assert_allclose(model.predict_proba(X), proba, rtol=1e-9)
    mean, variance = model.latent(X[:4])
    draws = model.sample_latent(X[:4], 300, random_state=0)
    assert np.max(np.abs(draws.mean(axis=0) - mean) / np.sqrt(variance)) < 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learned = GPClassifier(inference=Gibbs(n_draws=20, burn_in=50, n_chains=2)).fit(X, y)
    assert learned.hyper_.n_evaluations > 3
    with pytest.raises(TypeError, match="Gibbs sampling needs Probit"):
        Gibbs()(DensePrior(np.eye(3), 1), np.zeros(3), Gaussian())
    with pytest.warns(ConvergenceWarning, match="R-hat is up to"):
        GPClassifier(1e4 * RBF(1.0), inference=Gibbs(n_draws=10, burn_in=0, thin=1), hyper="fixed").fit(X, y)


@pytest.mark.parametrize("amplitude", [pytest.param(1.0, marks=pytest.mark.slow), 10.0])
def test_engines_against_long_chains(amplitude):
    """GR06 6.2: coupled EP is closest to sampling, Laplace furthest (docs/decisions/0045-distance-to-gibbs.md)."""
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(0).permutation(150)
    train, test = order[:40], order[40:]
    kernel, likelihood = amplitude * RBF(1.3), MultinomialProbit()

    def proba(engine):
        prior = DensePrior(kernel(X[train]), 3, kernel, X[train])
        posterior = engine(prior, y[train], likelihood).posterior
        return np.exp(posterior.predict_log(likelihood, X[test], Calibration()))

    truth = proba(Gibbs(n_draws=400, thin=25, burn_in=1000, n_chains=4))
    apart = {name: np.mean(np.abs(proba(engine) - truth)) for name, engine in ENGINES.items()}
    assert apart["coupled EP"] < 0.01
    assert apart["EP"] < 0.02
    assert apart["VB"] < 0.02
    assert apart["Laplace"] > 2.0 * max(apart["coupled EP"], apart["EP"], apart["VB"])


def test_without_evidence_the_draws_are_the_same():
    X = np.random.default_rng(0).standard_normal((12, 2))
    K, y = RBF(1.0)(X), np.arange(12) % 3
    few = {"n_draws": 20, "burn_in": 10, "n_chains": 1}
    both, draws_only = (Gibbs(**few, evidence=own)(DensePrior(K, 3), y, MultinomialProbit()) for own in (True, False))
    np.testing.assert_array_equal(both.posterior.draws.alpha, draws_only.posterior.draws.alpha)
    assert np.isfinite(both.log_evidence)
    assert np.isnan(draws_only.log_evidence)


@pytest.mark.parametrize("name", NAMESPACES)
@pytest.mark.parametrize(("likelihood", "n_classes", "C"), [(Probit(), 2, 1), (MultinomialProbit(), 3, 3)])
def test_other_namespaces_give_the_same_numbers(likelihood, n_classes, C, name):
    X, y = _small(12, n_classes)
    kernel = 2.0 * RBF(1.0)
    K = kernel(X)
    sampler = Gibbs(n_draws=20, burn_in=10, n_chains=2)
    ours, theirs = (sampler(DensePrior(own, C, kernel, X), y, likelihood) for own in (K, moved(K, name)))
    assert theirs.log_evidence == ours.log_evidence
    assert theirs.info == ours.info
    np.testing.assert_array_equal(theirs.posterior.draws.latent, ours.posterior.draws.latent)
    for found, expected in zip(theirs.posterior.draws[:3], ours.posterior.draws[:3], strict=True):
        assert namespace(found) is namespace(moved(K, name))
        np.testing.assert_array_equal(to_host(found), expected)
    new = np.random.default_rng(3).normal(size=(5, 2))
    for found, expected in zip(theirs.posterior.latent(new), ours.posterior.latent(new), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)
    found, expected = (fit.posterior.predict_log(likelihood, new, Calibration()) for fit in (theirs, ours))
    np.testing.assert_allclose(found, expected, atol=1e-10)
    found, expected = (fit.posterior.sample(new, 3, np.random.default_rng(0)) for fit in (theirs, ours))
    np.testing.assert_allclose(found, expected, atol=1e-5)  # by the factor of a nearly singular covariance


@pytest.mark.parametrize(("likelihood", "n_classes", "C"), [(Probit(), 2, 1), (MultinomialProbit(), 3, 3)])
def test_no_new_rows_are_no_trouble(likelihood, n_classes, C):
    X, y = _small(12, n_classes)
    sampler = Gibbs(n_draws=4, burn_in=0, thin=1, n_chains=2, evidence=False)
    for engine in (EP(coupling="none"), sampler):
        posterior = engine(DensePrior(RBF(1.0)(X), C, RBF(1.0), X), y, likelihood).posterior
        mean, variance = posterior.latent(X[:0])
        assert mean.shape == variance.shape == (0, C)
        assert posterior.predict_log(likelihood, X[:0], Calibration()).shape == (0, n_classes)
