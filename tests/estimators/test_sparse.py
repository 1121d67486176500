"""SparseGPClassifier and GPOrdinalClassifier as users meet them."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from gpclass import GPClassifier, GPOrdinalClassifier, SparseGPClassifier
from gpclass.hyper import Evidence, Fixed, HeldOut
from gpclass.inference import EP, IVM, SparseEP
from gpclass.kernels import RBF, Linear, PerClass, Precomputed, White
from gpclass.likelihoods import OrderedProbit

KERNEL = 100.0 * RBF(3.0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order] / 16.0, y[order]
    return X[:400], y[:400], X[400:900], y[400:900]


def fixed(**settings):
    return SparseGPClassifier(KERNEL, hyper="fixed", random_state=0, **settings)


def test_equals_the_full_model_when_all_rows_induce():
    X, y = load_iris(return_X_y=True)
    few = np.arange(0, 150, 3)
    kernel = 10.0 * RBF(2.0)
    engine = SparseEP(tol=1e-9, max_iter=3000)
    sparse = SparseGPClassifier(kernel, inference=engine, inducing=X[few], hyper="fixed").fit(X[few], y[few])
    full = GPClassifier(kernel, inference=EP(coupling="none", tol=1e-9), hyper="fixed").fit(X[few], y[few])
    np.testing.assert_allclose(sparse.predict_proba(X), full.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(sparse.loo_proba_, full.loo_proba_, atol=1e-6)
    assert sparse.log_evidence_ == pytest.approx(full.log_evidence_, abs=1e-6)


@pytest.mark.parametrize("inducing", ["ivm", "kmeans++", "random"])
@pytest.mark.parametrize("inference", ["ep", "vb"])
def test_all_rows_are_used(digits, inducing, inference):
    X, y, X_new, y_new = digits
    sparse = fixed(n_inducing=70, inducing=inducing, inference=inference).fit(X, y)
    # The same rows as a model of their own know far less.
    alone = GPClassifier(KERNEL, hyper="fixed").fit(sparse.inducing_rows_, _labels(X, y, sparse.inducing_rows_))
    assert log_loss(y_new, sparse.predict_proba(X_new)) < 0.8 * log_loss(y_new, alone.predict_proba(X_new))
    assert sparse.loo_proba_.shape == (400, 10)


def _labels(X, y, rows):
    return np.array([y[np.argmin(np.sum((X - row) ** 2, axis=1))] for row in rows])


def test_blocks_memmaps_and_arrays_are_the_same_data(digits, tmp_path):
    X, y, X_new, _ = digits
    X, y = X[y < 3].astype(np.float32), y[y < 3]
    names = np.array([f"digit {k}" for k in y])
    stored = np.memmap(tmp_path / "X.dat", np.float32, "w+", shape=X.shape)
    stored[:] = X

    def blocks():
        for start in range(0, len(X), 70):
            yield X[start : start + 70], names[start : start + 70]

    settings = {"n_inducing": 30, "standardize": True, "inference": SparseEP(tol=1e-6, max_iter=500)}
    whole = fixed(**settings).fit(X, names).predict_proba(X_new)
    for model in (
        fixed(**settings).fit(stored, names),
        fixed(**settings).fit(blocks),
        fixed(**settings).fit(list(blocks())),
    ):
        np.testing.assert_allclose(model.predict_proba(X_new), whole, atol=1e-5)
        assert model.n_features_in_ == 64
        assert model.classes_[0] == "digit 0"


def test_bad_blocks(digits):
    X, y, _, _ = digits
    model = fixed(n_inducing=10)
    with pytest.raises(TypeError, match="without calling it"):
        model.fit(block for block in [(X, y)])
    with pytest.raises(ValueError, match="at least one block"):
        model.fit([])
    with pytest.raises(ValueError, match="400 rows and 5 labels"):
        model.fit([(X, y[:5])])
    with pytest.raises(ValueError, match="blocks of 64 columns, got one of 3"):
        model.fit([(X, y), (X[:, :3], y)])
    with pytest.raises(ValueError, match="NaN"):
        model.fit([(np.full((5, 3), np.nan), y[:5])])
    calls = []

    def shrinking():
        calls.append(1)
        yield X[: 100 if len(calls) > 3 else 200], y[: 100 if len(calls) > 3 else 200]

    with pytest.raises(ValueError, match="same rows in every pass"):
        model.fit(shrinking)

    rng = np.random.default_rng(0)

    def shuffled():
        order = rng.permutation(400)
        yield X[order], y[order]

    with pytest.raises(ValueError, match="must not shuffle again"):
        model.fit(shuffled)
    with pytest.raises(TypeError, match="no y beside it"):
        model.fit(shuffled, y)


def test_labels_of_one_type_in_all_blocks(digits):
    X, y, _, _ = digits
    model = fixed(n_inducing=10)
    for blocks in ([(X, y), (X, y.astype(str))], [(X, y.astype(str).astype(object)), (X, y.astype(float))]):
        with pytest.raises(ValueError, match=r"labels of one type, got a mixture of (float|int) and str"):
            model.fit(blocks)
    names = y.astype(str)
    assert len(fixed(n_inducing=10).fit([(X, names), (X, names.astype(object))]).classes_) == 10


@pytest.mark.parametrize("kind", ["blocks", "memmap", "array"])
def test_numbers_that_cannot_be_squared(digits, tmp_path, kind):
    X, y, _, _ = digits
    X = np.tile(X, (6, 1))
    X[2200, 3] = -1e150
    labels = np.tile(y, 6)
    stored = np.memmap(tmp_path / "X.dat", np.float64, "w+", shape=X.shape)
    stored[:] = X
    data = {
        "blocks": ([(X[:1500], labels[:1500]), (X[1500:], labels[1500:])], None),
        "memmap": (stored, labels),
        "array": (X, labels),
    }
    with pytest.raises(ValueError, match=r"at most 1e\+100 in X, got -1e\+150 in row 2200, column 3"):
        fixed(n_inducing=10).fit(*data[kind])


@pytest.mark.parametrize("kind", ["blocks", "memmap", "array"])
def test_labels_that_are_missing(digits, tmp_path, kind):
    X, y, _, _ = digits
    labels = y.astype(float)
    labels[350] = np.nan
    stored = np.memmap(tmp_path / "X.dat", np.float64, "w+", shape=X.shape)
    stored[:] = X
    data = {
        "blocks": ([(X[:300], labels[:300]), (X[300:], labels[300:])], None),
        "memmap": (stored, labels),
        "array": (X, labels),
    }
    with pytest.raises(ValueError, match=r"Input y (of block 1 )?contains NaN"):
        fixed(n_inducing=10).fit(*data[kind])


def test_learning_through_inducing_rows():
    X, y = (part[::2] for part in load_iris(return_X_y=True))
    few = SparseGPClassifier(10.0 * RBF(1.0), n_inducing=15, hyper=Evidence(max_rows=None))
    few.fit(X, y)
    start = few._objective.theta
    assert few.log_marginal_likelihood() > few.log_marginal_likelihood(start)
    assert few.score(X, y) > 0.94
    _, slope = few.log_marginal_likelihood(eval_gradient=True)
    assert slope.shape == few.hyper_.theta.shape


def test_default_learns_and_calibrates(digits):
    X, y, X_new, y_new = digits
    model = SparseGPClassifier(n_inducing=100).fit(X, y)
    assert model.hyper_.n_evaluations > 0
    uncalibrated = model.likelihood_.predict(*model.latent(X_new))
    assert log_loss(y_new, model.predict_proba(X_new)) < log_loss(y_new, uncalibrated)
    assert model.score(X_new, y_new) > 0.93


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_inducing": 0}, ValueError, "n_inducing must be"),
        ({"inducing": "grid"}, ValueError, "inducing must be one of"),
        ({"inducing": [[1.0, 2.0]]}, ValueError, "2 columns, but X has 4"),
        ({"approximation": "vfe"}, ValueError, "approximation must be one of"),
        ({"dtype": "int64"}, ValueError, "dtype must be 'float64' or 'float32', got 'int64'"),
        ({"dtype": "float16"}, ValueError, "dtype must be 'float64' or 'float32', got 'float16'"),
        ({"inference": "gibbs"}, ValueError, "inference must be one of"),
        ({"hyper": "nuts"}, TypeError, "expected hyper="),
        ({"kernel": PerClass(RBF())}, TypeError, "one kernel for all classes"),
        ({"kernel": Precomputed()}, TypeError, "needs features"),
        ({"kernel": White(), "inducing": "random", "hyper": "fixed"}, ValueError, "white noise alone"),
        ({"kernel": RBF() + White() * Linear()}, ValueError, "white noise of the same variance"),
        ({"likelihood": "logit", "inference": "vb"}, ValueError, "Logit is for 2 classes"),
    ],
)
def test_bad_settings(settings, error, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=message):
        SparseGPClassifier(**{"kernel": RBF(), **settings}).fit(X, y)


def test_more_inducing_rows_than_rows():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="n_inducing is 200, but there are 150 rows"):
        SparseGPClassifier(RBF(), n_inducing=200, hyper="fixed").fit(X, y)


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (500, 2))
    y = np.digitize(2 * np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(500), [-2.0, 0.0, 1.5])
    names = np.array(["poor", "fair", "good", "excellent"])
    return X, names[y], names


@pytest.fixture(scope="module")
def unordered(ratings):
    X, y, _ = ratings
    return GPClassifier().fit(X[:250], y[:250])


@pytest.mark.parametrize("inference", ["ep", IVM(60)])
def test_ordered_labels(ratings, unordered, inference):
    X, y, names = ratings
    model = GPOrdinalClassifier(order=names, inference=inference).fit(X[:250], y[:250])
    assert model.classes_.tolist() == names.tolist()
    assert model.score(X[250:], y[250:]) > 0.82
    assert np.all(np.diff(model.cut_points_) > 0)
    assert model.predict_proba(X[250:]).shape == (250, 4)
    ours = -np.mean(np.log(model.predict_proba(X[250:])[np.arange(250), [names.tolist().index(v) for v in y[250:]]]))
    assert ours < log_loss(y[250:], unordered.predict_proba(X[250:]), labels=unordered.classes_)


@pytest.mark.parametrize("first", [Evidence(), Fixed()], ids=["evidence", "fixed"])
def test_rows_set_aside_put_the_better_of_two_starts_right_once(ratings, monkeypatch, first):
    X, y, names = ratings
    starts, adjusted = [], []
    search, adjust = type(first).__call__, HeldOut.adjust

    def searching(self, objective, *args):
        starts.append(search(self, objective, *args))
        return starts[-1]

    def adjusting(self, objective, found, *args):
        adjusted.append(found)
        return adjust(self, objective, found, *args)

    monkeypatch.setattr(type(first), "__call__", searching)
    monkeypatch.setattr(HeldOut, "adjust", adjusting)
    hyper = HeldOut(first, n_active=20, max_evaluations=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        GPOrdinalClassifier(order=names, inference=IVM(20), hyper=hyper).fit(X[:80, :1], y[:80])
    assert len(starts) == (2 if isinstance(first, Evidence) else 1)  # from a large amplitude, and from a small one
    assert adjusted == [max(starts, key=lambda found: found.value)]


@pytest.mark.parametrize(
    ("order", "labels", "message"),
    [
        (["1", "2", "3"], [1, 2, 3], r"expected labels of order=\['1', '2', '3'\] \(str\), got \[1, 2, 3\] \(int\)$"),
        ([1, 2], ["1", "2"], r"expected labels of order=\[1, 2\] \(int\), got \['1', '2'\] \(str\)$"),
        (["1", "2"], ["2", "3"], r"expected labels of order=\['1', '2'\], got \['3'\] too"),
        ([1, 2], [2, 10, 3], r"expected labels of order=\[1, 2\], got \[3, 10\] too"),
    ],
)
def test_labels_that_are_not_in_the_order(order, labels, message):
    with pytest.raises(ValueError, match=message):
        GPOrdinalClassifier(order=order).fit(np.arange(float(len(labels)))[:, None], labels)


def test_order_and_two_categories(ratings):
    X, y, names = ratings
    binary = GPOrdinalClassifier(order=["low", "high"], hyper="fixed", kernel=RBF()).fit(
        X, np.where(np.isin(y, names[:2]), "low", "high")
    )
    assert binary.cut_points_.shape == (1,)
    with pytest.raises(ValueError, match=r"got \['fair', 'good'\] too"):
        GPOrdinalClassifier(order=["poor", "excellent"]).fit(X, y)
    with pytest.raises(ValueError, match="each once"):
        GPOrdinalClassifier(order=["poor", "poor"]).fit(X, y)
    with pytest.raises(ValueError, match="3 categories, but there are 4"):
        GPOrdinalClassifier(likelihood=OrderedProbit(), order=names).fit(X, y)
    # A category that no row has is still a category.
    some = y != "fair"
    model = GPOrdinalClassifier(RBF(), order=names, hyper="fixed").fit(X[some], y[some])
    assert model.predict_proba(X[:3]).shape == (3, 4)


@pytest.mark.filterwarnings("ignore:SparseEP inference stopped after 200 iterations")
def test_the_evidence_at_other_parameters():
    X, y = (part[::2] for part in load_iris(return_X_y=True))
    model = SparseGPClassifier(10.0 * RBF(1.0), n_inducing=15).fit(X, y)
    theta = model.hyper_.theta
    assert np.isfinite(model.log_marginal_likelihood())
    assert model.log_marginal_likelihood(theta - 2.0) < model.log_marginal_likelihood()
    # By expectation propagation under "fitc", whatever the model was fitted by.
    settled = SparseEP(tol=1e-5, max_iter=200)
    same = SparseGPClassifier(model.kernel_, inducing=model.inducing_rows_, hyper="fixed", inference=settled)
    assert model.log_marginal_likelihood() == pytest.approx(
        same.set_params(approximation="fitc").fit(X, y).log_evidence_
    )
    other = SparseGPClassifier(model.kernel_, inducing=model.inducing_rows_, hyper="fixed", inference="vb").fit(X, y)
    assert other.log_marginal_likelihood(theta) == pytest.approx(model.log_marginal_likelihood())
    assert other.log_evidence_ != pytest.approx(other.log_marginal_likelihood(theta), abs=1e-2)
