"""One suite for every kernel: values, shapes, gradients, naming, other array namespaces, hooks of compositions."""

import pickle
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import array_api_strict as xp
import numpy as np
import pytest
from scipy.linalg import expm
from sklearn.gaussian_process import kernels as sk

import gpclass.kernels
from gpclass.kernels import (
    MLP,
    RBF,
    Additive,
    Categorical,
    Constant,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    PerClass,
    Polynomial,
    Precomputed,
    Product,
    Quantiles,
    RationalQuadratic,
    Scaled,
    TorchKernel,
    View,
    WeightedSum,
    White,
    diffusion_gram,
    from_sklearn,
    kmer_gram,
    spectrum_gram,
)
from gpclass.kernels.columns import Columns
from gpclass.kernels.rows import GramRows, Rows, select
from gpclass.kernels.stationary import Stationary
from gpclass.numerics.arrays import to_host
from gpclass.numerics.parameters import POSITIVE
from tests.conftest import central_difference, relative_error

D = 3
VECTOR = np.array([0.6, 1.3, 2.1])
GRAM = np.array([[2.0, 0.3, 0.1], [0.3, 2.0, 0.4], [0.1, 0.4, 2.0]])
KERNELS = {
    "rbf": RBF(1.3),
    "rbf_ard": RBF(VECTOR),
    "ou": Matern(1.3, nu=0.5),
    "ou_ard": Matern(VECTOR, nu=0.5),
    "matern32": Matern(0.8, nu=1.5),
    "matern32_ard": Matern(VECTOR, nu=1.5),
    "matern52": Matern(0.8, nu=2.5),
    "matern52_ard": Matern(VECTOR, nu=2.5),
    "ratquad": RationalQuadratic(1.1, alpha=0.7),
    "ratquad_ard": RationalQuadratic(VECTOR, alpha=2.0),
    "laplacian": Laplacian(1.3),
    "laplacian_ard": Laplacian(VECTOR),
    "additive": Additive(0.8),
    "additive_ard": Additive(VECTOR, nu=1.5),
    "additive_pairs": Additive(VECTOR, order=2),
    "additive_rbf_pairs": Additive(1.2, order=2, nu=np.inf),
    "quantiles": Quantiles(Matern(VECTOR, nu=2.5) + Linear(0.3)).bind(np.random.default_rng(5).normal(size=(30, D))),
    "linear": Linear(0.7),
    "linear_ard": Linear(VECTOR),
    "polynomial": Polynomial(0.5, bias_variance=0.8, degree=3),
    "polynomial_ard": Polynomial(VECTOR, bias_variance=0.8, degree=2),
    "mlp": MLP(0.9, bias_variance=0.4),
    "mlp_ard": MLP(VECTOR, bias_variance=1.4),
    "constant": Constant(0.6),
    "white": White(0.3),
    "scaled": 2.5 * RBF(VECTOR),
    "sum": 2.0 * RBF(0.9) + Linear(VECTOR) + White(0.1),
    "product": RBF(0.9) * Linear(0.4) * Matern(1.1),
    "view": View(RBF([0.5, 1.5]), [0, 2]),
    "partly_fixed": 2.0 * RationalQuadratic(1.2, alpha=0.9, fixed="alpha"),
    "weighted": 3.0 * WeightedSum({"a": View(RBF(0.8), [0, 2]), "b": View(Matern(1.1, nu=2.5), [1])}, [0.2, 0.5]),
    "weighted_inner": WeightedSum({"a": View(Linear(), [0, 2]), "b": View(RBF(), [1])}, scales=(2.0, 1.0)),
    "weighted_polynomial": WeightedSum({"a": View(Polynomial(0.5), [0, 2]), "b": View(RBF(), [1])}, scales=(2.0, 1.0)),
    "nested": 1.5 * (RBF(1.0) + 0.3 * View(Linear(1.0), slice(1, 3))),
    "categorical": Categorical(0.8),
    "categorical_ard": Categorical(VECTOR),
    "per_class": PerClass((2.0 * RBF(1.0), 0.5 * Matern(VECTOR))),
    "precomputed": Precomputed().bind(GRAM),
    "beside": 1.2 * Precomputed("net"),
    "weighted_beside": WeightedSum({"a": View(RBF(), [0]), "net": Precomputed("net")}, scales=(1.0, 1.5)) + White(0.2),
    "missing": WeightedSum({"a": View(RBF(0.8), [0, 2]), "b": View(Linear(), [1])}, [0.2, 0.5], scales=(1.0, 2.0)),
}


#: rows with a Gram matrix beside them: all training rows, so that any two have a covariance
ROWS = np.random.default_rng(0).normal(size=(15, D))
BESIDE = Rows(ROWS, {"net": GramRows(np.arange(15), np.full(15, 1.5), 1.5 * RBF(0.7)(ROWS))})
CODES = np.random.default_rng(1).integers(-1, 2, size=(15, D)).astype(float)
MISSING = ROWS.copy()
MISSING[2, 0] = MISSING[3, 1] = MISSING[12, 2] = np.nan
#: data of the kernels that are not for plain numbers
DATA = {"categorical": CODES, "categorical_ard": CODES, "beside": BESIDE, "weighted_beside": BESIDE, "missing": MISSING}


@pytest.fixture(params=KERNELS, scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def kernel(name):
    return KERNELS[name]


@pytest.fixture(scope="module")
def data(name):
    """All rows, and the first nine and the last six of them; of a Gram matrix the rows are not taken apart."""
    if name == "precomputed":
        return GRAM, GRAM, GRAM
    both = DATA.get(name, ROWS)
    return both, select(both, slice(0, 9)), select(both, slice(9, 15))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, D)), rng.normal(size=(6, D)), rng


def test_every_public_kernel_is_registered():
    public = {getattr(gpclass.kernels, name) for name in gpclass.kernels.__all__}
    # TorchKernel needs torch, and has tests of its own.
    kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Kernel)} - {Kernel, TorchKernel}
    assert kinds == {type(kernel) for kernel in KERNELS.values()}


