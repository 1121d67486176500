"""Predictions of groups of rows without their labels, against plain formulas and refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gpclass.inference import EP, VB, DensePrior, Exact, Gibbs, Laplace
from gpclass.inference.dense import left_out, left_out_groups
from gpclass.inference.dense.product_form_posterior import ProductFormPosterior
from gpclass.kernels import RBF, PerClass
from gpclass.likelihoods import Gaussian, Logit, MultinomialProbit, Probit, Softmax
from gpclass.numerics import product_form

#: Groups of one, two and ten rows of 40; the others are in no group.
GROUPS = [np.array([3]), np.array([5, 30]), np.arange(10, 20)]


def _rows(n=40, C=3, seed=0):
    """Rows near centres, so that groups of neighbours matter, with labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n // 10, 2))[np.repeat(np.arange(n // 10), 10)] + 0.4 * rng.normal(size=(n, 2))
    f = np.stack([np.sin(2.0 * X[:, 0] + c) + np.cos((c + 1) * X[:, 1]) for c in range(C)], axis=1)
    return X, (f + 0.3 * rng.normal(size=f.shape)).argmax(axis=1)


def _terms(fit):
    return fit.posterior.terms


def _without(engine, kernel, likelihood, X, y, C, groups):
    prior = DensePrior.at(kernel, X, C)
    return engine.without_groups(prior, y, likelihood, _terms(engine(prior, y, likelihood)), groups)


def _refits(engine, kernel, likelihood, X, y, C, groups):
    """Latent moments of each group by a model of all other rows."""
    found = []
    for group in groups:
        rest = np.setdiff1d(np.arange(len(y)), group)
        fit = engine(DensePrior.at(kernel, X[rest], C), y[rest], likelihood, gradient=True)
        found.append(fit.posterior.latent(X[group]))
    return np.concatenate([one.mean for one in found]), np.concatenate([one.cov for one in found])


@pytest.mark.parametrize("C", [1, 3])
def test_cavities_against_the_plain_formula(C):
    rng = np.random.default_rng(1)
    X, d = rng.normal(size=(12, 2)), rng.uniform(0.1, 3.0, (12, C))
    K, location = 5.0 * RBF(1.0)(X) + 1e-6 * np.eye(12), rng.normal(size=(12, C))
    posterior, groups = ProductFormPosterior(K, d), [np.array([1]), np.array([0, 4, 7])]
    alpha = posterior.alpha(location)
    mean, cov = left_out_groups.without_groups(posterior, K @ alpha, alpha, groups)
    sites = np.zeros((12, C, 12, C))
    sites[np.arange(12), :, np.arange(12), :] = product_form.curvature_blocks(d)
    for rows in groups:  # all sites but those of the group, with matrices of 12 C rows
        kept = sites.copy()
        kept[rows] = 0.0
        pull = location.copy()
        pull[rows] = 0.0
        S = np.linalg.inv(np.linalg.inv(np.kron(K, np.eye(C))) + kept.reshape(12 * C, -1))
        assert_allclose(mean[rows], (S @ pull.ravel()).reshape(12, C)[rows], atol=1e-7)
        assert_allclose(cov[rows], np.einsum("icid->icd", S.reshape(12, C, 12, C))[rows], atol=1e-7)
    assert np.all(np.isnan(mean[[2, 3, 5]]))


