"""VirtualVectorClassifier as users meet it, and what its two selections choose from."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from gpclass import GPClassifier, IVMClassifier, VirtualVectorClassifier
from gpclass.estimators.virtual_vector_classifier import _augmented
from gpclass.inference import IVM
from gpclass.kernels import RBF, PerClass, View

KERNEL = 100.0 * RBF(3.0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order] / 16.0, y[order]
    return X[:400], y[:400], X[400:800], y[400:800]


def ivm(**settings):
    return IVMClassifier(KERNEL, **{"n_active": 40, "hyper": "fixed", **settings})


def nudged(rows):
    return 0.9 * rows


def transformed(images, **settings):
    """What the second selection can choose from: images (n, h, w) and all that was made of them, (k, n, h, w)."""
    model = VirtualVectorClassifier(image_shape=images.shape[1:], **settings)
    rows = images.reshape(len(images), -1)
    shape, transforms = model._checked_transforms(rows.shape[1])
    candidates, place = _augmented(rows, transforms, shape)
    assert np.array_equal(place[1], np.tile(np.arange(len(rows)), len(candidates) // len(rows)))
    return candidates.reshape(-1, *images.shape)


@pytest.mark.parametrize("shape", [(3, 5, 4), (2, 4, 3, 2)], ids=["grey", "colours"])
def test_shifts_are_by_one_pixel(shape):
    images = np.random.default_rng(0).uniform(1, 2, shape)
    for fill in ("edge", -1.0):
        itself, up, down, left, right = transformed(images, fill=fill)
        assert np.array_equal(itself, images)
        assert np.array_equal(up[:, :-1], images[:, 1:])
        assert np.array_equal(down[:, 1:], images[:, :-1])
        assert np.array_equal(left[:, :, :-1], images[:, :, 1:])
        assert np.array_equal(right[:, :, 1:], images[:, :, :-1])
        borders = (up[:, -1], images[:, -1]), (down[:, 0], images[:, 0])
        borders += (left[:, :, -1], images[:, :, -1]), (right[:, :, 0], images[:, :, 0])
        for border, outermost in borders:
            assert np.array_equal(border, outermost if fill == "edge" else np.full_like(border, fill))


def test_rotations_are_small_and_about_the_middle():
    image = np.zeros((1, 21, 21))
    image[0, :11, 10] = 1.0  # from the middle straight up
    _, left, right = transformed(image, transforms="rotations", fill=0.0)
    assert left[0, 10, 10] == pytest.approx(1.0)
    # Ten rows above the middle, ten degrees are 1.76 columns.
    assert left[0, 1] @ np.arange(21) / left[0, 1].sum() == pytest.approx(10 - 9 * np.tan(np.pi / 18), abs=0.1)
    np.testing.assert_allclose(right, left[:, :, ::-1], atol=1e-12)
    flat = np.full((1, 6, 4, 3), 0.5)
    assert len(transformed(flat, transforms="rotations")) == 1  # nothing has changed, so nothing is new
    assert len(transformed(flat, transforms="rotations", fill=0.0)) == 3


@pytest.mark.parametrize("standardize", [False, True])
def test_chooses_from_active_rows_and_their_transforms(digits, standardize):
    X, y, X_new, _ = digits
    names = np.array([f"digit {k}" for k in y])
    model = VirtualVectorClassifier(ivm(standardize=standardize), transforms=["shifts", nudged], n_active=90)
    model.fit(X, names)
    source, transform, kinds = model.virtual_
    assert kinds == ("itself", "up", "down", "left", "right", "nudged")
    assert model.image_shape_ == (8, 8)
    assert len(source) == len(transform) == len(model.active_rows_) == 90
    assert set(source) <= set(model.first_.active_)
    assert {0, 1, 2, 3, 4} <= set(transform.tolist())
    images = X.reshape(-1, 8, 8)
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)), "edge")
    made = [images, padded[:, 2:, 1:-1], padded[:, :-2, 1:-1], padded[:, 1:-1, 2:], padded[:, 1:-1, :-2], 0.9 * images]
    expected = np.stack(made)[transform, source].reshape(90, 64)
    assert np.array_equal(model.active_rows_, expected)
    # The second model has these rows, in the first one's units, with their sources' labels.
    second, first = model.estimator_, model.first_
    assert np.array_equal(second.posterior_.X, first._inputs.scaled(expected))
    labels = second._objective.problem.y[second.active_]
    assert np.array_equal(model.classes_[labels], names[source])
    assert np.array_equal(model.predict_proba(X_new), second.predict_proba(X_new))
    assert second.kernel_ == first.kernel_
    assert second.calibration_ == first.calibration_
    assert second.loo_proba_ is None


def test_the_model_is_that_of_its_rows(digits):
    """Without selection: all candidates kept is the full model of the augmented rows."""
    X, y, X_new, _ = digits
    model = VirtualVectorClassifier(ivm(n_active=30, calibration=None), n_active=150).fit(X, y)
    full = GPClassifier(KERNEL, hyper="fixed", calibration=None).fit(model.active_rows_, y[model.virtual_.source])
    np.testing.assert_allclose(model.latent(X_new).mean, full.latent(X_new).mean, atol=1e-3)
    assert model.latent(X_new[:5], full_cov=True).cov.shape == (10, 5, 5)


@pytest.mark.parametrize("transforms", [[], [lambda rows: rows, np.copy]])
def test_nothing_new_is_the_first_model_again(digits, transforms):
    X, y, X_new, _ = digits
    model = VirtualVectorClassifier(ivm(), transforms=transforms).fit(X, y)
    assert set(model.virtual_.transform) == {0}
    assert set(model.virtual_.source) == set(model.first_.active_)
    np.testing.assert_allclose(model.predict_proba(X_new), model.first_.predict_proba(X_new), atol=1e-4)
    assert model.image_shape_ is None


def test_nothing_is_learned_again(digits):
    X, y, _, _ = digits
    model = VirtualVectorClassifier(IVMClassifier(n_active=40), fill=0).fit(X[:200], y[:200])
    first, second = model.first_, model.estimator_
    assert np.array_equal(second.kernel_.theta, first.kernel_.theta)
    assert second.hyper_.n_evaluations == 0
    assert second.likelihood_ == first.likelihood_
    # Pixels that are always dark have no scale; what a shift brings there goes unseen.
    assert np.any(np.isinf(second.input_scale_))
    assert np.array_equal(second.input_scale_, first.input_scale_)


def test_moved_digits_are_predicted_better(digits):
    X, y, X_new, y_new = digits
    model = VirtualVectorClassifier(ivm(n_active=100), fill=0.0).fit(X, y)
    plain = model.first_
    assert len(model.active_rows_) == 300
    moved = transformed(X_new.reshape(-1, 8, 8), fill=0.0)[1:].reshape(-1, 64)
    truth = np.tile(y_new, 4)
    assert 1.0 - model.score(moved, truth) < 0.6 * (1.0 - plain.score(moved, truth))
    loss = log_loss(truth, model.predict_proba(moved))
    assert loss < 0.6 * log_loss(truth, plain.predict_proba(moved))
    # The first model's calibration serves the second.
    uncalibrated = model.estimator_.likelihood_.predict(*model.latent(moved))
    assert loss < 0.8 * log_loss(truth, uncalibrated)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(moved)), model.predict_proba(moved), atol=1e-9)


def test_functions_of_images_and_of_rows(digits):
    X, y, _, _ = digits
    seen = []

    def spoils(images):
        seen.append(images.shape)
        images *= 0.5
        return images.astype(np.float32)

    VirtualVectorClassifier(ivm(), transforms=spoils).fit(X[:200], y[:200])
    VirtualVectorClassifier(ivm(), transforms=spoils, image_shape=(4, 16)).fit(X[:200], y[:200])
    model = VirtualVectorClassifier(ivm(), transforms=(spoils, "shifts")).fit(X[:200], y[:200])
    assert seen == [(2, 64), (40, 64), (2, 4, 16), (40, 4, 16), (2, 8, 8), (40, 8, 8)]  # tried on two rows first
    assert np.all(np.isin(X[model.first_.active_], X[:200]))
    itself = model.virtual_.transform == 0
    assert np.array_equal(model.active_rows_[itself], X[model.virtual_.source[itself]])


def test_a_class_without_active_rows_is_still_a_class(digits):
    X, y, X_new, _ = digits
    model = VirtualVectorClassifier(ivm(n_active=4)).fit(X, y)
    assert len(np.unique(y[model.virtual_.source])) < 10
    assert model.predict_proba(X_new).shape == (len(X_new), 10)
    assert np.all(np.isin(model.predict(X_new), np.arange(10)))


@pytest.mark.parametrize("kernel", [PerClass(10.0 * RBF(3.0)), View(KERNEL, ["petal length (cm)", "petal width (cm)"])])
def test_data_frames_and_kernels_of_any_kind(kernel):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = VirtualVectorClassifier(IVMClassifier(kernel, n_active=30, hyper="fixed"), transforms=nudged)
    model.fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])
    assert isinstance(X, pd.DataFrame)


def test_pipeline_grid_search_clone_and_pickle(digits):
    X, y, X_new, _ = digits
    virtual = VirtualVectorClassifier(ivm(), image_shape=(8, 8), n_active=50)
    search = GridSearchCV(
        make_pipeline(MinMaxScaler(), virtual), {"virtualvectorclassifier__estimator__n_active": [20, 30]}, cv=2
    )
    found = search.fit(X[:200], y[:200]).best_estimator_[-1]
    assert len(found.first_.active_) in (20, 30)
    assert virtual.estimator.n_active == 40
    twin = clone(virtual).set_params(estimator__kernel__length_scale=2.0)
    assert twin.fit(X[:200], y[:200]).estimator_.kernel_.params["length_scale"] == 2.0
    again = pickle.loads(pickle.dumps(twin))
    assert np.array_equal(again.predict_proba(X_new), twin.predict_proba(X_new))
    assert again.virtual_.names == twin.virtual_.names
    # The second model by itself, copied, is an ordinary one.
    assert clone(twin.estimator_).fit(X[:200], y[:200]).classes_.tolist() == list(range(10))
    by_class = OneVsRestClassifier(clone(virtual)).fit(X[:300], y[:300])
    assert by_class.score(X_new, digits[3]) > 0.75


def test_an_interrupt_leaves_the_model_as_it_was(digits, monkeypatch):
    X, y, X_new, _ = digits
    model = VirtualVectorClassifier(ivm()).fit(X, y)
    before, proba = dict(vars(model)), model.predict_proba(X_new)
    whole, calls = IVM.finish, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(self, *args)

    monkeypatch.setattr(IVM, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt, match="as it was before"):
        model.fit(X[:300, :49], y[:300])
    assert len(calls) == 3
    assert vars(model) == before
    assert np.array_equal(model.predict_proba(X_new), proba)
    calls.clear()
    new = VirtualVectorClassifier(ivm())
    with pytest.raises(KeyboardInterrupt):
        new.fit(X[:300], y[:300])
    assert not any(name.endswith("_") for name in vars(new))


def test_callbacks_hear_of_both_selections(digits):
    X, y, _, _ = digits
    heard = []

    class Listens:
        max_propagation_depth = None

        def setup(self, estimator, context):
            heard.append("setup")

        def on_fit_task_begin(self, estimator, context):
            heard.append(context.task_name)

        def on_fit_task_end(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            heard.append("teardown")

    VirtualVectorClassifier(ivm()).set_callbacks(Listens()).fit(X[:200], y[:200])
    assert heard.count("active rows") == heard.count("refinement") == 2
    assert heard.count("setup") == heard.count("teardown") == 1


def fails(images):
    raise RuntimeError("the function's own trouble")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"estimator": GPClassifier()}, TypeError, "must be an IVMClassifier or None, got GPClassifier"),
        ({"estimator": IVMClassifier}, TypeError, r"write IVMClassifier\(\) with brackets"),
        ({"transforms": "mirrors"}, ValueError, "'shifts', 'rotations', a function, or a list of those, got 'mirrors'"),
        ({"transforms": ["shifts", 3]}, ValueError, "got 3"),
        ({"transforms": None}, ValueError, "got None"),
        ({"n_active": 0}, ValueError, "n_active must be a whole number of at least 1, got 0"),
        ({"fill": "wrap"}, ValueError, "fill must be 'edge' or a finite number, got 'wrap'"),
        ({"fill": np.nan}, ValueError, "fill must be .* got nan"),
        ({"image_shape": (8, 9)}, ValueError, r"image_shape of 64 numbers.* got \(8, 9\), which makes 72"),
        ({"image_shape": 64}, ValueError, r"image_shape must be \(height, width\) or .* got 64"),
        ({"image_shape": (-8, -8)}, ValueError, r"whole numbers >= 1, got \(-8, -8\)"),
        ({"transforms": lambda rows: rows[:-1]}, ValueError, r"'<lambda>': expected 2 rows of 64 .* shape \(1, 64\)"),
        ({"transforms": np.transpose}, ValueError, r"'transpose': .* as shape \(2, 64\), got shape \(64, 2\)"),
        ({"transforms": lambda rows: rows + np.nan}, ValueError, "got NaN or infinity in row 0"),
        ({"transforms": lambda rows: {}}, ValueError, "finite numbers, got dict"),
        ({"transforms": fails}, RuntimeError, "own trouble"),
    ],
)
def test_bad_settings(digits, settings, error, message):
    X, y, _, _ = digits
    with pytest.raises(error, match=message):
        VirtualVectorClassifier(**{"estimator": ivm(), **settings}).fit(X, y)


def test_no_square_and_no_estimator():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"expected image_shape=\(height, width\), because 3 features make no square"):
        VirtualVectorClassifier().fit(X[:, :3], y)
    with pytest.raises(ValueError, match=r"to set \['estimator__n_active'\] of, got None"):
        VirtualVectorClassifier().set_params(estimator__n_active=3)
    with pytest.warns(UserWarning, match="n_active is 500, but there are 150 rows"):
        VirtualVectorClassifier(ivm(n_active=30), transforms=[nudged, np.negative, np.sign, np.exp], n_active=500).fit(
            X, y
        )
