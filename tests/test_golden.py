"""Kernels and noise models against the values of the GPc toolbox (see tests/golden/README.md)."""

import numpy as np
import pytest
from scipy.stats import t

from gpclass import GPClassifier
from gpclass.datasets import load_neal
from gpclass.inference import EP, Laplace
from gpclass.inference.prior import DensePrior
from gpclass.kernels import MLP, RBF, Constant, Linear, Matern, Polynomial, RationalQuadratic, White
from gpclass.likelihoods import Gaussian, MultinomialProbit, NullCategory, OrderedProbit, Probit
from tests.conftest import relative_error


def _variance(z):
    return float(z["p_variance"])


def _biased(kind, z, weights):
    return _variance(z) * kind(weights, bias_variance=float(z["p_biasVariance"]))


def _weight(z):
    return float(z["p_weightVariance"])


# name: kernel from natural values, and our gradient (in theta) -> theirs, in their order of parameters.
# Their ARD input scales go through a sigmoid, so d scale / d theta = scale (1 - scale).
CASES = {
    "bias": (lambda z: Constant(_variance(z)), lambda g, z: g),
    "white": (lambda z: White(_variance(z)), lambda g, z: g),
    "lin": (lambda z: Linear(_variance(z)), lambda g, z: g),
    "linard": (
        lambda z: _variance(z) * Linear(z["p_inputScales"]),
        lambda g, z: np.r_[g[0], g[1:] * (1 - z["p_inputScales"])],
    ),
    "rbf": (
        lambda z: _variance(z) * RBF(float(z["p_inverseWidth"]) ** -0.5),
        lambda g, z: np.r_[-0.5 * g[1], g[0]],
    ),
    "rbfard": (
        lambda z: _variance(z) * RBF((float(z["p_inverseWidth"]) * z["p_inputScales"]) ** -0.5),
        lambda g, z: np.r_[-0.5 * g[1:].sum(), g[0], -0.5 * g[1:] * (1 - z["p_inputScales"])],
    ),
    "matern32": (
        lambda z: _variance(z) * Matern(float(z["p_lengthScale"]), nu=1.5),
        lambda g, z: np.r_[g[1], g[0]],
    ),
    "matern52": (
        lambda z: _variance(z) * Matern(float(z["p_lengthScale"]), nu=2.5),
        lambda g, z: np.r_[g[1], g[0]],
    ),
    "ratquad": (
        lambda z: _variance(z) * RationalQuadratic(float(z["p_lengthScale"]), alpha=float(z["p_alpha"])),
        lambda g, z: np.r_[g[2], g[1], g[0]],
    ),
    "poly": (lambda z: _biased(Polynomial, z, _weight(z)), lambda g, z: np.r_[g[1], g[2], g[0]]),
    "polyard": (
        lambda z: _biased(Polynomial, z, _weight(z) * z["p_inputScales"]),
        lambda g, z: np.r_[g[1:-1].sum(), g[-1], g[0], g[1:-1] * (1 - z["p_inputScales"])],
    ),
    "mlp": (lambda z: _biased(MLP, z, _weight(z)), lambda g, z: np.r_[g[1], g[2], g[0]]),
    "mlpard": (
        lambda z: _biased(MLP, z, _weight(z) * z["p_inputScales"]),
        lambda g, z: np.r_[g[1:-1].sum(), g[-1], g[0], g[1:-1] * (1 - z["p_inputScales"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels(golden, name):
    z = golden(f"kernel_{name}")
    make, translate = CASES[name]
    kernel = make(z)
    K, pullback = kernel.vjp(z["X"])
    K_cross, pullback_cross = kernel.vjp(z["X"], z["X2"])
    assert relative_error(K, z["K"]) < 1e-12
    np.testing.assert_allclose(K_cross, z["K_cross"], rtol=1e-9, atol=1e-12)
    assert relative_error(kernel.diag(z["X"]), z["diag"]) < 1e-12
    assert relative_error(translate(pullback(z["G"]), z), z["grad"]) < 1e-9
    if name != "white":
        assert relative_error(translate(pullback_cross(z["G_cross"]), z), z["grad_cross"]) < 1e-9


def _noise(name, z, j):
    bias = float(z["p_bias"][j])
    if name == "gaussian":
        return Gaussian(float(z["p_sigma2"]), bias, fixed=())
    if name == "probit":
        return Probit(bias, float(z["p_sigma2"]), fixed="variance")
    return OrderedProbit(z["p_widths"], -bias, float(z["p_variance"]))


@pytest.mark.parametrize("name", ["gaussian", "probit", "ordered"])
def test_noise_models(golden, name):
    z = golden(f"noise_{name}")
    total, by_bias, by_shared = 0.0, [], 0.0
    for j in range(z["y"].shape[1]):
        rows = ~np.isnan(z["y"][:, j])
        y, mean, var = z["y"][rows, j], z["mu"][rows, j, None], z["var"][rows, j, None]
        y = {"gaussian": y, "probit": y > 0, "ordered": np.nan_to_num(y).astype(int)}[name]
        likelihood = _noise(name, z, j)
        log_z, first, second = likelihood.tilted(y, mean, var)
        total += log_z.sum()
        assert relative_error(first[:, 0], z["d_log_z_d_mu"][rows, j]) < 1e-9
        assert relative_error(0.5 * (second + first**2)[:, 0], z["d_log_z_d_var"][rows, j]) < 1e-9
        gradient = likelihood.tilted_gradient(y, mean, var)
        # Theirs: one bias for each process, then what the processes share.
        bias_at = {"gaussian": 1, "probit": 0, "ordered": -1}[name]
        by_bias.append(-gradient[-1] if name == "ordered" else gradient[bias_at])
        by_shared = by_shared + {"gaussian": gradient[:1], "probit": 0.0, "ordered": gradient[:-1]}[name]
    assert total == pytest.approx(float(z["log_z_sum"]), rel=1e-12)
    ours = np.concatenate([by_bias, np.atleast_1d(by_shared)]) if name != "probit" else np.array(by_bias)
    assert relative_error(ours, z["grad"]) < 1e-9


def test_null_category_noise(golden):
    z = golden("noise_ncnm")
    gamma = float(z["p_gammap"])
    total, by_bias, by_gamma = 0.0, [], 0.0
    for j, bias in enumerate(z["p_bias"]):
        y = np.where(np.isnan(z["y"][:, j]), -1, z["y"][:, j] > 0).astype(int)
        mean, var = z["mu"][:, j, None], z["var"][:, j, None]
        likelihood = NullCategory(gamma, float(z["p_gamman"]), bias, float(z["p_sigma2"]), fixed="variance")
        log_z, first, second = likelihood.tilted(y, mean, var)
        total += log_z.sum()
        assert relative_error(first[:, 0], z["d_log_z_d_mu"][:, j]) < 1e-12
        assert relative_error(0.5 * (second + first**2)[:, 0], z["d_log_z_d_var"][:, j]) < 1e-12
        gradient = likelihood.tilted_gradient(y, mean, var)
        by_gamma += gradient[:2].sum() * gamma * (1.0 - gamma)  # theirs is one for both sides, through a sigmoid
        by_bias.append(gradient[2])
    assert total == pytest.approx(float(z["log_z_sum"]), rel=1e-12)
    assert relative_error(np.array([*by_bias, by_gamma]), z["grad"]) < 1e-12


def test_nested_propagation_reproduces_gpstuff_on_neals_data():
    """GPstuff's published optimum: minus log posterior 98.0398 and 15.25 % error with nested EP.

    Student-t priors (scale^2 10, 10 degrees of freedom) on the length-scales and on the square root of the magnitude,
    as densities of their logarithms; a jitter of 1e-6.
    """
    X, y = load_neal(return_X_y=True)
    y = y.astype(int) - y.min()
    scales, magnitude = np.array([0.58525, 0.64233, 4.8782, 4.3622]), 13.1109
    kernel = magnitude * RBF(scales)
    engine = EP(coupling="full")
    fit = engine(DensePrior(kernel(X[:200]) + 1e-6 * np.eye(200), 3), y[:200], MultinomialProbit())
    log_prior = t(10, scale=np.sqrt(10.0)).logpdf
    minus_log_posterior = -fit.log_evidence - np.sum(log_prior(scales) + np.log(scales))
    minus_log_posterior -= log_prior(np.sqrt(magnitude)) + 0.5 * np.log(magnitude) - np.log(2.0)
    assert minus_log_posterior == pytest.approx(98.0398, abs=0.001)
    model = GPClassifier(kernel, inference=engine, hyper="fixed", calibration=None).fit(X[:200], y[:200])
    assert 1.0 - model.score(X[200:], y[200:]) == pytest.approx(0.1525, abs=0.0026)


def test_nested_propagation_on_a_grid_as_in_gpstuff(golden):
    """At the printed parameters, which have five digits."""
    z = golden("gpstuff")
    kernel = float(z["nested_magnitude"]) * RBF(z["nested_length_scales"]) + White(1e-6, fixed="variance")
    model = GPClassifier(kernel, inference=EP(coupling="full"), hyper="fixed", calibration=None)
    model.fit(z["nested_X"], z["nested_y"])
    mean, cov = model.latent(z["nested_grid"])
    np.testing.assert_allclose(mean, z["nested_mean"], atol=5e-5)
    np.testing.assert_allclose(cov, z["nested_cov"], atol=6e-5)
    np.testing.assert_allclose(model.predict_log_proba(z["nested_grid"]), z["nested_logp"], atol=1e-4)


#: Logarithms of magnitude and length-scales: those printed for EP, and those to four digits at which all numbers of
#: Laplace's method agree, as theirs are not among the recorded ones.
RIPLEY = {"ep": (EP(tol=1e-8), None, 2e-4, 6e-4), "laplace": (Laplace(), (3.2507, -0.7591, 0.0319), 1e-3, 1e-3)}


@pytest.mark.parametrize("name", RIPLEY)
def test_latents_and_energies_of_gpstuff_on_ripleys_data(golden, name):
    """The energy is minus the log posterior, with a uniform prior of the square root of the magnitude and Student's t
    with 4 degrees of freedom for the length-scales, as densities of their logarithms."""
    z = golden("gpstuff")
    engine, theta, of_means, of_variances = RIPLEY[name]
    magnitude, *scales = np.exp(z["synth_theta"] if theta is None else theta)
    model = GPClassifier(magnitude * RBF(scales), inference=engine, hyper="fixed", calibration=None)
    model.fit(z["synth_X"], z["synth_y"])
    mean, variance = (one.ravel() for one in model.latent(z["synth_grid"]))
    np.testing.assert_allclose(mean, z[f"synth_{name}_mean"], atol=of_means)
    np.testing.assert_allclose(variance, z[f"synth_{name}_var"], atol=of_variances)
    log_prior = np.sum(t(4).logpdf(scales) + np.log(scales)) + 0.5 * np.log(magnitude) - np.log(2.0)
    assert -model.log_evidence_ - log_prior == pytest.approx(float(z[f"synth_{name}_energy"]), abs=1e-4)
