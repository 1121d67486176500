"""Larger data sets from OpenML, by scikit-learn, which keeps them in its data folder.

What comes is checked: numbers of rows, columns and classes must be those of the published set. A checksum, which does
not depend on the order of rows, tells whether the values are those that the published results were computed with;
otherwise a warning says so. A file of the same name in the folder ``GPCLASS_DATA`` is taken instead, for machines
without a network.
"""

from __future__ import annotations

import hashlib
import socket
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from .bundled import describe, with_views
from .files import MissingDataError, find, read

#: Seconds to wait for an answer of OpenML.
_TIMEOUT = 60.0


@dataclass(frozen=True)
class Remote:
    """A set of OpenML: its number, the rows of training and test part (one number where there is no split), columns,
    the decimals that values have, the classes in the order of OpenML's codes, and the checksum of each part."""

    title: str
    data_id: int
    rows: tuple[int, ...]
    n_columns: int
    decimals: int
    classes: tuple[Any, ...]
    checksums: tuple[str, ...]


REMOTE = {
    "usps": Remote(
        "USPS: handwritten digits of envelopes, 16 x 16 pixels",
        41082,
        (7291, 2007),
        256,
        3,
        tuple(range(10)),
        (
            "b2b4bffe90f9dd8482394696ab1a142f3d55001fa9b04dc22e40865f9ccc459e",
            "abf9e16702deb443e2bf85533116f3d5f4060744cfbe65155706bd4f06b4754c",
        ),
    ),
    "isolet": Remote(
        "Isolet: spoken letters, 617 features; speakers of the last part are for tests",
        300,
        (6238, 1559),
        617,
        4,
        tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        (
            "c75608d2a533fee8554bf9b6aeb51c3826c8297118714d3372faa5a2626f9b44",
            "b6a5b77339f94a2791cdd8771bca0acf07f358373ea15d9586b8fc8b35237f17",
        ),
    ),
    "mnist": Remote(
        "MNIST: handwritten digits, 28 x 28 pixels",
        554,
        (60000, 10000),
        784,
        0,
        tuple(range(10)),
        (
            "0af896a592cc4e2d190c553d11d52ae069ceac0d7c93f6d5d292893874dd4918",
            "68a15f495d3e166e276a70f4b8e995bae0dccd3d3df0972eea3c732d45621fe6",
        ),
    ),
    "covtype": Remote(
        "Forest cover type: 54 measurements of 581,012 patches of forest, seven kinds",
        1596,
        (581012,),
        54,
        0,
        (1, 2, 3, 4, 5, 6, 7),
        ("33c7452a1ee452692ab922b46222a3b66755673da66f6671931ea6fd8e140e9f",),
    ),
}


#: The sources of the multiple-features digits: number on OpenML and columns.
MFEAT = {"fou": (14, 76), "fac": (12, 216), "kar": (16, 64), "pix": (20, 240), "zer": (22, 47), "mor": (18, 6)}


def fetch_usps(*, subset: str = "all", return_X_y: bool = False) -> Any:
    """USPS digits: 7291 training and 2007 test images of 16 x 16 pixels."""
    return _bunch("usps", subset, return_X_y)


def fetch_isolet(*, subset: str = "all", return_X_y: bool = False) -> Any:
    """Isolet: 617 features of spoken letters, 6238 training and 1559 test rows."""
    return _bunch("isolet", subset, return_X_y)


def fetch_mnist(*, subset: str = "all", return_X_y: bool = False) -> Any:
    """MNIST digits: 60,000 training and 10,000 test images of 28 x 28 pixels."""
    return _bunch("mnist", subset, return_X_y)


def fetch_covtype(*, return_X_y: bool = False) -> Any:
    """Forest cover type: 581,012 rows, 54 columns, seven classes."""
    return _bunch("covtype", "all", return_X_y)


def fetch_mfeat(*, return_X_y: bool = False) -> Any:
    """Multiple features: 2000 handwritten digits; ``views`` has the arrays of six sources by name, ``data`` all of them
    side by side. The file is in the repository; an installed package fetches it."""
    arrays = remote_arrays("mfeat")
    found = Bunch(**arrays, target_names=np.arange(10), DESCR=describe("mfeat"))
    found["target"] = found.pop("y")
    return with_views(found, tuple(MFEAT), return_X_y)


