"""The entropy of predictions against plain sampling, and similarity against the kernel itself."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gpclass import (
    GPClassifier,
    GPOrdinalClassifier,
    GPRegressor,
    MultiTaskIVMClassifier,
    NullCategoryClassifier,
    SparseGPClassifier,
)
from gpclass.datasets import make_crescents
from gpclass.evaluation.uncertainty import _expected_entropy, entropy_split, similarity, similarity_within
from gpclass.hyper import Importance
from gpclass.kernels import RBF
from gpclass.likelihoods import Logit, OrderedProbit, Probit

X, y = load_iris(return_X_y=True)
SOME = np.arange(0, 150, 10)


def entropy(proba):
    return -np.sum(np.where(proba > 0, proba * np.log(np.maximum(proba, 1e-300)), 0.0), axis=-1)


def brute_force(model, rows, n_draws=2000):
    """E H[p(y|f)] by draws of f row by row, with the model's own calibration."""
    mean, cov = model.calibration_(*model.latent(rows))
    rng = np.random.default_rng(0)
    found, a = [], model.calibration_.mean_scale
    for m, c in zip(mean, cov, strict=True):
        C = np.diag(c) if c.ndim == 1 else c
        f = rng.multivariate_normal(m, C, size=n_draws)
        found.append(entropy(np.exp(model.calibration_.log_proba(model.likelihood_, f / a, np.zeros_like(f)))).mean())
    return np.array(found)


@pytest.mark.parametrize(
    "model",
    [
        GPClassifier(10.0 * RBF(1.5), hyper="fixed", standardize=True),
        GPClassifier(10.0 * RBF(1.5), hyper="fixed", standardize=True, inference="ep"),
        GPOrdinalClassifier(10.0 * RBF(1.5), hyper="fixed", standardize=True),
    ],
    ids=["vb", "ep", "ordinal"],
)
def test_the_split_is_that_of_plain_sampling(model):
    model.fit(X, y)
    split = entropy_split(model, X[SOME])
    np.testing.assert_allclose(split.total, entropy(model.predict_proba(X[SOME])), atol=1e-12)
    np.testing.assert_allclose(split.epistemic + split.aleatoric, split.total, atol=1e-12)
    np.testing.assert_allclose(split.aleatoric, brute_force(model, X[SOME]), atol=0.02)
    assert np.all(split.epistemic >= 0)


def test_two_classes_are_integrated_all_but_exactly():
    model = GPClassifier(5.0 * RBF(1.0), hyper="fixed").fit(X[:100, :2], y[:100])
    rows = X[SOME[:10], :2]
    split = entropy_split(model, rows)
    mean, var = model.calibration_(*model.latent(rows))
    f = np.linspace(-60, 60, 20001)[:, None]
    lapse_rate = model.calibration_.lapse_rate
    H = entropy((1 - lapse_rate) * model.likelihood_.predict(f, np.zeros_like(f)) + lapse_rate / 2)
    for i in range(len(rows)):
        density = np.exp(-0.5 * (f[:, 0] - mean[i, 0]) ** 2 / var[i, 0]) / np.sqrt(2 * np.pi * var[i, 0])
        assert split.aleatoric[i] == pytest.approx(np.trapezoid(density * H, f[:, 0]), abs=2e-4)


@pytest.mark.parametrize("lapse_rate", [0.0, 0.01])
@pytest.mark.parametrize("sd", [0.5, 2.5, 20.0, 100.0])
@pytest.mark.parametrize("likelihood", [Probit(), Logit(), OrderedProbit.from_cut_points([-4.0, 3.0])])
def test_wide_and_narrow_distributions_are_integrated_alike(likelihood, sd, lapse_rate):
    mean = np.array([-30.0, -3.0, 0.0, 1.0, 15.0])
    f = np.linspace(-700, 700, 140001)[:, None]
    proba = likelihood.predict(f, np.zeros_like(f))
    H = entropy((1 - lapse_rate) * proba + lapse_rate / proba.shape[1])
    H -= H.min()
    found = _expected_entropy(likelihood, mean[:, None], np.full((5, 1), sd**2), 16, lapse_rate)
    for m, value in zip(mean, found, strict=True):
        density = np.exp(-0.5 * ((f[:, 0] - m) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        assert value == pytest.approx(np.trapezoid(density * H, f[:, 0]), rel=1e-3, abs=1e-7)


def test_far_away_the_entropy_could_be_removed_and_among_mixed_labels_it_lasts():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 1))
    model = GPClassifier(4.0 * RBF(1.0), hyper="fixed").fit(Z, rng.integers(0, 2, 200))
    split = entropy_split(model, [[0.0], [30.0]])
    assert split.epistemic[0] < 0.05 * split.total[0]
    assert split.epistemic[1] > 0.3 * split.total[1]


def test_averaged_models_are_averaged():
    model = GPClassifier(RBF(1.0), hyper=Importance(n_draws=40, n_models=5), random_state=0).fit(X[::5], y[::5])
    split = entropy_split(model, X[SOME])
    assert np.all(split.aleatoric <= split.total)
    assert np.all(np.isfinite(split.epistemic))


def test_numbers_have_no_entropy():
    with pytest.raises(TypeError, match="expected a classifier, got GPRegressor"):
        entropy_split(GPRegressor().fit(X[:30], X[:30, 0]), X[:2])


def test_similarity_is_the_largest_correlation():
    model = GPClassifier(7.0 * RBF(1.3), hyper="fixed").fit(X[:100], y[:100])
    np.testing.assert_allclose(similarity(model, X[:5]), 1.0)
    new = X[120:125]
    K = np.exp(-0.5 * ((new[:, None] - X[:100]) ** 2).sum(axis=2) / 1.3**2)
    np.testing.assert_allclose(similarity(model, new), K.max(axis=1), rtol=1e-10)
    assert similarity(model, X[:1] + 1e3)[0] == 0.0
    Z = np.unique(X[:100], axis=0)
    K = np.exp(-0.5 * ((Z[:, None] - Z) ** 2).sum(axis=2) / 1.3**2)
    np.testing.assert_allclose(similarity_within(model), (K - 2 * np.eye(len(Z))).max(axis=1), rtol=1e-10)


def test_similarity_to_the_rows_that_are_kept():
    sparse = SparseGPClassifier(RBF(1.0), hyper="fixed", n_inducing=20).fit(X, y)
    np.testing.assert_allclose(similarity(sparse, sparse.inducing_rows_), 1.0)
    rows, labels, _ = make_crescents(120, random_state=0)
    assert similarity(NullCategoryClassifier(n_active=40, hyper="fixed").fit(rows, labels), rows).shape == (120,)


def test_several_models_in_one_are_named():
    tasks = MultiTaskIVMClassifier(hyper="fixed").fit(X[:60, :2], y[:60] == 0, task=np.arange(60) % 2)
    with pytest.raises(TypeError, match="expected a model with one posterior, got MultiTaskIVMClassifier"):
        entropy_split(tasks, X[:2, :2])
