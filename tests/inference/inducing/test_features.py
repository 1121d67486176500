"""Inference through inducing points against the full models it must equal, and its gradient."""

import numpy as np
import pytest

from gpclass.inference import EP, VB, DensePrior, InducingPrior, SparseEP, SparseVB
from gpclass.inference.inducing import features as inducing
from gpclass.inference.inducing.features import ArrayRows, Features, weighted_gram
from gpclass.inference.posteriors import InducingPosterior
from gpclass.kernels import RBF, Linear, Matern, White
from gpclass.likelihoods import MultinomialProbit, OrderedProbit, Probit
from gpclass.numerics.devices import HOST
from tests.conftest import central_difference
from tests.inference.namespaces import NAMESPACES, moved


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    f = np.column_stack([X[:, 0], X[:, 1] ** 2 - 1, X[:, 2]])
    return X, np.argmax(f + 0.3 * rng.standard_normal(f.shape), axis=1), rng.standard_normal((20, 3))


LIKELIHOODS = [
    (MultinomialProbit(), 3),
    (Probit(bias=0.2, fixed=("variance", "label_noise")), 2),
    (OrderedProbit(fixed=()), 3),
]


@pytest.mark.parametrize(("likelihood", "K"), LIKELIHOODS, ids=["classes", "binary", "ordered"])
@pytest.mark.parametrize("kernel", [4.0 * RBF(1.5), 4.0 * Matern(1.5, nu=2.5) + White(0.3)], ids=["plain", "white"])
@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
def test_with_all_rows_inducing_it_is_full_ep(problem, likelihood, K, kernel, approximation):
    X, y, new = problem
    y = y if K == 3 else (y == 0).astype(int)
    C = likelihood.n_latent(K)
    features = Features(kernel, X, ArrayRows(X), approximation)
    sparse = SparseEP(tol=1e-9, max_iter=2000)(InducingPrior(features, C), y, likelihood)
    full = EP(coupling="none", tol=1e-9, max_iter=2000)(DensePrior(kernel(X), C, kernel, X), y, likelihood)
    assert sparse.info.converged
    assert sparse.log_evidence == pytest.approx(full.log_evidence, abs=1e-8)
    np.testing.assert_allclose(sparse.loo[0], full.loo[0], atol=1e-5)
    np.testing.assert_allclose(sparse.loo[1], full.loo[1], atol=1e-6)
    ours, theirs = sparse.posterior.latent(new), full.posterior.latent(new)
    np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-6)
    np.testing.assert_allclose(ours.cov, theirs.cov, atol=1e-6)


@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
def test_with_all_rows_inducing_it_is_full_variational_bayes(problem, approximation):
    X, y, new = problem
    kernel = 4.0 * RBF(1.5)
    features = Features(kernel, X, ArrayRows(X), approximation)
    sparse = SparseVB(tol=1e-8)(InducingPrior(features, 3), y, MultinomialProbit())
    full = VB(tol=1e-10)(DensePrior(kernel(X), 3, kernel, X), y, MultinomialProbit())
    assert sparse.log_evidence == pytest.approx(full.log_evidence, abs=1e-9)
    ours, theirs = sparse.posterior.latent(new), full.posterior.latent(new)
    np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-6)
    np.testing.assert_allclose(ours.cov, theirs.cov, atol=1e-6)
    # Leave-one-out: variances alike, means by each class's own curvature instead of all together.
    np.testing.assert_allclose(sparse.loo[1], full.loo[1], atol=1e-9)
    assert np.corrcoef(sparse.loo[0].ravel(), full.loo[0].ravel())[0, 1] > 0.99


@pytest.mark.parametrize(("likelihood", "K"), LIKELIHOODS, ids=["classes", "binary", "ordered"])
def test_gradient_of_the_evidence(problem, likelihood, K):
    X, y, _ = problem
    y = y if K == 3 else (y == 0).astype(int)
    C = likelihood.n_latent(K)
    kernel = 4.0 * RBF([1.0, 1.5, 3.0]) + Linear(0.2) + White(0.3)
    split = kernel.theta.size
    engine = SparseEP(tol=1e-11, max_iter=3000)

    def evidence(theta, gradient=False):
        own, noise = kernel.with_theta(theta[:split]), likelihood.with_theta(theta[split:])
        return engine(InducingPrior(Features(own, X[:12], ArrayRows(X)), C), y, noise, gradient=gradient)

    theta = np.concatenate([kernel.theta, likelihood.theta])
    expected = central_difference(lambda t: evidence(t).log_evidence, theta)
    np.testing.assert_allclose(evidence(theta, gradient=True).gradient, expected, atol=1e-6)


def test_blocks_and_cache_change_nothing(problem, monkeypatch):
    X, y, _ = problem

    def fit():
        engine = SparseEP(tol=1e-10, max_iter=2000)
        return engine(InducingPrior(Features(4.0 * RBF(1.5), X[:20], ArrayRows(X)), 3), y, MultinomialProbit())

    whole = fit()
    monkeypatch.setattr(inducing, "BLOCK_ROWS", 7)
    pieces = fit()
    monkeypatch.setattr(inducing, "CACHE_BYTES", 0)
    uncached = fit()
    for other in (pieces, uncached):
        assert other.info.converged
        np.testing.assert_allclose(other.posterior.mean, whole.posterior.mean, atol=1e-7)
        np.testing.assert_allclose(other.loo[1], whole.loo[1], atol=1e-7)
        assert other.log_evidence == pytest.approx(whole.log_evidence, abs=1e-7)
    np.testing.assert_array_equal(pieces.posterior.mean, uncached.posterior.mean)


