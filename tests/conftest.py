"""Shared data and helpers of the tests."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def golden():
    """Numbers of other people's programs by name (tests/golden/README.md)."""
    return lambda name: dict(np.load(GOLDEN / f"{name}.npz"))


def pytest_terminal_summary(terminalreporter):
    """How many tests were skipped, and why, in one line."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(_reason(report.longrepr) for report in skipped)
    if reasons:
        told = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"not run: {told}")


def _reason(longrepr):
    text = str(longrepr[2] if isinstance(longrepr, tuple) else longrepr).removeprefix("Skipped: ")
    missing = re.match(r"could not import '([\w.]+)'", text)
    return f"need {missing[1].split('.')[0]}" if missing else text


def central_difference(function, x, step=1e-3):
    """Fourth-order central differences of a scalar or array function in every entry of x, first axis x's."""
    x = np.asarray(x, dtype=float)
    slopes = []
    for index in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[index] = step
        near = np.asarray(function(x + e)) - function(x - e)
        far = np.asarray(function(x + 2 * e)) - function(x - 2 * e)
        slopes.append((8.0 * near - far) / (12.0 * step))
    return np.reshape(slopes, (*x.shape, *np.shape(slopes[0])))


def relative_error(actual, expected):
    """Largest difference relative to the largest expected entry."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    return np.max(np.abs(actual - expected)) / max(np.max(np.abs(expected)), 1e-300)


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs the browser Chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        window = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield window
        window.close()


class AsksToStop:
    """A callback that asks, at the n-th step of a task and perhaps at all that follow, for it to stop."""

    def __init__(self, task, n, again=False):
        self.task, self.n, self.again, self.steps = task, n, again, 0

    def setup(self, estimator, context):
        self.steps = 0

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        step = context.task_name == "step" and context.parent.task_name == self.task
        self.steps += step
        return step and (self.steps == self.n or (self.again and self.steps > self.n))

    def teardown(self, estimator, context):
        pass
