"""``gpclass compare``: a leaderboard of models on the same folds, with the user's own among them."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from typer.testing import CliRunner

from gpclass.cli.app import app
from gpclass.evaluation.leaderboard import Leaderboard, Ranked
from gpclass.tabular import compare_on_table, comparison, from_frame, leaderboard

from .conftest import LEVELS, graded

command = CliRunner()
BOARD = Leaderboard(
    (
        Ranked("gpclass", "finished", 5, {"error": 0.1, "log_loss": 0.25, "calibration_error": 0.03}, {}, 1.5),
        Ranked(
            "<forest>", "stopped", 2, {"error": 0.2, "log_loss": 0.5}, {"error": 0.02, "log_loss": 0.1}, 3.0, "late"
        ),
        Ranked("SVC", "failed", 0, {}, {}, 0.0, "no kernel"),
        Ranked("ridge", "not started", 0, {}, {}, 0.0),
    ),
    ("error", "log_loss", "calibration_error"),
    5,
    interrupted=True,
)
OWN = """
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

small = RandomForestClassifier(5, random_state=0)
ridge = RidgeClassifier()
number = 3

def trees():
    return RandomForestRegressor(5, random_state=0)

def pipeline():
    chosen = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]))
    return make_pipeline(chosen, RandomForestClassifier(5, random_state=0))

def broken():
    raise OSError("no data here")
