"""Output and error handling shared by the commands.

Modules that take long to import are imported by the command that needs them.
"""

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


class _Console(Console):
    """A console that stays quiet after a broken pipe: the fit continues, and its model is saved."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _redirect_to_null(self.file)


out = _Console()
err = _Console(stderr=True)


def _redirect_to_null(stream: IO[str]) -> None:
    """Discard buffered output, so that Python does not fail when it flushes at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def replace_unencodable() -> None:
    """Let standard output replace characters that its encoding does not have."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")


def write_stdout(text: str) -> None:
    """Write text for other programs unchanged, or fail; a closed pipe is not an error."""
    if sys.stdout is None:
        return
    try:
        text.encode(sys.stdout.encoding or "utf-8")
        sys.stdout.write(text)
        sys.stdout.flush()
    except UnicodeEncodeError as error:
        raise fail(
            f"expected a standard output that can encode {text[error.start]!r}, and its encoding is {error.encoding}; "
            "--out writes a file in UTF-8"
        ) from None
    except BrokenPipeError:
        _redirect_to_null(sys.stdout)
    except OSError as error:
        _redirect_to_null(sys.stdout)
        raise fail(f"standard output: {error.strerror}") from None


def fail(message: str, code: int = 1) -> typer.Exit:
    """Print one line on standard error; returns the exit to raise."""
    err.print(Text(f"gpclass: {message}"), soft_wrap=True)
    return typer.Exit(code)


def print_line(text: str, style: str = "") -> None:
    """Print a line without wrapping, markup or highlighting."""
    out.print(Text(text, style=style), soft_wrap=True)


def count(number: int, thing: str) -> str:
    """A number and a noun, plural unless it is 1."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error; scripts read standard output."""
    for note in notes:
        err.print(Text(f"note: {note}", style="yellow"), soft_wrap=True)


def print_json(content: Any) -> None:
    """Print one JSON object; numbers that are not finite become null."""
    write_stdout(json.dumps(plain(content), indent=1, allow_nan=False) + "\n")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Report errors in one line; GPCLASS_TRACEBACK=1 shows the traceback."""
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
        raise fail(f"unexpected error ({reason}); GPCLASS_TRACEBACK=1 shows more") from None


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
