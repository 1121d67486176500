"""Saved models: ``save(model, path)`` and ``load(path)``.

A file is one line that says what it is, one line of JSON about its content, and the content as skops writes it: plain
values and arrays under the names of classes, never code. Only classes of gpclass, scikit-learn and NumPy are made anew.
``saved_form`` decides what of a model is written.
"""

import hashlib
import json
import os
import re
import zipfile
from importlib import import_module
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .files import write_whole
from .saved_form import restored_form, saved_form

_MAGIC = b"gpclass model\n"
#: Raised when files of the new kind cannot be read by older versions.
_FORMAT = 2
#: What the first line after the magic may hold at most; longer means that it is none.
_LONGEST_HEAD = 10_000
#: Parts that hold values only, by the name skops gives to what makes them.
_PLAIN = re.compile(
    "(Bytearray|Bytes|Cached|DType|DefaultDict|Dict|Json|List|Loss|MaskedArray|NdArray|Object|RandomGenerator|"
    "RandomState|Set|Slice|SparseMatrix|Tree|Tuple|Type)Node"
)


class ModelFileError(ValueError):
    """A file that holds no model this version can read; the message says what is wrong with it."""


def save(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted model to a file, all of it or nothing: a kill in the middle leaves the old file as it was.

    Parameters
    ----------
    model : a fitted estimator of gpclass, or a pipeline with one
    path : where to, and what is returned; by custom the name ends in ``.gpclass``
    """
    sio = _skops()
    check_is_fitted(model)
    content = sio.dumps(saved_form(model), compression=zipfile.ZIP_DEFLATED, compresslevel=6)
    foreign, _ = _foreign(content)
    if foreign:
        raise TypeError(
            f"expected a model of gpclass and scikit-learn alone, got {foreign[0]} in it, which a saved file cannot "
            "contain; use pickle or joblib for files that only you read"
        )
    head = {
        "format": _FORMAT,
        "gpclass": version("gpclass"),
        "scikit-learn": version("scikit-learn"),
        "model": type(model).__name__,
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, _MAGIC + json.dumps(head).encode() + b"\n" + content)
    return path


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file that ``save`` wrote. No code in the file is run; what is damaged or foreign is refused."""
    sio = _skops()
    head, content = _parts(Path(path))
    try:
        foreign, names = _foreign(content)
        if foreign:
            raise ModelFileError(f"{path} contains {foreign[0]}, not part of gpclass or scikit-learn: not loaded")
        return restored_form(sio.loads(content, trusted=names))
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(
            f"{path} was saved by gpclass {head['gpclass']} with scikit-learn {head['scikit-learn']} and cannot be "
            f"read by gpclass {version('gpclass')} with scikit-learn {version('scikit-learn')}: {error}"
        ) from error


def _parts(path: Path) -> tuple[dict[str, Any], bytes]:
    """Head and content of a file, checked against each other."""
    if path.is_dir():
        raise ModelFileError(f"expected a model file: {path} is a folder")
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"File not found: {path}") from None
    if not stored.startswith(_MAGIC):
        raise ModelFileError(f"{path} is not a model saved by gpclass")
    end = stored.find(b"\n", len(_MAGIC), len(_MAGIC) + _LONGEST_HEAD)
    try:
        head = json.loads(stored[len(_MAGIC) : max(end, 0)])
        kind, size, digest = int(head["format"]), int(head["bytes"]), str(head["sha256"])
        str(head["gpclass"]), str(head["scikit-learn"])
    except (ValueError, KeyError, TypeError):
        raise ModelFileError(f"{path} is damaged: its header cannot be read") from None
    if kind > _FORMAT:
        saved_by = f"{path} was saved by gpclass {head['gpclass']}"
        raise ModelFileError(f"{saved_by} and needs a newer version than {version('gpclass')}")
    content = stored[end + 1 :]
    if len(content) != size:
        raise ModelFileError(f"{path} is damaged: expected {size} bytes of content, got {len(content)}")
    if hashlib.sha256(content).hexdigest() != digest:
        raise ModelFileError(f"{path} is damaged: its checksum is wrong")
    return head, content


def _foreign(content: bytes) -> tuple[list[str], list[str]]:
    """Parts that are calls or of classes not ours, and all types that skops does not know."""
    calls = _calls(content)
    if calls:  # before skops looks at them
        return calls, []
    names = _skops().get_untrusted_types(data=content)
    return [name for name in names if not _is_our_class(name)], names


def _calls(content: bytes) -> list[str]:
    """Parts that are functions, or calls of one, whatever name they go by."""
    with zipfile.ZipFile(BytesIO(content)) as parts:
        schema = json.loads(parts.read("schema.json"))
    return [f"a {kind[:60]}" for kind in sorted(_loaders(schema)) if not _PLAIN.fullmatch(kind)]


def _loaders(schema: Any) -> set[str]:
    """How skops would make each of the parts. A key of the user's own has a part below it, and no name of a maker."""
    if isinstance(schema, dict):
        name = schema.get("__loader__")
        own = {name} if isinstance(name, str) else set()
        return own.union(*(_loaders(part) for part in schema.values()))
    return set().union(*(_loaders(part) for part in schema)) if isinstance(schema, list) else set()


def _is_our_class(name: str) -> bool:
    """Whether a name is that of a class which gpclass itself defines, and not of something that it imports."""
    module, _, own = name.rpartition(".")
    if not module.startswith("gpclass."):
        return False
    try:
        found = getattr(import_module(module), own, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("saved models need skops: pip install 'gpclass[persist]'") from error
    return skops.io
