"""NullCategoryClassifier as a user meets it, and against published values."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gpclass import IVMClassifier, NullCategoryClassifier
from gpclass.datasets import load_crescent, make_crescents
from gpclass.hyper import Alternating
from gpclass.inference import IVM
from gpclass.inference.prior import ActivePrior
from gpclass.kernels import RBF, Constant, Linear, White
from gpclass.likelihoods import NullCategory

KERNEL = 2.6 * RBF(3.7) + White(1e-3)


@pytest.fixture(scope="module")
def crescents():
    return make_crescents(200, random_state=1)


@pytest.fixture(scope="module")
def model(crescents):
    X, y, _ = crescents
    return NullCategoryClassifier(n_active=60).fit(X, y)


@pytest.fixture(scope="module")
def rings():
    """Three arcs, each with four labels in its first half."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 60)
    angle = np.tile(np.linspace(0.0, 1.8, 60), 3) + 2.1 * truth
    X = 3.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.15 * rng.standard_normal((180, 2))
    known = np.tile(np.isin(np.arange(60), [1, 10, 20, 30]), 3)
    return X, np.where(known, truth, -1), truth


def test_published_parameters():
    """GPc on the crescent data, 100 active rows: inverse width 0.0716589, variance 2.58166, gamma 0.9075, bias 0.237,
    no white noise (tests/golden/README.md)."""
    X, y = load_crescent(return_X_y=True)
    y = np.where(y == 0, -1, y > 0).astype(int)
    start = np.exp(-2.0)
    model = NullCategoryClassifier(1.0 * RBF(1.0) + Constant(start) + White(start), n_active=100).fit(X, y)
    params = model.kernel_.params
    assert params["rbf.length_scale"] ** -2 == pytest.approx(0.0716589, rel=0.1)
    assert params["rbf.variance"] == pytest.approx(2.58166, rel=0.1)
    assert params["white.variance"] < 1e-4
    assert params["constant.variance"] < 1e-2
    assert model.likelihood_.bias == pytest.approx(0.237, abs=0.1)
    np.testing.assert_allclose(model.gamma_, 0.9075)
    assert len(model.active_) == 100


def test_rows_without_labels_help():
    gains = []
    for seed in range(3):
        X, y, truth = make_crescents(200, random_state=seed)
        known = y >= 0
        alone = IVMClassifier().fit(X[known], y[known])
        both = NullCategoryClassifier(n_active=60).fit(X, y)
        gains.append(np.mean(alone.predict(X) != truth) - np.mean(both.predict(X) != truth))
    assert np.mean(gains) > 0.02


def test_attributes(model, crescents):
    X, y, truth = crescents
    known = y >= 0
    np.testing.assert_array_equal(model.transduction_[known], y[known])
    np.testing.assert_array_equal(model.transduction_[~known], model.predict(X[~known]))
    assert np.mean(model.transduction_ == truth) > 0.95
    np.testing.assert_allclose(model.gamma_, np.mean(~known))
    assert len(model.active_) == 60
    assert np.any(y[model.active_] < 0)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba, rtol=1e-9)
    assert model.loo_proba_.shape == (200, 2)
    assert np.isfinite(model.log_evidence_)
    # Far from all rows nothing is known: probabilities return to the bias.
    far = model.predict_proba([[1e3, 1e3]])[0, 1]
    z = model.likelihood_.bias / np.sqrt(model.kernel_.diag(np.zeros((1, 2)))[0] * model.calibration_.variance_scale)
    assert far == pytest.approx(norm.cdf(z), abs=0.1)


def test_boundary_shuns_rows(model, crescents):
    X, _, _ = crescents
    mean = model.latent(X).mean[:, 0] + model.likelihood_.bias
    assert np.mean(np.abs(mean) < 0.5) < 0.15


@pytest.fixture(scope="module")
def learned(rings):
    """Three classes, with the kernel learned."""
    X, y, _ = rings
    return NullCategoryClassifier(n_active=60).fit(X, y)


