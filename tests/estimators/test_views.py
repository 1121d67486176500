"""Several sources of information: weights, Gram matrices next to X, categories, gaps, and voting rules."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from gpclass import GPClassifier, GPRegressor, IVMClassifier, ViewVotingClassifier
from gpclass.datasets import make_views
from gpclass.hyper import Importance
from gpclass.hyper.priors import Dirichlet, Gamma
from gpclass.inference import posteriors
from gpclass.kernels import (
    RBF,
    Categorical,
    Linear,
    Matern,
    PerClass,
    Precomputed,
    View,
    WeightedSum,
    White,
    diffusion_gram,
    spectrum_gram,
)
from gpclass.plotting import ViewWeightsDisplay

SHARES = (0.6, 0.4, 0.0)


@pytest.fixture(scope="module")
def problem():
    return make_views(150, SHARES, n_classes=2, random_state=3)


def kernel_of(views):
    return WeightedSum({name: View(RBF(), columns) for name, columns in views.items()})


@pytest.fixture(scope="module")
def model(problem):
    X, y, views = problem
    return GPClassifier(kernel_of(views), inference="ep").fit(X, y)


# ---- weights --------------------------------------------------------------------------------------------


def test_weights_are_found_again(model):
    weights = model.view_weights_
    assert weights.names == ("view_1", "view_2", "view_3")
    assert weights.mean.sum() == pytest.approx(1.0)
    assert np.all(np.abs(weights.mean - SHARES) < 3 * weights.sd + 0.05)
    assert weights.mean.argmin() == 2
    assert weights.mean[2] < 0.1
    assert repr(weights).startswith("ViewWeights(view_1 0.")


@pytest.mark.parametrize("n_seeds", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_weights_over_seeds(n_seeds):
    # What the long benchmark does, smaller: useful and useless views told apart in every draw.
    found, truth = [], []
    for seed in range(n_seeds):
        shares = np.random.default_rng(seed).permutation([0.6, 0.4, 0.0, 0.0])
        X, y, views = make_views(150, shares, n_classes=2, random_state=seed)
        found.append(GPClassifier(kernel_of(views), inference="ep").fit(X, y).view_weights_.mean)
        truth.append(shares)
    assert np.corrcoef(np.ravel(found), np.ravel(truth))[0, 1] > 0.85


@pytest.mark.filterwarnings("ignore:the tail of the importance weights is heavy")
@pytest.mark.parametrize("prior", [{}, {"weights": Dirichlet(Gamma(2.0, 1.0))}])
def test_sampled_weights_agree_with_the_optimum(problem, model, prior):
    X, y, views = problem
    hyper = Importance(prior=prior, n_draws=80, n_models=3)
    sampled = GPClassifier(kernel_of(views), hyper=hyper, random_state=0).fit(X, y)
    weights = sampled.view_weights_
    assert weights.mean.sum() == pytest.approx(1.0)
    spread = np.hypot(weights.sd, model.view_weights_.sd)
    assert np.all(np.abs(weights.mean - model.view_weights_.mean) < 2 * spread + 0.02)


def test_sampling_inside_the_variational_loop(problem):
    # G06 as printed: the weights of the draws collapse, and with them the shares, on the one view that fits best.
    X, y, views = problem
    kernel = 10.0 * WeightedSum({name: View(RBF(1.7, fixed=True), own) for name, own in views.items()})
    hyper = Importance(as_published=True, n_draws=60, n_rounds=5)
    with pytest.warns(ConvergenceWarning, match="few importance samples carry all the weight"):
        model = GPClassifier(kernel, inference="vb", hyper=hyper, random_state=0).fit(X, y)
    assert model.kernel_.weights.sum() == pytest.approx(10.0, rel=1e-4)  # but for the bounds
    assert model.hyper_.samples.n_effective < 10
    assert model.view_weights_.mean[2] < 0.05
    with pytest.raises(TypeError, match="or the weights of a WeightedSum only, and 'weights"):
        GPClassifier(kernel_of(views), inference="vb", hyper=hyper).fit(X, y)


def test_weights_that_are_held(problem):
    X, y, views = problem
    kernel = WeightedSum({name: View(RBF(1.5), own) for name, own in views.items()}, [0.5, 0.4, 0.1])
    weights = GPClassifier(kernel, hyper="fixed").fit(X, y).view_weights_
    np.testing.assert_allclose(weights.mean, [0.5, 0.4, 0.1], atol=0.08)
    # The share is that of the variance about the mean over the rows.
    K = [RBF(1.5)(((X - X.mean(axis=0)) / X.std(axis=0))[:, own]) for own in views.values()]
    variations = np.array([0.5, 0.4, 0.1]) * [1.0 - matrix.mean() for matrix in K]
    np.testing.assert_allclose(weights.mean, variations / variations.sum(), rtol=1e-6)
    assert np.all(np.isnan(weights.sd))  # nothing was learned
    with pytest.raises(AttributeError, match="view_weights_ needs a WeightedSum kernel, got Scaled"):
        _ = GPClassifier(hyper="fixed").fit(X, y).view_weights_


def test_weights_of_their_own_for_every_class():
    X, y, views = make_views(90, (0.7, 0.3), random_state=0)
    kernel = WeightedSum({name: View(RBF(1.7, fixed=True), own) for name, own in views.items()})
    model = GPClassifier(PerClass(kernel)).fit(X, y)
    assert model.kernel_.children[2].shares.sum() == pytest.approx(1.0)
    assert model.score(X, y) > 0.6


def test_kernels_of_every_class_are_standardised_as_one_for_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) * [1000.0, 1.0]
    y = np.digitize(X[:, 1], [-0.5, 0.5])
    views = WeightedSum({"a": View(RBF(), [0]), "b": View(RBF(), [1])})
    one, each = (GPClassifier(PerClass(kernel), hyper="fixed").fit(X, y) for kernel in (views, (views,) * 3))
    np.testing.assert_array_equal(one.input_scale_, each.input_scale_)
    np.testing.assert_allclose(one.predict_proba(X), each.predict_proba(X))
    mixed = GPClassifier(PerClass((views, RBF(), views)), hyper="fixed").fit(X, y)
    np.testing.assert_array_equal(mixed.input_scale_, 1.0)


def test_rows_without_any_view_are_told_by_their_number(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    views = WeightedSum({"a": View(RBF(), [0]), "b": View(RBF(), [1])})
    broken, weights = X.copy(), np.ones(30)
    broken[7], weights[:3] = np.nan, 0.0
    with pytest.raises(ValueError, match=r"got none in row 7$"):
        GPClassifier(views, hyper="fixed").fit(broken, y, sample_weight=weights)
    model = GPClassifier(views, hyper="fixed").fit(X, y)
    monkeypatch.setattr(posteriors, "BLOCK_BYTES", 8 * 30 * 5)
    with pytest.raises(ValueError, match=r"got none in row 7$"):
        model.predict(broken)


def test_display(model):
    display = ViewWeightsDisplay.from_estimator(model)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["view_1", "view_2", "view_3"]
    both = ViewWeightsDisplay.from_estimators({"one": model, "two": model})
    assert len(both.ax_.patches) == 6


# ---- Gram matrices next to X ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_gram(problem):
    """The second view as a Gram matrix, the others as features."""
    X, y, views = problem
    gram = RBF(np.sqrt(3.0))(X[:, views["view_2"]])
    columns = [*range(*views["view_1"].indices(9)), *range(*views["view_3"].indices(9))]
    kernel = 20.0 * WeightedSum(
        {"one": View(RBF(1.7), [0, 1, 2]), "net": Precomputed("net"), "three": View(RBF(1.7), [3, 4, 5])}
    )
    return X[:, columns], y, gram, kernel


def test_a_gram_view_is_the_same_as_the_features_it_was_made_from(problem, with_gram):
    X, y, views = problem
    few, rest = np.arange(100), np.arange(100, 150)
    features, _, gram, kernel = with_gram
    fixed = {"hyper": "fixed", "standardize": False}
    joint = GPClassifier(kernel, **fixed).fit(features[few], y[few], grams={"net": gram[:100, :100]})
    plain = 20.0 * WeightedSum(
        {
            "one": View(RBF(1.7), views["view_1"]),
            "net": View(RBF(np.sqrt(3.0)), views["view_2"]),
            "three": View(RBF(1.7), views["view_3"]),
        }
    )
    expected = GPClassifier(plain, **fixed).fit(X[few], y[few])
    grams = {"net": gram[100:, :100]}
    np.testing.assert_allclose(
        joint.predict_proba(features[rest], grams=grams), expected.predict_proba(X[rest]), rtol=1e-8, atol=1e-12
    )
    assert joint.log_evidence_ == pytest.approx(expected.log_evidence_, rel=1e-9)
    np.testing.assert_allclose(
        joint.latent(features[rest], grams=grams).cov, expected.latent(X[rest]).cov, rtol=1e-7, atol=1e-10
    )
    # All objects in one matrix, and rows that say which.
    by_rows = GPClassifier(kernel, **fixed).fit(features[few], y[few], grams={"net": gram}, rows=few)
    np.testing.assert_allclose(
        by_rows.predict_log_proba(features[rest], grams={"net": gram}, rows=rest),
        joint.predict_log_proba(features[rest], grams=grams),
        rtol=1e-9,
        atol=1e-12,
    )
    again = pickle.loads(pickle.dumps(joint))
    np.testing.assert_array_equal(
        again.predict(features[rest], grams=grams), joint.predict(features[rest], grams=grams)
    )


@pytest.mark.parametrize("join", [lambda a, b: a + b, lambda a, b: 10.0 * (a * b)], ids=["sum", "product"])
def test_a_gram_view_without_a_weighted_sum(problem, join):
    X, y, views = problem
    own, other = views["view_1"], views["view_2"]
    gram = RBF(1.7)(X[:60, other])
    model = GPClassifier(join(Precomputed("net"), RBF(1.5)), hyper="fixed")
    model.fit(X[:40, own], y[:40], grams={"net": gram[:40, :40]})
    expected = GPClassifier(join(View(RBF(1.7), other), View(RBF(1.5), own)), hyper="fixed").fit(X[:40], y[:40])
    assert model.log_evidence_ == pytest.approx(expected.log_evidence_, rel=1e-10)
    answer = model.predict_proba(X[40:60, own], grams={"net": gram[40:, :40]})
    np.testing.assert_allclose(answer, expected.predict_proba(X[40:60]), rtol=1e-8)
    # Without a WeightedSum every part of the kernel must know every row.
    gappy = gram.copy()
    gappy[7] = gappy[:, 7] = np.nan
    with pytest.raises(ValueError, match=r"Gram view 'net': expected covariances of every row, got NaN in row 7"):
        clone(model).fit(X[:40, own], y[:40], grams={"net": gappy[:40, :40]})
    with pytest.raises(ValueError, match=r"Gram view 'net': expected covariances of every row, got NaN in row 0"):
        model.predict(X[:3, own], grams={"net": np.full((3, 40), np.nan)})


def test_grams_in_cross_validation(with_gram):
    X, y, gram, kernel = with_gram
    with config_context(enable_metadata_routing=True):
        model = GPClassifier(kernel, hyper="fixed").set_fit_request(grams=True, rows=True)
        model = model.set_score_request(grams=True, rows=True)
        scores = cross_val_score(
            make_pipeline(StandardScaler(), model),
            X,
            y,
            cv=StratifiedKFold(3),
            params={"grams": {"net": gram}, "rows": np.arange(len(y))},
            error_score="raise",
        )
    assert scores.shape == (3,)
    assert scores.mean() > 0.6


def test_grams_with_rows_set_aside(with_gram):
    X, y, gram, kernel = with_gram
    model = GPClassifier(kernel, hyper="held_out", random_state=0).fit(X, y, grams={"net": gram})
    assert model.score(X, y, grams={"net": gram}) > 0.8


def test_weighted_sum_within_a_sum(problem):
    X, y, views = problem
    X = X.copy()
    X[0, 0] = np.nan
    model = GPClassifier(kernel_of(views) + White(0.1), standardize=True).fit(X, y)
    assert model.view_weights_.names == ("view_1", "view_2", "view_3")
    assert model.view_weights_.mean[2] < 0.1
    assert model.score(X, y) > 0.8


def test_columns_are_found_beside_grams(with_gram):
    X, y, gram, _ = with_gram
    answers = [
        GPClassifier(WeightedSum({"net": Precomputed("net"), "one": View(RBF(), own)}), hyper="fixed")
        .fit(X, y, grams={"net": gram})
        .predict_proba(X[:4], grams={"net": gram[:4]})
        for own in ([5], [-1], np.arange(6) == 5, slice(5, None))
    ]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-12)
    twice = WeightedSum({"net": Precomputed("net"), "again": Precomputed("net")})
    model = GPClassifier(twice, hyper="fixed").fit(X, y, grams={"net": gram})
    assert model.predict(X[:4], grams={"net": gram[:4]}).shape == (4,)


def test_a_row_that_a_gram_view_does_not_know(with_gram):
    X, y, gram, kernel = with_gram
    gappy = gram.copy()
    gappy[7] = gappy[:, 7] = np.nan
    model = GPClassifier(kernel, hyper="fixed").fit(X, y, grams={"net": gappy})
    assert np.all(np.isfinite(model.predict_proba(X[:3], grams={"net": gappy[:3]})))
    nothing = model.predict_proba(X[:3], grams={"net": np.full((3, len(y)), np.nan)})
    assert np.all(np.isfinite(nothing))
    assert not np.allclose(nothing, model.predict_proba(X[:3], grams={"net": gappy[:3]}))


def test_unequal_variances_need_the_new_rows_own(with_gram):
    X, y, gram, kernel = with_gram
    scale = np.linspace(1.0, 2.0, len(y))
    scaled = gram * np.outer(scale, scale)
    model = GPClassifier(kernel, hyper="fixed").fit(X[:100], y[:100], grams={"net": scaled[:100, :100]})
    cross, own = scaled[100:, :100], np.diag(scaled)[100:, None]
    with pytest.raises(ValueError, match=r"expected shape \(50, 101\) with k\(x, x\) in the last column"):
        model.predict(X[100:], grams={"net": cross})
    assert model.predict(X[100:], grams={"net": np.hstack([cross, own])}).shape == (50,)


def test_bad_grams(with_gram):
    X, y, gram, kernel = with_gram
    model = GPClassifier(kernel, hyper="fixed")
    n = len(y)
    skew = gram.copy()
    skew[0, 1] += 0.5
    negative = gram - 0.5 * np.eye(n) - 0.3
    for grams, message in (
        (None, r"expected fit\(..., grams=\{name: matrix\}\) with the Gram views \['net'\] of the kernel, got none"),
        ({"web": gram}, r"expected grams with the Gram views \['net'\] of the kernel, got \['web'\]"),
        ({"net": gram[:, :5]}, r"Gram view 'net': expected a matrix of shape \(150, 150\)"),
        ({"net": gram[0]}, r"expected a matrix, got an array of shape \(150,\)"),
        ({"net": skew}, "Gram view 'net' expects a symmetric Gram matrix"),
        ({"net": negative}, "its smallest eigenvalue is -"),
        ({"net": np.where(np.eye(n) > 0, np.nan, gram)}, "or NaN in whole rows"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, grams=grams)
    with pytest.raises(ValueError, match="expected rows between 0 and 149"):
        model.fit(X, y, grams={"net": gram}, rows=np.arange(1, 151))
    with pytest.raises(ValueError, match="expected rows, a whole number for each of 150 rows"):
        model.fit(X, y, grams={"net": gram}, rows=np.arange(3))
    model.fit(X, y, grams={"net": gram})
    with pytest.raises(ValueError, match=r"expected predict\(.*got none"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"covariances of 3 rows with the 150 rows of fit, shape \(3, 150\)"):
        model.predict(X[:3], grams={"net": gram})
    for wrong, value in ((5, np.inf), (slice(0, 149), np.nan)):
        broken = gram[:3].copy()
        broken[1, wrong] = value
        with pytest.raises(ValueError, match=r"finite covariances and a variance >= 0, or only NaN.* in row 1"):
            model.predict(X[:3], grams={"net": broken})
    with pytest.raises(ValueError, match="a variance >= 0, or only NaN"):
        model.predict(X[:1], grams={"net": np.c_[gram[:1], [[-5.0]]]})
    with pytest.raises(ValueError, match="expected a matrix of numbers, got str"):
        model.predict(X, grams={"net": "K"})
    with pytest.raises(ValueError, match="draws at new rows need the covariances between them"):
        model.sample_latent(X)
    with pytest.raises(ValueError, match="expected a kernel with Precomputed"):
        GPClassifier().fit(X, y, rows=np.arange(n))
    with pytest.raises(ValueError, match="it was not given to fit"):
        model.predict(X, grams={"net": gram}, rows=np.arange(n))
    with pytest.raises(ValueError, match="covariances between new rows need their own Gram matrix"):
        model.latent(X[:3], full_cov=True, grams={"net": gram[:3]})
    with pytest.raises(ValueError, match=r"expected a kernel with Precomputed\(name\) views for grams="):
        GPClassifier().fit(X, y, grams={"net": gram})
    with pytest.raises(ValueError, match=r"Precomputed\('net'\) needs a Gram matrix next to X"):
        IVMClassifier(kernel).fit(X, y)


def test_sequences_and_a_network_make_views():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    motif = np.where(y == 0, "ACDC", "DADA")
    words = ["".join(rng.choice(list("ACDE"), 12)) + motif[i] for i in range(60)]
    same = y[:, None] == y
    edges = np.triu(rng.uniform(size=(60, 60)) < np.where(same, 0.15, 0.05), 1)
    grams = {
        "sequence": spectrum_gram(words, k=3),
        "network": diffusion_gram((edges | edges.T).astype(float), time=3.0),
    }
    X = rng.standard_normal((60, 2))
    kernel = WeightedSum(
        {"sequence": Precomputed("sequence"), "network": Precomputed("network"), "noise": View(RBF(), [0, 1])}
    )
    few = np.arange(60) % 3 > 0
    model = GPClassifier(kernel).fit(X[few], y[few], grams=grams, rows=np.flatnonzero(few))
    rest = np.flatnonzero(~few)
    assert model.score(X[rest], y[rest], grams=grams, rows=rest) > 0.8
    assert model.view_weights_.mean.argmin() == 2


# ---- categories and gaps --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    """Numbers and categories; neither alone says the label."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.standard_normal(120),
            "colour": rng.choice(["red", "green", "blue"], 120),
            "weight": 40.0 + 9.0 * rng.standard_normal(120),
            "shape": pd.Categorical(rng.choice(["round", "long"], 120)),
        }
    )
    turned = np.where(frame["colour"] == "red", -1.0, 1.0)
    y = np.where(turned * frame["size"] + 0.05 * (frame["weight"] - 40.0) > 0, "yes", "no")
    return frame, y


