"""Bad input to every estimator: a clear refusal, and nothing of the estimator is lost by it."""

import copy
import re
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags

import gpclass
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
from gpclass.hyper import Alternating, Evidence
from gpclass.inference import EP, IVM, VB, Exact, SparseEP
from gpclass.inference.neighbors.local import LocalRegression
from gpclass.kernels import RBF, Precomputed, View, WeightedSum

KERNEL = 4.0 * RBF(1.0)
FIXED = {"kernel": KERNEL, "hyper": "fixed"}
#: Learning is cut short.
SHORT = {"kernel": KERNEL, "hyper": Evidence(max_iter=2)}
N = 24

rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
SIDE = (X[:, 0] > 0).astype(int)
COLOURS = np.array(["blue", "red"])[SIDE]
NUMBERS = np.round(np.sin(X[:, 0]) + 0.1 * X[:, 1], 2)
TASKS = {"task": np.arange(N) % 2}
FEW_LABELS = np.where(np.arange(N) < 12, COLOURS, "?")


def reflected(rows):
    """A transform of rows that leaves their labels as they are."""
    return rows * [1.0, -1.0, 1.0, 1.0]


@dataclass(frozen=True)
class Case:
    """An estimator with the data it is fitted to, and methods of engines that are called while it learns and fits."""

    estimator: object
    y: np.ndarray
    steps: tuple
    learning: dict = field(default_factory=lambda: SHORT)
    fit: dict = field(default_factory=dict)
    predict: dict = field(default_factory=dict)
    #: whether an interrupt of learning keeps what was learned; tested with the estimator
    keeps: bool = False

    def fitted(self):
        return clone(self.estimator).fit(X, self.y, **self.fit)

    def learner(self):
        return clone(self.estimator).set_params(**self.learning)


LEARN_BY_VB, LEARN_BY_EP, LEARN_BY_EXACT = (VB, "__call__"), (EP, "__call__"), (Exact, "__call__")
SELECT = (IVM, "select")
#: Learning by leave-one-out predictions of batches, cut short.
BATCHES = {"hyper": "loo", "max_iter": 3}

CASES = {
    "GPClassifier": Case(GPClassifier(**FIXED), COLOURS, (LEARN_BY_VB,)),
    "GPRegressor": Case(GPRegressor(**FIXED), NUMBERS, (LEARN_BY_EXACT,)),
    "IVMClassifier": Case(IVMClassifier(**FIXED, n_active=8), COLOURS, (LEARN_BY_VB, SELECT)),
    "IVMRegressor": Case(IVMRegressor(**FIXED, n_active=8), NUMBERS, (LEARN_BY_EXACT, SELECT)),
    "SparseGPClassifier": Case(
        SparseGPClassifier(**FIXED, n_inducing=6), COLOURS, (LEARN_BY_VB, SELECT, (SparseEP, "__call__"))
    ),
    "GPOrdinalClassifier": Case(GPOrdinalClassifier(**FIXED), COLOURS, (LEARN_BY_EP,)),
    "MultiTaskIVMClassifier": Case(
        MultiTaskIVMClassifier(**FIXED, n_active=8), COLOURS, (LEARN_BY_VB,), fit=TASKS, predict=TASKS
    ),
    "MultiTaskIVMRegressor": Case(
        MultiTaskIVMRegressor(**FIXED, n_active=8), NUMBERS, (LEARN_BY_EXACT,), fit=TASKS, predict=TASKS
    ),
    "NearestNeighborGPClassifier": Case(
        NearestNeighborGPClassifier(**FIXED, n_neighbors=8), COLOURS, ((LocalRegression, "vjp"),), BATCHES, keeps=True
    ),
    "NearestNeighborGPRegressor": Case(
        NearestNeighborGPRegressor(**FIXED, n_neighbors=8), NUMBERS, ((LocalRegression, "vjp"),), BATCHES, keeps=True
    ),
    "NullCategoryClassifier": Case(
        NullCategoryClassifier(**FIXED, n_active=8, unlabelled="?"),
        FEW_LABELS,
        (SELECT,),
        {"hyper": Alternating(n_rounds=1)},
    ),
    "ViewVotingClassifier": Case(
        ViewVotingClassifier(GPClassifier(**FIXED), {"a": [0, 1], "b": [2, 3]}),
        COLOURS,
        (LEARN_BY_VB,),
        {"estimator": GPClassifier(**SHORT)},
    ),
    "VirtualVectorClassifier": Case(
        VirtualVectorClassifier(IVMClassifier(**FIXED, n_active=8), transforms=reflected),
        COLOURS,
        (LEARN_BY_VB, SELECT),
        {"estimator": IVMClassifier(**SHORT, n_active=8)},
    ),
}
CLASSIFIERS = [name for name, case in CASES.items() if not is_regressor(case.estimator)]
REGRESSORS = [name for name in CASES if name not in CLASSIFIERS]
WRAPPERS = ("ViewVotingClassifier", "VirtualVectorClassifier")


