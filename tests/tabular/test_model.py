"""Models of tables: scores, predictions, explanations, and the choices behind them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

import gpclass
from gpclass.datasets import make_crescents
from gpclass.evaluation.metrics import calibration_error, mean_log_probability, reliability_curve
from gpclass.evaluation.uncertainty import similarity
from gpclass.kernels import Linear
from gpclass.tabular import (
    TableError,
    TableModel,
    check_drift,
    compare_on_table,
    explain,
    explanation,
    from_frame,
    read_table,
)
from gpclass.tabular import model as module
from gpclass.tabular.card import card
from gpclass.tabular.evaluation import classification_scores, formatted_scores, regression_scores
from gpclass.tabular.tables import as_text


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
    np.testing.assert_allclose(found["entropy_epistemic"] + found["entropy_aleatoric"], found["entropy"])


def test_entropies_are_those_of_the_probabilities_beside_them(model, frame):
    few = pd.DataFrame({"x": np.repeat([0.0, 10.0], 15) + np.arange(30) / 97, "y": np.repeat(["u", "v"], 15)})
    for own, rows in ((model, frame), (TableModel("y").fit(few), few)):
        found = own.predictions(rows)
        proba = np.column_stack([found[f"p_{label}"] for label in own.labels])
        np.testing.assert_allclose(found["entropy"], -np.sum(proba * np.log(proba), axis=1), rtol=1e-12)
        np.testing.assert_allclose(
            found["entropy_epistemic"] + found["entropy_aleatoric"], found["entropy"], rtol=1e-12
        )
        assert np.all(found["entropy_epistemic"] >= 0)
    # 30 rows cannot rule out what they have not shown, however far the classes are apart.
    assert min(found["p_u"].min(), found["p_v"].min()) > 1e-3


def test_rows_far_from_all_others_are_marked(model, frame):
    assert set(model.predictions(frame)["far"]) == {"no"}
    distant = frame.head(2).assign(size=[5.0, 5e4])
    assert model.predictions(distant)["far"].tolist() == ["no", "yes"]


def test_missing_values_are_left_to_the_estimator(model, frame):
    X, _ = model.frame(frame)
    missing = frame["weight"].isna().to_numpy()
    assert missing.any()
    np.testing.assert_array_equal(X["weight"].isna(), missing)
    estimator = model.estimator_
    assert estimator.input_names_ == ["size", "weight", "colour", "weight (missing)"]
    rows = estimator._inputs.check(estimator, X)[0]
    np.testing.assert_array_equal(rows[:, 3], missing)
    assert np.all(rows[missing, 1] == frame["weight"].median())


def test_a_model_comes_back_from_its_file(model, frame, model_file):
    again = gpclass.load(model_file)
    before, after = model.predictions(frame), again.predictions(frame)
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert again.scores_ == model.scores_
    assert explain(again) == explain(model)


def test_explanation_finds_what_the_target_was_made_from(model):
    explained = explain(model)
    names = [own["column"] for own in explained["columns"]]
    assert set(names[:2]) == {"size", "colour"}
    assert names[2] == "weight"
    assert [own["probability"] for own in explained["surprising_rows"]] == sorted(
        own["probability"] for own in explained["surprising_rows"]
    )
    row = explained["surprising_rows"][0]
    assert row["cells"]["plant"] == f"plant {row['position'] - 1}"
    assert all(own["nats"] >= 0 for own in explained["informative_rows"])


def test_labels_that_are_numbers_sort_as_numbers():
    X = np.linspace(0, 3, 30)
    model = TableModel("y").fit(pd.DataFrame({"x": X**1.5, "y": np.array([2, 10, 1])[np.minimum(X.astype(int), 2)]}))
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
    np.testing.assert_allclose(found["sd_epistemic"] ** 2 + found["sd_aleatoric"] ** 2, found["sd"] ** 2)
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
    with pytest.raises(AttributeError, match="no class probabilities"):
        model.predict_proba(frame)


def test_few_labels(iris, fixed_parameters):
    frame = iris.assign(kind=np.array(["a", "b", "c"])[iris["target"]]).drop(columns="target")
    frame.loc[np.arange(len(frame)) % 5 != 0, "kind"] = "unknown"
    model = TableModel("kind", unlabelled="unknown").fit(frame)
    assert model.labels == ["a", "b", "c"]
    assert model.scores_["rows"] == 15
    (text,) = [note for note in model.notes_ if note.startswith("unlabelled rows")]
    helped = type(model.estimator_).__name__ == "NullCategoryClassifier"
    assert text.startswith("unlabelled rows did not hurt" if helped else "unlabelled rows did not help")
    assert model.evaluate(frame)[0]["rows"] == 15
    with pytest.raises(TableError, match="expected rows whose 'kind' is 'no' or empty"):
        TableModel("kind", unlabelled="no").fit(frame)


@pytest.mark.slow
def test_hidden_labels_decide_whether_unlabelled_rows_are_used():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    frame["kind"] = np.where(np.arange(80) % 2, None, rng.choice(["x", "y"], 80))  # labels by chance
    model = TableModel("kind", unlabelled="").fit(frame)
    assert model.scores_["log_loss"] > 0.6
    apart, labels, truth = make_crescents(120, random_state=0)
    frame = pd.DataFrame(apart, columns=["a", "b"]).assign(kind=[None if k == -1 else f"k{k}" for k in labels])
    model = TableModel("kind", unlabelled="").fit(frame)
    assert np.mean(model.predict(frame) == np.array([f"k{k}" for k in truth])) > 0.9


def test_weights(frame):
    rng = np.random.default_rng(0)
    weighted = frame.assign(times=rng.integers(0, 3, len(frame)))
    model = TableModel("species", weights="times").fit(weighted)
    assert "times" not in [own.name for own in model.schema_.columns]
    assert model.scores_["rows"] == int((weighted["times"] > 0).sum())
    noise = weighted.assign(species=rng.choice(["rose", "daisy"], len(frame)), times=rng.uniform(8, 12, len(frame)))
    model = TableModel("species", weights="times").fit(noise)
    assert model.scores_["error"] > 0.3  # a row that matters more is not predicted from itself
    large = TableModel("species", weights="times").fit(noise.assign(times=1000 * noise["times"]))
    assert large.scores_["log_loss"] == pytest.approx(model.scores_["log_loss"], rel=1e-6)
    counted = TableModel("species", weights="times").fit(weighted)
    assert any("treated as numbers of copies" in note for note in counted.notes_)
    with pytest.raises(TableError, match="another column than the target"):
        TableModel("species", weights="species").fit(frame)
    with pytest.raises(TableError, match=r"row 3, column 'times': .* got an empty cell"):
        TableModel("species", weights="times").fit(weighted.assign(times=[1.0, 2.0, None] + [1.0] * 57))
    with pytest.raises(TableError, match="row 1, column 'times': expected a weight that is not negative, got '-1'"):
        TableModel("species", weights="times").fit(frame.assign(times=-1))


def test_views(iris, fixed_parameters):
    frame = iris.rename(columns=lambda name: name.replace(" (cm)", "").replace(" ", "_"))
    model = TableModel("target", views={"petal": ["petal_*"], "sepal": ["sepal_*"]}).fit(frame)
    shares = {own["view"]: own["share"] for own in explain(model)["views"]}
    assert sum(shares.values()) == pytest.approx(1.0)
    # Missing values are imputed, except where a row has no value of a view but of others.
    incomplete = frame.copy()
    incomplete.iloc[0, 0] = incomplete.iloc[1, 2] = incomplete.iloc[1, 3] = np.nan
    incomplete.iloc[2, :4] = np.nan
    assert np.all(np.isfinite(TableModel("target", views=model.views).fit(incomplete).predict_proba(incomplete)))
    assert np.isnan(model.frame(incomplete)[0].iloc[1, 2:4]).all()
    unused = TableModel("target", views={"petal": ["petal_*"]}).fit(frame)
    assert "column 'sepal_length' is left out: in no view" in unused.notes_
    assert [own.name for own in unused.schema_.used] == ["petal_length", "petal_width"]
    with pytest.raises(TableError, match="view 'x': expected columns named like 'z\\*', got none"):
        TableModel("target", views={"x": ["z*"]}).fit(frame)


def test_many_rows_get_a_nearest_neighbour_model(frame, monkeypatch):
    monkeypatch.setattr(module, "EXACT_ROWS", 50)
    model = TableModel("species").fit(frame)
    assert isinstance(model.estimator_, gpclass.NearestNeighborGPClassifier)
    assert model.how_ == "held-out"
    weighted = TableModel("species", weights="times").fit(frame.assign(times=np.where(frame["size"] > 0, 1.0, 2.0)))
    assert isinstance(weighted.estimator_, gpclass.NearestNeighborGPClassifier)
    assert weighted.how_ == "held-out"
    regression = TableModel("size", regress=True).fit(frame)
    assert isinstance(regression.estimator_, gpclass.NearestNeighborGPRegressor)
    monkeypatch.setattr(module, "MAX_EXACT_ROWS", 50)
    with pytest.raises(TableError, match="at most 50 rows"):
        TableModel("species", views={"one": ["size"]}).fit(frame)


@pytest.mark.parametrize("engine", ["nearest", "sparse"])
def test_the_engine_can_be_chosen(frame, engine):
    made = {"nearest": gpclass.NearestNeighborGPClassifier, "sparse": gpclass.SparseGPClassifier}
    assert isinstance(TableModel("species", engine=engine).fit(frame).estimator_, made[engine])


@pytest.mark.parametrize("settings", [{"engine": "ivm"}, {"engine": "ivm", "regress": True, "target": "size"}])
def test_the_informative_vector_machine_is_scored_on_held_out_rows(frame, settings):
    model = TableModel(**{"target": "species"} | settings).fit(frame)
    assert model.how_ == "held-out"
    assert model.scores_["rows"] == 12
    assert all("kept_as" in own for own in model.informative_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": "colour of the leaf"}, "expected a column named 'colour of the leaf'.*'plant'"),
        ({"target": "size"}, "different numbers, expected labels that repeat .*--regress"),
        ({"target": "plant"}, "expected labels that repeat"),
        ({"target": "species", "regress": True}, "expected a number, got"),
        ({"target": "species", "regress": True, "order": ["rose", "daisy"]}, "at most one of"),
        ({"target": "species", "engine": "magic"}, "an engine among"),
        ({"target": "species", "engine": "sparse", "weights": "size"}, "neither --weights nor --views"),
        ({"target": "size", "regress": True, "engine": "ep"}, "--engine auto or nearest or ivm for regression"),
        ({"target": "species", "unlabelled": "?", "engine": "vb"}, "--engine auto for semi-supervised"),
        ({"target": "species", "weights": "size", "unlabelled": "?"}, "--weights is for"),
    ],
)
def test_invalid_settings_are_refused(frame, settings, message):
    with pytest.raises(TableError, match=message):
        TableModel(**settings).fit(frame)


def test_one_label_is_none(frame):
    with pytest.raises(TableError, match="at least two different labels in column 'species', got 'rose' in all of 60"):
        TableModel("species").fit(frame.assign(species="rose"))


def test_rows_without_target_are_left_out_with_a_note(frame, fixed_parameters):
    incomplete = frame.copy()
    incomplete.loc[:4, "species"] = None
    model = TableModel("species").fit(incomplete)
    assert model.about_["rows"] == 55
    assert any("5 rows have no 'species'" in note for note in model.notes_)
    scores, predicted, notes = model.evaluate(incomplete)
    assert scores["rows"] == len(predicted["labels"]) == 55
    assert any("5 rows" in note for note in notes)
    with pytest.raises(TableError, match="expected one of 'daisy', 'rose', got 'tulip'"):
        model.evaluate(frame.assign(species="tulip"))


def test_all_rows_are_counted_and_not_only_those_scored(frame):
    model = TableModel("species", engine="ivm").fit(frame)
    roses = int((frame["species"] == "rose").sum())
    assert model.label_counts() == f"daisy ({60 - roses}), rose ({roses})"


def test_slips_are_noticed(frame, fixed_parameters):
    typos = frame.copy()
    typos.loc[3, "species"] = "Rose" if typos.loc[3, "species"] == "rose" else "Daisy"
    notes = TableModel("species").fit(typos).notes_
    assert any("differ in capitals only" in note for note in notes)
    assert any("labels with one row each" in note for note in notes)
    twice = pd.concat([frame, frame.head(4)])
    assert any("4 rows are copies of others" in note for note in TableModel("species").fit(twice).notes_)
    assert any(
        "only 20 labelled rows: scores are unreliable" in note
        for note in TableModel("species").fit(frame.head(20)).notes_
    )


def test_labels_come_back_as_they_went_in(frame, fixed_parameters):
    rose = frame["species"] == "rose"
    for labels in (
        rose,
        rose.astype(int),
        rose.astype(float),
        rose.astype(int).astype(str),
        rose.map({True: "1.5", False: "2"}),
    ):
        model = TableModel("y").fit(frame.drop(columns="species").assign(y=labels))
        assert np.mean(model.predict(frame) == labels.to_numpy()) > 0.9
        assert model.evaluate(frame.assign(y=labels))[0]["error"] < 0.1


@pytest.mark.parametrize(
    ("low", "high", "mark"),
    [
        (2, 10, -1),
        (2, 10, "unknown"),
        (0.0, 1.0, None),
        (0.0, 1.0, -1.0),
        (False, True, None),
        ("0", "1", -1),
        ("a", "b", "-"),
    ],
)
def test_labels_of_tables_with_few_come_back_as_they_went_in(frame, low, high, mark, fixed_parameters):
    large = frame["size"] > 5
    truth = pd.Series([high if own else low for own in large])
    given = [label if i % 2 else mark for i, label in enumerate(truth.tolist())]
    table = frame[["size"]].assign(y=given)
    model = TableModel("y", unlabelled="" if mark is None else mark).fit(table)
    assert model.classes_.tolist() == [low, high]
    assert [type(label) for label in model.classes_.tolist()] == [type(low), type(high)]
    assert np.mean(model.predict(table) == truth) > 0.8
    scores, _, _ = model.evaluate(table)
    assert (scores["rows"], scores["error"] < 0.2) == (30, True)


@pytest.mark.parametrize("unlabelled", [None, -1])
def test_labels_of_files_are_whole_numbers_or_text_for_every_task(frame, tmp_path, unlabelled, fixed_parameters):
    for low, labels in (("2", [2, 10]), ("two", ["10", "two"])):
        table = frame[["size"]].assign(y=np.where(frame["size"] > 5, "10", low))
        if unlabelled is not None:
            table.loc[::3, "y"] = str(unlabelled)
        table.to_csv(tmp_path / "t.csv", index=False)
        model = TableModel("y", unlabelled=unlabelled).fit(read_table(tmp_path / "t.csv"))
        assert model.classes_.tolist() == labels


@pytest.mark.parametrize("unlabelled", [None, ""])
def test_numbers_that_are_not_whole_are_no_labels(frame, unlabelled):
    table = frame[["size"]].assign(y=np.where(frame["size"] > 5, 0.5, 1.0))
    table.loc[:4, "y"] = np.nan
    with pytest.raises(TableError, match=r"text or integers in column 'y', got 0\.5; convert it to text"):
        TableModel("y", unlabelled=unlabelled).fit(table)


@pytest.mark.parametrize("dtype", [object, "Int64", "category", "float64"])
def test_whole_numbers_in_columns_of_other_kinds_are_labels_as_they_are(frame, dtype, fixed_parameters):
    y = (frame["species"] == "rose").astype(int).astype(dtype)
    model = TableModel("y").fit(frame[["size", "colour"]].assign(y=y))
    assert model.classes_.dtype.kind == ("f" if dtype == "float64" else "i")
    assert model.labels == ["0", "1"]
    assert np.mean(model.predict(frame) == y.to_numpy()) > 0.9


def signs(frame, *labels):
    return frame[["size", "colour"]].assign(y=np.array(labels)[np.digitize(frame["size"], [4, 6][: len(labels) - 1])])


@pytest.mark.parametrize("labels", [["-", "+"], ["-", "0", "+"]])
@pytest.mark.parametrize("ordered", [False, True])
def test_plus_and_minus_are_labels(frame, labels, ordered, fixed_parameters):
    table = signs(frame, *labels)
    model = TableModel("y", order=labels if ordered else None).fit(table)
    assert model.labels == (labels if ordered else sorted(labels))
    assert model.about_["rows"] == 60
    assert np.mean(model.predict(table) == table["y"]) > 0.8
    # Minus alone is the label it was.
    scores, _, notes = model.evaluate(table[table["y"] == "-"])
    assert (scores["rows"], notes) == ((table["y"] == "-").sum(), [])


def test_plus_and_minus_are_compared_on(frame, two_candidates):
    result, notes = compare_on_table(from_frame(signs(frame, "-", "+")), "y", folds=2)
    assert (len(result.scores), notes) == (2, [])


def test_a_dash_that_is_named_is_a_label_among_numbers_too(frame, fixed_parameters):
    table = signs(frame, "-", "0", "1")
    assert TableModel("y", order=["-", "0", "1"]).fit(table).about_["rows"] == 60
    with pytest.raises(TableError, match="expected a label of --ordinal, 'low', 'high'; got '-'"):
        TableModel("y", order=["low", "high"]).fit(signs(frame, "low", "-", "high"))
    with pytest.raises(TableError, match=r"--ordinal: expected labels, got '\?', which marks a missing value"):
        TableModel("y", order=["?", "0", "1"]).fit(table)


@pytest.mark.parametrize(
    "settings", [{}, {"order": [0, 1]}, {"regress": True}, {"unlabelled": ""}, {"unlabelled": "x"}]
)
def test_a_dash_among_numbers_is_no_label(frame, settings, fixed_parameters):
    table = signs(frame, "0", "1")
    table.loc[:9, "y"] = "-"
    table.loc[10:11, "y"] = settings.get("unlabelled")
    model = TableModel("y", **settings).fit(table)
    assert model.scores_["rows"] == 48
    assert model.labels == ([] if "regress" in settings else ["0", "1"])
    assert model.evaluate(table)[0]["rows"] == 48
    with pytest.raises(TableError, match="column 'y' of the table, and it is empty"):
        model.evaluate(table.head(5))
    assert "<svg" in card(model)


def test_dashes_of_new_tables_are_read_as_those_of_the_training_table(frame, fixed_parameters):
    table = frame[["size", "weight", "species"]].assign(rh=np.where(frame["colour"] == "red", "+", "-"))
    table["weight"] = [str(as_text(cell) or "-") for cell in table["weight"]]
    model = TableModel("species").fit(table)
    assert [(own.name, own.kind) for own in model.schema_.used] == [
        ("size", "number"),
        ("weight", "number"),
        ("rh", "category"),
    ]
    row = table[(table["weight"] == "-") & (table["rh"] == "-")].head(1)
    np.testing.assert_allclose(model.predict_proba(row), model.predict_proba(table)[row.index])
    np.testing.assert_array_equal(model.predict_proba(row), model.predict_proba(row.assign(weight=None)))


def test_notes_are_warnings_in_python(model, frame):
    with pytest.warns(
        UserWarning, match="category 'green' was not in the training table, nor were those of 59 more rows"
    ):
        model.predict(frame.assign(colour="green"))


def test_what_is_seen_often_is_not_far(frame):
    rng = np.random.default_rng(0)
    grid = pd.DataFrame(rng.integers(0, 5, (200, 2)), columns=["a", "b"])
    model = TableModel("y").fit(grid.assign(y=np.where(grid["a"] + grid["b"] > 4, "u", "v")))
    near = model.predictions(pd.DataFrame({"a": [2.01, 60.0], "b": [2.0, 2.0]}))
    assert near["far"].tolist() == ["no", "yes"]


def test_a_failed_fit_changes_nothing(frame, fixed_parameters):
    model = TableModel("species").fit(frame)
    before = model.predict(frame)
    with pytest.raises(TableError):
        model.fit(frame.assign(species="rose"))
    np.testing.assert_array_equal(model.predict(frame), before)
    with pytest.raises(NotFittedError):
        TableModel("species").predict(frame)


def test_few_rows_of_many_classes_are_held_out_all_the_same():
    frame = pd.DataFrame({"x": np.arange(30) ** 1.5, "y": np.repeat(list("abcdefghij"), 3)})
    assert TableModel("y", engine="ivm").fit(frame).scores_["rows"] == 6


def test_many_columns_are_explained_at_once(fixed_parameters, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 150)), columns=[f"c{j}" for j in range(150)])
    frame["y"] = np.where(frame["c7"] > 0, "u", "v")
    predictions, calls = explanation.predictions, []
    monkeypatch.setattr(explanation, "predictions", lambda *given: calls.append(1) or predictions(*given))
    explained = explain(TableModel("y").fit(frame))
    assert len(explained["columns"]) == 150
    assert len(calls) < 10  # and not one for each column


def test_scores_by_hand():
    proba = np.array([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]])
    scores = classification_scores(np.array([0, 0, 1]), proba, ordered=True)
    assert scores["error"] == pytest.approx(2 / 3)
    assert scores["log_loss"] == pytest.approx(-np.log([0.8, 0.4, 0.1]).mean())
    assert scores["mean_steps_off"] == pytest.approx(2 / 3)
    assert scores["guess_error"] == pytest.approx(1 / 3)
    y, mean, sd = np.array([1.0, 2.0, 6.0]), np.array([1.0, 3.0, 2.0]), np.array([1.0, 1.0, 2.0])
    numbers = regression_scores(y, mean, sd)
    assert numbers["rmse"] == pytest.approx(np.sqrt((0 + 1 + 16) / 3))
    assert numbers["inside_90"] == pytest.approx(2 / 3)
    assert [len(line) for line in formatted_scores(numbers)] == [3, 3, 3, 3]
    assert len(formatted_scores(scores)) == 7
    twice = classification_scores(np.array([0, 0, 1]), proba, weights=np.array([1.0, 1.0, 2.0]))
    copied = classification_scores(np.array([0, 0, 1, 1]), proba[[0, 1, 2, 2]])
    assert twice["log_loss"] == pytest.approx(copied["log_loss"])
    assert twice["guess_error"] == copied["guess_error"]
    assert classification_scores(np.array([0]), proba[:1])["error_se"] is None


def test_comparison_on_the_same_folds(frame):
    result, _ = compare_on_table(from_frame(frame), "species", folds=2)
    names = {score.name for score in result.scores}
    assert {"gpclass", "logistic regression", "random forest", "gradient boosting", "SVC + temperature"} <= names
    with pytest.raises(TableError, match="at least 50 rows of every label"):
        compare_on_table(from_frame(frame), "species", folds=50)


def test_a_weak_signal_in_ordered_labels_is_found():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 5))
    y = np.array(["low", "mid", "high"])[np.digitize(0.7 * X[:, 0] + rng.normal(size=150), [-0.5, 0.5])]
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    model = TableModel("y", order=["low", "mid", "high"]).fit(frame)
    assert model.scores_["log_loss"] < model.scores_["guess_log_loss"] - 0.03
    assert model.estimator_.kernel_.variance < 10.0  # and no row is explained by itself


def test_a_name_with_brackets_is_a_name_before_it_is_a_pattern(frame, fixed_parameters):
    own = frame[["size", "weight", "species"]].rename(columns={"size": "x[1]", "weight": "x1"})
    model = TableModel("species", views={"x": ["x[1]"]}).fit(own)
    assert [column.name for column in model.schema_.used] == ["x[1]"]
    assert [column.name for column in TableModel("species", views={"x": "x[1]"}).fit(own).schema_.used] == ["x[1]"]
    assert [column.name for column in TableModel("species", views={"x": "x[0-9]"}).fit(own).schema_.used] == ["x1"]


def test_missing_values_of_views_are_not_reported_as_imputed(frame, views_model):
    model = views_model
    with pytest.warns(UserWarning, match="column 'size': a missing value; training had none"):
        model.predict(frame.head(2).assign(size=[np.nan, 5.0]))


def test_settings_may_be_any_collection(frame, tmp_path, fixed_parameters):
    grades = np.array(["low", "mid", "high"])[np.digitize(frame["size"], [4, 6])]
    table = frame.assign(grade=grades)
    for order in (np.array(["low", "mid", "high"]), pd.Index(["low", "mid", "high"])):
        model = TableModel("grade", order=order, drop=pd.Index(["species"]), keep=np.array(["size"])).fit(table)
        assert model.labels == ["low", "mid", "high"]
        again = gpclass.load(gpclass.save(model, tmp_path / "m.gpclass"))
        assert again.order == ["low", "mid", "high"]
        assert again.drop == ["species"]
        assert "<td>order" in card(again)
    assert TableModel("species", drop="weight").fit(frame).drop == ["weight"]
    views = TableModel("species", views={"a": pd.Index(["size"])}).fit(frame)
    assert gpclass.load(gpclass.save(views, tmp_path / "m.gpclass")).views == {"a": ["size"]}


def test_calibration_goes_by_weights():
    proba = np.array([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1], [0.85, 0.15]])
    labels = np.array([0, 0, 1, 0])
    times = np.array([1, 1, 3, 0])
    twice = classification_scores(labels, proba, weights=times.astype(float))
    copied = classification_scores(np.repeat(labels, times), np.repeat(proba, times, axis=0))
    assert twice["calibration_error"] == pytest.approx(copied["calibration_error"])
    curve = reliability_curve(labels, proba, [0, 1], sample_weight=times)
    assert curve.rows.tolist() == [1, 1, 3]
    with pytest.raises(ValueError, match=r"expected 4 weights that are not negative, .* got shape \(2,\)"):
        calibration_error(labels, proba, [0, 1], sample_weight=[1, 2])


def test_labels_of_too_few_rows_are_named_as_they_are():
    frame = pd.DataFrame({"x": np.arange(12) ** 1.5, "y": ["a", "a", "a", "no"] + [None] * 8})
    with pytest.raises(TableError, match="at least two rows of every label, got 1 of 'no'"):
        TableModel("y", unlabelled="").fit(frame)


def test_regression_of_tiny_numbers(frame, regression_model):
    table = frame.assign(size=frame["size"] * 1e-200)
    usual = regression_model
    model = TableModel("size", regress=True).fit(table)
    assert model.scores_["explained"] == pytest.approx(usual.scores_["explained"], rel=1e-3)
    assert model.scores_["rmse"] == pytest.approx(1e-200 * usual.scores_["rmse"], rel=1e-3)
    found, expected = model.predictions(table), usual.predictions(frame)
    for name in ("prediction", "sd", "sd_epistemic", "sd_aleatoric"):
        np.testing.assert_allclose(found[name], 1e-200 * expected[name], rtol=1e-2)


def test_no_zero_is_negative():
    scores = regression_scores(np.array([1.0, 2.0, 6.0]), np.full(3, 3.0 + 1e-9), np.ones(3))
    assert all("-0.0 " not in f"{value} " for _, value, _ in formatted_scores({**scores, "explained": -1e-9}))
    proba = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert formatted_scores(classification_scores(np.array([0, 0]), proba))[1][1] == "0.0000"


def test_a_row_at_the_origin_of_a_linear_kernel_is_like_none():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, -1.0], [-1.0, 1.0], [-2.0, -1.0], [1.0, -2.0]])
    estimator = gpclass.GPClassifier(Linear(), hyper="fixed", standardize=False).fit(X, [0, 1, 1, 0, 0, 1])
    np.testing.assert_allclose(similarity(estimator, X[:3]), [0.0, 1.0, 1.0])


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """A file with dates, text of few words and missing values, and its model."""
    rng = np.random.default_rng(2)
    when = pd.date_range("2024-01-01 08:00", periods=70, freq="29h")
    late = rng.random(70) < 0.4
    frame = pd.DataFrame(
        {
            "when": when.strftime("%Y-%m-%d %H:%M"),
            "note": [f"Parcel {i}{' late' if own else ' in time'}" for i, own in enumerate(late)],
            "size": np.where(rng.random(70) < 0.2, np.nan, rng.normal(size=70).round(2)),
            "result": np.where((when.day_of_week >= 5) | late, "wait", "go"),
        }
    )
    frame.loc[4, "when"] = None
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    frame.to_csv(path, index=False)
    return frame, TableModel("result").fit(read_table(path))


def test_dates_and_text_of_a_file_are_used(visits, tmp_path):
    frame, model = visits
    assert [(own.name, own.kind) for own in model.schema_.columns] == [
        ("when", "date"),
        ("note", "text"),
        ("size", "number"),
    ]
    summaries = {own.name: own.summary() for own in model.schema_.columns}
    assert summaries["when"].startswith("2024-01-01 08:00:00 to 2024-03-24")
    assert summaries["note"].startswith("text with the frequent words")
    assert model.scores_["error"] < 0.15
    found = explain(model)["columns"]
    assert found[0]["column"] == "note"
    assert {row["column"] for row in found} == {"when", "note", "size"}
    again = gpclass.load(gpclass.save(model, tmp_path / "visits.gpclass"))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    # The same from a data frame with times, and from one with time zones.
    typed = frame.assign(when=pd.to_datetime(frame["when"]))
    np.testing.assert_array_equal(model.predict_proba(typed), model.predict_proba(frame))
    zoned = typed.assign(when=typed["when"].dt.tz_localize("Europe/Berlin"))
    np.testing.assert_array_equal(model.predict_proba(zoned), model.predict_proba(frame))
    assert "text with the frequent words" in card(again)
    same = {row["column"]: row for row in check_drift(again, frame)["columns"]}
    assert not any(row["changed"] for row in same.values())
    later = frame.assign(when=(pd.to_datetime(frame["when"]) + pd.Timedelta(days=400)).astype(str))
    moved = {row["column"]: row for row in check_drift(again, later)["columns"]}
    assert moved["when"]["changed"]
    assert moved["when"]["out_of_range"] == 1.0
    assert not moved["note"]["changed"]


def test_a_cell_that_is_no_date_is_refused_with_its_place(visits):
    frame, model = visits
    with pytest.raises(TableError, match="row 1, column 'when': expected a date such as 2024-01-31, got 'soon'"):
        model.predict(frame[:2].assign(when="soon"))
    wrong = frame.assign(when=frame["when"].where(frame.index != 7, "31.1.2024"))
    with pytest.raises(
        TableError, match=r"row 8, column 'when': expected a date such as 2024-01-31, got '31\.1\.2024'"
    ):
        TableModel("result").fit(wrong)
    assert TableModel("result", category=["when"]).fit(frame).schema_.used[0].kind == "category"


def test_views_take_dates(visits):
    frame, _ = visits
    model = TableModel("result", views={"times": ["when"], "sizes": ["size"]}).fit(frame)
    assert np.isfinite(model.predict_proba(frame.assign(when=None))).all()
    assert model.schema_.columns[1].why == "in no view"
