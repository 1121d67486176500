"""WB98's tables in full: hybrid Monte Carlo on crabs and Pima, softmax on forensic glass. Run with ``make slow``."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from gpclass.datasets import load_forensic_glass
from gpclass.hyper import HMC, Evidence
from gpclass.kernels import PerClass
from tests.hyper.test_wb98 import PRIOR, classifier, crab_errors, crabs, pima

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(0),
    # 133 trajectories from one chain do not count as mixed; the paper stops there.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

#: A step of 0.1 in log w is one of 0.05 in the logarithm of a length-scale.
PAPER = HMC(prior=PRIOR, step_size={"length_scale": 0.05, "variance": 0.1}, n_models=200)


def test_pima_hmc():
    X, y, X_test, y_test = pima()
    model = classifier(7, PAPER, random_state=0).fit(X, y)
    assert model.hyper_.samples.acceptance > 0.95
    assert abs(np.count_nonzero(model.predict(X_test) != y_test) - 68) <= 5


def test_crabs_hmc():
    X, with_colour, sex, groups = crabs()
    assert abs(crab_errors(PAPER, with_colour, sex, groups, 3) - 3) <= 3
    assert abs(crab_errors(PAPER, X, sex, groups, 3) - 3) <= 3


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_forensic_glass():
    X, y = load_forensic_glass(return_X_y=True)
    shared = classifier(9, Evidence(prior=PRIOR, max_rows=None), likelihood="softmax")
    model = shared.set_params(kernel=PerClass(shared.kernel))
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    predicted = cross_val_predict(model, X, y, cv=folds, n_jobs=2)
    assert np.mean(predicted != y) <= 0.26
