"""Pictures of latent functions, cut points and active rows."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import LogisticRegression

from gpclass import (
    GPClassifier,
    GPOrdinalClassifier,
    GPRegressor,
    IVMClassifier,
    IVMRegressor,
    SparseGPClassifier,
)
from gpclass.inference import IVM
from gpclass.kernels import RBF
from gpclass.likelihoods import Probit
from gpclass.plotting import ActiveSetDisplay, LatentDisplay, OrdinalThresholdDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

LEVELS = ["low", "middle", "high", "very high"]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def levels():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (90, 2))
    places = np.digitize(X[:, 0] + 0.2 * rng.standard_normal(90), [-1.0, 0.0, 1.2])
    y = np.array(LEVELS)[places]
    return X, y, GPOrdinalClassifier(20.0 * RBF(2.0), order=LEVELS).fit(X, y)


def labels_of(ax):
    return [text.get_text() for text in ax.texts]


def bands(display):
    """Upper and lower ends of the bands, (C, m, 2), as they are drawn."""
    m = len(display.along)
    ends = []
    for part in display.ax_.collections[: display.mean.shape[1]]:
        vertices = part.get_paths()[0].vertices
        ends.append(np.column_stack([vertices[1 : m + 1, 1], vertices[m + 2 : 2 * m + 2, 1][::-1]]))
    return np.array(ends)


# ---- latent functions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        GPClassifier(30.0 * RBF(1.0), hyper="fixed"),
        GPClassifier(30.0 * RBF(1.0), likelihood=Probit(bias=1.5), hyper="fixed"),
        IVMClassifier(30.0 * RBF(1.0), n_active=30, hyper="fixed"),
        SparseGPClassifier(30.0 * RBF(1.0), n_inducing=20, hyper="fixed"),
    ],
    ids=["GPClassifier", "with a bias", "IVMClassifier", "SparseGPClassifier"],
)
def test_one_function_for_two_classes(moons, model):
    X, y = moons
    model.fit(X, y)
    display = LatentDisplay.from_estimator(model, X, y, resolution=60)
    rows = np.column_stack([display.along, np.full(60, np.median(X[:, 1]))])
    mean, cov = model.calibration_(*model.latent(rows))
    np.testing.assert_allclose(display.mean, mean)
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), mean[:, 0])
    ends = np.sort(bands(display)[0], axis=1)
    np.testing.assert_allclose(ends, np.column_stack([mean - 2 * np.sqrt(cov), mean + 2 * np.sqrt(cov)]))
    # above the line the second label is the more probable one
    np.testing.assert_array_equal(display.mean[:, 0] > display.cuts[0], model.predict(rows) == 1)
    assert 0 < np.mean(display.mean[:, 0] > display.cuts[0]) < 1
    strokes = display.ax_.lines[-2:]
    for k, line in enumerate(strokes):
        np.testing.assert_array_equal(line.get_xdata(), X[y == k, 0])


@pytest.mark.parametrize("inference", ["vb", "ep"])
def test_a_function_for_each_class(inference):
    X, y = load_iris(return_X_y=True)
    model = GPClassifier(30.0 * RBF(2.0), inference=inference, hyper="fixed").fit(X[::3], y[::3])
    display = LatentDisplay.from_estimator(model, X, y, feature=2, resolution=30)
    rows = np.tile(np.median(X, axis=0), (30, 1))
    rows[:, 2] = display.along
    mean, cov = model.calibration_(*model.latent(rows))
    assert cov.ndim == (2 if inference == "vb" else 3)
    variance = cov if cov.ndim == 2 else np.einsum("mcc->mc", cov)
    np.testing.assert_allclose(display.mean, mean)
    np.testing.assert_allclose(display.sd, np.sqrt(variance))
    np.testing.assert_allclose(np.sort(bands(display), axis=2)[:, :, 1], (mean + 2 * np.sqrt(variance)).T)
    assert display.cuts is None
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["0", "1", "2"]
    assert len({line.get_color().tobytes() for line in display.ax_.lines[:3]}) == 3
    # the rows are below all that is drawn of the functions
    assert display.ax_.get_ylim()[0] < (display.mean - 2 * display.sd).min()


@pytest.mark.parametrize("kind", [GPRegressor, IVMRegressor])
def test_numbers_in_their_own_units(kind):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (50, 2))
    y = 100.0 + 20.0 * np.sin(X[:, 1]) + rng.standard_normal(50)
    model = kind(RBF(1.5), hyper="fixed").fit(X, y)
    display = LatentDisplay.from_estimator(model, X, y, feature=1, resolution=25)
    rows = np.column_stack([np.full(25, np.median(X[:, 0])), display.along])
    mean, sd = model.predict(rows, return_std=True)
    np.testing.assert_allclose(np.sort(bands(display)[0], axis=1), np.column_stack([mean - 2 * sd, mean + 2 * sd]))
    np.testing.assert_array_equal(display.ax_.lines[-1].get_ydata(), y)
    assert display.ax_.get_ylabel() == "y"
    with pytest.raises(ValueError, match="expected y with 50 numbers, one for each row of X, got 3"):
        LatentDisplay.from_estimator(model, X, y[:3])


def test_one_function_for_ordered_classes(levels):
    X, y, model = levels
    display = LatentDisplay.from_estimator(model, X, y, resolution=40)
    assert display.mean.shape == (40, 1)
    np.testing.assert_array_equal([line.get_ydata()[0] for line in display.ax_.lines[1:4]], model.cut_points_)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["cut points", *LEVELS]


def test_models_without_latent_functions(moons):
    X, y = moons
    with pytest.raises(TypeError, match=r"expected a model with latent functions, .*, got LogisticRegression"):
        LatentDisplay.from_estimator(LogisticRegression().fit(X, y), X)


# ---- ordered labels --------------------------------------------------------------------------------


def test_rows_between_cut_points(levels):
    X, y, model = levels
    display = OrdinalThresholdDisplay.from_estimator(model, X, y)
    mean, cov = model.calibration_(*model.latent(X))
    order = np.argsort(mean[:, 0])
    np.testing.assert_allclose(display.mean, mean[order, 0])
    np.testing.assert_allclose(display.sd, np.sqrt(cov[order, 0]))
    np.testing.assert_array_equal(display.y, [LEVELS.index(label) for label in y[order]])
    drawn = [line.get_ydata()[0] for line in display.ax_.lines]
    np.testing.assert_array_equal(drawn, model.cut_points_)
    # a row is where its most probable label is, but for rows close to a line
    clear = np.abs(display.mean[:, None] - model.cut_points_).min(axis=1) > 1.0
    assert clear.sum() > 40
    found = np.searchsorted(model.cut_points_, display.mean)
    np.testing.assert_array_equal(model.classes_[found][clear], model.predict(X)[order][clear])
    bars = np.array(display.ax_.collections[-2].get_segments())
    np.testing.assert_allclose(bars[:, :, 1], np.column_stack([display.mean - display.sd, display.mean + display.sd]))


def test_categories_are_named_between_their_lines(levels):
    X, y, model = levels
    display = OrdinalThresholdDisplay.from_estimator(model, X, y)
    assert labels_of(display.ax_) == LEVELS
    objective_trace = [text.get_position()[1] for text in display.ax_.texts]
    np.testing.assert_array_equal(np.searchsorted(model.cut_points_, objective_trace), [0, 1, 2, 3])
    low, high = display.ax_.get_ylim()
    assert low < objective_trace[0]
    assert objective_trace[-1] < high


def test_names_of_narrow_categories_do_not_touch():
    from matplotlib.text import Text

    names = np.array([f"category {k} with a rather long name" for k in range(10)])
    cuts = np.array([-9.0, -0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 9.0])
    mean = np.linspace(-12, 12, 30)
    display = OrdinalThresholdDisplay(np.arange(30), mean, np.ones(30), cuts, names).plot()
    display.figure_.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in display.ax_.texts]  # without the line that leads there
    assert not any(one.overlaps(other) for one, other in pairwise(boxes))
    width = display.figure_.bbox.width
    assert all(box.x1 <= width for box in boxes)
    assert all(box.x0 >= display.ax_.get_window_extent().x1 for box in boxes)


def test_rows_along_an_input(levels):
    X, y, model = levels
    display = OrdinalThresholdDisplay.from_estimator(model, X, y, feature=0)
    points = display.ax_.collections[-1]
    mean = model.calibration_.mean_scale * model.latent(X).mean[:, 0]
    np.testing.assert_allclose(points.get_offsets(), np.column_stack([X[:, 0], mean]))
    colours = points.get_facecolors()
    assert len(np.unique(colours, axis=0)) == 4
    assert len(np.unique(colours[y == "high"], axis=0)) == 1
    plain = OrdinalThresholdDisplay.from_estimator(model, X, feature=0)
    assert len(np.unique(plain.ax_.collections[-1].get_facecolors(), axis=0)) == 1


def test_two_ordered_labels_have_one_line(moons):
    X, y = moons
    model = GPOrdinalClassifier(20.0 * RBF(1.0), hyper="fixed").fit(X, y)
    display = OrdinalThresholdDisplay.from_estimator(model, X, y)
    assert [line.get_ydata()[0] for line in display.ax_.lines] == model.cut_points_.tolist()
    plain = GPClassifier(20.0 * RBF(1.0), hyper="fixed").fit(X, y)
    with pytest.raises(TypeError, match="expected a GPOrdinalClassifier, got GPClassifier"):
        OrdinalThresholdDisplay.from_estimator(plain, X)
    with pytest.raises(ValueError, match="expected y with 120 labels, one for each row of X, got 2"):
        OrdinalThresholdDisplay.from_estimator(model, X, y[:2])


# ---- active rows -----------------------------------------------------------------------------------


def rings(display):
    return display.ax_.collections[-1]


def test_active_rows_in_their_order(moons):
    X, y = moons
    model = IVMClassifier(30.0 * RBF(1.0), n_active=15, hyper="fixed", standardize=True).fit(X, y)
    display = ActiveSetDisplay.from_estimator(model, X, y, features=(1, 0))
    np.testing.assert_allclose(rings(display).get_offsets(), X[model.active_][:, [1, 0]])
    assert np.all(np.diff(rings(display).get_edgecolors()[:, 3]) < 0)  # later ones are fainter
    assert labels_of(display.ax_) == [str(i) for i in range(1, 11)]
    for text, place in zip(display.ax_.texts, X[model.active_[:10]][:, [1, 0]], strict=True):
        np.testing.assert_allclose(text.xy, place)
    for k in (0, 1):
        np.testing.assert_array_equal(display.ax_.collections[k + 1].get_offsets(), X[y == k][:, [1, 0]])
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["0", "1", "15 kept"]
    few = IVMClassifier(30.0 * RBF(1.0), n_active=1, hyper="fixed").fit(X, y)
    assert labels_of(ActiveSetDisplay.from_estimator(few, X).ax_) == ["1"]


def test_rows_that_came_in_batches_have_no_order(moons):
    X, y = moons
    model = IVMClassifier(30.0 * RBF(1.0), n_active=15, hyper="fixed")
    for rows in np.split(np.arange(120), 3):
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    display = ActiveSetDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(rings(display).get_offsets(), model.active_rows_)
    assert labels_of(display.ax_) == []
    assert len(np.unique(rings(display).get_edgecolors()[:, 3])) == 1


@pytest.mark.parametrize("inducing", ["ivm", "random"])
def test_inducing_rows(moons, inducing):
    X, y = moons
    model = SparseGPClassifier(
        30.0 * RBF(1.0), n_inducing=12, inducing=inducing, hyper="fixed", standardize=True, random_state=0
    ).fit(X, y)
    display = ActiveSetDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(rings(display).get_offsets(), model.inducing_rows_)
    assert len(labels_of(display.ax_)) == (10 if inducing == "ivm" else 0)


def test_active_rows_of_numbers_and_of_ordered_labels(moons, levels):
    X, _ = moons
    target = np.sin(2 * X[:, 0])
    machine = IVMRegressor(RBF(1.0), n_active=11, hyper="fixed").fit(X, target)
    display = ActiveSetDisplay.from_estimator(machine, X, target)
    np.testing.assert_allclose(rings(display).get_offsets(), X[machine.active_])
    np.testing.assert_array_equal(display.ax_.collections[0].get_array(), target)
    X, y, full = levels
    model = GPOrdinalClassifier(20.0 * RBF(2.0), order=LEVELS, inference=IVM(9), hyper="fixed", standardize=True)
    display = ActiveSetDisplay.from_estimator(model.fit(X, y), X, y)
    np.testing.assert_allclose(rings(display).get_offsets(), X[model.sites_.rows])
    with pytest.raises(TypeError, match=r"expected a model with active rows, .* which has none"):
        ActiveSetDisplay.from_estimator(full, X, y)
    with pytest.raises(ValueError, match="expected X with 2 columns, as in fit, got 1 columns"):
        ActiveSetDisplay.from_estimator(model, X[:, :1], y)
