"""Scores for new groups and for later rows beside leave-one-out."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rich.console import Console
from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

from gpclass import GPClassifier, load
from gpclass.cli import _tables as tables
from gpclass.cli.app import app
from gpclass.evaluation.class_scores import classification_scores
from gpclass.evaluation.groups import leave_group_out_proba
from gpclass.tabular import TableError, TableModel, grouped
from gpclass.tabular.card import card
from gpclass.tabular.deciding import Decisions, decision_scores
from gpclass.tabular.evaluation import Predictions, held_out, with_absent
from gpclass.tabular.imputation import ViewImputer
from gpclass.tabular.tables import from_frame


def visits(n_patients=16, per=5, seed=0):
    """Visits of patients in any order: rows of a patient are alike, and their state says little of other patients."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n_patients), per)
    n = len(patient)
    traits = rng.normal(size=(n_patients, 2))[patient] + 0.1 * rng.normal(size=(n, 2))
    risk = 0.5 * traits[:, 0] + rng.normal(size=n_patients)[patient]
    frame = pd.DataFrame({"patient": [f"P{p}" for p in patient], "height": traits[:, 0], "weight": traits[:, 1]})
    frame["date"] = pd.date_range("2023-01-01", periods=n).strftime("%Y-%m-%d")[rng.permutation(n)]
    return frame.assign(risk=risk, state=np.where(risk > 0, "ill", "well"))


@pytest.fixture(scope="module")
def frame():
    return visits()


@pytest.fixture(scope="module")
def model(frame):
    return TableModel("state", groups="patient", time="date", drop=["risk"], engine="vb").fit(frame)


def test_scores_stand_beside_leave_one_out(model, frame):
    assert model.how_ == "leave-one-out"
    assert list(model.other_scores_) == ["leave-one-group-out", "forward in time"]
    by_group = model.other_scores_["leave-one-group-out"]
    proba = leave_group_out_proba(model.estimator_, frame["patient"])
    wrong = model.classes_[proba.argmax(axis=1)] != frame["state"]
    assert by_group["error"] == wrong.mean() > model.scores_["error"] + 0.1
    by_patient = wrong.groupby(frame["patient"]).mean()  # of the same size
    assert_allclose(by_group["error_se"], by_patient.std(ddof=1) / np.sqrt(16))
    after, before = round(100 * by_group["error"]), round(100 * model.scores_["error"])
    sentence = f"rows of the same 'patient' help each other: expect an error of {after} % for a new 'patient', "
    assert sentence + f"not {before} %" in model.notes_
    assert model.other_scores_["forward in time"]["rows"] == 67  # all but the first sixth of 80


def test_heads_are_whole_in_a_narrow_window(model, monkeypatch):
    screen = Console(file=io.StringIO(), width=80)
    monkeypatch.setattr(tables, "out", screen)
    tables.show_scores_side_by_side(model)
    assert "leave-one-group-out" in screen.file.getvalue()


def test_groups_and_times_are_no_predictors(model, frame):
    assert [column.name for column in model.schema_.used] == ["height", "weight"]
    kinds = {column.name: column.kind for column in model.schema_.columns}
    assert kinds["patient"] == kinds["date"] == "id"
    assert model.predict(frame[["height", "weight"]]).shape == (80,)
    days = frame.assign(date=pd.to_datetime(frame["date"]).dt.day_of_year)
    kept = TableModel("state", time="date", keep=["date"], drop=["risk", "patient"], engine="vb").fit(days)
    assert [column.name for column in kept.schema_.used] == ["height", "weight", "date"]


def test_the_page_has_both_scores(model):
    page = card(model)
    assert "leave-one-group-out</th>" in page
    assert "each row was predicted from the rows of all other groups" in page
    assert f"{100 * model.other_scores_['leave-one-group-out']['error']:.2f} %" in page


