"""What a newcomer meets first: what is said while functions compile, and where the documentation is."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from gpclass.estimators import _documentation
from gpclass.numerics import compiling
from gpclass.numerics.compiling import Announcer
from gpclass.tabular import TableModel
from tests.estimators.registry import ESTIMATORS


class Clock:
    """Time that passes when it is told to; stands for ``time.monotonic`` and ``Timer``."""

    def __init__(self):
        self.now, self.timers = 0.0, []

    def monotonic(self):
        return self.now

    def timer(self, seconds, function):
        alarm = SimpleNamespace(due=self.now + seconds, ring=function)
        alarm.start = lambda: self.timers.append(alarm)
        alarm.cancel = lambda: self.timers.remove(alarm)
        return alarm

    def wait(self, seconds):
        self.now += seconds
        for alarm in self.timers:
            if alarm.due <= self.now:
                alarm.ring()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(compiling, "time", clock)
    monkeypatch.setattr(compiling, "Timer", clock.timer)
    return clock


def compiled(announcer, clock, seconds, module="gpclass.numerics.probit_moments"):
    """What Numba tells a listener of one function."""
    event = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})
    announcer.on_start(event)
    clock.wait(seconds)
    announcer.on_end(event)


def test_long_compiling_is_announced_once(capsys, clock):
    announcer = Announcer(patience=2.0)
    compiled(announcer, clock, 3.0)
    compiled(announcer, clock, 3.0)
    assert capsys.readouterr().err.count("compiling") == 1


def test_many_short_functions_are_as_long_as_one(capsys, clock):
    announcer = Announcer(patience=2.0)
    for _ in range(3):
        compiled(announcer, clock, 0.6)
    assert capsys.readouterr().err == ""
    compiled(announcer, clock, 0.6)
    assert "compiling" in capsys.readouterr().err


def test_short_compiling_and_that_of_others_is_not(capsys, clock):
    announcer = Announcer(patience=2.0)
    compiled(announcer, clock, 1.0)
    compiled(announcer, clock, 5.0, module="somebody.else")
    assert capsys.readouterr().err == ""


def run_with_cache(folder, code):
    """Standard error of a new process that keeps compiled functions in this folder."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stderr


def test_an_empty_cache_is_told_of(tmp_path):
    code = "from gpclass.numerics import compiled, compiling; compiling.announce(patience=0.0); compiled.mills(1.0)"
    assert "compiling, once" in run_with_cache(tmp_path, code)
    assert run_with_cache(tmp_path, code) == ""


@pytest.mark.slow
def test_a_first_fit_tells_of_an_empty_cache(tmp_path):
    code = "from gpclass import GPClassifier; GPClassifier(hyper='fixed').fit([[0.], [1.], [2.], [3.]], [0, 1, 2, 0])"
    assert "compiling, once" in run_with_cache(tmp_path, code)
    assert run_with_cache(tmp_path, code) == ""


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_link_to_their_page(name, monkeypatch, tmp_path):
    model = ESTIMATORS[name].default
    monkeypatch.setattr(_documentation, "BUILT", tmp_path)
    address = f"{_documentation.ADDRESS}/api/gpclass.{name}.html"
    assert model._get_doc_link() == address
    assert address in model._repr_html_()
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / f"gpclass.{name}.html").write_text("")
    assert model._get_doc_link() == (tmp_path / "api" / f"gpclass.{name}.html").as_uri()


def test_models_of_tables_draw_themselves():
    assert "TableModel" in TableModel("y")._repr_html_()