@pytest.mark.parametrize("estimator", [GPClassifier(), IVMClassifier(n_active=80)])
def test_a_table_of_numbers_and_categories(table, estimator):
    frame, y = table
    model = clone(estimator).fit(frame[:80], y[:80])
    assert model.score(frame[80:], y[80:]) > 0.8
    assert {name: list(values) for name, values in model.categories_.items()} == {
        "colour": ["blue", "green", "red"],
        "shape": ["long", "round"],
    }
    assert model.relevance_.shape == (4,)
    # The order of categories, or another way to write them, changes nothing.
    other = frame.assign(colour=frame["colour"].map({"red": "a", "green": "b", "blue": "c"}))
    again = clone(estimator).fit(other[:80], y[:80])
    np.testing.assert_allclose(again.predict_proba(other[80:]), model.predict_proba(frame[80:]), rtol=1e-6)


def test_categories_help(table):
    frame, y = table
    numbers = frame[["size", "weight"]]
    alone = GPClassifier().fit(numbers[:80], y[:80]).score(numbers[80:], y[80:])
    assert GPClassifier().fit(frame[:80], y[:80]).score(frame[80:], y[80:]) > alone + 0.1


def test_only_categories():
    frame = pd.DataFrame({"a": list("xyxyxyxyxyxy"), "b": list("ppqqppqqppqq")})
    y = (frame["a"] == "x").to_numpy()
    model = GPClassifier().fit(frame, y)
    np.testing.assert_array_equal(model.predict(frame), y)


