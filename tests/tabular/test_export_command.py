"""``gpclass export``: models of tables as ONNX files."""

import json
import sys

import numpy as np
import onnxruntime
import pytest

import gpclass
from gpclass import NearestNeighborGPClassifier
from tests.tabular.test_commands import one_line, run


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    return gpclass.save(model, tmp_path_factory.mktemp("models") / "flowers.gpclass")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_file_predicts_as_the_model_does(saved, model, frame, dtype, tmp_path):
    path = tmp_path / "flowers.onnx"
    ran = run("export", saved, path, "--dtype", dtype)
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.startswith(f"wrote {path} (")
    session = onnxruntime.InferenceSession(path)
    columns = {
        "size": frame[["size"]].to_numpy(dtype),
        "weight": frame[["weight"]].to_numpy(dtype),
        "colour": frame[["colour"]].to_numpy(object),
    }
    assert {value.name for value in session.get_inputs()} == set(columns)
    found = session.run(["probabilities"], columns)[0]
    np.testing.assert_allclose(found, model.predict_proba(frame), atol=1e-10 if dtype == "float64" else 1e-4)


def test_json(saved, tmp_path):
    path = tmp_path / "flowers.onnx"
    said = json.loads(run("export", saved, path, "--json").stdout)
    assert said == {"out": str(path), "bytes": path.stat().st_size, "labels": ["daisy", "rose"]}


def test_what_cannot_be_exported(saved, table_file, frame, model, tmp_path):
    path = tmp_path / "flowers.onnx"
    assert "dtype: expected float64 or float32, got 'int8'" in one_line(
        run("export", saved, path, "--dtype", "int8"), 2
    )
    assert "absent.gpclass" in one_line(run("export", tmp_path / "absent.gpclass", path))
    assert "flowers.csv" in one_line(run("export", table_file, path))
    assert "does not exist" in one_line(run("export", saved, tmp_path / "absent" / "flowers.onnx"), 2)
    near = gpclass.load(saved)
    numbers = frame[["size"]].to_numpy()
    near.estimator_ = NearestNeighborGPClassifier(hyper="fixed", global_model=False).fit(numbers, frame["species"])
    said = one_line(run("export", gpclass.save(near, tmp_path / "n.gpclass"), path))
    assert "got NearestNeighborGPClassifier" in said
    assert "--engine sparse" in said
    assert not path.exists()


def test_without_onnx_the_extra_is_named(saved, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install 'gpclass[onnx]'" in one_line(run("export", saved, tmp_path / "flowers.onnx"))
