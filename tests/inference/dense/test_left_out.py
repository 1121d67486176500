"""Leave-one-out predictions of several classes against refits without each row."""

import numpy as np
import pytest

from gpclass.inference import EP, VB, DensePrior, Laplace
from gpclass.inference.dense import left_out
from gpclass.kernels import RBF
from gpclass.likelihoods import MultinomialProbit, Softmax, Weighted


def _displays(n, seed=0, n_lamps=5, n_classes=4):
    """Classes shown by lamps of which some fail: few different inputs, which overlap between classes."""
    rng = np.random.default_rng(seed)
    patterns = rng.integers(2, size=(n_classes, n_lamps))
    y = rng.integers(n_classes, size=n)
    X = patterns[y] ^ (rng.random((n, n_lamps)) < 0.15)
    return X.astype(float), y


def _refits(engine, likelihood, kernel, X, y, C):
    """Latent moments of each row by a model of the others."""
    found = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        fit = engine(DensePrior.at(kernel, X[rest], C), y[rest], likelihood, gradient=True)
        found.append(fit.posterior.latent(X[i : i + 1]))
    return np.concatenate([one.mean for one in found]), np.concatenate([one.cov for one in found])


@pytest.fixture
def everything(monkeypatch):
    """Every row is solved for again, at all inputs, to many digits."""
    for name, value in {
        "_SMALL_MOVE": 0.0,
        "_FEWEST": 10**6,
        "_TOL": 1e-9,
        "_SWEEP_TOL": 1e-9,
    }.items():
        monkeypatch.setattr(left_out, name, value)
    monkeypatch.setattr(left_out, "_MAX_ITER", 200)


@pytest.mark.parametrize(
    ("engine", "likelihood"),
    [
        (VB(), MultinomialProbit()),
        (VB(), MultinomialProbit(label_noise=0.05)),
        (Laplace(), Softmax()),
        (EP(tol=1e-8), MultinomialProbit()),
    ],
)
def test_with_all_inputs_it_is_the_refit(everything, engine, likelihood):
    X, y = _displays(40)
    kernel = 30.0 * RBF(1.5)
    mean, cov = _refits(engine, likelihood, kernel, X, y, 4)
    found = engine(DensePrior.at(kernel, X, 4), y, likelihood).loo
    np.testing.assert_allclose(found.mean, mean, atol=2e-5)
    if not isinstance(engine, VB):  # whose variances are those of its own posterior
        np.testing.assert_allclose(found.cov, cov, atol=2e-5)


def test_with_one_input_of_one_row_it_is_the_cavity(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    prior, engine = DensePrior.at(20.0 * RBF(1.0), X, 3), EP(tol=1e-8)
    monkeypatch.setattr(left_out, "_MOST_NUMBERS", 0.0)
    cavities = engine(prior, y, MultinomialProbit()).loo
    monkeypatch.undo()
    for name in ("_FEWEST", "_MOST"):
        monkeypatch.setattr(left_out, name, 1)
    found = engine(prior, y, MultinomialProbit()).loo
    np.testing.assert_allclose(found.mean, cavities.mean, atol=1e-8)
    np.testing.assert_allclose(found.cov, cavities.cov, atol=1e-8)


def test_equal_rows_are_counted():
    # Weights of one keep all rows apart; there are no more of them than fit into one problem.
    X, y = _displays(30)
    prior = DensePrior.at(30.0 * RBF(1.5), X, 4)
    together = VB()(prior, y, MultinomialProbit()).loo
    apart = VB()(prior, y, Weighted(MultinomialProbit(), np.ones(30))).loo
    np.testing.assert_allclose(apart.mean, together.mean, atol=1e-2)


@pytest.mark.parametrize("engine", [VB(), EP()])
@pytest.mark.parametrize(("amplitude", "tolerance"), [(10.0, 0.01), (1000.0, 0.05)])
def test_log_loss_is_that_of_refits(monkeypatch, engine, amplitude, tolerance):
    X, y = _displays(70, n_lamps=7, n_classes=6)
    kernel, likelihood, rows = amplitude * RBF(2.6), MultinomialProbit(), np.arange(70)
    prior = DensePrior.at(kernel, X, 6)

    def loss(moments):
        return -likelihood.predict_log(*moments)[rows, y].mean()

    refit = loss(_refits(engine, likelihood, kernel, X, y, 6))
    assert abs(loss(engine(prior, y, likelihood).loo) - refit) < tolerance
    monkeypatch.setattr(left_out, "_MOST_NUMBERS", 0.0)
    assert loss(engine(prior, y, likelihood).loo) < refit - tolerance  # what it was without