def test_a_new_category_matches_none_and_is_told_every_time(table):
    frame, y = table
    model = GPClassifier().fit(frame, y)
    new = frame[:4].assign(colour=["purple", "red", "green", "blue"])
    asked = []
    for ask in (
        model.predict_proba,
        model.predict_proba,
        pickle.loads(pickle.dumps(model)).predict_proba,
        model.latent,
    ):
        with pytest.warns(UserWarning, match=r"columns \['colour'\] contain categories not seen in fit"):
            asked.append(ask(new))
    np.testing.assert_array_equal(asked[1], asked[0])
    np.testing.assert_array_equal(asked[2], asked[0])
    assert asked[3].cov[0, 0] > model.latent(frame[:1]).cov[0, 0]


@pytest.mark.parametrize("kind", ["numbers", "bool"])
def test_codes_are_not_scaled(kind):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2 if kind == "bool" else 5, 80)
    X = np.column_stack([rng.standard_normal(80), codes])
    y = codes % 2
    kernel = WeightedSum({"number": View(RBF(), [0]), "code": View(Categorical(), [1])})
    model = GPClassifier(kernel, hyper="fixed")
    frame = pd.DataFrame({"a": X[:, 0], "b": codes.astype(bool)}) if kind == "bool" else X
    model.fit(frame, y)
    np.testing.assert_array_equal(model.input_scale_[1], 1.0)
    assert (model.kernel_.views["code"](model._objective.problem.X) > 0.99).sum() == (codes[:, None] == codes).sum()


