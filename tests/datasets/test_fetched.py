"""Sets from OpenML: what comes is checked, and a file of the user's is taken instead. No test uses a network."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gpclass import datasets
from gpclass.datasets import fetched
from gpclass.datasets.files import MissingDataError


@pytest.fixture(autouse=True)
def no_files(tmp_path, monkeypatch):
    monkeypatch.setenv("GPCLASS_DATA", str(tmp_path))
    return tmp_path


def answer(monkeypatch, X, y):
    asked = []

    def fetch(**settings):
        asked.append(settings["data_id"])
        return SimpleNamespace(data=X, target=y)

    monkeypatch.setattr(fetched, "fetch_openml", fetch)
    return asked


def small(monkeypatch, **changes):
    """Isolet of 40 and 12 rows, two columns and three letters, and what OpenML has of it."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(52, 2)).round(4), np.arange(52) % 3
    y = np.array(["A", "B", "C"])[codes]
    sums = tuple(fetched.checksum(X[part].astype(np.float32), y[part], 4) for part in (slice(40), slice(40, None)))
    parts = {"rows": (40, 12), "n_columns": 2, "classes": ("A", "B", "C"), "checksums": sums} | changes
    monkeypatch.setitem(fetched.REMOTE, "isolet", fetched.Remote("letters", 300, decimals=4, **parts))
    return X, codes + 1, y


def test_rows_and_labels_of_both_parts(monkeypatch):
    X, codes, y = small(monkeypatch)
    asked = answer(monkeypatch, X, codes.astype(str))
    found = datasets.fetch_isolet()
    np.testing.assert_allclose(found.data, X, atol=1e-6)
    np.testing.assert_array_equal(found.target, y)
    assert "300 of OpenML" in found.DESCR
    assert asked == [300]
    X_test, y_test = datasets.fetch_isolet(subset="test", return_X_y=True)
    np.testing.assert_allclose(X_test, X[40:], atol=1e-6)
    np.testing.assert_array_equal(y_test, y[40:])
    with pytest.raises(ValueError, match="subset 'train', 'test' or 'all'"):
        datasets.fetch_isolet(subset="half")


def test_other_values_are_reported(monkeypatch):
    X, codes, _ = small(monkeypatch)
    answer(monkeypatch, X + 0.001, codes)
    with pytest.warns(UserWarning, match="'isolet' from OpenML are not those of the published results"):
        datasets.fetch_isolet()


def test_another_set_is_refused(monkeypatch):
    X, codes, _ = small(monkeypatch, rows=(40, 13))
    answer(monkeypatch, X, codes)
    with pytest.raises(MissingDataError, match=r"expected 53 rows, 2 columns and 3 classes, got \(52, 2, 3\)"):
        datasets.fetch_isolet()


def test_no_network(monkeypatch):
    def refuse(**settings):
        raise OSError("no network")

    monkeypatch.setattr(fetched, "fetch_openml", refuse)
    for fetch in (datasets.fetch_usps, datasets.fetch_isolet, datasets.fetch_mnist, datasets.fetch_covtype):
        with pytest.raises(MissingDataError, match=r"no network.*GPCLASS_DATA"):
            fetch()


def test_a_file_of_the_users(no_files):
    np.savez(no_files / "covtype.npz", X=np.ones((4, 54), np.int16), y=np.arange(4))
    X, y = datasets.fetch_covtype(return_X_y=True)
    assert X.dtype == float
    assert X.shape == (4, 54)
    np.testing.assert_array_equal(y, np.arange(4))


def test_the_checksum_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)).round(2), rng.integers(0, 3, 50)
    order = rng.permutation(50)
    assert fetched.checksum(X[order], y[order], 2) == fetched.checksum(X, y, 2)
    assert fetched.checksum(X, np.roll(y, 1), 2) != fetched.checksum(X, y, 2)


def test_the_multiple_features_of_the_repository_and_of_openml(monkeypatch):
    here = datasets.fetch_mfeat()
    assert here.data.shape == (2000, 649)
    assert here.views["mor"].shape == (2000, 6)
    monkeypatch.setattr(fetched, "find", lambda name: None)
    columns = dict(fetched.MFEAT.values())

    def fetch(data_id, **settings):
        return SimpleNamespace(data=np.full((2000, columns[data_id]), data_id), target=(here.target + 1).astype(str))

    monkeypatch.setattr(fetched, "fetch_openml", fetch)
    there = datasets.fetch_mfeat()
    assert [view.shape for view in there.views.values()] == [here.views[name].shape for name in there.views]
    np.testing.assert_array_equal(there.target, here.target)
