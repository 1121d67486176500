"""Saved models come back as they were, and nothing else is taken for one."""

from __future__ import annotations

import hashlib
import json
import pickle
import subprocess
import sys
import zipfile
from io import BytesIO

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gpclass
from gpclass import (
    GPClassifier,
    GPOrdinalClassifier,
    IVMClassifier,
    IVMRegressor,
    MultiTaskIVMClassifier,
    MultiTaskIVMRegressor,
    NullCategoryClassifier,
    SparseGPClassifier,
)
from gpclass.inference import IVM, Gibbs
from gpclass.io.persistence import ModelFileError, _calls, load, save
from gpclass.kernels import RBF, Categorical, Linear, Matern, PerClass, View, WeightedSum
from gpclass.likelihoods import MultinomialProbit
from tests.estimators.registry import ESTIMATORS, SEARCHES, Data, fitted, predictions

X, y = load_iris(return_X_y=True)
X, y = X[::3], y[::3]
few = np.where(np.arange(len(y)) % 3 == 0, y, -1)
text = np.array(["setosa", "versicolor", "virginica"])[y]
rng = np.random.default_rng(0)
TASK = np.arange(len(y)) % 2
fixed = {"hyper": "fixed"}

#: Beside the estimators with default settings, and the searches: other engines, kernels, likelihoods and ways to fit.
MODELS = {
    "binary": lambda: GPClassifier(**fixed).fit(X, y == 1),
    "text": lambda: GPClassifier(**fixed).fit(X, text),
    "ep": lambda: GPClassifier(inference="ep", **fixed).fit(X, y),
    "laplace": lambda: GPClassifier(likelihood="softmax", inference="laplace", **fixed).fit(X, y),
    "gibbs": lambda: GPClassifier(inference=Gibbs(n_draws=20, burn_in=20, thin=1), **fixed).fit(X, y),
    "kernels": lambda: GPClassifier(PerClass(2.0 * Matern(1.0, nu=1.5) + Linear()), **fixed).fit(X, y),
    "label noise": lambda: GPClassifier(likelihood=MultinomialProbit(label_noise=0.05), **fixed).fit(X, y),
    "views": lambda: GPClassifier(WeightedSum({"a": View(RBF(), [0, 1]), "b": View(RBF(), [2, 3])}), **fixed).fit(X, y),
    "ordinal ivm": lambda: GPOrdinalClassifier(inference=IVM(20), **fixed).fit(X, y),
    "ivm": lambda: IVMClassifier(n_active=20, **fixed).fit(X, text),
    "online ivm": lambda: IVMClassifier(n_active=20, **fixed).partial_fit(X, y, classes=[0, 1, 2]),
    "online ivm regressor": lambda: IVMRegressor(n_active=20, **fixed).partial_fit(X, X[:, 3]),
    "sparse": lambda: SparseGPClassifier(n_inducing=20, inference="vb", random_state=0, **fixed).fit(X, y),
    "pipeline": lambda: make_pipeline(StandardScaler(), GPClassifier(**fixed)).fit(X, y),
}


def check_round_trip(model, data, folder):
    expected = predictions(model, data)
    joblib.dump(model, folder / "model.joblib")
    path = save(model, folder / "model.gpclass")
    for again in (load(path), pickle.loads(pickle.dumps(model)), joblib.load(folder / "model.joblib")):
        for found, before in zip(predictions(again, data), expected, strict=True):
            np.testing.assert_array_equal(found, before)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_the_same_to_the_last_bit(tmp_path, name):
    check_round_trip(MODELS[name](), Data(X + 0.05, y), tmp_path)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_comes_back(tmp_path, name):
    data = ESTIMATORS[name].data()
    check_round_trip(fitted(name), data._replace(X=data.X + 0.05), tmp_path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.__name__)
def test_what_every_search_has_found_comes_back(tmp_path, search):
    model = clone(SEARCHES[search]).set_params(random_state=0).fit(X, y)
    check_round_trip(model, Data(X + 0.05, y), tmp_path)
    again = load(tmp_path / "model.gpclass")
    np.testing.assert_array_equal(again.hyper_.theta, model.hyper_.theta)
    assert again.hyper_.theta_names == model.hyper_.theta_names
    assert (again.hyper_.samples is None) == (model.hyper_.samples is None)