def test_odd_tables(table):
    frame, y = table
    numbered = frame.set_axis([0, 1, 2, 3], axis=1)
    model = GPClassifier(hyper="fixed").fit(numbered, y)
    expected = GPClassifier(hyper="fixed").fit(frame, y)
    np.testing.assert_allclose(model.predict_proba(numbered), expected.predict_proba(frame))
    for odd, message in (
        (frame.assign(when=pd.period_range("2020", periods=120)), "column 'when': expected dates or times, got Period"),
        (frame.set_axis(["a", "b", "a", "c"], axis=1), "expected columns with different names, got 'a' more than once"),
        (frame.set_axis(["a", "b", "c", "b"], axis=1), "expected columns with different names, got 'b' more than once"),
        (frame.assign(colour=[["red"]] * 120), "column 'colour': expected text or other categories with an order"),
    ):
        with pytest.raises(ValueError, match=message):
            GPClassifier(hyper="fixed").fit(odd, y)
    with pytest.raises(ValueError, match="columns of categories need a data frame, got ndarray"):
        GPClassifier(hyper="fixed").fit(frame.to_numpy(), y)
    with pytest.raises(ValueError, match="column 'size': expected numbers, as in fit, got 'tall'"):
        expected.predict(frame.assign(size="tall"))
    # A category that is missing only now is as new as any other.
    with pytest.warns(UserWarning, match="contain categories not seen in fit"):
        expected.predict(frame[:2].assign(colour=None))


