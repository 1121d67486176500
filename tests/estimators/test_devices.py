"""Estimators on arrays of other libraries: the numbers of NumPy, where the arrays are."""

import io
import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_iris

from gpclass import GPClassifier, GPRegressor, SparseGPClassifier, load, save
from gpclass.hyper import Evidence
from gpclass.kernels import RBF, Matern
from gpclass.numerics.arrays import is_numpy, to_host
from gpclass.numerics.devices import HOST, Place
from tests.inference.namespaces import NAMESPACES, moved, needs_dispatch

pytestmark = needs_dispatch

X, Y = (part[::4] for part in load_iris(return_X_y=True))
TWO, LABELS = (part[:60] for part in load_breast_cancer(return_X_y=True))
KERNEL = 9.0 * Matern(2.0, nu=2.5)


@pytest.fixture(autouse=True)
def dispatch():
    with config_context(array_api_dispatch=True):
        yield


def agree(found, expected, there, atol=1e-8):
    """In value, and in place."""
    assert Place.of(found) == Place.of(there)
    np.testing.assert_allclose(to_host(found), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("name", NAMESPACES)
@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": KERNEL, "hyper": "fixed"},
        {"kernel": KERNEL, "hyper": "fixed", "inference": "ep"},
        {"kernel": KERNEL, "hyper": "fixed", "likelihood": "softmax"},
        {"kernel": KERNEL, "hyper": "fixed", "likelihood": "softmax", "inference": "ep"},
        {"kernel": 9.0 * RBF([2.0, 1.0, 2.0, 1.0]), "hyper": "fixed", "inference": "laplace"},
    ],
    ids=["vb", "ep", "laplace softmax", "ep softmax", "laplace ard"],
)
def test_several_classes(name, settings):
    here = GPClassifier(standardize=True, **settings).fit(X, Y)
    there = moved(X, name)
    model = GPClassifier(standardize=True, **settings).fit(there, moved(Y, name))
    assert not is_numpy(model.posterior_.terms.alpha)
    agree(model.predict_proba(there), here.predict_proba(X), there)
    agree(model.predict_log_proba(there), here.predict_log_proba(X), there, 1e-7)
    agree(model.predict(there), here.predict(X), there)
    for found, expected in zip(model.latent(there), here.latent(X), strict=True):
        agree(found, expected, there, 1e-7)
    np.testing.assert_allclose(model.loo_proba_, here.loo_proba_, atol=1e-7)
    assert model.score(there, moved(Y, name)) == here.score(X, Y)
    # Rows of the host go to the model, and results come back.
    assert is_numpy(model.predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), here.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("name", NAMESPACES)
@pytest.mark.parametrize("inference", ["vb", "ep", "laplace"])
def test_two_classes_with_a_learned_kernel(name, inference):
    here, model = (GPClassifier(KERNEL, standardize=True, inference=inference) for _ in range(2))
    here.fit(TWO, LABELS)
    there = moved(TWO, name)
    agree(model.fit(there, LABELS).predict_proba(there), here.predict_proba(TWO), there, 1e-6)
    np.testing.assert_allclose(model.hyper_.theta, here.hyper_.theta, atol=1e-5)
    np.testing.assert_allclose(model.hyper_.standard_error, here.hyper_.standard_error, rtol=1e-3)


@pytest.mark.parametrize("name", NAMESPACES)
@pytest.mark.parametrize("kernel", [None, "matern"])
def test_default_kernels(name, kernel):
    here, there = GPClassifier(kernel, random_state=0).fit(X, Y), moved(X, name)
    model = GPClassifier(kernel, random_state=0).fit(there, Y)
    assert [member.name for member in model.hyper_.members] == [member.name for member in here.hyper_.members]
    agree(model.predict_proba(there), here.predict_proba(X), there, 1e-5)


@pytest.mark.parametrize("name", NAMESPACES)
def test_regression(name):
    y = X[:, 2] + np.sin(X[:, 0])
    here, there = GPRegressor().fit(X[:, :2], y), moved(X[:, :2], name)
    model = GPRegressor().fit(there, moved(y, name))
    agree(model.predict(there), here.predict(X[:, :2]), there, 1e-6)
    for asked in ("return_std", "return_cov"):
        for found, expected in zip(
            model.predict(there, **{asked: True}), here.predict(X[:, :2], **{asked: True}), strict=True
        ):
            agree(found, expected, there, 1e-6)
    assert model.score(there, moved(y, name)) == pytest.approx(here.score(X[:, :2], y), abs=1e-6)
    agree(model.sample_latent(there, 2, random_state=0), here.sample_latent(X[:, :2], 2, random_state=0), there, 1e-3)


