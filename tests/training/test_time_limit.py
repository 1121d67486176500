"""A limit on the time of learning, by a clock that advances with every reading."""

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from gpclass import GPClassifier, GPRegressor, IVMClassifier, NearestNeighborGPClassifier, SparseGPClassifier, TimeLimit
from gpclass.hyper import HMC
from gpclass.inference import Gibbs, SparseVB
from gpclass.kernels import RBF
from gpclass.training.time_limit import LEARNING_TASKS

X, y = load_iris(return_X_y=True)
X, y = X[::3], y[::3]
KERNEL = 5.0 * RBF(1.0)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def ticking():
    """A clock that is one second further each time."""
    return count().__next__


def stops_after(steps):
    """A limit that is over after so many steps of learning."""
    return TimeLimit(steps, clock=ticking())


class TaskNames:
    """The names of the tasks of a fit, and how many steps each has made."""

    def setup(self, estimator, context):
        self.steps = {}

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.parent is not None:
            self.steps[context.parent.task_name] = self.steps.get(context.parent.task_name, 0) + 1

    def teardown(self, estimator, context):
        pass


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (GPClassifier(KERNEL, random_state=0), y),
        (GPClassifier(random_state=0), y),
        (GPClassifier(KERNEL, hyper=HMC(n_iter=16, burn_in=2, n_leapfrog=2, n_models=2), random_state=0), y),
        (GPRegressor(random_state=0), X[:, 0]),
        (IVMClassifier(KERNEL, n_active=20, random_state=0), y),
        (SparseGPClassifier(KERNEL, n_inducing=20, random_state=0), y),
        (NearestNeighborGPClassifier(n_neighbors=10, random_state=0), y),
    ],
    ids=["a kernel", "default", "samples", "regression", "active rows", "inducing points", "nearest neighbours"],
)
def test_learning_stops_and_the_posterior_is_whole(model, target):
    followed = TaskNames()
    model.set_callbacks(stops_after(1), followed).fit(X, target)
    assert model.hyper_.stopped
    assert not getattr(model, "info_", model.hyper_).stopped or isinstance(model, NearestNeighborGPClassifier)
    stopped = followed.steps
    if isinstance(model, IVMClassifier):
        assert len(model.active_) == 20
    model.set_callbacks(TimeLimit(1e9, clock=ticking()), followed).fit(X, target)
    assert not model.hyper_.stopped
    learned = [name for name in followed.steps if name in LEARNING_TASKS]
    assert sum(stopped.get(name, 0) for name in learned) < sum(followed.steps[name] for name in learned)
    assert np.mean(model.predict(X) == target) > 0.9 or target is not y


def test_no_further_kernels_of_the_family_are_learned():
    whole = GPClassifier(random_state=0).fit(X, y)
    part = GPClassifier(random_state=0).set_callbacks(stops_after(1)).fit(X, y)
    assert [one.name for one in whole.hyper_.members] == ["additive", "quantiles", "linear", "constant"]
    assert [one.name for one in part.hyper_.members] == ["additive", "constant"]


class StopsAfter(TaskNames):
    """Asks to stop at the end of the first task of a name."""

    def __init__(self, name):
        self.name, self.ended = name, 0

    def on_fit_task_end(self, estimator, context):
        self.ended += context.task_name == self.name
        return context.task_name == self.name


def test_a_request_at_the_end_of_a_task_stops_the_task_above():
    callback = StopsAfter("search")
    model = GPClassifier(KERNEL, n_restarts_optimizer=3, random_state=0, verbose=1).set_callbacks(callback).fit(X, y)
    assert callback.ended == 1
    assert model.hyper_.stopped


def test_inducing_points_by_variational_inference_are_whole():
    model = SparseGPClassifier(KERNEL, inference=SparseVB(), n_inducing=20, random_state=0)
    model.set_callbacks(stops_after(1)).fit(X, y)
    assert model.hyper_.stopped
    assert model.info_.converged


def test_sampling_latent_values_stops_with_the_draws_so_far():
    gibbs = Gibbs(n_draws=60, burn_in=10, thin=1, n_chains=1, random_state=0)
    model = GPClassifier(KERNEL, inference=gibbs, hyper="fixed")
    model.set_callbacks(stops_after(1)).fit(X, y)
    assert model.info_.stopped


def test_a_stopped_fit_is_warned_of():
    with pytest.warns(ConvergenceWarning, match="learning was stopped after .* the best parameters found are kept"):
        GPClassifier(KERNEL).set_callbacks(stops_after(1)).fit(X, y)


def test_every_fit_begins_a_new_limit():
    limit = TimeLimit(5, clock=iter([0.0, 100.0, 104.0, 105.0]).__next__)
    for _ in range(2):
        limit.setup(None, None)

    step = SimpleNamespace(parent=SimpleNamespace(task_name="search", parent=None))
    assert not limit.on_fit_task_end(None, step)
    assert limit.on_fit_task_end(None, step)


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_a_limit_is_a_positive_number(seconds):
    with pytest.raises(ValueError, match="expected a time limit of more than 0 seconds, got"):
        TimeLimit(seconds)
