"""Regression on neighbours by arrays of other namespaces: the numbers of the compiled loops."""

import numpy as np
import pytest
from sklearn import config_context

from gpclass import NearestNeighborGPClassifier, NearestNeighborGPRegressor, load, save
from gpclass.inference.neighbors import on_device
from gpclass.inference.neighbors.local import LocalRegression
from gpclass.inference.neighbors.on_device import SentRows
from gpclass.inference.neighbors.search import NeighborIndex
from gpclass.kernels import RBF, Matern
from gpclass.numerics.arrays import is_numpy, to_host
from gpclass.numerics.devices import HOST, Place
from tests.inference.namespaces import NAMESPACES, moved, needs_dispatch

N, D = 80, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
TARGETS = RNG.normal(size=(N, 3))
WEIGHTS = RNG.uniform(0.5, 3.0, N)
LABELS = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])


@pytest.fixture(params=NAMESPACES)
def place(request):
    return Place.of(moved(X, request.param))


@pytest.mark.parametrize("kernel", [RBF(1.5), Matern([1.0, 2.0, 1.0, 3.0], nu=0.5), Matern(2.0), Matern(1.0, nu=2.5)])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_moments_and_slopes(place, kernel, mixed, weights):
    kernel = kernel.bind(X)
    mixing = 0.1 * np.random.default_rng(1).normal(size=(D, D)) if mixed else None
    here = LocalRegression(kernel, 0.2, weights, mixing=mixing)
    there = LocalRegression(kernel, 0.2, weights, mixing=mixing, sent=SentRows.of(place, X, TARGETS, weights))
    points = here.points(X)
    neighbors = NeighborIndex(points, "exact").search(points[:20], 15, np.arange(20))
    p, q = np.random.default_rng(2).normal(size=(20, 3)), np.random.default_rng(3).normal(size=20)
    (found, found_pull), (expected, expected_pull) = (one.vjp(X, TARGETS, X[:20], neighbors) for one in (there, here))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.variance, expected.variance, rtol=0, atol=1e-10)
    slopes, by_loops = found_pull(p, q), expected_pull(p, q)
    np.testing.assert_allclose(slopes.theta, by_loops.theta, rtol=1e-9, atol=1e-9)
    assert slopes.noise == pytest.approx(by_loops.noise, rel=1e-9)
    if mixed:
        np.testing.assert_allclose(slopes.mixing, by_loops.mixing, rtol=1e-9, atol=1e-9)


def test_equal_rows(place):
    twice = np.repeat(X[:20], 2, axis=0)
    targets = np.repeat(TARGETS[:20], 2, axis=0)
    kernel = Matern(1.0).bind(X)
    neighbors = NeighborIndex(twice, "exact").search(twice[:10], 8, np.arange(10))
    here = LocalRegression(kernel, 0.1).moments(twice, targets, twice[:10], neighbors)
    sent = SentRows.of(place, twice, targets, None)
    there = LocalRegression(kernel, 0.1, sent=sent).moments(twice, targets, twice[:10], neighbors)
    np.testing.assert_allclose(there.mean, here.mean, rtol=0, atol=1e-10)


def test_search_is_exact(place, monkeypatch):
    monkeypatch.setattr(on_device, "_BLOCK_ENTRIES", 7 * N)
    shifted = 1e3 + X
    distances = np.linalg.norm(X[:30, None] - X, axis=2)
    expected = np.argsort(distances, axis=1)[:, :9]
    index = NeighborIndex(shifted, "auto", place=place)
    np.testing.assert_array_equal(index.search(shifted[:30], 9), expected)
    np.testing.assert_array_equal(index.search(shifted[:30], 8, np.arange(30)), expected[:, 1:])


@needs_dispatch
@pytest.mark.parametrize("name", NAMESPACES)
def test_classifier(name, tmp_path):
    settings = {"n_neighbors": 20, "max_iter": 60, "random_state": 0}
    here = NearestNeighborGPClassifier(**settings).fit(X, LABELS)
    with config_context(array_api_dispatch=True):
        there = moved(X, name)
        model = NearestNeighborGPClassifier(**settings).fit(there, moved(LABELS, name))
        proba = model.predict_proba(there)
        assert Place.of(proba) == Place.of(there)
        np.testing.assert_allclose(to_host(proba), here.predict_proba(X), rtol=0, atol=1e-6)
        np.testing.assert_allclose(model.loo_proba_, here.loo_proba_, rtol=0, atol=1e-6)
        assert is_numpy(model.predict_proba(X))
        model.partial_fit(moved(X[:5], name), LABELS[:5])
        assert model.n_samples_seen_ == N + 5
        proba = model.predict_proba(X)
        save(model, tmp_path / "model.gpclass")
    loaded = load(tmp_path / "model.gpclass")
    assert loaded._local.place == HOST
    np.testing.assert_allclose(loaded.predict_proba(X), proba, atol=1e-8)


@needs_dispatch
@pytest.mark.parametrize("name", NAMESPACES)
def test_regressor(name):
    y, settings = X[:, 0] ** 2, {"n_neighbors": 20, "max_iter": 60, "random_state": 0}
    here = NearestNeighborGPRegressor(**settings).fit(X, y)
    with config_context(array_api_dispatch=True):
        there = moved(X, name)
        model = NearestNeighborGPRegressor(**settings).fit(there, moved(y, name))
        np.testing.assert_allclose(to_host(model.predict(there)), here.predict(X), rtol=0, atol=1e-6)
        np.testing.assert_allclose(model.loo_mean_, here.loo_mean_, rtol=0, atol=1e-6)
        again = NearestNeighborGPRegressor(device="cpu", **settings).fit(there, y)
    np.testing.assert_allclose(again.predict(X), here.predict(X))


@needs_dispatch
def test_memory_that_runs_out(monkeypatch):
    def allocate(*args, **settings):
        raise type("OutOfMemoryError", (RuntimeError,), {})("tried to allocate 2.00 GiB")

    monkeypatch.setattr("gpclass.inference.neighbors.local.on_device", allocate)
    model = NearestNeighborGPClassifier(n_neighbors=20)
    refused = pytest.raises(MemoryError, match=r"too little memory for 80 rows and their neighbours .*device='cpu'")
    with config_context(array_api_dispatch=True), refused:
        model.fit(moved(X, "array_api_strict"), LABELS)
    assert not hasattr(model, "classes_")