def test_a_device_learns_from_more_rows(monkeypatch):
    monkeypatch.setattr("gpclass.estimators.gp_classifier._DEVICE_ROWS", 20)
    there = moved(X, "array_api_strict")
    model = GPClassifier(KERNEL, hyper="evidence", inference="vb").fit(there, Y)
    assert len(model.hyper_.rows) == 20
    assert GPClassifier(KERNEL, hyper=Evidence(max_rows=25)).fit(there, Y).hyper_.rows.size == 25


@pytest.mark.parametrize("name", NAMESPACES)
@pytest.mark.parametrize("hyper", ["auto", "held_out"])
def test_searches_for_many_rows(name, hyper, monkeypatch):
    monkeypatch.setattr("gpclass.estimators.gp_classifier.NEIGHBOR_ROWS", 40)
    there = moved(TWO, name)
    here, model = (GPClassifier(hyper=hyper, random_state=0).fit(rows, LABELS) for rows in (TWO, there))
    np.testing.assert_allclose(model.hyper_.theta, here.hyper_.theta, atol=1e-5)
    agree(model.predict_proba(there), here.predict_proba(TWO), there, 1e-5)


@pytest.mark.parametrize("name", NAMESPACES)
@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
@pytest.mark.parametrize("inference", ["ep", "vb"])
def test_inducing_points(name, approximation, inference, tmp_path):
    settings = {"n_inducing": 15, "approximation": approximation, "standardize": True, "random_state": 0}
    settings["inference"] = inference
    here = SparseGPClassifier(KERNEL, **settings).fit(X, Y)
    there = moved(X, name)
    model = SparseGPClassifier(KERNEL, **settings).fit(there, moved(Y, name))
    assert Place.of(model.posterior_.mean) == Place.of(there)
    agree(model.predict_proba(there), here.predict_proba(X), there)
    agree(model.predict(there), here.predict(X), there)
    assert model.score(there, moved(Y, name)) == here.score(X, Y)
    np.testing.assert_allclose(model.loo_proba_, here.loo_proba_, atol=1e-8)
    np.testing.assert_allclose(model.inducing_rows_, here.inducing_rows_, atol=1e-12)
    narrow = SparseGPClassifier(KERNEL, dtype="float32", **settings).fit(there, Y)
    agree(narrow.predict_proba(there), here.predict_proba(X), there, 1e-2)
    save(model, tmp_path / "model.gpclass")
    np.testing.assert_allclose(load(tmp_path / "model.gpclass").predict_proba(X), here.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("name", NAMESPACES)
def test_cpu_computes_on_the_host_and_answers_where_the_rows_are(name):
    there = moved(X, name)
    model = GPClassifier(KERNEL, hyper="fixed", device="cpu").fit(there, Y)
    assert is_numpy(model.posterior_.terms.alpha)
    agree(model.predict_proba(there), model.predict_proba(X), there, 0.0)


@pytest.mark.parametrize("name", NAMESPACES)
def test_weights_and_labels_of_text(name):
    names, weights, there = np.array(["a", "b", "c"])[Y], 1.0 + np.arange(len(Y)) % 3, moved(X, name)
    here = GPClassifier(KERNEL, hyper="fixed").fit(X, names, sample_weight=weights)
    model = GPClassifier(KERNEL, hyper="fixed").fit(there, names, sample_weight=moved(weights, name))
    agree(model.predict_proba(there), here.predict_proba(X), there)
    assert model.predict(there).tolist() == here.predict(X).tolist()


@pytest.mark.parametrize("name", NAMESPACES)
def test_files_are_read_where_there_is_no_device(name, tmp_path):
    there = moved(X, name)
    for kernel in (KERNEL, None):
        model = GPClassifier(kernel, random_state=0).fit(there, Y)
        save(model, tmp_path / "model.gpclass")
        loaded = load(tmp_path / "model.gpclass")
        assert loaded._inputs.place == HOST
        np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-8)
        loaded.log_marginal_likelihood()
        assert loaded.hyper_.standard_error is not None


