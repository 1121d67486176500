"""The parts of an experiment: tasks that run independently, their records, and measured beside published values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, get_args

import numpy as np

Size = Literal["tiny", "quick", "full"]
Better = Literal["lower", "higher"] | None
#: Arguments of one run that can be repeated on its own: plain values, among them seeds.
Task = dict[str, Any]
#: One record: plain values by name, lists where a figure needs them.
Row = dict[str, Any]
Rows = Iterator[Row]
Claims = dict[str, bool | np.bool_]
Figures = dict[str, Any]


@dataclass(frozen=True)
class Quantity:
    """A measured value, with the published one where there is one; errors are standard errors of the means."""

    row: str
    column: str
    #: None where it is not finite.
    measured: float | None
    error: float | None = None
    published: float | None = None
    published_error: float | None = None
    better: Better = None

    @property
    def verdict(self) -> Literal["", "within", "better", "worse", "differs"]:
        """Whether the measured value lies within two combined standard errors of the published one, or on which side
        of it; empty without a published value, or without a standard error of the measured one."""
        if self.published is None or self.measured is None or self.error is None:
            return ""
        if not np.all(np.isfinite([self.measured, self.error])):
            return ""
        difference = self.measured - self.published
        if abs(difference) <= 2.0 * np.hypot(self.error, self.published_error or 0.0):
            return "within"
        if self.better is None:
            return "differs"
        return "better" if (difference > 0) == (self.better == "higher") else "worse"


Quantities = Iterator[Quantity]


class Records(list[Row]):
    """The records of all tasks."""

    def where(self, **conditions: Any) -> Records:
        """The records in which every name has the value given."""
        return Records(row for row in self if all(row.get(name) == value for name, value in conditions.items()))

    def values(self, name: str) -> np.ndarray:
        return np.array([row[name] for row in self])

    def distinct(self, name: str) -> list[Any]:
        """Values of a name in the order of their first occurrence."""
        return list(dict.fromkeys(row[name] for row in self if name in row))

    def mean(self, name: str) -> float:
        return float(np.mean(self.values(name)))

    def sd(self, name: str) -> float:
        return float(np.std(self.values(name), ddof=1)) if len(self) > 1 else 0.0

    def standard_error(self, name: str) -> float | None:
        """Standard error of the mean; None for a single record."""
        return self.sd(name) / float(np.sqrt(len(self))) if len(self) > 1 else None

    def quantity(self, row: str, column: str, name: str, *published: Any, **more: Any) -> Quantity:
        """The mean of a name over the records, with its standard error; other arguments are those of ``Quantity``."""
        return Quantity(row, column, self.mean(name), self.standard_error(name), *published, **more)

    def by(self, name: str) -> dict[Any, Records]:
        """The records of each value of a name."""
        return {value: self.where(**{name: value}) for value in self.distinct(name)}


def rounded(value: float | None, error: float | None) -> str:
    """A value and its error, with as many digits as the error supports."""
    if value is None or not np.isfinite(value):
        return ""
    if not error or not np.isfinite(error) or error < 5e-5:
        return f"{value:.4g}"
    digits = int(np.clip(1 - np.floor(np.log10(error)), 0, 4))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def by_size(size: Size, **values: tuple[Any, Any, Any]) -> Task:
    """Arguments of tasks, each given for tiny, quick and full runs."""
    return {name: given[get_args(Size).index(size)] for name, given in values.items()}


def binomial_error(percent: float, n: int) -> float:
    """Standard error of a percentage that was counted on n test rows."""
    return float(np.sqrt(percent * (100.0 - percent) / n))


def counted(row: str, column: str, percent: float, n: int, *published: Any, **more: Any) -> Quantity:
    """A percentage counted on n test rows. Those of the paper are the same, so the binomial error enters once."""
    return Quantity(row, column, percent, binomial_error(percent, n), *published, **more)


def published_table(text: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Cells ``mean±sd`` of a table, by row and column: the first line names the columns, "-" is a cell that is not
    known."""
    header, *lines = (line.split() for line in text.strip().splitlines())
    return {
        name: {
            column: (float(mean), float(sd))
            for column, (mean, _, sd) in zip(header, (cell.partition("±") for cell in cells), strict=True)
            if mean != "-"
        }
        for name, *cells in lines
    }


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    ``tasks(size)`` lists the arguments of ``run``, which returns records; ``compare`` and ``claims`` read all records,
    and ``draw`` makes figures of them by name. ``claims`` are statements of the paper, each true or false here; those
    that begin with "Ours:" are not in the paper. ``data`` names the data sets, as ``gpclass.papers.data.load`` does.
    """

    name: str
    title: str
    protocol: str
    tasks: Callable[[Size], list[Task]]
    run: Callable[..., Iterable[Row]]
    compare: Callable[[Records], Iterable[Quantity]]
    claims: Callable[[Records], Claims]
    draw: Callable[[Records], Figures] | None = None
    data: tuple[str, ...] = ()

    @classmethod
    def from_module(cls, name: str, module: ModuleType) -> Experiment:
        """Of a module with these functions and ``DATA``, whose docstring is "PAPER PART: title" and the protocol."""
        title, _, protocol = (module.__doc__ or "").partition("\n")
        functions = (module.tasks, module.run, module.compare, module.claims, module.draw)
        data = getattr(module, "DATA", ())
        return cls(name, title.partition(": ")[2], " ".join(protocol.split()), *functions, data=data)

    @property
    def paper(self) -> str:
        return self.name.split("-")[0].upper()