def _bunch(name: str, subset: str, return_X_y: bool) -> Any:
    if subset not in ("train", "test", "all"):
        raise ValueError(f"expected subset 'train', 'test' or 'all', got {subset!r}")
    arrays = remote_arrays(name)
    parts = ("train", "test") if subset == "all" else (subset,)
    if "X" in arrays:
        X, y = arrays["X"], arrays["y"]
    else:
        X, y = (np.concatenate([arrays[f"{key}_{part}"] for part in parts]) for key in "Xy")
    X = X.astype(float)
    if return_X_y:
        return X, y
    about = f"{REMOTE[name].title}\n\nSource: data set {REMOTE[name].data_id} of OpenML\n"
    return Bunch(data=X, target=y, target_names=np.unique(y), DESCR=about)


def remote_arrays(name: str) -> dict[str, np.ndarray]:
    """X and y, or X_train, y_train, X_test and y_test, from a file of the user's or from OpenML."""
    path = find(name)
    if path is not None:
        return read(path)
    return _mfeat() if name == "mfeat" else _fetched(name, REMOTE[name])


def _mfeat() -> dict[str, np.ndarray]:
    arrays = {}
    for view, (data_id, n_columns) in MFEAT.items():
        arrays[f"X_{view}"], arrays["y"] = _from_openml("mfeat", data_id, (2000, n_columns, 10))
    return arrays


def _from_openml(name: str, data_id: int, expected: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """X, and y as codes 0, 1, ... in the order of the labels, of the expected rows, columns and classes."""
    timeout = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT)
    try:
        parser = "auto" if find_spec("pandas") else "liac-arff"
        found = fetch_openml(data_id=data_id, as_frame=False, parser=parser, n_retries=3)
    except Exception as error:  # of any kind, from the network or the parser
        raise MissingDataError(
            f"the data set {name!r} cannot be fetched from OpenML (data set {data_id}): {error}. Put {name}.npz into a "
            "folder and name the folder in the environment variable GPCLASS_DATA"
        ) from error
    finally:
        socket.setdefaulttimeout(timeout)
    X = np.asarray(found.data, dtype=np.float32)
    labels, y = np.unique(np.asarray(found.target).astype(float), return_inverse=True)
    if (*X.shape, len(labels)) != expected:
        raise MissingDataError(
            f"data set {data_id} of OpenML is not {name!r}: expected {expected[0]} rows, {expected[1]} columns and "
            f"{expected[2]} classes, got {(*X.shape, len(labels))}"
        )
    return X, y


def _fetched(name: str, remote: Remote) -> dict[str, np.ndarray]:
    shape = (sum(remote.rows), remote.n_columns, len(remote.classes))
    X, codes = _from_openml(name, remote.data_id, shape)
    y = np.asarray(remote.classes)[codes]
    ends = np.cumsum(remote.rows)
    parts = [(X[end - n : end], y[end - n : end]) for n, end in zip(remote.rows, ends, strict=True)]
    if any(checksum(*part, remote.decimals) != known for part, known in zip(parts, remote.checksums, strict=True)):
        warnings.warn(
            f"the values of {name!r} from OpenML are not those of the published results: figures may differ slightly",
            stacklevel=4,
        )
    if len(parts) == 1:
        return {"X": X, "y": y}
    (X_train, y_train), (X_test, y_test) = parts
    return {"X_train": X_train, "y_train": y_train, "X_test": X_test, "y_test": y_test}


def checksum(X: np.ndarray, y: np.ndarray, decimals: int) -> str:
    """SHA-256 of the rows with their labels, in an order of their own, of values with so many decimals."""
    codes = np.unique(y, return_inverse=True)[1]
    rows = np.column_stack([np.round(np.asarray(X, float) * 10**decimals), codes]).astype("<i4")
    ordered = np.sort(np.ascontiguousarray(rows).view(f"V{4 * rows.shape[1]}").ravel())
    return hashlib.sha256(ordered.tobytes()).hexdigest()