@pytest.fixture(scope="module")
def fitted():
    """Fitted estimators by name, each fitted once; tests work on shallow copies."""
    found = {name: case.fitted() for name, case in CASES.items()}
    return lambda name: copy.copy(found[name])


def test_every_estimator_is_among_the_cases():
    assert set(CASES) == {name for name in gpclass.__all__ if name.endswith(("Classifier", "Regressor"))}


def same_attributes(estimator, before):
    """Whether all attributes are the same objects as before."""
    now = vars(estimator)
    return now.keys() == before.keys() and all(now[name] is value for name, value in before.items())


def assert_refused(model, name, data, error, message, call="fit", **changes):
    """A call is refused by a fitted and by a new estimator, and both are as they were before."""
    case = CASES[name]
    answer = model.predict(X, **case.predict)
    for estimator in (model, clone(case.estimator)):
        kept = clone(estimator).get_params(deep=False)
        estimator.set_params(**changes)
        before = dict(vars(estimator))
        with pytest.raises(error, match=message):
            getattr(estimator, call)(*data, **(case.fit if call == "fit" else {}))
        assert same_attributes(estimator, before)
        estimator.set_params(**{key: kept[key] for key in changes if "__" not in key})
    np.testing.assert_array_equal(model.predict(X, **case.predict), answer)
    assert not [key for key in vars(estimator) if key.endswith("_") or key not in estimator.get_params(deep=False)]


# ---- y ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "NaN", "NA"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_missing_target_is_named_by_its_row(fitted, name, missing):
    y = np.array(NUMBERS, dtype=object)
    y[5] = missing
    message = f"expected a number in every row of y, got {re.escape(repr(missing))} in row 5"
    assert_refused(fitted(name), name, (X, y), ValueError, message)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "NaN", "NA"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_missing_label_is_named_by_its_row(fitted, name, missing):
    y = np.array(CASES[name].y, dtype=object)
    y[5] = missing
    if name == "NullCategoryClassifier":  # a row without a label
        model = clone(CASES[name].estimator).fit(X, y)
        assert model.transduction_[5] in ("blue", "red")
        return
    message = f"expected a label in every row, got {re.escape(repr(missing))} in row 5"
    assert_refused(fitted(name), name, (X, y), ValueError, message)


@pytest.mark.parametrize("kind", [str, object, np.dtypes.StringDType()], ids=["str", "object", "StringDType"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_as_text_are_numbers(fitted, name, kind):
    y = np.array([str(number) for number in NUMBERS], dtype=kind)
    model = clone(CASES[name].estimator).fit(X, y, **CASES[name].fit)
    expected = fitted(name).predict(X, **CASES[name].predict)
    np.testing.assert_array_equal(model.predict(X, **CASES[name].predict), expected)


@pytest.mark.parametrize("text", ["1,5", "abc", ""])
@pytest.mark.parametrize("name", REGRESSORS)
def test_text_that_is_no_number_is_named_by_its_row(fitted, name, text):
    y = [str(number) for number in NUMBERS]
    y[7] = text
    message = f"expected a number in every row of y, got {text!r} in row 7"
    for given in (y, np.array(y), np.array(y, dtype=object), pd.Series(y)):
        assert_refused(fitted(name), name, (X, given), ValueError, message)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_numbers_as_text_are_labels(name):
    case = CASES[name]
    y = np.where(case.y == "blue", "1,5", np.where(case.y == "red", "1.5", case.y))
    model = clone(case.estimator).fit(X, y, **case.fit)
    assert model.classes_.tolist() == ["1,5", "1.5"]
    assert set(model.predict(X, **case.predict)) == {"1,5", "1.5"}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_numpy_strings_of_variable_width_are_labels(fitted, name):
    case = CASES[name]
    model = clone(case.estimator).fit(X, np.array(case.y.tolist(), dtype=np.dtypes.StringDType()), **case.fit)
    assert model.classes_.tolist() == ["blue", "red"]
    answer = model.predict(X, **case.predict)
    assert answer.tolist() == fitted(name).predict(X, **case.predict).tolist()
    assert {type(label) for label in answer.tolist()} == {str}
    if hasattr(model, "score"):
        assert model.score(X, COLOURS, **case.predict) > 0.5


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name != "NullCategoryClassifier"])
def test_a_missing_string_of_variable_width_is_named_by_its_row(fitted, name):
    labels = CASES[name].y.tolist()
    labels[3] = None
    y = np.array(labels, dtype=np.dtypes.StringDType(na_object=None))
    assert_refused(fitted(name), name, (X, y), ValueError, "expected a label in every row, got None in row 3")


