"""The progress of a command: a changing line or bars on a terminal, a line every ten seconds in a pipe or a file."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.status import Status
from rich.text import Text

from ..training.monitor import Monitor, duration
from ._console import err, print_notes

Clock = Callable[[], float]
#: Seconds between lines where there is no terminal.
EVERY = 10.0
#: Fits that are expected to take less than this are not announced.
SHORT = 5.0
#: What the tasks of a fit do.
WORDS = {
    "EP rounds": "computing the posterior by expectation propagation",
    "EP sweeps": "computing the posterior by expectation propagation",
    "Newton steps": "computing the posterior",
    "active rows": "selecting rows",
    "chains": "sampling",
    "draws": "sampling the kernel",
    "exchanges": "exchanging selected rows",
    "global model": "fitting the global model",
    "iterations": "computing the posterior",
    "learning steps": "learning the kernel",
    "link": "fitting the probabilities",
    "models": "fitting models at sampled kernels",
    "models compared": "comparing kernels on held-out rows",
    "refinement": "computing the posterior",
    "rounds": "learning the kernel",
    "rows": "adding rows",
    "search": "learning the kernel",
    "second selection": "selecting rows again",
    "starting points": "learning the kernel",
    "sweeps": "sampling",
    "trajectories": "sampling the kernel",
    "variational search": "computing the posterior",
}


class Line:
    """One changing line on a terminal; elsewhere a line every ten seconds."""

    def __init__(self, console: Console = err, clock: Clock = time.monotonic) -> None:
        self.console, self.clock = console, clock
        self._status: Status | None = None

    def start(self, text: str) -> None:
        self._printed = self.clock()
        if self.console.is_terminal:
            self._status = Status(Text(text), console=self.console)
            self._status.start()

    def update(self, text: str) -> None:
        if self._status is not None:
            self._status.update(Text(text))
        elif self.clock() - self._printed >= EVERY:
            self._printed = self.clock()
            self.console.print(Text(text), soft_wrap=True)

    def stop(self) -> None:
        if self._status is not None:
            self._status.stop()


@contextmanager
def working(text: str, console: Console = err) -> Iterator[None]:
    """On a terminal, a line that says what is done while it is done."""
    line = Line(console)
    line.start(text)
    try:
        yield
    finally:
        line.stop()


class FitStatus:
    """A callback of scikit-learn that shows what a fit does, and the time left; for all fits of a command."""

    def __init__(self, limit: float | None = None, console: Console = err, clock: Clock = time.monotonic) -> None:
        self.limit, self.clock = limit, clock
        self._line = Line(console, clock)
        self._started = clock()
        self._expected: float | None = None
        self._fits = 0

    def expect(self, seconds: float) -> None:
        """Announce how long all fits are expected to take, if that is long, and warn if it is longer than the limit."""
        self._expected = seconds
        if seconds > SHORT:
            self._line.console.print(Text(f"about {duration(seconds)} expected"), soft_wrap=True)
        if self.limit is not None and seconds > self.limit:
            limit = duration(self.limit)
            print_notes([f"the fit may take longer than the time limit of {limit}; learning then stops early"])

    def setup(self, estimator: Any, context: Any) -> None:
        self._fits += 1
        self._begun: dict[int, float] = {}
        self._line.start(f"{self._prefix}fitting {type(estimator).__name__}")

    @property
    def _prefix(self) -> str:
        return "" if self._fits == 1 else "for the scores: "

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        if context.max_subtasks:
            self._begun[id(context)] = self.clock()

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        task = context.parent
        if task is not None and task.parent is not None and task.max_subtasks != 1:  # a single step says nothing
            step, total = context.task_id + 1, task.max_subtasks
            of = f" of at most {total}" if total else ""
            now = self.clock()
            times = [f"{duration(now - self._started)} so far"]
            begun = self._begun.get(id(task))
            rest = None if begun is None else (now - begun) / step * (total - step)
            left = self._left(now, rest)
            times += [f"about {duration(left)} left"] if left is not None and left >= 1.0 else []
            what = WORDS.get(task.task_name, task.task_name)
            self._line.update(f"{self._prefix}{what}, step {step}{of}, {', '.join(times)}")
        return False

    def _left(self, now: float, rest: float | None) -> float | None:
        """The time left: what is expected of all, or the rest of a task by its pace, if that is longer."""
        expected = None if self._expected is None else self._started + self._expected - now
        known = [seconds for seconds in (expected, rest) if seconds is not None and seconds > 0.0]
        left = max(known, default=None)
        if left is None or self.limit is None:
            return left
        return min(left, max(self._started + self.limit - now, 0.0))

    def teardown(self, estimator: Any, context: Any) -> None:
        self._line.stop()


class StepsStatus(Monitor):
    """The same for work that counts its steps."""

    def __init__(self, console: Console = err, clock: Clock = time.monotonic) -> None:
        self.clock, self._line = clock, Line(console, clock)

    def task(self, name: str, total: int | None = None) -> Monitor:
        self.name, self.total, self.steps = name, total, 0
        self._started = self.clock()
        self._line.start(f"{name}: 0 of {total}")
        return self

    def step(self, note: str = "") -> None:
        self.steps += 1
        shown = [f"{self.name}: {self.steps} of {self.total}", *([note] if note else [])]
        if self.total is not None and self.steps < self.total:
            left = (self.clock() - self._started) / self.steps * (self.total - self.steps)
            shown.append(f"about {duration(left)} left")
        self._line.update(", ".join(shown))

    def end(self) -> None:
        self._line.stop()


class ModelsStatus(Monitor):
    """A bar for each model of a comparison, and the time left; elsewhere a line every ten seconds."""

    def __init__(self, console: Console = err, clock: Clock = time.monotonic) -> None:
        self.clock, self._line, self._bars = clock, Line(console, clock), None
        if console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn())
            self._bars = Progress(*columns, TextColumn("{task.fields[note]}"), console=console, auto_refresh=False)

    def task(self, name: str, total: int | None = None) -> Monitor:
        self.n_models, self._started, self._n_done = total or 1, self.clock(), 0
        if self._bars is None:
            self._line.start(name)
            return _Models(self)
        self._bars.start()
        self._all = self._bars.add_task("all models", total=total, note="")
        return _Models(self)

    def add(self, name: str, folds: int) -> TaskID | None:
        """The bar of a model."""
        if self._bars is None:
            return None
        bar = self._bars.add_task(name, total=folds, note="")
        self._bars.refresh()
        return bar

    def fold(self, name: str, bar: TaskID | None, fold: int, folds: int) -> None:
        """Show that a model has another fold; the time left follows from the mean time of a fold so far."""
        self._n_done += 1
        n_left = self.n_models * folds - self._n_done
        left = (self.clock() - self._started) / self._n_done * n_left
        text = f"about {duration(left)} left" if n_left else ""
        if self._bars is None or bar is None:
            self._line.update(", ".join(filter(None, [f"{name}: fold {fold} of {folds}", text])))
            return
        self._bars.advance(bar)
        self._bars.update(self._all, note=text)
        self._bars.refresh()

    def model(self, bar: TaskID | None, n_missing: int) -> None:
        """A model is done, perhaps without some of its folds."""
        self._n_done += n_missing
        if self._bars is not None and bar is not None:
            self._bars.update(bar, note="not finished" if n_missing else "")
            self._bars.advance(self._all)
            self._bars.refresh()

    def end(self) -> None:
        if self._bars is not None:
            self._bars.stop()


class _Models(Monitor):
    """All models of a comparison."""

    def __init__(self, shown: ModelsStatus) -> None:
        self.shown = shown

    def task(self, name: str, total: int | None = None) -> Monitor:
        return _Folds(self.shown, name, total or 1)

    def end(self) -> None:
        self.shown.end()


class _Folds(Monitor):
    """The folds of a model."""

    def __init__(self, shown: ModelsStatus, name: str, total: int) -> None:
        self.shown, self.name, self.total, self.steps = shown, name, total, 0
        self.bar = shown.add(name, total)

    def step(self, note: str = "") -> None:
        self.steps += 1
        self.shown.fold(self.name, self.bar, self.steps, self.total)

    def end(self) -> None:
        self.shown.model(self.bar, self.total - self.steps)
