"""Learning a metric by leave-one-out batches: gradients, rounds that held-back rows decide, and what ends them."""

import numpy as np
import pytest

from gpclass.hyper import metric_learning
from gpclass.hyper.metric_learning import (
    NeighborProblem,
    NeighborSettings,
    _gain,
    batch_size,
    fit_link,
    learn_metric,
    round_length,
)
from gpclass.inference.neighbors.link import ClassLink
from gpclass.inference.neighbors.local import LocalRegression
from gpclass.inference.neighbors.search import NeighborIndex
from gpclass.kernels import Matern
from gpclass.numerics.differences import derivative
from gpclass.training.monitor import Monitor


def a_problem(n=300, d=3, seed=0, label=lambda X: X[:, 0] > 0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = label(X).astype(int)
    shares = np.bincount(y, minlength=2) / n
    targets = np.eye(2)[y] - shares
    return NeighborProblem(Matern(np.ones(d), nu=1.5), ClassLink.start(shares), X, y, targets)


def halves(problem):
    held = np.arange(len(problem.y)) % 4 == 0
    return problem.subset(~held), problem.subset(held)


@pytest.mark.parametrize("mixes", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_in_theta(mixes, weighted):
    problem, rng = a_problem(60), np.random.default_rng(1)
    if mixes:
        problem = NeighborProblem(**{**vars(problem), "mixing": 0.2 * rng.normal(size=(3, 3))})
    if weighted:
        problem = NeighborProblem(**{**vars(problem), "weights": rng.uniform(0.5, 2.0, 60)})
    rows, points = np.arange(9), problem.regression.points(problem.X)
    neighbors = NeighborIndex(points, "exact").search(points[rows], 8, rows)
    _, gradient = problem.value_and_gradient(rows, neighbors)
    assert len(problem.theta) == len(problem.theta_bounds) == len(gradient)
    for j, step in enumerate(np.eye(len(gradient))):
        slope = derivative(
            lambda t, step=step: problem.at(problem.theta + t * step).value_and_gradient(rows, neighbors)[0], 0.0
        )
        assert gradient[j] == pytest.approx(slope, abs=1e-7)


def test_mixing_is_a_matrix_in_front_of_the_rows():
    problem, rng = a_problem(80), np.random.default_rng(2)
    problem = problem.at(np.concatenate([[0.3, -0.5, 1.0], problem.theta[3:]]))
    mixed = NeighborProblem(**{**vars(problem), "mixing": 0.3 * rng.normal(size=(3, 3))})
    plain = mixed.transform(mixed.components)
    np.testing.assert_allclose(mixed.regression.points(mixed.X), plain.regression.points(plain.X), atol=1e-12)
    points = plain.regression.points(plain.X)
    candidates = NeighborIndex(points, "exact").search(points[:10], 20, np.arange(10))
    near = mixed.regression.nearest(mixed.X, mixed.X[:10], candidates, 7)
    np.testing.assert_array_equal(np.sort(near), np.sort(candidates[:, :7]))
    ours = mixed.regression.moments(mixed.X, mixed.targets, mixed.X[:10], near)
    theirs = plain.regression.moments(plain.X, plain.targets, plain.X[:10], near)
    np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-12)
    np.testing.assert_allclose(ours.variance, theirs.variance, atol=1e-12)


def test_learning_finds_the_columns_that_matter():
    learned = learn_metric(*halves(a_problem(800, 5)), NeighborSettings(n_neighbors=20), np.random.default_rng(0))
    scales = learned.problem.kernel.params["length_scale"]
    relevance = 1.0 / scales**2 if learned.components is None else learned.components**2 @ (1.0 / scales**2)
    assert relevance[0] > 5.0 * relevance[1:].max()
    assert learned.value > learned.trace[0]
    assert learned.value >= max(learned.trace[:2])
    assert learned.converged
    assert not learned.stopped


def test_columns_are_mixed_where_a_difference_matters():
    def stripes(X):
        return np.sin(9.0 * (X[:, 0] - X[:, 1])) > 0.0

    settings = NeighborSettings(n_neighbors=20)
    learned = learn_metric(*halves(a_problem(1600, 2, label=stripes)), settings, np.random.default_rng(0))
    assert learned.components is not None
    A = learned.components / learned.problem.kernel.params["length_scale"]
    across, along = np.linalg.norm(A.T @ [1.0, -1.0]), np.linalg.norm(A.T @ [1.0, 1.0])
    assert across > 1.5 * along


def test_columns_stay_apart_where_held_back_rows_are_few():
    problem = a_problem(200)
    learned = learn_metric(*halves(problem), NeighborSettings(), np.random.default_rng(0))
    assert learned.components is None
    assert learned.problem.mixing is None


def test_the_same_seed_gives_the_same_bits():
    first, second = (
        learn_metric(*halves(a_problem(400)), NeighborSettings(20, max_iter=60), np.random.default_rng(3)) for _ in "ab"
    )
    np.testing.assert_array_equal(first.problem.theta, second.problem.theta)
    assert first.trace == second.trace


def test_noise_alone_ends_learning_early():
    rng = np.random.default_rng(0)
    problem = a_problem(500, label=lambda X: rng.uniform(size=len(X)) < 0.5)
    learned = learn_metric(*halves(problem), NeighborSettings(), np.random.default_rng(0))
    assert learned.n_iter < 1000
    assert learned.value > np.log(0.5) - 0.05


def test_an_interrupt_keeps_the_steps_so_far(monkeypatch):
    calls, vjp = [], LocalRegression.vjp

    def interrupted(self, *args):
        calls.append(None)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return vjp(self, *args)

    monkeypatch.setattr(LocalRegression, "vjp", interrupted)
    learned = learn_metric(*halves(a_problem(400)), NeighborSettings(), np.random.default_rng(0))
    assert learned.interrupted
    assert not learned.converged
    assert learned.n_iter == 29
    assert learned.value > learned.trace[0] + 0.05


def test_an_interrupt_between_rounds_keeps_the_best_round(monkeypatch):
    calls, score = [], metric_learning._Rounds._scores

    def interrupted(self, problem):
        calls.append(None)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return score(self, problem)

    monkeypatch.setattr(metric_learning._Rounds, "_scores", interrupted)
    learned = learn_metric(*halves(a_problem(400)), NeighborSettings(), np.random.default_rng(0))
    assert learned.interrupted
    assert learned.value == max(learned.trace)
    assert len(learned.trace) == 2


def test_a_request_to_stop_keeps_the_steps_so_far():
    class Stops(Monitor):
        n = 0

        def step(self, note=""):
            self.n += 1
            self.should_stop = self.n >= 20

    learned = learn_metric(*halves(a_problem(400)), NeighborSettings(), np.random.default_rng(0), Stops())
    assert learned.stopped
    assert not learned.converged
    assert not learned.interrupted
    assert learned.n_iter == 20
    assert learned.value > learned.trace[0]


def test_rounds_end_at_the_limit():
    learned = learn_metric(*halves(a_problem(400)), NeighborSettings(max_iter=7), np.random.default_rng(0))
    assert learned.n_iter == 7


def test_gains_and_their_standard_error():
    difference = np.array([1.0, 2.0, 3.0, 6.0])
    mean, error = _gain(difference, None)
    assert mean == 3.0
    assert error == pytest.approx(difference.std() / 2.0)
    # Whole weights are copies, but for the number of rows that the error goes by.
    weighted, _ = _gain(difference, np.array([1.0, 3.0, 1.0, 1.0]))
    assert weighted == pytest.approx(np.repeat(difference, [1, 3, 1, 1]).mean())


def test_the_link_is_fitted_to_more_neighbours(monkeypatch):
    problem = a_problem(600, label=lambda X: X[:, 0] + 0.8 * np.random.default_rng(5).normal(size=len(X)) > 0.0)
    others, held = halves(problem)
    settings = NeighborSettings(n_neighbors=100)
    learned = learn_metric(others, held, settings, np.random.default_rng(0)).problem
    fitted = fit_link(learned, settings, np.random.default_rng(0))

    def score(found):
        moments = found.posterior(100, "exact").moments(held.X)
        return found.link.score(held.y, *moments, found.noise).log_prob.mean()

    assert score(fitted) > score(learned) - 0.01
    ratio = fitted.kernel.params["length_scale"] / learned.kernel.params["length_scale"]
    np.testing.assert_allclose(ratio, ratio[0])  # a common factor


def test_batches_and_rounds_grow_with_the_number_of_rows():
    assert [batch_size(n) for n in (50, 300, 16_000, 50_000, 1_000_000)] == [50, 200, 200, 500, 1000]
    assert [round_length(n) for n in (50, 16_000, 1_000_000)] == [100, 320, 400]
    assert metric_learning.LEARNING_NEIGHBORS < 200 <= metric_learning.POOL
