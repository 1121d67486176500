"""What the commands share: where they speak, and how they end.

Whatever takes long to import is imported by the command that needs it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import IO, Any

import typer
from rich.console import Console
from rich.text import Text

from ..io.json_values import plain


class _Speaker(Console):
    """A console that falls silent when its reader leaves: a fit goes on, and its model is saved."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _let_go(self.file)


out = _Speaker()
err = _Speaker(stderr=True)


def _let_go(stream: IO[str]) -> None:
    """What is still to be written goes nowhere, so that Python does not fail with it at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def take_any_sign() -> None:
    """Standard output that holds few letters shows another for those it does not: a name is no reason to fail."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")


def put(text: str) -> None:
    """Text for other programs on standard output, as it is or not at all; that no one reads it is no mistake."""
    if sys.stdout is None:
        return
    try:
        text.encode(sys.stdout.encoding or "utf-8")
        sys.stdout.write(text)
        sys.stdout.flush()
    except UnicodeEncodeError as error:
        raise fail(
            f"expected a standard output that holds {text[error.start]!r}, and its encoding is {error.encoding}; "
            "--out writes a file in UTF-8"
        ) from None
    except BrokenPipeError:
        _let_go(sys.stdout)
    except OSError as error:
        _let_go(sys.stdout)
        raise fail(f"standard output: {error.strerror}") from None


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
    put(json.dumps(plain(content), indent=1, allow_nan=False) + "\n")


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
