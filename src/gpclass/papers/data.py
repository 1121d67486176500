"""Data sets of the experiments: arrays by name.

They come with scikit-learn or with gpclass, or are fetched from OpenML; a file in the folder that the environment
variable GPCLASS_DATA names is taken before all others. Files hold ``X`` and ``y``, or ``X_train``, ``y_train``,
``X_test`` and ``y_test`` where a split is customary.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from sklearn.datasets import load_iris, load_wine

from ..datasets.fetched import REMOTE, remote_arrays
from ..datasets.files import MissingDataError, find, read

Arrays = dict[str, np.ndarray]
#: X, y, X_test, y_test
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
#: Sets that come with scikit-learn.
BUNDLED: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {"iris": load_iris, "wine": load_wine}


@lru_cache(maxsize=4)
def load(name: str) -> Arrays:
    """Arrays of a data set by name, features as floats; not to be written to."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return {"X": X, "y": y}
    path = find(name)
    if path is None and name not in REMOTE and name != "mfeat":
        raise MissingDataError(
            f"the data set {name!r} is not there: put {name}.npz into a folder and name the folder in GPCLASS_DATA"
        )
    arrays = remote_arrays(name) if path is None else read(path)
    return {key: value.astype(float) if key.startswith("X") else value for key, value in arrays.items()}


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
            f"the customary split of {name!r} is missing: expected X_train, y_train, X_test and y_test in {name}.npz, "
            f"got {sorted(arrays)}"
        )
    return arrays["X_train"], arrays["y_train"], arrays["X_test"], arrays["y_test"]
