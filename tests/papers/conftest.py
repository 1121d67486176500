"""Experiments at their smallest size."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from gpclass.papers import data, get, reproduce


@pytest.fixture
def tiny(tmp_path, stand_ins):
    """``tiny(name)`` runs an experiment at its smallest size and gives its result."""

    def run(name):
        return reproduce(get(name), "tiny", tmp_path, n_jobs=1)

    return run


@pytest.fixture
def stand_ins(tmp_path_factory, monkeypatch):
    """Files in place of the sets that are too large for the project: enlarged digits for USPS, and for
    Isolet ten "letters" that are digits."""
    folder = tmp_path_factory.getbasetemp() / "stand-ins"
    if not folder.is_dir():
        folder.mkdir()
        _write_stand_ins(folder)
    monkeypatch.setenv("GPCLASS_DATA", str(folder))
    data.load.cache_clear()
    yield folder
    data.load.cache_clear()


def _write_stand_ins(folder):
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    images = np.pad(np.kron(X.reshape(-1, 8, 8), np.ones((2, 2))) / 8.0 - 1.0, ((0, 0), (1, 1), (1, 1)), mode="edge")
    corners = rng.integers(0, 3, (len(X), 2))  # test digits are shifted by up to one pixel
    corners[:1297] = 1
    shifted = np.stack([image[i : i + 16, j : j + 16] for image, (i, j) in zip(images, corners, strict=True)])
    features = np.tile(X, 10)[:, :617] + rng.standard_normal((len(X), 617))
    for name, rows, labels in (
        ("usps", shifted.reshape(len(X), -1), y),
        ("isolet", features, np.array(list("ABCDEFGHIJ"))[y]),
    ):
        X_train, y_train, X_test, y_test = rows[:1297], labels[:1297], rows[1297:], labels[1297:]
        np.savez(folder / f"{name}.npz", X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test)
