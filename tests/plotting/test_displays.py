"""Metrics, pictures, toy data and the demo's parts."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from gpclass import (
    GPClassifier,
    IVMClassifier,
    MultiTaskIVMClassifier,
    MultiTaskIVMRegressor,
    NullCategoryClassifier,
    VirtualVectorClassifier,
)
from gpclass.datasets import make_crescents, make_rings
from gpclass.evaluation.metrics import calibration_error, mean_log_probability, reliability_curve
from gpclass.hyper import Alternating, Evidence, Importance
from gpclass.hyper.priors import Normal
from gpclass.kernels import RBF, Constant, PerClass
from gpclass.likelihoods import NullCategory
from gpclass.plotting import (
    BoundDisplay,
    EvidenceDisplay,
    NullCategoryDisplay,
    ProbabilityMapDisplay,
    RelevanceDisplay,
    RelevancePosteriorDisplay,
    ReliabilityDisplay,
    TaskDisplay,
    UpdateDisplay,
    VirtualVectorDisplay,
    log_relevance,
)
from gpclass.plotting._canvas import class_colours

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


def test_bins_of_equal_numbers_of_rows():
    p = np.linspace(0.5, 0.9, 40) ** 2
    y = (np.arange(40) % 2).astype(int)
    proba = np.column_stack([1.0 - p, p])
    curve = reliability_curve(y, proba, [0, 1], n_bins=4, strategy="quantile")
    np.testing.assert_array_equal(curve.rows, [10, 10, 10, 10])
    confidence = np.sort(proba.max(axis=1)).reshape(4, 10)
    np.testing.assert_allclose(curve.confidence, confidence.mean(axis=1))
    shown = ReliabilityDisplay.from_predictions(y, proba, [0, 1], n_bins=4, strategy="quantile")
    np.testing.assert_array_equal(shown.curves["predictions"].rows, curve.rows)
    with pytest.raises(ValueError, match="'uniform' or 'quantile', got 'equal'"):
        reliability_curve(y, proba, [0, 1], strategy="equal")


def test_perfectly_calibrated_probabilities_have_little_error():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=100_000)
    y = (rng.uniform(size=100_000) < p).astype(int)
    assert calibration_error(y, np.column_stack([1 - p, p]), [0, 1]) < 0.01


def test_no_matplotlib_before_something_is_drawn():
    code = "import sys, gpclass.plotting; print('matplotlib' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


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


def test_drawing_again_draws_the_rows_too(fitted):
    model, X, y = fitted
    display = ProbabilityMapDisplay.from_estimator(model, X, y, features=(2, 3), resolution=10)
    again = display.plot(ax=matplotlib.figure.Figure().subplots())
    offsets = [part.get_offsets() for part in again.ax_.collections[-3:]]
    for k, places in enumerate(offsets):
        np.testing.assert_array_equal(places, X[y == k][:, [2, 3]])
    assert (again.ax_.get_xlabel(), again.ax_.get_ylabel()) == ("x3", "x4")
    with pytest.raises(ValueError, match="expected y with 150 labels, one for each row of X, got 3"):
        ProbabilityMapDisplay.from_estimator(model, X, y[:3])
    with pytest.raises(ValueError, match=r"expected labels among \[0, 1, 2\], got 'setosa'"):
        ProbabilityMapDisplay.from_estimator(model, X, np.full(len(X), "setosa"))
    with pytest.raises(NotFittedError):
        ProbabilityMapDisplay.from_estimator(clone(model), X)


def test_ten_classes_have_ten_colours():
    colours = class_colours(10)
    apart = np.abs(colours[:, None] - colours).sum(axis=2)
    assert apart[~np.eye(10, dtype=bool)].min() > 0.2


def test_reliability_has_intervals(fitted):
    model, X, y = fitted
    proba = model.predict_proba(X)
    display = ReliabilityDisplay.from_predictions(y, proba, model.classes_)
    (name,) = display.curves
    curve = display.curves[name]
    for i, (share, rows) in enumerate(zip(curve.accuracy, curve.rows, strict=True)):
        expected = binomtest(round(share * rows), int(rows)).proportion_ci(0.95, method="wilson")
        np.testing.assert_allclose(display.intervals[name][:, i], [expected.low, expected.high], atol=1e-12)
    bars = np.array(display.ax_.collections[-1].get_segments())
    np.testing.assert_allclose(bars[:, :, 0], np.stack([curve.confidence] * 2, axis=1))
    np.testing.assert_allclose(bars[:, :, 1], display.intervals[name].T)


def test_reliability_of_what_can_and_cannot_be():
    y, p = [0, 1, 1, 0], np.array([0.2, 0.9, 0.4, 0.1])
    one = ReliabilityDisplay.from_predictions(y, p, [0, 1])
    both = ReliabilityDisplay.from_predictions(y, {"a": np.column_stack([1 - p, p]), "b": p}, [0, 1])
    np.testing.assert_array_equal(one.curves["predictions"].accuracy, both.curves["a"].accuracy)
    np.testing.assert_array_equal(both.curves["b"].accuracy, both.curves["a"].accuracy)
    assert [text.get_text() for text in both.ax_.get_legend().get_texts()] == ["a", "b"]
    with pytest.raises(ValueError, match=r"expected probabilities of shape \(4, 2\), labels by classes, got \(4, 3\)"):
        ReliabilityDisplay.from_predictions(y, np.full((4, 3), 1 / 3), [0, 1])
    with pytest.raises(ValueError, match="expected n_bins, a whole number of at least 1, got 0"):
        ReliabilityDisplay.from_predictions(y, p, [0, 1], n_bins=0)
    with pytest.raises(ValueError, match="expected at least one array of probabilities, got none"):
        ReliabilityDisplay.from_predictions(y, {}, [0, 1])


def test_relevances_with_their_errors():
    X, y = load_iris(return_X_y=True)
    model = GPClassifier(10.0 * RBF(np.ones(4)), hyper=Evidence(max_rows=None)).fit(X[::3], y[::3])
    display = RelevanceDisplay.from_estimator(model, feature_names=list("abcd"))
    order = np.argsort(model.relevance_)[::-1]
    np.testing.assert_allclose(display.sd, log_relevance(model)[1][order])
    assert np.all(np.isfinite(display.sd))
    assert display.names == ["abcd"[j] for j in order]
    bars = np.array(display.ax_.collections[1].get_segments())
    np.testing.assert_allclose(bars[:, 0, 0], display.relevance * np.exp(-display.sd))
    np.testing.assert_allclose(bars[:, 1, 0], display.relevance * np.exp(display.sd))
    np.testing.assert_array_equal(bars[:, 0, 1], [3, 2, 1, 0])
    assert display.ax_.get_xscale() == "log"


def test_relevances_without_errors(fitted):
    model, X, y = fitted
    known = RelevanceDisplay.from_estimator(model)
    assert np.all(np.isnan(known.sd))
    assert len(known.ax_.collections) == 1
    each = GPClassifier(PerClass(10.0 * RBF(np.ones(4))), hyper="fixed").fit(X, y)
    assert np.all(np.isnan(RelevanceDisplay.from_estimator(each).sd))
    with pytest.raises(ValueError, match="expected 4 feature_names, got 2"):
        RelevanceDisplay.from_estimator(model, feature_names=["a", "b"])
    blind = GPClassifier(Constant(), hyper="fixed").fit(X, y)
    with pytest.raises(ValueError, match="expected a kernel with scales of inputs, got relevances"):
        RelevanceDisplay.from_estimator(blind)
    with pytest.raises(TypeError, match="expected a model with relevances, got LogisticRegression"):
        RelevanceDisplay.from_estimator(LogisticRegression(max_iter=1000).fit(X, y))


def test_rounds_of_learning(fitted):
    X, y = load_iris(return_X_y=True)
    search = Alternating(n_rounds=3, n_active=15)
    model = IVMClassifier(10.0 * RBF(1.0), n_active=15, hyper=search, refine=False).fit(X[50:], y[50:])
    display = EvidenceDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.ax_.lines[0].get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), model.hyper_.trace)
    ((mark, height),) = display.ax_.collections[0].get_offsets()
    assert height == model.hyper_.value == model.hyper_.trace[int(mark) - 1]
    with pytest.raises(ValueError, match=r"whose learning records its iterations.*got hyper='fixed'"):
        EvidenceDisplay.from_estimator(fitted[0])
    with pytest.raises(ValueError, match=r"whose engine records a bound after each iteration.*got IVMClassifier"):
        BoundDisplay.from_estimator(model)


def test_learning_by_the_evidence_keeps_its_iterations():
    X, y = load_iris(return_X_y=True)
    model = GPClassifier(10.0 * RBF(5.0), hyper="evidence").fit(X[::3], y[::3])
    display = EvidenceDisplay.from_estimator(model)
    trace = display.ax_.lines[0].get_ydata()
    assert len(trace) > 3
    assert np.all(np.diff(trace) >= 0)
    assert trace[-1] == model.hyper_.value


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
    task_model = MultiTaskIVMRegressor if numbers else MultiTaskIVMClassifier
    model = task_model(RBF(1.0), n_active=10, hyper="fixed").fit(X, y, task=task)
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
    with pytest.raises(ValueError, match="expected a model of images"):
        VirtualVectorDisplay.from_estimator(rows)
