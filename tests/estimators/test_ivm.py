"""IVMClassifier and IVMRegressor as users meet them."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from gpclass import GPClassifier, IVMClassifier, IVMRegressor
from gpclass.estimators._active import ivm_of
from gpclass.hyper import Alternating
from gpclass.inference import EP, IVM
from gpclass.inference.active.selection import Selector
from gpclass.kernels import RBF, Linear, PerClass, Precomputed, View, WeightedSum
from gpclass.likelihoods import MultinomialProbit, Probit
from gpclass.training.row_order import RowOrder
from tests.conftest import AsksToStop


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order] / 16.0, y[order]
    return X[:500], y[:500], X[500:1000], y[500:1000]


KERNEL = 100.0 * RBF(3.0)


def fixed(**settings):
    return IVMClassifier(KERNEL, hyper="fixed", **settings)


@pytest.fixture(scope="module")
def hundred(digits):
    """A model that keeps a hundred rows; shared, so leave it as it is."""
    return fixed(n_active=100).fit(*digits[:2])


def test_few_informative_rows_nearly_do(digits):
    X, y, X_new, y_new = digits
    full = GPClassifier(KERNEL, hyper="fixed").fit(X, y)
    sparse = fixed(n_active=200).fit(X, y)
    random = fixed(n_active=200, criterion="random", random_state=0).fit(X, y)
    losses = [log_loss(y_new, model.predict_proba(X_new)) for model in (full, sparse, random)]
    assert losses[1] < losses[0] + 0.05
    assert losses[1] < losses[2] - 0.05
    assert len(sparse.active_) == 200
    np.testing.assert_allclose(sparse.active_rows_, X[sparse.active_])


@pytest.mark.parametrize("settings", [{}, {"update": "adf", "block_size": 8}, {"block_size": 8}, {"dtype": "float32"}])
def test_ways_to_choose(digits, settings):
    X, y, X_new, y_new = digits
    model = fixed(n_active=100, **settings).fit(X[:300], y[:300])
    assert model.score(X_new, y_new) > 0.85
    assert np.isfinite(model.log_evidence_)


def test_calibration_rests_on_training_rows_alone(digits, hundred):
    X, y, X_new, y_new = digits
    plain = fixed(n_active=100, calibration=None).fit(X, y)
    calibrated = hundred
    assert plain.calibration_ == (1.0, 1.0, 0.0)
    assert log_loss(y_new, calibrated.predict_proba(X_new)) < 0.7 * log_loss(y_new, plain.predict_proba(X_new))
    # Rows that were passed over looked easy, so they flatter the model; but they are not simply fitted.
    assert calibrated.loo_proba_.shape == (500, 10)
    assert log_loss(y, calibrated.loo_proba_) > 0.1 * log_loss(y_new, calibrated.predict_proba(X_new))


def test_learns_from_the_active_rows():
    X, y = load_iris(return_X_y=True)
    start = 10.0 * RBF(5.0)
    model = IVMClassifier(start, n_active=40, hyper="alternating").fit(X, y)
    assert model.hyper_.theta.shape == (2,)
    assert model.kernel_ != start
    assert model.score(X, y) > 0.94
    assert len(model.hyper_.trace) == Alternating().n_rounds


def test_learns_noise_parameters():
    # A bias of the labels that a zero-mean kernel cannot take up (LPJ05 section 3.4).
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 1))
    y = X[:, 0] + 1.5 + 0.5 * rng.standard_normal(300) > 0
    likelihood = Probit(fixed=("variance", "label_noise"))
    model = IVMClassifier(RBF(1.0), likelihood=likelihood, n_active=60, hyper=Alternating(n_rounds=4)).fit(X, y)
    assert model.likelihood_.bias > 0.3
    assert "likelihood.bias" in model.hyper_.theta_names


def test_warm_start_goes_on_where_it_was(digits):
    X, y = digits[0][:250], digits[1][:250]
    once = fixed(n_active=80, refine=False).fit(X, y)
    grown = fixed(n_active=50, refine=False, warm_start=True).fit(X, y)
    first = grown.active_.copy()
    grown.set_params(n_active=80).fit(X, y)
    np.testing.assert_array_equal(grown.active_[:50], first)
    np.testing.assert_array_equal(grown.active_, once.active_)
    np.testing.assert_allclose(grown.predict_proba(X[:20]), once.predict_proba(X[:20]), atol=1e-8)
    for change in (
        {"X": X[::-1]},
        {"X": np.where(np.isin(np.arange(len(X)), grown.active_)[:, None], X, 0.5)},
        {"y": (y + 1) % 10},
        {"hyper": "evidence"},
        {"kernel": RBF()},
        {"likelihood": MultinomialProbit(label_noise=0.1)},
    ):
        data = {"X": X, "y": y, **{k: v for k, v in change.items() if k in "Xy"}}
        changed = copy.deepcopy(grown).set_params(**{k: v for k, v in change.items() if k not in "Xy"})
        with pytest.raises(ValueError, match="start again"):
            changed.fit(**data)
    np.testing.assert_array_equal(grown.active_, once.active_)  # the model is not lost


def test_interrupt_keeps_what_was_chosen(digits, monkeypatch):
    X, y, X_new = digits[0][:250], digits[1][:250], digits[2]
    model = fixed(n_active=80, refine=False, warm_start=True)
    include, calls = Selector.include, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) > 30:
            raise KeyboardInterrupt
        include(self, *args)

    monkeypatch.setattr(Selector, "include", interrupted)
    with pytest.raises(KeyboardInterrupt, match="30 rows"):
        model.fit(X, y)
    monkeypatch.undo()
    assert len(model.active_) == 30
    model.predict(X_new)
    model.fit(X, y)
    np.testing.assert_array_equal(model.active_, fixed(n_active=80, refine=False).fit(X, y).active_)


def test_batches(digits, hundred):
    X, y, X_new, y_new = digits
    model = fixed(n_active=100)
    losses = []
    for start in range(0, 500, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100], classes=np.arange(10))
        losses.append(log_loss(y_new, model.predict_proba(X_new)))
    assert losses[-1] < 0.6 * losses[0]
    assert losses[-1] < log_loss(y_new, hundred.predict_proba(X_new))  # all rows are used
    assert model.n_samples_seen_ == 500
    assert model.active_rows_.shape == (100, 64)
    with pytest.raises(AttributeError, match="active_rows_"):
        model.active_  # noqa: B018


def test_order_of_arrival_matters_little(digits):
    X, y, X_new, y_new = digits
    losses, probabilities = [], []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(500)
        model = fixed(n_active=100).partial_fit(X[order], y[order])
        probabilities.append(model.predict_proba(X_new))
        losses.append(log_loss(y_new, probabilities[-1]))
    assert max(losses) - min(losses) < 0.06
    apart = np.mean(np.abs(probabilities[0] - probabilities[1]))
    assert apart < 0.02


def test_with_room_for_all_rows_online_is_one_pass_of_adf():
    # Nothing is projected away, so the beliefs are those of ADF in the same order.
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] + 0.3 * rng.standard_normal(40) > 0).astype(int)
    kernel = 4.0 * RBF(0.4)  # so rough that no row is predicted by the others, and all join
    online = IVMClassifier(kernel, n_active=40, hyper="fixed", calibration=None).partial_fit(X, y)
    from gpclass.inference.active.active_set import ActiveSet

    active = ActiveSet(kernel, X, 1, 40, True)
    for row in range(40):
        Selector().include(active, y, Probit(), row)
    mean, variance = online.latent(X)
    np.testing.assert_allclose(mean, active.mean, atol=1e-7)
    np.testing.assert_allclose(variance, active.variance, atol=1e-7)


def test_projection_keeps_the_beliefs_that_stay():
    rng = np.random.default_rng(2)
    from gpclass.inference.active.online import Basis

    rows = rng.standard_normal((12, 2))
    A = rng.standard_normal((12, 12))
    mean, Sigma = rng.standard_normal((12, 2)), np.stack([A @ A.T] * 2)
    basis = Basis(RBF(), 12, rows, mean, Sigma)
    basis._drop(3)
    order = [0, 1, 2, 11, 4, 5, 6, 7, 8, 9, 10]
    np.testing.assert_array_equal(basis.rows, rows[order])
    np.testing.assert_array_equal(basis.mean, mean[order])
    np.testing.assert_array_equal(basis.Sigma, Sigma[:, order][:, :, order])
    np.testing.assert_allclose(basis.P @ RBF()(rows[order]), np.eye(11), atol=1e-6)


def test_fit_then_partial_fit(digits):
    X, y, X_new, y_new = digits
    model = fixed(n_active=100, refine=False).fit(X[:250], y[:250])
    before = model.latent(X_new)
    first = model.partial_fit(X[:1], y[:1]).latent(X_new)  # one row changes little
    assert np.mean(np.abs(first.mean - before.mean)) < 0.1 * np.mean(np.abs(before.mean))
    model.partial_fit(X[250:], y[250:])
    assert model.score(X_new, y_new) > 0.9


def test_bad_batches_do_no_harm(digits):
    X, y, X_new, _ = digits
    model = fixed(n_active=30).partial_fit(X[y < 9][:60], y[y < 9][:60])
    before = model.predict_proba(X_new)
    with pytest.raises(ValueError, match=r"got \[9\] too; list all classes"):
        model.partial_fit(X[:60], y[:60])
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(X[:10, :3], y[:10])
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(np.full((2, 64), np.inf), y[:2])
    with pytest.raises(ValueError, match="the model has"):
        model.partial_fit(X[:1], [1], classes=[0, 1])
    np.testing.assert_array_equal(model.predict_proba(X_new), before)
    with pytest.raises(ValueError, match="classes="):
        fixed(n_active=30).partial_fit(X[y == 3], y[y == 3])


def test_regression_online_and_sparse():
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, (400, 1))
    y = 10.0 + 5.0 * np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(400)
    batch = IVMRegressor(n_active=60).fit(X, y)
    online = IVMRegressor(n_active=60)
    for start in range(0, 400, 100):
        online.partial_fit(X[start : start + 100], y[start : start + 100])
    new = np.linspace(-2.9, 2.9, 50)[:, None]
    truth = 10.0 + 5.0 * np.sin(2 * new[:, 0])
    for model in (batch, online):
        mean, sd = model.predict(new, return_std=True)
        assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.5
        assert 0.3 < model.noise_std_ < 0.8
        assert np.all(sd > 0.8 * model.noise_std_)


def test_more_rows_wanted_than_there_are():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="n_active is 200, but there are 150 rows"):
        model = IVMClassifier(RBF(), n_active=200, hyper="fixed").fit(X, y)
    assert len(model.active_) == 150
    model.partial_fit(X[:5], y[:5])  # what was told once is not told again


def test_duplicate_rows_are_no_trouble():
    X, y = load_iris(return_X_y=True)
    X, y = np.repeat(X[:60], 3, axis=0), np.repeat(y[:60], 3)
    model = IVMClassifier(100.0 * RBF(), n_active=120, hyper="fixed").fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    online = IVMClassifier(100.0 * RBF(), n_active=30, hyper="fixed").partial_fit(X, y)
    assert np.all(np.isfinite(online.predict_proba(X)))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_active": 0}, ValueError, "n_active must be a whole number"),
        ({"n_active": 2.5}, ValueError, "n_active must be a whole number"),
        ({"criterion": "best"}, ValueError, "criterion must be one of"),
        ({"update": "ep"}, ValueError, "update must be one of"),
        ({"block_size": 0}, ValueError, "block_size must be a whole number"),
        ({"dtype": "float16"}, ValueError, "dtype must be"),
        ({"hyper": "nuts"}, TypeError, "one set of kernel parameters"),
        ({"hyper": "alternating", "n_restarts_optimizer": 2}, ValueError, "no restarts"),
        ({"hyper": "heldout"}, ValueError, "'auto'.*'held_out'.*got 'heldout'"),
        ({"likelihood": "softmax", "update": "vb"}, TypeError, "needs a probit likelihood, got Softmax"),
        ({"calibration": "platt"}, ValueError, "calibration must be"),
    ],
)
def test_bad_settings(settings, error, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=message):
        IVMClassifier(RBF(), **settings).fit(X, y)


def test_alternating_is_for_active_sets():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="IVMClassifier"):
        GPClassifier(RBF(), hyper="alternating").fit(X, y)
    with pytest.raises(NotFittedError):
        IVMClassifier().active_  # noqa: B018


def test_kernels_of_their_own_and_clones(digits):
    X, y, X_new, _ = digits
    model = IVMClassifier(PerClass(KERNEL), n_active=40, hyper="fixed").fit(X[:200], y[:200])
    shared = fixed(n_active=40, update="adf").fit(X[:200], y[:200])
    np.testing.assert_array_equal(model.active_, shared.active_)
    np.testing.assert_allclose(model.predict_proba(X_new), shared.predict_proba(X_new), atol=1e-8)
    with pytest.raises(TypeError, match="PerClass"):
        model.partial_fit(X[200:210], y[200:210])
    again = pickle.loads(pickle.dumps(shared.partial_fit(X[200:250], y[200:250])))
    np.testing.assert_array_equal(again.predict_proba(X_new), shared.predict_proba(X_new))
    again.partial_fit(X[250:300], y[250:300])
    assert not hasattr(clone(shared), "posterior_")


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5200, 2))
    y = (X[:, 0] + 0.3 * rng.standard_normal(5200) > 0).astype(int)
    X[:4], y[:4] = [8.0, 8.0] + 0.01 * rng.standard_normal((4, 2)), 2
    return X, y


def test_of_many_rows_some_calibrate(many):
    X, y = many
    model = IVMClassifier(10.0 * RBF(), n_active=40, hyper="fixed", warm_start=True).fit(X, y)
    order, held_out = RowOrder.of(X, y), np.empty(len(y), bool)
    held_out[order.rows] = model._held_out(y[order.rows], ivm_of(model, EP()), True)
    assert 990 <= np.count_nonzero(held_out) <= 1000
    assert not np.any(held_out[model.active_[:32]])
    assert np.any(held_out[model.active_[32:]])  # a fifth are set aside, and a fifth chosen when they are let in
    assert not np.any(held_out[y == 2])  # four rows of a class: none to spare
    assert model.predict([[8.0, 8.0]]) == 2
    assert np.all(np.isfinite(model.loo_proba_))
    # What calibrates is said by a model that has never met their labels.
    blind = IVMClassifier(10.0 * RBF(), n_active=32, hyper="fixed", calibration=None, standardize=False)
    blind.fit(model._inputs.scaled(X[~held_out]), y[~held_out])
    known = blind.posterior_.latent(model._inputs.scaled(X[held_out]))
    labels, predictions = model._recent
    np.testing.assert_array_equal(labels, y[held_out])
    np.testing.assert_allclose(predictions.mean, known.mean, atol=1e-8)
    np.testing.assert_allclose(predictions.cov, known.cov, atol=1e-8)
    first, factors = model.active_.copy(), model.calibration_
    model.fit(X, y)  # the same model again: the same judges
    assert set(model.active_) == set(first)
    np.testing.assert_allclose(model.calibration_, factors, rtol=1e-3)
    model.set_params(n_active=60).fit(X, y)
    assert set(first) < set(model.active_)
    # Rows that were kept stay kept when others are set aside now.
    plain = IVMClassifier(10.0 * RBF(), n_active=40, hyper="fixed", warm_start=True, calibration=None).fit(X, y)
    first = plain.active_.copy()
    plain.set_params(n_active=50, calibration="loo").fit(X, y)
    assert set(first) < set(plain.active_)
    assert len(plain.active_) == 50


def test_an_interrupt_between_the_two_selections_keeps_the_first(many, monkeypatch):
    X, y = many
    whole = IVM.select
    calls = []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(self, *args)

    monkeypatch.setattr(IVM, "select", interrupted)
    model = IVMClassifier(10.0 * RBF(), n_active=40, hyper="fixed", warm_start=True)
    with pytest.raises(KeyboardInterrupt, match="the 32 rows"):
        model.fit(X, y)
    monkeypatch.setattr(IVM, "select", whole)
    assert model.score(X, y) > 0.7
    first = set(model.active_)
    assert first < set(model.fit(X, y).active_)
    assert len(model.active_) == 40


def test_an_interrupt_of_the_refinement_keeps_the_rows(digits, monkeypatch):
    X, y, X_new, _ = digits

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("gpclass.inference.active.ivm.refined_sites", interrupted)
    model = fixed(n_active=40)
    with pytest.raises(KeyboardInterrupt, match="the 40 rows"):
        model.fit(X, y)
    rough = fixed(n_active=40, refine=False).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X_new), rough.predict_proba(X_new), atol=1e-10)


def test_whoever_listens_can_stop_the_first_selection(many):
    X, y = many

    model = IVMClassifier(10.0 * RBF(), n_active=40, hyper="fixed")
    model.set_callbacks(AsksToStop("active rows", 5)).fit(X, y)
    assert len(model.active_) == 5


@pytest.mark.parametrize("model", [IVMClassifier, IVMRegressor])
def test_whoever_stops_a_batch_has_the_rows_up_to_there(model):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int) if model is IVMClassifier else 3.0 * X[:, 0]
    stopped, short = (model(10.0 * RBF(), n_active=20, hyper="fixed").partial_fit(X[:10], y[:10]) for _ in range(2))
    stopped.set_callbacks(AsksToStop("rows", 25, again=True)).partial_fit(X[10:], y[10:])
    short.partial_fit(X[10:35], y[10:35])
    assert stopped.n_samples_seen_ == short.n_samples_seen_ == 35
    assert stopped.log_evidence_ == pytest.approx(short.log_evidence_)
    if model is IVMClassifier:
        np.testing.assert_array_equal(stopped._recent[0], short._recent[0])
        np.testing.assert_allclose(stopped.predict_proba(X), short.predict_proba(X))
    else:
        np.testing.assert_allclose(stopped.predict(X), short.predict(X))
    first = model(10.0 * RBF(), n_active=20, hyper="fixed")
    first.set_callbacks(AsksToStop("rows", 5, again=True)).partial_fit(X, y)
    assert first.n_samples_seen_ == 5
    assert np.isfinite(first.log_evidence_)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"refine": False},
        {"criterion": "gain"},
        {"criterion": "probability"},
        {"criterion": "random"},
        {"block_size": 4},
        {"likelihood": "logit"},
        {"likelihood": "logit", "refine": False},
        {"likelihood": Probit(label_noise=0.1, fixed="label_noise")},
        {"n_classes": 3},
        {"n_classes": 3, "update": "adf"},
        {"n_classes": 3, "criterion": "entropy"},
        {"n_classes": 3, "block_size": 4, "update": "adf"},
        {"n_exchanges": 3},
    ],
)
def test_rows_that_the_prior_has_settled_come_last(settings):
    # A row of zeros has variance 0 under a linear kernel: its label says nothing of others.
    n_classes = settings.get("n_classes", 2)
    settings = {name: value for name, value in settings.items() if name != "n_classes"}
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[:2] = 0.0
    y = np.digitize(X[:, 0], [0.0] if n_classes == 2 else [-0.5, 0.5])
    for n_active in (8, 28):
        model = IVMClassifier(Linear(), hyper="fixed", n_active=n_active, **settings).fit(X, y)
        assert not {0, 1} & set(model.active_.tolist())
    model = IVMClassifier(Linear(), hyper="fixed", n_active=30, **settings).fit(X, y)
    proba = model.predict_proba(X)
    assert np.all(np.isfinite(proba))
    np.testing.assert_allclose(proba[0], 1.0 / n_classes)
    assert np.mean(model.predict(X[2:]) == y[2:]) > 0.7
    assert np.isfinite(model.log_evidence_)


def test_a_batch_with_rows_that_the_prior_has_settled():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    X[:2] = 0.0
    model = IVMClassifier(Linear(), hyper="fixed", n_active=8).partial_fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:1]), 0.5)
    assert np.mean(model.predict(X[2:]) == y[2:]) > 0.9


def test_settings_may_change_between_batches(digits):
    X, y, X_new, y_new = digits
    model = fixed(n_active=20).partial_fit(X[:100], y[:100], classes=np.arange(10))
    model.set_params(n_active=60).partial_fit(X[100:300], y[100:300])
    assert len(model.active_rows_) == 60
    model.set_params(n_active=30).partial_fit(X[300:310], y[300:310])
    assert len(model.active_rows_) == 30
    with pytest.raises(ValueError, match="update='vb'"):
        model.set_params(update="vb").partial_fit(X[310:320], y[310:320])
    shared = fixed(n_active=60, update="vb").partial_fit(X[:100], y[:100], classes=np.arange(10))
    shared.set_params(update="adf").partial_fit(X[100:], y[100:])
    assert shared.score(X_new, y_new) > 0.85


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([0, 1, None], "expected labels in classes=, got None among"),
        ([0.0, 1.0, np.nan], "expected labels in classes=, got nan among"),
        (np.array([0.0, 1.0, np.nan]), "expected labels in classes=, got .*nan.* among"),
        ([0, "1"], "of one type in classes=, got a mixture of int and str"),
        ("01", "expected a list of all labels in classes=, got '01'"),
        (2, "expected a list of all labels in classes=, got 2"),
        ({0, 1}, "expected a list of all labels in classes="),
        (["a", "b"], r"expected labels of the classes \['a', 'b'\], got \[0, 1\] too"),
    ],
)
def test_bad_classes(digits, classes, message):
    X, y = digits[0][:20], digits[1][:20] % 2
    with pytest.raises(ValueError, match=message):
        fixed(n_active=5).partial_fit(X, y, classes=classes)
    model = fixed(n_active=5).partial_fit(X, y, classes=[1, 0])
    if not np.array_equal(classes, ["a", "b"]):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y, classes=classes)


def test_first_batches_of_any_kind(digits):
    X, y, X_new, y_new = digits
    one = IVMClassifier(KERNEL, n_active=50).partial_fit(X[:1], y[:1], classes=np.arange(10))
    one.partial_fit(X[1:], y[1:])
    assert one.score(X_new, y_new) > 0.8
    # A column that is constant at first may matter later.
    Z = np.column_stack([np.r_[np.zeros(50), np.linspace(-3, 3, 200)], np.random.default_rng(0).standard_normal(250)])
    t = np.r_[np.arange(50) % 2, Z[50:, 0] > 0].astype(int)
    model = IVMClassifier(4.0 * RBF(), hyper="fixed", standardize=True).partial_fit(Z[:50], t[:50])
    model.partial_fit(Z[50:], t[50:])
    assert model.score(Z[50:], t[50:]) > 0.9
    # Hundreds of rows that a smooth kernel hardly tells apart: the inverse of their covariances keeps its digits.
    close = IVMClassifier(4.0 * RBF(), hyper="fixed").partial_fit(Z[:50], t[:50]).partial_fit(Z[50:], t[50:])
    assert close.score(Z[50:], t[50:]) > 0.9


def test_calibration_of_fit_outlives_one_more_row(digits, hundred):
    X, y, _, _ = digits
    model = copy.deepcopy(hundred)
    before = model.calibration_.mean_scale
    model.partial_fit(X[:1], y[:1])
    assert model.calibration_.mean_scale == pytest.approx(before, rel=0.2)


def test_covariances_are_no_features(digits):
    X, y, _, _ = digits
    K = KERNEL(X[:50])
    with pytest.raises(TypeError, match="needs features"):
        IVMClassifier(Precomputed(), hyper="fixed").fit(K, y[:50])


def test_linear_and_rbf_together(digits):
    X, y, X_new, y_new = digits[0][:250], digits[1][:250], *digits[2:]
    model = IVMClassifier(10.0 * RBF(3.0) + Linear(1.0), n_active=100, hyper=Alternating(n_rounds=2)).fit(X, y)
    assert model.score(X_new, y_new) > 0.85
    assert model.log_marginal_likelihood() == pytest.approx(model._objective.fit(model.hyper_.theta).objective)


def test_units_of_the_evidence():
    X = np.linspace(0.0, 5.0, 40)[:, None]
    models = [IVMRegressor(RBF(1.0), n_active=15, hyper="fixed").fit(X, s * np.sin(X[:, 0])) for s in (1.0, 1000.0)]
    marginal = [model.log_marginal_likelihood() for model in models]
    assert marginal[0] - marginal[1] == pytest.approx(40 * np.log(1000.0))  # of all rows
    assert models[0].log_evidence_ - models[1].log_evidence_ == pytest.approx(15 * np.log(1000.0))  # of those kept


def test_leave_one_out_of_kept_rows_is_that_of_variational_bayes(digits, monkeypatch):
    X, y = digits[0][:150], digits[1][:150]
    full = GPClassifier(KERNEL, hyper="fixed").fit(X, y)
    np.testing.assert_allclose(fixed().fit(X, y).loo_proba_, full.loo_proba_, atol=1e-4)
    # Class by class, where memory does not suffice for all: a little above the truth.
    monkeypatch.setattr("gpclass.inference.active.ivm._ALL_AT_ONCE", 0.0)
    own = np.arange(len(y)), y
    plain = {"hyper": "fixed", "calibration": None}
    truth, rough = (
        np.log(model.fit(X, y).loo_proba_[own]).mean()
        for model in (GPClassifier(KERNEL, **plain), IVMClassifier(KERNEL, **plain))
    )
    assert truth < rough < truth + 0.05


def test_batches_with_gaps():
    X, y = load_iris(return_X_y=True)
    kernel = WeightedSum({"a": View(RBF(1.0), [0, 1]), "b": View(RBF(1.0), [2, 3])})
    X[40, 3] = np.nan
    model = IVMClassifier(kernel, n_active=30, hyper="fixed").partial_fit(X, y)
    assert model.score(X, y) > 0.9


def test_the_evidence_stays_that_of_the_first_batch():
    X = np.linspace(0.0, 5.0, 40)[:, None]
    y = 100.0 * np.sin(X[:, 0])
    model = IVMRegressor(RBF(1.0), n_active=15, hyper="fixed").partial_fit(X[::2], y[::2])
    before, online = model.log_marginal_likelihood(), model.log_evidence_
    model.partial_fit(X[1::8], y[1::8])
    assert model.log_marginal_likelihood() == before
    # In other units of y the density of all 25 rows changes by as many logarithms.
    other = IVMRegressor(RBF(1.0), n_active=15, hyper="fixed").partial_fit(X[::2], y[::2] / 100.0)
    assert other.log_evidence_ - online == pytest.approx(20 * np.log(100.0))
    other.partial_fit(X[1::8], y[1::8] / 100.0)
    assert other.log_evidence_ - model.log_evidence_ == pytest.approx(25 * np.log(100.0))
