"""Inference through inducing rows against the full models it must equal, and its gradient."""

import numpy as np
import pytest

from gpclass.inference import EP, VB, SparseEP, SparseVB
from gpclass.inference.inducing.features import ArrayRows, Features
from gpclass.inference.posteriors import GaussianPosterior, InducingPosterior
from gpclass.kernels import RBF, Linear, Matern, White
from gpclass.likelihoods import MultinomialProbit, OrderedProbit, Probit
from tests.conftest import central_difference


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
@pytest.mark.parametrize("prior", ["dtc", "fitc"])
def test_with_all_rows_inducing_it_is_full_ep(problem, likelihood, K, kernel, prior):
    X, y, new = problem
    y = y if K == 3 else (y == 0).astype(int)
    C = likelihood.n_latent(K)
    features = Features(kernel, X, ArrayRows(X), prior)
    sparse = SparseEP(tol=1e-9, max_iter=2000)(features, y, likelihood, C)
    full = EP(coupling="none", tol=1e-9, max_iter=2000)(kernel(X), y, likelihood, C)
    assert sparse.info.converged
    assert sparse.log_evidence == pytest.approx(full.log_evidence, abs=1e-8)
    np.testing.assert_allclose(sparse.loo[0], full.loo[0], atol=1e-5)
    np.testing.assert_allclose(sparse.loo[1], full.loo[1], atol=1e-6)
    ours = InducingPosterior(kernel, X, features.chol, sparse.mean, sparse.spread).latent(new)
    theirs = GaussianPosterior(kernel, X, full.weights).latent(new)
    np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-6)
    np.testing.assert_allclose(ours.cov, theirs.cov, atol=1e-6)


@pytest.mark.parametrize("prior", ["dtc", "fitc"])
def test_with_all_rows_inducing_it_is_full_variational_bayes(problem, prior):
    X, y, new = problem
    kernel = 4.0 * RBF(1.5)
    features = Features(kernel, X, ArrayRows(X), prior)
    sparse = SparseVB(tol=1e-8)(features, y, MultinomialProbit(), 3)
    full = VB(tol=1e-10)(kernel(X), y, MultinomialProbit(), 3)
    assert sparse.log_evidence == pytest.approx(full.log_evidence, abs=1e-9)
    ours = InducingPosterior(kernel, X, features.chol, sparse.mean, sparse.spread).latent(new)
    theirs = GaussianPosterior(kernel, X, full.weights).latent(new)
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
        return engine(Features(own, X[:12], ArrayRows(X)), y, noise, C, gradient=gradient)

    theta = np.concatenate([kernel.theta, likelihood.theta])
    expected = central_difference(lambda t: evidence(t).log_evidence, theta)
    np.testing.assert_allclose(evidence(theta, gradient=True).gradient, expected, atol=1e-6)


def test_blocks_and_cache_change_nothing(problem, monkeypatch):
    X, y, _ = problem
    from gpclass.inference import inducing

    def fit():
        engine = SparseEP(tol=1e-10, max_iter=2000)
        return engine(Features(4.0 * RBF(1.5), X[:20], ArrayRows(X)), y, MultinomialProbit(), 3)

    whole = fit()
    monkeypatch.setattr(inducing, "BLOCK_ROWS", 7)
    pieces = fit()
    monkeypatch.setattr(inducing, "CACHE_BYTES", 0)
    uncached = fit()
    for other in (pieces, uncached):
        assert other.info.converged
        np.testing.assert_allclose(other.mean, whole.mean, atol=1e-7)
        np.testing.assert_allclose(other.loo[1], whole.loo[1], atol=1e-7)
        assert other.log_evidence == pytest.approx(whole.log_evidence, abs=1e-7)
    np.testing.assert_array_equal(pieces.mean, uncached.mean)


