"""Several tasks against one machine with a block-diagonal kernel, and against the figure they come from."""

import numpy as np
import pytest

from gpclass import MultiTaskIVMRegressor
from gpclass.hyper import Objective
from gpclass.hyper.alternating import _batched, _partition, _site_evidence
from gpclass.inference import EP, IVM, ActivePrior
from gpclass.inference.active.tasks import select_across, select_parts
from gpclass.inference.problem import OneVersusRestProblem, Problem, TaskProblem
from gpclass.kernels import RBF, Linear, View
from gpclass.likelihoods import Gaussian, MultinomialProbit, NullCategory, Probit
from tests.conftest import central_difference, relative_error

GROUPS = tuple(np.arange(start, start + size) for start, size in ((0, 18), (18, 30), (48, 12)))


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    task = np.repeat([0.0, 1.0, 2.0], [18, 30, 12])
    return X, np.argmax(np.c_[X, X[:, 0] * X[:, 1]] + task[:, None] * [0.5, -0.5, 0.0], axis=1), task


@pytest.mark.parametrize(
    ("likelihood", "n_latent", "criterion", "update"),
    [
        (Gaussian(0.1), 1, "entropy", "adf"),
        (Gaussian(0.1), 1, "gain", "adf"),
        (Probit(), 1, "entropy", "adf"),
        (MultinomialProbit(), 3, "probability", "vb"),
        (MultinomialProbit(), 3, "entropy", "adf"),
    ],
)
def test_tasks_are_blocks_of_one_machine(problem, likelihood, n_latent, criterion, update):
    """Algorithm 3 is algorithm 1 under a covariance that is zero between tasks."""
    X, y, task = problem
    y = y if n_latent == 3 else (y == 0).astype(int) if isinstance(likelihood, Probit) else X[:, 0] + task
    ivm = IVM(25, criterion, update)
    kernel = 3.0 * RBF(1.2)
    found = select_across(ivm, kernel, [(X[own], y[own]) for own in GROUPS], likelihood, n_latent)
    blocks = View(kernel, [0, 1]) * View(RBF(1e-3), [2])
    whole = ivm.select(ActivePrior(blocks, np.c_[X, task], n_latent), y, likelihood).active
    places = [iter(own[active.rows]) for own, active in zip(GROUPS, found.active, strict=True)]
    assert [int(next(places[m])) for m in found.order] == whole.rows
    for own, active in zip(GROUPS, found.active, strict=True):
        np.testing.assert_allclose(active.mean, whole.mean[own], atol=1e-9)
        np.testing.assert_allclose(active.variance, whole.variance[own], atol=1e-9)


def test_every_task_gets_a_row():
    # Inputs far apart with alternating targets, and four times the same row with the target that the prior expects: by
    # the gain all places would go to the first task.
    apart = np.linspace(0, 9, 10)[:, None], np.arange(10.0) % 2
    alike = np.full((4, 1), 0.5), np.zeros(4)
    found = select_across(IVM(6, "gain"), 1.0 * RBF(0.1), [apart, alike], Gaussian(0.01), 1)
    assert [active.size for active in found.active] == [5, 1]
    assert found.order[-1] == 1


def test_rows_that_lower_no_entropy_stay_outside():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (X[:, 0] > 0) ^ (rng.random(150) < 0.15)
    likelihood, kernel, ivm = Probit(label_noise=0.15), 10.0 * RBF(), IVM(150)
    found = select_across(ivm, kernel, [(X, y.astype(int))], likelihood, 1)
    alone = ivm.select(ActivePrior(kernel, X, 1), y.astype(int), likelihood).active
    assert found.active[0].rows == alone.rows
    assert len(alone.rows) < 150


def test_a_task_that_lowers_no_entropy_keeps_a_row():
    apart = np.linspace(0, 9, 10)[:, None], np.arange(10) % 2
    nothing = np.zeros((3, 1)), np.array([0, 1, 0])
    found = select_across(IVM(13), Linear(), [apart, nothing], Probit(label_noise=0.1), 1)
    assert found.active[1].size == 1


def test_random_rows_are_shared_out_evenly():
    sizes = []
    tasks = [(np.arange(n, dtype=float)[:, None], np.zeros(n)) for n in (20, 60)]
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found = select_across(IVM(20, "random"), RBF(), tasks, Gaussian(1.0), 1, rng)
        sizes.append(found.active[0].size)
    assert np.mean(sizes) == pytest.approx(5.0, abs=1.0)