@pytest.mark.parametrize("link", ["cone", "softmax"])
def test_several_classes(rings, learned, link):
    X, y, truth = rings
    model = learned
    if link != "cone":
        model = NullCategoryClassifier(learned.kernel_, n_active=60, link=link, hyper="fixed", standardize=True)
        model.fit(X, y)
    assert len(model.active_) == 3
    assert model.gamma_.shape == (3, 2)
    assert np.mean(model.transduction_ == truth) > 0.95
    assert model.predict_proba(X).shape == (180, 3)
    known = y >= 0
    alone = IVMClassifier().fit(X[known], y[known])
    assert model.score(X, truth) > alone.score(X, truth)
    mean, cov = model.latent(X[:4], full_cov=True)
    assert cov.shape == (3, 4, 4)
    np.testing.assert_allclose(model.latent(X[:4]).mean, mean)
    assert model.sample_latent(X[:4], 5, random_state=0).shape == (5, 4, 3)


def test_marks_of_missing_labels(crescents):
    X, y, _ = crescents
    settings = {"kernel": KERNEL, "n_active": 30, "hyper": "fixed"}
    expected = NullCategoryClassifier(**settings).fit(X, y).predict_proba(X)
    names = np.array(["lower", "upper"], dtype=object)[y]
    names[y < 0] = None
    for given in (np.where(y < 0, np.nan, y), names, np.where(y < 0, "-1", names.astype(str)), y[:, None], list(y)):
        model = NullCategoryClassifier(**settings).fit(X, given)
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    signs = np.where(y < 0, np.nan, 2 * y - 1)  # here -1 is a class
    model = NullCategoryClassifier(unlabelled=None, **settings).fit(X, signs)
    assert model.classes_.tolist() == [-1.0, 1.0]
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    model = NullCategoryClassifier(unlabelled="?", **settings).fit(X, np.where(y < 0, "?", names.astype(str)))
    assert model.classes_.tolist() == ["lower", "upper"]
    assert set(model.transduction_) == {"lower", "upper"}


def test_what_is_no_mark_is_a_label(crescents):
    X, y, _ = crescents
    settings = {"kernel": KERNEL, "n_active": 30, "hyper": "fixed"}
    truths = np.array([False, True], dtype=object)[y]
    truths[y < 0] = None
    assert NullCategoryClassifier(unlabelled=0, **settings).fit(X, truths).classes_.tolist() == [False, True]
    words = np.array(["nan", "some"], dtype=object)[y]
    words[y < 0] = pd.NA
    assert NullCategoryClassifier(**settings).fit(X, words).classes_.tolist() == ["nan", "some"]


def test_evidence_of_several_boundaries(rings):
    X, y, _ = rings
    model = NullCategoryClassifier(KERNEL, n_active=30, hyper="fixed").fit(X[::2], y[::2])
    value = model.log_marginal_likelihood()
    assert np.isfinite(value)
    apart = [part.evidence(model.hyper_.theta) for part in model._objective._parts()]
    assert value == pytest.approx(sum(apart))


def test_missing_probabilities(crescents):
    X, y, truth = crescents
    y = np.where((truth == 1) & (np.arange(200) % 4 > 0), truth, y)  # labels of the upper class are far more common
    settings = {"kernel": KERNEL, "n_active": 50, "hyper": Alternating(n_rounds=2)}
    learned = NullCategoryClassifier(gamma="learned", **settings).fit(X, y)
    below, above = learned.gamma_
    assert below > 0.8
    assert above < 0.4
    assert NullCategoryClassifier(gamma=0.25, **settings).fit(X, y).gamma_.tolist() == [0.25, 0.25]
    # With one gamma for both sides, the share of rows without label maximises sum log Z (LPJ05 section 4.4).
    share = np.mean(y < 0)
    mean, var = learned.latent(X)
    slope = NullCategory(share, share, fixed=("bias", "variance")).tilted_gradient(y, mean, var)
    assert slope.sum() == pytest.approx(0.0, abs=1e-8)


