"""The nearest-neighbour estimators: batches that join, weights, categories, files, and tables of every odd kind."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, make_moons

import gpclass
from gpclass import NearestNeighborGPClassifier, NearestNeighborGPRegressor
from gpclass.evaluation.uncertainty import entropy_split, similarity
from gpclass.inference.neighbors.local import LocalRegression
from gpclass.kernels import RBF, Matern

QUICK = {"max_iter": 40, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(700, noise=0.15, random_state=0)
    return X[:500], y[:500], X[500:], y[500:]


@pytest.fixture(scope="module")
def model(moons):
    return NearestNeighborGPClassifier(random_state=0).fit(*moons[:2])


def log_loss(model, X, y):
    return -model.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


def test_probabilities_hold_on_new_rows(moons, model):
    _, _, X, y = moons
    assert model.score(X, y) > 0.97
    assert log_loss(model, X, y) < 0.1
    loo = model.loo_proba_
    assert loo.shape == (500, 2)
    np.testing.assert_allclose(loo.sum(axis=1), 1.0)
    claimed = -np.log(loo[np.arange(500), moons[1]]).mean()
    assert claimed == pytest.approx(log_loss(model, X, y), abs=0.06)
    assert -model.hyper_.value == pytest.approx(log_loss(model, X, y), abs=0.06)


def test_far_rows_get_class_shares(moons, model):
    far = model.predict_proba([[1e6, -1e6]])
    assert np.all(np.abs(far - 0.5) < 0.3)
    assert similarity(model, [[1e6, -1e6]])[0] == pytest.approx(0.0, abs=1e-12)
    assert similarity(model, moons[0][:3]) == pytest.approx(1.0)


def test_uncertainty_of_far_rows_is_epistemic(moons, model):
    split = entropy_split(model, np.vstack([moons[2][:50], [[50.0, 50.0]]]))
    np.testing.assert_allclose(split.epistemic + split.aleatoric, split.total)
    assert split.epistemic[-1] > 0.3 > split.epistemic[:50].max()


def test_a_model_that_mixes_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    y = (np.sin(9.0 * (X[:, 0] - X[:, 1])) > 0.0).astype(int)
    few = {"global_model": False, "n_neighbors": 20, "random_state": 0}
    model = NearestNeighborGPClassifier(**few).fit(X[:2000], y[:2000])
    assert model.components_.shape == (2, 2)
    apart = NearestNeighborGPClassifier(Matern(np.ones(2), nu=1.5), **few)
    apart.fit(X[:2000], y[:2000])
    assert apart.components_ is None
    assert log_loss(model, X[2000:], y[2000:]) < log_loss(apart, X[2000:], y[2000:])
    assert model.relevance_.shape == (2,)
    assert model.relevance_[0] == pytest.approx(model.relevance_[1], rel=0.5)
    gpclass.save(model, tmp_path / "mixed.gpclass")
    again = gpclass.load(tmp_path / "mixed.gpclass")
    for other in (again, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(X[2000:]), model.predict_proba(X[2000:]))
    model.partial_fit(X[2000:2250], y[2000:2250])
    assert model.score(X[2250:], y[2250:]) > 0.9


def test_batches_that_join_are_the_same_rows(moons):
    X, y, X_test, _ = moons
    fixed = {"hyper": "fixed", "global_model": False, "calibration": None, "standardize": False}
    whole = NearestNeighborGPClassifier(RBF(0.5), **fixed).fit(X, y)
    parts = NearestNeighborGPClassifier(RBF(0.5), **fixed)
    for rows in (slice(0, 250), slice(250, 500)):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1])
    # The shares of the classes are those of the first batch.
    assert np.abs(parts.predict_proba(X_test) - whole.predict_proba(X_test)).max() < 0.05
    assert parts.n_samples_seen_ == 500
    assert parts.loo_proba_.shape == (500, 2)
    with pytest.raises(ValueError, match="partial_fit"):
        parts.partial_fit(X[:2], [5, 6])


def test_batches_keep_class_weights_and_drop_rows_of_weight_0(moons):
    X, y, X_test, _ = moons
    fixed = {"hyper": "fixed", "global_model": False, "calibration": None, "standardize": False}
    weighted = NearestNeighborGPClassifier(RBF(0.5), class_weight="balanced", **fixed)
    weighted.partial_fit(X[:250], y[:250])
    weighted.partial_fit(X[250:300], y[250:300])
    assert weighted.n_samples_seen_ == 300
    weights = np.ones(300)
    weights[-50:] = 0.0
    for make in (NearestNeighborGPClassifier, NearestNeighborGPRegressor):
        predictions = []
        for end in (250, 300):
            model = make(RBF(0.5), hyper="fixed", random_state=0).partial_fit(
                X[:200], y[:200], sample_weight=weights[:200]
            )
            model.partial_fit(X[200:end], y[200:end], sample_weight=weights[200:end])
            assert model.n_samples_seen_ == 250
            predictions.append(model.predict(X_test))
        np.testing.assert_array_equal(*predictions)


def test_whole_weights_are_nearly_copies():
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(60, 2)), rng.normal(size=60), rng.integers(1, 4, 60)
    fixed = {"hyper": "fixed", "index": "exact", "standardize": False}
    once = NearestNeighborGPRegressor(RBF(1.0), n_neighbors=60, **fixed).fit(X, y, weights)
    copies = NearestNeighborGPRegressor(RBF(1.0), n_neighbors=200, **fixed)
    copies.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(once.predict(X + 0.1), copies.predict(X + 0.1), atol=1e-8)


def test_equal_rows_with_different_labels():
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 2)), 10, axis=0)
    y = np.tile([0, 0, 0, 0, 0, 0, 0, 1, 1, 1], 40)
    model = NearestNeighborGPClassifier(**QUICK).fit(X, y)
    proba = model.predict_proba(X[::10])
    np.testing.assert_allclose(proba[:, 1], 0.3, atol=0.1)


def test_constant_columns_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    with_constant = np.column_stack([X, np.full(200, 7.0)])
    model = NearestNeighborGPClassifier(**QUICK).fit(with_constant, y)
    assert model.score(with_constant, y) > 0.95
    assert np.all(np.isfinite(model.predict_proba(np.column_stack([X, np.full(200, 8.0)]))))
    with pytest.raises(ValueError, match="at least one column that varies"):
        NearestNeighborGPClassifier(**QUICK).fit(np.ones((60, 2)), np.tile([0, 0, 1], 20))


@pytest.mark.parametrize("n", [2, 3, 10])
def test_fewer_rows_than_neighbours(n):
    X, y = np.arange(n, dtype=float)[:, None], np.arange(n) % 2
    model = NearestNeighborGPClassifier(**QUICK).fit(X, y)
    proba = model.predict_proba(X)
    assert np.all(np.isfinite(proba))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.loo_proba_.shape == (n, 2)
    assert np.isfinite(NearestNeighborGPRegressor(**QUICK).fit(X, X[:, 0]).predict(X)).all()


def test_one_row_in_a_class():
    X, y = load_digits(return_X_y=True)
    keep = np.flatnonzero(y < 2)[:150]
    X, y = np.concatenate([X[keep], X[y == 2][:1]]), np.append(y[keep], 2)
    model = NearestNeighborGPClassifier(**QUICK).fit(X, y)
    proba = model.predict_proba(X)
    assert np.all(np.isfinite(proba))
    assert proba.shape == (151, 3)
    assert model.score(X[:150], y[:150]) > 0.98


def test_thousands_of_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5000))
    y = (X[:, 0] > 0).astype(int)
    X[:, :20] += 2.0 * y[:, None]
    model = NearestNeighborGPClassifier(n_neighbors=15, max_iter=3, random_state=0).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert model.relevance_.shape == (5000,)
    assert model.components_ is None


def test_categories_that_were_never_seen():
    rng = np.random.default_rng(0)
    colours = rng.choice(["red", "green", "blue"], 300)
    frame = pd.DataFrame({"size": rng.normal(size=300), "colour": pd.Categorical(colours)})
    y = (colours == "red").astype(int)
    model = NearestNeighborGPClassifier(**QUICK).fit(frame, y)
    assert model.score(frame, y) > 0.98
    assert model.relevance_.shape == (2,)
    new = pd.DataFrame({"size": [0.0, 0.0], "colour": pd.Categorical(["red", "violet"])})
    with pytest.warns(UserWarning, match="colour"):
        proba = model.predict_proba(new)
    assert proba[0, 1] > 0.9 > proba[1].max()


@pytest.mark.parametrize("estimator", [NearestNeighborGPClassifier, NearestNeighborGPRegressor])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"max_iter": 0}, "max_iter"),
        ({"index": "annoy"}, r"index must be one of .*'annoy'"),
        ({"hyper": "evidence"}, "hyper must be 'loo' or 'fixed', got 'evidence'"),
    ],
)
def test_settings_that_are_refused(estimator, parameters, message):
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(np.eye(4), [0, 1, 0, 1])


def test_an_interrupt_leaves_the_best_metric_and_says_so(moons, monkeypatch):
    X, y, X_test, y_test = moons
    calls, vjp = [], LocalRegression.vjp

    def interrupted(self, *args):
        calls.append(None)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return vjp(self, *args)

    monkeypatch.setattr(LocalRegression, "vjp", interrupted)
    model = NearestNeighborGPClassifier(random_state=0)
    with pytest.raises(KeyboardInterrupt, match="kernel parameters learned so far"):
        model.fit(X, y)
    assert model.n_iter_ == 39
    assert model.score(X_test, y_test) > 0.95


def test_what_these_models_do_not_have(model, moons):
    assert not hasattr(model, "log_evidence_")
    with pytest.raises(AttributeError, match="no evidence"):
        model.log_marginal_likelihood()
    with pytest.raises(ValueError, match="no covariances"):
        model.latent(moons[2], full_cov=True)


def test_a_seed_gives_the_same_bits(moons):
    X, y, X_test, _ = moons
    first, second = (NearestNeighborGPClassifier(**QUICK).fit(X, y).predict_proba(X_test) for _ in "ab")
    np.testing.assert_array_equal(first, second)


def test_regression_with_learned_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (2600, 3))
    y = 5.0 + 2.0 * np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=2600)
    model = NearestNeighborGPRegressor(random_state=0).fit(X[:600], y[:600])
    mean, std = model.predict(X[600:], return_std=True)
    assert np.sqrt(np.mean((mean - y[600:]) ** 2)) < 0.3
    assert np.mean(np.abs(mean - y[600:]) < 1.96 * std) == pytest.approx(0.95, abs=0.02)
    assert model.noise_std_ == pytest.approx(0.2, abs=0.06)
    assert model.relevance_.argmax() == 0
