"""MultiTaskIVMClassifier and MultiTaskIVMRegressor as a user meets them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gpclass import IVMClassifier, MultiTaskIVMClassifier, MultiTaskIVMRegressor
from gpclass.hyper import Evidence
from gpclass.inference.active.selection import Selector
from gpclass.kernels import RBF, Linear
from gpclass.likelihoods import Probit
from tests.conftest import AsksToStop

NAMES = np.array(["anna", "bert", "cleo", "dora"])


@pytest.fixture(scope="module")
def speakers():
    """Three classes, whose place depends on the speaker; the fourth speaker is new."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(4), 45)
    label = np.tile(np.arange(3), 60)
    centre = np.array([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])
    shift = np.array([[0.0, 0.0], [1.5, 1.0], [-1.5, 0.5], [1.0, -1.5]])
    X = centre[label] + shift[who] + 0.5 * rng.standard_normal((180, 2))
    X = np.c_[X, rng.standard_normal(180)]
    return X, np.array(["a", "e", "i"])[label], NAMES[who]


@pytest.fixture(scope="module")
def model(speakers):
    X, y, who = speakers
    old = who != "dora"
    return MultiTaskIVMClassifier(n_active=60, random_state=0).fit(X[old], y[old], task=who[old])


def test_tasks_are_learned_together_and_told_apart(model, speakers):
    X, y, who = speakers
    old = who != "dora"
    assert model.score(X[old], y[old], task=who[old]) > 0.95
    assert model.score(X[old], y[old], task=np.roll(who[old], 45)) < 0.9  # the wrong speaker's model
    assert model.tasks_.tolist() == ["anna", "bert", "cleo"]
    assert len(model.active_) == len(model.active_task_) == 60
    assert len(np.unique(model.active_)) == 60
    np.testing.assert_array_equal(model.active_task_, who[old][model.active_])
    proba = model.predict_proba(X[old][:5], task="anna")
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X[old][:5], task="anna")), proba, rtol=1e-6)
    assert model.loo_proba_.shape == (135, 3)
    assert len(model.info_) == 3
    assert all(info.converged for info in model.info_)
    with pytest.raises(AttributeError, match="idata_ holds draws"):
        model.idata_  # noqa: B018


def test_a_new_task_needs_a_handful_of_rows(model, speakers):
    X, y, who = speakers
    new = np.flatnonzero(who == "dora")
    examples, rest = new[:3], new[3:]
    before = model.predict_proba(X[:4], task="anna")
    adapted = model.adapt(X[examples], y[examples])
    assert adapted.score(X[rest], y[rest]) > 0.85
    assert adapted.kernel_ == model.kernel_
    assert adapted.calibration_ == model.calibration_
    # The model itself, and its scale of the inputs, stay as they were.
    np.testing.assert_array_equal(model.predict_proba(X[:4], task="anna"), before)
    np.testing.assert_array_equal(adapted.input_scale_, model.input_scale_)
    assert adapted.adapt(X[rest], y[rest]).score(X[rest], y[rest]) > 0.95


def test_latent_functions_of_different_tasks_are_independent(model, speakers):
    X, _, who = speakers
    rows = [0, 1, 50, 51]
    mean, cov = model.latent(X[rows], task=who[rows], full_cov=True)
    assert np.all(cov[:, :2, 2:] == 0.0)
    assert np.all(np.abs(cov[:, 0, 1]) > 0.0)
    marginal = model.latent(X[rows], task=who[rows])
    np.testing.assert_allclose(marginal.mean, mean)
    np.testing.assert_allclose(marginal.cov.T, np.diagonal(cov, axis1=1, axis2=2), rtol=1e-8)
    draws = model.sample_latent(X[rows], 2000, random_state=0, task=who[rows])
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.15 * np.sqrt(cov.max()))
    apart = model.latent(X[50:52], task="bert")
    np.testing.assert_allclose(apart.mean, mean[2:])