def test_rows_that_narrow_nothing_stay_outside(crescents):
    """A row without label that the beliefs span would widen them: its negative precision is set to zero, and it is
    not taken up."""
    X, y, _ = crescents
    likelihood = NullCategory(0.9, 0.9)
    for block_size in (1, 8):
        active = IVM(200, block_size=block_size).select(ActivePrior(KERNEL, X, 1), y, likelihood).active
        assert active.size < 200
        outside = active.eligible
        second = likelihood.tilted(y, active.mean, active.variance)[2]
        assert np.all(-second[outside] * active.variance[outside] < 1e-10)
        assert np.all(active.site_precision[: active.size] > 0)


def test_scikit_learn_manners(model, crescents):
    X, y, truth = crescents
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    pipe = make_pipeline(StandardScaler(), clone(model).set_params(kernel=1.0 * RBF(1.0), n_active=40))
    assert np.mean(pipe.fit(X, y).predict(X) == truth) > 0.8
    assert model.set_params(verbose=0).get_params()["gamma"] == "proportion"
    other = NullCategoryClassifier(model.kernel_, n_active=60, hyper="fixed", standardize=True, random_state=3).fit(
        X, y
    )
    assert other.score(X, truth) > 0.9


def test_the_seed_reaches_the_learner(crescents):
    X, y, _ = crescents
    drawn = []

    class Drawing(Alternating):
        def __call__(self, model, rng, *args):
            drawn.append(rng.random())
            return super().__call__(model, rng, *args)

    for seed in (0, 0, 1):
        NullCategoryClassifier(KERNEL, n_active=10, hyper=Drawing(n_rounds=1), random_state=seed).fit(X, y)
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("labels", "settings", "message"),
    [
        ([0, 1] * 5, {}, "expected some rows without a label .marked -1, None or NaN., got a label in every one of 10"),
        ([-1] * 10, {}, "got no label at all in 10 rows"),
        ([-1, 3] * 5, {}, "at least 2 classes, got 5 labelled rows, all 3, and 5 without a label"),
        ([-1, 0, 1, "a", None] * 2, {}, "mixture"),
        ([-1, 0, 1] * 3, {}, "inconsistent numbers of samples"),
        ([[0, 1]] * 10, {}, r"expected labels y \(n,\), got an array of shape \(10, 2\)"),
        ([-1, 0.5, 1.25, 2.75, -1] * 2, {}, "Unknown label type"),
        ([-1, 0, 1, 0, 1] * 2, {"gamma": 1.5}, "gamma must be"),
        ([-1, 0, 1, 0, 1] * 2, {"gamma": "ratio"}, "gamma must be"),
        ([-1, 0, 1, 0, 1] * 2, {"link": "vote"}, "link must be one of"),
        ([-1, 0, 1, 0, 1] * 2, {"hyper": "nuts"}, "hyper must be 'alternating'"),
        ([-1, 0, 1, 0, 1] * 2, {"noise": -1.0}, "variance must be positive"),
    ],
)
def test_bad_input(labels, settings, message):
    X = np.arange(20.0).reshape(10, 2)
    with pytest.raises(ValueError, match=message):
        NullCategoryClassifier(RBF(3.0), **settings).fit(X, labels)


def test_crescents_are_checked():
    with pytest.raises(ValueError, match="labelled must be above 0"):
        make_crescents(labelled=0.0)
    X, y, truth = make_crescents(10, labelled=1e-9, random_state=0)
    assert X.shape == (10, 2)
    assert sorted(y[y >= 0]) == [0, 1]
    assert np.all(truth[y >= 0] == y[y >= 0])


def test_rows_that_the_prior_has_settled():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(np.arange(30) % 2, X[:, 0] > 0, -1)
    X[0] = 0.0
    model = NullCategoryClassifier(Linear(), n_active=8, hyper="fixed").fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert 0 not in model.active_