def test_matrix_is_a_covariance(kernel, data):
    _, X, Z = data
    K = kernel(X)
    assert K.shape[-2:] == (len(X), len(X))
    np.testing.assert_allclose(K, np.swapaxes(K, -1, -2), atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(K, axis1=-2, axis2=-1), rtol=1e-12)
    np.testing.assert_allclose(kernel(Z, X), np.swapaxes(kernel(X, Z), -1, -2), atol=1e-13)


def test_cross_matrix_agrees_with_the_matrix_of_all_rows(kernel, data):
    both, X, Z = data
    together = kernel(both)[..., : len(X), -len(Z) :]
    np.testing.assert_allclose(kernel(X, Z), together, atol=1e-12)


@pytest.mark.parametrize("cross", [False, True])
def test_pullback_agrees_with_differences(kernel, data, cross):
    _, X, Z = data
    Z = Z if cross else None
    G = np.random.default_rng(2).normal(size=kernel(X, Z).shape)
    numeric = differences(lambda k: np.sum(G * k(X, Z)), kernel)
    np.testing.assert_allclose(
        kernel.vjp(X, Z)[1](G), numeric, rtol=0.0, atol=1e-8 * np.max(np.abs(numeric), initial=0.0)
    )


def test_pullback_of_the_diagonal_agrees_with_differences(kernel, data):
    both = data[0]
    g = np.random.default_rng(2).normal(size=kernel.diag(both).shape)
    numeric = differences(lambda k: np.sum(g * k.diag(both)), kernel)
    np.testing.assert_allclose(kernel.diag_pullback(both, g), numeric, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("device", ["CPU_DEVICE", "device1", "torch"])
def test_another_array_namespace_gives_the_same_numbers(kernel, data, device):
    if device == "torch":
        strict = pytest.importorskip("torch").asarray
    else:
        strict = partial(xp.asarray, device=xp.Device(device))
    _, X, Z = data
    for other in (None, Z):
        K, pullback = kernel.vjp(X, other)
        there, pullback_there = kernel.vjp(moved(X, strict), None if other is None else moved(other, strict))
        assert device == "torch" or str(there.device) == str(xp.Device(device))
        np.testing.assert_allclose(to_host(there), K, rtol=1e-10, atol=1e-14)
        G = np.random.default_rng(2).normal(size=K.shape)
        gradient = pullback_there(strict(G))
        assert type(gradient) is np.ndarray
        np.testing.assert_allclose(gradient, pullback(G), rtol=1e-10, atol=1e-12)
    diag = kernel.diag(X)
    np.testing.assert_allclose(to_host(kernel.diag(moved(X, strict))), diag, rtol=1e-10)
    g = np.random.default_rng(2).normal(size=diag.shape)
    gradient = kernel.diag_pullback(moved(X, strict), strict(g))
    np.testing.assert_allclose(gradient, kernel.diag_pullback(X, g), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_columns", [1, 3, 40])
@pytest.mark.parametrize(
    "kernel", [RBF(3.0), RBF(3.0, ard=True), Matern(2.0, nu=0.5), Matern(2.0, nu=2.5, ard=True), RationalQuadratic(2.0)]
)
def test_distances_by_products_keep_their_digits(kernel, n_columns):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    X = 100.0 + rng.normal(size=(60, n_columns))
    X[10:20] = X[:10]  # equal rows
    X[20:30] = X[:10] + 1e-7 * rng.normal(size=(10, n_columns))  # rows that are nearly equal
    Z, kernel = np.vstack([X[:15], X[:5] + 1e-5]), kernel.bind(X)
    for other in (None, Z):
        K, pullback = kernel.vjp(X, other)
        there, pullback_there = kernel.vjp(torch.tensor(X), None if other is None else torch.tensor(other))
        np.testing.assert_allclose(there.numpy(), K, rtol=1e-10, atol=1e-14)
        G = rng.normal(size=K.shape)
        np.testing.assert_allclose(pullback_there(torch.tensor(G)), pullback(G), rtol=1e-8, atol=1e-10)


def differences(function, kernel):
    """Slopes (p,) of a function of the kernel in its theta."""
    if not kernel.theta.size:
        return np.zeros(0)
    return central_difference(lambda theta: function(kernel.with_theta(theta)), kernel.theta)


def moved(X, move):
    return X.map(move) if isinstance(X, Rows) else move(X)


def test_theta_round_trip_and_names(kernel):
    theta = kernel.theta
    again = kernel.with_theta(theta)
    assert again.params.keys() == kernel.params.keys()
    np.testing.assert_allclose(again.theta, theta, rtol=1e-14, atol=1e-15)
    assert len(kernel.theta_names) == theta.size == len(kernel.theta_bounds)
    changed = kernel.with_theta(theta + 0.1)
    np.testing.assert_allclose(changed.theta, theta + 0.1, rtol=1e-12)
    assert kernel.with_params(kernel.params) == kernel
    assert (hash(changed) != hash(kernel)) == bool(theta.size)


@pytest.mark.parametrize("theta", [[0.0, 30.0], [0.0, np.nan], [-np.inf, 0.0]])
def test_theta_outside_the_bounds_is_refused(theta):
    with pytest.raises(ValueError, match=r"(outside its bounds|must be a finite number|must be positive)"):
        Scaled(RBF()).with_theta(theta)


def test_theta_at_a_bound_is_not_refused_for_its_rounding():
    kernel = RBF(np.array([1e-5, 1e5]))
    np.testing.assert_allclose(kernel.with_theta(kernel.theta).length_scale, kernel.length_scale, rtol=1e-12)


@dataclass(frozen=True, eq=False, repr=False)
class _Deriving(RBF):
    """Keeps a value that depends on a parameter."""

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "doubled", 2.0 * self.length_scale)


def test_what_a_kernel_derives_from_parameters_follows_them():
    assert _Deriving(1.0).with_theta([np.log(3.0)]).doubled == pytest.approx(6.0)
    assert Scaled(_Deriving(1.0)).with_theta([0.0, np.log(3.0)]).kernel.doubled == pytest.approx(6.0)


def test_pickle_round_trip(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_bind_keeps_a_settled_kernel(kernel, data):
    X = data[0]
    n_latent = 2 if isinstance(kernel, PerClass) else 1
    np.testing.assert_array_equal(kernel.bind(X, n_latent)(X), kernel(X))


def test_relevance_has_one_value_per_input(kernel):
    assert kernel.relevance(D).shape == ((2, D) if isinstance(kernel, PerClass) else (D,))


def test_ard_kernel_grows_to_the_data():
    X = np.random.default_rng(0).normal(size=(5, 4))
    bound = (2.0 * RBF(1.5, ard=True)).bind(X)
    np.testing.assert_array_equal(bound.params["length_scale"], [1.5] * 4)
    assert bound.theta_names == ["variance", *(f"length_scale[{j}]" for j in range(4))]
    with pytest.raises(ValueError, match="length_scale has 3 values, but the data have 4 columns"):
        RBF(VECTOR).bind(X)


def test_names_of_combined_kernels():
    kernel = 2.0 * RBF(3.0) + RBF(0.5) + Linear()
    assert list(kernel.params) == [
        "rbf_1.variance",
        "rbf_1.length_scale",
        "rbf_2.length_scale",
        "linear.weight_variance",
    ]
    changed = kernel.with_params({"rbf_2.length_scale": 7.0})
    assert changed.params["rbf_2.length_scale"] == 7.0
    assert changed.params["rbf_1.length_scale"] == 3.0
    frozen = kernel.fix("rbf_1.variance", "linear.weight_variance")
    assert frozen.theta_names == ["rbf_1.length_scale", "rbf_2.length_scale"]
    assert frozen.free().theta_names == kernel.theta_names
    assert kernel.fix().theta.size == 0


def test_amplitudes_merge_instead_of_clashing():
    assert 2.0 * (3.0 * RBF()) == 6.0 * RBF()
    assert 0.5 * White(0.4) == White(0.2)
    kernel = Scaled(White(0.4), 3.0) + Scaled(Scaled(RBF(), 2.0), 5.0)
    assert list(kernel.params) == [
        "white.variance",
        "white.white.variance",
        "rbf.variance",
        "rbf.rbf.variance",
        "rbf.rbf.length_scale",
    ]
    assert len(kernel.theta_names) == kernel.theta.size
    assert kernel.fix().theta.size == 0
    assert kernel.with_params({"rbf.rbf.variance": 7.0}).params["rbf.rbf.variance"] == 7.0


def test_sklearn_kernels_join_in():
    assert RBF(2.0) + sk.RBF(3.0) == RBF(2.0) + RBF(3.0)
    assert RBF(2.0) * sk.WhiteKernel(0.5) == RBF(2.0) * White(0.5)
    theirs = sk.ConstantKernel(2.0, (1.0, 4.0)) * sk.ConstantKernel(3.0, (1.0, 4.0)) * sk.RBF(1.0)
    assert from_sklearn(theirs) == Scaled(RBF(1.0), 6.0, bounds={"variance": (1.0, 16.0)})
    assert from_sklearn(sk.RBF([1.5])) == RBF(1.5)


def test_gradients_at_awkward_rows():
    # Nearly equal rows under the Ornstein-Uhlenbeck kernel, and long rows under the arcsine kernel.
    X = np.array([[0.3, 1.0], [0.3 + 1e-13, 1.0], [2.0, -1.0], [2.0, -1.0]])
    G = np.random.default_rng(0).normal(size=(4, 4))
    kernel = Matern([0.7, 1.3], nu=0.5)
    numeric = central_difference(lambda t: np.sum(G * kernel.with_theta(t)(X)), kernel.theta)
    assert relative_error(kernel.vjp(X)[1](G), numeric) < 1e-7
    kernel = MLP(1e3, bias_variance=1.0)
    assert np.all(np.isfinite(kernel.vjp(1e6 * X)[1](G)))
    # On the diagonal K = arcsin(q), q = (s + b) / (s + b + 1), so dK/dlog s = s / ((s + b + 1) sqrt(2 (s + b) + 1)).
    s = 1e3 * 100.0**2 * (X**2).sum(axis=1)
    exact = np.sum(s / ((s + 2.0) * np.sqrt(2.0 * s + 3.0)))
    assert kernel.vjp(100.0 * X)[1](np.eye(4))[0] == pytest.approx(exact, rel=1e-6)


def test_per_class_stacks_and_names():
    X = np.random.default_rng(0).normal(size=(6, 2))
    kernel = PerClass(2.0 * RBF(1.0)).bind(X, n_latent=3)
    kernel = kernel.with_params({"1.length_scale": 4.0})
    K, pullback = kernel.vjp(X)
    assert K.shape == (3, 6, 6)
    np.testing.assert_array_equal(K[1], (2.0 * RBF(4.0))(X))
    G = np.random.default_rng(1).normal(size=K.shape)
    numeric = central_difference(lambda t: np.sum(G * kernel.with_theta(t)(X)), kernel.theta)
    assert relative_error(pullback(G), numeric) < 1e-8
    assert kernel.relevance(2).shape == (3, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RBF(-1.0), "length_scale must be positive, got -1.0"),
        (lambda: RBF(np.nan), "must be a finite number"),
        (lambda: RBF("wide"), "must be a number"),
        (lambda: RBF(1e7), r"outside its bounds \(1e-05, 100000\)"),
        (lambda: RBF(2.0, bounds={"length_scale": (0.1, 1.0)}), r"outside its bounds \(0.1, 1\)"),
        (lambda: RBF(bounds={"scale": (1, 2)}), "no parameter 'scale'"),
        (lambda: RBF(0.5, bounds={"length_scale": (1.0, 0.1)}), "expected low <= high"),
        (lambda: Matern(nu=2.0), "nu must be 0.5, 1.5 or 2.5"),
        (lambda: Polynomial(degree=1.5), "degree must be a whole number"),
        (lambda: RBF().with_params(width=2.0), "no parameter 'width'"),
        (lambda: RBF().with_theta([1.0, 2.0]), r"expected theta of shape \(1,\), got \(2,\)"),
        (lambda: RBF() + PerClass(RBF()), "PerClass must be outermost"),
        (lambda: View(RBF(), [0, 9])(np.zeros((2, 3))), "View selects columns"),
        (lambda: View(RBF(), []), "not empty"),
        (lambda: View(RBF(), ["a", 1]), "columns must be indices, names"),
        (lambda: View(RBF(), [0.5]), "columns must be indices, names"),
        (lambda: Precomputed() + RBF(), "mixes Precomputed"),
        (lambda: View(RBF(), ["a"]).bind(np.zeros((2, 1)), 1, ["b"]), "no column named 'a'"),
        (lambda: View(RBF(), slice(3, None)).bind(np.zeros((2, 3))), "expected at least one column, got none of 3"),
        (lambda: View(RBF()), "expected either columns or dtype"),
        (lambda: View(RBF(), [0], dtype="number"), "expected either columns or dtype"),
        (lambda: View(RBF(), dtype="text"), "dtype must be 'number' or 'category', got 'text'"),
        (lambda: View(Categorical(), dtype="category").bind(np.zeros((2, 1))), "of dtype 'category', got none among 1"),
        (lambda: WeightedSum({}), "views must be a dictionary of name to kernel"),
        (lambda: WeightedSum([RBF()]), "views must be a dictionary of name to kernel"),
        (lambda: WeightedSum({"a b": RBF()}), "name must be a word"),
        (lambda: WeightedSum({"likelihood": RBF()}), "other than 'likelihood'"),
        (lambda: WeightedSum({"a": Precomputed()}), r"needs a name: Precomputed\('a'\)"),
        (lambda: WeightedSum({"a": Precomputed("a") * RBF()}), r"expected Precomputed\('a'\) by itself"),
        (lambda: WeightedSum({"a": View(WeightedSum({"b": RBF()}), [0])}), "got a WeightedSum; list its views"),
        (lambda: WeightedSum({"a": Scaled(RBF(), 2.0, fixed=True)}), "fix the weights instead"),
        (lambda: WeightedSum({"a": White(0.1, fixed=True)}), "view 'a': .* variance of White is fixed at 0.1"),
        (lambda: WeightedSum({"a": View(Constant(0.1, fixed=True), [0])}), "variance of Constant is fixed at 0.1"),
        (
            lambda: WeightedSum({"a": White(2.0)}).with_params({"a.variance": 3.0}),
            "give it in weights, and fix the weights",
        ),
        (
            lambda: WeightedSum({"a": Scaled(RBF(), 2.0, bounds={"variance": (1.0, 3.0)})}),
            r"view 'a': .* variance of Scaled has bounds \(1, 3\); bound the weights instead",
        ),
        (lambda: WeightedSum({"a": White(0.1, bounds={"variance": (0.01, 1.0)})}), r"White has bounds \(0.01, 1\)"),
        (
            lambda: WeightedSum({"a": Linear(1.0, bounds={"weight_variance": (0.5, 2.0)})}),
            r"weight_variance of Linear has bounds \(0.5, 2\)",
        ),
        (
            lambda: WeightedSum({"a": RBF()}, {"a": 1.0}),
            r"a sequence of 1 numbers in the order of the views, got \{'a'",
        ),
        (lambda: WeightedSum({"a": RBF(), "b": View(RBF(), [0])}).bind(np.eye(3)), "got column 0 in both 'a' and 'b'"),
        (lambda: View(RBF(), slice("a", "b")).bind(np.eye(3)), "a slice must be of whole numbers"),
        (lambda: View(RBF(), [5]).bind(np.eye(3)), r"View selects columns \[5\], but X has 3 columns"),
        (lambda: diffusion_gram(np.eye(2), time="long"), "time must be positive"),
        (lambda: WeightedSum({"a": RBF()}, [1.0, 2.0]), "expected 1 weights, one for each view"),
        (lambda: WeightedSum({"a": PerClass(RBF())}), "PerClass must be outermost"),
        (
            lambda: WeightedSum({"a": View(RBF(), [0, 1]), "b": View(RBF(), [1, 2])}).bind(np.eye(3)),
            "got column 1 in both 'a' and 'b'",
        ),
        (lambda: WeightedSum({"a": View(Linear(), [0])}).bind(np.zeros((3, 2))), "view 'a': expected rows of some var"),
        (lambda: WeightedSum({"a": View(RBF(), ["x"])}).bind(np.eye(2)), "view 'a': View: no column named 'x'"),
        (lambda: WeightedSum({"a": Precomputed("net")}).bind(np.eye(2)), r"expected fit\(X, y, grams=\{'net': K"),
        (lambda: Precomputed(3), "name must be a word or None"),
        (lambda: RBF().bind(np.eye(2), 1, Columns(["c", "n"], np.array([True, False]))), "column 'c' holds categories"),
        (lambda: Linear().bind(np.eye(2), 1, Columns(None, np.array([False, True]))), "column 1 holds categories"),
        (lambda: spectrum_gram("ABC"), "a list of strings, one for each row, got one string"),
        (lambda: spectrum_gram(["ABC", 3]), "one for each row, got 3"),
        (lambda: spectrum_gram(["ABC"], k=0), "k must be a whole number >= 1, got 0"),
        (lambda: kmer_gram(["ABC"], decay=2.0), "decay must be above 0 and at most 1"),
        (lambda: diffusion_gram(np.ones((2, 3))), "square adjacency matrix"),
        (lambda: diffusion_gram([[0, 1], [0, 0]]), "symmetric adjacency matrix"),
        (lambda: diffusion_gram([[0, -1], [-1, 0]]), "weights >= 0"),
        (lambda: diffusion_gram(np.eye(2), time=0.0), "time must be positive"),
    ],
)
def test_bad_settings_say_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_columns_by_name_pattern_and_type():
    X = np.arange(12.0).reshape(3, 4)
    known = Columns(["fou_1", "fou_2", "pix_1", "colour"], np.array([False, False, False, True]))
    assert View(RBF(), "fou_*").bind(X, 1, known).columns == [0, 1]
    assert View(RBF(), ["pix_?", "fou_2"]).bind(X, 1, known).columns == [2, 1]
    assert View(RBF(), dtype="number").bind(X, 1, known).columns == [0, 1, 2]
    assert View(RBF(), [-2]).bind(X, 1, known).columns == [2]
    assert View(RBF(), [True, False, True, False]).bind(X, 1, known).columns == [0, 2]
    assert View(Categorical(ard=True), dtype="category").bind(X, 1, known).kernel.length_scale.shape == (1,)
    with pytest.raises(ValueError, match="RBF is for numbers, but column 'colour' holds categories"):
        View(RBF(), [2, 3]).bind(X, 1, known)


