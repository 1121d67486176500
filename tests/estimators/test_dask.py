"""Dask collections: the same model as from memory, whatever computes it, and errors that name the chunk."""

import logging
import os
import signal
import threading
import time

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from gpclass import GPClassifier, NearestNeighborGPClassifier, SparseGPClassifier, papers
from gpclass.estimators import sparse_gp_classifier
from gpclass.estimators.distributed import collections, neighbors, sums
from gpclass.evaluation.prediction_sets import PredictionSets
from gpclass.hyper import HMC, Evidence
from gpclass.inference import ParallelEP, SparseEP, SparseVB
from gpclass.inference.inducing import parallel_ep
from gpclass.kernels import RBF, PerClass
from gpclass.numerics.devices import Place

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.dask, pytest.mark.filterwarnings("default")]  # warnings of Dask's own
KERNEL = 10.0 * RBF(2.0)


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    monkeypatch.setattr(sparse_gp_classifier, "SAMPLE_ROWS", 300)


@pytest.fixture(scope="module")
def client():
    with distributed.Client(
        processes=False,
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        silence_logs=logging.ERROR,
        set_as_default=False,
    ) as made:
        yield made


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 3))
    f = X + 0.5 * rng.standard_normal(X.shape)
    return X, np.array(["ash", "beech", "oak"])[np.argmax(f, axis=1)]


@pytest.fixture(scope="module")
def frame(table):
    X, y = table
    found = pd.DataFrame(X, columns=["a", "b", "c"])
    found["kind"] = np.where(np.arange(1500) < 1400, np.where(X[:, 0] > 0, "u", "v"), "w")
    return found.assign(y=y)


def sparse(**settings):
    return SparseGPClassifier(**{"kernel": KERNEL, "hyper": "fixed", "n_inducing": 30, "random_state": 0} | settings)


def chunked(table, size=200):
    X, y = table
    return da.from_array(X, (size, -1)), da.from_array(y, size)


# ---- fits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [ParallelEP(tol=1e-6), SparseVB(tol=1e-6)], ids=["ep", "vb"])
def test_the_same_model_as_from_memory(table, engine):
    X, y = table
    settings = {"inference": engine, "inducing": X[:25], "standardize": True, "calibration": None}
    here = sparse(**settings).fit(X, y)
    there = sparse(**settings).fit(*chunked(table))
    np.testing.assert_array_equal(there.classes_, here.classes_)
    np.testing.assert_allclose(there.input_mean_, here.input_mean_, atol=1e-12)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-5)
    assert there.log_evidence_ == pytest.approx(here.log_evidence_, abs=1e-3)
    assert len(there.loo_proba_) == len(there.loo_rows_) >= 300
    np.testing.assert_array_equal(there.loo_labels_, y[there.loo_rows_])
    np.testing.assert_allclose(there.loo_proba_, here.loo_proba_[there.loo_rows_], atol=0.02)


@pytest.mark.parametrize("scheduler", ["cluster", "threads", "synchronous"])
def test_whatever_computes_it_the_model_is_the_same(table, client, scheduler):
    X, _ = table
    model = SparseGPClassifier(n_inducing=30, random_state=0)
    with dask.config.set(scheduler="synchronous"):
        expected = clone(model).fit(*chunked(table)).predict_proba(X)
    settings = {} if scheduler == "cluster" else {"scheduler": scheduler}
    with dask.config.set(settings), client.as_current():
        found = model.fit(*chunked(table)).predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("size", [200, 700])
def test_what_is_learned_is_the_same_too(table, size):
    X, y = table
    model = SparseGPClassifier(n_inducing=30, calibration=None, random_state=0)
    here, there = clone(model).fit(X, y), clone(model).fit(*chunked(table, size))
    np.testing.assert_allclose(there.kernel_.theta, here.kernel_.theta, atol=1e-4)
    np.testing.assert_allclose(np.sort(there.inducing_rows_, axis=0), np.sort(here.inducing_rows_, axis=0), atol=1e-9)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=2e-3)


