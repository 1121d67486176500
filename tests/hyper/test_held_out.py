"""Kernel parameters by rows held out."""

import numpy as np
import pytest

from gpclass import GPClassifier, IVMClassifier, IVMRegressor, SparseGPClassifier
from gpclass.datasets import make_rings
from gpclass.hyper import Alternating, Evidence, Fixed, HeldOut
from gpclass.hyper.held_out import _compass
from gpclass.inference import IVM
from gpclass.inference.calibration import LooPrediction, calibrate
from gpclass.inference.problem import held_out_rows
from gpclass.kernels import RBF, Linear, Precomputed
from gpclass.likelihoods import MultinomialProbit, Probit
from gpclass.training.row_order import RowOrder

from .conftest import objective_of


@pytest.fixture(scope="module")
def rings():
    X, y = make_rings(300, random_state=0)
    return X[:, :2], y


def test_the_score_is_that_of_a_model_of_the_others(rings):
    X, y = rings
    labels = np.unique(y, return_inverse=True)[1]
    kernel, held_out = 20.0 * RBF(2.0), held_out_rows(labels, 60)
    # The others in the order that an estimator would train on them.
    others = np.flatnonzero(~held_out)[RowOrder.of(X[~held_out], labels[~held_out]).rows]
    order = np.r_[others, np.flatnonzero(held_out)]
    X, labels, held_out = X[order], labels[order], held_out[order]
    objective = objective_of(kernel, MultinomialProbit(), IVM(), X, labels, 3)
    value = HeldOut(n_active=50).score(objective, held_out, objective.theta)
    other = IVMClassifier(kernel, n_active=50, hyper="fixed", calibration=None, standardize=False)
    other.fit(X[~held_out], labels[~held_out])
    mean, variance = other.posterior_.latent(X[held_out])
    truth = labels[held_out]
    factors = calibrate(
        [LooPrediction(np.zeros(len(truth)), MultinomialProbit(), mean, variance)], truth, np.ones(len(truth))
    )
    log_p = factors.log_proba(MultinomialProbit(), mean, variance)[np.arange(len(truth)), truth]
    assert value == pytest.approx(log_p.mean(), abs=1e-6)


def test_a_kernel_that_is_far_too_smooth_is_put_right(rings):
    X, y = rings
    smooth = IVMClassifier(20.0 * RBF(5.0), n_active=60, hyper="fixed").fit(X[:200], y[:200])
    model = IVMClassifier(20.0 * RBF(5.0), n_active=60, hyper=HeldOut(first=Fixed())).fit(X[:200], y[:200])
    assert model.kernel_.params["length_scale"] < 2.6
    assert model.score(X[200:], y[200:]) > smooth.score(X[200:], y[200:])
    assert model.hyper_.converged
    assert model.hyper_.n_evaluations <= HeldOut().max_evaluations
    again = IVMClassifier(20.0 * RBF(5.0), n_active=60, hyper=HeldOut(first=Fixed())).fit(X[:200], y[:200])
    assert again.kernel_ == model.kernel_


@pytest.mark.filterwarnings("ignore:learning ended with")
def test_names_move_together_and_stay_within_bounds(rings):
    X, y = rings
    model = IVMClassifier(5.0 * RBF([8.0, 16.0]), n_active=40, hyper=HeldOut(first=Fixed())).fit(X, y)
    assert model.kernel_.params["length_scale"][0] < 8.0
    assert model.kernel_.params["length_scale"][1] / model.kernel_.params["length_scale"][0] == pytest.approx(2.0)
    start = 5.0 * RBF([8.0, 16.0], bounds={"length_scale": (3.0, 130.0)}) + Linear(0.1)
    model = IVMClassifier(start, likelihood=Probit(label_noise=0.01), n_active=40, hyper=HeldOut(first=Fixed()))
    model.fit(X, y == 1)
    lengths = model.kernel_.params["rbf.length_scale"]
    assert lengths[0] < 8.0
    assert np.all(lengths >= 3.0 - 1e-9)
    assert model.likelihood_ == Probit(label_noise=0.01)


@pytest.mark.filterwarnings("ignore:learning stopped after")
def test_it_can_follow_any_learner(rings):
    X, y = rings
    for first in (Evidence(max_rows=60), Alternating(n_rounds=1)):
        before = IVMClassifier(5.0 * RBF(2.0), n_active=40, hyper=first).fit(X, y)
        model = IVMClassifier(5.0 * RBF(2.0), n_active=40, hyper=HeldOut(first, max_evaluations=4)).fit(X, y)
        steps = (model.hyper_.theta - before.hyper_.theta) / np.log(2.0)
        np.testing.assert_allclose(steps, steps.round(), atol=1e-9)
        assert model.hyper_.n_evaluations == 4
    learned = GPClassifier(5.0 * RBF(2.0), hyper=HeldOut(Evidence(max_rows=60), max_evaluations=3)).fit(X, y)
    assert learned.score(X, y) > 0.9


