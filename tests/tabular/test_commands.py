"""The commands as a script or a person at a terminal would use them."""

import csv
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import gpclass
from gpclass.cli.app import app
from gpclass.tabular import TableModel, explanation, read_table, row_explanation

command = CliRunner()


def run(*words):
    return command.invoke(app, [str(word) for word in words])


def one_line(ran, code=1):
    """What a command that failed said, which must be one line."""
    assert ran.exit_code == code, ran.output
    lines = [line for line in ran.stderr.splitlines() if line and not line.startswith("note:")]
    assert len(lines) == 1, ran.output
    assert lines[0].startswith("gpclass: ")
    assert "Traceback" not in ran.output
    return lines[0]


def test_from_a_table_to_predictions(table_file, frame, tmp_path):
    saved, out = tmp_path / "m.gpclass", tmp_path / "p.csv"
    fitted = run("fit", table_file, "--target", "species", "--save", saved)
    assert fitted.exit_code == 0, fitted.output
    assert "leave-one-out, 60 rows" in fitted.stdout
    assert "note: column 'plant' is left out" in fitted.stderr
    predicted = run("predict", saved, table_file, "--out", out)
    assert predicted.exit_code == 0, predicted.output
    with out.open() as file:
        rows = list(csv.DictReader(file))
    model = gpclass.load(saved)
    assert [row["plant"] for row in rows] == frame["plant"].tolist()
    assert [row["line"] for row in rows] == [str(i + 2) for i in range(60)]
    assert [row["prediction"] for row in rows] == model.predict(frame).tolist()
    proba = np.array([[float(row["p_daisy"]), float(row["p_rose"])] for row in rows])
    np.testing.assert_allclose(proba, model.predict_proba(frame), rtol=1e-5)
    assert {row["far"] for row in rows} == {"no"}


def test_json_is_all_there_is_on_standard_output(table_file, model_file, tmp_path, two_candidates):
    fitted = json.loads(run("fit", table_file, "--target", "species", "--json").stdout)
    assert fitted["classes"] == ["daisy", "rose"]
    assert 0 <= fitted["scores"]["error"] < 0.3
    assert fitted["saved"] is None
    assert json.loads(run("evaluate", model_file, table_file, "--json").stdout)["scores"]["rows"] == 60
    assert len(json.loads(run("explain", model_file, "--json").stdout)["columns"]) == 3
    explained = json.loads(run("explain", model_file, "--row", 17, "--json").stdout)
    assert explained["position"] == 17
    assert len(explained["rows"]) == 60
    checked = json.loads(run("check", model_file, table_file, "--json").stdout)
    assert checked["summary"] == "No change from the training table was detected."
    assert len(checked["columns"]) == 3
    assert len(json.loads(run("predict", model_file, table_file, "--json").stdout)["predictions"]["prediction"]) == 60
    written = json.loads(run("predict", model_file, table_file, "--json", "--out", tmp_path / "p.csv").stdout)
    assert written == {"rows": 60, "far": 0, "out": str(tmp_path / "p.csv"), "notes": []}
    page = tmp_path / "c.html"
    assert json.loads(run("card", model_file, "--json", "--out", page).stdout) == {"out": str(page)}
    assert "<h1>" in page.read_text()
    compared = json.loads(run("compare", table_file, "--target", "species", "--folds", 2, "--json").stdout)
    assert len(compared["scores"]) == 2


def test_readable_output(model_file, table_file, tmp_path, two_candidates):
    assert "label \\ predicted" in run("evaluate", model_file, table_file).stdout
    explained = run("explain", model_file).stdout
    assert explained.index("size") < explained.index("weight")
    assert "most surprising rows (rows)" in explained
    printed = run("predict", model_file, table_file)
    assert printed.stdout.splitlines()[0].startswith("line,plant,prediction,p_daisy,p_rose,entropy")
    assert "± standard errors" in run("compare", table_file, "--target", "species", "--folds", 2).stdout


def test_explanation_of_one_row(model_file, model, table_file, frame, tmp_path):
    printed = run("explain", model_file, "--row", 17).stdout
    assert re.match(r"row 17, probability of (daisy|rose): 0\.\d+; the mean over 60 rows of the training", printed)
    assert re.search(r"row \d+ +(daisy|rose) +[+-]\d+\.\d %", printed)
    same = run("explain", model_file, "--row", 18, "--data", table_file).stdout  # the lines of a file begin at 2
    assert same == printed.replace("row 17", "line 18", 1)
    frame.assign(size=100.0, weight=np.nan).to_csv(tmp_path / "new.csv", index=False)
    new = run("explain", model_file, "--row", 5, "--data", tmp_path / "new.csv").stdout
    assert re.search(r"size +100.0 +[+-]0\.\d+", new)
    assert re.search(r"weight +missing +[+-]0\.\d+", new)
    assert "and 55 more rows: --all shows all" in new
    assert "--all" not in run("explain", model_file, "--row", 5, "--all").stdout