def test_pickles_stay_where_they_are():
    torch = pytest.importorskip("torch")
    model = GPClassifier(KERNEL, hyper="fixed").fit(torch.tensor(X), Y)
    again = pickle.load(io.BytesIO(pickle.dumps(model)))
    assert isinstance(again.posterior_.terms.alpha, torch.Tensor)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


class TestBadInput:
    @pytest.mark.parametrize("name", NAMESPACES)
    def test_infinity_leaves_the_estimator_as_it_was(self, name):
        model = GPClassifier(KERNEL, hyper="fixed").fit(moved(X, name), Y)
        before = dict(vars(model))
        with pytest.raises(ValueError, match="Input X contains infinity"):
            model.fit(moved(np.where(X > 6.0, np.inf, X), name), Y)
        assert vars(model) == before

    def test_memory_that_a_device_does_not_have(self, monkeypatch):
        monkeypatch.setattr(Place, "free_memory", lambda place: 2**10)
        with pytest.raises(MemoryError, match=r"array_api_strict device1 has 0\.0 GiB free; use SparseGPClassifier"):
            GPClassifier(KERNEL).fit(moved(X, "array_api_strict"), Y)

    @pytest.mark.parametrize("when", ["learning", "prediction of leave-one-out rows"])
    def test_memory_that_runs_out(self, monkeypatch, when):
        class OutOfMemoryError(RuntimeError):
            pass

        def allocate(*args, **settings):
            raise OutOfMemoryError("tried to allocate 2.00 GiB")

        model = GPClassifier(KERNEL).fit(moved(X, "array_api_strict"), Y)
        before, given_back = dict(vars(model)), []
        monkeypatch.setattr(Place, "give_back", lambda place: given_back.append(place))
        place = "log_det_gradient" if when == "learning" else "joint"
        monkeypatch.setattr(f"gpclass.inference.dense.product_form_posterior.ProductFormPosterior.{place}", allocate)
        with pytest.raises(MemoryError, match=r"array_api_strict device1 has too little memory for 38 rows \(tried to"):
            model.fit(moved(X, "array_api_strict"), Y)
        assert vars(model) == before
        assert len(given_back) == 1

    def test_a_kernel_that_needs_numpy(self):
        class Plain(RBF):
            def vjp(self, X, Z=None):
                return super().vjp(np.asarray(X), Z if Z is None else np.asarray(Z))

        there = moved(X, "array_api_strict")
        with pytest.raises(TypeError, match=r"Plain\(.*\) cannot be computed on array_api_strict device1"):
            GPClassifier(Plain(1.0)).fit(there, Y)
        assert GPClassifier(Plain(1.0), device="cpu", hyper="fixed").fit(there, Y).score(there, Y) > 0.9

    @pytest.mark.parametrize("method", ["predict_proba", "latent", "sample_latent"])
    def test_memory_that_runs_out_in_predictions(self, monkeypatch, method):
        there = moved(X, "array_api_strict")
        model = GPClassifier(KERNEL, hyper="fixed").fit(there, Y)
        expected = to_host(model.predict_proba(there))

        def allocate(*args, **settings):
            raise type("OutOfMemoryError", (RuntimeError,), {})("tried to allocate 2.00 GiB")

        with monkeypatch.context() as patch:
            patch.setattr("gpclass.inference.posteriors.GaussianPosterior._cross_cov", allocate)
            with pytest.raises(MemoryError, match=r"for predictions of 38 rows .*; predict fewer rows"):
                getattr(model, method)(there)
        agree(model.predict_proba(there), expected, there)

    def test_memory_that_runs_out_with_inducing_points(self, monkeypatch):
        def allocate(*args, **settings):
            raise type("OutOfMemoryError", (RuntimeError,), {})("tried to allocate 2.00 GiB")

        model = SparseGPClassifier(KERNEL, n_inducing=9)
        monkeypatch.setattr("gpclass.inference.inducing.features.InducingBasis.block", allocate)
        with pytest.raises(MemoryError, match=r"too little memory for 38 rows and the inducing points .* n_inducing"):
            model.fit(moved(X, "array_api_strict"), Y)
        assert not hasattr(model, "classes_")

    def test_a_device_that_is_not_there(self):
        with pytest.raises(ValueError, match="device must be None"):
            GPClassifier(device="gpu").fit(X, Y)
        with pytest.raises(ValueError, match="device must be None"):
            GPRegressor(device=0).fit(X, Y)