def test_text_where_fit_had_numbers():
    X = pd.DataFrame({"u": np.arange(10.0), "v": np.arange(10.0) % 3})
    model = GPClassifier(hyper="fixed").fit(X, X["v"] > 0)
    with pytest.raises(ValueError, match="column 'v': expected numbers, as in fit, got 'high'"):
        model.predict(X.assign(v="high"))
    with pytest.raises(ValueError, match="expected a number in every row of y, got 'low' in row 0"):
        GPRegressor(hyper="fixed").fit(X, ["low"] * 10)


def test_kernels_on_tables(table):
    frame, y = table
    kernel = 30.0 * View(Matern(1.0, nu=2.5, ard=True), dtype="number") * View(Categorical(ard=True), dtype="category")
    model = GPClassifier(kernel, standardize=True).fit(frame[:80], y[:80])
    assert model.score(frame[80:], y[80:]) > 0.8
    # The label does not depend on the shape.
    relevance = dict(zip(frame.columns, model.relevance_, strict=True))
    assert relevance["shape"] < relevance["colour"]
    with pytest.raises(ValueError, match="RBF is for numbers, but column 'colour' holds categories"):
        GPClassifier(RBF()).fit(frame, y)
    with pytest.raises(ValueError, match="expected a data frame with the columns of fit"):
        model.predict(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="expected a column named 'colour', as in fit"):
        model.predict(frame.drop(columns="colour"))
    with pytest.raises(ValueError, match="column 'colour': expected categories of one type, got a mixture of int"):
        GPClassifier().fit(frame.assign(colour=["red", 3] * 60), y)


