"""WB98's two-class tables with MAP estimates; ``test_wb98_slow.py`` has hybrid Monte Carlo and forensic glass."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedShuffleSplit

from gpclass import GPClassifier
from gpclass.datasets import load_crabs, load_pima
from gpclass.hyper import Evidence
from gpclass.hyper.priors import Normal, Relevance
from gpclass.kernels import RBF, Constant

#: Section 5: normal priors of mean -3 and sd 3 on log v0, log v1 and log w.
PRIOR = {"length_scale": Relevance(Normal(-3, 3)), "variance": Normal(-3, 3)}


def classifier(n_inputs, hyper, **settings):
    """Equation 4 with log w = -2 and log v0 = 0 to start from, on standardised inputs."""
    kernel = 1.0 * RBF(np.full(n_inputs, np.e)) + Constant(np.exp(-3.0))
    settings = {"likelihood": "logit", "inference": "laplace", "calibration": None, "standardize": True} | settings
    return GPClassifier(kernel, hyper=hyper, **settings)


def crabs():
    """Inputs without and with colour, sex, and what random splits are stratified by."""
    found = load_crabs()
    colour = (found.sp == "B").astype(float)[:, None]
    return found.data, np.hstack([found.data, colour]), found.sex, found.target


def pima():
    return [*load_pima(subset="train", return_X_y=True), *load_pima(subset="test", return_X_y=True)]


def crab_errors(hyper, inputs, sex, groups, n_splits):
    """Mean number of errors of 120, over random splits of 20 crabs of each sex and colour."""
    wrong = []
    for train, test in StratifiedShuffleSplit(n_splits, train_size=80, random_state=0).split(inputs, groups):
        model = classifier(inputs.shape[1], hyper).fit(inputs[train], sex[train])
        wrong.append(np.count_nonzero(model.predict(inputs[test]) != sex[test]))
    return np.mean(wrong)


def test_pima_map():
    X, y, X_test, y_test = pima()
    model = classifier(7, Evidence(prior=PRIOR, max_rows=None)).fit(X, y)
    assert abs(np.count_nonzero(model.predict(X_test) != y_test) - 69) <= 5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_crabs_map():
    X, with_colour, sex, groups = crabs()
    hyper = Evidence(prior=PRIOR, max_rows=None)
    assert abs(crab_errors(hyper, with_colour, sex, groups, 5) - 4) <= 3
    assert abs(crab_errors(hyper, X, sex, groups, 5) - 3) <= 3
