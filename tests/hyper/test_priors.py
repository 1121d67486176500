"""Priors: densities against scipy's, slopes against differences, and names."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp, softmax

from gpclass.hyper.priors import (
    Dirichlet,
    Exponential,
    ExponentialGamma,
    Gamma,
    HalfCauchy,
    LogNormal,
    Normal,
    Relevance,
    StudentT,
    by_name,
    lay_over,
)
from gpclass.kernels import RBF, Constant, Kernel, PerClass, Precomputed, WeightedSum
from gpclass.likelihoods import Gaussian
from gpclass.numerics.parameters import Domain
from tests.conftest import central_difference, relative_error

START = np.array([0.3, -0.2, 1.0])
THETA = np.array([-1.1, 0.4, 2.0])
#: prior, and scipy's log density of what it speaks of
PRIORS = {
    "normal": (Normal(-3.0, 3.0), lambda t: stats.norm(-3, 3).logpdf(t)),
    "normal about the start": (Normal(sd=0.7), lambda t: stats.norm(START, 0.7).logpdf(t)),
    "student": (StudentT(3.0, 0.5, 2.0), lambda t: stats.t(3.0, 0.5, 2.0).logpdf(t)),
    "lognormal": (LogNormal(0.5, 0.8), lambda t: stats.lognorm(0.8, scale=np.exp(0.5)).logpdf(np.exp(t))),
    "gamma": (Gamma(2.5, 3.0), lambda t: stats.gamma(2.5, scale=1 / 3.0).logpdf(np.exp(t))),
    "exponential": (Exponential(4.0), lambda t: stats.expon(scale=0.25).logpdf(np.exp(t))),
    "half-Cauchy": (HalfCauchy(2.0), lambda t: stats.halfcauchy(scale=2.0).logpdf(np.exp(t))),
    "hierarchy": (ExponentialGamma(1.5, 0.2), lambda t: stats.lomax(1.5, scale=0.2).logpdf(np.exp(t))),
    "dirichlet": (
        Dirichlet([2.0, 0.5, 3.0], Normal(0.5, 0.8)),
        lambda t: stats.dirichlet([2.0, 0.5, 3.0]).logpdf(softmax(t)) + stats.norm(0.5, 0.8).logpdf(logsumexp(t)),
    ),
    "relevance": (Relevance(Gamma(2.5, 3.0)), lambda t: stats.gamma(2.5, scale=1 / 3.0).logpdf(np.exp(-2 * t))),
    "WB98": (Relevance(Normal(-3.0, 3.0)), lambda t: stats.norm(-3, 3).logpdf(-2 * t)),
}


@pytest.mark.parametrize("name", PRIORS)
def test_density_is_scipys(name):
    prior, reference = PRIORS[name]
    assert relative_error(prior.log_density(THETA, START).value, reference(THETA)) < 1e-12


@pytest.mark.parametrize("name", PRIORS)
def test_slopes(name):
    prior, _ = PRIORS[name]
    for function in (lambda t: prior.log_density(t, START), prior.log_measure):
        slopes = central_difference(lambda t, f=function: f(t).value.sum(), THETA)
        assert relative_error(function(THETA).slope, slopes) < 1e-8


@pytest.mark.parametrize("name", ["lognormal", "gamma", "exponential", "half-Cauchy", "hierarchy", "relevance", "WB98"])
def test_density_of_theta_integrates_to_one(name):
    prior, _ = PRIORS[name]
    grid = np.linspace(-60.0, 60.0, 120001)
    start = np.full_like(grid, START[0])
    log_density = prior.log_density(grid, start).value + prior.log_measure(grid).value
    assert np.trapezoid(np.exp(log_density), grid) == pytest.approx(1.0, abs=1e-6)


def test_hierarchy_is_exponential_with_a_gamma_rate():
    # p(x) = E Exp(x | psi), psi ~ Gamma(shape, rate): by quadrature over psi.
    psi = np.exp(np.linspace(-30, 8, 40001))
    x = 0.37
    density = np.trapezoid(stats.gamma(1.5, scale=5.0).pdf(psi) * stats.expon(scale=1 / psi).pdf(x) * psi, np.log(psi))
    value = ExponentialGamma(1.5, 0.2).log_density(np.log([x]), np.zeros(1)).value[0]
    assert value == pytest.approx(np.log(density), abs=1e-7)


def test_shares_are_dirichlet():
    # As a density of theta: moments of the shares by quadrature over a grid, and the mode of the density as written.
    a = np.array([2.0, 3.0])
    prior = Dirichlet(a, Normal(0.0, 0.5))
    grid = np.linspace(-14.0, 4.0, 73)
    theta = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    theta = theta[np.abs(logsumexp(theta, axis=1)) < 3.0]  # six standard deviations of the logarithm of the sum
    density = np.exp([prior.log_density(t, t).value[0] + prior.log_measure(t).value[0] for t in theta])
    step = grid[1] - grid[0]
    share = softmax(theta, axis=1)[:, 0]
    assert density.sum() * step**2 == pytest.approx(1.0, abs=1e-4)
    assert (density * share).sum() * step**2 == pytest.approx(0.4, abs=1e-4)
    assert (density * share**2).sum() * step**2 == pytest.approx(stats.beta(2, 3).moment(2), abs=1e-4)
    mode = np.log((a - 1.0) / 3.0)
    assert np.allclose(prior.log_density(mode, mode).slope, 0.0, atol=1e-12)


def test_concentration_with_a_gamma_prior():
    # One number for all concentrations, integrated out; here by quadrature.
    prior = Dirichlet(Gamma(2.0, 1.5))
    a = np.linspace(1e-4, 15.0, 20001)
    shares = softmax(THETA)
    inner = gammaln(3 * a) - 3 * gammaln(a) + (a - 1.0) * np.log(shares).sum()
    exact = np.trapezoid(np.exp(inner) * stats.gamma(2.0, scale=1 / 1.5).pdf(a), a)
    total = stats.norm(logsumexp(START), 3.0).logpdf(logsumexp(THETA))
    assert prior.log_density(THETA, START).value[0] - total == pytest.approx(np.log(exact), abs=0.01)
    slope = central_difference(lambda t: prior.log_density(t, START).value[0], THETA)
    assert relative_error(prior.log_density(THETA, START).slope, slope) < 1e-8


def test_weights_are_shared_out_unless_said_otherwise():
    views = WeightedSum({"a": RBF(), "b": Precomputed("b")})
    entries = views.theta_entries
    laid = lay_over(Normal(), entries, np.zeros(3), [])
    assert [(type(prior), where.tolist()) for prior, where in laid.parts] == [(Dirichlet, [0, 1]), (Normal, [2])]
    named = lay_over({"weights": Normal(0.0, 1.0)}, entries, np.zeros(3), [])
    assert [type(prior) for prior, _ in named.parts] == [Normal, Normal]
    twice = [entry for entry in PerClass((views, views)).theta_entries if entry.role == "weights"]
    apart = lay_over({}, twice, np.zeros(4), [])
    assert [where.tolist() for _, where in apart.parts] == [[0, 1], [2, 3]]
    given = lay_over({"weights": Dirichlet([1.0, 2.0])}, twice, np.zeros(4), [])
    assert [where.tolist() for _, where in given.parts] == [[0, 1], [2, 3]]
    one = lay_over({"weights[0]": Normal(0.0, 1.0)}, entries, np.zeros(3), [])
    assert all(isinstance(prior, Normal) for prior, _ in one.parts)


KERNEL = 1.0 * RBF([1.0, 1.0]) + Constant()


def _laid(prior, kernel=KERNEL):
    return lay_over(prior, kernel.theta_entries, np.zeros(kernel.theta.size), list(kernel.parameters))


def test_the_most_exact_name_wins():
    exact, every = Normal(5.0, 1.0), Gamma()
    laid = _laid({"rbf.length_scale[1]": exact, "length_scale": every, "rbf.variance": None})
    assert [(prior, where.tolist()) for prior, where in laid.parts] == [(every, [1]), (exact, [2]), (Normal(), [3])]
    value, gradient = laid(np.full(4, 0.1))
    assert gradient[0] == 0.0
    assert gradient[2] == pytest.approx(4.9)
    assert value == pytest.approx(
        every.log_density(np.array([0.1]), np.zeros(1)).value[0]
        + stats.norm(5, 1).logpdf(0.1)
        + stats.norm(0, 3).logpdf(0.1)
    )


def test_names_of_a_kernel_per_class():
    kernel = PerClass(1.0 * RBF(np.ones(2)) + Constant()).bind(np.ones((3, 2)), 2)
    laid = _laid({"length_scale": Exponential()}, kernel)
    assert laid.parts[1][1].tolist() == [1, 2, 5, 6]


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"lenght_scale": Gamma()}, "no such parameter .did you mean 'length_scale'.*; free parameters are"),
        ({"length_scale": 3.0}, "must be a Prior or None, got 3.0"),
        ("gamma", "must be a Prior, a dictionary"),
    ],
)
def test_bad_priors(prior, message):
    with pytest.raises((ValueError, TypeError), match=message):
        _laid(prior)


def test_prior_on_a_fixed_parameter_is_refused():
    with pytest.raises(ValueError, match="which is fixed"):
        _laid({"constant.variance": Gamma()}, KERNEL.fix("constant.variance"))


def test_positive_priors_are_refused_for_parameters_of_either_sign():
    with pytest.raises(ValueError, match="'bias' can have either sign"):
        _laid({"bias": Relevance(Normal())}, Gaussian(fixed="variance"))
    with pytest.raises(ValueError, match="'bias' can have either sign"):
        _laid(Gamma(), Gaussian(fixed="variance"))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("variance", [0, 3]),
        ("rbf.variance", [0]),
        ("length_scale", [1, 2]),
        ("length_scale[1]", [2]),
        ("rbf.length_scale[0]", [1]),
        ("likelihood.variance", [4]),
        ("bias", [5]),
        ("likelihood.bias", [5]),
    ],
)
def test_names_mean_the_kernel_before_the_likelihood(key, expected):
    likelihood = [entry.within("likelihood") for entry in Gaussian(fixed=()).theta_entries]
    entries = [*KERNEL.theta_entries, *likelihood]
    assert np.flatnonzero(by_name({key: 1}, entries, [], [0] * 6, "a number")).tolist() == expected


def test_a_declared_role_is_a_name():
    @dataclass(frozen=True, eq=False, repr=False)
    class Periodic(Kernel):
        period: float = 1.0
        domains: ClassVar = {"period": Domain(True, (0.1, 10.0), role="length_scale")}

    kernel = 2.0 * Periodic()
    assert kernel.theta_entries[1] == ("period", "period", "length_scale", True)
    assert [where.tolist() for _, where in _laid({"length_scale": Gamma()}, kernel).parts] == [[0], [1]]
    assert kernel.theta_bounds[1] == pytest.approx(np.log([0.1, 10.0]))
    assert Periodic(bounds={"period": (0.1, 10.0)}) == Periodic()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal(0.0, -1.0), "Normal: sd must be positive"),
        (lambda: Gamma(shape=0.0), "Gamma: shape must be positive"),
        (lambda: Dirichlet([1.0, -1.0]), "Dirichlet: concentration must be positive"),
        (lambda: StudentT(scale=np.nan), "StudentT: scale must be positive"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_dirichlet_of_the_wrong_size():
    with pytest.raises(ValueError, match="2 concentrations for 3 parameters"):
        Dirichlet([1.0, 2.0]).log_density(THETA, START)