def test_the_command(frame, tmp_path):
    frame.to_csv(tmp_path / "visits.csv", index=False)
    run = CliRunner(env={"COLUMNS": "150"}).invoke
    options = ["fit", str(tmp_path / "visits.csv"), "-t", "risk", "--regress", "--drop", "state", "--groups", "patient"]
    shown = run(app, options)
    assert shown.exit_code == 0
    assert "leave-one-out" in shown.stdout
    assert "leave-one-group-" in shown.stdout  # heads may be broken at hyphens
    assert "expect a root mean square error of" in shown.stderr
    result = run(app, [*options, "--time", "date", "--json", "--save", str(tmp_path / "m.gpclass")])
    summary = json.loads(result.stdout)
    assert list(summary["other_scores"]) == ["leave-one-group-out", "forward in time"]
    assert summary["other_scores"]["leave-one-group-out"]["rmse"] > summary["scores"]["rmse"]
    assert load(tmp_path / "m.gpclass").other_scores_ == summary["other_scores"]
    refused = run(app, ["fit", "x*.csv", "-t", "risk", "--dask", "", "--groups", "patient"])
    assert refused.exit_code == 2 or "--groups" in refused.stderr


def test_models_without_a_closed_form_are_refitted(frame):
    model = TableModel("risk", regress=True, groups="patient", drop=["state", "date"], engine="ivm").fit(frame)
    assert list(model.other_scores_) == ["groups held out"]
    assert model.other_scores_["groups held out"]["rows"] == 80
    assert model.other_scores_["groups held out"]["rmse"] > model.scores_["rmse"]


def test_weights_and_views(frame):
    weighted = TableModel("state", groups="patient", weights="times", drop=["risk", "date"], engine="vb")
    weighted.fit(frame.assign(times=1 + np.arange(80) % 2))
    assert weighted.other_scores_["leave-one-group-out"]["rows"] == 80
    views = {"body": ["height"], "mass": ["weight"]}
    by_views = TableModel("state", groups="patient", views=views, drop=["risk", "date"], engine="vb").fit(frame)
    assert by_views.other_scores_["leave-one-group-out"]["error"] > by_views.scores_["error"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": "patients"}, "expected a column named 'patients'.*did you mean 'patient'"),
        ({"groups": "state"}, "expected --groups in another column than the target, got 'state'"),
        ({"time": "state"}, "expected --time in another column than the target"),
        ({"groups": "gaps"}, "row 4, column 'gaps': expected a value for --groups, got none; a row that belongs"),
        ({"groups": "one"}, "expected at least two groups in column 'one'.*, got 'a' in all rows"),
        ({"time": "one"}, "row 1, column 'one': expected a number or a date such as 2024-03-31"),
        ({"time": "year"}, "expected at least two different times in column 'year', got '2020' in all rows"),
        ({"groups": "patient", "unlabelled": "?"}, "--groups is for tables in which all labels are known"),
        ({"time": "date", "unlabelled": "?"}, "--time is for tables in which all labels are known"),
        ({"groups": "patient", "keep": ["patient"]}, "--groups cannot be a predictor.*got --keep 'patient'"),
    ],
)
def test_what_cannot_be_groups_or_times(frame, settings, message):
    table = frame.assign(gaps=[*"abc", None, *"d" * 76], one="a", year=2020)
    with pytest.raises(TableError, match=message):
        TableModel("state", **settings).fit(table)


def _notes(y, groups):
    table = from_frame(pd.DataFrame({"g": groups, "y": y}))
    notes = []
    codes = grouped.read_groups(table, "g", "y", notes)
    grouped._note_labels_of_one_group(np.asarray(y), codes, notes)
    return notes