@pytest.mark.parametrize("scale", [0.7, [0.5, 1.3]])
def test_categories_are_rbf_on_indicators(scale):
    rng = np.random.default_rng(0)
    X, Z = rng.integers(0, 3, (12, 2)).astype(float), rng.integers(0, 3, (5, 2)).astype(float)

    def one_hot(A):
        return (A[:, :, None] == np.arange(3)).reshape(len(A), 6).astype(float)

    kernel, on_indicators = Categorical(scale), RBF(np.repeat(scale, 3) if np.ndim(scale) else scale)
    np.testing.assert_allclose(kernel(X), on_indicators(one_hot(X)), rtol=1e-12)
    np.testing.assert_allclose(kernel(X, Z), on_indicators(one_hot(X), one_hot(Z)), rtol=1e-12)
    for other in (None, Z):
        G = rng.normal(size=kernel(X, other).shape)
        numeric = central_difference(lambda t, G=G, o=other: np.sum(G * kernel.with_theta(t)(X, o)), kernel.theta)
        assert relative_error(kernel.vjp(X, other)[1](G), numeric) < 1e-8
    X[0] = -1.0  # unknown categories: different from every other row, and the same as itself
    far = np.exp(-np.sum(1.0 / np.broadcast_to(scale, 2) ** 2))
    np.testing.assert_allclose(kernel(X, X[:1])[:, 0], far)
    assert kernel(X)[0, 0] == 1.0


