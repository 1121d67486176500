"""Estimators, engines and searches that do not fit together are refused before any work, with what would work."""

import numpy as np
import pytest

from gpclass import GPClassifier, GPOrdinalClassifier, GPRegressor, IVMClassifier, SparseGPClassifier
from gpclass.hyper import NUTS, Alternating, Metropolis
from gpclass.inference import EP, IVM, VB, Exact, SparseEP, SparseVB
from gpclass.inference.base import Engine
from gpclass.kernels import RBF
from gpclass.likelihoods import Softmax

DENSE = "needs an engine that works on the covariances of all rows, such as inference='auto', 'vb', 'ep', 'laplace' or"
ALTERNATING = (
    "hyper='alternating' alternates with the selection of active rows, which {} does not do: use hyper='evidence', or "
    "IVMClassifier, IVMRegressor or GPOrdinalClassifier(inference='ivm')"
)
METROPOLIS = (
    "hyper='metropolis' samples kernel parameters inside the Gibbs sampler: expected inference='gibbs', got {}; for "
    "other engines there is hyper='nuts'"
)
ONE_THETA = "{} learns one set of kernel parameters: expected hyper={} or 'fixed', got {}, which samples them; use {}"
MANY = "'auto', 'evidence', 'held_out', 'loo', 'neighbors'"
CASES = [
    (
        GPClassifier(inference=SparseEP()),
        f"GPClassifier {DENSE} 'gibbs'; SparseEP works through inducing points and belongs in "
        "SparseGPClassifier(inference=SparseEP())",
    ),
    (
        GPClassifier(inference=IVM()),
        f"GPClassifier {DENSE} 'gibbs'; IVM keeps an active set of rows and belongs in IVMClassifier or IVMRegressor, "
        "which have its settings as parameters",
    ),
    (
        SparseGPClassifier(inference=EP()),
        "SparseGPClassifier needs an engine that works through inducing points, such as inference='ep' or 'vb'; EP "
        "works on the covariances of all rows and belongs in GPClassifier(inference=EP())",
    ),
    (
        SparseGPClassifier(inference=Exact()),
        "SparseGPClassifier needs an engine that works through inducing points, such as inference='ep' or 'vb'; Exact "
        "works on the covariances of all rows and belongs in GPRegressor(inference=Exact())",
    ),
    (
        GPRegressor(inference=SparseVB()),
        "GPRegressor needs an engine that works on the covariances of all rows, such as inference='exact'; SparseVB "
        "works through inducing points and belongs in SparseGPClassifier(inference=SparseVB())",
    ),
    (
        GPClassifier(inference=Exact()),
        "Exact inference needs the Gaussian likelihood of GPRegressor, got MultinomialProbit; for labels use "
        "inference='vb', 'ep' or 'laplace'",
    ),
    (
        GPClassifier(inference=VB(), likelihood=Softmax()),
        "VB inference needs a likelihood with augment; Softmax has none: use inference='ep'",
    ),
    (GPClassifier(hyper="alternating"), ALTERNATING.format("VB")),
    (GPOrdinalClassifier(hyper=Alternating()), ALTERNATING.format("EP")),
    (GPClassifier(hyper="metropolis"), METROPOLIS.format("VB")),
    (GPClassifier(inference="laplace", hyper=Metropolis()), METROPOLIS.format("Laplace")),
    (
        SparseGPClassifier(hyper="nuts"),
        ONE_THETA.format("SparseGPClassifier", MANY, "'nuts'", "GPClassifier(hyper='nuts')"),
    ),
    (
        SparseGPClassifier(hyper=NUTS()),
        ONE_THETA.format("SparseGPClassifier", MANY, "NUTS()", "GPClassifier(hyper=NUTS())"),
    ),
    (
        IVMClassifier(hyper="hmc"),
        ONE_THETA.format(
            "IVMClassifier",
            "'auto', 'evidence', 'held_out', 'alternating', 'loo', 'neighbors'",
            "'hmc'",
            "GPClassifier(hyper='hmc')",
        ),
    ),
    (
        SparseGPClassifier(hyper="alternating"),
        f"SparseGPClassifier learns in fewer ways: expected hyper={MANY} or 'fixed', got 'alternating', which needs "
        "IVMClassifier(hyper='alternating')",
    ),
]


@pytest.mark.parametrize(
    ("estimator", "sentence"), CASES, ids=[f"{type(model).__name__}-{i}" for i, (model, _) in enumerate(CASES)]
)
def test_what_does_not_fit_is_refused_before_any_work(estimator, sentence, monkeypatch):
    def works(*args, **settings):
        raise AssertionError("this is work")

    # Every engine starts from covariances.
    monkeypatch.setattr(RBF, "vjp", works)
    for engine in Engine.__subclasses__():
        monkeypatch.setattr(engine, "__call__", works)
    rng = np.random.default_rng(0)
    with pytest.raises(TypeError) as refused:
        estimator.set_params(kernel=RBF()).fit(rng.standard_normal((30, 2)), np.arange(30) % 3)
    assert str(refused.value) == sentence
    assert not hasattr(estimator, "kernel_")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"inference": "sparse"}, "inference must be one of .*'auto', 'ep', 'gibbs', 'laplace', 'vb'.* got 'sparse'"),
        ({"inference": EP}, r"inference must be an object, not a class: write EP\(\) with brackets"),
        ({"inference": 3}, "inference must be one of .* or an engine object, got 3"),
        ({"hyper": NUTS}, r"hyper must be an object, not a class: write NUTS\(\) with brackets"),
        (
            {"hyper": "random"},
            "hyper must be one of .*'evidence', 'fixed'.* or an object of gpclass.hyper, got 'random'",
        ),
    ],
)
def test_what_is_no_engine_or_search_is_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        GPClassifier(**settings).fit(np.eye(4), [0, 1, 0, 1])
