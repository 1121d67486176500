"""Data sets of the experiments: from a folder of ``.npz`` files, from scikit-learn, or from OpenML.

The folder is the one named by the environment variable ``GPCLASS_DATA``, else ``shared/data`` beside the project. Files
hold ``X`` and ``y``, or ``X_train``, ``y_train``, ``X_test`` and ``y_test`` where a split is customary.
"""

import os
import socket
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from sklearn.datasets import fetch_openml, load_iris, load_wine

Arrays = dict[str, np.ndarray]
#: X, y, X_test, y_test
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
#: Sets that come with scikit-learn.
BUNDLED: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {"iris": load_iris, "wine": load_wine}
#: Identifier on OpenML, rows, columns and classes, for sets without a split; other shapes are refused.
OPENML = {
    "new_thyroid": (40682, 215, 5, 3),
    "fgl": (41, 214, 9, 6),
    "segmentation": (36, 2310, 19, 7),
    "dna": (40670, 3186, 180, 3),
    "letter": (6, 20000, 16, 26),
    "satimage": (182, 6430, 36, 6),
}
#: Seconds to wait for OpenML.
_TIMEOUT = 30.0


class MissingDataError(LookupError):
    """A data set that is neither on this machine nor on OpenML; the message says how to get it."""


def folder() -> Path:
    """The folder that files are read from."""
    chosen = os.environ.get("GPCLASS_DATA")
    if chosen:
        return Path(chosen)
    above = Path(__file__).resolve().parents
    return (above[4] if len(above) > 4 else Path.cwd()) / "shared" / "data"


@lru_cache(maxsize=4)
def load(name: str) -> Arrays:
    """Arrays of a data set by name, features as floats; not to be written to."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return {"X": X, "y": y}
    path = folder() / f"{name}.npz"
    if path.is_file():
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {key: stored[key] for key in stored.files}
        except (OSError, ValueError, BadZipFile) as error:
            raise MissingDataError(f"expected a file of NumPy arrays, and {path} cannot be read: {error}") from error
        return {key: value.astype(float) if key.startswith("X") else value for key, value in arrays.items()}
    if name in OPENML:
        return _fetch(name)
    raise MissingDataError(
        f"the data set {name!r} is not there: put {name}.npz into {folder()}, or name its folder in GPCLASS_DATA"
    )


def whole(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows of a set and their labels, those of a customary split together."""
    arrays = load(name)
    if "X" in arrays:
        return arrays["X"], arrays["y"]
    X, y = (np.concatenate([arrays[f"{key}_train"], arrays[f"{key}_test"]]) for key in ("X", "y"))
    return X, y


def halves(name: str) -> Split:
    """X, y, X_test, y_test of a set's customary split."""
    arrays = load(name)
    if "X_train" not in arrays:
        raise MissingDataError(
            f"the customary split of {name!r} is missing: put {name}.npz with X_train, y_train, X_test and y_test into "
            f"{folder()}, or name its folder in GPCLASS_DATA (OpenML does not have it)"
        )
    return arrays["X_train"], arrays["y_train"], arrays["X_test"], arrays["y_test"]


def _fetch(name: str) -> Arrays:
    data_id, *expected = OPENML[name]
    timeout = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT)
    try:
        found = fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff", n_retries=1)
    except Exception as error:  # of any kind, from the network or the parser
        raise MissingDataError(
            f"the data set {name!r} is neither in {folder()} (GPCLASS_DATA names another folder) nor to be fetched "
            f"from OpenML, data set {data_id}: {error}"
        ) from error
    finally:
        socket.setdefaulttimeout(timeout)
    X, y = np.asarray(found.data, dtype=float), np.asarray(found.target)
    shape = [*X.shape, len(np.unique(y))]
    if shape != expected:
        raise MissingDataError(
            f"data set {data_id} of OpenML is not {name!r}: expected {expected[0]} rows, {expected[1]} columns and "
            f"{expected[2]} classes, got {shape}"
        )
    return {"X": X, "y": y}