def test_blocks_in_turn_converge_where_all_at_once_oscillate(monkeypatch):
    """Many rows through few inducing points: each sweep of all rows at once overshoots."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    y = np.argmax(np.column_stack([X, -X.sum(axis=1)]) + 0.3 * rng.standard_normal((3000, 3)), axis=1)
    sweeps = []
    for size in (100, 3000):
        monkeypatch.setattr(inducing, "BLOCK_ROWS", size)
        features = Features(50.0 * RBF(2.0), X[:10], ArrayRows(X), approximation="dtc")
        fit = SparseEP()(InducingPrior(features, 3), y, MultinomialProbit())
        assert fit.info.converged
        sweeps.append(fit.info.n_iter)
    assert sweeps[0] < sweeps[1] / 2


def test_weighted_gram_takes_either_sign():
    rng = np.random.default_rng(1)
    V = rng.standard_normal((4, 9))
    for weight in (rng.standard_normal(9), -rng.random(9), rng.random(9)):
        np.testing.assert_allclose(weighted_gram(V, weight), V * weight @ V.T, atol=1e-12)


def test_single_precision_is_close(problem):
    X, y, _ = problem
    for engine in (SparseEP(max_iter=10), SparseVB()):
        single, double = (
            engine(
                InducingPrior(Features(4.0 * RBF(1.5), X[:20], ArrayRows(X), dtype=dtype), 3), y, MultinomialProbit()
            )
            for dtype in ("float32", "float64")
        )
        np.testing.assert_allclose(single.posterior.mean, double.posterior.mean, atol=2e-3)


def test_a_warm_start_is_kept(problem):
    X, y, _ = problem
    prior = InducingPrior(Features(4.0 * RBF(1.5), X[:20], ArrayRows(X)), 3)
    converged = SparseEP(tol=1e-8, max_iter=1000)(prior, y, MultinomialProbit())
    again = SparseEP(tol=1e-6, max_iter=1000)(prior, y, MultinomialProbit(), init=converged.state)
    assert again.info.n_iter < 5
    assert again.log_evidence == pytest.approx(converged.log_evidence, abs=1e-6)


def test_joint_predictions_and_draws(problem):
    X, y, new = problem
    features = Features(4.0 * RBF(1.5), X[:20], ArrayRows(X))
    posterior = SparseEP()(InducingPrior(features, 3), y, MultinomialProbit()).posterior
    joint, marginal = posterior.joint(new), posterior.latent(new)
    np.testing.assert_allclose(np.diagonal(joint.cov, axis1=1, axis2=2).T, marginal.cov, atol=1e-9)
    draws = posterior.sample(new, 4000, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=0), marginal.mean, atol=0.15)
    np.testing.assert_allclose(draws.var(axis=0), marginal.cov, rtol=0.15)
    # The same posterior from moments at the inducing points.
    u = posterior.joint(X[:20])
    again = InducingPosterior.from_moments(features.kernel, X[:20], u.mean, u.cov)
    np.testing.assert_allclose(again.latent(new).cov, marginal.cov, atol=1e-5)
    np.testing.assert_allclose(again.latent(new).mean, marginal.mean, atol=1e-5)


@pytest.mark.parametrize("engine", [SparseEP(tol=1e-6, max_iter=500), SparseVB()], ids=["ep", "vb"])
@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
def test_without_its_label_a_row_is_less_certain(problem, engine, approximation):
    # All of D is uncertainty about a row, whichever part of it is noise between its site and its label.
    X, y, _ = problem
    features = Features(4.0 * RBF(1.0), X[:8], ArrayRows(X), approximation)
    fit = engine(InducingPrior(features, 3), y, MultinomialProbit())
    with_label = fit.posterior.latent(X)
    D = np.concatenate([block.site_noise + block.dropped_variance for block in features])
    assert D.max() > 1.0
    explained, left = with_label.cov - D[:, None], fit.loo[1] - D[:, None]
    assert np.all(left > explained - 1e-9)
    assert np.all(explained > -1e-9)


@pytest.mark.parametrize("name", NAMESPACES)
def test_predictions_in_other_namespaces(problem, name):
    X, y, new = problem
    features = Features(4.0 * RBF(1.5), X[:20], ArrayRows(X))
    for engine in (SparseEP(), SparseVB()):  # a factor for each class, and one for all
        ours = engine(InducingPrior(features, 3), y, MultinomialProbit()).posterior
        parts = (moved(part, name) for part in (ours.chol, ours.mean, ours.spread))
        theirs = InducingPosterior(ours.kernel, ours.X, *parts)
        for found, expected in ((theirs.latent(new), ours.latent(new)), (theirs.joint(new), ours.joint(new))):
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-10)
    u = ours.joint(X[:20])
    one, other = (
        InducingPosterior.from_moments(ours.kernel, ours.X, mean, cov).latent(new)
        for mean, cov in (u, (moved(u.mean, name), moved(u.cov, name)))
    )
    np.testing.assert_allclose(other.mean, one.mean, atol=1e-7)
    np.testing.assert_allclose(other.cov, one.cov, atol=1e-7)


def test_blocks_for_a_device_are_those_of_the_host():
    rows = ArrayRows(np.arange(10000.0).reshape(5000, 2))
    for (here, X), (there, Z) in zip(rows.blocks(), inducing.DeviceRows(rows, HOST).blocks(), strict=True):
        assert here == there
        np.testing.assert_array_equal(X, Z)


def test_an_error_while_reading_ahead_is_raised():
    def read():
        yield 1
        raise OSError("the disk is gone")

    items = inducing.ahead(read())
    assert next(items) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(items)
