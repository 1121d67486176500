"""Drift of a new table against the training table: what is reported, and what is not."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from gpclass.tabular import TableError, TableModel, check_drift
from gpclass.tabular.drift import _of_categories, _of_new_categories, _of_numbers
from tests.tabular.conftest import flowers


def by_column(found):
    return {row["column"]: row for row in found["columns"]}


@pytest.fixture(scope="module")
def larger():
    return flowers(400, seed=5)


@pytest.fixture(scope="module")
def larger_model(larger):
    with pytest.MonkeyPatch.context() as patch:
        import gpclass

        fixed = gpclass.GPClassifier
        patch.setattr(gpclass, "GPClassifier", lambda *args, **more: fixed(*args, hyper="fixed", **more))
        return TableModel("species").fit(larger)


def test_rows_of_the_same_kind_have_not_changed(larger_model, larger):
    for table in (larger, flowers(200, seed=6)):
        found = check_drift(larger_model, table)
        assert not any(row["changed"] for row in found["columns"])
        assert not found["far"]["changed"]
        assert not found["predictions"]["changed"]
        assert found["summary"] == "No change from the training table was detected."
    assert "few rows" in check_drift(larger_model, larger.iloc[:9])["summary"]


def test_every_change_is_named(larger_model):
    new = flowers(200, seed=7)
    new["size"] += 60.0
    new.loc[new.index % 2 == 0, "weight"] = np.nan
    new.loc[new["colour"] == "red", "colour"] = "green"
    new["leaf"] = 1
    found = check_drift(larger_model, new)
    columns = by_column(found)
    assert [row["column"] for row in found["columns"] if row["changed"]] == ["size", "weight", "colour"]
    assert columns["size"]["distance"] == 1.0
    assert columns["size"]["out_of_range"] == 1.0
    assert columns["weight"]["missing"] == new["weight"].isna().mean()
    assert columns["weight"]["missing_before"] == larger_model.schema_.columns[2].n_missing / 400
    assert columns["weight"]["distance"] < 0.2  # the values that are there have not changed
    assert columns["colour"]["new_categories"] == (new["colour"] == "green").mean()
    assert columns["colour"]["named"] == ["green"]
    assert found["far"]["changed"]
    assert found["far"]["share"] > 0.9
    assert found["unknown_columns"] == ["leaf"]
    assert found["summary"].startswith("3 of 3 columns have changed: 'size', 'weight', 'colour'; ")
    assert "% of the rows are far from the training rows" in found["summary"]


def test_distances_of_numbers_and_categories():
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=150), rng.normal(0.4, 1.0, size=90)
    both = np.sort(np.concatenate([before, after]))
    gaps = [abs(np.mean(before <= x) - np.mean(after <= x)) for x in both]
    assert _of_numbers(before, after)[0] == pytest.approx(max(gaps))
    assert _of_numbers(before, after[:0]) == (0.0, 1.0)
    distance, p = _of_categories({"a": 30, "b": 70}, {"a": 60, "b": 40})
    assert distance == pytest.approx(0.3)
    statistic = 4 * (15**2 / 45) / 2 + 4 * (15**2 / 55) / 2  # observed minus expected is 15 in every cell
    assert p == pytest.approx(chi2.sf(statistic, 1))
    rare = {f"r{i}": 1 for i in range(10)}
    assert _of_categories({"a": 90, **rare}, {"a": 45, "other": 5})[1] == pytest.approx(1.0)


def test_one_shift_among_many_columns_and_few_false_alarms(fixed_parameters):
    """Forty columns without drift: at most one of 20 tables has a reported change. At a level of 0.05 for each column
    nearly all would have one."""
    rng = np.random.default_rng(3)
    names = [f"x{i}" for i in range(40)]
    frame = pd.DataFrame(rng.normal(size=(120, 40)), columns=names).assign(t=["a", "b"] * 60)
    model = TableModel("t").fit(frame)
    alarms = 0
    for _ in range(5):
        new = pd.DataFrame(rng.normal(size=(80, 40)), columns=names)
        alarms += any(row["changed"] for row in check_drift(model, new)["columns"])
    assert alarms <= 2  # Binomial(5, 0.05) is larger with a probability of 0.001
    new["x7"] += 1.5
    assert [row["column"] for row in check_drift(model, new)["columns"] if row["changed"]] == ["x7"]


def test_numbers_and_ordered_labels(regression_model, ordinal_model, frame):
    found = check_drift(regression_model, frame)
    assert found["predictions"]["mean"] == pytest.approx(frame["size"].mean(), abs=0.3)
    assert not found["predictions"]["changed"]
    grades = check_drift(ordinal_model, frame.assign(size=20.0))
    assert grades["predictions"]["changed"]
    assert "the distribution of the predictions has changed" in grades["summary"]
    assert sum(row["share"] for row in grades["predictions"]["labels"]) == pytest.approx(1.0)


def test_tables_that_cannot_be_compared_are_refused(model, frame):
    with pytest.raises(TableError, match="'size' is missing"):
        check_drift(model, frame.drop(columns="size"))
    with pytest.raises(TableError, match="expected a number, got 'big'"):
        check_drift(model, frame.assign(size="big"))


def test_rows_that_are_kept_are_spread_over_the_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"t": np.arange(1001.0) + rng.uniform(size=1001), "y": np.where(rng.uniform(size=1001) < 0.5, "a", "b")}
    )
    model = TableModel("y", engine="sparse").fit(frame)
    quarters = np.histogram(np.array(model.sample_.columns["t"], float), bins=4)[0]
    assert quarters.min() > 100
    assert not any(row["changed"] for row in check_drift(model, frame)["columns"])


def test_many_categories_that_were_all_replaced(fixed_parameters):
    """Each is too rare for the chi-square test."""
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame({"a": rng.normal(size=n), "city": [f"c{i}" for i in rng.integers(120, size=n)]})
    frame["y"] = np.where(frame["a"] + 0.5 * rng.normal(size=n) > 0, "p", "q")
    model = TableModel("y", category=["city"], engine="laplace").fit(frame)
    same = frame.assign(city=[f"c{i}" for i in rng.integers(120, size=n)])
    assert not by_column(check_drift(model, same))["city"]["changed"]
    city = by_column(check_drift(model, frame.assign(city="z" + same["city"])))["city"]
    assert city["changed"]
    assert city["p_value"] < 1e-10


@pytest.mark.parametrize(("n_before", "n", "n_categories"), [(60, 30, 10), (200, 200, 120), (100, 300, 1000)])
def test_new_categories_give_few_false_alarms(n_before, n, n_categories):
    """Random divisions of rows: the share is as expected, and p-values below 0.05 are at most one in 20."""
    rng = np.random.default_rng(1)
    cells = (n_categories * rng.random(n_before + n) ** 2).astype(int)
    found = []
    for _ in range(300):
        parts = np.split(rng.permutation(cells), [n_before])
        found.append(_of_new_categories(*(Counter(part.tolist()) for part in parts)))
    excess, p = np.array(found).T
    assert abs(excess.mean()) < 4 * excess.std() / np.sqrt(300)
    assert np.mean(p < 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_new_categories_by_hand():
    """Of four rows, one is new: a category of one row is new in one case of four."""
    assert _of_new_categories({"a": 3}, {"b": 1}) == pytest.approx((0.75, 0.25))
    assert _of_new_categories({"a": 2}, {"a": 1}) == pytest.approx((0.0, 1.0))
    assert _of_new_categories({"a": 2}, {}) == (0.0, 1.0)