def test_weighted_sum_is_a_sum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 5))
    kernel = WeightedSum({"a": 2.0 * View(RBF(0.9), [0, 1]), "b": View(Linear(0.3), [2, 3, 4])}, [0.5, 0.7]).bind(X)
    inner = X[:, 2:] @ X[:, 2:].T
    plain = RBF(0.9)(X[:, :2]) + 0.7 * inner / np.mean(np.diag(inner))  # an amplitude goes into the weight
    np.testing.assert_allclose(kernel(X), plain, rtol=1e-12)
    np.testing.assert_allclose(kernel.shares, [1.0 / 1.7, 0.7 / 1.7])
    assert kernel.theta_names == ["weights[0]", "weights[1]", "a.length_scale"]
    assert kernel.bind(X[:3]).scales == kernel.scales  # settled once
    flat = WeightedSum({"a": View(RBF(), [0]), "b": 3.0 * White(2.0), "c": Constant(0.5)}).bind(X)
    assert flat.theta_names == ["weights[0]", "weights[1]", "weights[2]", "a.length_scale"]
    np.testing.assert_allclose(flat.weights, [1 / 3, 2.0, 0.5 / 3])
    assert flat.fix().free().theta_names == flat.theta_names
    assert WeightedSum({"a": RBF(), "b": White(1.0, fixed=True)}).theta_names[:2] == ["weights[0]", "weights[1]"]
    missing = X.copy()
    missing[0, 0] = np.nan
    np.testing.assert_allclose(flat(missing)[0, 0], 2.5)  # noise and constant use no column