def test_blocks_in_turn_settle_where_all_at_once_go_to_and_fro(monkeypatch):
    """Many rows through few inducing ones: each sweep of all rows at once overshoots."""
    from gpclass.inference import inducing

    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    y = np.argmax(np.column_stack([X, -X.sum(axis=1)]) + 0.3 * rng.standard_normal((3000, 3)), axis=1)
    sweeps = []
    for size in (100, 3000):
        monkeypatch.setattr(inducing, "BLOCK_ROWS", size)
        features = Features(50.0 * RBF(2.0), X[:10], ArrayRows(X), approximation="dtc")
        fit = SparseEP()(features, y, MultinomialProbit(), 3)
        assert fit.info.converged
        sweeps.append(fit.info.n_iter)
    assert sweeps[0] < sweeps[1] / 2


def test_weighted_gram_takes_either_sign():
    from gpclass.inference.inducing.features import weighted_gram

    rng = np.random.default_rng(1)
    V = rng.standard_normal((4, 9))
    for weight in (rng.standard_normal(9), -rng.random(9), rng.random(9)):
        np.testing.assert_allclose(weighted_gram(V, weight), V * weight @ V.T, atol=1e-12)


def test_single_precision_is_close(problem):
    X, y, _ = problem
    for engine in (SparseEP(max_iter=10), SparseVB()):
        single, double = (
            engine(Features(4.0 * RBF(1.5), X[:20], ArrayRows(X), dtype=dtype), y, MultinomialProbit(), 3)
            for dtype in ("float32", "float64")
        )
        np.testing.assert_allclose(single.mean, double.mean, atol=2e-3)


def test_a_warm_start_is_kept(problem):
    X, y, _ = problem
    features = Features(4.0 * RBF(1.5), X[:20], ArrayRows(X))
    settled = SparseEP(tol=1e-8, max_iter=1000)(features, y, MultinomialProbit(), 3)
    again = SparseEP(tol=1e-6, max_iter=1000)(features, y, MultinomialProbit(), 3, init=settled.state)
    assert again.info.n_iter < 5
    assert again.log_evidence == pytest.approx(settled.log_evidence, abs=1e-6)


def test_joint_beliefs_and_draws(problem):
    X, y, new = problem
    features = Features(4.0 * RBF(1.5), X[:20], ArrayRows(X))
    fit = SparseEP()(features, y, MultinomialProbit(), 3)
    posterior = InducingPosterior(features.kernel, X[:20], features.chol, fit.mean, fit.spread)
    joint, marginal = posterior.joint(new), posterior.latent(new)
    np.testing.assert_allclose(np.diagonal(joint.cov, axis1=1, axis2=2).T, marginal.cov, atol=1e-9)
    draws = posterior.sample(new, 4000, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=0), marginal.mean, atol=0.15)
    np.testing.assert_allclose(draws.var(axis=0), marginal.cov, rtol=0.15)
    # The same beliefs from moments at the inducing rows.
    u = posterior.joint(X[:20])
    again = InducingPosterior.from_moments(features.kernel, X[:20], u.mean, u.cov)
    np.testing.assert_allclose(again.latent(new).cov, marginal.cov, atol=1e-5)
    np.testing.assert_allclose(again.latent(new).mean, marginal.mean, atol=1e-5)


@pytest.mark.parametrize("engine", [SparseEP(tol=1e-6, max_iter=500), SparseVB()], ids=["ep", "vb"])
@pytest.mark.parametrize("prior", ["dtc", "fitc"])
def test_without_its_label_a_row_is_less_certain(problem, engine, prior):
    # All of D belongs to what is not known of a row, whichever part of it labels are heard through.
    X, y, _ = problem
    features = Features(4.0 * RBF(1.0), X[:8], ArrayRows(X), prior)
    fit = engine(features, y, MultinomialProbit(), 3)
    with_label = InducingPosterior(features.kernel, X[:8], features.chol, fit.mean, fit.spread).latent(X)
    D = np.concatenate([block.site_noise + block.dropped_variance for block in features])
    assert D.max() > 1.0
    explained, left = with_label.cov - D[:, None], fit.loo[1] - D[:, None]
    assert np.all(left > explained - 1e-9)
    assert np.all(explained > -1e-9)
