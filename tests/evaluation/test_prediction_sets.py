"""Prediction sets: exact coverage by enumeration, and thresholds against a plain loop."""

import numpy as np
import pytest

import gpclass
from gpclass.evaluation.prediction_sets import PredictionSets

CLASSES = ["a", "b", "c"]


def plain_threshold(own, weights, coverage):
    """The largest probability of a true label that leaves enough rows at or above it."""
    needed = coverage * (sum(weights) + max(weights)) - 1e-9
    return max(t for t in own if sum(w for p, w in zip(own, weights, strict=True) if p >= t) >= needed)


def never_empty(own, codes):
    """Probabilities (n, 3) in which the labels have the given ones, and some other label half or more."""
    proba = np.zeros((len(own), 3))
    proba[np.arange(len(own)), (codes + 1) % 3] = 1.0 - own
    proba[np.arange(len(own)), codes] = own
    return proba


@pytest.mark.parametrize("coverage", [0.3, 0.5, 0.57, 0.6, 0.85, 0.9])
def test_exact_coverage_of_exchangeable_rows(coverage):
    """Each of n + 1 rows is equally likely to be the new one: it is covered in exactly ceil((n + 1) coverage) cases."""
    rng = np.random.default_rng(0)
    own, codes = rng.uniform(0.0, 0.5, 10), rng.integers(0, 3, 10)
    y, proba = np.array(CLASSES)[codes], never_empty(own, codes)
    covered = 0
    for new in range(10):
        rest = np.arange(10) != new
        sets = PredictionSets.calibrate(y[rest], proba[rest], CLASSES, coverage)
        covered += sets.of(proba[[new]])[0, codes[new]]
    assert covered == np.ceil(10 * coverage)


def test_exact_coverage_of_every_class():
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1, 2], [6, 8, 11])
    own = rng.uniform(0.0, 0.5, 25) * np.array([0.2, 0.6, 1.0])[codes]
    y, proba = np.array(CLASSES)[codes], never_empty(own, codes)
    covered = np.zeros(3)
    for new in range(25):
        rest = np.arange(25) != new
        sets = PredictionSets.calibrate(y[rest], proba[rest], CLASSES, 0.8, by_class=True)
        covered[codes[new]] += sets.of(proba[[new]])[0, codes[new]]
    np.testing.assert_array_equal(covered, np.ceil(0.8 * np.array([6, 8, 11])))


@pytest.mark.parametrize("by_class", [False, True])
def test_coverage_under_weights(by_class):
    """The new row is each of the n + 1 with a probability in proportion to its weight, and none is heaviest alone."""
    rng = np.random.default_rng(2)
    codes = np.repeat([0, 1, 2], 12)
    own, weights = rng.uniform(0.0, 0.5, 36), rng.choice([0.5, 1.0, 2.0], 36)
    for k in range(3):
        weights[codes == k] = np.append(weights[codes == k][:-2], [2.0, 2.0])
    y, proba, covered = np.array(CLASSES)[codes], never_empty(own, codes), np.zeros(36)
    for new in range(36):
        rest = np.arange(36) != new
        sets = PredictionSets.calibrate(y[rest], proba[rest], CLASSES, 0.7, by_class, sample_weight=weights[rest])
        covered[new] = sets.of(proba[[new]])[0, codes[new]]
    groups = [codes == k for k in range(3)] if by_class else [codes >= 0]
    for rows in groups:
        reached = np.average(covered[rows], weights=weights[rows])
        assert 0.7 <= reached <= 0.7 + 2.0 * weights.max() / weights[rows].sum()


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_thresholds_are_those_of_a_plain_loop(by_class, weighted):
    rng = np.random.default_rng(3)
    proba = rng.dirichlet(np.ones(3), 300).round(1)  # with ties
    codes = rng.integers(0, 3, 300)
    weights = rng.choice([0.0, 1.0, 2.5], 300) if weighted else np.ones(300)
    y, own = np.array(CLASSES)[codes], proba[np.arange(300), codes]
    for coverage in (0.05, 0.5, 0.9, 0.95):
        sets = PredictionSets.calibrate(y, proba, CLASSES, coverage, by_class, weights if weighted else None)
        groups = [codes == k for k in range(3)] if by_class else [codes >= 0] * 3
        expected = [plain_threshold(own[rows].tolist(), weights[rows].tolist(), coverage) for rows in groups]
        assert sets.thresholds.tolist() == expected
        for row, members in zip(proba, sets.of(proba), strict=True):
            plain = {k for k in range(3) if row[k] >= expected[k]} or {int(row.argmax())}
            assert set(np.flatnonzero(members)) == plain