def test_models_compared_are_like_the_one_to_be(rings, monkeypatch):
    X, y = rings
    seen, whole = [], IVM.select

    def spy(self, *args, **named):
        seen.append(self)
        return whole(self, *args, **named)

    monkeypatch.setattr(IVM, "select", spy)
    settings = {"criterion": "random", "block_size": 4, "dtype": "float32", "refine": False, "n_active": 20}
    IVMClassifier(RBF(1.0), hyper=HeldOut(Fixed()), **settings).fit(X, y)
    for ivm in seen:
        assert {name: getattr(ivm, name) for name in settings} == settings
    seen.clear()
    SparseGPClassifier(RBF(1.0), n_inducing=30, hyper=HeldOut(Fixed())).fit(X[:200], y[:200])
    assert {ivm.n_active for ivm in seen} == {30}
    seen.clear()
    IVMClassifier(RBF(1.0), n_active=90, hyper=HeldOut(Fixed(), n_active=25)).fit(X, y)
    assert {ivm.n_active for ivm in seen} == {25, 90}


def test_trouble_is_told(rings, monkeypatch):
    X, y = rings
    with pytest.warns(UserWarning, match="without converging"):
        model = IVMClassifier(5.0 * RBF(2.0), n_active=20, hyper=HeldOut(Evidence(max_iter=1))).fit(X, y)
    assert not model.hyper_.converged
    # Nothing to move: what was found is kept.
    kernel = RBF(1.0, fixed=True)
    model = GPClassifier(kernel, likelihood=Probit(label_noise=0.05, fixed=("bias", "variance")), hyper="held_out")
    assert np.isfinite(model.fit(X, y == 1).hyper_.value)
    monkeypatch.setattr(HeldOut, "score", lambda *args: -np.inf)
    with pytest.raises(np.linalg.LinAlgError, match="at the parameters to start from"):
        IVMClassifier(RBF(1.0), n_active=20, hyper="held_out").fit(X, y)


def test_inducing_rows_wait_for_the_first_learner(rings):
    X, y = rings
    kernel = 5.0 * RBF(2.0)
    model = SparseGPClassifier(kernel, n_inducing=15, hyper=HeldOut(Evidence(max_rows=None, max_iter=3)))
    with pytest.warns(UserWarning, match="without converging"):
        model.fit(X[:100], y[:100])
    assert model.kernel_ != kernel


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"first": "evidence"}, TypeError, r"such as Evidence\(\), got 'evidence'"),
        ({"tol": 0.0}, ValueError, "tol must be positive"),
        ({"n_held_out": 0}, ValueError, "n_held_out must be a whole number"),
    ],
)
def test_bad_settings(settings, error, message):
    with pytest.raises(error, match=message):
        HeldOut(**settings)


def test_numbers(rings):
    X = np.linspace(-3.0, 3.0, 300)[:, None]
    y = np.sin(4.0 * X[:, 0])
    model = IVMRegressor(RBF(1.2), n_active=60, hyper=HeldOut(first=Fixed()), standardize=False).fit(X, y)
    assert model.kernel_.params["length_scale"] < 1.0
    assert model.score(X, y) > 0.99


def test_few_evaluations_are_told_of(rings):
    X, y = rings
    with pytest.warns(UserWarning, match=r"HeldOut\(max_evaluations=...\)"):
        model = IVMClassifier(5.0 * RBF(20.0), n_active=30, hyper=HeldOut(Fixed(), max_evaluations=3)).fit(X, y)
    assert model.hyper_.n_evaluations == 3


def test_many_rows_are_what_it_is_for():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = IVMClassifier(RBF(1.0), n_active=20).fit(X, y)
    assert model.hyper_.rows is None  # all were looked at, and not 350
    few = IVMClassifier(RBF(1.0), n_active=20).fit(X[:1000], y[:1000])
    assert len(few.hyper_.rows) == 350


def test_no_covariances_without_rows():
    K = np.eye(20)
    with pytest.raises(TypeError, match="needs features"):
        GPClassifier(2.0 * Precomputed(), hyper=HeldOut(Fixed())).fit(K, np.arange(20) % 2)


def test_few_rows_of_rare_classes_are_held_out():
    y = np.repeat([0, 1, 2], [1000, 100, 4])
    held_out = held_out_rows(y, 110)
    assert np.bincount(y[held_out], minlength=3).tolist() == [100, 10, 0]
    assert np.count_nonzero(held_out_rows(y, 10**6)) == 220
    assert np.count_nonzero(held_out_rows(np.linspace(0.0, 1.0, 50), 10**6)) == 10
    assert not np.any(held_out_rows(y, 0))


def test_compass():
    seen = []

    def latent(place):
        seen.append(place)
        return -((place[0] - 3.0) ** 2) - 0.1 * (place[1] + 1.0) ** 2

    best, converged = _compass(latent, 2, 0.05, 0.0, lambda: len(seen) > 1000)
    assert converged
    np.testing.assert_allclose(best, [3.0, -1.0], atol=0.06)
    seen.clear()
    assert _compass(latent, 2, 0.05, 0.0, lambda: len(seen) > 3)[1] is False