def test_gaps(table):
    frame, y = table
    gappy = frame.copy()
    gappy.loc[::7, "size"] = np.nan
    gappy.loc[3::9, "colour"] = None
    kernel = 30.0 * WeightedSum(
        {
            "both": View(RBF(), ["size"]) * View(Categorical(), ["colour"]),
            "weight": View(RBF(), ["weight"]),
            "shape": View(Categorical(), ["shape"]),
        }
    )
    model = GPClassifier(kernel).fit(gappy[:80], y[:80])
    whole = gappy[80:].notna().all(axis=1)
    assert model.score(gappy[80:][whole], y[80:][whole]) > 0.75
    proba = model.predict_proba(gappy[80:])
    assert np.all(np.isfinite(proba))
    sure = np.abs(proba[:, 0] - 0.5)
    assert sure[~whole].mean() < sure[whole].mean()  # less is known of them
    empty = pd.DataFrame({"size": [np.nan], "colour": [None], "weight": [np.nan], "shape": [None]})
    with pytest.raises(ValueError, match="at least one view without NaN in every row, got none in row 0"):
        model.predict(empty)
    # Without such a kernel a missing category is one of its own, and a missing number is filled.
    assert GPClassifier(hyper="fixed").fit(gappy, y).input_names_[-1] == "size (missing)"