@pytest.fixture
def everything(monkeypatch):
    """Every group is solved for again, with all other rows, to many digits."""
    for module, name, value in (
        (left_out_groups, "_SMALL_MOVE", 0.0),
        (left_out_groups, "_FEWEST", 10**6),
        (left_out_groups, "_MOST", 10**6),
        (left_out, "_TOL", 1e-9),
        (left_out, "_SWEEP_TOL", 1e-9),
        (left_out, "_MAX_ITER", 400),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize(
    ("engine", "likelihood", "C"),
    [
        (EP(tol=1e-8), Probit(), 1),
        (EP(tol=1e-8), MultinomialProbit(), 3),
        (VB(), Probit(), 1),
        (VB(), MultinomialProbit(), 3),
        (Laplace(), Logit(), 1),
        (Laplace(), Softmax(), 3),
    ],
)
def test_with_all_other_rows_it_is_the_refit(everything, engine, likelihood, C):
    X, y = _rows(C=max(C, 2))
    groups = [*GROUPS, np.flatnonzero(y == 1)] if C > 1 else GROUPS  # the last one has all rows of a class
    kernel = 20.0 * RBF(1.0)
    for part in (groups[:3], groups[3:]):
        if not part:
            continue
        mean, cov = _refits(engine, kernel, likelihood, X, y, C, part)
        found, rows = _without(engine, kernel, likelihood, X, y, C, part), np.concatenate(part)
        assert_allclose(found.mean[rows], mean, atol=5e-5)
        assert_allclose(found.cov[rows], cov, atol=5e-5)


def test_exact_regression_is_exact():
    X, y = _rows()[0], np.random.default_rng(2).normal(size=40)
    kernel, likelihood = 3.0 * RBF(1.0), Gaussian(0.2, bias=0.3)
    mean, cov = _refits(Exact(), kernel, likelihood, X, y, 1, GROUPS)
    found, rows = _without(Exact(), kernel, likelihood, X, y, 1, GROUPS), np.concatenate(GROUPS)
    assert_allclose(found.mean[rows], mean, atol=1e-8)
    assert_allclose(found.cov[rows], cov, atol=1e-8)
    loo = Exact()(DensePrior.at(kernel, X), y, likelihood).loo
    alone = _without(Exact(), kernel, likelihood, X, y, 1, [np.array([i]) for i in range(40)])
    assert_allclose(alone.mean, loo.mean, atol=1e-9)
    assert_allclose(alone.cov, loo.cov, atol=1e-9)


@pytest.mark.parametrize(
    ("engine", "likelihood"),
    [(EP(), Probit()), (VB(), Probit()), (Laplace(), Logit()), (EP(), Probit(label_noise=0.1))],
)
def test_cavities_of_single_rows_are_those_of_leave_one_out(monkeypatch, engine, likelihood):
    monkeypatch.setattr(left_out_groups, "_SMALL_MOVE", np.inf)
    X, y = _rows(C=2)
    loo = engine(DensePrior.at(20.0 * RBF(1.0), X), y, likelihood).loo
    found = _without(engine, 20.0 * RBF(1.0), likelihood, X, y, 1, [np.array([i]) for i in range(40)])
    assert_allclose(found.mean, loo.mean, atol=1e-7)
    assert_allclose(found.cov, loo.cov, atol=1e-7)


@pytest.mark.parametrize(
    ("engine", "likelihood", "C"),
    [
        (EP(), Probit(), 1),
        (EP(), MultinomialProbit(), 3),
        (VB(), MultinomialProbit(), 3),
        (Laplace(), Softmax(), 3),
    ],
)
def test_as_it_comes_it_is_close_to_the_refits(monkeypatch, engine, likelihood, C):
    """Of 160 rows, at most 100 are solved for again."""
    X, y = _rows(160, max(C, 2), seed=1)
    groups = np.split(np.arange(160), 16)[:4]
    rows, kernel = np.concatenate(groups), 20.0 * RBF(1.0)
    moments = _refits(engine, kernel, likelihood, X, y, C, groups)
    errors = []
    for small_move in (np.inf, left_out_groups._SMALL_MOVE):
        monkeypatch.setattr(left_out_groups, "_SMALL_MOVE", small_move)
        found = _without(engine, kernel, likelihood, X, y, C, groups)
        proba, refitted = likelihood.predict(found.mean[rows], found.cov[rows]), likelihood.predict(*moments)
        losses = [-np.mean(np.log(p[np.arange(len(rows)), y[rows]])) for p in (proba, refitted)]
        errors.append((np.abs(proba - refitted).max(), abs(losses[0] - losses[1])))
    assert errors[1][0] < 0.02
    assert errors[1][1] < 0.01
    assert errors[1][0] < 0.5 * errors[0][0]  # cavities alone take the neighbours as they are


def test_classes_with_kernels_and_sites_of_their_own():
    """Label noise gives EP sites that are independent between classes: then each class has its own cavity."""
    X, y = _rows()
    kernel, likelihood, engine = (
        PerClass([5.0 * RBF(s) for s in (0.5, 1.0, 2.0)]),
        MultinomialProbit(label_noise=0.1),
        EP(),
    )
    prior = DensePrior.at(kernel, X, 3)
    fit = engine(prior, y, likelihood)
    tau, nu = fit.state
    found = engine.without_groups(prior, y, likelihood, _terms(fit), GROUPS)
    for rows in GROUPS:
        for c in range(3):
            precision, location = tau[:, c].copy(), nu[:, c].copy()
            precision[rows] = location[rows] = 0.0
            S = np.linalg.solve(np.eye(40) + prior.K[c] * precision, prior.K[c])
            assert_allclose(found.mean[rows, c], (S @ location)[rows], atol=1e-5)
            assert_allclose(found.cov[rows, c], np.diag(S)[rows], atol=1e-5)


def test_an_engine_without_sites_refuses():
    with pytest.raises(TypeError, match=r"expected an engine that predicts groups.*got Gibbs\(\)"):
        Gibbs().without_groups(None, None, None, None, [])
