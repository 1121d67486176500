"""gpclass.compare on the same folds as scikit-learn would use."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, cross_val_predict

from gpclass import GPClassifier, GPOrdinalClassifier, compare
from gpclass.kernels import RBF, Precomputed


def test_scores_are_those_of_cross_validation():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    y = pd.Series(names[y])
    models = {"gp": GPClassifier(10.0 * RBF(1.0), hyper="fixed"), "logistic": LogisticRegression(max_iter=500)}
    folds = StratifiedKFold(3)
    result = compare(models, X, y, cv=folds)
    assert {score.name for score in result.scores} == {"gp", "logistic"}
    assert result.scores[0].log_probability >= result.scores[1].log_probability
    expected = cross_val_predict(models["logistic"], X, y, cv=folds, method="predict_proba")
    np.testing.assert_allclose(result.proba["logistic"], expected)
    assert result.distance("gp", "gp") == 0.0
    assert 0.0 < result.distance("gp", "logistic") < 0.5
    assert "mean log prob" in str(result)
    assert str(result).count("\n") == 2


def test_a_class_missing_from_a_fold_is_refused():
    X = np.arange(9.0)[:, None]
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    with (
        pytest.warns(UserWarning, match="least populated"),
        pytest.raises(ValueError, match="expected every class in every training part, got 2 of 3"),
    ):
        compare({"gp": GPClassifier(RBF(1.0), hyper="fixed")}, X, y, cv=2)


def test_gram_matrices_and_partial_folds():
    X, y = load_iris(return_X_y=True)
    kernel = 10.0 * RBF(1.0)
    folds = StratifiedShuffleSplit(2, test_size=0.3, random_state=0)
    plain = compare({"a": GPClassifier(kernel, hyper="fixed")}, X, y, cv=folds)
    gram = compare({"a": GPClassifier(Precomputed())}, kernel(X), y, cv=folds)
    np.testing.assert_allclose(gram.proba["a"], plain.proba["a"], rtol=1e-6)
    assert plain.distance("a", "a") == 0.0


def test_a_single_fold_has_no_spread():
    X, y = load_iris(return_X_y=True)
    folds = StratifiedShuffleSplit(1, test_size=0.3, random_state=0)
    (score,) = compare({"a": GPClassifier(10.0 * RBF(1.0), hyper="fixed")}, X, y, cv=folds).scores
    assert np.isfinite([score.error, score.log_probability]).all()
    assert np.isnan([score.error_spread, score.log_probability_spread]).all()


def test_what_cannot_be_compared_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="expected a dictionary such as"):
        compare([GPClassifier()], X, y)
    with pytest.raises(TypeError, match="expected a dictionary such as"):
        compare({}, X, y)
    with pytest.raises(ValueError, match=r"got y of shape \(150, 3\)"):
        compare({"a": GPClassifier()}, X, np.eye(3)[y])


def test_ordered_labels_keep_their_order():
    X = np.linspace(0.0, 3.0, 60)[:, None]
    y = np.array(["low", "mid", "high"])[X[:, 0].astype(int).clip(0, 2)]
    model = GPOrdinalClassifier(10.0 * RBF(1.0), order=["low", "mid", "high"], hyper="fixed")
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    (score,) = compare({"ordered": model}, X, y, cv=folds).scores
    assert score.error == pytest.approx(np.mean(cross_val_predict(model, X, y, cv=folds) != y))
    assert score.error < 0.1