def test_numbers_from_views_and_tables(table):
    frame, _ = table
    y = np.sin(frame["size"]) + (frame["colour"] == "red") + 0.01 * frame["weight"]
    assert GPRegressor().fit(frame[:80], y[:80]).score(frame[80:], y[80:]) > 0.9


def test_column_transformer_output(table):
    frame, y = table
    numbers = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")), verbose_feature_names_out=False
    ).set_output(transform="pandas")
    kernel = WeightedSum({"size": View(RBF(), "si*"), "weight": View(Linear(), ["weight"])})
    model = make_pipeline(numbers, GPClassifier(kernel, hyper="fixed"))
    assert cross_val_score(model, frame, y, cv=3).shape == (3,)


# ---- voting ---------------------------------------------------------------------------------------------


def test_rules(problem):
    X, y, views = problem
    voting = ViewVotingClassifier(LogisticRegression(), views).fit(X, y)
    said = np.stack([LogisticRegression().fit(X[:, own], y).predict_proba(X[:, own]) for own in views.values()])
    np.testing.assert_allclose(voting.predict_proba(X), said.mean(axis=0), rtol=1e-10)
    product = said.prod(axis=0)
    voting.set_params(voting="product")
    np.testing.assert_allclose(voting.predict_proba(X), product / product.sum(axis=1, keepdims=True), rtol=1e-10)
    np.testing.assert_array_equal(voting.predict(X), voting.classes_[product.argmax(axis=1)])
    assert list(voting.estimators_) == list(views)
    assert cross_val_score(clone(voting), X, y, cv=3).shape == (3,)