def test_strings_of_variable_width_in_batches_and_in_an_order():
    labels = np.array(COLOURS.tolist(), dtype=np.dtypes.StringDType())
    online = IVMClassifier(**FIXED, n_active=8).partial_fit(X[:16], labels[:16]).partial_fit(X[16:], labels[16:])
    plain = IVMClassifier(**FIXED, n_active=8).partial_fit(X[:16], COLOURS[:16]).partial_fit(X[16:], COLOURS[16:])
    assert online.predict(X).tolist() == plain.predict(X).tolist()
    order = np.array(["red", "blue"], dtype=np.dtypes.StringDType())
    ordered = GPOrdinalClassifier(**FIXED, order=order).fit(X, labels)
    expected = GPOrdinalClassifier(**FIXED, order=["red", "blue"]).fit(X, COLOURS)
    assert ordered.predict(X).tolist() == expected.predict(X).tolist()


# ---- masked arrays ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_masks_are_refused(fitted, name):
    case = CASES[name]
    masked = np.ma.masked_array(X, X > 2.0)
    assert_refused(fitted(name), name, (masked, case.y), ValueError, "expected X without a mask, got a masked array")
    hidden = np.ma.masked_array(case.y, np.arange(N) == 3)
    assert_refused(fitted(name), name, (X, hidden), ValueError, "expected y without a mask, got a masked array")
    with pytest.raises(ValueError, match="expected X without a mask, got a masked array"):
        fitted(name).predict(masked, **case.predict)


def test_masks_are_refused_in_blocks_and_covariances():
    masked = np.ma.masked_array(X, X > 2.0)
    with pytest.raises(ValueError, match="expected X of block 1 without a mask"):
        SparseGPClassifier(**FIXED, n_inducing=6).fit([(X, COLOURS), (masked, COLOURS)])
    with pytest.raises(ValueError, match="expected y without a mask"):
        SparseGPClassifier(**FIXED, n_inducing=6).fit([(X, np.ma.masked_array(COLOURS, SIDE == 1))])
    gram = KERNEL(X)
    model = GPClassifier(gpclass.kernels.Precomputed(), hyper="fixed").fit(gram, COLOURS)
    with pytest.raises(ValueError, match="expected X without a mask"):
        model.predict(np.ma.masked_array(np.c_[gram, np.diag(gram)], np.c_[gram, np.diag(gram)] > 3.0))


@pytest.mark.parametrize("name", ["IVMClassifier", "IVMRegressor"])
def test_batches_are_refused_alike(fitted, name):
    y = np.array(CASES[name].y, dtype=object)
    y[2] = None
    assert_refused(fitted(name), name, (X, y), ValueError, "in every row.*, got None in row 2", call="partial_fit")
    masked = np.ma.masked_array(X, X > 2.0), CASES[name].y
    assert_refused(fitted(name), name, masked, ValueError, "expected X without a mask", call="partial_fit")


@pytest.mark.parametrize("name", ["MultiTaskIVMClassifier", "MultiTaskIVMRegressor"])
def test_new_tasks_are_refused_alike(fitted, name):
    model, y = fitted(name), np.array(CASES[name].y, dtype=object)
    before = dict(vars(model))
    y[2] = None
    with pytest.raises(ValueError, match=r"in every row.*, got None in row 2"):
        model.adapt(X, y)
    with pytest.raises(ValueError, match="expected X without a mask"):
        model.adapt(np.ma.masked_array(X, X > 2.0), CASES[name].y)
    assert same_attributes(model, before)


