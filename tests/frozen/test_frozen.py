"""Fits must give the numbers of table.json: to 1e-8, or 1e-6 where parameters are learned or sampled."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gpclass.estimators._base import SEARCHES
from tests.estimators.registry import public_estimators, public_searches
from tests.frozen.fits import CASES

TABLE = json.loads((Path(__file__).parent / "table.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_the_table(name):
    case, expected = CASES[name], TABLE[name]
    found = case.run()
    assert set(found) == set(expected)
    tol = 1e-6 if case.searched else 1e-8
    for part, values in expected.items():
        np.testing.assert_allclose(
            found[part], np.array(values, dtype=float), rtol=tol, atol=tol, err_msg=f"{name}: {part}"
        )


def test_table_has_exactly_the_cases():
    assert len(CASES) >= 40
    assert set(TABLE) == set(CASES)


def test_every_estimator_occurs():
    assert public_estimators() <= {case.estimator for case in CASES.values()}


def test_every_search_occurs():
    given = [SEARCHES.get(case.hyper) if isinstance(case.hyper, str) else type(case.hyper) for case in CASES.values()]
    assert public_searches() <= set(given)


@pytest.mark.parametrize(
    ("estimator", "part", "shape"),
    [
        pytest.param("MultiTaskIVMClassifier", "proba", (15, 2), id="tasks of labels"),
        pytest.param("MultiTaskIVMRegressor", "mean", (15,), id="tasks of numbers"),
        pytest.param("NullCategoryClassifier", "proba", (10, 2), id="null category, two classes"),
        pytest.param("NullCategoryClassifier", "proba", (15, 3), id="null category, three classes"),
    ],
)
def test_estimators_of_two_kinds_occur_as_both(estimator, part, shape):
    told = [TABLE[name] for name, case in CASES.items() if case.estimator == estimator]
    assert any(part in numbers and np.shape(numbers[part]) == shape for numbers in told)