def test_a_missing_view_drops_out_and_the_others_make_up_for_it():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(9, 5)), rng.normal(size=(4, 5))
    X[0, 1] = X[4, 3] = Z[2, 2] = np.nan
    views = {"a": View(RBF(0.9), [0, 1]), "b": View(Matern(1.2), [2]), "c": View(RBF(2.0), [3, 4])}
    kernel = WeightedSum(views, [0.4, 0.5, 0.9]).bind(X)

    def plain(rows, others):
        K = np.zeros((len(rows), len(others)))
        for i, x in enumerate(rows):
            for j, z in enumerate(others):
                variance = [0.0, 0.0]
                for weight, view in zip(kernel.weights, views.values(), strict=True):
                    own = [~np.isnan(row[view.columns]).any() for row in (x, z)]
                    variance = [v + weight * there for v, there in zip(variance, own, strict=True)]
                    if all(own):
                        K[i, j] += weight * view(x[None], z[None])[0, 0]
                K[i, j] *= 1.8 / np.sqrt(variance[0] * variance[1])
        return K

    np.testing.assert_allclose(kernel(X), plain(X, X), rtol=1e-12)
    np.testing.assert_allclose(kernel(X, Z), plain(X, Z), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.full(9, 1.8), rtol=1e-12)
    assert np.linalg.eigvalsh(kernel(X))[0] > 0
    for other in (None, Z):
        G = rng.normal(size=kernel(X, other).shape)
        numeric = central_difference(lambda t, G=G, o=other: np.sum(G * kernel.with_theta(t)(X, o)), kernel.theta)
        assert relative_error(kernel.vjp(X, other)[1](G), numeric) < 1e-8
    X[3] = np.nan
    with pytest.raises(ValueError, match="at least one view without NaN in every row, got none in row 3"):
        kernel(X)


def test_a_view_of_dissimilar_rows_starts_from_the_median_distance():
    X = np.random.default_rng(0).normal(size=(50, 40))
    views = {"a": View(RBF(), slice(0, 38)), "b": View(RBF(), [38, 39]), "c": View(RBF(0.01, fixed=True), [38, 39])}
    start = WeightedSum(views).bind(X).with_data_driven_start(X)
    assert 6.0 < start.params["a.length_scale"] < 12.0  # the median distance of 38 standard normal columns
    assert start.params["b.length_scale"] == 1.0
    assert start.params["c.length_scale"] == 0.01


# ---- hooks of compositions ------------------------------------------------------------------------------------

