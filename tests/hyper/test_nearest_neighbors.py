"""Kernel parameters of models with many rows, by nearest neighbours and held-out rows."""

import numpy as np
import pandas as pd
import pytest

from gpclass import GPClassifier, IVMClassifier, IVMRegressor, SparseGPClassifier
from gpclass.estimators import _active, gp_classifier
from gpclass.hyper import Fixed, NearestNeighbors
from gpclass.hyper.nearest_neighbors import NeighborScales
from gpclass.kernels import RBF, Linear

QUICK = NearestNeighbors(first=NeighborScales(max_iter=100), n_active=60, n_rows=600, n_held_out=200)


@pytest.fixture(scope="module")
def rings():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 6))
    y = np.digitize(np.hypot(X[:, 0], X[:, 1]), [0.8, 1.6])
    return X[:1000], y[:1000], X[1000:], y[1000:]


@pytest.mark.parametrize("model", [GPClassifier, SparseGPClassifier, IVMClassifier])
def test_inputs_that_matter_have_short_length_scales(rings, model):
    X, y, X_test, y_test = rings
    fitted = model(hyper=QUICK, random_state=0).fit(X, y)
    assert fitted.relevance_[:2].min() > 10.0 * fitted.relevance_[2:].max()
    assert fitted.score(X_test, y_test) > 0.9


def test_many_rows_of_the_default_kernel_are_learned_from_so(rings, monkeypatch):
    X, y = rings[0][:400], rings[1][:400]
    chosen = []
    monkeypatch.setattr(_active, "NEIGHBOR_ROWS", 300)
    monkeypatch.setattr(_active, "choose_search", lambda hyper, *_: chosen.append(hyper) or Fixed())
    for kernel, n in ((None, 400), (None, 200), (RBF(2.0), 400)):
        SparseGPClassifier(kernel, n_inducing=20, random_state=0).fit(X[:n], y[:n])
        IVMClassifier(kernel, n_active=20, random_state=0).fit(X[:n], y[:n])
    assert chosen == ["neighbors"] * 2 + ["evidence"] * 4
    searches = []
    monkeypatch.setattr(gp_classifier, "NEIGHBOR_ROWS", 300)
    monkeypatch.setattr(gp_classifier, "choose_search", lambda *_: Fixed())
    monkeypatch.setattr(gp_classifier, "NearestNeighbors", lambda **_: searches.append("neighbors") or Fixed())
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(colour=pd.Categorical(np.where(y > 0, "red", "blue")))
    for kernel, rows, labels in ((None, X, y), (None, X[:200], y[:200]), (RBF(2.0), X, y), (None, frame, y)):
        before = len(searches)
        GPClassifier(kernel, hyper="auto").fit(rows, labels)
        searches.append(len(searches) - before)
    assert searches == ["neighbors", 1, 0, 0, 0]


def test_a_common_length_scale_stays_common(rings):
    X, y, X_test, y_test = rings
    model = SparseGPClassifier(10.0 * RBF(1.0), n_inducing=100, hyper=QUICK, random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.7
    assert len(model.hyper_.theta) == 2


def test_what_cannot_be_learned_so_is_refused_before_any_work(rings):
    X, y, _, _ = rings
    with pytest.raises(TypeError, match="one parameter length_scale"):
        SparseGPClassifier(Linear(), hyper="neighbors").fit(X, y)
    with pytest.raises(TypeError, match="needs classes, got regression targets"):
        IVMRegressor(hyper="neighbors").fit(X, X[:, 0])
