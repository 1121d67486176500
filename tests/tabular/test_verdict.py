"""The verdict: one sentence, honest where a model is no better than guessing."""

import numpy as np
import pytest

from gpclass.tabular.evaluation import classification_scores, regression_scores
from gpclass.tabular.verdict import _of_classes, _of_numbers, percent, verdict


def scores_of(n, wrong, confidence=0.9, ones=None):
    """Two classes, the second in ``ones`` rows; so many first rows predicted wrong."""
    labels = np.arange(n) < (n // 2 if ones is None else ones)
    said = np.where(np.arange(n) < wrong, ~labels, labels)
    p = np.where(said, confidence, 1.0 - confidence)
    return classification_scores(labels.astype(int), np.column_stack([1.0 - p, p]))


def plain(text):
    return text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (
            5,
            "Predicts species well: 2.5 % of rows wrong (95 % interval 1.1 to 5.7 %), where guessing the most frequent",
        ),
        (40, "Predicts species fairly well: 20 % of rows wrong"),
        (80, "Predicts species better than guessing, but with many errors: 40 % of rows wrong"),
        (95, "It is not certain that species is predicted better than by guessing the most frequent class: 48 %"),
        (110, "Predicts species no better than guessing the most frequent class: 55 % of rows wrong"),
    ],
)
def test_how_well_labels_are_predicted(wrong, expected):
    found = _of_classes("species", scores_of(200, wrong))
    assert plain(found.sentence).startswith(expected)
    assert "wrong for 50 %" in plain(found.sentence)
    assert len(found.numbers) == 3


def test_no_error_is_no_certainty():
    found = _of_classes("species", scores_of(30, 0))
    assert "0.0 % of rows wrong (95 % interval 0.0 to 11 %)" in plain(found.sentence)


def test_probabilities_may_say_more_than_labels():
    labels = (np.arange(400) < 40).astype(int)
    p = np.where(labels == 1, 0.4, 0.05)  # never above one half
    found = _of_classes("fraud", classification_scores(labels, np.column_stack([1.0 - p, p])))
    assert found.sentence.startswith("Predicts fraud no better than guessing")
    assert found.sentence.endswith("Its probabilities still say more than the class frequencies do.")
    assert "say more" not in _of_classes("fraud", scores_of(400, 40, ones=40)).sentence


def test_how_well_numbers_are_predicted():
    rng = np.random.default_rng(0)
    y = rng.normal(10.0, 2.0, 300)
    near = regression_scores(y, y + rng.normal(0.0, 0.4, 300), np.full(300, 0.4))
    assert _of_numbers("size", near).sentence.startswith("Predicts size well: off by 0.")
    useless = regression_scores(y, np.full(300, 10.0) + rng.normal(0.0, 0.3, 300), np.full(300, 2.0))
    found = _of_numbers("size", useless)
    assert found.sentence.startswith("Predicts size no better than its mean does")
    assert plain(found.numbers[1][0]) == "0.0 %"


def test_verdicts_of_models(model, regression_model, ordinal_model):
    assert plain(verdict(model).numbers[0][0]) == plain(percent(model.scores_["error"]))
    assert "root mean square" in verdict(regression_model).sentence
    assert "steps off" in verdict(ordinal_model).numbers[2][1]
