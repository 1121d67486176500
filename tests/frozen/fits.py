"""Small fits whose numbers are frozen: they must come out the same whatever is moved about inside the library.

``CASES`` maps a name to a case. ``make_table.py`` writes what the cases give to ``table.json``, and ``test_frozen.py``
compares. Data are made by NumPy and scikit-learn, without matrix decompositions, so that every machine has the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.gaussian_process import kernels as sk

from gpclass import (
    GPClassifier,
    GPOrdinalClassifier,
    GPRegressor,
    IVMClassifier,
    IVMRegressor,
    MultiTaskIVMClassifier,
    MultiTaskIVMRegressor,
    NearestNeighborGPClassifier,
    NearestNeighborGPRegressor,
    NullCategoryClassifier,
    SparseGPClassifier,
    ViewVotingClassifier,
    VirtualVectorClassifier,
)
from gpclass.datasets import make_crescents, make_rings
from gpclass.hyper import (
    HMC,
    NUTS,
    Alternating,
    Evidence,
    HeldOut,
    Importance,
    LeaveOneOut,
    Metropolis,
    NearestNeighbors,
    StochasticEvidence,
    priors,
)
from gpclass.hyper.nearest_neighbors import NeighborScales
from gpclass.inference import EP, IVM, VB, Gibbs, Laplace, SparseEP, SparseVB
from gpclass.kernels import (
    MLP,
    RBF,
    Additive,
    Categorical,
    Constant,
    Laplacian,
    Linear,
    Matern,
    PerClass,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    View,
    WeightedSum,
    White,
    kmer_gram,
)
from gpclass.likelihoods import Gaussian, MultinomialProbit, OrderedProbit, Probit
from gpclass.tabular import TableModel

Numbers = dict[str, np.ndarray]


class Case(NamedTuple):
    """One fit.

    ``searched`` says whether parameters were learned or sampled, ``estimator`` is the name of the class, and ``hyper``
    its parameter where the case is a plain fit.
    """

    run: Callable[[], Numbers]
    searched: bool
    estimator: str
    hyper: Any = None


CASES: dict[str, Case] = {}

#: Leave-one-out predictions that are kept.
N_LOO = 10


def describe(model: Any, X_test: Any, searched: bool, **asked: Any) -> Numbers:
    """What a fitted estimator says of new rows, and of itself."""
    found: dict[str, Any] = {}
    if hasattr(model, "predict_proba"):
        found["proba"] = model.predict_proba(X_test, **asked)
    else:
        found["mean"], found["std"] = model.predict(X_test, return_std=True, **asked)
    for name in ("log_evidence", "objective", "calibration"):
        found[name] = getattr(model, f"{name}_", None)
    for name in ("loo_proba", "loo_mean", "loo_std"):
        values = getattr(model, f"{name}_", None)
        found[name.replace("_proba", "")] = None if values is None else values[:N_LOO]
    if searched:
        found["theta"] = model.hyper_.theta
    active = getattr(model, "active_", None)
    if active is None and getattr(model, "sites_", None) is not None:
        active = model.sites_.rows
    found["active"] = None if active is None else np.hstack(active)
    return arrays(found)


def arrays(found: dict[str, Any]) -> Numbers:
    return {name: np.asarray(values, dtype=float) for name, values in found.items() if values is not None}


def case(
    name: str, estimator: str, searched: bool = False, hyper: Any = None
) -> Callable[[Callable[[], Numbers]], Callable[[], Numbers]]:
    """Enter a function into the table."""

    def enter(function: Callable[[], Numbers]) -> Callable[[], Numbers]:
        def run() -> Numbers:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return function()

        assert name not in CASES, name
        CASES[name] = Case(run, searched, estimator, hyper)
        return function

    return enter


def fit(name: str, model: Any, data: Callable[[], Data], searched: bool = False) -> None:
    """Enter a plain fit into the table."""

    @case(name, type(model).__name__, searched, model.hyper)
    def _() -> Numbers:
        X, y, X_test = data()
        return describe(clone(model).fit(X, y), X_test, searched)


def search(name: str, model: Any, data: Callable[[], Data]) -> None:
    """Enter a plain fit that learns or samples parameters."""
    fit(name, model, data, searched=True)


# ---- data ----------------------------------------------------------------------------------------------------------


class Data(NamedTuple):
    X: Any
    y: Any
    X_test: Any


def scaled(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def cancer() -> Data:
    """Two classes, 60 rows."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scaled(X[:, :4])
    return Data(X[:60], y[:60], X[300:315])


def named_cancer() -> Data:
    X, y, X_test = cancer()
    return Data(X, np.array(["malign", "benign"])[y], X_test)


def slips() -> Data:
    """Two classes, some labels wrong."""
    X, y, X_test = cancer()
    y = y.copy()
    y[[3, 20, 41, 55]] ^= 1
    return Data(X, y, X_test)


def iris() -> Data:
    """Three classes, 75 rows."""
    X, y = load_iris(return_X_y=True)
    return Data(X[::2], y[::2], X[1::10])


def few_iris() -> Data:
    """Three classes, 25 rows."""
    X, y, X_test = iris()
    return Data(X[::3], y[::3], X_test)


def wine() -> Data:
    """Three classes, 13 columns."""
    X, y = load_wine(return_X_y=True)
    return Data(X[::3], y[::3], X[1::15])


