"""Importance sampling on a small version of GR06's toy problem; ``test_gr06_slow.py`` has the whole."""

import numpy as np
import pytest

from gpclass import GPClassifier
from gpclass.datasets import make_rings
from gpclass.hyper import NUTS, Importance
from gpclass.kernels import RBF


@pytest.fixture(scope="module")
def rings():
    X, y = make_rings(120 + 1000, n_irrelevant=2, random_state=0)
    return X[:120], y[:120], X[120:], y[120:]


def test_sampled_relevances(rings):
    X, y, X_test, y_test = rings
    model = GPClassifier(100.0 * RBF(np.ones(4)), hyper=Importance(n_draws=100, n_models=10), random_state=0).fit(X, y)
    samples = model.hyper_.samples
    assert model.score(X_test, y_test) > 0.97
    assert samples.n_effective > 20
    assert samples.pareto_k < 0.7
    assert model.relevance_[:2].min() > 10 * model.relevance_[2:].max()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_printed_weights_collapse(rings):
    X, y, _, _ = rings
    hyper = Importance(as_published=True, n_draws=100, n_rounds=10)
    start = RBF(np.full(4, np.sqrt(0.5)))  # phi = 1
    model = GPClassifier(start, hyper=hyper, inference="vb", random_state=0).fit(X, y)
    assert model.hyper_.samples.n_effective < 2.0


@pytest.mark.slow
def test_nuts_mixes(rings):
    # Two classes, the outer ring and the rest; test_gr06_slow.py has all three and ten inputs.
    X, y, _, _ = rings
    hyper = NUTS(n_draws=300, n_models=10)  # of half as many R-hat itself is too uncertain to be judged
    model = GPClassifier(100.0 * RBF(1.0), inference="laplace", hyper=hyper, random_state=0).fit(
        X[:60, :2], y[:60] == 2
    )
    assert model.hyper_.samples.r_hat < 1.05
    assert model.hyper_.samples.n_failed < 30  # of 1200 trajectories: those that leave the bounds
