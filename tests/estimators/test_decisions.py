"""Decision functions, and scikit-learn's tools that use them; several labels for a row."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import get_scorer, make_scorer, recall_score
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.multioutput import MultiOutputClassifier

from gpclass import GPClassifier, NullCategoryClassifier
from gpclass.estimators._classifying import log_odds
from gpclass.kernels import RBF

from .test_bad_input import CASES, CLASSIFIERS

N = 24
rng = np.random.default_rng(1)
X = rng.normal(size=(N, 4))
THREE = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
FIXED = {"kernel": 30.0 * RBF(2.0), "hyper": "fixed"}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_log_odds_of_two_classes(name):
    case = CASES[name]
    model = case.fitted()
    odds, proba = model.decision_function(X, **case.predict), model.predict_proba(X, **case.predict)
    assert odds.shape == (N,)
    np.testing.assert_allclose(odds, np.log(proba[:, 1] / proba[:, 0]), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(model.classes_[(odds > 0).astype(int)], model.predict(X, **case.predict))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_log_odds_of_three_classes(name):
    case = CASES[name]
    y = np.where(np.arange(N) % 2, -1, THREE) if name == "NullCategoryClassifier" else THREE
    estimator = NullCategoryClassifier(**FIXED) if name == "NullCategoryClassifier" else clone(case.estimator)
    model = estimator.fit(X, y, **case.fit)
    odds, proba = model.decision_function(X, **case.predict), model.predict_proba(X, **case.predict)
    assert odds.shape == (N, 3)
    np.testing.assert_allclose(odds, np.log(proba / (1.0 - proba)), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.classes_[odds.argmax(axis=1)], model.predict(X, **case.predict))


def test_log_odds_in_the_tails():
    log_proba = np.array([[-1e-30, -800.0, -900.0], [-2.0, -0.2, -3.0]])
    np.testing.assert_allclose(log_odds(log_proba)[0], [800.0, -800.0, -900.0])
    np.testing.assert_allclose(log_odds(np.array([[-700.0, 0.0]])), [700.0])


def test_scikit_learns_tools_find_the_decision_function():
    y = (THREE > 1).astype(int)
    model = GPClassifier(**FIXED).fit(X, y)
    by_odds, by_proba = (
        get_scorer("roc_auc"),
        make_scorer(get_scorer("roc_auc")._score_func, response_method="predict_proba"),
    )
    assert by_odds(model, X, y) == by_proba(model, X, y) > 0.9
    tuned = TunedThresholdClassifierCV(
        GPClassifier(**FIXED), scoring=make_scorer(recall_score), response_method="decision_function", cv=3
    ).fit(X, y)
    assert recall_score(y, tuned.predict(X)) == 1.0
    calibrated = CalibratedClassifierCV(GPClassifier(**FIXED), cv=3, ensemble=False).fit(X, y)
    assert calibrated.score(X, y) > 0.8


def test_parameters_of_a_kernel_are_found_by_looking():
    model = GPClassifier(10.0 * RBF([1.0, 2.0]), hyper="fixed")
    found = {name: value for name, value in model.get_params().items() if name.startswith("kernel__")}
    assert found.keys() == {"kernel__variance", "kernel__length_scale"}
    assert found["kernel__variance"] == 10.0
    np.testing.assert_array_equal(found["kernel__length_scale"], [1.0, 2.0])
    assert not [name for name in model.get_params(deep=False) if "__" in name]
    assert clone(model).set_params(**model.get_params()).kernel == model.kernel
    for default in (None, "rbf"):
        assert not [name for name in GPClassifier(default).get_params() if "__" in name]


INDICATORS = (rng.random((N, 3)) > 0.5).astype(int)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(
    "several",
    [INDICATORS, INDICATORS.astype(bool), INDICATORS.tolist(), [[1], [1, 2]] * (N // 2), [{1, 2}] * N],
    ids=["numbers", "bool", "lists", "labels", "sets"],
)
def test_several_labels_for_a_row_are_refused_with_what_to_do(name, several):
    with pytest.raises(ValueError, match=r"several labels, or none, .*MultiOutputClassifier\(GPClassifier\(\)\)"):
        clone(CASES[name].estimator).fit(X, several)


def test_what_the_message_says_works():
    both = np.column_stack([THREE > 0, THREE > 1]).astype(int)
    model = MultiOutputClassifier(GPClassifier(**FIXED)).fit(X, both)
    assert model.score(X, both) > 0.8
    hard = np.eye(3)[THREE]  # probabilities of one class each
    assert GPClassifier(**FIXED).fit(X, hard).predict_proba(X).shape == (N, 3)