# ---- columns ---------------------------------------------------------------------------------------------


#: Ours, or scikit-learn's.
REPEATED = "expected columns with different names, got 'a' more than once|Expected unique column names, got:\\n- 'a' 2"


@pytest.mark.parametrize("name", CASES)
def test_columns_of_the_same_name_are_refused(fitted, name):
    case = CASES[name]
    frame = pd.DataFrame(X, columns=["a", "b", "a", "c"])
    assert_refused(fitted(name), name, (frame, case.y), ValueError, REPEATED)


@pytest.mark.parametrize("categories", [False, True], ids=["numbers", "categories"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "VirtualVectorClassifier"])
def test_columns_of_the_same_name_are_refused_at_prediction(name, categories):
    case = CASES[name]
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    if categories and name != "ViewVotingClassifier":
        frame["c"] = np.where(X[:, 2] > 0, "x", "y")
    changes = {"views": {"u": ["a"], "v": ["b"]}} if name == "ViewVotingClassifier" else {"kernel": None}
    model = clone(case.estimator).set_params(**changes).fit(frame, case.y, **case.fit)
    twice = pd.concat([frame, frame[["a"]]], axis=1)
    with pytest.raises(ValueError, match=REPEATED):
        model.predict(twice, **case.predict)


# ---- settings --------------------------------------------------------------------------------------------


def place(name, parameter):
    """The name of a parameter of an estimator, or of the one within; None where there is none."""
    known = CASES[name].estimator.get_params()
    return next((key for key in (parameter, f"estimator__{parameter}") if key in known), None)


def having(parameter):
    """The estimators with a parameter, and its name there."""
    return [(name, place(name, parameter)) for name in CASES if place(name, parameter) is not None]


WRONG = {
    "n_jobs": ((0, "two", 1.5, True), "a whole number other than 0, or None"),
    "random_state": ((-1, 2**32, "seed", 1.5), "a whole number from 0 to 2**32 - 1, a RandomState or None"),
    "n_restarts_optimizer": ((-1, 1.5, True, "many"), "a whole number >= 0"),
}


@pytest.mark.parametrize(
    ("name", "key", "parameter"), [(*found, parameter) for parameter in WRONG for found in having(parameter)]
)
def test_absurd_settings_are_refused(fitted, name, key, parameter):
    values, expected = WRONG[parameter]
    for value in values:
        model = fitted(name)
        if name in WRAPPERS:
            model.estimator = clone(model.estimator)
        message = re.escape(f"{parameter} must be {expected}, got {value!r}")
        assert_refused(model, name, (X, CASES[name].y), ValueError, message, **{key: value})


