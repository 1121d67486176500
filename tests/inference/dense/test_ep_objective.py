"""EP at kernel parameters that the Laplace evidence has chosen."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gpclass import GPClassifier
from gpclass.inference import EP


def test_learning_by_the_laplace_evidence_is_that_of_vb():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    by_laplace = GPClassifier(inference=EP(objective="laplace"), random_state=0).fit(X, y)
    by_vb = GPClassifier(inference="vb", random_state=0).fit(X, y)
    np.testing.assert_array_equal(by_laplace.hyper_.theta, by_vb.hyper_.theta)
    final = GPClassifier(by_vb.kernel_, inference="ep", hyper="fixed", standardize=True).fit(X, y)
    np.testing.assert_allclose(by_laplace.predict_proba(X), final.predict_proba(X), atol=1e-9)


def test_objectives_that_do_not_exist_or_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="objective must be 'evidence' or 'laplace', got 'bound'"):
        EP(objective="bound")
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError):
        GPClassifier(likelihood="softmax", inference=EP(objective="laplace")).fit(X[::3], y[::3])
