"""Limits of time and estimates of it: of table models and of ``gpclass fit``."""

import json
from itertools import count

import numpy as np
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import gpclass
from gpclass.cli._options import seconds
from gpclass.cli.app import app
from gpclass.tabular import TableModel
from gpclass.tabular.duration import _CONSTANTS, expected_seconds, slowness

command = CliRunner()
#: A limit that is over before the first step.
AT_ONCE = "0.000000001"


def run(*words):
    return command.invoke(app, [str(word) for word in words])


def test_estimates_grow_with_the_table():
    y = np.arange(100) % 3
    for name in _CONSTANTS:
        model = getattr(gpclass, name)()
        small, tall, wide = (expected_seconds(model, np.empty(shape), y) for shape in ((100, 4), (900, 4), (100, 40)))
        assert 0.0 < small < tall
        assert small <= wide
    few, many = (expected_seconds(gpclass.GPClassifier(), np.empty((100, 4)), np.arange(100) % k) for k in (2, 5))
    assert few < many
    assert expected_seconds(gpclass.ViewVotingClassifier(None), np.empty((100, 4)), y) is None


def test_estimates_are_those_of_the_decision_record():
    # 400 rows, 10 columns and 3 classes: exp(-7.22) 400^0.83 10^0.18 3^2.13
    found = expected_seconds(gpclass.GPClassifier(), np.empty((400, 10)), np.arange(400) % 3)
    assert found == pytest.approx(np.exp(-7.22) * 400**0.83 * 10**0.18 * 3**2.13)


@pytest.mark.parametrize(("elapsed", "factor"), [(0.02, 1.0), (0.05, 2.5), (0.001, 0.2), (3.0, 10.0)])
def test_the_speed_of_the_machine(elapsed, factor):
    assert slowness(iter([7.0, 7.0 + elapsed]).__next__) == pytest.approx(factor)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("regress", [False, True])
def test_a_limit_of_a_table_model(regress):
    frame = load_iris(as_frame=True).frame.iloc[:100:2]
    target = "petal length (cm)" if regress else "target"
    estimates = []
    model = TableModel(target, regress=regress, time_limit=2.0)
    model.fit(frame, clock=count().__next__, on_estimate=estimates.append)
    assert "the time limit of 2 s stopped learning early: more time may give a better model" in model.notes_
    assert model.estimator_.hyper_.stopped
    assert len(estimates) == 1
    assert len(model.predict(frame)) == 50
    whole = TableModel(target, regress=regress, time_limit=1e9).fit(frame, clock=count().__next__)
    assert not any("time limit" in note for note in whole.notes_)
    assert not whole.estimator_.hyper_.stopped


def test_a_limit_is_shared_among_fits(frame, monkeypatch):
    limits = []
    monkeypatch.setattr("gpclass.tabular.model.TimeLimit", lambda value, clock: limits.append(value) or Free())
    for engine in ("vb", "ivm"):
        TableModel("species", engine=engine, time_limit=60.0).fit(frame)
    assert limits == [60.0, 30.0]


class Free:
    """A callback that does nothing."""

    def setup(self, estimator, context):
        pass

    on_fit_task_begin = on_fit_task_end = teardown = setup


def test_fit_with_a_limit(table_file, tmp_path):
    ran = run("fit", table_file, "-t", "species", "--time-limit", AT_ONCE, "--save", tmp_path / "m.gpclass", "--json")
    assert ran.exit_code == 0, ran.output
    notes = json.loads(ran.stdout)["notes"]
    assert any(note.startswith("the time limit of 0 s stopped learning early") for note in notes)
    assert "the fit may take longer than the time limit" in ran.stderr
    assert run("predict", tmp_path / "m.gpclass", table_file).exit_code == 0


@pytest.mark.parametrize(
    ("given", "expected"), [("60", 60.0), ("60s", 60.0), ("5m", 300.0), ("1.5 h", 5400.0), (None, None)]
)
def test_times(given, expected):
    assert seconds(given) == expected


@pytest.mark.parametrize("given", ["soon", "-5", "0", "5d", ""])
def test_no_times(table_file, given):
    ran = run("fit", table_file, "-t", "species", "--time-limit", given)
    assert ran.exit_code == 2
    assert "--time-limit: expected a time such as 60 (seconds) or 5m (minutes), got" in ran.stderr
