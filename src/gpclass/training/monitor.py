"""Progress of long work, and requests to stop it.

Long work takes a ``monitor`` as an argument. It opens a part with ``with monitor.task("restarts", 3) as restarts``,
calls ``restarts.step()`` after each step, and looks at ``restarts.should_stop``. ``SILENT`` follows nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Monitor:
    """Follows one piece of work and its parts; this base class ignores everything and never asks to stop."""

    #: Whether a callback has asked this piece of work to stop.
    should_stop: bool = False

    def task(self, name: str, total: int | None = None) -> Monitor:
        """A part of the work; ``total`` is its number of steps where that is known."""
        return self

    def step(self, note: str = "") -> None:
        """One step is done."""

    def end(self) -> None:
        """The work is over."""

    def each(self, items: Iterable[T], at_least: int = 0) -> Iterator[T]:
        """The items, one step each; fewer when a callback asks to stop, but ``at_least`` so many."""
        for done, item in enumerate(items, start=1):
            yield item
            self.step()
            if self.should_stop and done >= at_least:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def __reduce__(self) -> tuple[type, tuple[()]]:
        # Other processes cannot reach the callbacks or the terminal of this one.
        return Monitor, ()


#: Follows nothing.
SILENT = Monitor()


class Together(Monitor):
    """Several monitors as one."""

    def __init__(self, monitors: Sequence[Monitor], parent: Together | None = None) -> None:
        self.monitors, self.parent = monitors, parent

    def task(self, name: str, total: int | None = None) -> Monitor:
        return Together([monitor.task(name, total) for monitor in self.monitors], self)

    def step(self, note: str = "") -> None:
        for monitor in self.monitors:
            monitor.step(note)
        self._update()

    def end(self) -> None:
        for monitor in self.monitors:
            monitor.end()
        if self.parent is not None:
            self.parent._update()

    def _update(self) -> None:
        self.should_stop = any(monitor.should_stop for monitor in self.monitors)


class Callbacks(Monitor):
    """scikit-learn's callbacks: every task is a context, every step without a task of its own a leaf of it. A callback
    that asks to stop at the end of a task stops the task that it is a part of."""

    def __init__(self, estimator: Any, context: Any, parent: Callbacks | None = None) -> None:
        self.estimator, self.context, self.parent = estimator, context, parent
        self._had_task = False
        context.call_on_fit_task_begin(estimator=estimator)

    def task(self, name: str, total: int | None = None) -> Monitor:
        self._had_task = True
        return Callbacks(self.estimator, self.context.subcontext(task_name=name, max_subtasks=total), self)

    def step(self, note: str = "") -> None:
        if self._had_task:
            self._had_task = False
            return
        leaf = self.context.subcontext(task_name="step")
        leaf.call_on_fit_task_begin(estimator=self.estimator)
        if leaf.call_on_fit_task_end(estimator=self.estimator):
            self.should_stop = True

    def end(self) -> None:
        if self.context.call_on_fit_task_end(estimator=self.estimator) and self.parent is not None:
            self.parent.should_stop = True


class Terminal(Monitor):
    """Lines on standard output: one when a task ends, and one every few seconds in between, on a terminal two and
    elsewhere ten."""

    def __init__(
        self,
        name: str,
        total: int | None = None,
        *,
        every: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.total, self.clock = name, total, clock
        self.every = (2.0 if sys.stdout is not None and sys.stdout.isatty() else 10.0) if every is None else every
        self._start = self._last = clock()
        self._steps, self._note, self._parts = 0, "", 0

    def task(self, name: str, total: int | None = None) -> Monitor:
        self._parts += 1
        return Terminal(f"{self.name}: {name}", total, every=self.every, clock=self.clock)

    def step(self, note: str = "") -> None:
        self._steps, self._note = self._steps + 1, note
        if self.clock() - self._last >= self.every:
            self._print()

    def end(self) -> None:
        if self._steps or not self._parts:
            self._print(" done")

    def _print(self, ending: str = "") -> None:
        self._last = self.clock()
        seconds = self._last - self._start
        count = f"{self._steps}" if self.total is None else f"{self._steps} of {self.total}"
        note = f", {self._note}" if self._note else ""
        left = ""
        if self.total is not None and not ending:
            left = f", about {duration(seconds / self._steps * (self.total - self._steps))} left"
        print(f"[{self.name}]{ending} {count}{note}, {seconds:.1f} s{left}", flush=True)


def duration(seconds: float) -> str:
    """A time in words, to a few percent."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