def test_the_scale_of_weights_does_not_matter():
    rng = np.random.default_rng(4)
    proba, y = rng.dirichlet(np.ones(3), 50), rng.choice(CLASSES, 50)
    thresholds = [
        PredictionSets.calibrate(y, proba, CLASSES, 0.8, sample_weight=weights).thresholds
        for weights in (None, np.full(50, 0.01), np.full(50, 7.0))
    ]
    np.testing.assert_array_equal(*thresholds[:2])
    np.testing.assert_array_equal(*thresholds[1:])


def test_no_set_is_empty():
    sets = PredictionSets(np.array(CLASSES), np.array([0.9, 0.9, 0.9]), 0.5)
    found = sets.of([[0.2, 0.5, 0.3], [0.95, 0.05, 0.0]])
    assert found.tolist() == [[False, True, False], [True, False, False]]
    assert found.dtype == bool
    assert sets.of(np.empty((0, 3))).shape == (0, 3)


def test_a_class_without_rows_counts_for_nothing_unless_by_class():
    y, proba = ["a", "b"] * 10, np.tile([0.5, 0.4, 0.1], (20, 1))
    assert PredictionSets.calibrate(y, proba, CLASSES, 0.8).of(proba[:1]).tolist() == [[True, True, False]]
    with pytest.raises(ValueError, match=r"expected at least 4 rows of 'c' for a coverage of 0.8, got 0; choose"):
        PredictionSets.calibrate(y, proba, CLASSES, 0.8, by_class=True)


def calibrated(n=40, **changed):
    given = {"y": ["a", "b", "c", "a"] * (n // 4), "proba": np.tile([0.5, 0.3, 0.2], (n, 1)), "classes": CLASSES}
    return PredictionSets.calibrate(**{**given, **changed})


BAD = {
    "zero": ({"coverage": 0}, "coverage between 0 and 1, such as 0.9, got 0"),
    "one": ({"coverage": 1}, "coverage between 0 and 1, such as 0.9, got 1"),
    "per cent": ({"coverage": 90}, "got 90"),
    "NaN": ({"coverage": np.nan}, "got nan"),
    "text": ({"coverage": "0.9"}, "got '0.9'"),
    "several": ({"coverage": [0.8, 0.9]}, r"got \[0.8, 0.9\]"),
    "bool": ({"coverage": True}, "got True"),
    "by_class": ({"by_class": "no"}, "by_class to be True or False, got 'no'"),
    "few rows": ({"n": 16, "coverage": 0.95}, "expected at least 19 rows for a coverage of 0.95, got 16; choose"),
    "rare": ({"by_class": True, "coverage": 0.95}, "expected at least 19 rows of 'b' .* got 10; .* or by_class=False"),
    "heavy": (
        {"sample_weight": [40.0] + [1.0] * 39, "coverage": 0.8},
        "expected at least 4 rows .* got 40 that count as 1.98 by their weights",
    ),
    "no weight": ({"sample_weight": np.zeros(40)}, "expected 40 weights that are not negative"),
    "weights": ({"sample_weight": np.ones(3)}, r"expected 40 weights .* got shape \(3,\)"),
    "label": ({"y": ["d"] * 40}, "expected labels among"),
    "rows": ({"y": ["a"] * 39}, r"expected 40 labels, .* got \(39,\)"),
    "columns": ({"proba": np.full((40, 2), 0.5)}, r"expected probabilities \(n, 3\), got \(40, 2\)"),
    "NaN row": ({"proba": np.full((40, 3), np.nan)}, "expected probabilities between 0 and 1, got nan"),
    "logits": ({"proba": np.full((40, 3), -2.0)}, "expected probabilities between 0 and 1, got -2"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    changed, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        calibrated(**changed)


def test_bad_probabilities_of_new_rows():
    sets = calibrated()
    with pytest.raises(ValueError, match=r"expected probabilities \(n, 3\), got \(3,\)"):
        sets.of([0.2, 0.3, 0.5])
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
        sets.of([[1.5, 0.0, 0.0]])


def test_it_has_a_short_name():
    assert gpclass.decisions.PredictionSets is PredictionSets