"""


def run(*words):
    return command.invoke(app, [str(word) for word in words])


def only(*names):
    """Candidates of these names, gpclass with its initial kernel parameters."""
    candidates = comparison.candidates

    def chosen(*about):
        found = {name: model for name, model in candidates(*about).items() if name in names}
        for name, model in found.items():
            if name.startswith("gpclass"):
                (model[-1] if isinstance(model, Pipeline) else model).set_params(hyper="fixed")
        return found

    return chosen


@pytest.fixture
def quick(monkeypatch):
    """Two candidates for every task."""
    names = ("gpclass", "gpclass, ordinal", "logistic regression", "Bayesian ridge")
    monkeypatch.setattr(comparison, "candidates", only(*names))


@pytest.fixture
def own_models(tmp_path, monkeypatch):
    (tmp_path / "own_models_of_a_test.py").write_text(OWN)
    (tmp_path / "own_models_with_an_error.py").write_text("import nothing_of_that_name\n")
    monkeypatch.chdir(tmp_path)
    return "own_models_of_a_test"


def test_every_task_has_candidates_of_its_own():
    for task, order, ours in (
        ("classification", None, {"gpclass", "gpclass, one kernel"}),
        ("ordinal", LEVELS, {"gpclass", "gpclass, one kernel", "gpclass, ordinal"}),
        ("regression", None, {"gpclass"}),
    ):
        for n_rows in (100, 5000):
            names = comparison.candidates(n_rows, task, order)
            assert len(names) >= 5
            if n_rows == 100:
                assert {name for name in names if name.startswith("gpclass")} == ours


def test_regression(table_file, quick):
    ran = run("compare", table_file, "-t", "size", "--regress", "--folds", 2, "--json")
    assert ran.exit_code == 0, ran.output
    scores = json.loads(ran.stdout)["scores"]
    assert {one["name"] for one in scores} == {"gpclass", "Bayesian ridge"}
    for one in scores:
        assert one["state"] == "finished"
        assert 0.0 < one["rmse"] < 3.0
        assert 0.5 < one["inside_90"] <= 1.0
        assert np.isfinite(one["log_density"])
    printed = run("compare", table_file, "-t", "size", "--regress", "--folds", 2).stdout
    assert "RMSE" in printed
    assert "best RMSE first" in printed


def test_ordered_labels(frame, tmp_path, quick):
    graded(frame).to_csv(tmp_path / "grades.csv", index=False)
    words = ["compare", tmp_path / "grades.csv", "-t", "grade", "--ordinal", "low,mid,high,top", "--folds", 2]
    scores = {one["name"]: one for one in json.loads(run(*words, "--json").stdout)["scores"]}
    assert set(scores) == {"gpclass", "gpclass, ordinal", "logistic regression"}
    assert {one["state"] for one in scores.values()} == {"finished"}, scores
    assert all(one["error"] <= one["mean_steps_off"] < 1.0 for one in scores.values())
    assert "steps off" in run(*words).stdout


def test_views(frame, monkeypatch, tmp_path, quick, fixed_parameters):
    table = from_frame(frame)
    board, _ = compare_on_table(table, "species", folds=2, views={"a": ["size", "weight"], "b": ["colour"]})
    assert {one.name for one in board.scores} == {"gpclass, views", "gpclass", "logistic regression"}
    assert {one.state for one in board.scores} == {"finished"}, board
    spec = tmp_path / "views.toml"
    spec.write_text("a = 'size'\nb = 'colour'\n")
    frame.to_csv(tmp_path / "t.csv", index=False)
    ran = run("compare", tmp_path / "t.csv", "-t", "species", "--views", spec, "--folds", 2)
    assert "gpclass, views" in ran.stdout, ran.output
    monkeypatch.setattr(comparison, "MAX_EXACT_ROWS", 10)
    with pytest.raises(ValueError, match="expected at most 10 rows with --views, got 60"):
        compare_on_table(table, "species", folds=2, views={"a": ["size"]})


def test_models_of_the_user(table_file, own_models, quick):
    words = ["--with", f"{own_models}:small", "--with", f"{own_models}:pipeline"]
    ran = run("compare", table_file, "-t", "species", "--folds", 2, "--json", *words)
    assert ran.exit_code == 0, ran.output
    scores = {one["name"]: one for one in json.loads(ran.stdout)["scores"]}
    assert scores[f"{own_models}:small"]["state"] == "finished"
    assert scores[f"{own_models}:small"]["error"] < 0.3
    assert scores[f"{own_models}:pipeline"]["state"] == "finished"
    words = ["--with", f"{own_models}:trees", "--with", "sklearn.linear_model:LinearRegression"]
    ran = run("compare", table_file, "-t", "size", "--regress", "--folds", 2, *words)
    assert f"{own_models}:trees" in ran.stdout, ran.output
    assert "LinearRegression" in ran.stdout


def test_own_models_have_other_names(frame, quick):
    own = {"gpclass": LogisticRegression()}
    with pytest.raises(ValueError, match=r"expected names of your models other than 'gpclass', .* got 'gpclass'"):
        compare_on_table(from_frame(frame), "species", folds=2, others=own)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("forest", "expected module:name, such as models:forest, got 'forest'"),
        ("no_such_module:forest", "cannot import no_such_module: expected no_such_module.py in "),
        ("own_models_with_an_error:forest", "cannot import own_models_with_an_error: No module named 'nothing_of_tha"),
        ("{own}:forest", "expected 'forest' in own_models_of_a_test, got .*pipeline"),
        ("{own}:number", "expected a scikit-learn estimator, got int"),
        ("{own}:broken", "calling it failed: OSError: no data here"),
        ("{own}:ridge", "expected a classifier with predict_proba, got RidgeClassifier; CalibratedClassifierCV"),
        ("{own}:trees", "expected a classifier with predict_proba, got RandomForestRegressor"),
    ],
)
def test_what_is_no_estimator_is_refused(table_file, own_models, given, message):
    ran = run("compare", table_file, "-t", "species", "--with", given.format(own=own_models))
    assert ran.exit_code in (1, 2)
    assert len(ran.stderr.splitlines()) == 1
    assert re.search(message, ran.stderr), ran.stderr


def test_a_classifier_is_refused_for_regression(table_file, own_models):
    ran = run("compare", table_file, "-t", "size", "--regress", "--with", f"{own_models}:small")
    assert "expected a regressor for --regress, got RandomForestClassifier" in ran.stderr


def test_a_model_that_fails_is_shown(table_file, quick, monkeypatch):
    def fail(*_):
        raise ValueError("no coefficients today")

    monkeypatch.setattr(LogisticRegression, "fit", fail)
    ran = run("compare", table_file, "-t", "species", "--folds", 2)
    assert ran.exit_code == 0
    assert "logistic regression: failed: no coefficients today" in ran.stdout
    assert re.search(r"logistic regression +failed", ran.stdout)


def test_an_interrupt_shows_what_is_finished(table_file, quick, monkeypatch, tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(LogisticRegression, "fit", interrupt)
    ran = run("compare", table_file, "-t", "species", "--folds", 2, "--out", tmp_path / "board.csv")
    assert ran.exit_code == 130
    assert re.search(r"gpclass +\d", ran.stdout)
    assert "logistic regression: not started" in ran.stdout
    assert "interrupted: the table shows what was finished" in ran.stdout
    assert pd.read_csv(tmp_path / "board.csv")["state"].tolist() == ["finished", "not started"]


def test_no_time(table_file, quick):
    ran = run("compare", table_file, "-t", "species", "--folds", 2, "--time-limit", "1e9", "--json")
    assert "expected a time such as 60 (seconds) or 5m (minutes), got '1e9'" in ran.stderr
    ran = run("compare", table_file, "-t", "species", "--folds", 2, "--time-limit", "0.000000001", "--json")
    assert {one["state"] for one in json.loads(ran.stdout)["scores"]} == {"not started"}


def test_a_file_of_the_leaderboard(table_file, quick, tmp_path):
    out = tmp_path / "board.csv"
    assert f"wrote {out}" in run("compare", table_file, "-t", "species", "--folds", 2, "--out", out).stdout
    table = pd.read_csv(out)
    assert set(table["name"]) == {"gpclass", "logistic regression"}
    assert np.isfinite(table[["error", "error_se", "log_loss", "log_loss_se", "seconds"]]).all(axis=None)
    page = tmp_path / "board.html"
    run("compare", table_file, "-t", "species", "--folds", 2, "--out", page)
    assert "logistic regression" in page.read_text()
    refused = run("compare", table_file, "-t", "species", "--out", tmp_path / "board.txt")
    assert "--out: expected a file name that ends with .csv or .html, got" in refused.stderr


def test_the_page():
    page = leaderboard.page(BOARD, "a.csv", "x<y", ["a note"])
    assert "<script" not in page
    assert "&lt;forest&gt;" in page
    assert "<forest>" not in page
    assert page.count("<rect") == 2
    assert "Models of x&lt;y" in page
    assert "SVC: failed: no kernel" in page
    assert "a note" in page
    assert "prefers-color-scheme: dark" in page
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', page)]
    assert widths[1] / widths[0] == pytest.approx(2.0, rel=1e-2)
    nothing = BOARD._replace(scores=BOARD.scores[2:])
    assert "No model has finished." in leaderboard.page(nothing, "a.csv", "y")


def test_records_and_notes():
    found = leaderboard.records(BOARD)
    assert found[1]["log_loss_se"] == 0.1
    assert found[2]["log_loss"] is None
    notes = leaderboard.notes_on(BOARD)
    assert "<forest>: stopped after 2 of 5 folds: late" in notes
    assert "ridge: not started" in notes
    assert leaderboard.csv(BOARD).splitlines()[0].startswith("name,state,error,error_se,log_loss,log_loss_se,calib")


def test_the_page_in_a_browser(browser, tmp_path):
    path = tmp_path / "board.html"
    path.write_text(leaderboard.page(BOARD, "a.csv", "species"), encoding="utf-8")
    for width in (360, 1200):
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            fill, back = page.evaluate(
                "['svg.bars text', 'section'].map((one, i) => getComputedStyle(document.querySelector(one))"
                "[i ? 'backgroundColor' : 'fill'])"
            )
            assert fill != back
            page.close()