def test_learning_and_calibration_from_a_sample(table):
    X, y = table
    model = SparseGPClassifier(n_inducing=40, random_state=0).fit(*chunked(table))
    assert 0.7 < model.score(X, y) < 0.95
    assert model.calibration_.mean_scale != 1.0
    assert len(model.inducing_rows_) == 40
    assert np.isin(model.inducing_rows_.round(9), X.round(9)).all()


def test_data_frames_with_categories_that_are_in_one_partition_only(frame):
    parts = dd.from_pandas(frame, npartitions=5)
    columns = ["a", "b", "c", "kind"]
    model = SparseGPClassifier(n_inducing=30, hyper="fixed", random_state=0).fit(parts[columns], parts["y"])
    assert list(model.categories_["kind"]) == ["u", "v", "w"]
    assert list(model.feature_names_in_) == columns
    proba = model.predict_proba(parts[columns])
    assert proba.shape[1] == 3
    np.testing.assert_allclose(proba.compute(), model.predict_proba(frame[columns]), atol=1e-10)


def test_categories_that_are_numbers(frame):
    coded = frame.assign(kind=pd.Categorical(np.where(frame["kind"] == "w", 30, np.where(frame["a"] > 0, 10, 20))))
    parts = dd.from_pandas(coded, npartitions=5)
    parts["kind"] = parts["kind"].astype(int).astype("category")  # each partition knows its own
    columns = ["a", "kind"]
    model = SparseGPClassifier(n_inducing=20, hyper="fixed", random_state=0).fit(parts[columns], parts["y"])
    assert list(model.categories_["kind"]) == [10, 20, 30]
    assert np.isfinite(model.input_scale_).all()


def test_rare_classes_are_predicted_as_often_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 2))
    y = (X[:, 0] + 0.3 * rng.standard_normal(6000) > 2.7).astype(int)
    assert 0.002 < y.mean() < 0.01
    model = sparse().fit(da.from_array(X, (1000, 2)), y)
    assert np.mean(model.loo_labels_) > 2.0 * y.mean()  # the sample has more of them
    assert 0.5 < model.predict_proba(X)[:, 1].mean() / y.mean() < 2.0
    by_weights = (model.loo_labels_, model.loo_proba_, model.classes_, 0.9, False, model.loo_weights_)
    expected = PredictionSets.calibrate(*by_weights).of(model.predict_proba(X))
    np.testing.assert_array_equal(model.predict_set(X), expected)
    with pytest.raises(TypeError, match="expected rows in memory, got a Dask collection"):
        model.predict_set(da.from_array(X, (1000, 2)))
    near = NearestNeighborGPClassifier(hyper="fixed", random_state=0).fit(da.from_array(X, (1000, 2)), y)
    assert near._shares[1] == pytest.approx(y.mean(), rel=0.2)


@pytest.mark.parametrize("inference", [ParallelEP(), "vb"])
def test_few_rows(table, inference, monkeypatch):
    monkeypatch.setattr(sparse_gp_classifier, "SAMPLE_ROWS", 20000)
    X, y = (part[:250] for part in table)
    settings = {"kernel": 100.0 * RBF(2.0), "n_inducing": 250, "inference": inference}
    there = sparse(**settings).fit(*chunked((X, y), 100))
    here = sparse(**settings | {"inference": "vb" if inference == "vb" else SparseEP(tol=1e-3)}).fit(X, y)
    np.testing.assert_allclose(there.predict_proba(table[0]), here.predict_proba(table[0]), atol=0.02)


def test_a_class_of_one_chunk_empty_chunks_and_unknown_sizes(table):
    X, y = table
    y = np.where(np.arange(1500) >= 1490, "yew", y)
    dX, dy = chunked((X, y))
    model = sparse().fit(dX, dy)
    assert list(model.classes_) == ["ash", "beech", "oak", "yew"]
    # A chunk that a selection leaves empty, and sizes that nobody knows.
    keep = da.from_array(np.arange(1500) >= 200, 200)
    some = sparse().fit(dX[keep], dy[keep])
    assert some.score(X[200:], y[200:]) > 0.6
    assert some.predict_proba(dX[keep]).compute().shape == (1300, 4)