COMPOSITIONS = {
    "scaled": lambda k: Scaled(k, 2.0),
    "sum": lambda k: k + White(0.1),
    "sum on the right": lambda k: 0.5 + k,
    "product": lambda k: k * Constant(1.5),
    "per class": PerClass,
    "view": lambda k: View(k, slice(0, 4)),
    "nested": lambda k: PerClass(3.0 * View(White(0.1) + Scaled(k, 2.0), [0, 1, 2, 3])),
}


def inside(kernel):
    """The WeightedSum within a composition."""
    if isinstance(kernel, WeightedSum):
        return kernel
    return next((found for child in kernel.children if (found := inside(child))), None)


@pytest.fixture(scope="module")
def views():
    """A kernel with something to tell through every hook, and rows with missing values and a Gram matrix."""
    rng = np.random.default_rng(0)
    X = np.column_stack([30.0 * rng.normal(size=(15, 2)), rng.integers(0, 2, 15), rng.normal(size=15)])
    X[1, 0] = X[2, 3] = np.nan
    variance = np.full(15, 1.5)
    variance[4] = np.nan
    net = GramRows(np.arange(15), variance, np.where(np.isnan(variance), 0.0, 1.5 * RBF(0.7)(rng.normal(size=(15, 2)))))
    net = net.map(np.copy)
    net.cross[4] = 0.0
    own = {"a": View(RBF(ard=True), [0, 1]), "code": View(Categorical(), ["c"]), "net": Precomputed("net")}
    return WeightedSum(own), Rows(X, {"net": net}), Columns(["u", "v", "c", "w"])