def test_one_task_is_the_ordinary_machine(speakers):
    X, y, _ = speakers
    kernel = 20.0 * RBF(1.5)
    one = MultiTaskIVMClassifier(kernel, n_active=40, hyper="fixed").fit(X, y)
    plain = IVMClassifier(kernel, n_active=40, hyper="fixed").fit(X, y)
    np.testing.assert_array_equal(one.active_, plain.active_)
    np.testing.assert_allclose(one.predict_proba(X), plain.predict_proba(X), atol=1e-9)
    assert one.log_evidence_ == pytest.approx(plain.log_evidence_)


@pytest.mark.parametrize("hyper", ["evidence", "loo", "alternating"])
def test_numbers(hyper):
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, (90, 1))
    task = np.repeat([0, 1, 2], 30)
    y = 100.0 + 10.0 * np.sin(2.0 * X[:, 0] + task) + rng.standard_normal(90)
    model = MultiTaskIVMRegressor(n_active=60, hyper=hyper).fit(X, y, task=task)
    assert model.score(X, y, task=task) > 0.95
    assert 0.5 < model.noise_std_ < 2.0
    mean, sd = model.predict(X, task=task, return_std=True)
    assert np.mean(np.abs(y - mean) < 2.0 * sd) > 0.9
    assert model.active_.shape == (60,)
    # A fourth phase, from six rows: the length-scale is known, and so are the units of y.
    X_new = np.linspace(-3, 3, 50)[:, None]
    truth = 100.0 + 10.0 * np.sin(2.0 * X_new[:, 0] + 4.0)
    adapted = model.adapt(X_new[2::8], truth[2::8])
    assert np.sqrt(np.mean((adapted.predict(X_new) - truth) ** 2)) < 5.0
    assert not hasattr(model, "predict_proba")
    assert is_regressor(model)


def test_the_class_says_what_whole_numbers_are():
    X, y, task = np.arange(12.0)[:, None], np.arange(12) % 4, np.repeat([0, 1], 6)
    with pytest.warns(UserWarning, match="n_active is 20, but there are 12 rows"):
        labels = MultiTaskIVMClassifier(5.0 * RBF(1.0), hyper="fixed", n_active=20).fit(X, y, task=task)
    assert is_classifier(labels)
    assert labels.predict(X[:1], task=0).dtype == y.dtype
    for targets in (y, (y + 0.5).astype(object)):
        numbers = MultiTaskIVMRegressor(RBF(1.0), hyper="fixed", n_active=12).fit(X, targets, task=task)
        assert is_regressor(numbers)
        assert numbers.predict(X[:1], task=0).dtype == float


@pytest.mark.parametrize("dtype", [float, object])
def test_the_classifier_refuses_fractions_and_names_the_regressor(dtype):
    X, y, task = np.arange(12.0)[:, None], (np.arange(12) % 4 + 0.5).astype(dtype), np.repeat([0, 1], 6)
    model = MultiTaskIVMClassifier(5.0 * RBF(1.0), hyper="fixed", n_active=12)
    with pytest.raises(ValueError, match=r"Unknown label type.* there are .* MultiTaskIVMRegressor"):
        model.fit(X, y, task=task)
    assert not hasattr(model, "classes_")
    with pytest.raises(ValueError, match="MultiTaskIVMRegressor"):
        model.fit(X, (np.arange(12) % 4), task=task).adapt(X[:4], y[:4])


@pytest.mark.parametrize("kind", [MultiTaskIVMClassifier, MultiTaskIVMRegressor])
def test_a_second_fit_leaves_nothing_of_the_first(speakers, kind):
    X, y, who = speakers
    first, second = (y == "a", y) if kind is MultiTaskIVMClassifier else (X[:, 1], np.sin(X[:, 0]))
    settings = {"kernel": RBF(1.0), "n_active": 30, "hyper": "fixed"}
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = kind(**settings).fit(frame, first, task=who).fit(X, second, task=who)
    fresh = kind(**settings).fit(X, second, task=who)
    assert set(vars(model)) == set(vars(fresh))
    assert not hasattr(model, "feature_names_in_")
    assert model.log_marginal_likelihood() == pytest.approx(fresh.log_marginal_likelihood())
    np.testing.assert_array_equal(model.predict(X, task=who), fresh.predict(X, task=who))


