"""Running experiments: finished tasks are kept and reused."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
import warnings

import joblib
import numpy as np
import pytest

from gpclass.datasets import fetched
from gpclass.papers import (
    NAMES,
    Experiment,
    MissingDataError,
    Quantity,
    Records,
    TaskError,
    data,
    get,
    reproduce,
)
from gpclass.papers.base import binomial_error, rounded

calls = []


def tasks(size):
    return [{"seed": seed, "rows": 3} for seed in range(4 if size == "full" else 2)]


def run(seed, rows):
    calls.append(seed)
    yield {"error": 1.0 + seed, "curve": np.arange(rows)}


def compare(records):
    return [Quantity("all", "error", records.mean("error"), records.standard_error("error"), 1.5, 0.1, "lower")]


def claims(records):
    return {"errors are small": np.all(records.values("error") < 10.0)}


def experiment(**changes):
    settings = {"run": run, "compare": compare, "claims": claims} | changes
    return Experiment("made-up", "A made-up experiment", "None.", tasks, **settings)


@pytest.fixture(autouse=True)
def no_calls():
    calls.clear()


def test_tasks_run_where_joblib_is_told(tmp_path):
    with joblib.parallel_config(backend="threading"):
        result = reproduce(experiment(), "full", tmp_path, n_jobs=2)
    assert sorted(calls) == [0, 1, 2, 3]  # of this process
    assert result.n_earlier == 0


def test_finished_tasks_are_not_repeated(tmp_path):
    first = reproduce(experiment(), "full", tmp_path, n_jobs=1)
    assert calls == [0, 1, 2, 3]
    (tmp_path / "made-up" / "full" / "tasks" / "seed-2_rows-3.json").unlink()
    again = reproduce(experiment(), "full", tmp_path, n_jobs=1)
    assert calls == [0, 1, 2, 3, 2]
    assert again.comparisons == first.comparisons
    assert (first.n_earlier, again.n_earlier) == (0, 3)
    reproduce(experiment(), "full", tmp_path, n_jobs=1, fresh=True)
    assert calls[5:] == [0, 1, 2, 3]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"task": {"seed": 0, "rows": 4}}', "version"])
def test_invalid_results_are_computed_again(tmp_path, damage):
    reproduce(experiment(), "quick", tmp_path, n_jobs=1)
    path = tmp_path / "made-up" / "quick" / "tasks" / "seed-0_rows-3.json"
    if damage == "version":
        damage = json.dumps(json.loads(path.read_text()) | {"version": "0.0.0"})
    path.write_text(damage)
    reproduce(experiment(), "quick", tmp_path, n_jobs=1)
    assert calls == [0, 1, 0]


def test_a_failing_experiment_keeps_finished_tasks(tmp_path):
    def fails(seed, rows):
        if seed == 1:
            raise RuntimeError("no more rows")
        yield from run(seed, rows)

    with pytest.raises(TaskError, match=r"1 of 4 parts of made-up failed \(RuntimeError: no more rows\)"):
        reproduce(experiment(run=fails), "full", tmp_path, n_jobs=1)
    assert calls == [0, 2, 3]
    assert "'seed': 1" in (tmp_path / "made-up" / "full" / "errors.txt").read_text()
    reproduce(experiment(), "full", tmp_path, n_jobs=1)
    assert calls == [0, 2, 3, 1]
    assert not (tmp_path / "made-up" / "full" / "errors.txt").exists()


def test_values_that_are_not_finite_have_no_verdict(tmp_path):
    def undefined(seed, rows):
        yield {"error": float("nan")}

    def measured(records):
        return [Quantity("all", "error", records[0]["error"], 0.1, 1.5, 0.1, "lower")]

    result = reproduce(experiment(run=undefined, compare=measured, claims=lambda _: {}), "quick", tmp_path, n_jobs=1)
    assert [quantity.verdict for quantity in result.comparisons] == [""]
    assert "NaN" not in (tmp_path / "made-up" / "quick" / "result.json").read_text()
    for measured, error in ((float("nan"), 0.1), (1.0, float("nan")), (1.0, None)):
        assert Quantity("", "", measured, error, 1.5, 0.1, "lower").verdict == ""


def test_warnings_are_counted(tmp_path):
    def warns(seed, rows):
        warnings.warn("slow", UserWarning, stacklevel=1)
        yield from run(seed, rows)

    assert reproduce(experiment(run=warns), "quick", tmp_path, n_jobs=1).warnings == {"UserWarning": 2}


def test_wrong_arguments_are_refused_before_any_work(tmp_path):
    with pytest.raises(ValueError, match="expected a size among tiny, quick, full, got 'ful'"):
        reproduce(experiment(), "ful", tmp_path)
    with pytest.raises(ValueError, match="at least one process, got 0"):
        reproduce(experiment(), "quick", tmp_path, n_jobs=0)
    assert not list(tmp_path.iterdir())


def test_processes_side_by_side_give_what_one_gives(tmp_path):
    alone, together = (reproduce(get("cc05-figure1"), "tiny", tmp_path / str(n), n_jobs=n) for n in (1, 2))
    assert alone.comparisons == together.comparisons
    assert alone.claims == together.claims


def test_results_of_other_code_are_reported(tmp_path, capsys):
    pytest.importorskip("typer")
    from gpclass.cli.papers import _show

    _show(reproduce(experiment(), "quick", tmp_path, n_jobs=1))
    assert "code has changed" not in capsys.readouterr().out
    path = tmp_path / "made-up" / "quick" / "tasks" / "seed-0_rows-3.json"
    stored = json.loads(path.read_text())
    stored["maker"]["code"] = "something else"
    path.write_text(json.dumps(stored))
    result = reproduce(experiment(), "quick", tmp_path, n_jobs=1)
    _show(result)
    assert len(result.makers) == 2
    assert "the code has changed since" in " ".join(capsys.readouterr().out.split())


def test_results_are_tidy_and_name_their_origin(tmp_path):
    steps = []
    reproduce(experiment(), "quick", tmp_path, n_jobs=1, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(0, 2), (1, 2), (2, 2)]
    with (tmp_path / "made-up" / "quick" / "records.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows == [{"seed": "0", "rows": "3", "error": "1.0"}, {"seed": "1", "rows": "3", "error": "2.0"}]
    stored = json.loads((tmp_path / "made-up" / "quick" / "result.json").read_text())
    assert stored["tasks"] == tasks("quick")
    assert [maker["numpy"] for maker in stored["makers"]] == [np.__version__]
    assert stored["claims"] == {"errors are small": True}
    assert not list(tmp_path.rglob("*.part"))


def test_a_killed_run_loses_only_the_task_in_hand(tmp_path):
    script = tmp_path / "slow_experiment.py"
    script.write_text(
        "import time\n"
        "from gpclass.papers import Experiment, reproduce\n"
        "def tasks(size): return [{'seed': s} for s in range(3)]\n"
        "def run(seed):\n"
        "    time.sleep(3600 if seed == 2 else 0)\n"
        "    yield {'x': seed}\n"
        "def none(records): return []\n"
        "def claims(records): return {}\n"
        "if __name__ == '__main__':\n"
        "    reproduce(Experiment('slow-one', '', '', tasks, run, none, claims), 'quick', 'out', n_jobs=1)\n"
    )
    process = subprocess.Popen([sys.executable, script.name], cwd=tmp_path)
    folder = tmp_path / "out" / "slow-one" / "quick" / "tasks"
    while len(list(folder.glob("*.json"))) < 2 and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert sorted(path.name for path in folder.glob("*.json")) == ["seed-0.json", "seed-1.json"]


def test_every_experiment_has_title_and_protocol():
    for name in NAMES:
        own = get(name)
        assert own.name == name
        assert own.title
        assert len(own.protocol) > 80, name
        for size in ("tiny", "quick", "full"):
            todo = own.tasks(size)
            assert json.loads(json.dumps(todo)) == todo, name


def test_unknown_names_suggest_similar_ones():
    with pytest.raises(ValueError, match=r"gr06-table1.*got 'gr06-tabel1'"):
        get("gr06-tabel1")


def test_verdicts_weigh_both_errors():
    def verdict(measured, **settings):
        return Quantity("", "", measured, 0.3, 10.0, 0.4, **settings).verdict  # combined error 0.5

    assert [verdict(m, better="lower") for m in (8.9, 9.1, 10.9, 11.1)] == ["better", "within", "within", "worse"]
    assert [verdict(m, better="higher") for m in (8.9, 11.1)] == ["worse", "better"]
    assert verdict(11.1) == "differs"
    assert Quantity("", "", 1.0).verdict == ""


def test_values_are_rounded_by_their_error():
    assert rounded(3.14159, 0.02) == "3.142 ± 0.020"
    assert rounded(1234.5, 30.0) == "1234 ± 30"
    assert rounded(None, None) == ""
    assert rounded(2.5, None) == "2.5"
    assert binomial_error(50.0, 100) == 5.0


def test_records_are_picked_by_their_values():
    records = Records([{"a": 1, "b": 2.0}, {"a": 2, "b": 4.0}, {"a": 1, "b": 6.0}])
    assert records.where(a=1).mean("b") == 4.0
    assert records.distinct("a") == [1, 2]
    assert records.where(a=1).sd("b") == pytest.approx(np.sqrt(8.0))
    assert records.where(a=1).standard_error("b") == pytest.approx(2.0)
    assert records.where(a=2).standard_error("b") is None


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """A folder of data without files, and no network."""

    def refuse(**_):
        raise OSError("no network")

    monkeypatch.setenv("GPCLASS_DATA", str(tmp_path))
    monkeypatch.setattr(fetched, "fetch_openml", refuse)
    data.load.cache_clear()
    yield tmp_path
    data.load.cache_clear()


def test_missing_data_errors_say_what_to_do(empty_folder):
    with pytest.raises(MissingDataError, match=r"no network.*usps\.npz.*GPCLASS_DATA"):
        data.load("usps")
    with pytest.raises(MissingDataError, match=r"usps\.npz"):
        reproduce(experiment(data=("usps",)), "quick", empty_folder)
    with pytest.raises(MissingDataError, match=r"put nothing\.npz into a folder"):
        data.load("nothing")
    assert data.whole("iris")[0].shape == (150, 4)
    assert data.whole("new_thyroid")[0].shape == (215, 5)
    with pytest.raises(MissingDataError, match="customary split of 'new_thyroid' is missing"):
        data.halves("new_thyroid")


def test_data_come_from_the_folder_that_was_named(empty_folder):
    np.savez(empty_folder / "thing.npz", X_train=np.ones((2, 1), int), y_train=[0, 1], X_test=[[3]], y_test=[1])
    X, y = data.whole("thing")
    assert X.dtype == float
    np.testing.assert_array_equal(X[:, 0], [1.0, 1.0, 3.0])
    np.testing.assert_array_equal(y, [0, 1, 1])
    assert [len(part) for part in data.halves("thing")] == [2, 2, 1, 1]


def test_a_damaged_file_of_data_is_named(empty_folder):
    (empty_folder / "usps.npz").write_bytes(b"PK no zip at all")
    with pytest.raises(MissingDataError, match=r"usps\.npz cannot be read"):
        data.load("usps")
