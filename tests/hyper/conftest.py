"""A posterior of theta that can be had on a grid."""

import numpy as np
import pytest
from scipy.special import logsumexp

from gpclass.hyper import Objective
from gpclass.hyper.priors import Gamma, Normal
from gpclass.inference import Exact
from gpclass.inference.problem import Problem
from gpclass.kernels import RBF
from gpclass.likelihoods import Gaussian

#: Priors of both kinds: one of theta, one of the parameter itself.
PRIOR = {"variance": Normal(0.0, 1.0), "length_scale": Gamma(3.0, 3.0)}


def objective_of(kernel, likelihood, engine, X, y, n_latent=1):
    """The evidence of a model under an engine, as a function of theta."""
    return Objective(Problem(kernel, likelihood, X, y, n_latent), engine, engine.learner)


@pytest.fixture(scope="session")
def regression():
    """Twelve noisy values of a sine: two free parameters, exact evidence."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(12, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=12)
    return objective_of(1.0 * RBF(1.0), Gaussian(0.1, fixed=True), Exact(), X, y)


def grid_moments(log_density, low, high, n=41):
    """Means and standard deviations of a density of two variables, by brute force."""
    axes = [np.linspace(a, b, n) for a, b in zip(low, high, strict=True)]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    values = np.array([log_density(point) for point in points])
    weights = np.exp(values - logsumexp(values))
    mean = weights @ points
    return mean, np.sqrt(weights @ (points - mean) ** 2)


@pytest.fixture(scope="session")
def truth(regression):
    """Posterior means and standard deviations of theta under PRIOR, of its density in theta."""
    prior = regression.log_prior(PRIOR)

    def log_density(theta):
        return regression.fit(theta).log_evidence + prior(theta, of_theta=True)[0]

    return grid_moments(log_density, (-4.0, -3.5), (5.0, 2.5))
