"""Engines that keep a single n x n matrix: the posteriors of VB and Exact."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import config_context

from gpclass import GPClassifier, GPRegressor, load, save
from gpclass.inference import posteriors, whitened
from gpclass.inference.dense.exact import Exact
from gpclass.inference.dense.one_matrix import OneMatrixExact, OneMatrixVB
from gpclass.inference.dense.vb import VB
from gpclass.inference.prior import DensePrior, UnevaluatedPrior
from gpclass.inference.problem import held_out_rows
from gpclass.kernels import RBF, Matern, PerClass, White
from gpclass.likelihoods import Gaussian, MultinomialProbit, Probit
from gpclass.likelihoods.soft_labels import SoftLabels
from gpclass.likelihoods.weighted import Weighted
from gpclass.numerics import in_place
from gpclass.numerics.arrays import to_host
from gpclass.training import dense
from tests.inference.namespaces import NAMESPACES, moved, needs_dispatch

N = 60
X = np.random.default_rng(0).normal(size=(N, 2))
THREE = np.random.default_rng(1).integers(0, 3, size=N)
NEW = np.random.default_rng(2).normal(size=(9, 2))
KERNEL = 20.0 * RBF([1.0, 2.0]) + White(0.3)
WEIGHTS = np.random.default_rng(3).integers(1, 4, size=N).astype(float)
SOFT = np.random.default_rng(4).dirichlet(np.ones(3), size=N)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks and panels of a few rows, and one matrix from 40 rows on."""
    monkeypatch.setattr(in_place, "BLOCK", 16)
    monkeypatch.setattr(whitened, "_BLOCK_ENTRIES", 7 * N)
    monkeypatch.setattr(dense, "MANY_ROWS", 40)
    monkeypatch.setattr(posteriors, "MANY_ROWS", 40)


LIKELIHOODS = {
    "two classes": (Probit(), THREE % 2, 1),
    "three classes": (MultinomialProbit(), THREE, 3),
    "label noise": (MultinomialProbit(label_noise=0.05), THREE, 3),
    "weights": (Weighted(MultinomialProbit(), WEIGHTS, np.ones(N)), THREE, 3),
    "soft labels": (SoftLabels(MultinomialProbit(), SOFT), SOFT.argmax(axis=1), 3),
}


