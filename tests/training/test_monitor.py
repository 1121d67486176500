"""Monitors: what they are told, what a request to stop does, and that following a computation does not change it."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gpclass import GPClassifier, GPRegressor, IVMClassifier, MultiTaskIVMClassifier, SparseGPClassifier
from gpclass.hyper import HMC, NUTS, Alternating, Evidence, HeldOut, Importance, LeaveOneOut, Metropolis, Objective
from gpclass.hyper.search import Effort
from gpclass.inference import EP, IVM, VB, Exact, Gibbs, Laplace, SparseEP, SparseVB
from gpclass.inference.inducing.features import ArrayRows, Features
from gpclass.inference.prior import ActivePrior, DensePrior, InducingPrior
from gpclass.inference.problem import Problem
from gpclass.kernels import RBF
from gpclass.likelihoods import Gaussian, MultinomialProbit, Probit
from gpclass.training.monitor import SILENT, Callbacks, Monitor, Terminal, Together
from tests.conftest import AsksToStop


class Recorder(Monitor):
    """Notes every task with its number of steps, and asks to stop at the n-th step of tasks of one name."""

    def __init__(self, stop="", n=1, name="", tasks=None):
        self.stop, self.n, self.name, self.steps = stop, n, name, 0
        self.tasks = [] if tasks is None else tasks
        self.tasks.append(self)

    def task(self, name, total=None):
        return Recorder(self.stop, self.n, name, self.tasks)

    def step(self, note=""):
        self.steps += 1
        self.should_stop = self.should_stop or (self.name == self.stop and self.steps >= self.n)

    def steps_of(self, name):
        return [task.steps for task in self.tasks if task.name == name]


rng = np.random.default_rng(0)
X = rng.standard_normal((40, 2))
BINARY = (X[:, 0] + 0.5 * rng.standard_normal(40) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(40), [-0.4, 0.4])
KERNEL = 4.0 * RBF(1.0)
#: engine, the task of its main loop, and a step of it at which a request to stop comes early
ENGINES = {
    "laplace": (Laplace(), "Newton steps", 2),
    "vb": (VB(), "Newton steps", 2),
    "vb by printed steps": (VB(solver="plain"), "iterations", 3),
    "ep": (EP(coupling="none"), "EP sweeps", 2),
    "ep, coupled": (EP(coupling="full"), "EP sweeps", 2),
    "gibbs": (Gibbs(n_draws=30, burn_in=20, thin=2, n_chains=2, random_state=0), "sweeps", 40),
    "ivm": (IVM(20), "active rows", 7),
    "ivm, refinement": (IVM(20, update="adf"), "EP sweeps", 2),
    "ivm, exchanges": (IVM(8, update="adf", n_exchanges=10, refine=False), "exchanges", 1),
    "ivm, more exchanges": (IVM(12, update="adf", n_exchanges=10, refine=False), "exchanges", 1),
    "sparse ep": (SparseEP(), "EP sweeps", 2),
    "sparse vb": (SparseVB(), "variational search", 2),
}
#: engines with two and with three classes; one latent function has nothing to couple, and some exchanges end at once
CASES = [
    (name, n_classes)
    for name in ENGINES
    for n_classes in (2, 3)
    if (name, n_classes) not in (("ep, coupled", 2), ("ivm, exchanges", 3), ("ivm, more exchanges", 2))
]


def run(name, n_classes, monitor=SILENT):
    engine = ENGINES[name][0]
    y, likelihood = (BINARY, Probit()) if n_classes == 2 else (THREE, MultinomialProbit())
    n_latent = 1 if n_classes == 2 else 3
    priors = {
        DensePrior: lambda: DensePrior.at(KERNEL, X, n_latent),
        ActivePrior: lambda: ActivePrior(KERNEL, X, n_latent),
        InducingPrior: lambda: InducingPrior(Features(KERNEL, X[::2], ArrayRows(X)), n_latent),
    }
    return engine(priors[engine.prior_type](), y, likelihood, monitor=monitor)


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_a_stopped_engine_says_so(name, n_classes):
    _, task, n = ENGINES[name]
    followed, stopped = Recorder(), Recorder(task, n)
    whole, part = run(name, n_classes, followed), run(name, n_classes, stopped)
    assert not whole.info.stopped
    assert part.info.stopped
    assert max(stopped.steps_of(task)) < max(followed.steps_of(task))
    mean, cov = part.posterior.latent(X[:3])
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(cov))


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_following_an_engine_changes_no_bit_of_its_result(name, n_classes):
    followed = Recorder()
    silent, seen = run(name, n_classes), run(name, n_classes, followed)
    assert sum(task.steps for task in followed.tasks) > 0
    np.testing.assert_array_equal(seen.log_evidence, silent.log_evidence)
    np.testing.assert_array_equal(seen.objective, silent.objective)
    assert repr(seen.info) == repr(silent.info)
    for ours, theirs in zip(seen.posterior.latent(X), silent.posterior.latent(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (seen.loo is None) == (silent.loo is None)
    if seen.loo is not None:
        for ours, theirs in zip(seen.loo, silent.loo, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_exact_regression_has_nothing_to_stop():
    prior = DensePrior.at(KERNEL, X)
    followed = Recorder()
    seen, silent = Exact()(prior, X[:, 1], Gaussian(0.1), monitor=followed), Exact()(prior, X[:, 1], Gaussian(0.1))
    assert seen.log_evidence == silent.log_evidence
    assert len(followed.tasks) == 1
    assert not seen.info.stopped


# ---- searches --------------------------------------------------------------------------------------------

SMALL = Gibbs(n_draws=10, burn_in=20, thin=1, n_chains=2, random_state=0)
#: search, engine, the task in which a request to stop comes, and its step
SEARCHES = {
    "evidence": (Evidence(), Laplace(), "search", 1),
    "evidence, restarts": (Evidence(), Laplace(), "starting points", 1),
    "leave one out": (LeaveOneOut(), Laplace(), "search", 1),
    "alternating": (Alternating(n_rounds=3), IVM(10), "rounds", 1),
    "alternating, a turn": (Alternating(n_rounds=1), IVM(10), "search", 1),
    "held out": (HeldOut(Evidence(), n_active=10), IVM(10), "models compared", 2),
    "held out, first search": (HeldOut(Evidence(), n_active=10), IVM(10), "search", 1),
    "hmc": (HMC(n_iter=30, burn_in=5, n_leapfrog=3), Laplace(), "trajectories", 12),
    "importance as published": (Importance(as_published=True, n_draws=30, n_rounds=4), VB(), "iterations", 2),
    "importance": (Importance(n_draws=25), Laplace(), "search", 1),
    "nuts": (NUTS(n_draws=4, n_tune=20, n_chains=1), Laplace(), "search", 1),
    "metropolis": (Metropolis(n_models=2), SMALL, "search", 1),
}


def searched(name, monitor=SILENT):
    search, engine, _, _ = SEARCHES[name]
    kernel = RBF([1.0, 1.0]) if "published" in name else 4.0 * RBF(3.0)
    objective = Objective(Problem(kernel, Probit(fixed=True), X, BINARY, 1), engine, engine.learner)
    return search(objective, np.random.default_rng(0), monitor, Effort(2 if "restarts" in name else 0))


@pytest.mark.parametrize("name", SEARCHES)
def test_a_stopped_search_says_so(name):
    _, _, task, n = SEARCHES[name]
    followed, stopped = Recorder(), Recorder(task, n)
    whole, part = searched(name, followed), searched(name, stopped)
    assert not whole.stopped
    assert part.stopped
    assert max(stopped.steps_of(task)) < max(followed.steps_of(task))
    assert np.all(np.isfinite(part.theta))
    silent = searched(name)
    np.testing.assert_array_equal(silent.theta, whole.theta)
    assert silent.value == whole.value


@pytest.mark.parametrize("name", ["importance", "nuts", "metropolis"])
def test_other_samplers_make_all_their_draws(name):
    task = "sweeps" if name == "metropolis" else "draws"
    part, whole = searched(name, Recorder(task, 1)), searched(name)
    assert not part.stopped
    np.testing.assert_array_equal(part.samples.theta, whole.samples.theta)


# ---- estimators and scikit-learn's callbacks --------------------------------------------------------------


def iris():
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "task", "n", "where"),
    [
        (GPClassifier(5.0 * RBF(1.0)), "search", 1, "hyper"),
        (GPClassifier(), "search", 1, "hyper"),
        (GPClassifier(5.0 * RBF(1.0), hyper="fixed"), "Newton steps", 1, "info"),
        (GPClassifier(5.0 * RBF(1.0), hyper=Importance(n_draws=25, n_models=8)), "models", 3, "hyper"),
        (IVMClassifier(5.0 * RBF(1.0), n_active=20, hyper="fixed"), "active rows", 5, "info"),
        (SparseGPClassifier(5.0 * RBF(1.0), n_inducing=20, hyper="fixed"), "active rows", 5, "info"),
        (SparseGPClassifier(5.0 * RBF(1.0), n_inducing=20, hyper="fixed"), "EP sweeps", 1, "info"),
    ],
    ids=["evidence", "default kernel", "newton", "averaged models", "active rows", "inducing rows", "sparse ep"],
)
def test_a_stopped_fit_says_so(model, task, n, where):
    X, y = iris()
    model.set_params(random_state=0)
    whole = {"hyper": model.fit(X, y).hyper_.stopped, "info": model.info_.stopped}
    assert whole == {"hyper": False, "info": False}
    model.set_callbacks(AsksToStop(task, n)).fit(X, y)
    assert {"hyper": model.hyper_.stopped, "info": model.info_.stopped} == {**whole, where: True}
    assert model.predict_proba(X).shape == (50, 3)


def test_a_stopped_selection_across_tasks_says_so():
    X, y = iris()
    model = MultiTaskIVMClassifier(5.0 * RBF(1.0), n_active=20, hyper="fixed")
    assert not any(info.stopped for info in model.fit(X, y, task=np.arange(50) % 2).info_)
    model.set_callbacks(AsksToStop("active rows", 4)).fit(X, y, task=np.arange(50) % 2)
    assert all(info.stopped for info in model.info_)
    assert len(model.active_) < 20


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_stopped_batch_says_so():
    X, y = iris()
    model = IVMClassifier(5.0 * RBF(1.0), n_active=20, hyper="fixed").partial_fit(X, y)
    assert not model.info_.stopped
    model.set_callbacks(AsksToStop("rows", 5)).partial_fit(X, y)
    assert model.info_.stopped
    assert model.n_samples_seen_ == 55
    assert not model.set_callbacks(AsksToStop("rows", 500)).partial_fit(X, y).info_.stopped


# ---- monitors themselves ----------------------------------------------------------------------------------


def test_a_monitor_in_another_process_is_silent(capsys):
    for monitor in (SILENT, Recorder(), Terminal("work"), Together([Terminal("work"), Recorder()])):
        copied = pickle.loads(pickle.dumps(monitor))
        assert type(copied) is Monitor
        with copied.task("part", 3) as part:
            assert list(part.each(range(3))) == [0, 1, 2]
    assert capsys.readouterr().out == ""


def test_callbacks_do_not_travel():
    class Context:
        def call_on_fit_task_begin(self, estimator):
            pass

        def __reduce__(self):
            raise AssertionError("a context was pickled")

    assert type(pickle.loads(pickle.dumps(Callbacks(GPRegressor(), Context())))) is Monitor


def test_restarts_in_other_processes_give_the_same():
    search, engine, _, _ = SEARCHES["evidence"]
    objective = Objective(Problem(KERNEL, Probit(fixed=True), X, BINARY, 1), engine, engine.learner)
    followed = Recorder()
    here = search(objective, np.random.default_rng(0), SILENT, Effort(2))
    there = search(objective, np.random.default_rng(0), followed, Effort(2, n_jobs=2))
    np.testing.assert_array_equal(here.theta, there.theta)
    assert followed.steps_of("starting points") == [3]
    assert followed.steps_of("search") == []


def test_several_monitors_are_one(capsys):
    one, other = Recorder("part", 2), Recorder()
    with Together([one, other, Terminal("work")]).task("part", 5) as part:
        assert list(part.each(range(5))) == [0, 1]
    assert one.steps_of("part") == other.steps_of("part") == [2]
    assert "[work: part] done 2 of 5" in capsys.readouterr().out


def test_at_least_so_many_steps_are_made():
    with Recorder("part", 1).task("part", 5) as part:
        assert list(part.each(range(5), at_least=3)) == [0, 1, 2]
