"""Models of tables: scores, predictions, explanations, and the choices behind them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

import gpclass
from gpclass.metrics import mean_log_probability
from gpclass.tabular import TableError, TableModel, compare_on_table, explain, from_frame
from gpclass.tabular import model as module
from gpclass.tabular.filling import FillGaps
from gpclass.tabular.scoring import in_words, label_scores, number_scores


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).frame.iloc[::2].reset_index(drop=True)


def test_scores_are_those_of_leave_one_out(model, frame):
    proba = model.estimator_.loo_proba_
    guessed = model.classes_[proba.argmax(axis=1)]
    assert model.how_ == "leave-one-out"
    assert model.scores_["error"] == pytest.approx(np.mean(guessed != frame["species"]))
    assert model.scores_["log_loss"] == pytest.approx(-mean_log_probability(frame["species"], proba, model.classes_))
    assert model.scores_["error"] < 0.5 * model.scores_["guess_error"]


def test_predictions_are_the_estimators(model, frame):
    X, _ = model.frame(frame)
    found = model.predictions(frame)
    np.testing.assert_array_equal(np.column_stack([found["p_daisy"], found["p_rose"]]), model.predict_proba(frame))
    np.testing.assert_array_equal(found["prediction"], model.estimator_.predict(X))
    np.testing.assert_array_equal(found["prediction"], model.predict(frame))
    np.testing.assert_allclose(found["entropy_removable"] + found["entropy_lasting"], found["entropy"])


def test_rows_far_from_all_others_are_told(model, frame):
    assert set(model.predictions(frame)["far"]) == {"no"}
    strange = frame.head(2).assign(size=[5.0, 5e4])
    assert model.predictions(strange)["far"].tolist() == ["no", "yes"]


def test_gaps_are_filled_and_told_of(model, frame):
    X, _ = model.frame(frame)
    gaps = frame["weight"].isna()
    assert gaps.any()
    np.testing.assert_array_equal(X["weight (missing)"], gaps.astype(float))
    assert np.all(X.loc[gaps, "weight"] == frame["weight"].median())
    filler = FillGaps().fit(frame[["size", "weight"]])
    assert filler.gappy_ == ["weight"]
    assert not filler.transform(frame[["size", "weight"]]).isna().to_numpy().any()


def test_a_model_comes_back_from_its_file(model, frame, model_file):
    again = gpclass.load(model_file)
    before, after = model.predictions(frame), again.predictions(frame)
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert again.scores_ == model.scores_
    assert explain(again) == explain(model)


def test_explanation_finds_what_the_target_was_made_from(model):
    told = explain(model)
    names = [own["column"] for own in told["columns"]]
    assert set(names[:2]) == {"size", "colour"}
    assert names[2] == "weight"
    assert [own["probability"] for own in told["surprising_rows"]] == sorted(
        own["probability"] for own in told["surprising_rows"]
    )
    row = told["surprising_rows"][0]
    assert row["cells"]["plant"] == f"plant {row['place'] - 1}"
    assert all(own["nats"] >= 0 for own in told["informative_rows"])


def test_labels_that_are_numbers_sort_as_numbers():
    X = np.linspace(0, 3, 30)
    model = TableModel("y").fit(
        pd.DataFrame({"x": X**1.5, "y": np.array(["2", "10", "1"])[np.minimum(X.astype(int), 2)]})
    )
    assert model.labels == ["1", "2", "10"]


def test_ordered_labels(iris):
    grades = np.array(["low", "mid", "high"])[iris["target"]]
    model = TableModel("grade", order=["low", "mid", "high"]).fit(iris.drop(columns="target").assign(grade=grades))
    assert isinstance(model.estimator_, gpclass.GPOrdinalClassifier)
    assert model.labels == ["low", "mid", "high"]
    assert model.scores_["mean_steps_off"] < 0.15
    with pytest.raises(TableError, match="row 1, column 'grade': expected a label of --ordinal"):
        TableModel("grade", order=["mid", "high"]).fit(iris.assign(grade=grades))


def test_numbers():
    frame = load_diabetes(as_frame=True).frame.iloc[:120]
    model = TableModel("target", regress=True).fit(frame)
    estimator = model.estimator_
    assert model.how_ == "leave-one-out"
    assert model.scores_["rmse"] < model.scores_["guess_rmse"]
    assert abs(model.scores_["inside_90"] - 0.9) < 0.08
    found = model.predictions(frame)
    np.testing.assert_allclose(found["sd_removable"] ** 2 + found["sd_lasting"] ** 2, found["sd"] ** 2)
    # Leaving a row out at the same parameters, the slow way.
    X, y = model.frame(frame)[0], frame["target"].to_numpy()
    others = np.arange(120) != 7
    Z = (X.to_numpy() - estimator.input_mean_) / estimator.input_scale_
    K = estimator.kernel_(Z)
    noise = estimator.likelihood_.variance
    t = (y - estimator.target_mean_) / estimator.target_scale_
    k = K[7, others]
    inverse = np.linalg.inv(K[np.ix_(others, others)] + noise * np.eye(119))
    assert estimator.loo_mean_[7] == pytest.approx(
        estimator.target_mean_ + estimator.target_scale_ * (k @ inverse @ t[others]), rel=1e-6
    )
    assert estimator.loo_std_[7] == pytest.approx(
        estimator.target_scale_ * np.sqrt(K[7, 7] - k @ inverse @ k + noise), rel=1e-6
    )
    with pytest.raises(AttributeError, match="predicts numbers"):
        model.predict_proba(frame)


def test_few_labels(iris):
    frame = iris.assign(kind=np.array(["a", "b", "c"])[iris["target"]]).drop(columns="target")
    frame.loc[np.arange(len(frame)) % 5 != 0, "kind"] = "unknown"
    model = TableModel("kind", unlabelled="unknown").fit(frame)
    assert isinstance(model.estimator_, gpclass.NullCategoryClassifier)
    assert model.labels == ["a", "b", "c"]
    assert model.scores_["rows"] == 15


def test_weights(frame):
    rng = np.random.default_rng(0)
    weighted = frame.assign(times=rng.integers(0, 3, len(frame)))
    model = TableModel("species", weights="times").fit(weighted)
    assert "times" not in [own.name for own in model.schema_.columns]
    assert model.scores_["rows"] == int((weighted["times"] > 0).sum())
    with pytest.raises(TableError, match="row 1, column 'times': expected a weight that is not negative, got '-1'"):
        TableModel("species", weights="times").fit(frame.assign(times=-1))


def test_views(iris):
    frame = iris.rename(columns=lambda name: name.replace(" (cm)", "").replace(" ", "_"))
    model = TableModel("target", views={"petal": ["petal_*"], "sepal": ["sepal_*"]}).fit(frame)
    shares = {own["view"]: own["share"] for own in explain(model)["views"]}
    assert sum(shares.values()) == pytest.approx(1.0)
    with pytest.raises(TableError, match="view 'x': expected columns named like 'z\\*', got none"):
        TableModel("target", views={"x": ["z*"]}).fit(frame)


def test_many_rows_get_a_sparse_model(frame, monkeypatch):
    monkeypatch.setattr(module, "EXACT_ROWS", 50)
    assert isinstance(TableModel("species").fit(frame).estimator_, gpclass.SparseGPClassifier)
    monkeypatch.setattr(module, "MOST_EXACT_ROWS", 50)
    with pytest.raises(TableError, match="at most 50 rows"):
        TableModel("species", weights="size").fit(frame.assign(size=1.0))


@pytest.mark.parametrize("settings", [{"engine": "ivm"}, {"engine": "ivm", "regress": True, "target": "size"}])
def test_the_informative_vector_machine_is_judged_by_rows_it_has_not_seen(frame, settings):
    model = TableModel(**{"target": "species"} | settings).fit(frame)
    assert model.how_ == "held-out"
    assert model.scores_["rows"] == 12
    assert all("kept_as" in own for own in model.informative_)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"target": "colour of the leaf"}, "expected a column named 'colour of the leaf'.*'plant'"),
        ({"target": "size"}, "different numbers; to predict a number say --regress"),
        ({"target": "plant"}, "expected labels that repeat"),
        ({"target": "species", "regress": True}, "expected a number, got"),
        ({"target": "species", "regress": True, "order": ["rose", "daisy"]}, "at most one of"),
        ({"target": "species", "engine": "magic"}, "an engine among"),
        ({"target": "species", "engine": "sparse", "weights": "size"}, "neither --weights nor --views"),
        ({"target": "size", "regress": True, "engine": "ep"}, "for numbers"),
        ({"target": "species", "unlabelled": "?", "engine": "vb"}, "engine of its own"),
        ({"target": "species", "weights": "size", "unlabelled": "?"}, "--weights is for"),
    ],
)
def test_what_cannot_be_is_said(frame, settings, said):
    with pytest.raises(TableError, match=said):
        TableModel(**settings).fit(frame)


def test_one_label_is_none(frame):
    with pytest.raises(TableError, match="at least two different labels in column 'species', got 'rose' in all of 60"):
        TableModel("species").fit(frame.assign(species="rose"))


def test_rows_without_target_are_left_out_and_told_of(frame):
    gappy = frame.copy()
    gappy.loc[:4, "species"] = None
    model = TableModel("species").fit(gappy)
    assert model.about_["rows"] == 55
    assert any("5 rows have no 'species'" in note for note in model.notes_)
    scores, predicted, notes = model.evaluate(gappy)
    assert scores["rows"] == len(predicted["labels"]) == 55
    assert any("5 rows" in note for note in notes)
    with pytest.raises(TableError, match="expected one of 'daisy', 'rose', got 'tulip'"):
        model.evaluate(frame.assign(species="tulip"))


def test_scores_by_hand():
    proba = np.array([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]])
    scores = label_scores(np.array([0, 0, 1]), proba, ordered=True)
    assert scores["error"] == pytest.approx(2 / 3)
    assert scores["log_loss"] == pytest.approx(-np.log([0.8, 0.4, 0.1]).mean())
    assert scores["mean_steps_off"] == pytest.approx(2 / 3)
    assert scores["guess_error"] == pytest.approx(1 / 3)
    y, mean, sd = np.array([1.0, 2.0, 6.0]), np.array([1.0, 3.0, 2.0]), np.array([1.0, 1.0, 2.0])
    numbers = number_scores(y, mean, sd)
    assert numbers["rmse"] == pytest.approx(np.sqrt((0 + 1 + 16) / 3))
    assert numbers["inside_90"] == pytest.approx(2 / 3)
    assert [len(line) for line in in_words(numbers)] == [3, 3, 3, 3]
    assert len(in_words(scores)) == 4


def test_comparison_on_the_same_folds(frame):
    result, _ = compare_on_table(from_frame(frame), "species", folds=2)
    names = {score.name for score in result.scores}
    assert {"gpclass", "logistic regression", "random forest", "gradient boosting", "SVC + temperature"} <= names
    with pytest.raises(TableError, match="at least 50 rows of every label"):
        compare_on_table(from_frame(frame), "species", folds=50)
