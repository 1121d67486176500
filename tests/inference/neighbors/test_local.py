"""Regression on nearest rows: against exact regression, the plain version of the loops, and differences."""

import numpy as np
import pytest

from gpclass import GPRegressor, NearestNeighborGPRegressor
from gpclass.inference.neighbors.embedding import Embedding
from gpclass.inference.neighbors.link import ClassLink, GaussianLink
from gpclass.inference.neighbors.local import LocalRegression
from gpclass.inference.neighbors.posterior import NeighborPosterior
from gpclass.inference.neighbors.search import NeighborIndex
from gpclass.kernels import RBF, Categorical, Linear, Matern, View
from gpclass.likelihoods import Gaussian
from gpclass.numerics.differences import derivative

SCALES = np.array([0.7, 1.3, 2.0])
KERNELS = {
    "rbf": RBF(SCALES),
    "matern 1/2": Matern(SCALES, nu=0.5),
    "matern 3/2": Matern(SCALES, nu=1.5),
    "matern 5/2": Matern(SCALES, nu=2.5),
    "one length-scale": Matern(1.1, nu=1.5),
    "a fixed length-scale": Matern(SCALES, nu=1.5, fixed="length_scale"),
    "a sum": RBF(SCALES) + 0.3 * Linear(),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 3)), rng.normal(size=(60, 2)), rng.uniform(0.5, 2.0, 60)


@pytest.mark.parametrize("name", KERNELS)
def test_loops_and_slopes(rows, name):
    (X, targets, weights), kernel = rows, KERNELS[name]
    local = LocalRegression(kernel, 0.2, weights)
    neighbors = NeighborIndex(local.points(X), "exact").search(local.points(X[:7]), 12, np.arange(7))
    moments, pullback = local.vjp(X, targets, X[:7], neighbors)
    rng = np.random.default_rng(1)
    p, q = rng.normal(size=(7, 2)), rng.normal(size=7)
    plain = [local._one(X, targets, row, own, True) for row, own in zip(X[:7], neighbors, strict=True)]
    np.testing.assert_allclose(moments.mean, [mean for mean, _, _ in plain], atol=1e-13)
    np.testing.assert_allclose(moments.variance, [variance for _, variance, _ in plain], atol=1e-13)
    np.testing.assert_allclose(local.moments(X, targets, X[:7], neighbors).mean, moments.mean, atol=1e-14)

    def value(theta):
        at = LocalRegression(kernel.with_theta(theta[:-1]), np.exp(theta[-1]), weights)
        mean, variance = at.moments(X, targets, X[:7], neighbors)
        return np.sum(p * mean) + q @ variance

    by_theta, by_noise, _ = pullback(p, q)
    theta = np.append(kernel.theta, np.log(0.2))
    for j in range(len(theta)):
        step = np.eye(len(theta))[j]
        slope = derivative(lambda t, step=step: value(theta + t * step), 0.0)
        assert np.append(by_theta, by_noise)[j] == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize("kernel", [Matern(SCALES, nu=1.5), RBF(SCALES) + 0.3 * Linear()])
def test_all_rows_for_neighbours_is_exact_regression(rows, kernel):
    X, targets, _ = rows
    posterior = NeighborPosterior(kernel, 0.1, X, targets, len(X) - 1, "exact")
    loo = posterior.leave_one_out(np.arange(len(X)))
    P = np.linalg.inv(kernel(X) + 0.1 * np.eye(len(X)))
    own = np.diag(P)[:, None]
    np.testing.assert_allclose(loo.mean, targets - P @ targets / own, atol=1e-8)
    np.testing.assert_allclose(loo.cov[:, :1], 1.0 / own - 0.1, atol=1e-8)
    new = np.random.default_rng(2).normal(size=(5, 3))
    everything = NeighborPosterior(kernel, 0.1, X, targets, len(X), "exact").moments(new)
    k = kernel(new, X)
    np.testing.assert_allclose(everything.mean, k @ P @ targets, atol=1e-8)
    np.testing.assert_allclose(everything.variance, kernel.diag(new) - np.sum((k @ P) * k, axis=1), atol=1e-8)


