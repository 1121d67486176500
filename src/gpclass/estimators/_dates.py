"""Dates and times as numbers: days since the first one in fit, and the cycles of the calendar that its rows cover."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

import numpy as np

from ..numerics.arrays import Array, namespace
from ._labels import is_missing

#: Text of a date or time, as ISO 8601 writes it.
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
_EPOCH, _DAY = datetime(1970, 1, 1), timedelta(days=1)
#: Parts of a cycle, a power of two.
_PARTS = 2.0**30
#: Phases that differ by less are equal, in radians.
_SAME_PHASE = 1e-6


@dataclass(frozen=True)
class Cycle:
    """A part of the calendar that comes again; of ``whole`` days where the time of day does not matter."""

    name: str
    days: float
    whole: bool

    def phase(self, days: Array) -> Array:
        """Angles of days since 1970, equal for equal places in the cycle: to a billionth of it, so that rounding does
        not tell one Monday from another."""
        floor = namespace(days).floor
        cycles = (floor(days) if self.whole else days) / self.days
        part = floor((cycles - floor(cycles)) * _PARTS + 0.5) / _PARTS
        return 2.0 * np.pi * (part - floor(part))


CYCLES = {
    cycle.name: cycle
    for cycle in (
        Cycle("time of day", 1.0, whole=False),
        Cycle("day of week", 7.0, whole=True),
        Cycle("day of year", 365.2425, whole=True),
    )
}


@dataclass(frozen=True)
class Times:
    """What fit has seen of a column of dates, times or durations.

    ``origin`` is the first date, in days since 1970 (0 for durations); ``zone`` the name of the time zone of aware
    times, whose local time counts; ``cycles`` the names of those that the column goes through.
    """

    origin: float
    zone: str | None
    duration: bool
    cycles: tuple[str, ...]

    @classmethod
    def fit(cls, name: Any, column: Any) -> Times:
        days, zone, duration = _days(name, column)
        known = days[~np.isnan(days)]
        if duration or not len(known):
            return cls(0.0, zone, duration, ())
        cycles = tuple(cycle.name for cycle in CYCLES.values() if _is_covered(cycle, known))
        return cls(float(np.floor(known.min())), zone, False, cycles)

    def transform(self, name: Any, column: Any) -> np.ndarray:
        """Days (n,) since the origin, NaN where there is no date."""
        days, zone, duration = _days(name, column)
        if not np.all(np.isnan(days)) and (zone, duration) != (self.zone, self.duration):
            expected, got = _described(self.zone, self.duration), _described(zone, duration)
            raise ValueError(f"column {name!r}: expected {expected}, as in fit, got {got}")
        return days - self.origin


def _is_covered(cycle: Cycle, days: np.ndarray) -> bool:
    """Whether rows span more than one cycle, at different places of it: else elapsed time says all there is."""
    angles = cycle.phase(days)
    varies = max(np.ptp(np.sin(angles)), np.ptp(np.cos(angles))) > _SAME_PHASE
    return bool(varies and np.ptp(days) > cycle.days)


def _described(zone: str | None, duration: bool) -> str:
    return "durations" if duration else "dates without a time zone" if zone is None else f"times in {zone}"


def parse_iso(text: str) -> datetime | None:
    """The date or time that a text writes as ISO 8601 does (2024-01-31, 2024-01-31T12:30), or None."""
    try:
        return datetime.fromisoformat(text) if _ISO.fullmatch(text) else None
    except ValueError:
        return None


def holds_times(column: Any, values: Iterable[Any]) -> bool:
    """Whether a column of a data frame, with these known values, holds dates, times or durations, or ISO text."""
    kind = str(getattr(column, "dtype", "")).lower()
    if np.asarray(column).dtype.kind in "mM" or kind.startswith(("datetime", "period", "timedelta", "duration")):
        return True
    values = list(values)
    if kind == "category" or not values:
        return False
    return any(isinstance(value, (date, time, timedelta)) for value in values) or all(
        isinstance(value, str) and parse_iso(value) is not None for value in values
    )


def _days(name: Any, column: Any) -> tuple[np.ndarray, str | None, bool]:
    """A column in days (since 1970, or long), NaN for missing values; its time zone; and whether it is durations."""
    values = np.asarray(column)
    aware = getattr(getattr(column, "dtype", None), "time_zone", None) is not None  # polars, which gives UTC
    if values.dtype.kind == "M" and not aware:
        return (values - np.datetime64(0, "D")) / np.timedelta64(1, "D"), None, False
    if values.dtype.kind == "m":
        return values / np.timedelta64(1, "D"), None, True
    cells = [None if is_missing(cell) else cell for cell in (column.to_list() if aware else values.tolist())]
    cells = [parse_iso(cell) or cell if isinstance(cell, str) else cell for cell in cells]
    known = [cell for cell in cells if cell is not None]
    days = np.full(len(cells), np.nan)
    if all(isinstance(cell, timedelta) for cell in known):
        days[[cell is not None for cell in cells]] = [cell / _DAY for cell in known]
        return days, None, True
    wrong = [cell for cell in known if not isinstance(cell, date)]
    if wrong:
        raise ValueError(f"column {name!r}: expected dates or times, got {wrong[0]!r} of {type(wrong[0]).__name__}")
    zones = {_zone(cell) for cell in known}
    if len(zones) > 1:
        got = " and ".join(sorted(_described(zone, False) for zone in zones))
        raise ValueError(f"column {name!r}: expected times of one kind, got {got}")
    days[[cell is not None for cell in cells]] = [(_local(cell) - _EPOCH) / _DAY for cell in known]
    return days, next(iter(zones), None), False


def _local(moment: date) -> datetime:
    """A date as the time of its first moment; a time as the clock on the wall shows it."""
    if isinstance(moment, datetime):
        return moment.replace(tzinfo=None)
    return datetime(moment.year, moment.month, moment.day)


def _zone(moment: date) -> str | None:
    """The name of the time zone. Offsets to UTC are of one kind, as they change in summer."""
    zone = getattr(moment, "tzinfo", None)
    return None if zone is None else "offsets to UTC" if isinstance(zone, timezone) else str(zone)