@pytest.mark.parametrize("engine", [EP(), IVM(20)])
def test_learning_sums_over_tasks(problem, engine):
    X, y, _ = problem
    y = (y == 0).astype(int)
    tasks = TaskProblem(4.0 * RBF(1.0), Probit(), X, y, 1, groups=GROUPS)
    theta, kernel = tasks.theta + 0.1, tasks.kernel
    if isinstance(engine, EP):
        together = Objective(tasks, engine, engine)
        alone = [Objective(Problem(kernel, Probit(), X[own], y[own], 1), engine, engine) for own in GROUPS]
        value, gradient, states = together.value_and_gradient(theta)
        apart = [task.value_and_gradient(theta)[:2] for task in alone]
        assert value == pytest.approx(sum(v for v, _ in apart), rel=1e-12)
        assert relative_error(gradient, sum(g for _, g in apart)) < 1e-9
        assert together.evidence(theta) == pytest.approx(value, rel=1e-9)
        again, _, _ = together.value_and_gradient(theta, states)
        assert again == pytest.approx(value, abs=1e-6)
        scores = [task.loo_score(theta)[0] for task in alone]
        assert together.loo_score(theta)[0] == pytest.approx(sum(scores), rel=1e-9)
    else:
        sites = [active.sites() for active in select_parts(tasks, engine, theta)]
        batches = _batched(tasks, sites)
        value, slope, _ = _site_evidence(kernel, batches, theta)
        expected = central_difference(lambda t: _site_evidence(kernel, batches, t)[0], theta)
        assert relative_error(slope, expected) < 1e-7
        # Small tasks are computed side by side; that changes nothing.
        assert len(batches) == 1
        apart = [
            _site_evidence(kernel, _batched(part, [own]), theta)[0]
            for part, own in zip(tasks.parts, sites, strict=True)
        ]
        assert value == pytest.approx(sum(apart), rel=1e-12)


def test_thinning_keeps_every_task(problem):
    X, _, _ = problem
    y = np.arange(60) % 2
    few = TaskProblem(RBF(), Probit(), X, y, 1, groups=GROUPS).thinned(14)
    assert [len(own) for own in few.groups] == [14, 14, 12]
    np.testing.assert_array_equal(np.concatenate(few.groups), np.arange(40))
    np.testing.assert_array_equal(few.X[few.groups[2]], X[GROUPS[2]])
    assert set(few.y[few.groups[1]]) == {0, 1}


def test_one_versus_rest_shares_the_kernel(problem):
    X, y, _ = problem
    y = np.where(np.arange(60) % 3 == 0, y, -1)
    likelihoods = tuple(NullCategory(0.6, 0.7, bias, 0.1, fixed=("bias", "variance")) for bias in (-0.5, 0.0, 0.3))
    whole = OneVersusRestProblem(2.0 * RBF(), likelihoods[0], X, y, 1, likelihoods=likelihoods)
    for c, part in enumerate(whole.parts):
        assert set(part.y[y < 0]) == {-1}
        np.testing.assert_array_equal(part.y[y >= 0], y[y >= 0] == c)
        assert part.likelihood.bias == likelihoods[c].bias
    moments = [(active.mean, active.variance) for active in select_parts(whole, IVM(20), whole.theta)]
    theta = whole.theta[whole.kernel.theta.size :]
    value, slope, _ = _partition(whole, moments, theta)
    numeric = central_difference(lambda t: _partition(whole, moments, t)[0], theta)
    assert relative_error(slope, numeric) < 1e-7
    assert np.isfinite(value)


def test_the_widely_spread_sine_gets_most_rows():
    """LPJ05 figure 7: inputs that are bimodal, narrow and wide; of 15 rows all but six come from the third task."""
    wide = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = np.concatenate(
            [
                rng.choice([-8.0, 8.0], 30) + 0.5 * rng.standard_normal(30),
                2.0 * rng.standard_normal(30),
                rng.uniform(-15.0, 15.0, 30),
            ]
        )
        task = np.repeat(["bimodal", "narrow", "wide"], 30)
        y = np.sin(np.pi / 5.0 * x + np.repeat(rng.uniform(0.0, 6.0, 3), 30))
        model = MultiTaskIVMRegressor(RBF(1.0), n_active=15, hyper="fixed").fit(x[:, None], y, task=task)
        wide.append(np.sum(model.active_task_ == "wide"))
    assert min(wide) >= 8
    assert np.mean(wide) == pytest.approx(9.0, abs=1.0)
