"""The progress of a fit, as a line on standard error where that is a terminal."""

import time
from collections import Counter
from typing import Any

from rich.status import Status

from ..training.monitor import Monitor
from ._console import err


class FitStatus:
    """A callback of scikit-learn that shows the current task of a fit and its time."""

    def setup(self, estimator: Any, context: Any) -> None:
        self._started, self._steps = time.monotonic(), Counter[str]()
        self._status = Status(f"{type(estimator).__name__}: fitting", console=err)
        self._status.start()

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> bool:
        parent = context.parent
        if parent is not None:
            self._steps[parent.task_name] += 1
            of = f" of {parent.max_subtasks}" if parent.max_subtasks else ""
            step = f"{parent.task_name} {self._steps[parent.task_name]}{of}"
            self._status.update(f"{type(estimator).__name__}: {step}, {time.monotonic() - self._started:.0f} s")
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        self._status.stop()


class StepsStatus(Monitor):
    """The same for work that counts its steps."""

    def task(self, name: str, total: int | None = None) -> Monitor:
        self.name, self.total, self.steps = name, total, 0
        self._status = Status(f"{name}: 0 of {total}", console=err)
        self._status.start()
        return self

    def step(self, note: str = "") -> None:
        self.steps += 1
        self._status.update(f"{self.name}: {self.steps} of {self.total}, {note}")

    def end(self) -> None:
        self._status.stop()