def test_notes_on_groups():
    (note,) = _notes(["a", "b", "a"], ["1", "2", "2"])
    assert note == "labels of one group only: 'b'; they cannot be learned from other groups"
    assert "every row has a different 'g': leave-one-group-out equals leave-one-out" in _notes(["a", "b"], ["1", "2"])
    assert _notes([*"abab"], [*"1122"]) == []


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["3", "1", "2.5"], [1, 2, 0]),
        (["2024-03-02", "2024-03-01 23:59", "2024-03-02T00:01"], [1, 0, 2]),
        (["2024-03-01T12:00+02:00", "2024-03-01T11:00Z"], [0, 1]),
        (["31/01/2024", "01/02/2024", "30/01/2024"], [2, 0, 1]),
        (["01/31/2024", "02/01/2024"], [0, 1]),
        (["2 Feb 2024", "31 Jan 2024"], [1, 0]),
    ],
)
def test_times_are_read(cells, order):
    table = from_frame(pd.DataFrame({"when": cells, "y": "a"}))
    assert_array_equal(np.argsort(grouped.read_times(table, "when", "y")), order)


def test_dates_that_can_be_read_in_two_ways():
    table = from_frame(pd.DataFrame({"when": ["04/04/2024", "03/04/2024"], "y": "a"}))
    with pytest.raises(TableError, match=r"row 2, column 'when'.*whose first number may be the day or the month"):
        grouped.read_times(table, "when", "y")


def test_windows_expand_and_keep_ties_together():
    times = np.random.default_rng(0).integers(12, size=90).astype(float)
    splits = grouped.time_splits(times)
    assert len(splits) == 5
    assert_array_equal(np.sort(np.concatenate([splits[0][0], *[test for _, test in splits]])), np.arange(90))
    for train, test in splits:
        assert times[train].max() < times[test].min()
    (only,) = grouped.time_splits(np.array([1.0, 1.0, 2.0, 2.0, 2.0]))
    assert [part.tolist() for part in only] == [[0, 1], [2, 3, 4]]


def test_labels_that_come_later():
    """Windows with one label are passed over; a label that has not occurred yet has a small probability."""
    n = 60
    y = np.array(["a"] * 15 + ["a", "b"] * 15 + ["c", "a", "b"] * 5)
    frame = pd.DataFrame({"x": (y == "b") + 0.1 * np.random.default_rng(0).normal(size=n), "t": np.arange(n), "y": y})
    model = TableModel("y", time="t", engine="vb").fit(frame)
    forward = model.other_scores_["forward in time"]
    assert forward["rows"] == 40  # the first window of ten rows has one label
    assert "forward in time: 10 rows are not predicted, their training rows all have the same target" in model.notes_
    assert "forward in time: 2 rows have a label that does not occur in their training rows" in model.notes_
    assert forward["log_loss"] < 2.0
    proba = with_absent(np.array([[0.7, 0.3, 0.0]]), np.array([False, False, True]), 8)
    least = 1 / (10 * 8 * 2 + 11 * 3)
    assert_allclose(proba, [[0.7 * (1 - least), 0.3 * (1 - least), least]])


def test_a_label_that_only_held_out_rows_have_is_not_impossible():
    x = np.random.default_rng(0).normal(size=40)
    y, raw = np.where(x > 0, "p", "q"), pd.DataFrame({"x": x})
    classes, weights = np.array(["p", "q", "r"]), np.full(40, 2.0)
    _, test = train_test_split(np.arange(40), test_size=8, random_state=0)  # a label of one row: not stratified
    y[test[0]] = "r"
    estimator = GPClassifier("rbf", hyper="fixed", inference="laplace")
    for own, n in ((None, 32), (weights, 64)):
        scored = held_out(estimator, ViewImputer({}), raw, y, classes, 0, (), own).scored
        assert_allclose(scored["proba"][:, 2], 1 / (10 * n * 2 + 11 * 3))
        assert_allclose(scored["proba"].sum(axis=1), 1.0)