@pytest.mark.parametrize("compose", COMPOSITIONS.values(), ids=COMPOSITIONS)
def test_compositions_forward_every_hook(compose, views):
    leaf, X, columns = views
    kernel = compose(leaf).bind(X, 1, columns)
    leaf = leaf.bind(X, 1, columns)
    assert inside(kernel) == leaf  # bind: columns by name, ARD vectors and scales are settled
    assert inside(kernel.with_data_driven_start(X)) == leaf.with_data_driven_start(X) != leaf
    np.testing.assert_array_equal(np.squeeze(kernel.relevance(4)), leaf.relevance(4))
    np.testing.assert_array_equal(kernel.observed_rows(X), leaf.observed_rows(X))
    np.testing.assert_array_equal(kernel.used_columns(4), leaf.used_columns(4))
    np.testing.assert_array_equal(kernel.categorical_columns(columns, 4), leaf.categorical_columns(columns, 4))
    assert kernel.takes_missing
    assert kernel.gram_names == ("net",)
    assert not kernel.pairwise
    assert kernel.view_names == (() if isinstance(kernel, PerClass) else leaf.view_names)
    shares, own = kernel.variations(X), leaf.variations(X)
    np.testing.assert_allclose(shares / shares.sum(), own / own.sum())
    # Values and gradients with all of this at once.
    K, pullback = kernel.vjp(X)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(K, axis1=-2, axis2=-1))
    np.testing.assert_allclose(kernel(X[9:], X[:9]), K[..., 9:, :9])
    G = np.random.default_rng(1).normal(size=K.shape)
    numeric = central_difference(lambda t: np.sum(G * kernel.with_theta(t)(X)), kernel.theta)
    assert relative_error(pullback(G), numeric) < 1e-8
    g = np.random.default_rng(1).normal(size=kernel.diag(X).shape)
    numeric = central_difference(lambda t: np.sum(g * kernel.with_theta(t).diag(X)), kernel.theta)
    np.testing.assert_allclose(kernel.diag_pullback(X, g), numeric, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    "kernel",
    [
        Scaled(Precomputed(), 2.0),
        Precomputed() + Precomputed(),
        Product((Precomputed(), Precomputed())),
        PerClass(Precomputed()),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_compositions_of_a_gram_matrix(kernel):
    assert kernel.pairwise
    bound = kernel.bind(GRAM, 1)
    assert all(child.n_train == 3 for child in bound.children)
    np.testing.assert_array_equal(
        bound.diag(GRAM[:2]).ravel(), np.diagonal(bound(GRAM), axis1=-2, axis2=-1).ravel()[:2]
    )


def test_kernels_refuse_missing_values_unless_every_part_takes_them():
    views = WeightedSum({"a": View(RBF(), [0]), "b": View(RBF(), [1])})
    assert (views + White() + Constant()).takes_missing
    for kernel in (views + RBF(), views * Linear(), RBF(), 2.0 * RBF() + White(), View(RBF(), [0])):
        assert not kernel.takes_missing


def test_covariances_of_new_rows_with_training_rows():
    train, new = BESIDE[:9], BESIDE[9:]
    K = BESIDE.grams["net"].cross
    net = GramRows(np.full(6, -1), np.full(6, 1.5), K[9:, :9])
    train = Rows(train.features, {"net": GramRows(np.arange(9), np.full(9, 1.5), K[:9, :9])})
    new = Rows(new.features, {"net": net})
    kernel = (WeightedSum({"a": View(RBF(), [0]), "net": Precomputed("net")}) + White(0.1)).bind(train)
    cross = 0.5 * RBF()(ROWS[9:, :1], ROWS[:9, :1]) + 0.5 * K[9:, :9] / 1.5
    np.testing.assert_allclose(kernel(new, train), cross)
    np.testing.assert_allclose(kernel(train, new), cross.T)
    np.testing.assert_allclose(kernel.diag(new), 1.1)
    with pytest.raises(ValueError, match="covariances between new rows need their own Gram matrix"):
        kernel(new)


def test_rows_are_selected_as_an_array_is():
    assert len(BESIDE) == 15
    assert BESIDE.shape == (15, D)
    mask = np.arange(15) % 4 == 1
    for which in (slice(2, 5), mask, np.flatnonzero(mask), [3, 1]):
        some = BESIDE[which]
        np.testing.assert_array_equal(some.features, ROWS[which])
        np.testing.assert_array_equal(some.grams["net"].index, np.arange(15)[which])
        np.testing.assert_array_equal(some.grams["net"].cross, BESIDE.grams["net"].cross[which])
        strict = BESIDE.map(xp.asarray)[which]
        assert strict.shape == some.shape
        np.testing.assert_array_equal(to_host(strict.features), ROWS[which])


def test_rows_are_no_array():
    with pytest.raises(TypeError, match="expected an array, got Rows"):
        np.asarray(BESIDE)


# ---- a kernel of one's own ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Cosine(Kernel):
    """cos(x - z) in the first column: only what a kernel must have."""

    period: float = 1.0
    domains: ClassVar = {"period": POSITIVE}

    def vjp(self, X, Z=None):
        phase = 2.0 * np.pi * (X[:, :1] - (X if Z is None else Z)[:, 0]) / self.period
        return np.cos(phase), lambda G: self._collect({"period": np.sum(G * phase * np.sin(phase))})

    def diag(self, X):
        return np.ones(len(X))


@dataclass(frozen=True, eq=False, repr=False)
class Cauchy(Stationary):
    """1 / (1 + r^2)"""

    def _profile(self, squared):
        return 1.0 / (1.0 + squared), 2.0 / (1.0 + squared) ** 2


@pytest.mark.parametrize("own", [Cosine(3.0), Cauchy(0.8), Cauchy(ard=True)], ids=repr)
def test_a_kernel_of_ones_own_works_everywhere(own):
    kernels = [own, 2.0 * own + White(0.1), own * RBF(), PerClass(own), View(own, [1, 2])]
    kernels += [WeightedSum({"own": View(own, [1]), "net": Precomputed("net")}) + own]
    for kernel in kernels:
        X = BESIDE if kernel.gram_names else ROWS
        bound = kernel.bind(X)
        K, pullback = bound.vjp(X)
        G = np.random.default_rng(1).normal(size=K.shape)
        numeric = central_difference(lambda t, bound=bound, X=X, G=G: np.sum(G * bound.with_theta(t)(X)), bound.theta)
        assert relative_error(pullback(G), numeric) < 1e-8
        np.testing.assert_allclose(bound.diag(X), np.diagonal(K, axis1=-2, axis2=-1))
        assert bound.relevance(D).shape[-1] == D
        assert pickle.loads(pickle.dumps(bound)) == bound


def test_sequences_and_graphs():
    # The slides' own sequences: a cosine of counts, by hand.
    a, b = "ABAB", "BABA"
    # 2-mers: AB 2, BA 1 and BA 2, AB 1
    np.testing.assert_allclose(spectrum_gram([a, b], k=2), [[1.0, 0.8], [0.8, 1.0]])
    np.testing.assert_allclose(spectrum_gram([a], [b, "AB", "x"], k=2), [[0.8, 2 / np.sqrt(5), 0.0]])
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ACDE"), size=n)) for n in (1, 2, 5, 12, 12, 30, 31, 60)]
    for gram in (spectrum_gram, kmer_gram):
        K = gram(words)
        np.testing.assert_allclose(np.diag(K), 1.0)
        np.testing.assert_allclose(K, K.T)
        assert np.linalg.eigvalsh(K)[0] > -1e-12
        np.testing.assert_allclose(gram(words[:3], words)[:, 3:], K[:3, 3:])
    adjacency = np.triu((rng.uniform(size=(12, 12)) < 0.3).astype(float), 1)
    adjacency[:, 5] = adjacency[5] = 0.0
    adjacency = adjacency + adjacency.T
    K = diffusion_gram(adjacency, time=2.0)
    assert np.linalg.eigvalsh(K)[0] > 0
    np.testing.assert_allclose(np.diag(K), 1.0)
    np.testing.assert_allclose(K[5], np.eye(12)[5], atol=1e-12)  # a node without edges
    degree = np.maximum(adjacency.sum(axis=1), 1.0)
    laplacian = np.diag((adjacency.sum(axis=1) > 0) * 1.0) - adjacency / np.sqrt(np.outer(degree, degree))
    plain = expm(-2.0 * laplacian)
    np.testing.assert_allclose(K, plain / np.sqrt(np.outer(np.diag(plain), np.diag(plain))), atol=1e-10)
    assert diffusion_gram(adjacency, time=8.0)[0, 1] > diffusion_gram(adjacency, time=0.5)[0, 1]


def test_a_fixed_parameter_may_lie_outside_the_bounds():
    assert RBF(1e7, fixed=True).theta.size == 0


def test_close_rows_keep_their_distance():
    # Rows far from the origin and close together: the product form of |a - b|^2 loses everything here.
    X = 1e6 + np.array([[0.0, 0.0], [1e-3, 0.0], [5.0, 3.0], [5.0, 3.001]])
    exact = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    np.testing.assert_allclose(RBF(1.0)(X), exact, rtol=1e-9)
    np.testing.assert_allclose(to_host(RBF(1.0)(xp.asarray(X))), exact, rtol=1e-12)


def test_precomputed_takes_gram_matrices():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(7, 2)), rng.normal(size=(4, 2))
    base = 3.0 * RBF(1.0)
    bound = Precomputed().bind(base(X))
    np.testing.assert_array_equal(bound(base(X)), base(X))
    np.testing.assert_array_equal(bound(base(Z, X), base(X)), base(Z, X))
    np.testing.assert_allclose(bound.diag(base(Z, X)), 3.0)
    uneven = Linear() + 1.0
    bound = Precomputed().bind(uneven(X))
    with pytest.raises(ValueError, match=r"shape \(m, 8\)"):
        bound.diag(uneven(Z, X))
    wide = np.column_stack([uneven(Z, X), uneven.diag(Z)])
    np.testing.assert_array_equal(bound.diag(wide), uneven.diag(Z))
    np.testing.assert_array_equal(bound(wide, uneven(X)), uneven(Z, X))


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (np.zeros((3, 2)), "square Gram matrix"),
        (np.array([[1.0, 0.5], [0.2, 1.0]]), "symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "smallest eigenvalue is -1"),
    ],
)
def test_precomputed_refuses_what_is_no_covariance(gram, message):
    with pytest.raises(ValueError, match=message):
        Precomputed().bind(gram)


