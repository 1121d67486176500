"""Decisions of least expected cost, against enumeration."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.preprocessing import StandardScaler

import gpclass
from gpclass import GPClassifier, SparseGPClassifier
from gpclass.evaluation.decisions import DecisionRule, best_threshold
from gpclass.kernels import RBF


def test_the_cheapest_decision_by_enumeration():
    rng = np.random.default_rng(0)
    proba, costs = rng.dirichlet(np.ones(4), 200), rng.uniform(0.0, 5.0, (4, 4))
    rule = DecisionRule(list("abcd"), costs, reject=1.5)
    for p, chosen in zip(proba, rule.choose(proba), strict=True):
        expected = [sum(p[i] * costs[i, j] for i in range(4)) for j in range(4)]
        assert chosen == (-1 if min(expected) > 1.5 else int(np.argmin(expected)))


def test_without_costs_it_is_the_most_probable_label():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    np.testing.assert_array_equal(DecisionRule([3, 5, 7]).predict(proba), np.array([3, 5, 7])[proba.argmax(axis=1)])


def test_two_labels_have_the_threshold_of_their_costs():
    rule = DecisionRule(["fine", "fraud"], {("fraud", "fine"): 19.0})
    p = np.array([0.049, 0.051])
    assert list(rule.predict(np.column_stack([1 - p, p]))) == ["fine", "fraud"]


def test_mean_cost():
    rule = DecisionRule(["a", "b"], {("a", "b"): 10.0}, reject=0.3)
    proba = [[0.99, 0.01], [0.01, 0.99], [0.001, 0.999], [0.5, 0.5]]
    # right, right, missed, rejected
    assert list(rule.predict(proba, "ask")) == ["a", "b", "b", "ask"]
    assert rule.mean_cost(["a", "b", "a", "a"], proba) == pytest.approx((0 + 0 + 10 + 0.3) / 4)
    assert rule.mean_cost(["a", "b", "a", "a"], proba, [1, 1, 0, 1]) == pytest.approx(0.1)


def test_best_threshold_by_enumeration():
    rng = np.random.default_rng(1)
    p = rng.choice(np.linspace(0.05, 0.95, 19), 300)
    y = np.where(rng.uniform(size=300) < p, "yes", "no")
    found = best_threshold(y, p, "yes", false_negative=4.0)
    truth = y == "yes"
    costs = {t: np.mean(4.0 * (truth & (p < t)) + (~truth & (p >= t))) for t in np.linspace(0.0, 1.01, 500)}
    assert found.cost == pytest.approx(min(costs.values()))
    assert np.mean(4.0 * (truth & (p < found.value)) + (~truth & (p >= found.value))) == pytest.approx(found.cost)
    assert found.baseline == pytest.approx(min(np.mean(~truth), 4.0 * np.mean(truth)))
    assert 0.1 < found.value < 0.35  # 1 / 5 in theory


def test_thresholds_from_leave_one_out_predictions_and_from_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    model = GPClassifier(100.0 * RBF(8.0), hyper="fixed", standardize=True).fit(X[::3], y[::3])
    found = best_threshold(y[::3], model.loo_proba_[:, 0], 0, false_negative=20.0)
    assert found.value < 0.5
    assert found.cost < found.baseline

    def paid(truth, decided):
        return -np.mean(20.0 * ((truth == 0) & (decided == 1)) + ((truth == 1) & (decided == 0)))

    tuned = TunedThresholdClassifierCV(model, scoring=make_scorer(paid), cv=3).fit(X[::3], y[::3])
    rest = np.arange(len(y)) % 3 > 0
    rule = DecisionRule(model.classes_, {(0, 1): 20.0})
    ours = rule.mean_cost(y[rest], model.predict_proba(X[rest]))
    assert ours <= -paid(y[rest], tuned.predict(X[rest])) + 0.05
    assert ours < -paid(y[rest], model.predict(X[rest])) + 1e-12


BAD = {
    "classes": (lambda: DecisionRule(["a"]), "at least 2 different labels"),
    "repeated": (lambda: DecisionRule(["a", "a"]), "at least 2 different labels"),
    "label": (lambda: DecisionRule(["a", "b"], {("a", "c"): 1.0}), "expected labels among"),
    "pair": (lambda: DecisionRule(["a", "b"], {"a": 1.0}), "pairs"),
    "shape": (lambda: DecisionRule(["a", "b"], np.eye(3)), r"expected finite costs \(2, 2\), got \(3, 3\)"),
    "NaN": (lambda: DecisionRule(["a", "b"], np.full((2, 2), np.nan)), "expected finite costs"),
    "reject": (lambda: DecisionRule(["a", "b"], reject="never"), "cost to reject"),
    "columns": (lambda: DecisionRule(["a", "b"]).choose([[0.1, 0.2, 0.7]]), r"\(n, 2\), got \(1, 3\)"),
    "no such label": (lambda: best_threshold([0, 0], [0.1, 0.2], 1), "with and without the label 1"),
    "two columns": (lambda: best_threshold([0, 1], [[0.1, 0.2]] * 2, 1), "of one label"),
    "cost": (lambda: best_threshold([0, 1], [0.1, 0.2], 1, false_negative=0.0), "positive costs"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    make, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        make()


def test_it_has_a_short_name():
    assert gpclass.decisions.DecisionRule is DecisionRule


def test_a_threshold_takes_the_place_of_the_costs():
    rule = DecisionRule(["fine", "fraud"], {("fraud", "fine"): 19.0}, reject=3.0, threshold={"fraud": 0.3})
    p = np.array([0.1, 0.2, 0.3, 0.9])
    proba = np.column_stack([1 - p, p])
    assert list(rule.predict(proba, "ask")) == ["fine", "ask", "fraud", "fraud"]
    np.testing.assert_allclose(rule.chosen_costs(proba), [1.9, 3.0, 0.7, 0.1])
    for wrong in ({"fraud": -0.1}, {"other": 0.5}, {"fine": 0.5, "fraud": 0.5}, 0.5):
        with pytest.raises(ValueError, match="expected"):
            DecisionRule(["fine", "fraud"], threshold=wrong)
    with pytest.raises(ValueError, match=r"got .* for 3 labels"):
        DecisionRule(["a", "b", "c"], threshold={"a": 0.5})


def test_best_threshold_of_weighted_rows_is_that_of_copies():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=80)
    y, times = rng.uniform(size=80) < p, rng.integers(1, 5, 80)
    weighted = best_threshold(y, p, True, false_negative=3.0, sample_weight=times)
    copied = best_threshold(np.repeat(y, times), np.repeat(p, times), True, false_negative=3.0)
    assert weighted == pytest.approx(copied)


@pytest.mark.parametrize("model", [GPClassifier(RBF(8.0), hyper="fixed"), SparseGPClassifier(hyper="fixed")])
def test_thresholds_of_scikit_learn(model):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[::4]
    y = np.where(y[::4] == 0, "ill", "well")

    def saved(truth, said):
        return -np.sum(20.0 * ((truth == "ill") & (said == "well")) + ((truth == "well") & (said == "ill")))

    tuned = TunedThresholdClassifierCV(
        model, scoring=make_scorer(saved), response_method="predict_proba", cv=3, random_state=0
    ).fit(X, y)
    assert tuned.best_threshold_ > 0.5  # of being well, the second label
    assert saved(y, tuned.predict(X)) >= saved(y, tuned.estimator_.predict(X))
    fixed = FixedThresholdClassifier(
        clone(model), threshold=0.05, pos_label="ill", response_method="predict_proba"
    ).fit(X, y)
    rule = DecisionRule(["ill", "well"], threshold={"ill": 0.05})
    np.testing.assert_array_equal(fixed.predict(X), rule.predict(fixed.predict_proba(X)))


def test_bad_probabilities_and_weights_of_decisions():
    rule = DecisionRule(["a", "b"])
    for proba in ([[np.nan, np.nan]], [[5.0, -3.0]]):
        with pytest.raises(ValueError, match="expected probabilities between 0 and 1"):
            rule.predict(proba)
    with pytest.raises(ValueError, match="at least one row"):
        rule.mean_cost([], np.empty((0, 2)))
    with pytest.raises(ValueError, match="weights that are not negative"):
        rule.mean_cost(["a", "b"], [[0.5, 0.5]] * 2, sample_weight=[-1.0, 2.0])
    with pytest.raises(ValueError, match="a cost to reject"):
        DecisionRule(["a", "b"], reject=True)
    y, p = np.array(["a", "b", "b"]), np.array([0.1, 0.6, 0.7])
    with pytest.raises(ValueError, match="weights that are not negative"):
        best_threshold(y, p, "b", sample_weight=[-1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="positive costs that are finite"):
        best_threshold(y, p, "b", false_negative=np.inf)
    with pytest.raises(ValueError, match="expected probabilities between 0 and 1, got 2"):
        best_threshold(y, [0.1, 0.6, 2.0], "b")
