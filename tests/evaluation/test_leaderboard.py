"""Models ranked on the same folds: their scores, failures, limits of time, and an interrupt."""

from itertools import count

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss, recall_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gpclass import GPClassifier, GPOrdinalClassifier
from gpclass.evaluation.leaderboard import ClassTarget, NumberTarget, rank
from gpclass.evaluation.metrics import calibration_error
from gpclass.kernels import RBF

X, y = load_iris(return_X_y=True)
FOLDS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


NO_FOREST = ValueError("no forest\ngrows here")


class Failing(ClassifierMixin, BaseEstimator):
    """Fails, or is interrupted, in its n-th fit."""

    n_fits = 0

    def __init__(self, error=NO_FOREST, at=1):
        self.error, self.at = error, at

    def fit(self, X, y):
        Failing.n_fits += 1
        if Failing.n_fits == self.at:
            raise self.error
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1.0 / len(self.classes_))


@pytest.fixture(autouse=True)
def no_fits(monkeypatch):
    monkeypatch.setattr(Failing, "n_fits", 0)


def test_scores_of_classes_are_those_of_cross_validation():
    (found,) = rank({"logistic": LOGISTIC}, X, y, ClassTarget(np.arange(3)), FOLDS).scores
    plain = cross_validate(LOGISTIC, X, y, cv=FOLDS, scoring=["accuracy", "neg_log_loss"])
    errors = 1.0 - plain["test_accuracy"]
    assert found.scores["error"] == pytest.approx(errors.mean())
    assert found.errors["error"] == pytest.approx(errors.std(ddof=1) / np.sqrt(3))
    assert found.scores["log_loss"] == pytest.approx(-plain["test_neg_log_loss"].mean())
    proba = cross_val_predict(LOGISTIC, X, y, cv=FOLDS, method="predict_proba")
    assert found.scores["calibration_error"] == pytest.approx(calibration_error(y, proba, np.arange(3)))
    area = roc_auc_score(y, proba, multi_class="ovr")
    assert found.scores["roc_auc"] == pytest.approx(area)
    assert [row["recall"] for row in found.by_class] == pytest.approx(
        recall_score(y, proba.argmax(axis=1), average=None)
    )
    assert (found.state, found.folds, found.message) == ("finished", 3, "")


def test_ordered_classes_add_the_steps_off():
    labels = np.array(["low", "mid", "high"])
    target = ClassTarget(labels, ordered=True)
    ordinal = GPOrdinalClassifier(5.0 * RBF(2.0), order=labels.tolist(), hyper="fixed")
    board = rank({"ordinal": ordinal, "logistic": LOGISTIC}, X, labels[y], target, FOLDS)
    ranking = ("brier", "roc_auc", "average_precision")
    assert board.metrics == ("error", "mean_steps_off", "log_loss", *ranking, "calibration_error")
    found = {one.name: one.scores for one in board.scores}
    predicted = cross_val_predict(LOGISTIC, X, y, cv=FOLDS)
    steps = np.mean([np.abs(predicted[test] - y[test]).mean() for _, test in FOLDS])
    assert found["logistic"]["mean_steps_off"] == pytest.approx(steps)
    assert found["ordinal"]["error"] < 0.1


def test_scores_of_numbers_and_their_intervals():
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    ridge = make_pipeline(StandardScaler(), BayesianRidge())
    board = rank({"ridge": ridge, "least squares": LinearRegression()}, X[:, :3], X[:, 3], NumberTarget(), folds)
    found = {one.name: one.scores for one in board.scores}
    expected = {"rmse": [], "log_density": [], "inside_90": []}
    for train, test in folds:
        mean, sd = ridge.fit(X[train, :3], X[train, 3]).predict(X[test, :3], return_std=True)
        residual = X[test, 3] - mean
        expected["rmse"].append(np.sqrt(np.mean(residual**2)))
        expected["log_density"].append(norm.logpdf(X[test, 3], mean, sd).mean())
        expected["inside_90"].append(np.mean(np.abs(residual) < norm.ppf(0.95) * sd))
    for name, values in expected.items():
        assert found["ridge"][name] == pytest.approx(np.mean(values))
    assert list(found["least squares"]) == ["rmse"]
    assert [one.scores["rmse"] for one in board.scores] == sorted(one["rmse"] for one in found.values())


def test_a_model_that_fails_does_not_end_the_others():
    models = {"failing": Failing(at=2), "no probabilities": RidgeClassifier(), "logistic": LOGISTIC}
    board = rank(models, X, y, ClassTarget(np.arange(3)), FOLDS)
    first, second, third = board.scores
    assert (first.name, first.state) == ("logistic", "finished")
    assert (second.name, second.state, second.folds, second.message) == ("failing", "failed", 1, "no forest")
    assert second.scores == {}
    assert "expected a classifier with predict_proba" in third.message


def test_predictions_that_are_not_finite_are_a_failure():
    class Empty(LinearRegression):
        def predict(self, X):
            return np.full(len(X), np.nan)

    (found,) = rank({"empty": Empty()}, X, X[:, 0], NumberTarget(), FOLDS).scores
    assert (found.state, found.message) == ("failed", "expected finite predictions, got some that are not")


def test_no_model_begins_after_the_limit():
    ticks = count()  # every look at the clock is one second later
    models = {"first": LOGISTIC, "second": LOGISTIC, "third": LOGISTIC}
    board = rank(models, X, y, ClassTarget(np.arange(3)), FOLDS, time_limit=14.0, clock=lambda: float(next(ticks)))
    states = {one.name: (one.state, one.folds) for one in board.scores}
    assert states["first"] == ("finished", 3)
    assert states["second"][0] in ("stopped", "not started")
    assert states["third"] == ("not started", 0)
    assert {one.name: one.message for one in board.scores}["third"] == "no time left"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learning_in_a_running_model_is_stopped():
    ticks = count()
    models = {"gp": make_pipeline(StandardScaler(), GPClassifier(5.0 * RBF(1.0)))}
    board = rank(models, X, y, ClassTarget(np.arange(3)), FOLDS, time_limit=5.0, clock=lambda: float(next(ticks)))
    (found,) = board.scores
    assert (found.state, found.folds) == ("stopped", 1)
    whole = rank(models, X, y, ClassTarget(np.arange(3)), FOLDS[:1], time_limit=1e9)
    assert whole.scores[0].message == ""
    part = rank(models, X, y, ClassTarget(np.arange(3)), FOLDS[:1], time_limit=5.0, clock=map(float, count()).__next__)
    assert part.scores[0].message == "learning was stopped by the time limit"


def test_an_interrupt_keeps_what_is_finished():
    models = {"logistic": LOGISTIC, "interrupted": Failing(KeyboardInterrupt(), at=2), "never": LOGISTIC}
    board = rank(models, X, y, ClassTarget(np.arange(3)), FOLDS)
    assert board.interrupted
    assert [(one.name, one.state, one.folds) for one in board.scores] == [
        ("logistic", "finished", 3),
        ("interrupted", "stopped", 1),
        ("never", "not started", 0),
    ]
    assert board.scores[1].scores["log_loss"] == pytest.approx(log_loss(y, np.full((150, 3), 1 / 3)))


def test_one_fold_has_no_standard_error():
    forest = RandomForestClassifier(5, random_state=0)
    (found,) = rank({"forest": forest}, X, y, ClassTarget(np.arange(3)), FOLDS[:1]).scores
    assert found.errors == {}
