"""Whole experiments of GR06, with the paper's numbers beside ours. Run with ``make slow``."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from gpclass import GPClassifier
from gpclass.datasets import load_forensic_glass, load_thyroid, make_rings
from gpclass.hyper import NUTS
from gpclass.kernels import RBF

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]

N_SPLITS = 40
#: data set: (sum of test log probabilities and error % of GR06's table 1 for VB, and what we must reach)
TABLE_1 = {
    "iris": (-7.35, 4.08, -6.2),
    "wine": (-10.16, 2.65, -7.0),
    "new_thyroid": (-14.62, 3.86, -9.5),
    "fgl": (-77.60, 32.79, -75.0),
}


LOADERS = {"iris": load_iris, "wine": load_wine, "new_thyroid": load_thyroid, "fgl": load_forensic_glass}


def _load(name):
    X, y = LOADERS[name](return_X_y=True)
    return X, np.unique(y, return_inverse=True)[1]


@pytest.mark.parametrize("name", TABLE_1)
def test_table_1(name, capsys):
    paper_score, paper_error, goal = TABLE_1[name]
    X, y = _load(name)
    n_train = round(0.6 * len(y))
    scores, errors = [], []
    # The starting amplitude was chosen on splits 0-9; these are others.
    for seed in range(10, 10 + N_SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n_train], order[n_train:]
        # One length-scale and an amplitude, as in the comparison asked for; the default kernel may choose relevances.
        kernel = 100.0 * RBF(np.sqrt(X.shape[1]))
        model = GPClassifier(kernel, standardize=True).fit(X[train], y[train])
        # A class with no training row has probability zero; none of the splits has one.
        assert len(model.classes_) == y.max() + 1
        log_proba = model.predict_log_proba(X[test])
        scores.append(log_proba[np.arange(len(test)), y[test]].sum())
        errors.append(100 * np.mean(log_proba.argmax(axis=1) != y[test]))
    spread = np.std(scores) / np.sqrt(N_SPLITS)
    with capsys.disabled():
        print(
            f"\n{name}: log probability {np.mean(scores):.2f} +- {spread:.2f} (paper {paper_score}), "
            f"error {np.mean(errors):.2f} % (paper {paper_error})"
        )
    assert np.mean(scores) >= goal
    assert np.mean(errors) <= paper_error + 0.7


def test_rings(capsys):
    accuracies, ratios = [], []
    for seed in range(10):
        X, y = make_rings(240 + 4620, random_state=seed)
        model = GPClassifier(100.0 * RBF(np.sqrt(10), ard=True), standardize=True).fit(X[:240], y[:240])
        accuracies.append(100 * model.score(X[240:], y[240:]))
        ratios.append(model.relevance_[:2].min() / model.relevance_[2:].max())
    with capsys.disabled():
        print(
            f"\nrings: accuracy {np.mean(accuracies):.2f} % (paper 99.37, one draw), relevance ratio {min(ratios):.0f}"
        )
    assert np.mean(accuracies) >= 98.5
    assert min(ratios) >= 10


def test_rings_by_importance_sampling(capsys):
    # Ten seeds, sampled as by default and as printed: gpclass reproduce gr06-figure2. Here three of the first.
    accuracies = []
    for seed in range(3):
        X, y = make_rings(240 + 4620, random_state=seed)
        model = GPClassifier(100.0 * RBF(np.ones(10)), hyper="importance", random_state=0).fit(X[:240], y[:240])
        accuracies.append(100 * model.score(X[240:], y[240:]))
        assert model.hyper_.samples.n_effective > 50
    with capsys.disabled():
        print(f"\nrings, sampled length-scales: accuracy {np.mean(accuracies):.2f} % (paper 99.37)")
    assert np.mean(accuracies) >= 98.5


def test_nuts_on_the_rings():
    X, y = make_rings(120, random_state=0)
    model = GPClassifier(100.0 * RBF(np.ones(10)), hyper=NUTS(n_tune=100, n_chains=2), random_state=0).fit(X, y)
    assert model.hyper_.samples.r_hat < 1.05
