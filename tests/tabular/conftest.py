"""Small tables of every kind, and models of them."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import gpclass
from gpclass.tabular import TableModel, comparison, evaluation

LEVELS = ["low", "mid", "high"]


def flowers(n=60, seed=0):
    """Numbers, categories, missing values, a name for every row, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    size, weight = rng.normal(5, 2, n).round(2), rng.normal(0, 1, n).round(3)
    colour = rng.choice(["red", "blue", "white"], n)
    species = np.where(size + 2 * (colour == "red") > 6, "rose", "daisy")
    frame = pd.DataFrame({"plant": [f"plant {i}" for i in range(n)], "size": size, "weight": weight, "colour": colour})
    frame.loc[rng.random(n) < 0.15, "weight"] = np.nan
    return frame.assign(species=species)


def graded(frame):
    """With an ordered target."""
    return frame.assign(grade=np.array(LEVELS)[np.digitize(frame["size"], [4, 6])])


@pytest.fixture(scope="session")
def frame():
    return flowers()


@pytest.fixture(scope="session")
def table_file(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "flowers.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def model(frame):
    return TableModel("species").fit(frame)


@pytest.fixture(scope="session")
def regression_model(frame):
    return TableModel("size", regress=True).fit(frame)


@pytest.fixture(scope="session")
def ordinal_model(frame):
    return TableModel("grade", order=LEVELS).fit(graded(frame))


@pytest.fixture(scope="session")
def views_model(frame):
    return TableModel("species", views={"a": ["size"], "b": ["colour"]}).fit(frame)


@pytest.fixture(scope="session")
def model_file(model, tmp_path_factory):
    return gpclass.save(model, tmp_path_factory.mktemp("models") / "flowers.gpclass")


@pytest.fixture
def fixed_parameters(monkeypatch):
    """Estimators keep their initial kernel parameters, and hidden labels have two folds: for tests of other things."""
    for name in ("GPClassifier", "GPOrdinalClassifier", "GPRegressor", "NullCategoryClassifier"):
        monkeypatch.setattr(gpclass, name, partial(getattr(gpclass, name), hyper="fixed"))
    monkeypatch.setattr(evaluation, "FOLDS", 2)


@pytest.fixture
def two_candidates(monkeypatch):
    """A comparison of two quick classifiers."""
    candidates = comparison.candidates

    def first_two(*about):
        chosen = candidates(*about)
        chosen["gpclass"].set_params(hyper="fixed")
        assert isinstance(chosen["logistic regression"][-1], LogisticRegression)
        return {name: chosen[name] for name in ("gpclass", "logistic regression")}

    monkeypatch.setattr(comparison, "candidates", first_two)
