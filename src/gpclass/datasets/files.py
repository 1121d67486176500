"""Files of data sets: those in the package, those in the repository, and those of a folder of the user's."""

from __future__ import annotations

import gzip
import json
import os
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

#: What comes with the package, and what is in the repository only because of its size.
PACKAGED = Path(__file__).parent / "data"
REPOSITORY = Path(__file__).resolve().parents[3] / "data"


class MissingDataError(LookupError):
    """A data set that is not on this machine and cannot be fetched; the message says how to get it."""


@cache
def sources() -> dict[str, dict[str, str]]:
    """Title, source, licence and SHA-256 checksum of every file, by the name of the set."""
    return json.loads((PACKAGED / "sources.json").read_text(encoding="utf-8"))


def own_folder() -> Path | None:
    """The folder that the environment variable GPCLASS_DATA names."""
    chosen = os.environ.get("GPCLASS_DATA")
    return Path(chosen) if chosen else None


def find(name: str) -> Path | None:
    """The file of a set: in the folder of the user's, the package or the repository."""
    for folder in (own_folder(), PACKAGED, REPOSITORY):
        if folder is not None and (folder / f"{name}.npz").is_file():
            return folder / f"{name}.npz"
    return None


def read(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file, as they are stored."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except (OSError, ValueError, BadZipFile) as error:
        raise MissingDataError(f"expected a file of NumPy arrays, and {path} cannot be read: {error}") from error


def read_table(name: str) -> Any:
    """A packaged CSV table as a data frame, cells as they stand in the file."""
    import pandas as pd

    content = gzip.decompress((PACKAGED / "tables" / f"{name}.csv.gz").read_bytes())
    return pd.read_csv(BytesIO(content), keep_default_na=False)
