"""A line that tells how far a fit has come, on standard error."""

from __future__ import annotations

import time
from typing import Any

from rich.status import Status

from ._console import err


class FitStatus:
    """A callback of scikit-learn: what the fit is at, and for how long; nothing where no one is watching."""

    def __init__(self) -> None:
        self._status: Status | None = None
        self._start = 0.0
        self._steps: dict[str, int] = {}

    def setup(self, estimator: Any, context: Any) -> None:
        self._start, self._steps = time.monotonic(), {}
        if err.is_terminal:
            self._status = Status(f"{type(estimator).__name__}: fitting", console=err)
            self._status.start()

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> bool:
        if self._status is not None and context.parent is not None:
            parent = context.parent
            self._steps[parent.task_name] = self._steps.get(parent.task_name, 0) + 1
            of = f" of {parent.max_subtasks}" if parent.max_subtasks else ""
            seconds = time.monotonic() - self._start
            step = f"{parent.task_name} {self._steps[parent.task_name]}{of}"
            self._status.update(f"{type(estimator).__name__}: {step}, {seconds:.0f} s")
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


class StepsStatus:
    """The same for work that counts its steps (``gpclass.training.monitor.Task``)."""

    def __init__(self, name: str = "", total: int | None = None) -> None:
        self.name, self.total, self.steps = name, total, 0
        self._status: Status | None = None

    def begin(self, name: str, total: int | None) -> StepsStatus:
        child = StepsStatus(name, total)
        if err.is_terminal:
            child._status = Status(f"{name}: 0 of {total}" if total else name, console=err)
            child._status.start()
        return child

    def step(self, note: str = "") -> bool:
        self.steps += 1
        if self._status is not None:
            self._status.update(f"{self.name}: {self.steps} of {self.total}, {note}")
        return False

    def end(self) -> None:
        if self._status is not None:
            self._status.stop()