def digits() -> Data:
    """Ten classes."""
    X, y = load_digits(return_X_y=True)
    return Data(X[:100] / 16.0, y[:100], X[1000:1010] / 16.0)


def few_digits() -> Data:
    """Five classes."""
    X, y = load_digits(n_class=5, return_X_y=True)
    return Data(X[:80] / 16.0, y[:80], X[500:510] / 16.0)


def rings() -> Data:
    """Three classes, two of four columns irrelevant."""
    X, y = make_rings(102, n_irrelevant=2, random_state=1)
    return Data(X[:90], y[:90], X[90:])


def sources(n: int = 70) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two sources with two columns each, and three classes."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, 4))
    latent = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.6 * X[:, 2] + 0.3 * rng.standard_normal(n)
    return X, np.digitize(latent, [-0.6, 0.6])


def two_sources() -> Data:
    X, y = sources()
    return Data(X[:60], y[:60], X[60:])


def gaps() -> Data:
    """Some rows lack one of the sources."""
    X, y = sources()
    X[::5, :2] = np.nan
    X[2::7, 2:] = np.nan
    X[[30, 37, 65]] = 0.5
    return Data(X[:60], y[:60], X[60:])


def waves() -> Data:
    """Numbers."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 2.0, (72, 2))
    y = 10.0 + 3.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(72)
    return Data(X[:60], y[:60], X[60:])


def grades() -> Data:
    """Four ordered labels."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-2.0, 2.0, (72, 2))
    latent = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * rng.standard_normal(72)
    return Data(X[:60], np.digitize(latent, [-1.2, 0.0, 1.2])[:60], X[60:])


def named_grades() -> Data:
    X, y, X_test = grades()
    return Data(X, np.array(["poor", "fair", "good", "best"])[y], X_test)


