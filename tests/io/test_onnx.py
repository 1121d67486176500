"""Models as ONNX files: equal to ours in ONNX Runtime, or refused by name."""

from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from scipy.special import erfcx, log_ndtr, ndtr
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gpclass
from gpclass import (
    GPClassifier,
    GPRegressor,
    IVMClassifier,
    MultiTaskIVMClassifier,
    ViewVotingClassifier,
    export_onnx,
)
from gpclass.hyper import Importance
from gpclass.inference.base import Draws
from gpclass.inference.posteriors import DrawsPosterior
from gpclass.io.onnx import namespace as xp
from gpclass.io.onnx import special
from gpclass.io.onnx.graph import ROWS, ExportError, Graph, RecordedArray, broadcast_shapes
from gpclass.io.onnx.posteriors import moments, refuse_kernel
from gpclass.io.onnx.probabilities import probabilities
from gpclass.io.onnx.writing import model_bytes
from gpclass.kernels import RBF, Kernel, Linear, Matern, PerClass, Precomputed
from gpclass.likelihoods import Logit, MultinomialProbit, NullCategory, OrderedProbit, Probit
from gpclass.numerics.arrays import full, namespace
from gpclass.tabular import TableModel
from tests.estimators.registry import ESTIMATORS, fitted, predictions
from tests.kernels.test_contract import DATA, KERNELS
from tests.kernels.test_contract import ROWS as KERNEL_ROWS

#: Far below the promise of 1e-6: single precision anywhere in a graph would show.
TOLERANCE = 1e-10
ABOUT = {"gpclass": "test"}
NEIGHBORS = (
    "expected a model with a posterior of its own, got {}, which solves equations for every row; "
    "SparseGPClassifier (--engine sparse), IVMClassifier and IVMRegressor (--engine ivm) are for many rows too"
)
REFUSED_ESTIMATORS = {
    name: NEIGHBORS.format(name) for name in ("NearestNeighborGPClassifier", "NearestNeighborGPRegressor")
}
COVARIANCES = "expected a kernel on features, got Precomputed, which takes covariances, and not features"
REFUSED_KERNELS = dict.fromkeys(("precomputed", "beside", "weighted_beside"), COVARIANCES)


