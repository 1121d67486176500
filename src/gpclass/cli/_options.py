"""Options that several commands have."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from ._console import fail

_TIME = re.compile(r"(\d+\.?\d*|\.\d+)\s*(s|m|h)?")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}

TimeLimited = Annotated[
    str | None,
    typer.Option(
        "--time-limit",
        help="Stop learning after this many seconds (60) or minutes (5m) and use what was found so far.",
        show_default=False,
        metavar="TIME",
    ),
]


def seconds(given: str | None) -> float | None:
    """A time limit in seconds: 60, 60s, 5m or 1h."""
    if given is None:
        return None
    found = _TIME.fullmatch(given.strip().lower())
    value = float(found[1]) * _UNITS[found[2] or "s"] if found else 0.0
    if not value > 0.0:
        raise fail(f"--time-limit: expected a time such as 60 (seconds) or 5m (minutes), got {given!r}", 2)
    return value