def two_grades() -> Data:
    X, y, X_test = grades()
    return Data(X, y // 2, X_test)


def frame(n: int = 72) -> pd.DataFrame:
    """A table with numbers, categories and a label."""
    rng = np.random.default_rng(5)
    colour, size = rng.choice(["red", "green", "blue"], n), rng.choice(["small", "large"], n)
    width, height = rng.standard_normal((2, n))
    latent = width + (colour == "red") - (colour == "blue") + 0.7 * (size == "large") * height
    label = np.digitize(latent + 0.3 * rng.standard_normal(n), [-0.5, 0.7])
    return pd.DataFrame(
        {"colour": colour, "width": width, "size": size, "height": height, "label": np.array(["a", "b", "c"])[label]}
    )


def table_of_kinds() -> Data:
    table = frame()
    X = table.drop(columns="label")
    return Data(X[:60], table["label"][:60], X[60:])


def crescents() -> Data:
    X, y, _ = make_crescents(90, labelled=0.15, random_state=0)
    return Data(X[:80], y[:80], X[80:])


def partly_iris() -> Data:
    """Every fourth row has a label."""
    X, y, X_test = iris()
    return Data(X, np.where(np.arange(len(y)) % 4 == 0, y, -1), X_test)


def related(numbers: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of four related tasks, their labels or numbers, and the task of each; the last is for ``adapt``."""
    rng = np.random.default_rng(6)
    X = rng.uniform(-2.0, 2.0, (100, 2))
    task = np.repeat([0, 1, 2, 3], 25)
    latent = np.sin(2.0 * X[:, 0] + 0.5 * task) + 0.5 * X[:, 1] + 0.2 * rng.standard_normal(100)
    return X, latent if numbers else np.where(latent > 0.0, "yes", "no"), task


def gram(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * np.sum((A[:, None] - B[None]) ** 2, axis=2))


# ---- GPClassifier: engines, kernel parameters given ------------------------------------------------------------------

given = {"hyper": "fixed", "random_state": 0}

fit("binary_vb", GPClassifier(4.0 * RBF(1.5), inference=VB(), **given), cancer)
fit("binary_vb_plain", GPClassifier(4.0 * RBF(1.5), inference=VB(solver="plain"), **given), cancer)
fit("binary_auto_text_labels", GPClassifier(4.0 * Matern(1.5), **given), named_cancer)
fit("binary_ep", GPClassifier(4.0 * RBF(1.5), inference=EP(), **given), cancer)
fit("binary_ep_uncalibrated", GPClassifier(4.0 * RBF(1.5), inference="ep", calibration=None, **given), cancer)
fit("binary_laplace_probit", GPClassifier(4.0 * RBF(1.5), inference=Laplace(), likelihood="probit", **given), cancer)
fit("binary_laplace_logit", GPClassifier(9.0 * RBF(1.5), likelihood="logit", **given), cancer)
fit(
    "binary_gibbs",
    GPClassifier(4.0 * RBF(1.5), inference=Gibbs(n_draws=6, burn_in=4, thin=1, n_chains=2, random_state=3), **given),
    cancer,
)
fit(
    "binary_label_noise_vb",
    GPClassifier(4.0 * RBF(1.5), likelihood=Probit(label_noise=0.05), inference="vb", **given),
    slips,
)
fit(
    "binary_label_noise_ep",
    GPClassifier(4.0 * RBF(1.5), likelihood=Probit(label_noise=0.05), inference="ep", **given),
    slips,
)
fit("multi_vb", GPClassifier(9.0 * RBF(1.0), inference=VB(), **given), iris)
fit("multi_vb_plain", GPClassifier(1.0 * RBF(1.0), inference=VB(solver="plain"), **given), iris)
fit("multi_vb_ten_classes", GPClassifier(9.0 * RBF(2.0), **given), digits)
fit("multi_vb_standardized", GPClassifier(9.0 * RBF(4.0), standardize=True, **given), wine)
fit("multi_ep", GPClassifier(9.0 * RBF(1.0), inference=EP(), **given), iris)
fit("multi_ep_uncoupled", GPClassifier(4.0 * RBF(1.0), inference=EP(coupling="none"), **given), iris)
fit(
    "multi_ep_coupled_softmax",
    GPClassifier(4.0 * RBF(1.0), inference=EP(coupling="full"), likelihood="softmax", **given),
    iris,
)
fit("multi_ep_five_classes", GPClassifier(4.0 * RBF(2.0), inference="ep", **given), few_digits)
fit(
    "multi_ep_label_noise",
    GPClassifier(9.0 * RBF(1.0), inference="ep", likelihood=MultinomialProbit(label_noise=0.03), **given),
    iris,
)
fit("multi_laplace_softmax", GPClassifier(9.0 * RBF(1.0), likelihood="softmax", **given), iris)
fit("multi_laplace_probit", GPClassifier(9.0 * RBF(1.0), inference="laplace", **given), iris)
fit("multi_laplace_five_classes", GPClassifier(9.0 * RBF(2.0), inference="laplace", **given), few_digits)
fit(
    "multi_gibbs",
    GPClassifier(4.0 * RBF(1.0), inference=Gibbs(n_draws=5, burn_in=3, thin=1, n_chains=1, evidence=False), **given),
    iris,
)
per_class = PerClass((4.0 * RBF(1.0), 9.0 * RBF(0.7), 4.0 * Matern(1.0)))
fit("per_class_vb", GPClassifier(per_class, **given), iris)
fit("per_class_ep", GPClassifier(per_class, inference="ep", **given), iris)
fit("sum_of_kernels", GPClassifier(2.0 * Linear() + Constant(1.0) + 4.0 * RBF(1.0) + White(0.1), **given), iris)
fit("product_of_kernels", GPClassifier(4.0 * RationalQuadratic(1.5, alpha=0.7) * MLP(), **given), cancer)
fit("laplacian_kernel", GPClassifier(9.0 * Laplacian(3.0), **given), iris)
fit("additive_kernel", GPClassifier(4.0 * Additive(1.5) + 4.0 * Additive(1.5, order=2), **given), cancer)
fit("polynomial_kernel", GPClassifier(Polynomial(degree=2), **given), cancer)
fit("scikit_kernel", GPClassifier(sk.ConstantKernel(4.0) * sk.RBF(1.5) + sk.WhiteKernel(0.1), **given), cancer)

# ---- GPClassifier: kernel parameters learned -------------------------------------------------------------------------

search("default_kernel_binary", GPClassifier(random_state=0), cancer)
search("default_kernel_multi", GPClassifier(random_state=0), iris)
search("kernel_by_name", GPClassifier("rbf", random_state=0), cancer)
search("kernel_family", GPClassifier("auto", random_state=0), iris)
search("default_kernel_relevances", GPClassifier(random_state=0), rings)
search("default_kernel_ten_classes", GPClassifier(hyper=Evidence(max_rows=60), random_state=0), digits)
search("binary_bound", GPClassifier(RBF(1.0), inference=VB(objective="bound"), random_state=0), cancer)
search("binary_ep_evidence", GPClassifier(4.0 * RBF(1.0), inference="ep", random_state=0), cancer)
search("binary_logit_evidence", GPClassifier(4.0 * RBF(1.0), likelihood="logit", random_state=0), cancer)
search("multi_bound", GPClassifier(RBF(1.0), inference=VB(objective="bound"), random_state=0), iris)
search("multi_ep_evidence", GPClassifier(4.0 * RBF(1.0), inference="ep", random_state=0), iris)
search("multi_softmax_evidence", GPClassifier(4.0 * RBF(1.0), likelihood="softmax", random_state=0), iris)
search("evidence_of_all_rows", GPClassifier(4.0 * RBF(1.0), hyper=Evidence(max_rows=None), random_state=0), iris)
search("evidence_of_few_rows", GPClassifier(4.0 * RBF(1.0), hyper=Evidence(max_rows=40), random_state=0), iris)
search("evidence_softplus", GPClassifier(4.0 * RBF(1.0), hyper=Evidence(coordinates="softplus"), random_state=0), iris)
search(
    "evidence_sigmoid",
    GPClassifier(
        4.0 * Matern(1.0, bounds={"length_scale": (0.05, 20.0)}),
        hyper=Evidence(coordinates="sigmoid"),
        random_state=0,
    ),
    iris,
)
search(
    "evidence_priors",
    GPClassifier(
        4.0 * RBF(1.0) + White(0.1),
        hyper=Evidence(
            prior={
                "rbf.length_scale": priors.Gamma(2.0, 1.0),
                "rbf.variance": priors.HalfCauchy(5.0),
                "white.variance": None,
            }
        ),
        random_state=0,
    ),
    iris,
)
search("restarts", GPClassifier(4.0 * RBF(1.0), n_restarts_optimizer=1, random_state=1), iris)
search("ard", GPClassifier(4.0 * RBF(1.0, ard=True), random_state=0), rings)
search("ard_linear", GPClassifier(Linear(1.0, ard=True) + Constant(1.0), random_state=0), cancer)
search("per_class_evidence", GPClassifier(PerClass(4.0 * RBF(1.0)), random_state=0), rings)
search("leave_one_out", GPClassifier(4.0 * Matern(1.0), hyper=LeaveOneOut(), random_state=0), slips)
search(
    "held_out",
    GPClassifier(4.0 * RBF(1.0), hyper=HeldOut(n_active=20, n_held_out=15, max_evaluations=8), random_state=0),
    iris,
)
search("leave_one_out_ep", GPClassifier(4.0 * RBF(1.0), hyper="loo", inference="ep", random_state=0), few_iris)
search(
    "label_noise_learned_ep",
    GPClassifier(
        4.0 * RBF(1.5, fixed="length_scale"),
        likelihood=Probit(label_noise=0.05, fixed=("bias", "variance")),
        random_state=0,
    ),
    slips,
)
search(
    "label_noise_learned_laplace",
    GPClassifier(
        4.0 * RBF(1.5),
        likelihood=Probit(label_noise=0.05, fixed=("bias", "variance")),
        inference="laplace",
        random_state=0,
    ),
    slips,
)
search(
    "label_noise_learned_multi",
    GPClassifier(
        9.0 * RBF(1.0), likelihood=MultinomialProbit(label_noise=0.05, fixed=()), inference="vb", random_state=0
    ),
    iris,
)
search(
    "bias_learned",
    GPClassifier(4.0 * RBF(1.5), likelihood=Probit(fixed=("variance", "label_noise")), inference="ep", random_state=0),
    cancer,
)

# ---- GPClassifier: kernel parameters sampled -------------------------------------------------------------------------

search("importance", GPClassifier(4.0 * RBF(1.0), hyper=Importance(n_draws=25, n_models=6), random_state=0), cancer)
search("importance_default_kernel", GPClassifier(hyper=Importance(n_draws=25, n_models=5), random_state=0), iris)
search(
    "importance_ep_few_rows",
    GPClassifier(4.0 * RBF(1.0), inference="ep", hyper=Importance(n_draws=25, n_models=4, max_rows=40), random_state=0),
    iris,
)
search(
    "importance_literal",
    GPClassifier(RBF(1.0, ard=True), hyper=Importance(as_published=True, n_draws=21, n_rounds=4), random_state=0),
    iris,
)
search(
    "nuts",
    GPClassifier(RBF(1.0), hyper=NUTS(n_draws=4, n_tune=20, n_chains=1, n_models=4), random_state=0),
    cancer,
)
search(
    "hmc",
    GPClassifier(
        4.0 * RBF(1.0),
        hyper=HMC(n_iter=8, burn_in=2, n_leapfrog=4, n_models=5, prior=priors.LogNormal(1.0, 1.0)),
        random_state=0,
    ),
    iris,
)
search(
    "hmc_two_chains",
    GPClassifier(
        4.0 * RBF(1.0),
        hyper=HMC(
            n_iter=6, burn_in=2, n_leapfrog=3, n_chains=2, n_models=4, step_size={"length_scale": 0.05, "variance": 0.1}
        ),
        random_state=0,
    ),
    cancer,
)
search(
    "metropolis",
    GPClassifier(
        4.0 * RBF(1.0),
        inference=Gibbs(n_draws=5, burn_in=5, thin=1, n_chains=2, random_state=2),
        hyper=Metropolis(n_models=4),
        random_state=0,
    ),
    cancer,
)
search(
    "metropolis_multi",
    GPClassifier(
        4.0 * RBF(1.0),
        inference=Gibbs(n_draws=4, burn_in=4, thin=1, n_chains=1, random_state=2),
        hyper=Metropolis(n_models=2),
        random_state=0,
    ),
    iris,
)

# ---- GPClassifier: weights and soft labels ---------------------------------------------------------------------------


def weighted(name: str, model: Any, data: Callable[[], Data], searched: bool = False) -> None:
    @case(name, type(model).__name__, searched)
    def _() -> Numbers:
        X, y, X_test = data()
        weights = np.array([1.0, 2.0, 0.0, 0.5])[np.arange(len(y)) % 4]
        return describe(clone(model).fit(X, y, sample_weight=weights), X_test, searched)


weighted("sample_weight", GPClassifier(4.0 * RBF(1.5), **given), cancer)
weighted("sample_weight_laplace", GPClassifier(9.0 * RBF(1.0), likelihood="softmax", **given), iris)
weighted("sample_weight_evidence", GPClassifier(9.0 * RBF(1.0), random_state=0), iris, searched=True)
fit("class_weight_balanced", GPClassifier(4.0 * RBF(1.5), class_weight="balanced", **given), cancer)
fit("class_weight_by_label", GPClassifier(9.0 * RBF(1.0), class_weight={0: 1.0, 1: 2.0, 2: 0.5}, **given), iris)


def soft_iris() -> Data:
    X, y, X_test = iris()
    proba = 0.1 + 0.7 * np.eye(3)[y]
    proba[::3] = np.eye(3)[y[::3]]
    return Data(X, proba, X_test)


def named_soft_cancer() -> Data:
    X, y, X_test = cancer()
    return Data(X, pd.DataFrame({"no": 0.9 - 0.8 * y, "yes": 0.1 + 0.8 * y}), X_test)


fit("soft_labels", GPClassifier(9.0 * RBF(1.0), **given), soft_iris)
fit("soft_labels_laplace", GPClassifier(9.0 * RBF(1.0), inference="laplace", **given), soft_iris)
search("soft_labels_evidence", GPClassifier(4.0 * RBF(1.5), random_state=0), named_soft_cancer)

# ---- GPClassifier: views, Gram matrices, categories ------------------------------------------------------------------

views = {"one": View(4.0 * RBF(1.0), slice(0, 2)), "other": View(Matern(2.0), slice(2, 4))}

fit("views", GPClassifier(WeightedSum(views, [3.0, 1.0]), **given), two_sources)
search("views_evidence", GPClassifier(WeightedSum(views), random_state=0), two_sources)
search("views_missing_evidence", GPClassifier(WeightedSum(views), random_state=0), gaps)
fit("views_missing_ep", GPClassifier(WeightedSum(views, [3.0, 1.0]), inference="ep", **given), gaps)
search(
    "views_literal_importance",
    GPClassifier(
        WeightedSum({"one": View(RBF(1.5, fixed=True), [0, 1]), "other": View(RBF(1.5, fixed=True), [2, 3])}),
        hyper=Importance(as_published=True, n_draws=21, n_rounds=3),
        random_state=0,
    ),
    two_sources,
)


@case("gram_views", "GPClassifier", searched=True)
def gram_views() -> Numbers:
    X, y = sources()
    K = gram(X[:, 2:], X[:, 2:])
    K[[4, 11, 63]] = np.nan
    K[:, [4, 11, 63]] = np.nan
    kernel = WeightedSum({"features": View(4.0 * RBF(1.0), [0, 1]), "network": Precomputed("network")})
    model = GPClassifier(kernel, random_state=0)
    model.fit(X[:60, :2], y[:60], grams={"network": K[:60, :60]})
    return describe(model, X[60:, :2], True, grams={"network": K[60:, :60]})


@case("gram_views_by_row", "GPClassifier")
def gram_views_by_row() -> Numbers:
    X, y = sources()
    K = 4.0 * gram(X[:, 2:], X[:, 2:]) * np.outer(1.0 + 0.1 * y, 1.0 + 0.1 * y)
    kernel = WeightedSum({"features": RBF(1.0), "network": Precomputed("network")}, [3.0, 2.0])
    model = GPClassifier(kernel, **given).fit(X[:60, :2], y[:60], grams={"network": K}, rows=np.arange(60))
    return describe(model, X[60:, :2], False, grams={"network": K}, rows=np.arange(60, 70))


@case("precomputed", "GPClassifier")
def precomputed() -> Numbers:
    X, y, X_test = cancer()
    model = GPClassifier(Precomputed(), **given).fit(4.0 * gram(X, X), y)
    return describe(model, 4.0 * gram(X_test, X), False)


@case("precomputed_variances", "GPClassifier", searched=True)
def precomputed_variances() -> Numbers:
    X, y, X_test = iris()
    K, K_new, own = X @ X.T, X_test @ X.T, np.sum(X_test**2, axis=1)
    model = GPClassifier(0.1 * Precomputed(), random_state=0).fit(K, y)
    return describe(model, np.column_stack([K_new, own]), True)


@case("precomputed_sequences", "GPClassifier")
def precomputed_sequences() -> Numbers:
    rng = np.random.default_rng(7)
    y = np.arange(60) % 2
    texts = ["".join(rng.choice(list("ACGT"), 25, p=[0.4, 0.1, 0.1, 0.4] if k else [0.25] * 4)) for k in y]
    K = 9.0 * kmer_gram(texts, k=3)
    model = GPClassifier(Precomputed(), **given).fit(K[:50, :50], y[:50])
    return describe(model, K[50:, :50], False)


search("categories_default_kernel", GPClassifier(random_state=0), table_of_kinds)
fit(
    "categories_given_kernel",
    GPClassifier(
        9.0 * View(RBF(1.5), dtype="number") * View(Categorical([0.8, 1.2]), dtype="category"),
        inference="ep",
        **given,
    ),
    table_of_kinds,
)

# ---- GPRegressor -----------------------------------------------------------------------------------------------------

fit("regressor", GPRegressor(1.0 * RBF(1.0), likelihood=Gaussian(0.05), **given), waves)
search("regressor_default_kernel", GPRegressor(random_state=0), waves)
search(
    "regressor_loo_restart",
    GPRegressor(1.0 * Matern(1.0), hyper="loo", n_restarts_optimizer=1, random_state=0),
    waves,
)
search(
    "regressor_sampled",
    GPRegressor(1.0 * RBF(1.0), hyper=HMC(n_iter=7, burn_in=2, n_leapfrog=4, n_models=4), random_state=0),
    waves,
)
search(
    "regressor_importance", GPRegressor(1.0 * RBF(1.0), hyper=Importance(n_draws=25, n_models=5), random_state=0), waves
)

# ---- GPOrdinalClassifier ---------------------------------------------------------------------------------------------

fit(
    "ordinal_ep",
    GPOrdinalClassifier(4.0 * RBF(1.0), likelihood=OrderedProbit.from_cut_points([-2.0, 0.0, 2.0]), **given),
    grades,
)
search(
    "ordinal_default_kernel", GPOrdinalClassifier(order=["poor", "fair", "good", "best"], random_state=0), named_grades
)
search("ordinal_two_grades", GPOrdinalClassifier(4.0 * RBF(1.0), random_state=0), two_grades)
fit("ordinal_ivm", GPOrdinalClassifier(4.0 * RBF(1.0), inference=IVM(n_active=25), **given), grades)
search(
    "ordinal_ivm_evidence",
    GPOrdinalClassifier(4.0 * RBF(1.0), inference=IVM(n_active=30), hyper=Evidence(max_rows=40), random_state=0),
    grades,
)
search(
    "ordinal_importance",
    GPOrdinalClassifier(4.0 * RBF(1.0), hyper=Importance(n_draws=25, n_models=4), random_state=0),
    grades,
)

# ---- SparseGPClassifier ----------------------------------------------------------------------------------------------

few = {"n_inducing": 15, "random_state": 0}

fit("sparse_ep_dtc", SparseGPClassifier(4.0 * RBF(1.5), inference=SparseEP(), hyper="fixed", **few), cancer)
fit("sparse_ep_fitc", SparseGPClassifier(9.0 * RBF(1.0), approximation="fitc", hyper="fixed", **few), iris)
fit("sparse_vb_dtc", SparseGPClassifier(9.0 * RBF(1.0), inference=SparseVB(), hyper="fixed", **few), iris)
fit(
    "sparse_vb_fitc",
    SparseGPClassifier(4.0 * RBF(1.5), inference="vb", approximation="fitc", hyper="fixed", **few),
    cancer,
)
fit("sparse_kmeans", SparseGPClassifier(9.0 * RBF(1.0), inducing="kmeans++", hyper="fixed", **few), iris)
fit("sparse_random", SparseGPClassifier(4.0 * RBF(1.5), inducing="random", hyper="fixed", **few), cancer)
search("sparse_default_kernel", SparseGPClassifier(**few), iris)
search("sparse_evidence_few_rows", SparseGPClassifier(4.0 * RBF(1.0), hyper=Evidence(max_rows=40), **few), cancer)
search(
    "sparse_evidence_inducing",
    SparseGPClassifier(4.0 * RBF(1.0), inducing="kmeans++", hyper=Evidence(max_rows=None), **few),
    iris,
)
search(
    "sparse_held_out",
    SparseGPClassifier(4.0 * RBF(1.0), hyper=HeldOut(n_active=20, n_held_out=15, max_evaluations=8), **few),
    cancer,
)


@case("sparse_given_rows", "SparseGPClassifier")
def sparse_given_rows() -> Numbers:
    X, y, X_test = iris()
    model = SparseGPClassifier(9.0 * RBF(1.0), inducing=X[::5], inference="vb", **given).fit(X, y)
    return describe(model, X_test, False)


@case("sparse_blocks", "SparseGPClassifier", searched=True)
def sparse_blocks() -> Numbers:
    X, y, X_test = iris()
    blocks = [(X[i::3], y[i::3]) for i in range(3)]
    return describe(SparseGPClassifier(4.0 * RBF(1.0), **few).fit(blocks), X_test, True)


@case("sparse_memmap", "SparseGPClassifier")
def sparse_memmap() -> Numbers:
    X, y, X_test = iris()
    with TemporaryDirectory() as folder:
        rows = np.memmap(Path(folder) / "rows", dtype=float, mode="w+", shape=X.shape)
        rows[:] = X
        model = SparseGPClassifier(9.0 * RBF(1.0), inference="vb", hyper="fixed", **few).fit(rows, y)
        return describe(model, X_test, False)


# ---- IVMClassifier and IVMRegressor ----------------------------------------------------------------------------------

kept = {"n_active": 25, "hyper": "fixed", "random_state": 0}

fit("ivm_binary_adf", IVMClassifier(4.0 * RBF(1.5), **kept), cancer)
fit("ivm_binary_vb", IVMClassifier(4.0 * RBF(1.5), update="vb", **kept), cancer)
fit("ivm_multi_adf", IVMClassifier(9.0 * RBF(1.0), update="adf", **kept), iris)
fit("ivm_multi_vb", IVMClassifier(9.0 * RBF(1.0), update="vb", **kept), iris)
fit("ivm_gain", IVMClassifier(9.0 * RBF(1.0), criterion="gain", update="adf", **kept), iris)
fit("ivm_entropy_vb", IVMClassifier(9.0 * RBF(1.0), criterion="entropy", **kept), iris)
fit("ivm_probability", IVMClassifier(4.0 * RBF(1.5), criterion="probability", **kept), cancer)
fit("ivm_random", IVMClassifier(4.0 * RBF(1.5), criterion="random", **kept), cancer)
fit("ivm_blocks", IVMClassifier(9.0 * RBF(2.0), block_size=8, **kept), digits)
fit("ivm_blocks_adf", IVMClassifier(4.0 * RBF(1.5), block_size=4, **kept), cancer)
fit("ivm_exchanges", IVMClassifier(9.0 * RBF(2.0), n_exchanges=4, **kept), few_digits)
fit("ivm_unrefined", IVMClassifier(4.0 * RBF(1.5), refine=False, calibration=None, **kept), cancer)
fit("ivm_five_classes", IVMClassifier(9.0 * RBF(2.0), update="adf", **kept), few_digits)
search("ivm_default_kernel", IVMClassifier(n_active=30, random_state=0), iris)
search("ivm_loo", IVMClassifier(4.0 * RBF(1.0), n_active=20, hyper=LeaveOneOut(max_rows=40), random_state=0), cancer)
search(
    "ivm_alternating",
    IVMClassifier(4.0 * RBF(1.0), n_active=20, hyper=Alternating(n_rounds=2, n_active=20), random_state=0),
    cancer,
)
search(
    "ivm_alternating_best",
    IVMClassifier(
        4.0 * RBF(1.0),
        n_active=25,
        hyper=Alternating(n_rounds=2, n_active=25, keep="best", coordinates="softplus"),
        random_state=0,
    ),
    iris,
)
search(
    "ivm_held_out",
    IVMClassifier(
        4.0 * RBF(1.0), n_active=25, hyper=HeldOut(n_active=20, n_held_out=15, max_evaluations=8), random_state=0
    ),
    iris,
)


@case("ivm_warm_start", "IVMClassifier")
def ivm_warm_start() -> Numbers:
    X, y, X_test = iris()
    model = IVMClassifier(9.0 * RBF(1.0), n_active=10, warm_start=True, **given).fit(X, y)
    return describe(model.set_params(n_active=20).fit(X, y), X_test, False)


@case("ivm_partial_fit", "IVMClassifier")
def ivm_partial_fit() -> Numbers:
    X, y, X_test = iris()
    model = IVMClassifier(9.0 * RBF(1.0), n_active=20, **given)
    for i in range(3):
        model.partial_fit(X[i::3], y[i::3], classes=[0, 1, 2])
    return describe(model, X_test, False)


@case("ivm_partial_fit_learned", "IVMClassifier", searched=True)
def ivm_partial_fit_learned() -> Numbers:
    X, y, X_test = cancer()
    model = IVMClassifier(n_active=20, random_state=0).partial_fit(X[:40], y[:40])
    return describe(model.partial_fit(X[40:], y[40:]), X_test, True)


@case("ivm_fit_then_partial_fit", "IVMClassifier")
def ivm_fit_then_partial_fit() -> Numbers:
    X, y, X_test = cancer()
    model = IVMClassifier(4.0 * RBF(1.5), n_active=20, update="vb", **given).fit(X[:40], y[:40])
    found = describe(model.partial_fit(X[40:], y[40:]), X_test, False)
    del found["objective"]  # still that of fit
    return found


fit("ivm_regressor", IVMRegressor(1.0 * RBF(1.0), n_active=25, likelihood=Gaussian(0.05), **given), waves)
fit("ivm_regressor_gain", IVMRegressor(1.0 * RBF(1.0), n_active=25, criterion="gain", **given), waves)
search("ivm_regressor_default_kernel", IVMRegressor(n_active=30, random_state=0), waves)


@case("ivm_regressor_partial_fit", "IVMRegressor", searched=True)
def ivm_regressor_partial_fit() -> Numbers:
    X, y, X_test = waves()
    model = IVMRegressor(1.0 * RBF(1.0), n_active=20, random_state=0).partial_fit(X[:35], y[:35])
    return describe(model.partial_fit(X[35:], y[35:]), X_test, True)


steps = StochasticEvidence(n_rows=30, n_steps=10)
search("stochastic", GPClassifier(4.0 * RBF(1.0), hyper=steps, random_state=0), iris)


# ---- nearest neighbours --------------------------------------------------------------------------------------------

near = {"hyper": "fixed", "index": "exact", "random_state": 0}
fit("neighbors", NearestNeighborGPClassifier(Matern(2.0, nu=1.5), n_neighbors=15, **near), iris)
fit("neighbors_rough", NearestNeighborGPClassifier(Matern(np.arange(1.0, 5.0), nu=0.5), n_neighbors=9, **near), cancer)
fit("neighbors_sum", NearestNeighborGPClassifier(RBF(1.5) + 0.1 * Linear(), n_neighbors=9, **near), cancer)
fit("neighbors_regressor", NearestNeighborGPRegressor(RBF(1.0), n_neighbors=12, **near), waves)
by_neighbors = NearestNeighbors(first=NeighborScales(max_iter=20), n_active=30, n_held_out=20, max_evaluations=6)
fit("neighbors_search", GPClassifier(hyper=by_neighbors, random_state=0), cancer, searched=True)
fit(
    "neighbors_learned",
    NearestNeighborGPClassifier(max_iter=20, n_neighbors=15, global_model=False, random_state=0),
    iris,
    searched=True,
)


# ---- Multi-task ----------------------------------------------------------------------------------------------------


def tasks(name: str, model: Any, numbers: bool, searched: bool = False) -> None:
    @case(name, type(model).__name__, searched)
    def _() -> Numbers:
        X, y, task = related(numbers)
        own = (task < 3) & (np.arange(100) % 5 > 0)
        new = (task < 3) & (np.arange(100) % 5 == 0)
        fitted = clone(model).fit(X[own], y[own], task=task[own])
        found = describe(fitted, X[new], searched, task=task[new])
        adapted = fitted.adapt(X[75:85], y[75:85])
        return found | {f"adapted_{part}": told for part, told in describe(adapted, X[85:], False).items()}


tasks("multi_task_labels", MultiTaskIVMClassifier(4.0 * RBF(1.0), n_active=30, **given), numbers=False)
tasks("multi_task_numbers", MultiTaskIVMRegressor(1.0 * RBF(1.0), n_active=30, **given), numbers=True)
tasks("multi_task_labels_learned", MultiTaskIVMClassifier(n_active=30, random_state=0), numbers=False, searched=True)
tasks(
    "multi_task_numbers_learned",
    MultiTaskIVMRegressor(1.0 * RBF(1.0), n_active=30, hyper=Evidence(tol=1e-12), random_state=0),
    numbers=True,
    searched=True,
)
tasks(
    "multi_task_alternating",
    MultiTaskIVMClassifier(4.0 * RBF(1.5), n_active=45, hyper=Alternating(n_rounds=1), random_state=0),
    numbers=False,
    searched=True,
)

# ---- NullCategoryClassifier ------------------------------------------------------------------------------------------

search("null_category", NullCategoryClassifier(n_active=30, hyper=Alternating(n_rounds=2), random_state=0), crescents)
fit("null_category_fixed", NullCategoryClassifier(2.0 * RBF(1.5), n_active=30, gamma=0.7, **given), crescents)
search(
    "null_category_gamma_learned",
    NullCategoryClassifier(2.0 * RBF(1.5), n_active=30, gamma="learned", hyper=Alternating(n_rounds=2), random_state=0),
    crescents,
)
search(
    "null_category_three_classes",
    NullCategoryClassifier(n_active=25, block_size=4, hyper=Alternating(n_rounds=2), random_state=0),
    partly_iris,
)
fit(
    "null_category_softmax",
    NullCategoryClassifier(2.0 * RBF(0.8), n_active=25, link="softmax", calibration=None, **given),
    partly_iris,
)

# ---- ViewVotingClassifier and VirtualVectorClassifier ----------------------------------------------------------------


def voting(name: str, rule: str, estimator: GPClassifier, searched: bool) -> None:
    @case(name, "ViewVotingClassifier", searched)
    def _() -> Numbers:
        X, y, X_test = two_sources()
        model = ViewVotingClassifier(estimator, {"one": [0, 1], "other": slice(2, 4)}, voting=rule).fit(X, y)
        parts = [pipeline[-1] for pipeline in model.estimators_.values()]
        found = {"proba": model.predict_proba(X_test), "log_evidence": [part.log_evidence_ for part in parts]}
        return arrays(found)


voting("view_voting_sum", "sum", GPClassifier(4.0 * RBF(1.0), **given), searched=False)
voting("view_voting_product", "product", GPClassifier(4.0 * RBF(1.0), random_state=0), searched=True)


def virtual(name: str, model: VirtualVectorClassifier, data: Callable[[], Data]) -> None:
    @case(name, "VirtualVectorClassifier")
    def _() -> Numbers:
        X, y, X_test = data()
        fitted = clone(model).fit(X, y)
        found = {"proba": fitted.predict_proba(X_test), "source": fitted.virtual_.source}
        first = describe(fitted.first_, X_test, False)
        return arrays(found | {"log_evidence": fitted.estimator_.log_evidence_}) | {
            f"first_{part}": told for part, told in first.items()
        }


def mirrored(X: np.ndarray) -> np.ndarray:
    return -X


first = IVMClassifier(9.0 * RBF(2.0), n_active=15, **given)
virtual("virtual_shifts", VirtualVectorClassifier(first), few_digits)
virtual(
    "virtual_rotations", VirtualVectorClassifier(first, transforms=["rotations"], n_active=25, fill=0.0), few_digits
)
virtual(
    "virtual_function",
    VirtualVectorClassifier(IVMClassifier(4.0 * RBF(1.5), n_active=15, **given), transforms=mirrored),
    cancer,
)

# ---- TableModel ------------------------------------------------------------------------------------------------------


#: Scores of tables that are frozen. Ranks, and intervals, follow from the same predictions.
_SCORES = (
    *("error", "log_loss", "mean_steps_off", "inside_90", "rmse", "explained", "calibration_error"),
    *("error_se", "log_loss_se", "mean_steps_off_se", "inside_90_se", "rmse_se"),
    *("guess_error", "guess_log_loss", "guess_rmse"),
)


def table(name: str, model: TableModel, fill_in: Callable[[pd.DataFrame], None] | None = None) -> None:
    @case(name, "TableModel", searched=True)
    def _() -> Numbers:
        rows = frame()
        rows.loc[::9, "width"] = np.nan
        if fill_in is not None:
            fill_in(rows)
        fitted = clone(model).fit(rows[:60])
        told = fitted.predictions(rows[60:])
        found = {name: values for name, values in told.items() if np.asarray(values).dtype.kind == "f"}
        found |= {f"score_{name}": fitted.scores_[name] for name in _SCORES if fitted.scores_.get(name) is not None}
        return arrays(found | {"log_evidence": fitted.estimator_.log_evidence_})


def count(rows: pd.DataFrame) -> None:
    rows["count"] = np.arange(len(rows)) % 3


table("table_labels", TableModel("label"))
table("table_weights", TableModel("label", weights="count"), count)
table("table_views", TableModel("label", views={"kinds": ["colour", "size"], "lengths": ["width", "height"]}))
table("table_ordered", TableModel("label", order=["a", "b", "c"]))
table("table_numbers", TableModel("height", regress=True))