def test_regressor_equals_exact_regression():
    X = np.random.default_rng(0).uniform(-2, 2, (50, 2))
    y = np.sin(2 * X[:, 0]) + 3.0
    near = NearestNeighborGPRegressor(RBF(1.0), hyper="fixed", n_neighbors=50, index="exact").fit(X, y)
    exact = GPRegressor(RBF(1.0), likelihood=Gaussian(0.1), hyper="fixed").fit(X, y)
    for ours, theirs in zip(
        near.predict(X + 0.1, return_std=True), exact.predict(X + 0.1, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)
    np.testing.assert_allclose(near.loo_mean_, exact.loo_mean_, atol=1e-8)
    np.testing.assert_allclose(near.loo_std_, exact.loo_std_, atol=1e-8)


@pytest.mark.parametrize("link", ["classes", "numbers"])
def test_slopes_of_links(link):
    rng = np.random.default_rng(0)
    if link == "classes":
        shares = np.array([0.5, 0.3, 0.2])
        start = ClassLink(shares, rng.normal(size=3), 2.0, 0.7, 0.05, 1.5)
        y, mean = rng.integers(3, size=6), rng.normal(size=(6, 3)) * 0.5
    else:
        start, y, mean = GaussianLink(0.7), rng.normal(size=6), rng.normal(size=(6, 1))
    variance, noise = rng.uniform(0.1, 1.0, 6), 0.3
    score = start.score(y, mean, variance, noise)

    def value(theta=start.theta, mean=mean, variance=variance, noise=noise):
        return start.with_theta(theta).score(y, mean, variance, noise).log_prob

    assert len(start.theta) == len(start.theta_names) == len(start.theta_bounds)
    for j, step in enumerate(np.eye(len(start.theta))):
        slope = derivative(lambda t, step=step: value(theta=start.theta + t * step), 0.0)
        np.testing.assert_allclose(score.by_theta[:, j], slope, atol=1e-7)
    for c, step in enumerate(np.eye(mean.shape[1])):
        slope = derivative(lambda t, step=step: value(mean=mean + t * step), 0.0)
        np.testing.assert_allclose(score.by_mean[:, c], slope, atol=1e-7)
    np.testing.assert_allclose(score.by_variance, derivative(lambda t: value(variance=variance + t), 0.0), atol=1e-7)
    slope = derivative(lambda t: value(noise=noise * np.exp(t)), 0.0)
    np.testing.assert_allclose(score.by_noise, slope, atol=1e-7)


def test_probabilities_of_the_link():
    link = ClassLink.start(np.array([0.6, 0.4]))
    mean = np.array([[0.4, -0.4], [-3.0, 3.0], [0.0, 0.0]])
    proba = link.predict(mean, np.full((3, 2), 0.5))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert proba[0, 0] > 0.8
    assert np.all(np.isfinite(link.predict_log(100.0 * mean, np.full((3, 2), 0.5))))


@pytest.mark.parametrize("kind", ["exact", "auto"])
def test_search_leaves_the_row_itself_out(kind, monkeypatch):
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 3, axis=0)  # every row three times
    index = NeighborIndex(X, kind)
    found = index.search(X, 5, np.arange(60))
    assert not np.any(found == np.arange(60)[:, None])
    assert np.all(X[found[:, :2]] == X[:, None])
    brute = np.argsort(np.linalg.norm(X[:, None] - X, axis=2), axis=1, kind="stable")
    distances = np.linalg.norm(X - X[found[:, 4]], axis=1)
    np.testing.assert_allclose(distances, np.linalg.norm(X - X[brute[:, 5]], axis=1), atol=1e-6)


def test_search_without_faiss_finds_the_same(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 15))
    with_faiss = NeighborIndex(X, "exact").search(X[:20], 7)
    monkeypatch.setattr("gpclass.inference.neighbors.search.find_spec", lambda name: None)
    np.testing.assert_array_equal(NeighborIndex(X, "exact").search(X[:20], 7), with_faiss)
    with pytest.raises(ImportError, match=r"pip install 'gpclass\[neighbors\]'"):
        NeighborIndex(X, "approximate")


def test_approximate_search_finds_nearly_all():
    pytest.importorskip("faiss")
    X = np.random.default_rng(0).normal(size=(20000, 6))
    exact, quick = (NeighborIndex(X, kind).search(X[:200], 40) for kind in ("exact", "approximate"))
    recall = np.mean([len(np.intersect1d(a, b)) / 40 for a, b in zip(exact, quick, strict=True)])
    assert recall > 0.9


def test_categories_as_points():
    embedding = Embedding((0, 3))
    X = np.array([[0.5, 0.0], [0.5, 2.0], [1.5, -1.0]])
    points = embedding.transform(X)
    np.testing.assert_array_equal(points, [[0.5, 1, 0, 0], [0.5, 0, 0, 1], [1.5, 0, 0, 0]])
    np.testing.assert_array_equal(embedding.columns, [0, 1, 1, 1])
    np.testing.assert_allclose(embedding.pooled(np.array([2.0, 3.0, 6.0, 9.0])), [2.0, 6.0])


def test_neighbours_under_a_kernel_of_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(4, size=200)])
    kernel = (View(RBF(1.0), [0]) * View(Categorical(0.7), [1])).bind(X)
    local = LocalRegression(kernel, 0.1, embedding=Embedding((0, 4)))
    found = NeighborIndex(local.points(X), "exact").search(local.points(X[:20]), 10, np.arange(20))
    correlation = kernel(X[:20], X)
    correlation[np.arange(20), np.arange(20)] = 0.0
    best = -np.sort(-correlation, axis=1)[:, 9]
    assert np.mean(np.take_along_axis(correlation, found, axis=1) >= best[:, None] - 1e-9) > 0.95
