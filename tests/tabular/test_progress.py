"""What a fit and a comparison show of their progress, by a clock and a terminal of the test's own."""

import io
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

import gpclass
from gpclass.cli._progress import WORDS, FitStatus, Line, ModelsStatus, StepsStatus, working
from gpclass.training.monitor import Terminal, duration


class Clock:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def console(terminal):
    return Console(file=io.StringIO(), force_terminal=terminal, width=100, color_system=None)


def task(name, total=None, parent=None, number=0):
    """A context of a callback."""
    return SimpleNamespace(task_name=name, max_subtasks=total, parent=parent, task_id=number)


def step(parent, number):
    return task("step", 0, parent, number)


ROOT = task("fit")


def shown(screen):
    return screen.file.getvalue()


def test_a_pipe_gets_a_line_every_ten_seconds(clock):
    screen = console(terminal=False)
    status = FitStatus(console=screen, clock=clock)
    status.setup(gpclass.GPClassifier(), ROOT)
    search = task("search", parent=ROOT)
    for number in range(35):
        clock.now = number + 1.0
        status.on_fit_task_end(None, step(search, number))
    status.teardown(None, ROOT)
    lines = shown(screen).splitlines()
    assert lines == [f"learning the kernel, step {n}, {n} s so far" for n in (10, 20, 30)]
    assert "\x1b" not in shown(screen)


def test_the_time_left_by_the_pace_of_a_task(clock):
    screen = console(terminal=False)
    status = FitStatus(console=screen, clock=clock)
    status.setup(gpclass.GPClassifier(), ROOT)
    clock.now = 20.0
    sweeps = task("sweeps", 50, ROOT)
    status.on_fit_task_begin(None, sweeps)
    clock.now = 44.0
    status.on_fit_task_end(None, step(sweeps, 11))
    assert shown(screen) == "sampling, step 12 of at most 50, 44 s so far, about 76 s left\n"


def test_a_single_step_is_not_shown(clock):
    screen = console(terminal=False)
    status = FitStatus(console=screen, clock=clock)
    status.setup(gpclass.GPClassifier(), ROOT)
    clock.now = 20.0
    status.on_fit_task_end(None, step(task("starting points", 1, ROOT), 0))
    assert shown(screen) == ""


def test_the_time_left_by_the_estimate(clock):
    screen = console(terminal=False)
    status = FitStatus(console=screen, clock=clock)
    status.expect(40.0)
    assert shown(screen) == "about 40 s expected\n"
    status.setup(gpclass.GPClassifier(), ROOT)
    search = task("search", parent=ROOT)
    for clock.now, number in ((15.0, 3), (39.5, 8), (50.0, 9)):
        status.on_fit_task_end(None, step(search, number))
    assert shown(screen).splitlines()[1:] == [
        "learning the kernel, step 4, 15 s so far, about 25 s left",
        "learning the kernel, step 9, 40 s so far",
        "learning the kernel, step 10, 50 s so far",  # longer than expected
    ]


def test_short_fits_are_not_announced_and_limits_are_warned_of(clock, capsys):
    screen = console(terminal=False)
    FitStatus(console=screen, clock=clock).expect(4.0)
    assert shown(screen) == ""
    status = FitStatus(limit=60.0, console=screen, clock=clock)
    status.expect(200.0)
    assert shown(screen) == "about 3 min expected\n"
    assert "longer than the time limit of 60 s" in capsys.readouterr().err
    status.setup(gpclass.GPClassifier(), ROOT)
    clock.now = 45.0
    status.on_fit_task_end(None, step(task("search", parent=ROOT), 0))
    assert shown(screen).endswith("45 s so far, about 15 s left\n")


def test_fits_for_the_scores_say_so(clock):
    screen = console(terminal=False)
    status = FitStatus(console=screen, clock=clock)
    for _ in range(2):
        status.setup(gpclass.IVMClassifier(), ROOT)
        clock.now += 10.0
        status.on_fit_task_end(None, step(task("active rows", 500, ROOT), 4))
    assert shown(screen).splitlines()[1] == "for the scores: selecting rows, step 5 of at most 500, 20 s so far"


def test_a_terminal_has_one_line_that_changes(clock):
    screen = console(terminal=True)
    line = Line(screen, clock)
    line.start("one")
    line.update("two")
    line.stop()
    assert "two" in shown(screen)
    assert shown(screen).endswith("\x1b[2K")  # and is gone at the end


def test_steps(clock):
    screen = console(terminal=False)
    with StepsStatus(screen, clock).task("selecting", 4) as steps:
        for clock.now in (4.0, 12.0, 24.0, 40.0):
            steps.step("a note")
    assert shown(screen).splitlines() == [
        "selecting: 2 of 4, a note, about 12 s left",
        "selecting: 3 of 4, a note, about 8 s left",
        "selecting: 4 of 4, a note",
    ]


def compared(screen, clock):
    """Two models of two folds; the second fails at once."""
    with ModelsStatus(screen, clock).task("models", 2) as models:
        with models.task("first", 2) as folds:
            for clock.now in (10.0, 20.0):
                folds.step()
        models.step()
        with models.task("second", 2):
            pass
        models.step()


def test_a_comparison_in_a_pipe(clock):
    screen = console(terminal=False)
    compared(screen, clock)
    assert shown(screen).splitlines() == [
        "first: fold 1 of 2, about 30 s left",
        "first: fold 2 of 2, about 20 s left",
    ]


def test_a_comparison_on_a_terminal_has_a_bar_for_each_model(clock):
    screen = console(terminal=True)
    compared(screen, clock)
    last = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown(screen)).split("\r")[-1]
    rows = [line.split() for line in last.splitlines() if line.strip()]
    assert [row[0] for row in rows] == ["all", "first", "second"]
    assert "2/2" in rows[0]
    assert "2/2" in rows[1]
    assert rows[2][-3:] == ["0/2", "not", "finished"]


def test_verbose_fits_by_a_clock(clock, capsys):
    with Terminal("fit", clock=clock).task("draws", 50) as draws:
        for number in range(30):
            clock.now = number + 1.0
            draws.step()
    assert capsys.readouterr().out.splitlines() == [
        "[fit: draws] 10 of 50, 10.0 s, about 40 s left",
        "[fit: draws] 20 of 50, 20.0 s, about 30 s left",
        "[fit: draws] 30 of 50, 30.0 s, about 20 s left",
        "[fit: draws] done 30 of 50, 30.0 s",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (89.0, "89 s"), (100.0, "2 min"), (5399.0, "1 h 30 min"), (7300.0, "2 h 2 min")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_every_task_has_words():
    source = Path(gpclass.__file__).parent
    parts = [
        path for name in ("hyper", "inference", "training", "estimators") for path in (source / name).rglob("*.py")
    ]
    parts = [path for path in parts if path.name != "monitor.py"]
    tasks = {name for path in parts for name in re.findall(r'monitor\.task\("([^"]+)"', path.read_text())}
    assert len(tasks) > 10
    assert tasks == set(WORDS)


def test_work_without_steps_is_named_on_a_terminal_only():
    for terminal in (True, False):
        screen = console(terminal)
        with working("permuting columns", screen):
            pass
        assert ("permuting columns" in shown(screen)) == terminal
