"""Sets of labels of tables, in Python and from the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import gpclass
from gpclass.evaluation.prediction_sets import PredictionSets
from gpclass.tabular import TableModel
from gpclass.tabular.tables import TableError
from tests.tabular.conftest import flowers
from tests.tabular.test_commands import one_line, run


def plain_sets(model, frame, coverage, by_class=False, weights=None):
    labels = model.classes_[model.scored_["labels"]]
    sets = PredictionSets.calibrate(labels, model.scored_["proba"], model.classes_, coverage, by_class, weights)
    return sets.of(model.predict_proba(frame))


@pytest.mark.parametrize("by_class", [False, True])
def test_sets_are_calibrated_by_the_scored_predictions(model, frame, by_class):
    found = model.predict_set(frame, 0.8, by_class)
    np.testing.assert_array_equal(found, plain_sets(model, frame, 0.8, by_class))
    np.testing.assert_array_equal(found, model.estimator_.predict_set(model.frame(frame)[0], 0.8, by_class))


def test_weights_are_those_of_the_scored_rows(frame, fixed_parameters):
    weights = np.where(frame["colour"] == "red", 4.0, 1.0)
    weights[::7] = 0.0
    model = TableModel("species", weights="w").fit(frame.assign(w=weights))
    np.testing.assert_array_equal(model.scored_weights_, weights[weights > 0])
    found = model.predict_set(frame, 0.6)
    np.testing.assert_array_equal(found, plain_sets(model, frame, 0.6, weights=model.scored_weights_))
    np.testing.assert_array_equal(found, model.estimator_.predict_set(model.frame(frame)[0], 0.6))


def test_models_without_unbiased_leave_one_out_predictions_use_held_out_rows(frame, fixed_parameters):
    model = TableModel("species", engine="ivm").fit(frame)
    assert model.how_ == "held-out"
    with pytest.raises(ValueError, match="rows that were not kept"):
        model.estimator_.predict_set(model.frame(frame)[0], 0.8)
    np.testing.assert_array_equal(model.predict_set(frame, 0.8), plain_sets(model, frame, 0.8))
    with pytest.raises(ValueError, match=r"expected at least 19 rows for a coverage of 0.95, got 12"):
        model.predict_set(frame, 0.95)


def test_ordered_labels(ordinal_model, frame):
    found = ordinal_model.predictions(frame, coverage=0.9)["set"]
    members = ordinal_model.predict_set(frame, 0.9)
    assert found.tolist() == ["|".join(ordinal_model.classes_[row]) for row in members]


def test_a_column_of_sets(model_file, tmp_path):
    frame, table_file, out = flowers(seed=1), tmp_path / "new.csv", tmp_path / "p.csv"
    frame.to_csv(table_file, index=False)
    ran = run("predict", model_file, table_file, "--sets", "0.98", "--out", out)
    assert ran.exit_code == 0, ran.output
    table, model = pd.read_csv(out), gpclass.load(model_file)
    assert list(table.columns[:5]) == ["line", "plant", "prediction", "set", "p_daisy"]
    expected = ["|".join(model.classes_[row]) for row in model.predict_set(frame, 0.98)]
    assert table["set"].tolist() == expected
    assert "daisy|rose" in expected
    assert set(expected) <= {"daisy", "rose", "daisy|rose"}
    without = json.loads(run("predict", model_file, table_file, "--json").stdout)["predictions"]
    given = json.loads(run("predict", model_file, table_file, "--sets", "0.98", "--json").stdout)["predictions"]
    assert given.pop("set") == expected
    assert given == without


def test_what_cannot_be_is_one_line(model_file, table_file, regression_model, frame, tmp_path, fixed_parameters):
    for given in ("0", "1", "90", "nan"):
        ran = run("predict", model_file, table_file, "--sets", given)
        assert "expected a coverage between 0 and 1, such as 0.9, got" in one_line(ran)
        assert not ran.stdout
    assert "expected at least 99 rows" in one_line(run("predict", model_file, table_file, "--sets", "0.99"))
    assert run("predict", model_file, table_file, "--sets", "many").exit_code == 2
    assert "--sets cannot be combined with --dask" in one_line(
        run("predict", model_file, table_file, "--sets", "0.9", "--dask", "--out", tmp_path / "d"), 2
    )
    numbers = gpclass.save(regression_model, tmp_path / "r.gpclass")
    assert "got a regression" in one_line(run("predict", numbers, table_file, "--sets", "0.9"))
    barred = TableModel("species").fit(frame.assign(species=frame["species"].replace("rose", "r|s")))
    with pytest.raises(TableError, match=r"labels without '\|'"):
        barred.predictions(frame, coverage=0.9)
    assert barred.predict_set(frame, 0.9).shape == (60, 2)