def test_labels_in_memory_and_columns_in_several_chunks(table):
    X, y = table
    there = sparse().fit(da.from_array(X, (500, 2)), y)
    np.testing.assert_allclose(there.predict_proba(X), sparse().fit(*chunked(table, 500)).predict_proba(X), atol=1e-10)
    assert there.predict_proba(da.from_array(X, (500, 2))).chunks == ((500, 500, 500), (3,))


# ---- predictions ----------------------------------------------------------------------------------------


def test_predictions_are_lazy(table):
    X, y = table
    dX, dy = chunked(table)
    model = sparse().fit(X, y)
    for name, shape in (("predict", (1500,)), ("predict_proba", (1500, 3)), ("predict_log_proba", (1500, 3))):
        found, expected = getattr(model, name)(dX), getattr(model, name)(X)
        assert isinstance(found, da.Array)
        assert found.shape == shape
        assert found.chunks[0] == dX.chunks[0]
        assert found.dtype == expected.dtype
        if name == "predict":
            np.testing.assert_array_equal(found.compute(), expected)
        else:
            np.testing.assert_allclose(found.compute(), expected, atol=1e-10)
    latent = model.latent(dX)
    assert latent.mean.chunks == latent.cov.chunks == (dX.chunks[0], (3,))
    np.testing.assert_allclose(latent.cov.compute(), model.latent(X).cov, atol=1e-10)
    assert model.score(dX, dy) == model.score(X, y)
    with pytest.raises(ValueError, match="full_cov=False"):
        model.latent(dX, full_cov=True)
    with pytest.raises(TypeError, match="takes X and y alone"):
        model.score(dX, dy, sample_weight=np.ones(1500))
    with pytest.raises(TypeError, match="takes X and y alone"):
        model.score(dX)


def test_other_classifiers_predict_lazily_too(table):
    X, y = table
    model = GPClassifier(KERNEL, hyper="fixed").fit(X[:100], y[:100])
    dX, _ = chunked(table)
    np.testing.assert_allclose(model.predict_proba(dX).compute(), model.predict_proba(X), atol=1e-10)
    with pytest.raises(TypeError, match="rows in memory, got a Dask collection"):
        model.latent(dX)


def test_missing_values_in_new_rows_are_filled_and_infinity_is_an_error_when_they_are_computed(table):
    X, y = table
    model = sparse().fit(X, y)
    bad = X.copy()
    bad[700, 1] = np.nan
    found = model.predict_proba(da.from_array(bad, (200, -1))).compute()
    np.testing.assert_allclose(found[700], model.predict_proba(bad[700:701])[0], rtol=1e-12)
    bad[700, 1] = np.inf
    with pytest.raises(ValueError, match="contains infinity"):
        model.predict_proba(da.from_array(bad, (200, -1))).compute()


# ---- workers --------------------------------------------------------------------------------------------


def rounds_begun(monkeypatch):
    begun, plain = [], parallel_ep._update

    def counted(*args):
        begun.append(1)
        return plain(*args)

    monkeypatch.setattr(parallel_ep, "_update", counted)
    return begun


def test_a_lost_worker_changes_nothing(table, monkeypatch, caplog):
    expected = sparse(inference=ParallelEP(tol=1e-4)).fit(*chunked(table)).predict_proba(table[0])
    begun = rounds_begun(monkeypatch)
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.CRITICAL}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as workers:
        victim = next(iter(workers.run(os.getpid).values()))

        def kill():
            while len(begun) < 3:
                threading.Event().wait(0.01)
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        with caplog.at_level(logging.WARNING, "gpclass"):
            model = sparse(inference=ParallelEP(tol=1e-4)).fit(*chunked(table))
        killer.join()
    np.testing.assert_allclose(model.predict_proba(table[0]), expected, atol=1e-8)
    assert sum("1 of 2 Dask workers lost" in record.message for record in caplog.records) == 1


