"""The same numbers from NumPy and from another namespace, here array_api_strict on a device of its own."""

import numpy as np
import pytest

from gpclass.inference.dense.latent_objective import LatentObjective
from gpclass.inference.dense.product_form_posterior import ProductFormPosterior, Workspace
from gpclass.kernels import RBF
from gpclass.likelihoods import Logit, MultinomialProbit, Probit, Softmax
from gpclass.numerics.arrays import device, namespace, to_host
from gpclass.training.monitor import SILENT
from tests.inference.namespaces import moved

xp = pytest.importorskip("array_api_strict")
N = 30
X = np.random.default_rng(0).normal(size=(N, 2))
LABELS = np.random.default_rng(1).integers(0, 4, size=N)
#: Rows with next to no curvature take another way to their variances.
SCALE = np.where(np.arange(N)[:, None] < 5, 1e-9, 1.0)


def _strict(x):
    return moved(x, "array_api_strict")


def _covariance(C, stacked):
    return np.stack([((2.0 + c) * RBF(0.5 + c))(X) for c in range(C)]) if stacked else (5.0 * RBF(1.0))(X)


def _agree(found, expected):
    """In value to 1e-10 of the largest element; in kind, arrays stay where they are."""
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            _agree(one, other)
    elif not isinstance(expected, np.ndarray):
        assert found == pytest.approx(expected, rel=1e-10)
    else:
        assert namespace(found) is xp
        assert device(found) == xp.Device("device1")
        np.testing.assert_allclose(to_host(found), expected, rtol=0, atol=1e-10 * max(np.abs(expected).max(), 1e-300))


@pytest.mark.parametrize(("C", "stacked"), [(1, False), (1, True), (4, False), (4, True)])
def test_product_form_posterior(C, stacked):
    rng = np.random.default_rng(C)
    K, d, r = _covariance(C, stacked), SCALE * rng.gamma(1.0, 1.0, size=(N, C)), rng.normal(size=(N, C))
    ours, theirs = ProductFormPosterior(K, d), ProductFormPosterior(_strict(K), _strict(d))
    their_r = _strict(r)
    _agree(theirs.log_det, ours.log_det)
    _agree(theirs.log_det_gradient(), ours.log_det_gradient())
    _agree(theirs.precision(), ours.precision())
    _agree(theirs.apply(their_r), ours.apply(r))
    _agree(theirs.alpha(their_r), ours.alpha(r))
    _agree(theirs.times_precision(their_r), ours.times_precision(r))
    _agree(theirs.marginals(), ours.marginals())
    terms = theirs.terms(their_r)
    _agree(terms.chol, ours.chol)
    if C > 1:
        _agree(terms.coupling, ours.coupling)


@pytest.mark.parametrize("C", [1, 4])
def test_draws(C):
    rng = np.random.default_rng(C)
    # Well conditioned: otherwise the factor that spreads the draws has only half the digits.
    K, d, mean = _covariance(C, False) + np.eye(N), rng.gamma(1.0, 1.0, size=(N, C)), rng.normal(size=(N, C))
    ours, theirs = ProductFormPosterior(K, d), ProductFormPosterior(_strict(K), _strict(d))
    _agree(theirs.draws(_strict(mean), 3, np.random.default_rng(0)), ours.draws(mean, 3, np.random.default_rng(0)))


def test_a_workspace_serves_one_posterior_after_another():
    K = _strict(_covariance(3, False))
    workspace = Workspace(N, 3, K)
    for seed in (0, 1):
        d = _strict(np.random.default_rng(seed).gamma(1.0, 1.0, size=(N, 3)))
        shared, own = ProductFormPosterior(K, d, workspace), ProductFormPosterior(K, d)
        _agree(shared.marginals(), to_host(own.marginals()))
        _agree(shared.chol, to_host(own.chol))


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize(
    "likelihood",
    [
        Probit(fixed=("bias", "variance")),
        Logit(),
        MultinomialProbit(),
        Softmax(),
        MultinomialProbit(label_noise=0.1, fixed=False),
    ],
    ids=["probit", "logit", "multinomial-probit", "softmax", "label-noise"],
)
def test_latent_objective(likelihood, stacked):
    y = LABELS % 2 if likelihood.n_latent(4) == 1 else LABELS
    C = likelihood.n_latent(4)
    K = _covariance(C, stacked)
    ours, theirs = LatentObjective(K, y, likelihood, C), LatentObjective(_strict(K), y, likelihood, C)
    _agree(theirs.log_det, ours.log_det)
    _agree(theirs.by_noise.Sigma, ours.by_noise.Sigma)
    (mode, trace, converged, _), found = (latent.maximise(None, 1e-10, 50, SILENT) for latent in (ours, theirs))
    assert converged == found.converged
    assert len(trace) == len(found.objective_trace)
    _agree(tuple(found.mode), tuple(mode))
    evidence, other = ours.laplace(mode, True), theirs.laplace(found.mode, True)
    _agree(other.value, evidence.value)
    _agree(other.dK, evidence.dK)
    np.testing.assert_allclose(other.dlikelihood, evidence.dlikelihood, rtol=1e-8)
    left_out = theirs.leave_one_out(found.mode, other.posterior), ours.leave_one_out(mode, evidence.posterior)
    for here, there in zip(*left_out, strict=True):  # both on the host
        np.testing.assert_allclose(here, there, rtol=1e-6)
    # The state of a fit on the host starts one on a device.
    _agree(theirs.start(mode.m).m, mode.m)
    assert -np.inf == theirs.at(_strict(np.full((N, C), 1e9))).J


def test_conjugate_gradients_with_the_stronger_preconditioner():
    K, likelihood = _covariance(4, False), Softmax()
    ours, theirs = (LatentObjective(matrix, LABELS, likelihood, 4) for matrix in (K, _strict(K)))
    r = np.random.default_rng(2).normal(size=(N, 4))
    points = [latent.start(None) for latent in (ours, theirs)]
    x, solved = ours.solve(points[0].W, r, 1e-12, ours._curved(points[0]))
    other, also = theirs.solve(points[1].W, _strict(r), 1e-12, theirs._curved(points[1]))
    assert solved
    assert also
    _agree(other, x)