def test_explanations_have_20_lines_at_most(tmp_path, fixed_parameters, monkeypatch):
    for module in (explanation, row_explanation):
        monkeypatch.setattr(module, "_BUDGET", 500)
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(30, 24)).round(3), columns=[f"x{j}" for j in range(24)])
    wide["t"] = np.where(wide["x3"] > 0, "a", "b")
    wide.to_csv(tmp_path / "wide.csv", index=False)
    plain, viewed = (
        TableModel("t"),
        TableModel("t", views={f"view{j}": [f"x{j}", f"x{j + 8}", f"x{j + 16}"] for j in range(8)}),
    )
    for model, name in ((plain, "plain"), (viewed, "viewed")):
        gpclass.save(model.fit(read_table(tmp_path / "wide.csv")), tmp_path / name)
    check = ["check", tmp_path / "plain", tmp_path / "wide.csv"]
    for words in (["explain", tmp_path / "viewed"], ["explain", tmp_path / "plain", "--row", 9], check):
        short, full = (run(*words, *more).stdout.splitlines() for more in ([], ["--all"]))
        assert len(short) <= 20
        assert any("more column" in line and "--all" in line for line in short)
        assert sum(line.strip().startswith("x") for line in full) == 24
    assert len(run("explain", tmp_path / "plain").stdout.splitlines()) <= 20


def test_drift_of_a_new_table(model_file, frame, tmp_path):
    new = frame.assign(size=frame["size"] + 50, colour="green", leaf=1)
    new.to_csv(tmp_path / "new.csv", index=False)
    checked = run("check", model_file, tmp_path / "new.csv")
    assert checked.exit_code == 0
    first = checked.stdout.splitlines()[0]
    assert first.startswith("2 of 3 columns have changed: 'size', 'colour'; 100 % of the rows are far")
    assert re.search(r"size +yes +1\.000 +100 % out of range", checked.stdout)
    assert re.search(r"colour +yes +1\.000 +100 % new: green", checked.stdout)
    assert "columns that the training table did not have: leaf" in checked.stdout
    assert "60 rows compared with 60 kept rows" in checked.stdout


def test_other_tasks_from_the_command_line(table_file, tmp_path, fixed_parameters):
    assert run("fit", table_file, "-t", "size", "--regress", "--save", tmp_path / "n.gpclass").exit_code == 0
    printed = run("predict", tmp_path / "n.gpclass", table_file)
    assert printed.stdout.startswith("line,plant,prediction,sd,sd_epistemic,sd_aleatoric")
    spec = tmp_path / "views.toml"
    spec.write_text("[views]\nform = ['size', 'weight']\nlooks = 'colour'\n")
    viewed = run("fit", table_file, "-t", "species", "--views", spec, "--json")
    assert viewed.exit_code == 0, viewed.output
    assert run("fit", table_file, "-t", "colour", "--ordinal", "white,red,blue", "--drop", "species").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (["fit", "{table}", "-t", "specie"], "expected a column named 'specie'", 1),
        (["fit", "{table}", "-t", "size"], "--regress", 1),
        (["fit", "{folder}/nothing.csv", "-t", "x"], "File not found: .*nothing.csv", 1),
        (["fit", "{table}", "-t", "species", "--save", "{folder}"], "is a folder", 2),
        (
            ["fit", "{table}", "-t", "species", "--save", "{folder}/a/b/c"],
            "Cannot save .*: folder .* does not exist",
            2,
        ),
        (["fit", "{table}", "-t", "species", "--ordinal", "rose"], "at least two labels", 2),
        (["fit", "{table}", "-t", "species", "--views", "{table}"], "not TOML", 1),
        (["fit", "{table}", "-t", "species", "--views", "{folder}/nothing.toml"], "nothing.toml", 1),
        (["fit", "{table}", "-t", "species", "--engine", "magic"], "an engine among", 1),
        (["fit", "{table}", "-t", "species", "--drop", "leaf"], "'leaf'", 1),
        (["predict", "{table}", "{table}"], "not a model saved by gpclass", 1),
        (["predict", "{folder}/nothing.gpclass", "{table}"], "File not found: .*nothing.gpclass", 1),
        (["predict", "{model}", "{model}"], "flowers.gpclass", 1),
        (["predict", "{model}", "{table}", "--out", "{folder}"], "is a folder", 2),
        (["fit", "{table}", "-t", "species", "--save", "{table}"], "the command reads it", 2),
        (["predict", "{model}", "{table}", "--out", "{table}"], "the command reads it", 2),
        (["card", "{model}", "--out", "{model}"], "the command reads it", 2),
        (["explain", "{model}", "--row", "61"], "expected a row among the 60 that the model keeps", 1),
        (["explain", "{model}", "--row", "99", "--data", "{table}"], "from 2 to 61, got 99", 1),
        (["explain", "{model}", "--data", "{table}"], "--data needs --row", 2),
        (["check", "{model}", "{folder}/nothing.csv"], "File not found: .*nothing.csv", 1),
        (["check", "{plain}", "{table}"], "saved by 'gpclass fit' .* got a GPClassifier", 1),
        (["evaluate", "{plain}", "{table}"], "saved by 'gpclass fit' .* got a GPClassifier", 1),
        (["card", "{table}"], "not a model saved by gpclass", 1),
        (["compare", "{table}", "-t", "species", "--folds", "59"], "expected at least 59 rows", 1),
    ],
)
def test_errors_are_one_line(table_file, model_file, tmp_path, words, message, code):
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    plain = tmp_path / "plain.gpclass"
    if "{plain}" in words:
        gpclass.save(gpclass.GPClassifier(hyper="fixed").fit(X[::5], y[::5]), plain)
    places = {"table": table_file, "model": model_file, "folder": tmp_path, "plain": plain}
    line = one_line(run(*[word.format(**places) for word in words]), code)
    assert re.search(message, line), line


