"""What the commands share: where they speak, and how they end.

Whatever takes long to import is imported by the command that needs it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from .._json import plain

out = Console()
err = Console(stderr=True)


def fail(message: str, code: int = 1) -> typer.Exit:
    """One line on standard error, and the exit to raise."""
    err.print(Text(f"gpclass: {message}"), soft_wrap=True)
    return typer.Exit(code)


def say(text: str, style: str = "") -> None:
    """A line for people, never broken or coloured by what is in it."""
    out.print(Text(text, style=style), soft_wrap=True)


def count(number: int, thing: str) -> str:
    """How many of a thing there are."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def tell(notes: Iterable[str]) -> None:
    """What a reader should know, on standard error: scripts read the other."""
    for note in notes:
        err.print(Text(f"note: {note}", style="yellow"), soft_wrap=True)


def as_json(content: Any) -> None:
    """For scripts: one JSON object on standard output; what is no finite number is null there."""
    sys.stdout.write(json.dumps(plain(content), indent=1, allow_nan=False) + "\n")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Whatever goes wrong within is told in one line; GPCLASS_TRACEBACK=1 shows where it came from."""
    if os.environ.get("GPCLASS_TRACEBACK"):
        yield
        return
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        raise fail("stopped; nothing was written", 130) from None
    except (ValueError, TypeError, MemoryError, ImportError) as error:
        raise fail(_first_line(error)) from None
    except OSError as error:
        raise fail(f"{error.filename or 'a file'}: {error.strerror or error}") from None
    except Exception as error:
        reason = f"{type(error).__name__}: {_first_line(error)}"
        raise fail(f"this should not have happened ({reason}); GPCLASS_TRACEBACK=1 shows more") from None


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