def test_data_frames_with_text_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"length": X[:, 2], "colour": np.array(["red", "blue"])[(X[:, 1] > 3).astype(int)]})
    model = GPClassifier().fit(frame, text)
    again = load(save(model, tmp_path / "model.gpclass"))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert list(again.feature_names_in_) == ["length", "colour"]


def test_the_names_at_the_top(tmp_path):
    model = GPClassifier(hyper="fixed").fit(X, y)
    assert gpclass.load(gpclass.save(model, tmp_path / "new folder" / "m.gpclass")).classes_.tolist() == [0, 1, 2]


def test_a_sparse_model_keeps_its_active_rows_only(tmp_path):
    rows = rng.standard_normal((1000, 20))
    labels = (rows[:, 0] > 0).astype(int)
    model = IVMClassifier(100.0 * RBF(3.0), n_active=20, hyper="fixed").fit(rows, labels)
    path = save(model, tmp_path / "m.gpclass")
    assert path.stat().st_size < 100_000  # the rows alone are 160 000
    assert np.isfinite(model.log_marginal_likelihood())
    with pytest.raises(AttributeError, match="active rows only"):
        load(path).log_marginal_likelihood()


@pytest.mark.parametrize(
    "model",
    [
        IVMClassifier(RBF(1.0), n_active=10, hyper="fixed"),
        SparseGPClassifier(RBF(1.0), n_inducing=10, hyper="fixed"),
        NullCategoryClassifier(RBF(1.0), n_active=10, hyper="fixed"),
        IVMRegressor(RBF(1.0), n_active=10, hyper="fixed"),
        MultiTaskIVMClassifier(RBF(1.0), n_active=10, hyper="fixed"),
        MultiTaskIVMRegressor(RBF(1.0), n_active=10, hyper="fixed"),
        GPOrdinalClassifier(RBF(1.0), inference=IVM(10), hyper="fixed"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_no_row_that_was_not_kept_is_in_the_file(model, tmp_path):
    task = {"task": TASK} if isinstance(model, (MultiTaskIVMClassifier, MultiTaskIVMRegressor)) else {}
    model.fit(X, few if isinstance(model, NullCategoryClassifier) else y, **task)
    again = load(save(model, tmp_path / "m.gpclass"))
    assert not len(again._objective.problem.X)
    posteriors = getattr(again, "posteriors_", None) or (again.posterior_,)
    assert sum(len(posterior.X) for posterior in posteriors if hasattr(posterior, "X")) <= 10


def test_shares_of_views_need_the_training_rows(tmp_path):
    kernel = WeightedSum({"a": View(RBF(1.0), [0, 1]), "b": View(RBF(1.0), [2, 3])})
    model = IVMClassifier(kernel, n_active=10, hyper="fixed").fit(X, y)
    assert model.view_weights_.mean.sum() == pytest.approx(1.0)
    with pytest.raises(AttributeError, match="view_weights_ needs the training rows"):
        load(save(model, tmp_path / "m.gpclass")).view_weights_  # noqa: B018


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save(GPClassifier(), tmp_path / "m.gpclass")
    assert not list(tmp_path.iterdir())


class Mine(Categorical):
    """A class of somebody else."""


def test_foreign_classes_are_not_saved(tmp_path):
    model = GPClassifier(hyper="fixed").fit(X, y)
    model.note_ = Mine()
    with pytest.raises(TypeError, match=r"Mine.*pickle"):
        save(model, tmp_path / "m.gpclass")


def forged(path, saved, change):
    """A file like the one saved, with a checksum that fits, whose parts have been changed."""
    head, content = saved.read_bytes().split(b"\n", 2)[1:]
    parts = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as old, zipfile.ZipFile(parts, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, json.dumps(change(json.loads(part))) if name == "schema.json" else part)
    told = {**json.loads(head), "bytes": len(parts.getvalue()), "sha256": hashlib.sha256(parts.getvalue()).hexdigest()}
    path.write_bytes(b"gpclass model\n" + json.dumps(told).encode() + b"\n" + parts.getvalue())
    return path


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"__loader__": "PartialNode"}, "a PartialNode"),
        ({"__loader__": "MethodNode"}, "a MethodNode"),
        ({"__loader__": "FunctionNode", "__module__": "os", "__class__": "system"}, "a FunctionNode"),
        ({"__module__": "gpclass.io.files", "__class__": "os"}, r"gpclass\.io\.files\.os"),
        ({"__module__": "gpclass.io.files", "__class__": "write_whole"}, "write_whole"),
        ({"__module__": "subprocess", "__class__": "Popen"}, "Popen"),
    ],
)
def test_nothing_but_values_is_brought_to_life(tmp_path, saved, settings, said):
    whole = forged(tmp_path / "same", saved, lambda schema: schema)
    np.testing.assert_array_equal(load(whole).predict_proba(X), load(saved).predict_proba(X))
    with pytest.raises(ModelFileError, match=said):
        load(forged(tmp_path / "other", saved, lambda schema: {**schema, **settings}))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "m.gpclass"
    return save(GPClassifier(hyper="fixed").fit(X, y), path)