def test_ids_do_not_take_the_names_of_predictions(frame, tmp_path, fixed_parameters):
    odd = frame.rename(columns={"plant": "prediction"}).assign(line=[f"line {i}" for i in range(60)])
    odd.to_csv(tmp_path / "odd.csv", index=False)
    assert run("fit", tmp_path / "odd.csv", "-t", "species", "-s", tmp_path / "m.gpclass").exit_code == 0
    found = list(csv.DictReader(run("predict", tmp_path / "m.gpclass", tmp_path / "odd.csv").stdout.splitlines()))
    assert found[0]["line"] == "2"
    assert found[0]["line (of the table)"] == "line 0"
    assert found[0]["prediction (of the table)"] == "plant 0"
    assert found[0]["prediction"] in ("rose", "daisy")


def test_predictions_as_parquet_and_numbers_in_full(table_file, frame, model_file, tmp_path):
    assert run("predict", model_file, table_file, "--out", tmp_path / "p.parquet").exit_code == 0
    assert pd.read_parquet(tmp_path / "p.parquet")["plant"].tolist() == frame["plant"].tolist()
    frame.assign(size=frame["size"] * 1e-4 + 2459005).to_csv(tmp_path / "days.csv", index=False)
    run("fit", tmp_path / "days.csv", "-t", "size", "--regress", "-s", tmp_path / "d.gpclass")
    predicted = run("predict", tmp_path / "d.gpclass", tmp_path / "days.csv").stdout
    mean = gpclass.load(tmp_path / "d.gpclass").predict(frame)
    np.testing.assert_allclose(
        [float(row["prediction"]) for row in csv.DictReader(predicted.splitlines())], mean, rtol=1e-11
    )


def test_a_stopped_fit_writes_nothing(table_file, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("gpclass.tabular.TableModel.fit", stop)
    assert "nothing was written" in one_line(run("fit", table_file, "-t", "species", "-s", tmp_path / "m"), 130)
    assert not (tmp_path / "m").exists()


def test_unexpected_errors_are_one_line_too(table_file, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("gpclass.tabular.TableModel.fit", fail)
    assert "ZeroDivisionError: two" in one_line(run("fit", table_file, "-t", "species"))
    monkeypatch.setenv("GPCLASS_TRACEBACK", "1")
    assert isinstance(run("fit", table_file, "-t", "species").exception, ZeroDivisionError)


def test_version_and_no_command():
    assert run("--version").stdout.strip() == f"gpclass {gpclass.__version__}"
    assert "Models of tables" in run("--help").stdout


def test_as_a_process_of_its_own(model_file, table_file):
    words = [sys.executable, "-m", "gpclass.cli", "predict", str(model_file), str(table_file)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert len(ran.stdout.splitlines()) == 61
    assert ran.stderr == ""