@pytest.mark.parametrize(("likelihood", "y", "C"), LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_the_posterior_of_vb(likelihood, y, C):
    kernel = KERNEL.bind(X)
    theirs = VB(tol=1e-10)(DensePrior.at(kernel, X, C), y, likelihood)
    ours = OneMatrixVB(tol=1e-9)(UnevaluatedPrior(kernel, X, C), y, likelihood)
    assert ours.info.converged
    assert ours.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-8)
    for found, expected in zip(ours.posterior.latent(NEW), theirs.posterior.latent(NEW), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("likelihood", "y", "C"), LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_rows_held_out_are_predicted_by_a_fit_to_the_others(likelihood, y, C):
    kernel = KERNEL.bind(X)
    left_out = OneMatrixVB(tol=1e-9)(UnevaluatedPrior(kernel, X, C), y, likelihood).loo
    rows = held_out_rows(y, 2000)
    assert 5 < rows.sum() < 15
    np.testing.assert_array_equal(np.isnan(left_out.mean).all(axis=1), ~rows)
    rest = np.flatnonzero(~rows)
    fit = VB(tol=1e-10)(DensePrior.at(kernel, X[rest], C), y[rest], likelihood.subset(rest))
    mean, variance = fit.posterior.latent(X[rows])
    np.testing.assert_allclose(left_out.mean[rows], mean, rtol=0, atol=1e-7)
    np.testing.assert_allclose(left_out.cov[rows], variance, rtol=0, atol=1e-9)


def test_one_copy_of_a_weighted_row_is_left_out():
    kernel, likelihood = KERNEL.bind(X), Weighted(MultinomialProbit(), WEIGHTS, 1.0 / WEIGHTS)
    left_out = OneMatrixVB(tol=1e-9)(UnevaluatedPrior(kernel, X, 3), THREE, likelihood).loo
    rows = held_out_rows(THREE, 2000)
    kept = WEIGHTS - rows
    some = np.flatnonzero(kept > 0)
    fit = VB(tol=1e-10)(DensePrior.at(kernel, X[some], 3), THREE[some], Weighted(MultinomialProbit(), kept[some]))
    # A copy that stays shares the noise of White with the row that is predicted, so rows without one are compared.
    alone = rows & (WEIGHTS == 1)
    assert alone.any()
    mean, variance = fit.posterior.latent(X[alone])
    np.testing.assert_allclose(left_out.mean[alone], mean, rtol=0, atol=1e-7)
    np.testing.assert_allclose(left_out.cov[alone], variance, rtol=0, atol=1e-9)


def test_the_posterior_of_exact():
    kernel, y = KERNEL.bind(X), np.sin(X[:, 0]) + 0.1 * X[:, 1]
    likelihood = Gaussian(variance=0.2, bias=0.1)
    theirs = Exact()(DensePrior.at(kernel, X), y, likelihood)
    ours = OneMatrixExact()(UnevaluatedPrior(kernel, X, 1), y, likelihood)
    assert ours.log_evidence == pytest.approx(theirs.log_evidence, rel=1e-10)
    for one, other in ((ours.posterior.latent(NEW), theirs.posterior.latent(NEW)), (ours.loo, theirs.loo)):
        np.testing.assert_allclose(one.mean, other.mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(one.cov, other.cov, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMESPACES)
@pytest.mark.parametrize("labelled", [True, False], ids=["labels", "numbers"])
@needs_dispatch
def test_other_namespaces(name, labelled):
    model = GPClassifier(KERNEL, hyper="fixed", inference="vb") if labelled else GPRegressor(KERNEL, hyper="fixed")
    y = THREE if labelled else X[:, 0] ** 2
    here = model.fit(X, y).latent(NEW)
    with config_context(array_api_dispatch=True):
        there = model.fit(moved(X, name), y).latent(moved(NEW, name))
    for found, expected in zip(there, here, strict=True):
        np.testing.assert_allclose(to_host(found), expected, rtol=0, atol=1e-8)


def test_estimator(tmp_path):
    model = GPClassifier(KERNEL, hyper="fixed", inference="vb").fit(X, THREE)
    held_out = held_out_rows(THREE, 2000)
    np.testing.assert_array_equal(np.isfinite(model.loo_proba_[:, 0]), held_out)
    np.testing.assert_allclose(model.loo_proba_[held_out].sum(axis=1), 1.0)
    assert model.calibration_ != GPClassifier(KERNEL, hyper="fixed", calibration=None).fit(X, THREE).calibration_
    save(model, tmp_path / "model.gpc")
    np.testing.assert_allclose(load(tmp_path / "model.gpc").predict_proba(NEW), model.predict_proba(NEW), atol=1e-10)


def test_what_is_learned_is_the_same(monkeypatch):
    settings = {"inference": "vb", "hyper": "evidence", "calibration": None}
    ours = GPClassifier(9.0 * Matern(1.0), **settings).fit(X, THREE)
    monkeypatch.setattr(dense, "MANY_ROWS", N)
    theirs = GPClassifier(9.0 * Matern(1.0), **settings).fit(X, THREE)
    np.testing.assert_array_equal(ours.hyper_.theta, theirs.hyper_.theta)
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), atol=1e-3)


def test_a_kernel_for_each_class_keeps_its_engine():
    model = GPClassifier(PerClass(9.0 * RBF(1.0)), hyper="fixed", inference="vb").fit(X, THREE)
    assert np.isfinite(model.loo_proba_).all()


def test_a_limit_on_steps_is_told():
    kernel = KERNEL.bind(X)
    fit = replace(OneMatrixVB(), max_iter=1)(UnevaluatedPrior(kernel, X, 3), THREE, MultinomialProbit())
    assert not fit.info.converged
    assert "max_iter" in OneMatrixVB().why_not_converged(fit.info)


def test_memory_is_checked_for_one_matrix(monkeypatch):
    monkeypatch.setattr("gpclass.numerics.devices.Place.free_memory", lambda self: 8 * N**2)
    GPClassifier(KERNEL, hyper="fixed", inference="vb").fit(X, THREE)
    with pytest.raises(MemoryError, match=f"{N} rows"):
        GPClassifier(KERNEL, hyper="fixed", inference="laplace").fit(X, THREE)
