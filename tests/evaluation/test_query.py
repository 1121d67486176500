"""What to label next against conditioning the joint Gaussian of a small pool by hand."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gpclass
from gpclass import (
    GPClassifier,
    GPOrdinalClassifier,
    GPRegressor,
    IVMClassifier,
    NearestNeighborGPClassifier,
    SparseGPClassifier,
    query,
)
from gpclass.evaluation import query as module
from gpclass.evaluation.observations import DRAWS, latent_moments, predicted
from gpclass.evaluation.query import _Candidates, lazy_greedy
from gpclass.evaluation.uncertainty import entropy_split, max_correlation
from gpclass.hyper import Importance
from gpclass.inference import Gibbs
from gpclass.kernels import RBF, Precomputed, View, WeightedSum

X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
HARD = y > 0
TWO_X, TWO_Y = X[HARD], y[HARD]
STRATEGIES = ["bald", "entropy", "margin"]


def two_classes():
    return GPClassifier(4.0 * RBF(1.0), hyper="fixed").fit(TWO_X[::6], TWO_Y[::6])


def entropy(p):
    return -np.sum(np.where(p > 0, p * np.log(np.maximum(p, 1e-300)), 0.0), axis=-1)


def margin(p):
    ordered = np.sort(p, axis=-1)
    return 1.0 - ordered[..., -1] + ordered[..., -2]


def plain_selection(model, pool, n, strategy):
    """Greedy choice for the probit and two classes, by the explicit joint Gaussian and integrals on a fine grid."""
    a, b, lapse_rate = model.calibration_
    mean, cov = model.latent(pool, full_cov=True)
    mean, V = a * mean[:, 0], b * cov[0]
    u = np.linspace(-8, 8, 2001)
    weights = norm.pdf(u) / norm.pdf(u).sum()

    def proba(m, v):
        p = (1 - lapse_rate) * norm.cdf(m / np.sqrt(1 + v)) + lapse_rate / 2
        return np.stack([1 - p, p], axis=-1)

    measure = margin if strategy == "margin" else entropy
    v = V.diagonal()
    given_f = entropy(proba(mean[:, None] + np.sqrt(v)[:, None] * u, 0.0)) @ weights if strategy == "bald" else 0.0
    p = proba(mean, v)
    slope = (1 - lapse_rate) * norm.pdf(mean / np.sqrt(1 + v)) / np.sqrt(1 + v)
    F = slope**2 * (1 / p).sum(axis=1)
    noise = (1 - v * F) / F  # variances of the observations in the place of labels
    chosen, scores = [], []
    for _ in range(n):
        cross = V[:, chosen]
        rest = v - np.sum(cross @ np.linalg.inv(V[np.ix_(chosen, chosen)] + np.diag(noise[chosen])) * cross, axis=1)
        later = proba(mean[:, None] + np.sqrt(v - rest)[:, None] * u, rest[:, None])
        score = measure(later) @ weights - given_f
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
        scores.append(score[chosen[-1]])
    return chosen, scores


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_joint_selection_is_that_of_conditioning_by_hand(strategy):
    model, pool = two_classes(), TWO_X[1::9]
    indices, scores = query(model, pool, 6, strategy, return_scores=True)
    expected, values = plain_selection(model, pool, 6, strategy)
    assert indices.tolist() == expected
    np.testing.assert_allclose(scores, values, atol=2e-4)


@pytest.mark.parametrize(
    "model",
    [
        GPClassifier(4.0 * RBF(1.0), hyper="fixed"),
        GPClassifier(4.0 * RBF(1.0), hyper="fixed", inference="ep"),
        GPClassifier(RBF(1.0), hyper=Importance(n_draws=40, n_models=3), random_state=0),
        GPOrdinalClassifier(4.0 * RBF(1.0), hyper="fixed"),
        SparseGPClassifier(RBF(1.0), hyper="fixed", n_inducing=10),
        NearestNeighborGPClassifier(max_iter=5, random_state=0),
    ],
    ids=["vb", "ep", "several kernels", "ordinal", "sparse", "nearest"],
)
def test_the_first_row_has_the_largest_epistemic_entropy(model):
    model.fit(X[::5], y[::5])
    pool = X[1::5]
    epistemic = entropy_split(model, pool, n_draws=DRAWS).epistemic
    indices, scores = query(model, pool, 1, "bald", return_scores=True)
    assert indices[0] == np.argmax(epistemic)
    assert scores[0] == pytest.approx(epistemic.max(), abs=1e-9)


def block_matrix(covariances):
    m, C, k, _ = covariances.shape
    return covariances.reshape(m * C, k * C)


@pytest.mark.parametrize("inference", ["vb", "ep"])
def test_observations_of_several_classes_are_conditioned_on_jointly(inference):
    """Block matrices of all rows and classes, and many draws."""
    model = GPClassifier(2.0 * RBF(1.0), hyper="fixed", inference=inference).fit(X[::10], y[::10])
    pool = X[3::30]
    state = _Candidates(model, model._rows(pool), module._MEASURES["entropy"], informative=False)
    chosen, others = [0, 3], np.array([1, 2, 4])
    scores, _ = state.scorer(chosen)(others)
    (member,) = state.members
    latent = latent_moments(member, pool)
    V = member.calibration.variance_scale * block_matrix(member.posterior.covariances_with(pool)(pool))
    C, T = 3, np.zeros((6, 6))
    for k, row in enumerate(chosen):
        # F by the score function: d p(y) / d mean = E p(y | f) V^-1 (f - mean)
        own = latent.cov[row]
        u = np.random.default_rng(row).standard_normal((6000, C)) @ np.linalg.cholesky(own).T
        u = np.concatenate([u, -u])
        p = model.likelihood_.predict(latent.mean[row] + u, np.zeros_like(u))
        slopes = np.linalg.solve(own, u.T @ p / len(u))
        F = slopes / p.mean(axis=0) @ slopes.T
        T[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = F @ np.linalg.inv(np.eye(C) - own @ F)
    S = np.concatenate([3 * row + np.arange(C) for row in chosen])
    drop = V[:, S] @ T @ np.linalg.solve(np.eye(6) + V[np.ix_(S, S)] @ T, V[S])
    for row, score in zip(others, scores, strict=True):
        i = slice(3 * row, 3 * row + 3)
        fall = 0.5 * (drop[i, i] + drop[i, i].T)
        moved = latent.mean[row] + np.random.default_rng(0).multivariate_normal(
            np.zeros(C), fall, 1500, check_valid="ignore"
        )
        rest = np.repeat(V[None, i, i] - fall, len(moved), axis=0)
        assert score == pytest.approx(entropy(predicted(member, moved, rest)).mean(), abs=0.03)


@pytest.mark.parametrize("strategy", ["margin", "bald"])
def test_a_few_rows_scored_anew_are_the_choice_of_all_rows_scored(strategy):
    """Three classes; several kernels, whose means move together."""
    model = GPClassifier(RBF(1.0), hyper=Importance(n_draws=40, n_models=2), random_state=0).fit(X[::10], y[::10])
    pool = X[2::4]
    state = _Candidates(model, model._rows(pool), module._MEASURES[strategy], informative=strategy == "bald")
    chosen = []
    for _ in range(5):
        scores = state.scorer(chosen)(np.arange(len(pool)))[0]
        scores[chosen] = -1.0
        chosen.append(int(np.argmax(scores)))
    assert query(model, pool, 5, strategy).tolist() == chosen


@pytest.mark.parametrize("first_rows", [1, 7])
def test_lazy_selection_is_greedy_selection(monkeypatch, first_rows):
    """Coverage: how many new columns a row has; it only falls."""
    monkeypatch.setattr(module, "_FIRST_ROWS", first_rows)
    member = np.random.default_rng(0).random((200, 60)) < 0.1
    asked = []

    def scorer(chosen):
        covered = member[chosen].any(axis=0)

        def score(rows):
            asked.append(len(rows))
            new = (member[rows] & ~covered).sum(axis=1).astype(float)
            return new, new

        return score

    indices, scores = lazy_greedy(scorer, np.full(200, 60.0), 12)
    covered, expected = np.zeros(60, dtype=bool), []
    for _ in range(12):
        new = (member & ~covered).sum(axis=1).astype(float)
        new[expected] = -1.0
        best = new.max()
        assert scores[len(expected)] == best
        expected.append(int(indices[len(expected)]))
        assert new[expected[-1]] == best
        covered |= member[expected[-1]]
    assert sum(asked) < 12 * 200 / 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_large_pool_is_scored_as_a_small_one(monkeypatch, strategy):
    model = two_classes()
    expected = query(model, TWO_X, 8, strategy, return_scores=True)
    for name in ("_MANY_ROWS", "_FIRST_ROWS", "_MOST_ROWS"):
        monkeypatch.setattr(module, name, 5)
    found = query(model, TWO_X, 8, strategy, return_scores=True)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], atol=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_copies_come_last(strategy):
    model, pool = two_classes(), TWO_X[1::9]
    best = query(model, pool, 1, strategy)[0]
    copies = np.concatenate([np.repeat(pool[[best]], 10, axis=0), pool])
    chosen, scores = query(model, copies, len(pool), strategy, return_scores=True)
    assert chosen[0] == 0
    assert len(np.unique(copies[chosen], axis=0)) == len(pool)
    assert np.all(scores >= 0)


def test_near_copies_tell_less_than_other_rows():
    model, pool = two_classes(), TWO_X[1::9]
    best, second = query(model, pool, 2, "bald")
    crowd = pool[best] + 1e-3 * np.random.default_rng(0).normal(size=(30, 4))
    chosen = query(model, np.concatenate([crowd, pool[[second]]]), 2, "bald")
    assert chosen[0] < 30
    assert chosen[1] == 30


def test_rows_of_nearest_neighbour_models_are_told_apart_by_the_kernel():
    rows, labels = make_classification(300, 4, random_state=0)
    model = NearestNeighborGPClassifier(max_iter=5, random_state=0).fit(rows[:200], labels[:200])
    pool = rows[200:]
    (first, second), scores = query(model, pool, 2, "entropy", return_scores=True)
    before = entropy(model.predict_proba(pool))
    left = before * (1.0 - max_correlation(model.kernel_, model._rows(pool), model._rows(pool[[first]])) ** 2)
    left[first] = 0.0
    assert first == np.argmax(before)
    assert second == np.argmax(left)
    assert scores[1] == pytest.approx(left.max())


@pytest.mark.filterwarnings("ignore:the chains have not mixed")
@pytest.mark.parametrize(
    "model",
    [
        GPClassifier(RBF(1.0), hyper="fixed", inference="laplace"),
        GPClassifier(RBF(1.0), hyper="fixed", inference=Gibbs(20, 20, 1, 1, evidence=False)),
        IVMClassifier(RBF(1.0), hyper="fixed", n_active=10),
    ],
    ids=["laplace", "gibbs", "ivm"],
)
def test_other_posteriors(model):
    model.fit(TWO_X[::5], TWO_Y[::5])
    found = query(model, TWO_X, 5, "bald", return_scores=True)
    again = query(model, TWO_X, 5, "bald", return_scores=True)
    np.testing.assert_array_equal(found, again)
    assert len(set(found[0])) == 5
    assert np.all(np.isfinite(found[1]))


def test_a_precomputed_kernel_gives_one_row_and_no_two():
    K = RBF(1.0)(TWO_X[::6])
    model = GPClassifier(4.0 * Precomputed(), hyper="fixed", standardize=False).fit(K, TWO_Y[::6])
    cross = RBF(1.0)(TWO_X, TWO_X[::6])
    assert query(model, cross, 1).shape == (1,)
    with pytest.raises(ValueError, match="no covariances between new rows"):
        query(model, cross, 2)


@pytest.mark.parametrize("n", [0, -1, 101, 2.5, True, None])
def test_numbers_of_rows_that_cannot_be(n):
    with pytest.raises(ValueError, match=r"expected n between 1 and the 100 rows of the pool, got"):
        query(two_classes(), TWO_X, n)


def test_bad_input():
    model = two_classes()
    with pytest.raises(ValueError, match="expected a strategy among 'margin', 'entropy', 'bald', got 'best'"):
        query(model, TWO_X, 2, "best")
    with pytest.raises(ValueError, match="expecting 4 features"):
        query(model, TWO_X[:, :2], 2)
    with pytest.raises(ValueError, match="0 sample"):
        query(model, TWO_X[:0], 1)
    with pytest.raises(NotFittedError, match="not fitted"):
        query(GPClassifier(), TWO_X)
    with pytest.raises(TypeError, match="expected a classifier, got GPRegressor"):
        query(GPRegressor(RBF(1.0), hyper="fixed").fit(X[:20], X[:20, 0]), X)
    with pytest.raises(TypeError, match="expected a model with one posterior, got Pipeline"):
        query(make_pipeline(StandardScaler(), two_classes()).fit(TWO_X, TWO_Y), TWO_X)


def test_it_is_at_the_top():
    assert gpclass.query is query


def test_copies_without_a_view_are_copies():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    X[::3, 2:] = np.nan
    kernel = WeightedSum({"one": View(RBF(1.0), [0, 1]), "two": View(RBF(1.0), [2, 3])})
    model = GPClassifier(kernel, hyper="fixed").fit(X, y)
    copies = np.repeat([[0.1, 0.2, np.nan, np.nan]], 5, axis=0)
    chosen = query(model, np.vstack([copies, rng.normal(size=(5, 4))]), n=3)
    assert np.count_nonzero(chosen < 5) <= 1
