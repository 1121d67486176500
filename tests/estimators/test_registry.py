"""Every public estimator and search is in the lists that suites go through."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import is_regressor

import gpclass
from gpclass.estimators import _base
from tests.estimators.registry import ESTIMATORS, SEARCHES, fitted, predictions, public_estimators, public_searches


def test_every_public_estimator_is_listed():
    assert set(ESTIMATORS) == public_estimators()
    for name, entry in ESTIMATORS.items():
        assert type(entry.default) is getattr(gpclass, name)
        assert all(type(model) is getattr(gpclass, name) for model in entry.checked)


def test_every_public_search_is_listed():
    assert set(SEARCHES) == public_searches()
    assert set(_base.SEARCHES.values()) == public_searches()
    for kind, model in SEARCHES.items():
        assert type(model.hyper) is kind


@pytest.mark.parametrize("name", ESTIMATORS)
def test_default_settings_learn(name):
    model, data = fitted(name), ESTIMATORS[name].data()
    said = predictions(model, data)
    assert all(len(values) == len(data.X) for values in said)
    known = data.y if name != "NullCategoryClassifier" else np.where(data.y < 0, model.transduction_, data.y)
    assert model.score(data.X, known, **data.more) > 0.8
    if is_regressor(model):
        assert np.all(said[1] > 0)
    else:
        np.testing.assert_allclose(said[0].sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(model.classes_[said[0].argmax(axis=1)], said[1])
    learner = {"VirtualVectorClassifier": "first_", "ViewVotingClassifier": "estimators_"}.get(name)
    part = getattr(model, learner) if learner else model
    for one in part.values() if isinstance(part, dict) else [part]:
        one = one[-1] if hasattr(one, "steps") else one
        assert one.hyper_.n_evaluations > 0
        assert len(one.hyper_.theta) > 0
