"""Dates, times and text in data frames."""

import re
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest

import gpclass
from gpclass import GPClassifier, GPRegressor, SparseGPClassifier
from gpclass.estimators import _dates
from gpclass.estimators._dates import Times, parse_iso
from gpclass.estimators._frames import FrameColumns, with_unit
from gpclass.estimators._words import Words
from gpclass.kernels import RBF

N = 72
HOURS = pd.date_range("2023-03-01 06:00", periods=N, freq="31h")
FRAME = pd.DataFrame({"when": HOURS, "x": np.random.default_rng(0).normal(size=N)})
#: Open on weekdays.
OPEN = np.where(HOURS.day_of_week < 5, "open", "closed")
CYCLES = [
    "when (time of day, sine)",
    "when (time of day, cosine)",
    "when (day of week, sine)",
    "when (day of week, cosine)",
]


def test_the_features_of_a_date_by_hand():
    model = GPClassifier(hyper="fixed").fit(FRAME, OPEN)
    assert model.input_names_ == ["when", "x", *CYCLES]
    assert list(model.feature_names_in_) == ["when", "x"]
    found = model._inputs.check(model, FRAME)[0]
    elapsed = (HOURS - pd.Timestamp("2023-03-01")).total_seconds() / 86400
    day = 2.0 * np.pi * (HOURS.hour / 24 + HOURS.minute / 1440)
    week = 2.0 * np.pi * (HOURS.day_of_week + 4) / 7  # day 0 of 1970 was a Thursday
    expected = np.column_stack([elapsed, FRAME["x"], np.sin(day), np.cos(day), np.sin(week), np.cos(week)])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_day_of_the_week_is_learned(tmp_path):
    model = GPClassifier().fit(FRAME[:60], OPEN[:60])
    assert model.score(FRAME[60:], OPEN[60:]) > 0.9
    again = gpclass.load(gpclass.save(model, tmp_path / "m.gpclass"))
    np.testing.assert_array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))


@pytest.mark.parametrize(
    ("start", "freq", "cycles"),
    [
        ("2023-03-01", "D", ("day of week",)),
        ("2023-03-01", "h", ("time of day",)),
        ("2023-03-01", "7D", ("day of year",)),
        ("2023-03-01", "8D", ("day of week", "day of year")),
        ("2023-03-01", "5min", ()),
        ("2023-03-01 12:00", "31D", ("day of week", "day of year")),
    ],
)
def test_only_cycles_that_rows_cover_count(start, freq, cycles):
    assert Times.fit("when", pd.Series(pd.date_range(start, periods=N, freq=freq))).cycles == cycles


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(HOURS.to_pydatetime(), dtype=object),
        pd.Series(HOURS.astype("datetime64[s]")),
        pd.Series(HOURS.astype("timestamp[us][pyarrow]")),
        pd.Series(HOURS.strftime("%Y-%m-%dT%H:%M")),
        pl.Series(HOURS.to_pydatetime().tolist()),
    ],
    ids=["objects", "seconds", "pyarrow", "text", "polars"],
)
def test_all_kinds_of_columns_agree(column):
    expected = Times.fit("when", FRAME["when"])
    assert Times.fit("when", column) == expected
    np.testing.assert_allclose(expected.transform("when", column), expected.transform("when", FRAME["when"]))


def test_dates_without_times_in_frames_of_pandas_and_polars():
    days = [date(2024, 1, 1) + timedelta(days=9 * i) for i in range(N)]
    pandas, polars = (
        pd.DataFrame({"day": days, "x": FRAME["x"]}),
        pl.DataFrame({"day": days, "x": FRAME["x"].to_numpy()}),
    )
    model = GPClassifier("matern", hyper="fixed").fit(pandas, OPEN)
    assert model.input_names_[2:] == [
        f"day ({c}, {p})" for c in ("day of week", "day of year") for p in ("sine", "cosine")
    ]
    other = GPClassifier("matern", hyper="fixed").fit(polars, OPEN)
    np.testing.assert_allclose(other.predict_proba(polars), model.predict_proba(pandas), rtol=1e-12)