def run(content, **feed):
    """What ONNX Runtime makes of inputs, by the names of the outputs; warnings of it are errors."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        content if isinstance(content, bytes) else str(content), settings, providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {value.name: feed[value.name] for value in session.get_inputs()})
    return dict(zip([value.name for value in session.get_outputs()], found, strict=True))


def recorded(function, X):
    """``function`` of an input X, recorded and run."""
    graph = Graph()
    outputs = function(graph.input("X", X.dtype, X.shape[1]))
    return list(run(model_bytes(graph, {f"out{i}": one for i, one in enumerate(outputs)}, ABOUT), X=X).values())


def cells(frame):
    """A data frame as inputs of one column each."""
    return {
        name: frame[[name]].to_numpy(float)
        if frame[name].dtype.kind in "iufb"
        else frame[[name]].astype(object).fillna("").to_numpy()
        for name in frame.columns
    }


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame({"size": rng.normal(size=n), "weight": 10.0 * rng.normal(size=n) + 5.0})
    frame["colour"], frame["side"] = rng.choice(["red", "green", "blue"], n), rng.choice(["left", "right"], n)
    score = frame["size"] + (frame["colour"] == "red") + 0.3 * rng.normal(size=n)
    frame["passed"] = np.where(score > 0.5, "yes", "no")
    frame.loc[5:9, "size"] = np.nan
    frame.loc[[3, 20], "colour"] = None
    return frame


# ---- every estimator, kernel and likelihood ----------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_predict_alike(name, tmp_path):
    model, data, path = clone(ESTIMATORS[name].default), ESTIMATORS[name].data(), tmp_path / "model.onnx"
    if "hyper" in model.get_params(deep=False):
        model.set_params(hyper="fixed")
    if name == "ViewVotingClassifier":
        model.set_params(estimator=GPClassifier(RBF(1.0), hyper="fixed"))
    model.fit(data.X, data.y, **data.more)
    if name in REFUSED_ESTIMATORS:
        with pytest.raises(ExportError) as error:
            export_onnx(model, path)
        assert str(error.value) == REFUSED_ESTIMATORS[name]
        assert not path.exists()
        return
    assert export_onnx(model, path) == path
    found = run(path, X=data.X, **data.more)
    ours = predictions(model, data)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found["probabilities"], ours[0], atol=TOLERANCE)
        assert found["label"].dtype == np.int64
        np.testing.assert_array_equal(found["label"], ours[1])
    else:
        np.testing.assert_allclose(found["mean"], ours[0], atol=TOLERANCE)
        np.testing.assert_allclose(found["sd"], ours[1], atol=TOLERANCE)
    file = onnx.load(path)
    assert {opset.domain for opset in file.opset_import} == {""}
    assert {node.domain for node in file.graph.node} == {""}


def test_the_default_is_a_mixture_of_kernels(tmp_path):
    model, data = fitted("GPClassifier"), ESTIMATORS["GPClassifier"].data()
    assert len(model.posterior_.members) > 1
    found = run(export_onnx(model, tmp_path / "model.onnx"), X=data.X)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(data.X), atol=TOLERANCE)


@pytest.mark.parametrize("voting", ["sum", "product"])
def test_views_vote_alike(voting, iris, tmp_path):
    views = {"sepal": [0, 1], "petal": slice(2, 4), "mask": [True, False, False, True]}
    model = ViewVotingClassifier(GPClassifier(RBF(1.0), hyper="fixed"), views, voting=voting).fit(*iris)
    found = run(export_onnx(model, tmp_path / "model.onnx"), X=iris[0])["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(iris[0]), atol=TOLERANCE)


def test_an_unknown_task_has_no_prediction(tmp_path):
    X, y, more = ESTIMATORS["MultiTaskIVMClassifier"].data()
    names = np.array(["first", "second"])[more["task"]]
    model = MultiTaskIVMClassifier(hyper="fixed").fit(X, y, task=names)
    asked = names.astype(object)
    asked[0] = "third"
    found = run(export_onnx(model, tmp_path / "model.onnx"), X=X, task=asked)["probabilities"]
    assert np.all(np.isnan(found[0]))
    np.testing.assert_allclose(found[1:], model.predict_proba(X, task=names)[1:], atol=TOLERANCE)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_computed_alike(name):
    kernel, rows = KERNELS[name], DATA.get(name, KERNEL_ROWS)
    if name in REFUSED_KERNELS:
        with pytest.raises(ExportError) as error:
            refuse_kernel(kernel)
        assert str(error.value) == REFUSED_KERNELS[name]
        return
    refuse_kernel(kernel)
    X, Z = rows[:9].copy(), rows[6:]
    K, diagonal = recorded(lambda X: (kernel(X, X.graph.constant(Z)), kernel.diag(X)), X)
    np.testing.assert_allclose(K, kernel(X, Z), atol=1e-14 * np.abs(kernel(X, Z)).max(), rtol=1e-13)
    np.testing.assert_allclose(diagonal, kernel.diag(X), rtol=1e-13)


LIKELIHOODS = {
    "logit": Logit(),
    "null category": NullCategory(variance=1e-4),
    "ordered": OrderedProbit.from_cut_points([-0.5, 0.3]),
    "probit": Probit(bias=0.2, label_noise=0.05),
    "multinomial": MultinomialProbit(label_noise=0.05),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("amplitude", [1e-3, 1.0, 1e3])
def test_likelihoods_are_averaged_alike(name, amplitude):
    likelihood = LIKELIHOODS[name]
    rng, C = np.random.default_rng(0), 3 if name == "multinomial" else 1
    mean = rng.normal(size=(12, C)) * np.repeat([0.1, 1.0, 30.0], 4)[:, None]
    var = amplitude * rng.random((12, C))
    X = np.hstack([mean, var])
    (proba,) = recorded(lambda X: (probabilities(likelihood, X[:, :C], X[:, C:]),), X)
    ours = np.exp(likelihood.predict_log(mean, var))
    np.testing.assert_allclose(proba, ours, atol=1e-9)


def test_other_likelihoods_are_refused_by_name(iris, tmp_path):
    model = GPClassifier(RBF(2.0), inference="laplace", likelihood="softmax", hyper="fixed").fit(*iris)
    expected = "expected a likelihood among Logit, MultinomialProbit, NullCategory, OrderedProbit, Probit, got Softmax"
    with pytest.raises(ExportError, match=expected):
        export_onnx(model, tmp_path / "model.onnx")


@pytest.mark.parametrize("inference", ["laplace", "vb", "ep"])
@pytest.mark.parametrize("kernel", [100.0 * RBF(2.0), PerClass(50.0 * Matern(1.0, nu=2.5)), 3.0 * RBF(1.0) + Linear()])
@pytest.mark.parametrize("classes", [2, 3])
def test_engines_far_away_and_in_between(inference, kernel, classes, iris, tmp_path):
    X, y = iris
    model = GPClassifier(kernel, inference=inference, hyper="fixed", standardize=True)
    model.fit(X, np.minimum(y, classes - 1))
    path = export_onnx(model, tmp_path / "model.onnx")
    new = np.vstack([X + 0.3, 50.0 * X[:2], 1e6 * X[:2], -1e6 * X[:2]])
    found, ours = run(path, X=new)["probabilities"], model.predict_proba(new)
    np.testing.assert_allclose(found, ours, atol=1e-9)


def test_variances_that_differ_between_classes(iris, tmp_path):
    """Steep factors in the integral of the multinomial probit need more nodes."""
    model = IVMClassifier(1e4 * RBF(0.5), n_active=15, hyper="fixed").fit(*iris)
    path = export_onnx(model, tmp_path / "model.onnx")
    new = np.vstack([iris[0] + 0.2, iris[0] + 1.0])
    np.testing.assert_allclose(run(path, X=new)["probabilities"], model.predict_proba(new), atol=TOLERANCE)


def test_averages_over_kernel_parameters(iris, tmp_path):
    X, y = iris
    search = Importance(n_draws=25, n_models=3)
    for model, target in ((GPClassifier(RBF(1.0), hyper=search), y), (GPRegressor(RBF(1.0), hyper=search), X[:, 0])):
        model.set_params(random_state=0).fit(X[:, 1:], target)
        assert len(model.posterior_.members) > 1
        found = run(export_onnx(model, tmp_path / "model.onnx"), X=X[:, 1:])
        if "mean" in found:
            mean, sd = model.predict(X[:, 1:], return_std=True)
            np.testing.assert_allclose(found["mean"], mean, atol=TOLERANCE)
            np.testing.assert_allclose(found["sd"], sd, atol=TOLERANCE)
        else:
            np.testing.assert_allclose(found["probabilities"], model.predict_proba(X[:, 1:]), atol=TOLERANCE)


# ---- rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inference", ["vb", "ep"])
def test_any_number_of_rows(inference, iris, tmp_path):
    X, y = iris
    path = export_onnx(GPClassifier(30.0 * RBF(1.0), inference=inference, hyper="fixed").fit(X, y), tmp_path / "m.onnx")
    all_rows = run(path, X=X)["probabilities"]
    for n in (0, 1, 7):
        found = run(path, X=X[:n])
        assert found["probabilities"].shape == (n, 3)
        assert found["label"].shape == (n,)
        # How fine the rule is depends on all rows, its result does not.
        np.testing.assert_allclose(found["probabilities"], all_rows[:n], atol=TOLERANCE)


def test_single_precision_inputs(iris, tmp_path):
    X, y = iris
    model = GPClassifier(30.0 * RBF(1.0), hyper="fixed").fit(X, y)
    path = export_onnx(model, tmp_path / "model.onnx", dtype="float32")
    single = X.astype(np.float32)
    found = run(path, X=single)["probabilities"]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, model.predict_proba(single.astype(float)), atol=TOLERANCE)


@pytest.mark.parametrize("inference", ["vb", "ep"])
def test_missing_values_are_filled(inference, iris, tmp_path):
    X, y = iris
    model = GPClassifier(30.0 * RBF(1.0), inference=inference, hyper="fixed").fit(X, y)
    path = export_onnx(model, tmp_path / "m.onnx")
    gaps = X.copy()
    gaps[2, 1] = gaps[5, 0] = np.nan
    found = run(path, X=gaps)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(gaps), atol=TOLERANCE)
    others = ~np.isnan(gaps).any(axis=1)
    np.testing.assert_allclose(found[others], run(path, X=X)["probabilities"][others], atol=TOLERANCE)


@pytest.mark.parametrize("classes", [np.array(["a", "b", "c"]), np.array([-1.0, 0.0, 2.0]), np.array([7, 8, 9])])
def test_labels_are_the_classes(classes, iris, tmp_path):
    X, y = iris
    model = GPClassifier(30.0 * RBF(1.0), hyper="fixed").fit(X, classes[y])
    labels = run(export_onnx(model, tmp_path / "model.onnx"), X=X)["label"]
    np.testing.assert_array_equal(labels, model.predict(X))


def test_logical_labels(iris, tmp_path):
    X, y = iris
    model = GPClassifier(30.0 * RBF(1.0), hyper="fixed").fit(X, y > 1)
    assert run(export_onnx(model, tmp_path / "model.onnx"), X=X)["label"].dtype == bool


# ---- tables ------------------------------------------------------------------------------------------------


def test_tables_have_one_input_for_each_column(table, tmp_path):
    model = TableModel("passed").fit(table)
    path = export_onnx(model, tmp_path / "model.onnx")
    new = table.drop(columns="passed")
    new.loc[0, "colour"] = "unknown"
    new.loc[1, "weight"], new.loc[2, "side"] = np.nan, None
    found = run(path, **cells(new))
    with pytest.warns(UserWarning, match="was not in the training table|training had none"):
        ours = model.predict_proba(new)
    np.testing.assert_allclose(found["probabilities"], ours, atol=TOLERANCE)
    assert set(found["label"]) == {"no", "yes"}
    kinds = {value.name: value.type.tensor_type.elem_type for value in onnx.load(path).graph.input}
    assert kinds == {
        "size": onnx.TensorProto.DOUBLE,
        "weight": onnx.TensorProto.DOUBLE,
        "colour": onnx.TensorProto.STRING,
        "side": onnx.TensorProto.STRING,
    }


def test_tables_with_views_and_missing_ones(table, tmp_path):
    table = table.fillna({"colour": "green"})
    table.loc[5:9, ["size", "weight"]] = np.nan
    model = TableModel("passed", views={"numbers": ["size", "weight"], "words": ["colour", "side"]}).fit(table)
    new = table.drop(columns="passed")
    new.loc[12, "size"] = np.nan
    found = run(export_onnx(model, tmp_path / "model.onnx"), **cells(new))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(new), atol=TOLERANCE)


def test_data_frames_with_categories(table, tmp_path):
    frame = table.drop(columns="passed").fillna({"size": 0.0}).assign(stars=pd.Categorical(np.arange(60) % 3))
    model = GPClassifier(hyper="fixed", kernel="rbf").fit(frame, table["passed"])
    feed = cells(frame.astype({"stars": float}))
    found = run(export_onnx(model, tmp_path / "model.onnx"), **feed)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(frame), atol=TOLERANCE)


def test_missing_values_and_dates_as_the_default_kernel_sees_them(iris, tmp_path):
    X, y = (part[::3] for part in iris)
    gaps = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.2, np.nan, X)
    model = GPClassifier("rbf", hyper="fixed").fit(gaps, y)
    assert len(model.input_names_) > 4
    found = run(export_onnx(model, tmp_path / "gaps.onnx"), X=gaps)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(gaps), atol=TOLERANCE)

    days = 18000.0 + np.linspace(0.0, 900.0, len(X)).round(2)
    frame = pd.DataFrame({"width": gaps[:, 3], "when": pd.to_datetime(days, unit="D").round("s")})
    frame.loc[4, "when"] = pd.NaT
    model = GPClassifier("rbf", hyper="fixed").fit(frame, y)
    assert any("day of week" in name for name in model.input_names_)
    since = (frame["when"] - pd.Timestamp(0)) / pd.Timedelta(days=1)
    feed = {"width": frame[["width"]].to_numpy(), "when": since.to_numpy(float)[:, None]}
    found = run(export_onnx(model, tmp_path / "dates.onnx"), **feed)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(frame), atol=1e-7)

    whole = frame.assign(when=frame["when"].dt.floor("D"))  # the default kernel ranks weekdays
    model = GPClassifier(inference="laplace", random_state=0).fit(whole, y)
    since = (whole["when"] - pd.Timestamp(0)) / pd.Timedelta(days=1)
    feed = {"width": whole[["width"]].to_numpy(), "when": since.to_numpy(float)[:, None]}
    found = run(export_onnx(model, tmp_path / "weekdays.onnx"), **feed)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(whole), atol=1e-7)


def test_text_is_refused(table, tmp_path):
    told = [f"{word} number {i} of the list" for i, word in enumerate(["good", "bad"] * 30)]
    model = GPClassifier("rbf", hyper="fixed").fit(table[["weight"]].assign(note=told), table["passed"])
    with pytest.raises(ExportError, match="column 'note': expected numbers, dates or categories, got text"):
        export_onnx(model, tmp_path / "model.onnx")


def test_loaded_models_are_exported(table, tmp_path):
    noise = np.random.default_rng(1).normal(size=len(table))
    regression = table.drop(columns="passed").assign(y=3.0 * table["size"].fillna(0.0) + table["weight"] + noise)
    model = gpclass.load(gpclass.save(TableModel("y", regress=True).fit(regression), tmp_path / "model.gpclass"))
    found = run(export_onnx(model, tmp_path / "model.onnx"), **cells(regression))
    ours = model.predictions(regression)
    np.testing.assert_allclose(found["mean"], ours["prediction"], atol=1e-9)
    np.testing.assert_allclose(found["sd"], ours["sd"], atol=1e-9)


# ---- refusals ----------------------------------------------------------------------------------------------


def test_bad_arguments(iris, tmp_path):
    path, model = tmp_path / "model.onnx", GPClassifier(RBF(1.0), hyper="fixed").fit(*iris)
    with pytest.raises(NotFittedError):
        export_onnx(GPClassifier(), path)
    with pytest.raises(TypeError, match="expected a fitted model of gpclass, got <class"):
        export_onnx(GPClassifier, path)
    for other in (LogisticRegression(), make_pipeline(StandardScaler(), GPClassifier(RBF(1.0), hyper="fixed"))):
        name = type(other).__name__
        with pytest.raises(ExportError, match=f"expected an estimator of gpclass or a TableModel, got {name}"):
            export_onnx(other.fit(*iris), path)
    with pytest.raises(ValueError, match=r"dtype must be one of \['float64', 'float32'\], got 'float16'"):
        export_onnx(model, path, dtype="float16")
    with pytest.raises(FileNotFoundError):
        export_onnx(model, tmp_path / "absent" / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_fails_leaves_the_file(iris, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"as it was")
    gram = iris[0] @ iris[0].T
    with pytest.raises(ExportError, match="got Precomputed"):
        export_onnx(GPClassifier(Precomputed(), hyper="fixed").fit(gram, iris[1]), path)
    assert path.read_bytes() == b"as it was"


def test_a_tampered_model_is_refused(iris, tmp_path):
    model = GPRegressor(RBF(1.0), hyper="fixed").fit(iris[0], iris[0][:, 0])
    del model.posterior_
    with pytest.raises(AttributeError, match="posterior_"):
        export_onnx(model, tmp_path / "model.onnx")


def test_draws_are_no_gaussian_posterior(iris):
    draws = DrawsPosterior(RBF(1.0), iris[0], Draws(np.zeros((1, 2, len(iris[0]), 3)), None, None, None))
    with pytest.raises(ExportError, match="expected a Gaussian posterior, got DrawsPosterior"):
        moments(draws, Graph().input("X", float, 4))


@dataclass(frozen=True, eq=False, repr=False)
class Cosine(Kernel):
    """A kernel of a user, over array namespaces or (``plain``) NumPy."""

    plain: bool = False

    def vjp(self, X, Z=None):
        cosine = np.cos if self.plain else namespace(X).cos
        return cosine(X[:, :1] - (X if Z is None else Z)[:, :1].T), lambda G: np.zeros(0)

    def diag(self, X):
        return full((X.shape[0],), 1.0, X)


def test_kernels_of_users(iris, tmp_path):
    X, y = iris
    path = tmp_path / "model.onnx"
    found = run(export_onnx(model := GPClassifier(Cosine(), hyper="fixed").fit(X, y), path), X=X)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=TOLERANCE)
    with pytest.raises(ExportError, match=r"expected a kernel that computes with the array namespace .* got Cosine"):
        export_onnx(GPClassifier(Cosine(plain=True), hyper="fixed").fit(X, y), path)


def test_columns_with_the_names_of_outputs(table, tmp_path):
    frame = table.drop(columns="passed").fillna({"size": 0.0})
    model = GPClassifier(hyper="fixed", kernel="rbf").fit(frame.rename(columns={"size": "label"}), table["passed"])
    with pytest.raises(ExportError, match=r"expected columns with other names than the outputs .* got 'label'"):
        export_onnx(model, tmp_path / "model.onnx")


# ---- recording ---------------------------------------------------------------------------------------------


def test_special_functions():
    x = np.concatenate([np.linspace(-40.0, 40.0, 161), [-1e3, 0.0, 1e3, 1e200, -1e200]])[:, None]
    cdf, log_cdf, hazard = recorded(lambda X: (special.normal_cdf(X), special.log_normal_cdf(X), special.hazard(X)), x)
    np.testing.assert_allclose(cdf, ndtr(x), rtol=1e-12, atol=1e-300)
    near = np.abs(x) < 1e100
    np.testing.assert_allclose(log_cdf[near], log_ndtr(x[near]), rtol=1e-13, atol=1e-15)
    left = (x < 0.0) & near
    np.testing.assert_allclose(hazard[left], np.sqrt(2.0 / np.pi) / erfcx(-x[left] / np.sqrt(2.0)), rtol=1e-13)
    sine = np.linspace(-1.0, 1.0, 201)[:, None]
    np.testing.assert_allclose(recorded(lambda X: (special.arc_sine(X),), sine)[0], np.arcsin(sine), atol=2e-15)


def test_constants_are_computed_at_once_and_equal_nodes_are_one():
    graph = Graph()
    X, number = graph.input("X", float, 2), graph.constant(np.arange(2.0))
    assert xp.exp(number + 1.0).value == pytest.approx(np.exp([1.0, 2.0]))
    assert not graph.nodes
    first, second = xp.exp(X + number), xp.exp(X + number)
    assert first.name == second.name
    assert len(graph.nodes) == 2


def test_what_depends_on_values_is_refused():
    X = Graph().input("X", float, 2)
    with pytest.raises(ExportError, match="the same for all rows"):
        bool(xp.any(X > 0.0))
    with pytest.raises(ExportError, match="needs NumPy arrays"):
        np.asarray(X)
    with pytest.raises(ExportError, match="whose matrix is known"):
        xp.linalg.solve(X, X)


@pytest.mark.parametrize("factor", [0.1, np.float64(0.1), np.array(0.1)])
def test_products_of_matrices_keep_double_precision(factor):
    """ONNX Runtime merges a product of matrices with a number beside it, in single precision."""
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(5, 4)), rng.normal(size=(4, 3))
    for B in (A, A[:, :1]):
        times, over = recorded(lambda X, B=B: ((X @ B) * factor, (factor * X) @ B / 0.3), X)
        np.testing.assert_allclose(times, 0.1 * X @ B, rtol=1e-13)
        np.testing.assert_allclose(over, 0.1 * X @ B / 0.3, rtol=1e-13)


def test_shapes_meet_by_broadcasting():
    assert broadcast_shapes((ROWS, 1, 3), (4, 1)) == (ROWS, 4, 3)
    assert broadcast_shapes((), (2,)) == (2,)
    with pytest.raises(ValueError, match="expected shapes that can be broadcast"):
        broadcast_shapes((2,), (3,))


def test_arrays_can_be_indexed():
    X = np.arange(12.0).reshape(3, 4)
    keys = [(slice(None), 1), (slice(None), slice(1, 3)), (..., None, 0), (slice(None), None, -1), (None, ...)]
    found = recorded(lambda X: [X[key] for key in keys], X)
    for key, one in zip(keys, found, strict=True):
        np.testing.assert_array_equal(one, X[key])
    assert isinstance(Graph().constant(X)[1:], RecordedArray)
