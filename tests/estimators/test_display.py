"""Metrics, pictures, toy data and the demo's parts."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gpclass import GPClassifier
from gpclass.datasets import make_rings
from gpclass.kernels import RBF
from gpclass.metrics import calibration_error, mean_log_probability, reliability_curve
from gpclass.plotting import BoundDisplay, ProbabilityMapDisplay, RelevanceDisplay, ReliabilityDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def fitted():
    X, y = load_iris(return_X_y=True)
    return GPClassifier(30.0 * RBF([1.0, 1.0, 0.5, 0.5]), hyper="fixed").fit(X[::2], y[::2]), X, y


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_metrics_of_known_probabilities():
    proba = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    y = ["a", "b", "b", "b"]
    assert mean_log_probability(y, proba, ["a", "b"]) == pytest.approx(np.log([0.9, 0.1, 0.8, 0.6]).mean())
    curve = reliability_curve(y, proba, ["a", "b"])
    np.testing.assert_allclose(curve.confidence, [0.6, 0.8, 0.9])
    np.testing.assert_allclose(curve.accuracy, [1.0, 1.0, 0.5])
    assert calibration_error(y, proba, ["a", "b"]) == pytest.approx((0.4 + 0.2 + 2 * 0.4) / 4)
    with pytest.raises(ValueError, match="got 'c'"):
        mean_log_probability(["c"], proba[:1], ["a", "b"])


def test_perfectly_calibrated_probabilities_have_little_error():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=100_000)
    y = (rng.uniform(size=100_000) < p).astype(int)
    assert calibration_error(y, np.column_stack([1 - p, p]), [0, 1]) < 0.01


def test_displays_draw(fitted):
    model, X, y = fitted
    display = ProbabilityMapDisplay.from_estimator(model, X, y, features=(2, 3), resolution=20)
    assert display.proba.shape == (20, 20, 3)
    assert len(display.ax_.collections) >= 4
    assert len(BoundDisplay.from_estimator(model).ax_.lines) == 1
    names = [text.get_text() for text in RelevanceDisplay.from_estimator(model, max_inputs=3).ax_.get_yticklabels()]
    assert len(names) == 3
    assert set(names[:2]) == {"x3", "x4"}
    display = ReliabilityDisplay.from_estimator(model, X, y)
    assert display.plot(ax=display.ax_).figure_ is display.figure_


def test_rings_are_as_the_paper_says():
    X, y = make_rings(3000, random_state=0)
    radius = (X[:, :2] ** 2).sum(axis=1)
    assert X.shape == (3000, 10)
    assert radius[y == 1].min() > 0.1
    assert radius[y == 1].max() < 0.5
    assert radius[y == 2].min() > 0.6
    assert radius[y == 2].max() < 1.0
    assert X[y == 3][:, :2].std() == pytest.approx(0.1, rel=0.05)
    assert np.bincount(y)[1:].min() > 900
    np.testing.assert_array_equal(X, make_rings(3000, random_state=0)[0])
