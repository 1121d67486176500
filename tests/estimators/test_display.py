"""Metrics, pictures, toy data and the demo's parts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from gpclass import GPClassifier, IVMClassifier, MultiTaskIVM, NullCategoryClassifier, VirtualVectorClassifier
from gpclass.datasets import make_crescents, make_rings
from gpclass.hyper import Evidence, Importance
from gpclass.kernels import RBF
from gpclass.likelihoods import NullCategory
from gpclass.metrics import calibration_error, mean_log_probability, reliability_curve
from gpclass.plotting import (
    BoundDisplay,
    NullCategoryDisplay,
    ProbabilityMapDisplay,
    RelevanceDisplay,
    RelevancePosteriorDisplay,
    ReliabilityDisplay,
    TaskDisplay,
    UpdateDisplay,
    VirtualVectorDisplay,
)
from gpclass.priors import Normal

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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_posterior_of_relevances():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    optimum = GPClassifier(10.0 * RBF(np.ones(4)), hyper=Evidence(max_rows=None)).fit(X, y)
    shown = RelevancePosteriorDisplay.from_estimator(optimum)
    # log w = -2 log l, so its error is twice that of log l
    np.testing.assert_allclose(shown.mean, -2.0 * optimum.hyper_.theta[1:])
    np.testing.assert_allclose(shown.sd, 2.0 * optimum.hyper_.standard_error[1:], rtol=1e-6)
    sampler = Importance(prior=Normal(), n_draws=60, n_models=5)
    sampled = GPClassifier(10.0 * RBF(np.ones(4)), hyper=sampler, random_state=0).fit(X, y)
    both = RelevancePosteriorDisplay.from_estimator(sampled, optimum=optimum, feature_names=list("abcd"))
    np.testing.assert_allclose(both.mean, -2.0 * sampled.hyper_.samples.mean[1:])
    np.testing.assert_allclose(both.sd, 2.0 * sampled.hyper_.samples.sd[1:])
    bounded = RBF(np.ones(4), bounds={"length_scale": (0.5, 1.0)})
    edge = GPClassifier(10.0 * bounded, hyper=Evidence(max_rows=None)).fit(X, y)
    at_edge = np.isclose(edge.kernel_.params["length_scale"], 1.0)
    assert at_edge.any()
    np.testing.assert_array_equal(np.isnan(RelevancePosteriorDisplay.from_estimator(edge).sd), at_edge)
    assert [label.get_text() for label in both.ax_.get_xticklabels()] == list("abcd")
    np.testing.assert_allclose(both.ax_.lines[-1].get_ydata(), shown.mean)


def test_null_category_band():
    X, y, _ = make_crescents(120, 0.2, random_state=0)
    model = NullCategoryClassifier(2.6 * RBF(3.7), n_active=30, hyper="fixed").fit(X, y)
    display = NullCategoryDisplay.from_estimator(model, X, y, resolution=30)
    assert display.latent.shape == (30, 30)
    corner = model.latent([[display.grid[0][3], display.grid[1][7]]]).mean[0, 0] + model.null_category_.bias
    assert display.latent[7, 3] == pytest.approx(corner)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["rows", "active", "1", "0"]
    assert [len(part.get_offsets()) for part in display.ax_.collections[-4:]] == [120, 30, sum(y == 1), sum(y == 0)]
    three = np.where((y < 0) | (np.arange(120) % 5 > 0), y, 2)
    several = NullCategoryClassifier(2.6 * RBF(3.7), n_active=30, hyper="fixed").fit(X, three)
    NullCategoryDisplay.from_estimator(several, X, three, label=2, resolution=10)
    frame = pd.DataFrame(X, columns=["east", "north"])
    NullCategoryDisplay.from_estimator(clone(model).fit(frame, y), frame, y, resolution=10)
    with pytest.raises(ValueError, match=r"expected label=, one of \[0, 1, 2\], got None"):
        NullCategoryDisplay.from_estimator(several, X)


def test_update_of_a_row_without_label():
    display = UpdateDisplay.from_likelihood(NullCategory(), -1, 0.0, 1.0)
    assert np.trapezoid(display.after, display.f) == pytest.approx(1.0)
    assert np.all(display.after[np.abs(display.f) < 0.49] < 1e-6)  # nothing is left in the band
    spread = np.trapezoid(display.after * display.f**2, display.f)
    assert spread > 1.0  # and the belief is wider than it was (LPJ05 figure 4, left)


@pytest.mark.parametrize("numbers", [True, False])
def test_task_panels(numbers):
    rng = np.random.default_rng(0)
    X, task = rng.uniform(-3, 3, (40, 2)), np.repeat(["a", "b"], 20)
    y = np.sin(X[:, 0])
    y = y if numbers else np.where(y > 0, "up", "down")
    model = MultiTaskIVM(RBF(1.0), n_active=10, hyper="fixed").fit(X, y, task=task)
    display = TaskDisplay.from_estimator(model, X, y, task)
    frame = pd.DataFrame(X, columns=["east", "north"])
    named = TaskDisplay.from_estimator(clone(model).fit(frame, y, task=task), frame, y[:, None], task)
    np.testing.assert_allclose(named.panels[0]["curve"][1], display.panels[0]["curve"][1])
    assert named.xlabel == "east"
    with pytest.raises(ValueError, match="expected 2 axes, one for each task, got 1"):
        display.plot(axes=display.axes_[0])
    assert [panel["name"] for panel in display.panels] == ["a", "b"]
    assert sum(panel["kept"].sum() for panel in display.panels) == 10
    assert len(display.axes_) == 2
    assert display.axes_[0].get_ylabel() == ("y" if numbers else "probability of up")


def test_virtual_vectors_as_images():
    rng = np.random.default_rng(0)
    X = np.zeros((40, 6, 6))
    y = np.arange(40) % 2
    X[:, 1:3, 2], X[y == 1, 2, 2:4] = 1.0, 1.0
    X = (X + 0.1 * rng.random(X.shape)).reshape(40, 36)
    machine = IVMClassifier(5.0 * RBF(2.0), n_active=8, hyper="fixed")
    model = VirtualVectorClassifier(machine, image_shape=(6, 6)).fit(X, y)
    display = VirtualVectorDisplay.from_estimator(model, n_images=12)
    assert display.images.shape == (12, 6, 6)
    np.testing.assert_array_equal(display.virtual, model.virtual_.transform[:12] > 0)
    label, name = display.titles[0].split(", ")
    assert label == str(y[model.virtual_.source[0]])
    assert name == model.virtual_.names[model.virtual_.transform[0]]
    assert np.all(VirtualVectorDisplay.from_estimator(model, only_virtual=True).virtual)
    rows = VirtualVectorClassifier(machine, transforms=np.negative).fit(X, y)
    with pytest.raises(ValueError, match="no images"):
        VirtualVectorDisplay.from_estimator(rows)
