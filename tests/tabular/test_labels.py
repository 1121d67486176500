"""Labels that are numbers count by their value, whatever they are written like; text such as "NA" may be a label."""

import numpy as np
import pandas as pd
import pytest

from gpclass.tabular import TableError, TableModel, compare_on_table, from_frame, read_table
from tests.tabular.test_commands import run


@pytest.fixture(autouse=True)
def quick(fixed_parameters, two_candidates):
    pass


def labelled(frame, low, high):
    """Numbers, and a label for small and large sizes; of several spellings of a label the rows take turns."""
    low, high = np.atleast_1d(low), np.atleast_1d(high)
    y = [(high[i % len(high)] if size > 5 else low[i % len(low)]) for i, size in enumerate(frame["size"])]
    return frame[["size"]].assign(y=y)


def as_csv(table, path):
    table.to_csv(path, index=False)
    return read_table(path)


def test_one_number_is_one_label_in_a_file(frame, tmp_path):
    table = as_csv(labelled(frame, ["1", "1.0"], "2"), tmp_path / "t.csv")
    model = TableModel("y").fit(table)
    assert model.classes_.tolist() == [1, 2]
    assert sum(model._counts.values()) == 60
    assert model.evaluate(table)[0]["rows"] == 60
    result, _ = compare_on_table(table, "y", folds=2)
    assert result.scores
    ordered = TableModel("y", order=[2, 1]).fit(table)
    assert ordered.classes_.tolist() == [2, 1]


def test_codes_and_strings_are_no_numbers(frame, tmp_path):
    for spelled in (["007", "7"], ["9007199254740992", "9007199254740993"]):
        assert len(TableModel("y").fit(as_csv(labelled(frame, spelled, "2"), tmp_path / "t.csv")).labels) == 3
    assert TableModel("y").fit(labelled(frame, ["1", "1.0"], "2")).labels == ["1", "1.0", "2"]


def test_a_mark_that_is_a_number_counts_by_value(frame, tmp_path):
    table = labelled(frame, "1.0", "2.0")
    table.loc[::3, "y"] = "0.0"
    model = TableModel("y", unlabelled="0").fit(as_csv(table, tmp_path / "t.csv"))
    assert model.labels == ["1.0", "2.0"]
    assert model.evaluate(as_csv(table, tmp_path / "t.csv"))[0]["rows"] == 40


def test_labels_of_one_kind_of_file_are_those_of_another(frame, tmp_path):
    table = labelled(frame, 0.0, 1.0)
    table.to_parquet(tmp_path / "t.parquet")
    text, binary = as_csv(table, tmp_path / "t.csv"), read_table(tmp_path / "t.parquet")
    assert "0.0" in text.columns["y"]
    for learned, later in ((text, binary), (binary, text), (table, text)):
        scores, _, _ = TableModel("y").fit(learned).evaluate(later)
        assert (scores["rows"], scores["error"] < 0.1) == (60, True)
    with pytest.raises(TableError, match=r"expected one of '0', '1', got '0\.5'"):
        TableModel("y").fit(binary).evaluate(as_csv(labelled(frame, "0.5", "1.0"), tmp_path / "t.csv"))


def test_whole_numbers_that_no_64_bits_hold_are_text(frame, tmp_path):
    small, large = str(10**20), str(10**20 + 1)
    for table in (labelled(frame, small, large), labelled(frame, int(small), int(large)).astype({"y": object})):
        for own in (table, as_csv(table, tmp_path / "t.csv")):
            model = TableModel("y").fit(own)
            assert model.classes_.tolist() == [small, large]
            assert model.evaluate(own)[0]["error"] < 0.1


def test_text_for_a_missing_value_is_reported_where_it_costs_rows(frame, tmp_path):
    table = labelled(frame, "Cl", "K")
    table.loc[:13, "y"] = "Na"
    table.loc[14, "y"] = ""
    model = TableModel("y").fit(as_csv(table, tmp_path / "t.csv"))
    path = tmp_path / "t.csv"
    assert model.labels == ["Cl", "K"]
    assert f"{path}: 14 rows have 'Na' as 'y', which marks a missing value, left out" in model.notes_
    assert f"{path}: 1 row has no 'y', left out" in model.notes_
    assert any("14 rows have 'Na' as 'y'" in note for note in model.evaluate(read_table(path))[2])
    assert any("14 rows have 'Na' as 'y'" in note for note in compare_on_table(read_table(path), "y", folds=2)[1])
    notes = run("fit", path, "-t", "y").stderr
    assert "note: " in notes
    assert "14 rows have 'Na' as 'y'" in notes


def test_strings_of_a_data_frame_are_labels_whatever_they_say(frame, tmp_path):
    table = labelled(frame, "null", "Na")
    table.loc[:4, "y"] = ["", None, np.nan, pd.NA, "  "]
    model = TableModel("y").fit(table)
    assert model.classes_.tolist() == model.labels == ["Na", "null"]
    assert model.notes_[0] == "the table: 5 rows have no 'y', left out"
    assert set(model.predict(table)) == {"Na", "null"}
    assert model.evaluate(table)[0]["rows"] == 55
    # What was learned as a label is one in a file too.
    assert model.evaluate(as_csv(table, tmp_path / "t.csv"))[0]["rows"] == 55
    assert TableModel("y", unlabelled="?").fit(table.assign(y=["?"] * 20 + ["a", "b"] * 20)).labels == ["a", "b"]
    # Among numbers such text is a missing value, like a dash.
    table["y"] = ["NA"] * 10 + ["0", "1"] * 25
    assert TableModel("y").fit(table).labels == ["0", "1"]
    assert TableModel("y", regress=True).fit(table).about_["rows"] == 50
    assert from_frame(table).columns["y"][0] is None


def test_evaluation_goes_by_the_weights_of_the_table(frame):
    rng = np.random.default_rng(0)
    table = frame.assign(times=rng.integers(1, 4, 60))
    table.loc[0, "times"] = 0
    table.loc[[1, 2], "species"] = "rose"
    model = TableModel("species", weights="times").fit(table)
    scores, predicted, notes = model.evaluate(table)
    copies = table.loc[table.index.repeat(table["times"])]
    copied = model.evaluate(copies.drop(columns="times"))
    for name in ("error", "log_loss", "calibration_error", "guess_error"):
        assert scores[name] == pytest.approx(copied[0][name])
    assert len(predicted["labels"]) == scores["rows"] == 59
    assert "rows are weighted by column 'times'" in notes
    assert "the table has no column 'times' of weights: every row counts once" in copied[2]
    with pytest.raises(TableError, match="expected a weight above zero in column 'times', got none"):
        model.evaluate(table.assign(times=0))
