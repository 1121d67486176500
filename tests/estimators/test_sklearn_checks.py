"""scikit-learn's own battery for every public estimator."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from gpclass import (
    GPClassifier,
    GPOrdinalClassifier,
    GPRegressor,
    IVMClassifier,
    IVMRegressor,
    MultiTaskIVM,
    SparseGPClassifier,
    ViewVotingClassifier,
)

# Learning may stop at a bound on the battery's degenerate data; that is a warning, not a failure.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@parametrize_with_checks(
    [
        GPClassifier(),
        GPRegressor(),
        GPClassifier(inference="laplace", hyper="fixed"),
        IVMClassifier(),
        IVMRegressor(),
        SparseGPClassifier(),
        GPOrdinalClassifier(),
        MultiTaskIVM(problem="classification", hyper="fixed"),
        MultiTaskIVM(problem="regression", hyper="fixed"),
        ViewVotingClassifier(LogisticRegression(), {"all": slice(None)}),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)
