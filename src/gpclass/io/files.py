"""Atomic writing of files."""

import os
import stat
from pathlib import Path
from uuid import uuid4


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a temporary file and rename it, so that an interruption leaves the old file.

    The mode and links to the file are kept; devices and pipes are written to directly."""
    content = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            _replace(path.resolve(), content)
    except OSError as error:  # with the name that was given, not the temporary one
        raise OSError(error.errno, error.strerror, str(path)) from error


def _replace(path: Path, content: bytes) -> None:
    part = path.with_name(f".{uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
