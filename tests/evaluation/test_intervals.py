"""Intervals and scores of classes, against published values, simulation and scikit-learn."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, recall_score, roc_auc_score

from gpclass.evaluation.class_scores import classification_scores
from gpclass.evaluation.intervals import Z_95, auc_interval, effective_rows, wilson


def test_the_quantile():
    assert pytest.approx(norm.ppf(0.975), rel=1e-15) == Z_95


def test_wilson_is_where_the_test_of_a_proportion_rejects():
    for share, n in ((0.1, 50), (0.5, 7), (0.98, 400)):
        for end in wilson(share, n):
            assert abs(share - end) == pytest.approx(Z_95 * np.sqrt(end * (1 - end) / n))
    # Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for found, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)):
        assert wilson(found / n, n) == pytest.approx((low, high), abs=5e-5)
    assert wilson(0.0, 0) == (0.0, 1.0)


def test_no_mistake_in_few_rows_is_not_certainty():
    assert wilson(0.0, 30).low == 0.0
    assert wilson(0.0, 30).high > 0.1
    low, high = auc_interval(1.0, 10, 200)
    assert high == 1.0
    assert 0.8 < low < 0.95
    assert auc_interval(0.0, 10, 200) == pytest.approx((0.0, 1.0 - low))


def test_auc_intervals_cover():
    rng = np.random.default_rng(0)
    for shift in (1.0, 2.0):
        truth, covered = norm.cdf(shift / np.sqrt(2.0)), []
        for _ in range(400):
            auc = np.mean(rng.normal(shift, 1.0, 20)[:, None] > rng.normal(0.0, 1.0, 150))
            low, high = auc_interval(float(auc), 20, 150)
            covered.append(low <= truth <= high)
        assert 0.92 < np.mean(covered) < 0.985


def test_weights_count_as_their_effective_number():
    assert effective_rows(np.ones(7)) == pytest.approx(7.0)
    assert effective_rows(np.array([3.0, 3.0, 0.0])) == pytest.approx(2.0)
    assert effective_rows(np.array([])) == 0.0


def generated(K, n=300, seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(K, 0.5), n)
    labels = np.array([rng.choice(K, p=p) for p in proba])
    return labels, proba, rng.uniform(0.2, 3.0, n)


@pytest.mark.parametrize("K", [2, 4])
def test_scores_are_those_of_scikit_learn(K):
    labels, proba, w = generated(K)
    for weights in (None, w):
        scores = classification_scores(labels, proba, weights=weights)
        assert scores["brier"] == pytest.approx(brier_score_loss(labels, proba, labels=range(K), sample_weight=weights))
        assert scores["log_loss"] == pytest.approx(log_loss(labels, proba, sample_weight=weights))
        rows = scores["by_class"]
        recalls = recall_score(labels, proba.argmax(axis=1), average=None, sample_weight=weights)
        assert [row["recall"] for row in rows] == pytest.approx(recalls.tolist())
        if K == 2:
            assert scores["positive"] == int(np.argmin([row["share"] for row in rows]))
            own = scores["positive"]
            area = average_precision_score(labels == own, proba[:, own], sample_weight=weights)
        else:
            each = [average_precision_score(labels == k, proba[:, k], sample_weight=weights) for k in range(K)]
            area = np.mean(each)
        assert scores["average_precision"] == pytest.approx(area)
    several = roc_auc_score(labels, proba if K > 2 else proba[:, 1], multi_class="ovr", average="macro")
    assert classification_scores(labels, proba)["roc_auc"] == pytest.approx(several)


def test_whole_weights_are_copies_but_not_more_certain():
    labels, proba, _ = generated(3, 60)
    times = np.arange(60) % 3 + 1
    weighted = classification_scores(labels, proba, weights=times.astype(float))
    copied = classification_scores(np.repeat(labels, times), np.repeat(proba, times, axis=0))
    for name in ("error", "brier", "roc_auc", "average_precision", "guess_log_loss"):
        assert weighted[name] == pytest.approx(copied[name])
    assert weighted["error_high"] - weighted["error_low"] > copied["error_high"] - copied["error_low"]


def test_ends_contain_the_score():
    labels, proba, w = generated(3)
    scores = classification_scores(labels, proba, weights=w)
    for row in (scores, *scores["by_class"]):
        for name in (name.removesuffix("_low") for name in row if name.endswith("_low")):
            assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]


def test_no_better_than_a_guess():
    rng = np.random.default_rng(1)
    labels = (rng.random(2000) < 0.02).astype(int)
    same = np.tile([0.98, 0.02], (2000, 1))
    scores = classification_scores(labels, same)
    assert scores["error"] == scores["guess_error"]
    assert not scores["error_beats_guess"]
    assert not scores["log_loss_beats_guess"]
    ranked = np.where(labels, 0.3, 0.01)  # tells the labels apart, and never says 1
    scores = classification_scores(labels, np.column_stack([1 - ranked, ranked]))
    assert not scores["error_beats_guess"]
    assert scores["log_loss_beats_guess"]
    assert scores["roc_auc"] == 1.0
    assert scores["by_class"][1]["recall"] == 0.0
    assert scores["by_class"][1]["precision"] is None
    sure = np.where(labels, 0.7, 0.01)
    assert classification_scores(labels, np.column_stack([1 - sure, sure]))["error_beats_guess"]


def test_labels_without_rows_have_no_scores():
    scores = classification_scores(np.array([0, 1, 1, 0]), np.eye(3)[[0, 1, 0, 0]])
    assert scores["by_class"][2] == {
        "rows": 0,
        "share": 0.0,
        **dict.fromkeys(("recall", "recall_low", "recall_high", "precision", "precision_low", "precision_high")),
        **dict.fromkeys(("roc_auc", "average_precision")),
        **dict.fromkeys(("roc_auc_low", "roc_auc_high", "average_precision_low", "average_precision_high")),
    }
    assert scores["roc_auc"] == pytest.approx(0.75)
    alone = classification_scores(np.zeros(5, dtype=int), np.tile([0.9, 0.1], (5, 1)))
    assert alone["roc_auc"] is None


def test_decisions_change_recall_and_precision_alone():
    labels, proba, _ = generated(2)
    decided = np.where(proba[:, 1] > 0.2, 1, 0)
    decided[:50] = -1
    plain, acted = classification_scores(labels, proba), classification_scores(labels, proba, decided=decided)
    assert acted["error"] == plain["error"]
    assert acted["by_class"][1]["recall"] == pytest.approx(np.mean(decided[labels == 1] == 1))
    assert acted["by_class"][1]["precision"] == pytest.approx(np.mean(labels[decided == 1] == 1))