def test_units_of_the_evidence(speakers):
    X, _, who = speakers
    numbers = np.sin(X[:, 0])
    models = [
        MultiTaskIVMRegressor(RBF(1.0), n_active=30, hyper="fixed").fit(X, scale * numbers, task=who)
        for scale in (1.0, 1000.0)
    ]
    marginal = [model.log_marginal_likelihood() for model in models]
    assert marginal[0] - marginal[1] == pytest.approx(180 * np.log(1000.0))  # of all rows
    assert models[0].log_evidence_ - models[1].log_evidence_ == pytest.approx(30 * np.log(1000.0))  # of those kept
    adapted = models[0].adapt(X[:6], numbers[:6])
    assert adapted.log_marginal_likelihood() == pytest.approx(adapted.log_evidence_)


def test_rows_learned_from(speakers):
    X, y, who = speakers
    model = MultiTaskIVMClassifier(20.0 * RBF(1.0), n_active=30, hyper=Evidence(max_rows=30)).fit(X, y, task=who)
    assert np.bincount(np.unique(who, return_inverse=True)[1][model.hyper_.rows]).tolist() == [30] * 4
    whole = MultiTaskIVMClassifier(20.0 * RBF(1.0), n_active=30, hyper=Evidence(max_rows=60)).fit(X, y, task=who)
    assert whole.hyper_.rows is None


def test_metadata_routing(speakers):
    X, y, who = speakers
    with config_context(enable_metadata_routing=True):
        inner = MultiTaskIVMClassifier(20.0 * RBF(1.0), n_active=40, hyper="fixed")
        inner.set_fit_request(task=True).set_score_request(task=True).set_predict_request(task=True)
        pipe = make_pipeline(StandardScaler(), inner).fit(X, y, task=who)
        assert pipe.score(X, y, task=who) > 0.9
        scores = cross_val_score(pipe, X, y, params={"task": who}, cv=StratifiedKFold(3, shuffle=True, random_state=0))
        assert scores.mean() > 0.8


def test_clone_and_pickle(model, speakers):
    X, _, _ = speakers
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X[:9], task="anna"), model.predict_proba(X[:9], task="anna"))
    assert clone(model).get_params()["n_active"] == 60
    assert model.log_marginal_likelihood() == pytest.approx(model.hyper_.value, rel=0.3)


def test_learning_alternates_across_tasks(speakers):
    X, y, who = speakers
    model = MultiTaskIVMClassifier(5.0 * RBF(1.0, ard=True), n_active=40, hyper="alternating", standardize=True)
    model.fit(X, (y == "a").astype(int), task=who)
    assert model.relevance_[2] < 0.05 * model.relevance_.max()  # the third input is noise


def test_whoever_listens_can_stop_once_every_task_has_a_row(speakers):
    X, y, task = speakers[:3]
    model = MultiTaskIVMClassifier(10.0 * RBF(), n_active=40, hyper="fixed")
    model.set_callbacks(AsksToStop("active rows", 1)).fit(X, y, task=task)
    assert len(model.active_) == len(model.tasks_)
    assert set(model.active_task_) == set(model.tasks_)
    assert np.all(np.isfinite(model.predict_proba(X, task=task)))


@pytest.mark.parametrize("names", [["a", "a\0"], [2**53, 2**53 + 1, 1.5], [1, 2], ["b", "a"]])
def test_names_of_tasks_are_not_merged(names):
    X = np.random.default_rng(0).normal(size=(10 * len(names), 2))
    y = (X[:, 0] > 0).astype(int)
    task = [name for name in names for _ in range(10)]
    model = MultiTaskIVMClassifier(10.0 * RBF(), n_active=12, hyper="fixed").fit(X, y, task=task)
    assert model.tasks_.tolist() == sorted(names)
    for m, name in enumerate(names):
        own = X[10 * m : 10 * m + 10]
        np.testing.assert_allclose(
            model.predict_proba(own, task=name), model.predict_proba(X, task=task)[10 * m : 10 * m + 10]
        )