def test_copies_of_rows_make_no_score_more_certain():
    """With clusters of four copies of a row, all errors and verdicts are about those of the rows alone."""
    rng = np.random.default_rng(0)
    p = rng.beta(2.0, 2.0, 60)
    labels = (rng.random(60) < p).astype(int)
    rule = Decisions({"false_negative": 3}, positive="b").rule(["a", "b"], 1, {}, None)

    def scores(copies):
        scored = {"labels": np.repeat(labels, copies), "proba": np.repeat(np.column_stack([1 - p, p]), copies, axis=0)}
        decided = rule.choose(scored["proba"])
        own = classification_scores(**scored, decided=decided) | decision_scores(rule, scored["labels"], decided, None)
        clusters = np.repeat(np.arange(60), copies)
        return own, grouped.errors_by_cluster(own, scored, clusters, None, rule, decided)

    (alone, _), (naive, found) = scores(1), scores(4)
    for name in ("error", "log_loss", "brier", "mean_cost"):
        assert_allclose(found[f"{name}_se"], alone[f"{name}_se"])
        assert naive[f"{name}_se"] < 0.6 * alone[f"{name}_se"]
    for own, copied in zip(found["by_class"], naive["by_class"], strict=True):
        for name in ("recall", "precision", "roc_auc", "average_precision"):
            width, before = (one[f"{name}_high"] - one[f"{name}_low"] for one in (own, copied))
            assert width > 1.5 * before


def test_a_guess_is_not_beaten_by_copies():
    """Eight rows of twelve right, as thirty-fold copies."""
    labels = np.repeat(np.arange(12) % 2, 30)
    wrong = np.repeat(np.arange(12) < 4, 30)
    p = np.where(wrong == (labels == 1), 0.3, 0.7)
    scored = {"labels": labels, "proba": np.column_stack([1 - p, p])}
    rule = Decisions({"false_negative": 1}, positive="b").rule(["a", "b"], 1, {}, None)
    decided = rule.choose(scored["proba"])
    own = classification_scores(**scored) | decision_scores(rule, labels, decided, None)
    names = [f"{name}_beats_guess" for name in ("error", "log_loss", "mean_cost")]
    assert all(own[name] for name in names)
    by_row = grouped.errors_by_cluster(own, scored, np.arange(360), None, rule, decided)
    assert all(by_row[name] for name in names)
    by_cluster = grouped.errors_by_cluster(own, scored, np.repeat(np.arange(12), 30), None, rule, decided)
    assert not any(by_cluster[name] for name in names)


def test_differences_that_are_not_clear_give_no_sentence():
    labels, groups = np.zeros(40, int), np.repeat(np.arange(10), 4)
    sure, unsure = np.tile([0.9, 0.1], (40, 1)), np.tile([0.1, 0.9], (40, 1))

    def sentence(n_wrong, clusters):
        proba = np.where(np.arange(40)[:, None] < n_wrong, unsure, sure)
        other = Predictions(grouped.GROUPS, np.arange(40), {"labels": labels, "proba": proba})
        usual = Predictions("leave-one-out", np.arange(40), {"labels": labels, "proba": sure})
        return grouped.comparison(usual, other, clusters, "site", "y")

    assert sentence(8, np.arange(40)).endswith("expect an error of 20 % for a new 'site', not 0 %")
    assert sentence(8, groups) is None  # two groups, however many rows they have
    assert sentence(0, groups) is None


def test_sets_and_tuned_thresholds_are_for_new_groups():
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(40, 2))[patient] + 0.05 * rng.normal(size=(200, 2))
    state = np.where(rng.uniform(size=40) < 0.5, "ill", "well")[patient]  # nothing to learn but who it is
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "patient": [f"P{i}" for i in patient], "state": state})
    alone = TableModel("state").fit(frame.drop(columns="patient"))
    model = TableModel("state", groups="patient", threshold="auto").fit(frame)
    new = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    assert model.predict_set(new).sum(axis=1).mean() > alone.predict_set(new).sum(axis=1).mean() + 0.2
    assert model.other_scores_["leave-one-group-out"]["mean_cost"] > 0.35