def _sklearn_cases():
    return [
        sk.RBF(1.7),
        sk.RBF([0.5, 1.0, 2.0]),
        sk.ConstantKernel(3.0) * sk.RBF(0.8),
        sk.Matern(1.2, nu=0.5),
        sk.Matern([0.5, 1.0, 2.0], nu=1.5),
        sk.Matern(1.2, nu=2.5) + sk.WhiteKernel(0.2),
        sk.Matern(1.2, nu=np.inf),
        sk.RationalQuadratic(1.1, 0.6),
        sk.DotProduct(0.7),
        sk.DotProduct(0.7) ** 2,
        sk.RBF(1.0) * sk.DotProduct(2.0) + sk.ConstantKernel(0.5),
    ]


@pytest.mark.parametrize("theirs", _sklearn_cases(), ids=str)
def test_sklearn_kernels_translate(theirs, rows):
    X, Z, _ = rows
    ours = from_sklearn(theirs)
    np.testing.assert_allclose(ours(X), theirs(X), atol=1e-12)
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), atol=1e-12)
    np.testing.assert_allclose(ours.diag(X), theirs.diag(X), atol=1e-12)
    assert ours.theta.size == theirs.theta.size


@pytest.mark.parametrize(
    ("theirs", "value", "bounds"),
    [
        (sk.ConstantKernel(2.0, "fixed") * sk.WhiteKernel(1.0), 2.0, (2e-5, 2e5)),
        (sk.WhiteKernel(1.0, "fixed") * sk.ConstantKernel(2.0, (0.1, 10.0)), 2.0, (0.1, 10.0)),
        (sk.ConstantKernel(1e3) * sk.WhiteKernel(1e3), 1e6, (1e-10, 1e10)),
        (
            sk.ConstantKernel(2.0, (0.1, 10.0)) * (sk.ConstantKernel(3.0, "fixed") * sk.RBF(1.0, "fixed")),
            6.0,
            (0.3, 30),
        ),
        (sk.ConstantKernel(2.0, (0.1, 10.0)) * sk.ConstantKernel(3.0, (1.0, 5.0)), 6.0, (0.1, 50.0)),
        (sk.ConstantKernel(2.0, "fixed") * sk.ConstantKernel(3e5, "fixed"), 6e5, None),
    ],
    ids=str,
)
def test_two_amplitudes_of_sklearn_become_one(theirs, value, bounds, rows):
    X, Z, _ = rows
    ours = from_sklearn(theirs)
    assert [p.value for name, p in ours.parameters.items() if name == "variance"] == [value]
    assert ours.parameters["variance"].fixed == (bounds is None)
    assert ours.theta_names == ([] if bounds is None else ["variance"])
    np.testing.assert_allclose(np.exp(ours.theta_bounds), np.reshape([] if bounds is None else bounds, (-1, 2)))
    np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-12)
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-12)


def test_sklearn_bounds_and_fixed_parameters_carry_over():
    theirs = sk.ConstantKernel(2.0, "fixed") * sk.RBF(1.0, (0.1, 10.0))
    ours = from_sklearn(theirs)
    assert isinstance(ours, Scaled)
    np.testing.assert_allclose(ours.theta_bounds, np.log([[0.1, 10.0]]))
    with pytest.raises(TypeError, match="ExpSineSquared"):
        from_sklearn(sk.ExpSineSquared())
    with pytest.raises(TypeError, match="expected a gpclass or scikit-learn kernel"):
        from_sklearn("rbf")


def test_ard_pullback_never_builds_a_stack_of_derivatives():
    # n x n x d would take 1.2 GiB here; a few n x n matrices of 31 MiB are allowed.
    import tracemalloc

    X = np.random.default_rng(0).normal(size=(2000, 20))
    G = np.ones((2000, 2000))
    kernel = 2.0 * RBF(np.full(20, 3.0))
    kernel(X[:10])
    tracemalloc.start()
    _, pullback = kernel.vjp(X)
    pullback(G)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20


@pytest.mark.parametrize("kernel", [RBF(1.3), Matern(VECTOR, nu=2.5), RationalQuadratic(1.1)])
def test_a_row_far_away_changes_nothing_for_the_others(kernel, rows):
    rows, far = rows[0], np.full((1, D), 1e17)
    new = rows[:6] + 0.1
    np.testing.assert_array_equal(kernel(np.vstack([new, far]), rows)[:6], kernel(new, rows))
    together = kernel(np.vstack([rows, far]))
    np.testing.assert_allclose(together[:-1, :-1], kernel(rows), atol=1e-14)
    np.testing.assert_allclose(together[-1, :-1], 0.0, atol=1e-8)


def test_laplacian_is_a_product_of_exponential_kernels(rows):
    X, Z, _ = rows
    expected = np.prod([np.exp(-np.abs(X[:, [d]] - Z[:, d]) / VECTOR[d]) for d in range(D)], axis=0)
    np.testing.assert_allclose(Laplacian(VECTOR)(X, Z), expected, rtol=1e-13)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, np.inf])
def test_additive_is_a_mean_over_columns_or_pairs(rows, nu):
    X, Z, _ = rows
    one = [View(RBF(VECTOR[d]) if np.isinf(nu) else Matern(VECTOR[d], nu=nu), [d])(X, Z) for d in range(D)]
    np.testing.assert_allclose(Additive(VECTOR, nu=nu)(X, Z), np.mean(one, axis=0), rtol=1e-12)
    pairs = [one[0] * one[1], one[0] * one[2], one[1] * one[2]]
    np.testing.assert_allclose(Additive(VECTOR, order=2, nu=nu)(X, Z), np.mean(pairs, axis=0), rtol=1e-12)


def test_additive_refuses_what_it_cannot_be():
    with pytest.raises(ValueError, match="order must be 1 or 2, got 3"):
        Additive(order=3)
    with pytest.raises(ValueError, match="nu must be one of"):
        Additive(nu=2.0)
    with pytest.raises(ValueError, match="order=2 needs 2 columns, got 1"):
        Additive(order=2).bind(np.zeros((4, 1)))