def test_missing_dates_are_filled_and_are_nowhere_on_a_cycle():
    gappy = FRAME.copy()
    gappy.loc[::6, "when"] = pd.NaT
    model = GPClassifier(hyper="fixed").fit(gappy, OPEN)
    assert model.input_names_ == ["when", "x", "when (missing)", *CYCLES]
    rows = model._inputs.check(model, gappy)[0]
    assert np.all(rows[::6, 2] == 1.0)
    assert np.all(rows[::6, 3:] == 0.0)
    assert np.all(rows[::6, 0] == np.nanmedian(rows[rows[:, 2] == 0.0, 0]))
    nothing = FRAME[:3].assign(when=None)
    np.testing.assert_array_equal(model.predict_proba(nothing), model.predict_proba(nothing.assign(when=pd.NaT)))


def test_local_time_counts_and_zones_do_not_mix():
    local = FRAME["when"].dt.tz_localize("Europe/Berlin", nonexistent="shift_forward", ambiguous=True)
    times = Times.fit("when", local)
    assert times.zone == "Europe/Berlin"
    plain = Times.fit("when", FRAME["when"])
    assert np.abs(times.transform("when", local) - plain.transform("when", FRAME["when"])).max() <= 1 / 24
    polars = pl.Series(FRAME["when"].to_list()).dt.replace_time_zone(
        "Europe/Berlin", ambiguous="earliest", non_existent="null"
    )
    found, expected = times.transform("when", polars), times.transform("when", local)
    np.testing.assert_array_equal(found[~np.isnan(found)], expected[~np.isnan(found)])
    for other, got in ((FRAME["when"], "dates without a time zone"), (local.dt.tz_convert("Asia/Tokyo"), "Asia/Tokyo")):
        with pytest.raises(ValueError, match=f"'when': expected times in Europe/Berlin, as in fit, got .*{got}"):
            times.transform("when", other)
    summer = pd.Series(["2024-07-01T10:00:00+02:00", "2024-12-01T10:00:00+01:00", "2024-12-02T09:00:00Z"])
    mixed = Times.fit("when", summer)
    np.testing.assert_allclose(mixed.transform("when", summer) % 1 * 24, [10.0, 10.0, 9.0])
    both = pd.Series([datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)], dtype=object)
    with pytest.raises(
        ValueError, match="'when': expected times of one kind, got dates without a time zone and times in"
    ):
        Times.fit("when", both)
    assert (
        Times.fit("when", pd.Series([datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=2)))])).zone
        == "offsets to UTC"
    )


def test_durations_are_numbers():
    frame = pd.DataFrame({"took": pd.to_timedelta(np.arange(N) % 7, unit="D"), "x": FRAME["x"]})
    target = frame["took"].dt.total_seconds() / 86400 + 0.1 * frame["x"]
    model = GPRegressor(hyper="fixed").fit(frame, target)
    assert model.input_names_ == ["took", "x"]
    assert model.score(frame, target) > 0.9
    with pytest.raises(ValueError, match="column 'took': expected durations, as in fit, got dates without a time zone"):
        model.predict(frame.assign(took=HOURS))
    objects = GPRegressor(hyper="fixed").fit(frame.assign(took=frame["took"].astype(object)), target)
    np.testing.assert_allclose(objects.predict(frame), model.predict(frame))


def test_a_kernel_that_is_given_sees_days_since_the_first():
    model = GPClassifier(30.0 * RBF([10.0, 1.0]), hyper="fixed").fit(FRAME, OPEN)
    assert model.input_names_ == ["when", "x"]
    assert model.relevance_.shape == (2,)
    assert model._objective.problem.X[0, 0] == 0.25  # six in the morning of the first day