def test_names_of_tasks_are_strings_or_numbers(speakers):
    task = np.empty(len(speakers[0]), object)
    task[:] = [(1, name) for name in speakers[2].tolist()]
    with pytest.raises(ValueError, match=r"expected strings or numbers for the names of tasks, got \(1, 'anna'\)"):
        MultiTaskIVMClassifier(hyper="fixed").fit(*speakers[:2], task=task)


def test_tasks_with_rows_that_the_prior_has_settled():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    X[[0, 15]] = 0.0
    task = np.repeat(["a", "b"], 15)
    model = MultiTaskIVMClassifier(Linear(), n_active=12, hyper="fixed").fit(X, y, task=task)
    assert not {0, 15} & set(model.active_.tolist())
    np.testing.assert_allclose(model.predict_proba(X[:1], task="a"), 0.5)


def test_interrupt_keeps_the_rows_chosen(speakers, monkeypatch):
    X, y, who = speakers
    include, calls = Selector.include, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        include(self, *args)

    monkeypatch.setattr(Selector, "include", interrupted)
    model = MultiTaskIVMClassifier(20.0 * RBF(1.0), n_active=60, hyper="fixed")
    with pytest.raises(KeyboardInterrupt, match="29 rows"):
        model.fit(X, y, task=who)
    assert len(model.active_) == 29
    assert model.predict(X[:3], task="anna").shape == (3,)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"task": np.r_[NAMES[np.repeat(np.arange(4), 45)][:-1], ["eve"]]}, ValueError, "1 row in task 'eve'"),
        ({"y": np.repeat(["a", "e", "i", "o"], 45)}, ValueError, "1 class in task 'anna': all 45 labels are"),
        ({"task": ["anna"] * 10}, ValueError, "inconsistent numbers of samples"),
        ({"task": "anna"}, ValueError, r"expected task \(n,\), the task of each row, got an array of shape \(\)"),
        ({"task": pd.Series([pd.NA, "a"] * 90, dtype="string")}, ValueError, "expected a task for every row, got <NA>"),
        ({"task": [None] * 180}, ValueError, "expected a task for every row, got None in row 0"),
        ({"n_active": 3}, ValueError, "at least one row for each of 4 tasks, got 3"),
        ({"y": np.linspace(0, 1, 180)}, ValueError, "MultiTaskIVMRegressor"),
        (
            {"hyper": "held_out"},
            TypeError,
            "hyper='evidence', 'alternating', 'loo' or 'fixed', got 'held_out'",
        ),
        ({"hyper": "nuts"}, TypeError, "learns one set of kernel parameters"),
    ],
)
def test_bad_input(speakers, change, error, message):
    X, y, who = speakers
    given = {"task": who, "y": y, **{k: v for k, v in change.items() if k in ("task", "y")}}
    settings = {"n_active": 20, "hyper": "fixed", **{k: v for k, v in change.items() if k not in ("task", "y")}}
    with pytest.raises(error, match=message):
        MultiTaskIVMClassifier(RBF(), **settings).fit(X, given["y"], task=given["task"])


def test_bad_input_of_the_regressor(speakers):
    X, y, who = speakers
    with pytest.raises(TypeError, match="Gaussian likelihood, got Probit"):
        MultiTaskIVMRegressor(RBF(), likelihood=Probit(), hyper="fixed").fit(X, X[:, 0], task=who)
    with pytest.raises(ValueError, match="expected a number in every row of y, got 'a' in row 0"):
        MultiTaskIVMRegressor(RBF(), hyper="fixed").fit(X, y, task=who)


def test_bad_requests(model, speakers):
    X, _, _ = speakers
    with pytest.raises(ValueError, match=r"expected task=.*adapt"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"expected tasks among .* got \['zoe'\] too"):
        model.predict(X, task="zoe")
    with pytest.raises(ValueError, match="2 features"):
        model.predict(X[:, :2], task="anna")
    with pytest.raises(ValueError, match=r"got \['u'\] too"):
        model.adapt(X[:2], ["a", "u"])
    with pytest.raises(TypeError, match="return_std"):
        model.predict(X, task="anna", return_std=True)