@pytest.mark.parametrize(("name", "key"), having("n_jobs"))
def test_more_jobs_than_cores_are_as_many_as_there_are_cores(fitted, name, key, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # no other processes
    case = CASES[name]
    model = clone(case.estimator).set_params(**{key: 10**9}).fit(X, case.y, **case.fit)
    expected = fitted(name).predict(X, **case.predict)
    np.testing.assert_array_equal(model.predict(X, **case.predict), expected)


@pytest.mark.parametrize("seed", [2**32 - 1, np.int64(3), np.random.RandomState(0)], ids=["largest", "NumPy", "state"])
@pytest.mark.parametrize(("name", "key"), having("random_state"))
def test_seeds_that_scikit_learn_takes(name, key, seed):
    case = CASES[name]
    model = clone(case.estimator).set_params(**{key: seed}).fit(X, case.y, **case.fit)
    assert len(model.predict(X, **case.predict)) == N


# ---- fits that do not come to an end ---------------------------------------------------------------------


class Tripwire:
    """Counts the calls of some methods and raises an error at the one that is wanted."""

    def __init__(self, monkeypatch, steps):
        self.calls, self.at, self.error = 0, None, None
        for engine, method in steps:
            monkeypatch.setattr(engine, method, self.watched(getattr(engine, method)))

    def watched(self, call):
        def watched(engine, *args, **kwargs):
            self.calls += 1
            if self.calls == self.at:
                raise self.error
            return call(engine, *args, **kwargs)

        return watched

    def set(self, at, error):
        self.calls, self.at, self.error = 0, at, error


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_fit_that_breaks_off_leaves_the_estimator_as_it_was(name, monkeypatch):
    case = CASES[name]
    wire = Tripwire(monkeypatch, case.steps)
    model = case.learner().fit(X, case.y, **case.fit)
    n_calls = wire.calls
    assert n_calls >= 2
    before, answer = dict(vars(model)), model.predict(X, **case.predict)
    for at in sorted({1, 2, n_calls // 2, n_calls}):
        for error in (RuntimeError("broken"), KeyboardInterrupt("stop"))[: 1 if case.keeps else 2]:
            for estimator, state in ((model, before), (new := case.learner(), dict(vars(new)))):
                wire.set(at, error)
                with pytest.raises(type(error), match=str(error)):
                    estimator.fit(X, case.y, **case.fit)
                assert same_attributes(estimator, state)
    wire.set(None, None)
    np.testing.assert_array_equal(model.predict(X, **case.predict), answer)


@pytest.mark.parametrize("name", ["IVMClassifier", "MultiTaskIVMClassifier"])
def test_a_refinement_that_fails_leaves_the_estimator_as_it_was(fitted, name, monkeypatch):
    # An interrupt there keeps the rows that were selected, and is tested with each estimator.
    case, model = CASES[name], fitted(name)
    before = dict(vars(model))
    wire = Tripwire(monkeypatch, [LEARN_BY_EP])
    wire.set(1, RuntimeError("broken"))
    with pytest.raises(RuntimeError, match="broken"):
        model.fit(X, case.y, **case.fit)
    assert same_attributes(model, before)


@pytest.mark.parametrize("name", ["IVMClassifier", "IVMRegressor"])
def test_a_batch_that_breaks_off_leaves_the_estimator_as_it_was(name, monkeypatch):
    case = CASES[name]
    model = clone(case.estimator).partial_fit(X[:12], case.y[:12])
    before, answer = dict(vars(model)), model.predict(X)
    likelihood = type(model.likelihood_)
    wire = Tripwire(monkeypatch, [(likelihood, "tilted")])
    for at, error in ((3, KeyboardInterrupt("stop")), (5, RuntimeError("broken"))):
        wire.set(at, error)
        with pytest.raises(type(error), match=str(error)):
            model.partial_fit(X[12:], case.y[12:])
        assert same_attributes(model, before)
    wire.set(None, None)
    np.testing.assert_array_equal(model.predict(X), answer)
    again = clone(case.estimator).partial_fit(X[:12], case.y[:12]).partial_fit(X[12:], case.y[12:])
    np.testing.assert_array_equal(model.partial_fit(X[12:], case.y[12:]).predict(X), again.predict(X))


def test_a_warning_that_is_an_error_leaves_the_estimator_as_it_was():
    model = GPClassifier(**FIXED).fit(X, COLOURS)
    model.set_params(inference=VB(max_iter=1))
    before = dict(vars(model))
    with pytest.raises(UserWarning, match="VB inference stopped after 1 iterations"):
        model.fit(X, COLOURS)
    assert same_attributes(model, before)


def test_missing_values_are_refused_by_covariances_and_images_alone(fitted):
    gappy = X.copy()
    gappy[3, 1] = np.nan
    for name, case in CASES.items():
        if name == "VirtualVectorClassifier":
            assert_refused(fitted(name), name, (gappy, case.y), ValueError, "Input X contains NaN")
        else:
            assert clone(case.estimator).fit(gappy, case.y, **case.fit).predict(gappy, **case.predict).shape == (N,)
        assert get_tags(case.estimator).input_tags.allow_nan == (name != "VirtualVectorClassifier")
    gram = np.where(np.eye(N) > 0, np.nan, X @ X.T)
    with pytest.raises(ValueError, match="Input X contains NaN: expected a number in every cell of covariances"):
        GPClassifier(Precomputed(), hyper="fixed").fit(gram, COLOURS)
    views = WeightedSum({"a": View(RBF(), [0, 2, 3]), "b": View(RBF(), [1])})
    assert GPClassifier(views, hyper="fixed").fit(gappy, COLOURS).predict(gappy).shape == (N,)