def test_settings_of_the_voters(problem):
    _, _, views = problem
    with pytest.raises(
        ValueError, match=r"estimator__n_restarts_optimizer'\] of, got None; pass estimator=GPClassifier\(\)"
    ):
        ViewVotingClassifier(views=views).set_params(estimator__n_restarts_optimizer=2)
    voting = ViewVotingClassifier(views=views).set_params(estimator=GPClassifier(), estimator__n_restarts_optimizer=2)
    assert voting.estimator.n_restarts_optimizer == 2
    with pytest.raises(ValueError, match="of, got None"):
        voting.set_params(estimator=None, estimator__n_restarts_optimizer=2)


def test_voting_on_a_table(table):
    frame, y = table
    views = {"numbers": make_column_selector(dtype_include="number"), "rest": ["colour", "shape"]}
    voting = ViewVotingClassifier(views=views).fit(frame, y, sample_weight=np.ones(len(y)))
    assert voting.predict(frame).shape == (120,)
    assert list(voting.estimators_["rest"][-1].categories_) == ["colour", "shape"]


def test_views_that_contradict_each_other(problem):
    X, y, views = problem
    voting = ViewVotingClassifier(DecisionTreeClassifier(random_state=0), views, voting="product").fit(X[:75], y[:75])
    np.testing.assert_allclose(voting.predict_proba(X[75:]).sum(axis=1), 1.0)
    with config_context(enable_metadata_routing=True):
        voting.fit(X, y, sample_weight=np.ones(len(y)))
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    assert ViewVotingClassifier(LogisticRegression(), {"u": "a", "v": ["b"]}).fit(frame, y).predict(frame).shape == (
        150,
    )
    with pytest.raises(ValueError, match="view 'u': "):
        ViewVotingClassifier(LogisticRegression(), {"u": ["z"]}).fit(frame, y)


def test_the_joint_model_beats_the_rules():
    X, y, views = make_views(300, (0.5, 0.5), n_classes=2, random_state=1)
    joint = GPClassifier(kernel_of(views)).fit(X[:150], y[:150])
    voting = ViewVotingClassifier(views=views).fit(X[:150], y[:150])
    rows = np.arange(150)
    ours = joint.predict_log_proba(X[150:])[rows, y[150:]].mean()
    for rule in ("sum", "product"):
        voting.set_params(voting=rule)
        assert ours > voting.predict_log_proba(X[150:])[rows, y[150:]].mean()
        assert joint.score(X[150:], y[150:]) >= voting.score(X[150:], y[150:])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"voting": "median"}, ValueError, r"voting must be one of \['sum', 'product'\], got 'median'"),
        ({"views": None}, ValueError, "views must be a dictionary of name to columns, not empty; got None"),
        ({"views": {"a": []}}, ValueError, "view 'a': expected at least one column, got none"),
        ({"estimator": LinearSVC()}, TypeError, "estimator must have predict_proba, which LinearSVC has not"),
        ({"estimator": GPClassifier}, TypeError, "estimator must be a classifier object"),
    ],
)
def test_bad_votes(problem, change, error, message):
    X, y, views = problem
    with pytest.raises(error, match=message):
        ViewVotingClassifier(**{"estimator": LogisticRegression(), "views": views, **change}).fit(X, y)


def test_the_generator_refuses_nonsense():
    with pytest.raises(ValueError, match="shares must be numbers >= 0, not all 0"):
        make_views(shares=(0.0, 0.0))
    with pytest.raises(ValueError, match="n_samples must be at least 2"):
        make_views(1)
