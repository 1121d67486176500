"""The data sets in the package: complete, as their checksums say, and with the interface of scikit-learn's loaders."""

from __future__ import annotations

import gzip
import hashlib

import numpy as np
import pytest

from gpclass import datasets
from gpclass.datasets.bundled import TABLES
from gpclass.datasets.files import PACKAGED, REPOSITORY, sources

#: rows of the training part (None without a split), of all, columns and classes
SHAPES = {
    "load_ard_clusters": (None, 300, 2, 2),
    "load_crabs": (None, 200, 5, 4),
    "load_crescent": (None, 400, 2, 3),
    "load_dna": (2000, 3186, 180, 3),
    "load_forensic_glass": (None, 214, 9, 6),
    "load_glass": (None, 214, 9, 6),
    "load_letter": (16000, 20000, 16, 26),
    "load_neal": (None, 1000, 4, 3),
    "load_pima": (200, 532, 7, 2),
    "load_protein_fold": (311, 694, 125, 27),
    "load_ripley": (250, 1250, 2, 2),
    "load_satimage": (4435, 6435, 36, 6),
    "load_segmentation": (210, 2310, 19, 7),
    "load_thyroid": (None, 215, 5, 3),
    "load_unit_square": (None, 500, 2, 2),
    "load_vowel": (528, 990, 10, 11),
    "load_waveform": (None, 5000, 21, 3),
}


def test_every_loader_is_in_the_list():
    assert {name for name in datasets.__all__ if name.startswith("load_")} == {*SHAPES, "load_table"}


@pytest.mark.parametrize("name", SHAPES)
def test_a_bunch_as_scikit_learn_gives_it(name):
    n_train, n, d, K = SHAPES[name]
    load = getattr(datasets, name)
    found = load()
    assert found.data.shape == (n, d)
    assert found.data.dtype == float
    assert found.target.shape == (n,)
    assert len(found.target_names) == K
    assert len(found.feature_names) == d
    assert "Source: " in found.DESCR
    assert "Licence: " in found.DESCR
    X, y = load(return_X_y=True)
    np.testing.assert_array_equal(X, found.data)
    np.testing.assert_array_equal(y, found.target)
    if n_train is not None:
        train, test = (load(subset=part) for part in ("train", "test"))
        np.testing.assert_array_equal(np.concatenate([train.data, test.data]), found.data)
        assert len(train.target) == n_train
        with pytest.raises(ValueError, match="subset 'train', 'test' or 'all', got 'both'"):
            load(subset="both")


def test_what_some_sets_have_beside_their_columns():
    assert datasets.load_vowel(subset="train").speaker.max() == 7
    assert set(datasets.load_crabs().sex.tolist()) == {"F", "M"}
    views = datasets.load_protein_fold(subset="test").views
    assert len(views) == 12
    assert views["SWpam50"].shape == (383, 311)
    some = datasets.load_letter(letters="ABE")
    assert list(some.target_names) == ["A", "B", "E"]
    assert some.data.shape == (2323, 16)
    with pytest.raises(ValueError, match="at least two capital letters in letters, got 'A1'"):
        datasets.load_letter(letters="A1")


@pytest.mark.parametrize("name", TABLES)
def test_tables(name):
    pytest.importorskip("pandas")
    found = datasets.load_table(name)
    assert list(found.frame.columns) == [*found.feature_names, "target"]
    assert not found.frame.isna().to_numpy().any()
    assert 2 <= len(found.target_names) <= 15
    X, y = datasets.load_table(name, return_X_y=True)
    assert len(X) == len(y) == len(found.frame)


def test_an_unknown_table():
    with pytest.raises(ValueError, match=r"expected a table among ionosphere, zoo, .*, got 'iris'"):
        datasets.load_table("iris")


@pytest.mark.parametrize("name", sources())
def test_files_are_those_of_the_list(name):
    about = sources()[name]
    if name.startswith("tables/"):
        content = gzip.decompress((PACKAGED / f"{name}.csv.gz").read_bytes())
    else:
        content = ((REPOSITORY if name == "mfeat" else PACKAGED) / f"{name}.npz").read_bytes()
    assert hashlib.sha256(content).hexdigest() == about["sha256"]
    assert all(about[part] for part in ("title", "source", "licence"))


def test_no_file_without_a_source():
    stored = {path.stem for path in PACKAGED.glob("*.npz")} | {"mfeat"}
    tables = {f"tables/{path.name.removesuffix('.csv.gz')}" for path in (PACKAGED / "tables").iterdir()}
    assert stored | tables == set(sources())