def refused(path, content, match):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=match):
        load(path)


def test_what_is_no_model_is_refused(tmp_path, saved):
    whole = saved.read_bytes()
    refused(tmp_path / "a", b"", "not a model")
    refused(tmp_path / "b", b"PK\x03\x04 some other zip", "not a model")
    refused(tmp_path / "c", whole[: len(whole) // 2], "damaged")
    refused(tmp_path / "d", whole[:20], "damaged")
    refused(tmp_path / "e", whole + b"more", "damaged")
    refused(tmp_path / "f", whole.replace(b'"format": 2', b'"format": 7'), "needs a newer version")
    with pytest.raises(ModelFileError, match="File not found"):
        load(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="folder"):
        load(tmp_path)


def test_two_hundred_damaged_files_are_all_refused(tmp_path, saved):
    whole = saved.read_bytes()
    chance = np.random.default_rng(1)
    for i in range(200):
        content = bytearray(whole)
        if i % 4 == 0:
            content = content[: chance.integers(len(whole))]
        elif i % 4 == 1:
            content[chance.integers(len(whole))] ^= 1 << chance.integers(8)
        elif i % 4 == 2:
            start = chance.integers(len(whole) - 100)
            content[start : start + 100] = chance.bytes(100)
        else:
            start = chance.integers(len(whole) - 50)
            del content[start : start + chance.integers(1, 50)]
        path = tmp_path / "damaged"
        path.write_bytes(bytes(content))
        try:
            model = load(path)
        except ModelFileError:
            continue
        # A flipped bit in what is only told about the file, such as a version, leaves the model whole.
        np.testing.assert_array_equal(model.predict_proba(X), load(saved).predict_proba(X))
        assert bytes(content[-1000:]) == whole[-1000:]


def test_a_kill_while_saving_leaves_the_old_file(tmp_path, saved):
    path = tmp_path / "m.gpclass"
    path.write_bytes(saved.read_bytes())
    script = (
        "import os, sys, time\n"
        "from gpclass.io.persistence import load, save\n"
        f"model = load({str(path)!r})\n"
        "def stuck(descriptor):\n"
        "    print('saving', flush=True)\n"
        "    time.sleep(3600)\n"
        "os.fsync = stuck\n"
        f"save(model, {str(path)!r})\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"saving\n"
        process.kill()
    assert path.read_bytes() == saved.read_bytes()


def test_a_column_may_have_any_name(tmp_path):
    import pandas as pd

    from gpclass.tabular import TableModel

    frame = pd.DataFrame({"__loader__": np.arange(30) % 7 * 1.5, "b": np.arange(30) % 4 * 0.5})
    model = TableModel("y").fit(frame.assign(y=np.where(frame["__loader__"] > 4, "u", "v")))
    again = load(save(model, tmp_path / "m.gpclass"))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_names_of_foreign_parts_are_cut():
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as parts:
        parts.writestr("schema.json", json.dumps({"__loader__": "x" * 1000}))
    assert _calls(content.getvalue()) == ["a " + "x" * 60]
