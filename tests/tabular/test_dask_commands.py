"""``gpclass fit --dask`` and ``gpclass predict --dask``."""

import json
import logging
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from gpclass import load
from gpclass.cli import _dask
from gpclass.cli.app import app
from gpclass.estimators import sparse_gp_classifier

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.dask, pytest.mark.filterwarnings("default")]  # warnings of Dask's own
command = CliRunner()


@pytest.fixture(scope="module")
def client():
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
    ) as made:
        yield made


@pytest.fixture
def asked(client, monkeypatch):
    """Addresses that a cluster was asked for."""
    found = []

    @contextmanager
    def cluster(address):
        found.append(address)
        with client.as_current():
            yield client

    monkeypatch.setattr(_dask, "_cluster", cluster)
    monkeypatch.setattr(sparse_gp_classifier, "SAMPLE_ROWS", 200)
    return found


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(3):
        X = rng.standard_normal((200, 2))
        part = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "name": "x", "y": np.where(X[:, 0] > 0, "yes", "no")})
        part.to_parquet(tmp_path / f"{i}.parquet")
        part.to_csv(tmp_path / f"{i}.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_folder_of_files(folder, asked, kind):
    model, data = folder / "model.gpclass", str(folder / f"*.{kind}")
    shown = command.invoke(
        app, ["fit", data, "--target", "y", "--drop", "name", "--dask", "--save", str(model)], catch_exceptions=False
    )
    assert shown.exit_code == 0, shown.output
    assert "each without its own label" in shown.output
    assert "saved as" in shown.output
    assert list(load(model).feature_names_in_) == ["a", "b"]
    out = folder / "predictions"
    shown = command.invoke(app, ["predict", str(model), data, "--dask", "tcp://there:8786", "--out", str(out)])
    assert shown.exit_code == 0, shown.output
    predicted = pd.read_parquet(out)
    assert list(predicted.columns) == ["label", "p(no)", "p(yes)"]
    assert len(predicted) == 600
    truth = pd.concat([pd.read_parquet(folder / f"{i}.parquet") for i in range(3)])["y"]
    assert np.mean(predicted["label"].to_numpy() == truth.to_numpy()) > 0.9
    shown = command.invoke(app, ["predict", str(model), data, "--dask", "--out", str(out)])
    assert "expected a new or empty folder" in " ".join(shown.output.split())
    assert asked == [_dask.HERE, "tcp://there:8786"]


def test_as_json(folder, asked):
    shown = command.invoke(app, ["fit", str(folder / "*.parquet"), "-t", "y", "--dask", "--drop", "name", "--json"])
    summary = json.loads(shown.stdout)
    assert summary["classes"] == ["no", "yes"]
    assert summary["scores"]["error"] < 0.1
    assert summary["saved"] is None


REFUSED = {
    "a column that is not there": (["fit", "{}/*.parquet", "-t", "z", "--dask"], "expected columns ['z']"),
    "no files": (["fit", "{}/*.feather", "-t", "y", "--dask"], "expected Parquet, CSV or TSV files"),
    "an option for one table": (
        ["fit", "{}/*.parquet", "-t", "y", "--dask", "--regress"],
        "--regress cannot be combined with --dask",
    ),
    "an engine": (
        ["fit", "{}/*.parquet", "-t", "y", "--dask", "--engine", "vb"],
        "--engine cannot be combined",
    ),
    "no folder": (["predict", "{}/model.gpclass", "{}/*.parquet", "--dask"], "--out DIR"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(folder, asked, name):
    arguments, message = REFUSED[name]
    if arguments[0] == "predict":
        command.invoke(
            app, ["fit", f"{folder}/*.parquet", "-t", "y", "--drop", "name", "--dask", "-s", f"{folder}/model.gpclass"]
        )
    shown = command.invoke(app, [argument.format(folder) for argument in arguments])
    assert shown.exit_code != 0
    assert message in " ".join(shown.output.split())


def test_a_scheduler_that_is_not_there(monkeypatch):
    monkeypatch.setattr(_dask, "CONNECT", "200ms")
    with pytest.raises(Exception) as refused, _dask._cluster("127.0.0.1:9"):
        pass
    assert refused.value.exit_code == 1
