"""Slopes by differences, and fewer rows."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gpclass import GPClassifier
from gpclass.hyper.objective import by_differences, slopes
from gpclass.inference.problem import spread_rows
from gpclass.kernels import RBF

BOUNDS = np.array([[-5.0, 5.0], [0.7, 0.7], [0.0, 5.0]])  # room on both sides, none, on one side


def test_slopes_stay_within_the_bounds():
    seen = []

    def function(theta):
        seen.append(theta)
        return np.array([theta @ theta, theta[0] * theta[1]])

    theta = np.array([0.4, 0.7, 0.0])
    found = slopes(function, theta, BOUNDS)
    np.testing.assert_allclose(found, [[0.8, 0.0, 0.001], [0.7, 0.0, 0.0]], atol=1e-9)
    assert np.all((np.array(seen) >= BOUNDS[:, 0]) & (np.array(seen) <= BOUNDS[:, 1]))


@pytest.mark.parametrize("n", [3, 0])
def test_value_slope_and_state(n):
    def function(theta, init):
        return float(theta @ theta), (init, "state")

    theta = np.array([0.4, 0.7, 0.0])[:n]
    value, gradient, state = by_differences(function, theta, "start", BOUNDS[:n])
    assert (value, state) == (theta @ theta, ("start", "state"))
    np.testing.assert_allclose(gradient, [0.8, 0.0, 0.001][:n], atol=1e-9)


@pytest.mark.filterwarnings("ignore:learning ended with length_scale at a bound")
def test_leave_one_out_with_a_range_of_one_value():
    X, y = load_iris(return_X_y=True)
    held = GPClassifier(2.0 * RBF(1.0, bounds={"length_scale": (1.0, 1.0)}), hyper="loo").fit(X[::3], y[::3])
    fixed = GPClassifier(2.0 * RBF(1.0, fixed=True), hyper="loo").fit(X[::3], y[::3])
    assert held.kernel_.params["length_scale"] == 1.0
    assert held.kernel_.params["variance"] == pytest.approx(fixed.kernel_.params["variance"], rel=1e-4)


@pytest.mark.parametrize(
    ("counts", "max_rows", "kept"),
    [
        ([500, 300, 200], 100, [50, 30, 20]),
        ([980, 20], 100, [95, 5]),  # a few rows of a rare class, though it is a fiftieth
        ([995, 5], 100, [95, 5]),
        ([50, 50], 4, [2, 2]),
        ([5] * 200, 350, None),
        ([3] * 7, 10, None),
        ([4, 4, 4], 2, [1, 1, 1]),  # every class, whatever there is room for
    ],
)
def test_no_more_rows_than_asked_for(counts, max_rows, kept):
    y = np.repeat(np.arange(len(counts)), counts)
    rows = spread_rows(y, max_rows)
    found = np.bincount(y[rows], minlength=len(counts))
    assert len(np.unique(rows)) == len(rows) <= max(max_rows, len(counts))
    assert np.all(found >= 1)
    assert kept is None or found.tolist() == kept
