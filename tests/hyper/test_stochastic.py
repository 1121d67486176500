"""Learning by steps on random subsets of the rows."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from sklearn.datasets import load_iris

from gpclass import GPClassifier
from gpclass.hyper import Evidence, StochasticEvidence
from gpclass.hyper.objective import Objective
from gpclass.kernels import RBF
from gpclass.kernels.torch_kernel import TorchKernel

X, Y = load_iris(return_X_y=True)
KERNEL = 4.0 * RBF([1.0, 1.0, 1.0, 1.0])


def test_with_all_rows_it_finds_the_maximum():
    settings = {"standardize": True, "calibration": None}
    ours = GPClassifier(KERNEL, hyper=StochasticEvidence(n_rows=150, n_steps=300, step=0.1), **settings).fit(X, Y)
    theirs = GPClassifier(KERNEL, hyper=Evidence(max_rows=None), **settings).fit(X, Y)
    assert ours.hyper_.converged
    assert ours.log_marginal_likelihood() == pytest.approx(theirs.log_marginal_likelihood(), abs=0.05)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=0.02)


def test_with_few_rows_it_gains():
    settings = {"standardize": True, "random_state": 0}
    hyper = StochasticEvidence(n_rows=50, n_steps=60, step=0.1)
    ours = GPClassifier(KERNEL, hyper=hyper, **settings).fit(X, Y)
    again = GPClassifier(KERNEL, hyper=hyper, **settings).fit(X, Y)
    np.testing.assert_array_equal(ours.hyper_.theta, again.hyper_.theta)
    start = GPClassifier(KERNEL, hyper="fixed", **settings).fit(X, Y)
    assert ours.log_marginal_likelihood() > start.log_marginal_likelihood() + 3.0
    assert ours.hyper_.n_evaluations == len(ours.hyper_.trace) == 60
    assert ours.hyper_.rows is None


def test_weights_of_a_network():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    kernel = 4.0 * TorchKernel(RBF(1.0), network.double())
    hyper = StochasticEvidence(n_rows=60, n_steps=40)
    model = GPClassifier(kernel, hyper=hyper, inference="vb", standardize=True, random_state=0).fit(X, Y)
    assert np.mean(model.hyper_.trace[-10:]) > np.mean(model.hyper_.trace[:10])


def test_a_start_where_nothing_can_be_computed(monkeypatch):
    def fail(self, theta, init=None, *, strict=False):
        raise LinAlgError("not positive definite")

    monkeypatch.setattr(Objective, "value_and_gradient", fail)
    with pytest.raises(LinAlgError, match="nothing can be computed at the starting values: not positive definite"):
        GPClassifier(KERNEL, hyper=StochasticEvidence(n_steps=3)).fit(X, Y)


@pytest.mark.parametrize("settings", [{"n_rows": 1}, {"n_steps": 0}, {"step": 0.0}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match="StochasticEvidence"):
        StochasticEvidence(**settings)
