"""Costs, thresholds and rejected rows of models of tables, the scores of every label, and the smallest probability."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import gpclass
from gpclass.cli.app import app
from gpclass.evaluation.class_scores import rarer
from gpclass.evaluation.decisions import DecisionRule, best_threshold
from gpclass.inference.calibration import LooPrediction, calibrate, least_lapse_rate
from gpclass.likelihoods import Probit
from gpclass.tabular import TableError, TableModel
from gpclass.tabular.card import card
from gpclass.tabular.deciding import Decisions, decision_scores
from gpclass.tabular.evaluation import class_table, formatted_scores, remarks, with_error
from gpclass.tabular.tables import probability_text
from gpclass.tabular.verdict import verdict
from gpclass.training.neighbors import _COUNTS
from gpclass.training.stacking import stacking_weights

command = CliRunner()
LABELS, COUNTS = ["fine", "fraud"], {"fine": 180, "fraud": 20}


def run(*words):
    return command.invoke(app, [str(word) for word in words])


def frauds(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).round(3)
    fraud = X[:, 0] + X[:, 1] + rng.normal(0.0, 1.0, n) > 2.6
    return pd.DataFrame(
        {"id": [f"c{i}" for i in range(n)], "a": X[:, 0], "b": X[:, 1], "y": np.array(LABELS)[fraud * 1]}
    )


@pytest.fixture
def scored():
    rng = np.random.default_rng(3)
    p = rng.beta(0.4, 3.0, 400)
    return {"labels": (rng.random(400) < p).astype(int), "proba": np.column_stack([1 - p, p])}


# ---- the rule --------------------------------------------------------------------------------------------------------


def test_costs_in_words_and_in_pairs():
    by_word = Decisions({"false_negative": 20, "false_positive": 2}).rule(LABELS, 1, {}, None)
    by_pair = Decisions({("fraud", "fine"): 20, " fine -> fraud": 2}).rule(LABELS, 1, {}, None)
    np.testing.assert_array_equal(by_word.costs, [[0, 2], [20, 0]])
    np.testing.assert_array_equal(by_pair.costs, by_word.costs)
    both = Decisions({("fraud", "fine"): 7, "false_negative": 20}).rule(LABELS, 1, {}, None)
    assert both.costs[1, 0] == 7  # what is said of the pair
    three = Decisions({"false_negative": 9, ("b", "c"): 4}, positive="c").rule(["a", "b", "c"], 2, {}, None)
    np.testing.assert_array_equal(three.costs, [[0, 1, 1], [1, 0, 4], [9, 9, 0]])
    assert Decisions().rule(LABELS, 1, {}, None) is None


def test_the_rarer_label_is_positive():
    assert Decisions().positive_position(LABELS, COUNTS) == 1
    assert Decisions(positive="fine").positive_position(LABELS, COUNTS) == 0
    assert [rarer(counts) for counts in ([3, 2], [2, 3], [2, 2])] == [1, 0, 1]
    assert Decisions().positive_position(["0", "1"], {"0": 5, "1": 5}) == 1
    assert Decisions().positive_position(["a", "b", "c"], {}) is None
    assert Decisions(positive=2).positive_position(["1", "2", "3"], {}) == 1


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        (Decisions({"fraud": 3}), "expected costs such as"),
        (Decisions({"a->b->c": 3}), "expected costs such as"),
        (Decisions({("fraud", "none"): 3}), "among 'fine', 'fraud', got 'none'"),
        (Decisions({("fraud", "fine"): np.nan}), "finite costs"),
        (Decisions(threshold=1.5), "between 0 and 1, or 'auto', got 1.5"),
        (Decisions(threshold="often"), "or 'auto', got 'often'"),
        (Decisions(threshold="auto", costs={"false_negative": 0}), "mistakes to cost more than right decisions"),
        (Decisions(reject="much"), "expected a cost to reject"),
    ],
)
def test_what_cannot_be_a_rule(decisions, message):
    with pytest.raises(TableError, match=message):
        decisions.check(LABELS, 1)


def test_several_labels_need_pairs():
    with pytest.raises(TableError, match="expected two labels for a threshold, got 3"):
        Decisions(threshold=0.2).check(["a", "b", "c"], None)
    with pytest.raises(TableError, match="false_negative needs the positive label"):
        Decisions({"false_negative": 3}).check(["a", "b", "c"], None)
    with pytest.raises(TableError, match="no label 'ask'"):
        Decisions(reject=0.3).check(["ask", "b"], 0)


def test_a_tuned_threshold_is_scored_on_rows_it_does_not_know(scored):
    decisions = Decisions({"false_negative": 6.0}, threshold="auto")
    rule = decisions.rule(LABELS, 1, scored, None)
    found = best_threshold(scored["labels"], scored["proba"][:, 1], 1, false_negative=6.0)
    assert rule.threshold == {"fraud": found.value}
    truth = np.array(LABELS)[scored["labels"]]
    honest = rule.costs_paid(truth, decisions.decide(rule, 1, scored, None)).mean()
    assert honest > found.cost  # which is the least on its own rows
    fixed = Decisions({"false_negative": 6.0}, threshold=found.value)
    assert rule.costs_paid(truth, fixed.decide(rule, 1, scored, None)).mean() == pytest.approx(found.cost)


def test_without_rows_of_both_labels_the_costs_decide():
    decisions = Decisions({"false_negative": 4.0}, threshold="auto")
    one = {"labels": np.zeros(9, dtype=int), "proba": np.tile([0.9, 0.1], (9, 1))}
    assert decisions.rule(LABELS, 1, one, None).threshold == {"fraud": pytest.approx(0.2)}


def test_costs_beside_the_best_constant_decision(scored):
    rule = DecisionRule(LABELS, {("fraud", "fine"): 6.0}, reject=0.9)
    w = np.random.default_rng(0).uniform(0.5, 2.0, 400)
    decided = rule.choose(scored["proba"])
    scores = decision_scores(rule, scored["labels"], decided, w)
    truth = np.array(LABELS)[scored["labels"]]
    assert scores["mean_cost"] == pytest.approx(rule.mean_cost(truth, scored["proba"], w))
    constants = {
        "fine": 6.0 * np.average(scored["labels"] == 1, weights=w),
        "fraud": np.average(scored["labels"] == 0, weights=w),
        "ask": 0.9,
    }
    assert scores["guess_decision"] == min(constants, key=constants.get)
    assert scores["guess_mean_cost"] == pytest.approx(min(constants.values()))
    assert scores["asked"] == pytest.approx(np.average(decided < 0, weights=w))
    assert scores["mean_cost_beats_guess"]
    always = decision_scores(rule, scored["labels"], np.full(400, 0), w)
    assert not always["mean_cost_beats_guess"]


# ---- models ----------------------------------------------------------------------------------------------------------


def test_costs_of_a_model_are_in_its_file_predictions_and_page(tmp_path, fixed_parameters):
    frame = frauds()
    model = TableModel("y", costs={("fraud", "fine"): 20.0}, reject=0.8).fit(frame)
    again = gpclass.load(gpclass.save(model, tmp_path / "m.gpclass"))
    found = again.predictions(frame)
    proba = again.predict_proba(frame)
    rule = DecisionRule(LABELS, {("fraud", "fine"): 20.0}, reject=0.8)
    np.testing.assert_array_equal(found["decision"], rule.predict(proba, "ask"))
    np.testing.assert_array_equal(again.decide(frame), found["decision"])
    np.testing.assert_array_equal(found["prediction"], np.array(LABELS)[proba.argmax(axis=1)])
    np.testing.assert_allclose(found["expected_cost"], np.minimum(rule.expected_costs(proba).min(axis=1), 0.8))
    assert "ask" in found["decision"]
    scores, kept, _ = again.evaluate(frame)
    assert scores["mean_cost"] == pytest.approx(rule.mean_cost(frame["y"], proba))
    np.testing.assert_array_equal(kept["decided"], rule.choose(proba))
    page = card(again, "m")
    assert f"Its decisions cost {model.scores_['mean_cost']:.3g} per row, where " in verdict(model).sentence
    assert "probability of 0.0476 on" in page
    assert "columns by decision" in page
    assert "Decisions by label; brackets are 95 % intervals" in page


def test_options_take_the_place_of_those_of_the_fit(fixed_parameters):
    frame = frauds()
    model = TableModel("y", threshold=0.3, costs={"false_negative": 9.0}).fit(frame)
    assert model.rule_.threshold == {"fraud": 0.3}
    assert model.rule(Decisions(threshold=0.1)).threshold == {"fraud": 0.1}
    assert model.rule(Decisions(threshold=0.1)).costs[1, 0] == 9.0
    assert model.rule(Decisions({"false_negative": 3.0})).threshold is None
    assert model.rule(Decisions(positive="fine")) is None  # threshold and costs were about the other label
    assert model.rule(Decisions()) is model.rule_
    scores = [model.evaluate(frame, Decisions(positive=label))[0] for label in LABELS]
    assert [one["positive"] for one in scores] == [0, 1]
    with pytest.raises(TableError, match="got 'common'"):
        model.rule(Decisions(positive="common"))


def test_another_positive_label_ends_what_was_said_of_the_old_one(fixed_parameters):
    model = TableModel("y", threshold=0.1, drop=["id"], engine="laplace").fit(frauds())
    assert model.rule(Decisions(positive="fraud")).threshold == {"fraud": 0.1}  # that of the fit, the rarer one
    assert model.rule(Decisions(positive="fine")) is None
    assert model.rule(Decisions(positive="fine", threshold=0.3)).threshold == {"fine": 0.3}
    own = Decisions({"false_negative": 9, "fraud->fine": 4}, positive="fraud")
    assert own.updated(Decisions(positive="fine")) == Decisions({"fraud->fine": 4}, positive="fine")
    assert own.updated(Decisions(positive="fraud", reject=0.1)).costs == own.costs
    assert own.updated(Decisions({"false_positive": 2}, positive="fine")).costs == {"false_positive": 2}


def test_a_label_keeps_its_type_and_a_wrong_one_is_found_before_the_fit(tmp_path, monkeypatch, fixed_parameters):
    frame = frauds()
    frame["y"] = (frame["y"] == "fraud") * 1
    model = TableModel("y", costs={(1, 0): 20.0}, class_weight={1: 3.0}).fit(frame)
    assert set(model.decide(frame).tolist()) == {0, 1}
    assert model.estimator_.class_weight == {0: 1.0, 1: 3.0}
    again = gpclass.load(gpclass.save(model, tmp_path / "m.gpclass"))
    assert again.costs == {"1->0": 20.0}
    np.testing.assert_array_equal(again.decide(frame), model.decide(frame))
    monkeypatch.setattr(TableModel, "_fit_estimator", None)
    for wrong in ({"costs": {(2, 0): 1.0}}, {"class_weight": {2: 1.0}}, {"threshold": 2.0}, {"positive": "x"}):
        with pytest.raises(TableError, match="expected"):
            TableModel("y", **wrong).fit(frame)


def test_class_weights_change_the_probabilities(fixed_parameters):
    frame = frauds()
    plain, balanced = (TableModel("y", class_weight=w, engine="vb").fit(frame) for w in (None, "balanced"))
    rare = [model.predict_proba(frame)[:, 1].mean() for model in (plain, balanced)]
    assert rare[0] == pytest.approx(np.mean(frame["y"] == "fraud"), abs=0.02)
    assert rare[1] > 1.5 * rare[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": "a", "regress": True, "costs": {"false_negative": 2.0}}, "for labels; got a regression"),
        ({"target": "a", "regress": True, "class_weight": "balanced"}, "for labels; got a regression"),
        ({"target": "y", "engine": "ivm", "class_weight": "balanced"}, "got --engine ivm"),
        ({"target": "y", "order": LABELS, "class_weight": "balanced"}, "got ordinal"),
    ],
)
def test_what_does_not_go_together(settings, message):
    with pytest.raises(TableError, match=message):
        TableModel(**settings).fit(frauds(40))


def test_columns_that_identify_rows_stand_in_front(tmp_path, fixed_parameters):
    path, saved = tmp_path / "t.csv", tmp_path / "m.gpclass"
    frame = frauds().assign(code=lambda own: np.arange(len(own)) * 1.5, half=lambda own: np.arange(len(own)) // 2 * 1.5)
    frame.to_csv(path, index=False)
    fitted = run(
        "fit", path, "-t", "y", "--drop", "code", "--drop", "half", "--save", saved, "--cost", "false_negative=20"
    )
    assert fitted.exit_code == 0, fitted.output
    assert "decides for 'fraud' from a probability of 0.0476 on" in fitted.stdout
    head = run("predict", saved, path).stdout.splitlines()[0]
    assert head.startswith("line,id,code,prediction,decision,expected_cost,p_fine,p_fraud,")
    bare = run("predict", saved, path, "--only-predictions", "--threshold", "0.5", "--reject", "0.4")
    assert bare.stdout.startswith("line,prediction,decision,")
    rows = list(csv.DictReader(bare.stdout.splitlines()))
    assert {row["decision"] for row in rows} == {"fine", "fraud", "ask"}
    evaluated = json.loads(run("evaluate", saved, path, "--cost", "fraud->fine=50", "--json").stdout)
    assert evaluated["scores"]["rule"]["costs"] == [[0, 1], [50, 0]]
    assert evaluated["scores"]["by_class"][1]["label"] == "fraud"
    assert sum(map(sum, evaluated["confusion"])) == 200
    said = run("evaluate", saved, path).stdout
    assert "mean cost" in said
    assert "label \\ decided" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cost", "fraud->fine"], "--cost: expected false_negative=20"),
        (["--cost", "false_negative=much"], "--cost: expected false_negative=20"),
        (["--cost", "false_negative=2", "--cost", "false_negative=3"], "expected every mistake once"),
        (["--threshold", "2"], "--threshold: expected a number between 0 and 1, or auto, got '2'"),
        (["--class-weight", "fraud"], "--class-weight: expected balanced or label=2,label2=1"),
    ],
)
def test_wrong_options_are_one_line(tmp_path, words, message):
    path = tmp_path / "t.csv"
    frauds(40).to_csv(path, index=False)
    ran = run("fit", path, "-t", "y", *words)
    assert ran.exit_code == 2, ran.output
    assert message in ran.stderr
    assert "Traceback" not in ran.output


# ---- scores as text --------------------------------------------------------------------------------------------------


def test_no_false_certainty_in_text(model):
    sure = model.scores_ | {"error": 0.0, "error_se": 0.0, "error_low": 0.0, "error_high": 0.0602, "log_loss_se": 3e-6}
    text = {name: value for name, value, _ in formatted_scores(sure)}
    assert text["error"] == "0.00 % (0.00 to 6.02)"
    assert text["log loss"].endswith(" ± 0.000003")
    assert with_error(0.5, 0.0) == "0.5000"
    assert with_error(0.5, None) == "0.5000"
    assert with_error(0.5, 0.0123) == "0.5000 ± 0.0123"


def test_labels_in_a_table(model):
    title, heads, rows = class_table(model.scores_, model.labels)
    assert title.startswith("By label")
    assert [row[0] for row in rows] == ["daisy", "rose"]
    assert all(len(row) == len(heads) for row in rows)
    own = [model.scores_["by_class"][0] | {"recall": k / 20, "recall_low": 0.0, "recall_high": 1.0} for k in range(13)]
    title, heads, rows = class_table(model.scores_ | {"by_class": own[::-1]}, list("abcdefghijklm"))
    assert "5 of 13 labels" in title
    assert [row[0] for row in rows] == list("mlkji")


def test_plain_words_for_a_model_that_guesses(model):
    assert remarks(model.scores_) == []
    poor = {"error_beats_guess": False, "log_loss_beats_guess": False, "error": 0.5, "guess_error": 0.4}
    said = remarks(model.scores_ | poor | {"log_loss": 0.69, "guess_log_loss": 0.7})
    assert said[0] == "the error is not better than that of predicting the most frequent label for every row"
    assert said[1] == "the log loss is not clearly better than that of predicting the class frequencies for every row"
    rare = remarks(model.scores_ | {"error_beats_guess": False})
    assert "--cost or --threshold" in rare[-1]


def test_probabilities_can_be_ranked_near_both_ends():
    for p in (0.5, 0.123456789, 0.9, 1e-7, 2.5e-13):
        assert float(probability_text(p)) == pytest.approx(p, rel=1e-5)
        assert 1.0 - float(probability_text(1.0 - p)) == pytest.approx(p, rel=1e-3 if p < 1e-12 else 1e-5)
    assert len({probability_text(p) for p in (0.99999, 0.999999, 0.9999999, 0.99999991, 1.0)}) == 5


# ---- the smallest probability ----------------------------------------------------------------------------------------


def floor(n, n_classes):
    """What the docstring of ``TableModel`` promises."""
    return 1.0 / (10 * n * (n_classes - 1) + 11 * n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_that_are_certain_leave_the_least_lapse_rate(n_classes):
    n = 300
    likelihood = Probit() if n_classes == 2 else gpclass.likelihoods.MultinomialProbit()
    labels = np.arange(n) % n_classes
    mean = 40.0 * (2 * labels[:, None] - 1.0 if n_classes == 2 else np.eye(3)[labels])
    found = calibrate([LooPrediction(np.zeros(n), likelihood, mean, np.full_like(mean, 1e-3))], labels, np.ones(n))
    least = least_lapse_rate(n, n_classes)
    assert least / n_classes == pytest.approx(floor(n, n_classes))
    assert least <= found.lapse_rate < 1.02 * least
    certain = np.stack([np.zeros(n), np.full(n, -np.inf), np.full(n, -np.log(n_classes))])
    assert stacking_weights(certain, _COUNTS)[2] >= least


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"engine": "vb"},
        {"engine": "laplace"},
        {"engine": "sparse"},
        {"engine": "ivm"},
        {"order": ["u", "v", "w"]},
        {"unlabelled": "?"},
        {"class_weight": {"u": 40.0}},
    ],
    ids=str,
)
def test_no_class_is_ruled_out(settings, fixed_parameters):
    rng = np.random.default_rng(0)
    kind, n = np.arange(90) % 3, 90
    X = rng.normal(0.0, 0.3, (n, 2)) + 6.0 * kind[:, None]
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=np.array(list("uvw"))[kind])
    if "unlabelled" in settings:
        frame.loc[::2, "y"] = "?"
    weights = np.where(kind == 0, 40.0, 1.0) if "class_weight" in settings else np.ones(n)
    proba = TableModel("y", **settings).fit(frame).predict_proba(frame)
    assert proba.min() >= (1.0 - 1e-6) * floor(weights.sum(), 3)