def test_a_scheduler_that_is_gone(table, monkeypatch, tmp_path):
    path = tmp_path / "checkpoint"
    begun, plain = [], parallel_ep._update
    cluster = distributed.LocalCluster(
        1, threads_per_worker=1, dashboard_address=None, processes=False, silence_logs=logging.CRITICAL
    )
    client = distributed.Client(cluster, set_as_default=False)

    def closing(*args):
        begun.append(1)
        if len(begun) == 3:
            cluster.close()
        return plain(*args)

    monkeypatch.setattr(parallel_ep, "_update", closing)
    model = sparse(inference=ParallelEP(tol=1e-6), checkpoint=path)
    with client.as_current(), pytest.raises(ConnectionError, match="scheduler is gone"):
        model.fit(*chunked(table))
    client.close()
    assert not hasattr(model, "classes_")
    before = len(begun)
    again = model.fit(*chunked(table))  # by threads
    expected = clone(model).set_params(checkpoint=None).fit(*chunked(table))
    assert again.n_iter_ == expected.n_iter_
    assert again.n_iter_ == len(begun) - before - expected.n_iter_ + 2
    np.testing.assert_allclose(again.predict_proba(table[0]), expected.predict_proba(table[0]), atol=1e-10)
    assert not path.exists()


def test_blocks_run_on_the_devices_of_workers(table, monkeypatch):
    pytest.importorskip("array_api_strict")
    expected = sparse(inference=ParallelEP(), n_inducing=10).fit(*chunked(table)).predict_proba(table[0])
    monkeypatch.setattr(sums, "place_of", lambda name, X: Place("array_api_strict", "device1"))
    model = sparse(inference=ParallelEP(), n_inducing=10, device="cuda").fit(
        *chunked(table)
    )  # there is none here, and none is needed
    np.testing.assert_allclose(model.predict_proba(table[0]), expected, atol=1e-8)


@pytest.mark.filterwarnings("ignore:learning stopped after")
def test_restarts_on_a_cluster(client):
    X = np.random.default_rng(0).standard_normal((40, 2))
    settings = {"hyper": Evidence(max_iter=3), "calibration": None, "random_state": 0}
    model = GPClassifier(KERNEL, n_restarts_optimizer=2, n_jobs=2, **settings)
    expected = clone(model).set_params(n_jobs=1).fit(X, X[:, 0] > 0).kernel_
    with joblib.parallel_config(backend="dask", client=client):
        found = model.fit(X, X[:, 0] > 0).kernel_
    np.testing.assert_allclose(found.theta, expected.theta, atol=1e-8)


# ---- bad input ------------------------------------------------------------------------------------------


def nan_in_chunk_7(table):
    X, y = table
    X = X.copy()
    X[7 * 200 + 12, 1] = np.nan
    return chunked((X, y))


def changing(table):
    X, y = chunked(table)
    draws = np.random.default_rng(0)
    return X.map_blocks(lambda block: block + draws.standard_normal(), dtype=float, meta=np.empty((0, 0))), y


def mixed(frame):
    parts = [frame[:500], frame[500:1000].assign(b="text"), frame[1000:]]
    together = dd.from_delayed([dask.delayed(part) for part in parts], meta=frame[:0], verify_meta=False)
    return together[["a", "b", "c"]], together["y"]


