"""scikit-learn's own battery for every public estimator; ``test_registry`` fits each of them by learning."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.estimators.registry import ESTIMATORS

pytestmark = [
    # The battery's data may leave refinement unconverged, or have fewer rows than are to be kept.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:n_active is"),
]


@parametrize_with_checks([model for entry in ESTIMATORS.values() for model in entry.checked])
def test_sklearn_checks(estimator, check):
    check(estimator)
