"""Small real data sets that come with the package, as scikit-learn's loaders give them.

Each returns a ``Bunch`` with ``data`` (n, n_features), ``target`` (n,), ``feature_names``, ``target_names`` and
``DESCR``, which names source and licence; ``return_X_y=True`` gives the first two alone. Where a set has a customary
split, ``subset`` chooses "train", "test" or "all", the training rows first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from .files import find, read, read_table, sources

#: The tables of ``load_table``.
TABLES = tuple(name.removeprefix("tables/") for name in sources() if name.startswith("tables/"))
_SUBSETS = ("train", "test", "all")


def load_ard_clusters(*, return_X_y: bool = False) -> Any:
    """Two clusters of 300 rows that differ in the first of two inputs."""
    return _bunch("ard_clusters", return_X_y)


def load_crabs(*, return_X_y: bool = False) -> Any:
    """Leptograpsus crabs: five measurements of 200 crabs, two species and two sexes."""
    return _bunch("crabs", return_X_y)


def load_crescent(*, return_X_y: bool = False) -> Any:
    """Two crescents with 37 labels of 400; 0 is no label."""
    return _bunch("crescent", return_X_y)


def load_dna(*, subset: str = "all", return_X_y: bool = False) -> Any:
    """Splice junctions: 180 indicators of 60 bases, three classes."""
    return _bunch("dna", return_X_y, subset)


def load_forensic_glass(*, return_X_y: bool = False) -> Any:
    """Forensic glass: 214 fragments, nine measurements, six kinds, as in Ripley's book."""
    return _bunch("fgl", return_X_y)


def load_glass(*, return_X_y: bool = False) -> Any:
    """Glass identification: the same fragments with the codes of the UCI repository."""
    return _bunch("glass_uci", return_X_y)


def load_letter(*, subset: str = "all", letters: str | None = None, return_X_y: bool = False) -> Any:
    """Letter recognition: 16 features of 20,000 printed letters; ``letters`` such as "ABE" keeps some of them."""
    found = _bunch("letter", False, subset)
    if letters is not None:
        unknown = sorted(set(letters) - set(found.target.tolist()))
        if unknown or len(set(letters)) < 2:
            raise ValueError(f"expected at least two capital letters in letters, got {letters!r}")
        kept = np.isin(found.target, list(letters))
        found.update(data=found.data[kept], target=found.target[kept], target_names=np.array(sorted(set(letters))))
    return (found.data, found.target) if return_X_y else found


def load_neal(*, return_X_y: bool = False) -> Any:
    """Neal's three classes of 1000 rows: two inputs matter, two do not."""
    return _bunch("neal3", return_X_y)


def load_pima(*, subset: str = "all", return_X_y: bool = False) -> Any:
    """Diabetes among Pima women: seven measurements, 200 training and 332 test rows."""
    return _bunch("pima", return_X_y, subset)


def load_protein_fold(*, subset: str = "all", return_X_y: bool = False) -> Any:
    """27 folds of 694 proteins; ``views`` has the arrays of twelve sources by name, ``data`` those of the first six
    side by side."""
    return with_views(_bunch("protein_fold", False, subset), ("C", "S", "H", "P", "Z", "V"), return_X_y)


def load_ripley(*, subset: str = "all", return_X_y: bool = False) -> Any:
    """Ripley's synthetic data: two classes in the plane, 250 training and 1000 test rows."""
    return _bunch("ripley_synth", return_X_y, subset)


def load_satimage(*, subset: str = "all", return_X_y: bool = False) -> Any:
    """Landsat images: 36 values of a neighbourhood, six kinds of ground."""
    return _bunch("satimage", return_X_y, subset)


def load_segmentation(*, subset: str = "all", return_X_y: bool = False) -> Any:
    """Image segmentation: 19 features of patches of seven outdoor images."""
    return _bunch("segmentation", return_X_y, subset)


def load_thyroid(*, return_X_y: bool = False) -> Any:
    """Thyroid gland: five laboratory tests of 215 patients, three classes."""
    return _bunch("new_thyroid", return_X_y)


def load_unit_square(*, return_X_y: bool = False) -> Any:
    """Two classes drawn from a Gaussian process on the unit square, 500 rows."""
    return _bunch("unit_square_gp", return_X_y)


def load_vowel(*, subset: str = "all", return_X_y: bool = False) -> Any:
    """Eleven vowels of fifteen speakers; ``speaker``, ``sex`` and ``repetition`` (n,) say who spoke."""
    return _bunch("vowel", return_X_y, subset)


def load_waveform(*, return_X_y: bool = False) -> Any:
    """Waveforms: three classes of mixtures of triangles with noise, 5000 rows of 21 values."""
    return _bunch("waveform", return_X_y)


def load_table(name: str, *, return_X_y: bool = False) -> Any:
    """One of ten small tables of numbers and text, as a data frame with the column ``target``.

    ``name`` is one of "ionosphere", "zoo", "german", "dermatology", "balance", "car", "cleveland", "libras", "led7" and
    "tictactoe". The Bunch has ``frame`` too.
    """
    if name not in TABLES:
        raise ValueError(f"expected a table among {', '.join(TABLES)}, got {name!r}")
    frame = read_table(name)
    data, target = frame.drop(columns="target"), frame["target"]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=list(data.columns),
        target_names=np.unique(target.to_numpy()),
        DESCR=describe(f"tables/{name}"),
    )


def describe(name: str) -> str:
    """What a set is, where it comes from, and its licence."""
    about = sources()[name]
    return f"{about['title']}\n\nSource: {about['source']}\nLicence: {about['licence']}\n"


def _bunch(name: str, return_X_y: bool, subset: str = "all") -> Any:
    if subset not in _SUBSETS:
        raise ValueError(f"expected subset 'train', 'test' or 'all', got {subset!r}")
    path = find(name)
    assert path is not None, name
    found = _chosen(read(path), subset)
    X, y = found.pop("X", None), found.pop("y")
    if X is not None:
        X = X.astype(float)
    if return_X_y:
        return X, y
    names = found.pop("feature_names", None if X is None else [f"x{j}" for j in range(X.shape[1])])
    return Bunch(
        data=X,
        target=y,
        feature_names=None if names is None else [str(one) for one in names],
        target_names=np.unique(y),
        DESCR=describe(name),
        **found,
    )


def _chosen(arrays: dict[str, np.ndarray], subset: str) -> dict[str, np.ndarray]:
    """The arrays of a set without a split, or of a part of one with a split."""
    wanted = ("train", "test") if subset == "all" else (subset,)
    split = {key.removesuffix("_train") for key in arrays if key.endswith("_train")}
    joined = {key: np.concatenate([arrays[f"{key}_{part}"] for part in wanted]) for key in sorted(split)}
    whole = {key: value for key, value in arrays.items() if not key.endswith(("_train", "_test"))}
    return whole | joined


def with_views(found: Bunch, beside: tuple[str, ...], return_X_y: bool) -> Any:
    """The Bunch with its sources as ``views``, and some of them side by side as ``data``."""
    keys = [key for key in found if key.startswith("X_")]
    found["views"] = {key.removeprefix("X_"): found.pop(key).astype(float) for key in keys}
    found["data"] = np.hstack([found["views"][name] for name in beside])
    found["feature_names"] = [f"{name}_{j}" for name in beside for j in range(found["views"][name].shape[1])]
    return (found.data, found.target) if return_X_y else found
