"""What columns are taken for."""

import re

import numpy as np
import pandas as pd
import pytest

from gpclass.tabular import Schema, TableError, from_frame


def kind(values, name="x", **overruling):
    frame = pd.DataFrame({name: values, "other": np.arange(len(values)) % 3 + 0.5})
    (column, _) = Schema.learn(from_frame(frame), **overruling).columns
    return column


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5, 2.0, None, 3.0], "number"),
        (["red", "blue", None, "red", "red"], "category"),
        ([True, False, True, True], "category"),
        ([None, None, None], "left out"),
        (["a", "a", "a"], "left out"),
        (["1", "1.0", "1"], "left out"),
        (["here", None, "here"], "category"),
        ([f"name {i}" for i in range(9)], "id"),
        ([f"name {i % 70}" for i in range(100)], "id"),
        ([f"name {i % 70}" for i in range(300)], "id"),
        ([f"name {i % 40}" for i in range(100)], "category"),
        ([f"name {i % 60}" for i in range(600)], "category"),
        (list(range(1, 21)), "id"),
        ([3, 1, 4, 15, 9, 2, 6], "number"),
        (["2024-01-31", "2023-12-24", "2024-01-31"], "date"),
        (["2024-01-31 12:30", None, "2024-01-31T13:00:05+01:00"], "date"),
        ([f"{mood} day {i}" for i in range(6) for mood in ("good", "bad")], "text"),
        (["31.1.2024", "24.12.2023", "1.2.2024"], "left out"),
    ],
)
def test_kinds(values, expected):
    assert kind(values).kind == expected


def test_a_name_that_says_id_makes_one_of_different_numbers():
    values = [3, 1, 4, 15, 9, 2, 6]
    assert kind(values, "patient_id").kind == "id"
    assert kind(values, "width").kind == "number"


def test_wishes_overrule():
    assert kind(list(range(1, 21)), keep=["x"]).kind == "number"
    assert kind([1, 2, 1, 2], category=["x"]).kind == "category"
    assert kind([1.0, 2.5, 1.0], drop=["x"]).kind == "left out"
    with pytest.raises(TableError, match="expected a column named 'y'"):
        kind([1.0, 2.5], drop=["y"])


def test_text_among_numbers_is_a_mistake_with_a_place():
    with pytest.raises(TableError, match=r"row 3, column 'x': expected a number, as in 3 of 4 rows, got 'five'"):
        kind(["1", "2.5", "five", "4"])
    assert kind(["1", "2.5", "five", "4"], category=["x"]).kind == "category"


def test_numbers_without_end_are_refused():
    with pytest.raises(TableError, match="expected a smaller number, got '1e999'"):
        kind(["1", "1e999", "2"])


def test_nothing_to_learn_from_says_why():
    with pytest.raises(TableError, match="'x' is 'a' in every row"):
        Schema.learn(from_frame(pd.DataFrame({"x": ["a", "a"]})))


def test_later_tables_are_held_to_the_first(frame):
    schema = Schema.learn(from_frame(frame), without=["species"])
    made, notes = schema.frame(from_frame(frame))
    assert list(made.columns) == ["size", "weight", "colour"]
    assert notes == []
    with pytest.raises(TableError, match="'size', 'colour' are missing; it has 'plant'"):
        schema.frame(from_frame(frame[["plant", "weight"]]))
    with pytest.raises(TableError, match=r"'size' is missing; .*; did you mean 'Size'"):
        schema.frame(from_frame(frame.rename(columns={"size": "Size"})))
    with pytest.raises(TableError, match="row 1, column 'size': expected a number, got 'big'"):
        schema.frame(from_frame(frame.assign(size="big")))
    unknown = frame.assign(colour="green")
    unknown.loc[4, "size"] = np.nan
    _, notes = schema.frame(from_frame(unknown))
    assert any("'green' was not in the training table" in note for note in notes)
    assert any("'size': a missing value, replaced by" in note for note in notes)


def test_visits_of_patients_are_not_learned_by_heart():
    visits = [17 * i % 1000 for i in range(40)] * 3
    assert kind(visits, "patient_id").kind == "id"
    assert kind([f"P{i}" for i in visits], "patient id").kind == "id"
    assert kind(visits, "height").kind == "number"
    assert kind(visits, "centroid-row").kind == "number"
    assert kind(visits, "patient_id", keep=["patient_id"]).kind == "number"


@pytest.mark.parametrize(
    "values",
    [["35%", "40%", "70%"], ["86.0 mg", "9.5 mg", "7 mg"], ["1 000", "2 000", "900 000"], ["$3", "$4.50", "$12"]],
)
def test_numbers_with_units_are_refused_by_name(values):
    expected = f"row 1, column 'x': expected numbers without units, got '{values[0]}'"
    with pytest.raises(TableError, match=re.escape(expected) + ".*--category 'x'"):
        kind(values * 4)
    assert kind(values * 4, category=["x"]).kind == "category"
    assert kind(["red", "blue", "white"] * 4).kind == "category"
    assert kind(["1st", "2nd", "3rd"] * 4).kind == "category"


@pytest.mark.parametrize("dash", ["-", "--"])
def test_a_dash_is_missing_among_numbers_and_a_value_among_text(dash):
    column = kind(["1", dash, "2.5", None, "4"])
    assert (column.kind, column.n_missing, column.low) == ("number", 2, 1.0)
    column = kind(["+", dash, "+", None, dash, dash])
    assert (column.kind, column.n_missing, column.counts) == ("category", 1, ((dash, 3), ("+", 2)))
    assert kind(["1", dash, "2", "1"], category=["x"]).counts == (("1", 2), (dash, 1), ("2", 1))
    assert kind([dash, dash, None]).why == "empty"
    with pytest.raises(TableError, match="row 4, column 'x': expected a number, as in 2 of 3 rows, got 'five'"):
        kind([dash, "1", "2.5", "five", dash, dash, dash])


def test_dashes_make_no_categories_of_dates_and_names_of_rows():
    column = kind(["2024-01-31", "-", "2024-01-31", "2023-12-24"])
    assert (column.kind, column.n_missing) == ("date", 1)
    assert column.summary() == "2023-12-24 to 2024-01-31, median 2024-01-31, 1 missing"
    assert kind([*[f"name {i}" for i in range(9)], "-", "-"]).kind == "id"


def test_dashes_of_later_tables_are_read_as_those_of_the_first():
    first = pd.DataFrame({"sign": ["+", "-", "+", "-"], "size": ["1", "-", "3", "2.5"]})
    schema = Schema.learn(from_frame(first))
    made, notes = schema.frame(from_frame(pd.DataFrame({"sign": ["-", "-"], "size": ["-", "--"]})))
    assert made["sign"].tolist() == ["-", "-"]
    assert made["size"].isna().all()
    assert notes == []
    made, _ = schema.frame(from_frame(pd.DataFrame({"sign": ["-", "-"], "size": ["-", "2"]})))
    np.testing.assert_array_equal(made["size"], [np.nan, 2.0])


def test_the_minus_of_typesetters_is_one():
    column = kind(["\u22125", "3", "7.5"])
    assert (column.kind, column.low) == ("number", -5.0)


def test_numbers_whose_squares_are_none_are_refused():
    with pytest.raises(TableError, match=r"row 2, column 'x': expected a smaller number, got '1e\+?200'"):
        kind(["1", "1e200", "2"])


def test_numbers_are_held_to_the_bound_of_the_estimators():
    with pytest.raises(TableError, match=r"row 2, column 'x': expected a smaller number, got '1e120'"):
        kind(["1", "1e120", "2"])