BAD = {
    "NaN": (lambda t, f: nan_in_chunk_7(t), ValueError, "chunk 7: .* got nan in row 12, column 1"),
    "changing rows": (lambda t, f: changing(t), ValueError, "same rows in every pass, got others in chunk"),
    "mixed dtypes": (lambda t, f: mixed(f), ValueError, "chunk 1: expected column 'b' of float64, got"),
    "no labels": (lambda t, f: (chunked(t)[0], None), ValueError, "expected labels y beside a Dask collection"),
    "other chunks": (
        lambda t, f: (dd.from_pandas(f, 3)[["a", "b"]], dd.from_pandas(f, 2)["y"]),
        ValueError,
        "same chunks, got 3 of X and 2 of y",
    ),
    "fewer labels": (lambda t, f: (chunked(t)[0], chunked(t)[1][:900]), ValueError, "got 900 labels for 1500 rows"),
    "one dimension": (lambda t, f: (chunked(t)[0][:, 0], chunked(t)[1]), ValueError, "two dimensions"),
    "text": (lambda t, f: (chunked(t)[0].astype(str), chunked(t)[1]), ValueError, "Dask array X of numbers"),
    "one class": (lambda t, f: (chunked(t)[0], np.zeros(1500, int)), ValueError, "at least 2 classes"),
    "labels in memory": (
        lambda t, f: (dd.from_pandas(f, 3)[["a", "b"]], f["y"]),
        ValueError,
        "expected labels y in a column of Dask",
    ),
    "dates": (
        lambda t, f: (dd.from_pandas(f.assign(a=pd.Timestamp("2026-01-01")), 3)[["a", "b"]], dd.from_pandas(f, 3)["y"]),
        ValueError,
        "column 'a': expected numbers, text or categories, got datetime64",
    ),
    "dates as text": (
        lambda t, f: (dd.from_pandas(f.assign(a="2026-01-01"), 3)[["a", "b"]], dd.from_pandas(f, 3)["y"]),
        ValueError,
        r"expected numbers and categories in a Dask collection, got dates in \['a'\]",
    ),
    "identifiers": (
        lambda t, f: (
            dd.from_pandas(pd.DataFrame({"a": [f"row {i}" for i in range(12000)]}), 2),
            dd.from_pandas(pd.DataFrame({"y": np.arange(12000) % 2}), 2)["y"],
        ),
        ValueError,
        "column 'a': expected at most 10000 categories",
    ),
    "no rows": (lambda t, f: tuple(part[:0] for part in chunked(t)), ValueError, "expected rows, got"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(table, frame, name):
    make, kind, message = BAD[name]
    model = sparse()
    before = dict(vars(model))
    X, y = make(table, frame)
    with pytest.raises(kind, match=message):
        model.fit(X, y)
    assert vars(model) == before


def test_engines_and_kernels_that_cannot(table):
    with pytest.raises(TypeError, match="use ParallelEP"):
        sparse(inference=SparseEP()).fit(*chunked(table))
    with pytest.raises(TypeError, match="one kernel for all classes"):
        sparse(kernel=PerClass((KERNEL,) * 3)).fit(*chunked(table))


def test_workers_with_other_versions(table, client, monkeypatch):
    theirs = collections.versions()
    monkeypatch.setattr(collections, "versions", lambda: {"numpy": "0.1"})
    monkeypatch.setattr(type(client), "run", lambda self, function: {"tcp://other": theirs})
    with (
        client.as_current(),
        pytest.raises(RuntimeError, match=r"expected numpy 0\.1 on every worker, .* tcp://other has"),
    ):
        sparse().fit(*chunked(table))


# ---- checkpoints ----------------------------------------------------------------------------------------


def test_a_checkpoint_of_another_fit_is_refused(table, tmp_path, monkeypatch):
    X, y = table
    path = tmp_path / "kept"

    def stopping(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(parallel_ep, "_update", stopping)
        with pytest.raises(KeyboardInterrupt):
            sparse(checkpoint=path).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint of another fit"):
        sparse(checkpoint=path, n_inducing=20).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint of another fit"):
        sparse(checkpoint=path).fit(X[:-1], y[:-1])
    with pytest.raises(ValueError, match="checkpoint of another fit"):
        sparse(checkpoint=path).fit(X, y[::-1])
    with pytest.raises(ValueError, match="checkpoint of another fit"):
        sparse(checkpoint=path).fit(*chunked((X, y)))
    sparse(checkpoint=path).fit(X, y)
    assert not path.exists()
    path.write_text("something else")
    with pytest.raises(ValueError, match="expected a checkpoint of a fit"):
        sparse(checkpoint=path).fit(X, y)
    with pytest.raises(TypeError, match="name of a file"):
        sparse(checkpoint=3).fit(X, y)
    with pytest.raises(FileNotFoundError, match=r"folder .* does not exist"):
        sparse(checkpoint=tmp_path / "nowhere" / "kept").fit(X, y)


# ---- nearest neighbours ---------------------------------------------------------------------------------


def test_nearest_neighbours_of_all_chunks(table, monkeypatch):
    X, y = table
    settings = {"hyper": "fixed", "n_neighbors": 20, "index": "exact", "random_state": 0}
    here = NearestNeighborGPClassifier(**settings).fit(X, y)
    dX, dy = chunked(table)
    there = NearestNeighborGPClassifier(**settings).fit(dX, dy)
    assert there.n_samples_seen_ == 1500
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-4)
    lazy = there.predict_proba(dX)
    assert lazy.chunks == (dX.chunks[0], (3,))
    np.testing.assert_allclose(lazy.compute(), there.predict_proba(X), atol=1e-4)  # neighbours by single precision
    assert there.score(dX, dy) == pytest.approx(np.mean(there.predict(X) == y))
    with pytest.raises(AttributeError, match="training rows in memory"):
        _ = there.loo_proba_
    with pytest.raises(TypeError, match="fit anew"):
        there.partial_fit(X, y)
    with pytest.raises(ValueError, match="no sample_weight"):
        there.fit(dX, dy, sample_weight=np.ones(1500))
    # Chunks of columns, and an empty one.
    keep = da.from_array(np.arange(1500) >= 200, 200)
    np.testing.assert_array_equal(there.predict(dX[keep]).compute(), there.predict(X[200:]))
    assert there.predict_proba(dX.rechunk((500, 2))).shape == (1500, 3)


def test_a_failed_fit_to_nearest_neighbours_changes_nothing(table, monkeypatch):
    model = NearestNeighborGPClassifier(hyper="fixed")
    before = dict(vars(model))

    def broken(*args):
        raise RuntimeError("broken")

    monkeypatch.setattr(neighbors, "_take_all_rows", broken)
    with pytest.raises(RuntimeError, match="broken"):
        model.fit(*chunked(table))
    assert vars(model) == before


def test_the_metric_is_learned_from_a_sample(frame, monkeypatch):
    monkeypatch.setattr(neighbors, "SAMPLE_ROWS", 500)
    parts = dd.from_pandas(frame, npartitions=4)
    columns = ["a", "b", "c", "kind"]
    model = NearestNeighborGPClassifier(max_iter=20, n_neighbors=30, random_state=0).fit(parts[columns], parts["y"])
    assert model.score(parts[columns], parts["y"]) > 0.7
    proba = model.predict_proba(parts[columns]).compute()
    np.testing.assert_allclose(proba, model.predict_proba(frame[columns]), atol=1e-4)


def test_the_link_is_learned_from_the_neighbours_in_all_chunks(table, monkeypatch):
    X, y = table
    asked = []

    def watched(problem, rows, near, *others):
        asked.append((problem, rows, near))
        return plain(problem, rows, near, *others)

    plain = neighbors.fit_link_to
    monkeypatch.setattr(neighbors, "fit_link_to", watched)
    settings = {"n_neighbors": 15, "max_iter": 30, "index": "exact", "standardize": False, "random_state": 0}
    in_memory = NearestNeighborGPClassifier(**settings).fit(*chunked(table))
    assert not asked  # the sample is all there is
    monkeypatch.setattr(neighbors, "SAMPLE_ROWS", 400)
    model = NearestNeighborGPClassifier(**settings).fit(*chunked(table))
    ((problem, rows, near),) = asked
    points = X if model.components_ is None else X @ model.components_
    scaled = points * np.sqrt(problem.kernel.relevance(3))
    for row, found in list(zip(rows, near, strict=True))[:50]:
        (own,) = np.flatnonzero(np.all(np.isclose(points, problem.X[row], atol=1e-12), axis=1))
        distance = np.sum((scaled - scaled[own]) ** 2, axis=1)
        distance[own] = np.inf
        expected = np.argsort(distance)[:15]
        np.testing.assert_allclose(np.sort(problem.X[found], axis=0), np.sort(points[expected], axis=0), atol=1e-9)
        assert model.classes_[problem.y[row]] == y[own]
    assert len(rows) > 450  # half of those outside of the sample
    np.testing.assert_array_equal(model.hyper_.theta[:3], model.kernel_.theta)
    assert model._local.regression.kernel is model.kernel_
    loss, sample_loss = (
        -np.log(one.predict_proba(X)[np.arange(1500), np.searchsorted(one.classes_, y)]).mean()
        for one in (model, in_memory)
    )
    assert loss < sample_loss + 0.05


def test_hardly_more_rows_than_the_sample(table, monkeypatch):
    monkeypatch.setattr(neighbors, "SAMPLE_ROWS", 1495)
    model = NearestNeighborGPClassifier(hyper="fixed", random_state=0).fit(*chunked(table))
    assert model.n_samples_seen_ == 1500


@pytest.mark.parametrize(
    "model",
    [
        SparseGPClassifier(n_inducing=20, hyper="fixed", random_state=0),
        NearestNeighborGPClassifier(n_neighbors=20, hyper="fixed", random_state=0),
    ],
    ids=["sparse", "neighbours"],
)
def test_missing_values_of_new_rows_are_filled_as_from_memory(frame, model):
    many = frame.assign(kind=[f"k{i % 200}" for i in range(1500)])
    many.loc[0, "a"] = 40.0  # the rows that hold all categories are copies of the first
    columns = ["a", "b", "kind"]
    parts = dd.from_pandas(many, npartitions=3)
    model = clone(model).fit(parts[columns], parts["y"])
    assert abs(model._inputs.feature_map.fills[0]) < 0.5


def test_text_is_refused(frame):
    told = [f"{word} number {i}" for i, word in enumerate(["good", "bad", "fair"] * 500)]
    parts = dd.from_pandas(frame.assign(note=told), npartitions=3)
    for model in (sparse(kernel=None), NearestNeighborGPClassifier(hyper="fixed")):
        with pytest.raises(ValueError, match="expected numbers and categories in a Dask collection, got text"):
            model.fit(parts[["a", "note"]], parts["y"])


# ---- what joblib carries --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the samples of the kernel parameters")
def test_cross_validation_chains_and_experiments_on_a_cluster(client, tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = (X[:, 0] > 0).astype(int)
    model = GPClassifier(KERNEL, hyper="fixed")
    chains = GPClassifier(KERNEL, hyper=HMC(n_iter=6, n_leapfrog=2, n_chains=2), random_state=0)

    def all_three(n_jobs):
        return (
            cross_val_score(model, X, y, cv=3, n_jobs=n_jobs),
            clone(chains).set_params(n_jobs=n_jobs).fit(X, y).predict_proba(X),
            papers.reproduce(papers.get("cc05-figure1"), "tiny", tmp_path, n_jobs=n_jobs, fresh=True).comparisons,
        )

    expected = all_three(1)
    with joblib.parallel_config(backend="dask", client=client):
        found = all_three(2)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert found[2] == expected[2]


def slow(block):
    time.sleep(0.05)
    return block


def test_an_error_leaves_no_task_behind(table, client):
    X, y = nan_in_chunk_7(table)
    X = X.map_blocks(slow, dtype=float, meta=np.empty((0, 0)))
    with client.as_current(), pytest.raises(ValueError, match=r"chunk 7: .* got nan"):
        sparse().fit(X, y)
    tasks = client.cluster.scheduler.tasks
    for _ in range(600):  # of a tenth of a second: what runs is let end
        if not tasks:
            break
        threading.Event().wait(0.1)
    assert not tasks


@pytest.mark.parametrize("n_classes", [2, 3])
def test_log_odds_of_a_collection(table, n_classes):
    X, y = table
    y = np.minimum(np.unique(y, return_inverse=True)[1], n_classes - 1)
    model = sparse().fit(X[:300], y[:300])
    lazy = model.decision_function(da.from_array(X[:500], (200, -1)))
    expected = model.decision_function(X[:500])
    assert lazy.shape == expected.shape == ((500,) if n_classes == 2 else (500, 3))
    np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-10)