def test_what_is_no_date_is_refused():
    model = GPClassifier(hyper="fixed").fit(FRAME, OPEN)
    for wrong, got in ((3.0, "3.0 of float"), ("soon", "'soon' of str")):
        with pytest.raises(ValueError, match=f"column 'when': expected dates or times, got {got}"):
            model.predict(FRAME.assign(when=wrong))
    with pytest.raises(
        ValueError, match=r"expected a data frame with the columns of fit, among them \['when'\] with dates"
    ):
        model.predict(np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"column 'when': expected dates or times, got datetime\.time"):
        GPClassifier(hyper="fixed").fit(FRAME.assign(when=HOURS.time), OPEN)


@pytest.mark.parametrize("text", ["2024-1-5", "05.01.2024", "2024-13-01", "2024", "20240105", "a 2024-01-05"])
def test_other_text_is_no_date(text):
    assert parse_iso(text) is None


# ---- text -----------------------------------------------------------------------------------------------

NOTES = [f"{word} item {i}{' late' if i % 3 == 0 else ''}" for i, word in enumerate(["Red", "blue"] * (N // 2))]


def test_frequent_words_of_text_count():
    frame = FRAME[["x"]].assign(note=NOTES)
    late = np.array(["late" in note for note in NOTES])
    model = GPClassifier().fit(frame[:48], late[:48])
    assert model.input_names_ == ["x", "note", "note (blue)", "note (red)", "note (late)"]
    assert model.score(frame[48:], late[48:]) > 0.9
    rows = model._inputs.check(model, frame.assign(note="So LATE, and red!"))[0]
    np.testing.assert_array_equal(rows[0, 1:], [4.0, 0.0, 1.0, 1.0])
    missing = model._inputs.check(model, frame.assign(note=None))[0]
    np.testing.assert_array_equal(missing[0, 2:], 0.0)
    with pytest.raises(ValueError, match=r"expected inducing to be a word for X with text in \['note'\]"):
        SparseGPClassifier(hyper="fixed", inducing=np.zeros((3, 2))).fit(frame, late)


def test_values_that_repeat_are_categories_and_so_are_names_without_common_words():
    assert Words.fit(["north side", "south side"] * 20) is None
    assert Words.fit([f"name{i}" for i in range(40)]) is None
    assert Words.fit([f"item {i}" for i in range(40)]) is None  # a word of all rows says nothing
    categories = FrameColumns.fit(pd.DataFrame({"note": NOTES}), with_words=False)
    assert set(categories.categories) == {"note"}
    assert set(FrameColumns.fit(pd.DataFrame({"note": pd.Categorical(NOTES)}), with_words=True).categories) == {"note"}


@pytest.mark.parametrize("text", ["12 kg", "35%", "$3", "-4.5°", "1,5", "1 000", "8,600.0", "<0.5 mg", "3 €"])
def test_numbers_with_units_are_refused_by_name(text):
    assert with_unit(text)
    doses = pd.DataFrame({"dose": [re.sub(r"\d", str(i), text, count=1) for i in range(4)] * 3})
    with pytest.raises(
        ValueError, match="column 'dose': expected numbers or categories, got numbers written with a unit"
    ):
        GPClassifier(hyper="fixed").fit(doses, np.arange(12) % 2)
    model = GPClassifier(hyper="fixed").fit(doses.astype("category"), np.arange(12) % 2)
    assert set(model.categories_) == {"dose"}


@pytest.mark.parametrize("text", ["12", "-1.5", "1st", "2nd", "A12", "10-19", "1.2.3", "v2", "kg"])
def test_other_text_has_no_unit(text):
    assert not with_unit(text)


def test_equal_places_in_a_cycle_have_equal_features():
    days = 19000.0 + np.arange(700)
    for name, distinct in (("day of week", 7), ("time of day", 1)):
        assert len(np.unique(np.sin(_dates.CYCLES[name].phase(days)))) <= distinct
    clock = days + 8.0 / 24.0  # eight in the morning
    assert len(np.unique(_dates.CYCLES["time of day"].phase(clock))) == 1
    day = np.floor(365.2425 * 50 + 91.0)
    assert _dates.CYCLES["day of year"].phase(np.array([day]))[0] == pytest.approx(2 * np.pi * (day / 365.2425 - 50))
