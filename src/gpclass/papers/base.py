"""What an experiment is: tasks that can run apart, records that come of them, and the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Size = Literal["tiny", "quick", "full"]
#: Arguments of one run that can be repeated by itself; plain values, seeds among them.
Task = dict[str, Any]


class Records(list[dict[str, Any]]):
    """Rows of results: plain values by name, lists where a figure needs them."""

    def where(self, **conditions: Any) -> Records:
        """The rows in which every name has the value given."""
        return Records(row for row in self if all(row.get(name) == value for name, value in conditions.items()))

    def values(self, name: str) -> np.ndarray:
        return np.array([row[name] for row in self])

    def distinct(self, name: str) -> list[Any]:
        """Values of a name in the order they first come."""
        return list(dict.fromkeys(row[name] for row in self if name in row))

    def mean(self, name: str) -> float:
        return float(np.mean(self.values(name)))

    def sd(self, name: str) -> float:
        return float(np.std(self.values(name), ddof=1)) if len(self) > 1 else 0.0

    def standard_error(self, name: str) -> float | None:
        """Of the mean; None of a single row, which has no spread."""
        return self.sd(name) / float(np.sqrt(len(self))) if len(self) > 1 else None


@dataclass(frozen=True)
class Comparison:
    """One number of ours, with the published one where there is one; errors are standard errors of the means."""

    row: str
    column: str
    #: None where it is not a number.
    measured: float | None
    error: float | None = None
    published: float | None = None
    published_error: float | None = None
    better: Literal["lower", "higher"] | None = None

    @property
    def combined_error(self) -> float:
        return float(np.hypot(self.error or 0.0, self.published_error or 0.0))

    @property
    def verdict(self) -> Literal["", "within", "better", "worse", "differs"]:
        """Where ours lies: within two combined standard errors of the published number, or on which side of it; nothing
        where there is no published number, or ours has no error to judge by."""
        ours = (self.measured, self.error)
        if self.published is None or any(value is None or not np.isfinite(value) for value in ours):
            return ""
        difference = self.measured - self.published  # type: ignore[operator]
        if abs(difference) <= 2.0 * self.combined_error:
            return "within"
        if self.better is None:
            return "differs"
        return "better" if (difference > 0) == (self.better == "higher") else "worse"


def rounded(value: float | None, error: float | None) -> str:
    """A number with as many digits as its error deserves, and the error."""
    if value is None or not np.isfinite(value):
        return ""
    if not error or not np.isfinite(error) or error < 5e-5:
        return f"{value:.4g}"
    digits = int(np.clip(1 - np.floor(np.log10(error)), 0, 4))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def binomial_error(percent: float, n: int) -> float:
    """Standard error of a percentage that was counted on n test rows."""
    return float(np.sqrt(percent * (100.0 - percent) / n))


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    ``tasks(size)`` lists the arguments of ``run``, which gives records; ``compare`` and ``claims`` read all records,
    and ``draw`` makes figures of them by name. ``claims`` are what the paper says in words, each true or not here;
    those that begin with "Ours:" it does not say.
    """

    name: str
    title: str
    protocol: str
    tasks: Callable[[Size], list[Task]]
    run: Callable[..., Iterable[dict[str, Any]]]
    compare: Callable[[Records], list[Comparison]]
    claims: Callable[[Records], dict[str, bool]]
    draw: Callable[[Records], dict[str, Any]] | None = None
    #: Data sets it reads, as ``gpclass.papers.data.load`` names them.
    data: tuple[str, ...] = ()

    @property
    def paper(self) -> str:
        return self.name.split("-")[0].upper()
