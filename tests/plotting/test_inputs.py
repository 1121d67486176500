"""What pictures are given: features by index or name, data frames with text, missing numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from gpclass import GPClassifier, GPRegressor, MultiTaskIVMRegressor
from gpclass.kernels import RBF
from gpclass.plotting import LatentDisplay, ProbabilityMapDisplay, TaskDisplay
from gpclass.plotting._canvas import shortened, spread_out
from gpclass.plotting._inputs import PlotInputs

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 60, 60),
            "town": rng.permutation(np.repeat(["Delft", "Ghent", "Leuven"], [15, 30, 15])),
            "height": rng.normal(170, 10, 60),
            "visits": rng.integers(0, 9, 60),
        }
    )
    y = np.where(frame["age"] + 10 * (frame["town"] == "Delft") > 40, "yes", "no")
    return frame, y, GPClassifier(hyper="fixed").fit(frame, y)


def test_other_columns_are_typical(table):
    frame, y, model = table
    display = ProbabilityMapDisplay.from_estimator(model, frame, y, features=("age", "height"), resolution=7)
    assert display.names == ("age", "height")
    age, height = display.grid
    row = pd.DataFrame(
        {"age": [age[2]], "town": ["Ghent"], "height": [height[5]], "visits": [frame["visits"].median()]}
    )
    np.testing.assert_allclose(display.proba[5, 2], model.predict_proba(row)[0])
    by_place = ProbabilityMapDisplay.from_estimator(model, frame, features=(0, -2), resolution=7)
    np.testing.assert_array_equal(by_place.proba, display.proba)
    np.testing.assert_array_equal(display.rows, frame[["age", "height"]])


def test_frames_of_polars(table):
    frame, y, _ = table
    other = pl.DataFrame(frame.to_dict(orient="list"))
    model = GPClassifier(hyper="fixed").fit(other, y)
    display = ProbabilityMapDisplay.from_estimator(model, other, y, features=("age", "height"), resolution=5)
    expected = ProbabilityMapDisplay.from_estimator(table[2], frame, features=("age", "height"), resolution=5)
    np.testing.assert_allclose(display.proba, expected.proba)


def test_missing_values_change_nothing_but_themselves(table):
    frame, y, model = table
    holes = frame.astype({"visits": "Int64"})
    holes.loc[3, "height"] = np.nan
    holes.loc[4, "visits"] = pd.NA
    holes.loc[5, "town"] = None
    display = ProbabilityMapDisplay.from_estimator(model, holes, y, features=("age", "height"), resolution=5)
    assert np.all(np.isfinite(display.proba))
    known = holes["height"].dropna()
    width = known.max() - known.min()
    np.testing.assert_allclose(display.grid[1][[0, -1]], [known.min() - 0.06 * width, known.max() + 0.06 * width])
    assert np.isnan(display.rows[3, 1])
    numbers = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": pd.array([1, None, 5], dtype="Int64")})
    np.testing.assert_array_equal(PlotInputs(numbers).values, [[1, 1], [np.nan, np.nan], [3, 5]])


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (("age", "town"), "expected a numeric column, got 'town', which holds categories"),
        (("age", 1), "expected a numeric column, got 'town', which holds categories"),
        (("age", "weight"), r"the name of one of \['age', 'town', 'height', 'visits'\], got 'weight'"),
        (("age", 4), "expected the index of one of 4 columns or the name .*, got 4"),
        (("age", 1.0), "expected the index of one of 4 columns or the name .*, got 1.0"),
        (("age", 0), r"expected two different features, by index or name, got \('age', 0\)"),
        (("age",), r"expected two different features, by index or name, got \('age',\)"),
        ("age", "expected two different features, by index or name, got 'age'"),
    ],
)
def test_features_that_cannot_be(table, features, message):
    frame, _, model = table
    with pytest.raises(ValueError, match=message):
        ProbabilityMapDisplay.from_estimator(model, frame, features=features)


def test_rows_that_cannot_be():
    with pytest.raises(ValueError, match="expected the index of one of 2 columns, got 'age'"):
        PlotInputs(np.zeros((3, 2))).index("age")
    with pytest.raises(ValueError, match="expected numbers, or a data frame for categorical columns, got list"):
        PlotInputs([["a", 1.0], ["b", 2.0]])
    with pytest.raises(ValueError, match="expected columns with different names, got 'a' more than once"):
        PlotInputs(pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]))
    with pytest.raises(ValueError, match="expected numbers in column 'x2', got none"):
        PlotInputs([[1.0, np.nan], [2.0, np.nan]]).index(1)


def test_a_constant_column_has_some_width():
    X = np.column_stack([np.linspace(0, 1, 20), np.full(20, 3.0)])
    model = GPClassifier(10.0 * RBF(0.3), hyper="fixed").fit(X, X[:, 0] > 0.5)
    display = ProbabilityMapDisplay.from_estimator(model, X, resolution=5)
    np.testing.assert_allclose(display.grid[1][[0, -1]], [2.5, 3.5])


def test_a_feature_by_its_name_along_lines(table):
    frame, _, _ = table
    target = np.sin(frame["age"] / 10) + 0.1 * frame["visits"]
    model = GPRegressor(hyper="fixed").fit(frame, target)
    display = LatentDisplay.from_estimator(model, frame, target, feature="visits", resolution=9)
    rows = pd.DataFrame(
        {
            "age": frame["age"].median(),
            "town": "Ghent",
            "height": frame["height"].median(),
            "visits": display.along,
        }
    )
    np.testing.assert_allclose(display.mean[:, 0], model.predict(rows))
    assert display.ax_.get_xlabel() == "visits"
    with pytest.raises(ValueError, match="got 'town', which holds categories"):
        LatentDisplay.from_estimator(model, frame, feature="town")


def test_tasks_of_a_frame_with_text():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "kind": rng.permuted(np.tile(np.repeat(["a", "b"], [14, 6]), (2, 1)), axis=1).ravel(),
            "x": rng.uniform(-3, 3, 40),
        }
    )
    task, y = np.repeat([0, 1], 20), np.sin(frame["x"]).to_numpy()
    model = MultiTaskIVMRegressor(n_active=15, hyper="fixed").fit(frame, y, task=task)
    display = TaskDisplay.from_estimator(model, frame, y, task, feature="x")
    along, mean, sd = display.panels[1]["curve"]
    expected = model.predict(pd.DataFrame({"kind": "a", "x": along}), task=1, return_std=True)
    np.testing.assert_allclose((mean, sd), expected)
    with pytest.raises(ValueError, match="expected y of 40 rows, as X has, got 39"):
        TaskDisplay.from_estimator(model, frame, y[1:], task, feature="x")


def test_names_are_moved_apart_no_further_than_need_be():
    np.testing.assert_allclose(spread_out(np.array([0.0, 5.0, 9.0]), 1.0, 0.0, 10.0), [0, 5, 9])
    moved = spread_out(np.array([5.0, 5.1, 5.2, 9.9]), 1.0, 0.0, 10.0)
    assert np.diff(moved).min() >= 1.0 - 1e-12
    np.testing.assert_allclose(moved[:3].mean(), 5.1)
    np.testing.assert_allclose(spread_out(np.full(5, 9.0), 4.0, 0.0, 10.0), [0, 2.5, 5, 7.5, 10])


def test_long_names_keep_their_ends():
    names = {shortened(f"a category with a very long name, number {k}") for k in range(3)}
    assert len(names) == 3
    assert max(map(len, names)) == 28
    assert shortened("short") == "short"
