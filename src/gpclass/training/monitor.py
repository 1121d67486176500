"""Who is told how far long work has come: scikit-learn's callbacks, the terminal, or nobody.

Work says ``with task("restarts", 3) as restarts: ... restarts.step()`` wherever it is; the estimator decides by
``listening`` who hears of it. Nothing is passed down: the listener lives in a context variable, so engines and samplers
stay plain functions of their arguments. A step answers True when a callback asks to stop.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Task(Protocol):
    """A piece of work that counts its steps and can have parts."""

    def begin(self, name: str, total: int | None) -> Task: ...
    def step(self, note: str = "") -> bool: ...
    def end(self) -> None: ...


_listener: ContextVar[Task | None] = ContextVar("gpclass_progress", default=None)


class _Unheard:
    def begin(self, name: str, total: int | None) -> Task:
        return self

    def step(self, note: str = "") -> bool:
        return False

    def end(self) -> None:
        pass


_UNHEARD = _Unheard()


@contextmanager
def task(name: str, total: int | None = None) -> Iterator[Task]:
    """A part of the work at hand; ``total`` is its number of steps where that is known."""
    parent = _listener.get()
    if parent is None:
        yield _UNHEARD
        return
    child = parent.begin(name, total)
    token = _listener.set(child)
    try:
        yield child
    finally:
        _listener.reset(token)
        child.end()


def track(items: Iterable[T], name: str, total: int | None = None, *, at_least: int = 0) -> Iterator[T]:
    """The items, one step each; fewer when a callback asks to stop, but ``at_least`` so many."""
    stop = False
    with task(name, total) as steps:
        for done, item in enumerate(items, start=1):
            yield item
            stop = steps.step() or stop
            if stop and done >= at_least:
                return


@contextmanager
def quiet() -> Iterator[None]:
    """Work whose steps are too small to be told of."""
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def listening(*listeners: Task | None) -> Iterator[None]:
    """Tell these of all work within."""
    heard = [listener for listener in listeners if listener is not None]
    token = _listener.set(_All(heard) if heard else None)
    try:
        yield
    finally:
        _listener.reset(token)


class _All:
    """Several listeners as one."""

    def __init__(self, listeners: list[Task]) -> None:
        self.listeners = listeners

    def begin(self, name: str, total: int | None) -> Task:
        return _All([listener.begin(name, total) for listener in self.listeners])

    def step(self, note: str = "") -> bool:
        answers = [listener.step(note) for listener in self.listeners]  # all of them must hear of it
        return any(answers)

    def end(self) -> None:
        for listener in self.listeners:
            listener.end()


class Callbacks:
    """scikit-learn's callbacks: every task is a context, every step a leaf of it.

    A step that had a task of its own is that task: it is not told of twice.
    """

    def __init__(self, estimator: Any, context: Any) -> None:
        self.estimator, self.context = estimator, context
        self._within = False
        context.call_on_fit_task_begin(estimator=estimator)

    def begin(self, name: str, total: int | None) -> Callbacks:
        self._within = True
        return Callbacks(self.estimator, self.context.subcontext(task_name=name, max_subtasks=total))

    def step(self, note: str = "") -> bool:
        if self._within:
            self._within = False
            return False
        leaf = self.context.subcontext(task_name="step")
        leaf.call_on_fit_task_begin(estimator=self.estimator)
        return bool(leaf.call_on_fit_task_end(estimator=self.estimator))

    def end(self) -> None:
        self.context.call_on_fit_task_end(estimator=self.estimator)


class Terminal:
    """Lines on the terminal: one when a task ends, and one every few seconds while it goes on."""

    def __init__(self, name: str, total: int | None = None, *, every: float = 2.0) -> None:
        self.name, self.total, self.every = name, total, every
        self._start = self._last = time.monotonic()
        self._steps, self._note, self._parts = 0, "", 0

    def begin(self, name: str, total: int | None) -> Terminal:
        self._parts += 1
        return Terminal(f"{self.name}: {name}", total, every=self.every)

    def step(self, note: str = "") -> bool:
        self._steps, self._note = self._steps + 1, note
        if time.monotonic() - self._last >= self.every:
            self._say()
        return False

    def end(self) -> None:
        if self._steps or not self._parts:
            self._say(" done")

    def _say(self, ending: str = "") -> None:
        self._last = time.monotonic()
        count = f"{self._steps}" if self.total is None else f"{self._steps} of {self.total}"
        note = f", {self._note}" if self._note else ""
        print(f"[{self.name}]{ending} {count}{note}, {self._last - self._start:.1f} s", flush=True)
