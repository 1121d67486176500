"""The informative vector machine against golden values, a dense twin, and the exact models it approximates."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from gpclass import GPRegressor, IVMRegressor
from gpclass.hyper.alternating import _batched, _partition, _site_evidence
from gpclass.inference import EP, IVM, VB, ActivePrior, DensePrior
from gpclass.inference.active.active_set import ActiveSet
from gpclass.inference.active.ivm import default_size
from gpclass.inference.active.selection import RowScorer, Selector, _Lazy, row_scorer
from gpclass.inference.problem import Problem
from gpclass.kernels import RBF, Constant, Linear, PerClass, White
from gpclass.likelihoods import Gaussian, MultinomialProbit, NullCategory, OrderedProbit, Probit
from gpclass.training.monitor import Monitor
from tests.conftest import central_difference, relative_error


@pytest.mark.parametrize("name", ["probit", "gaussian"])
def test_same_rows_and_sites_as_the_authors_toolbox(golden, name):
    z = golden(f"ivm_{name}")
    kernel = (
        float(z["k_rbf_variance"]) * RBF(float(z["k_rbf_inverseWidth"]) ** -0.5)
        + Linear(float(z["k_lin_variance"]))
        + Constant(float(z["k_bias_variance"]))
        + White(float(z["k_white_variance"]))
    )
    kind = {"probit": Probit, "gaussian": Gaussian}[name]
    likelihood = kind(bias=float(z["n_bias"]), variance=float(z["n_sigma2"]), fixed=True)
    y = (z["y"] > 0).astype(int) if name == "probit" else z["y"]
    active = ActiveSet(kernel, z["X"], 1, 50, shared=True)
    Selector("entropy").grow(active, y, likelihood, 50)
    chosen = z["active"].astype(int)
    assert active.rows == chosen.tolist()
    np.testing.assert_allclose(active.site_precision[:50, 0], z["site_precision"][chosen], rtol=1e-8)
    np.testing.assert_allclose(active.site_mean[:50, 0], z["site_mean"][chosen], rtol=1e-8, atol=1e-12)


def test_same_rows_and_sites_as_the_authors_toolbox_with_null_category_noise(golden):
    z = golden("ivm_ncnm")
    kernel = (
        float(z["kern_rbf_variance"]) * RBF(float(z["kern_rbf_inverseWidth"]) ** -0.5)
        + Linear(float(z["kern_lin_variance"]))
        + Constant(float(z["kern_bias_variance"]))
        + White(float(z["kern_white_variance"]))
    )
    gammas = float(z["gamma_p"]), float(z["gamma_n"])
    likelihood = NullCategory(*gammas, float(z["bias"]), float(z["sigma2"]), fixed=True)
    y = np.where(np.isnan(z["y"]), -1, z["y"] > 0).astype(int)
    active = ActiveSet(kernel, z["X"], 1, 50, shared=True)
    Selector("entropy").grow(active, y, likelihood, 50)
    assert active.rows == z["active"].astype(int).tolist()
    np.testing.assert_allclose(active.site_precision[:50, 0], z["site_precision"], rtol=1e-12)
    np.testing.assert_allclose(active.site_mean[:50, 0], z["site_mean"], rtol=1e-12, atol=1e-12)


class Dense:
    """LPJ05 algorithm 1 with the whole covariance of every class: the plain twin."""

    def __init__(self, K, y, likelihood, C, selector):
        self.K, self.y, self.likelihood, self.selector = K, y, likelihood, selector
        self.mean = np.zeros((len(y), C))
        self.Sigma = np.stack([K if K.ndim == 2 else K[c] for c in range(C)]).copy()
        self.rows = []

    def include(self, row=None):
        variance = np.diagonal(self.Sigma, axis1=1, axis2=2).T.copy()
        if row is None:
            score = self.selector.score(self.likelihood, self.y, self.mean, variance)
            score[self.rows] = -np.inf
            row = int(np.argmax(score))
        moments = self.selector.moments(self.likelihood, self.y[[row]], self.mean[[row]], variance[[row]])
        for c in range(len(self.Sigma)):
            s = self.Sigma[c][:, row].copy()
            self.mean[:, c] += moments.gain[0, c] * s
            self.Sigma[c] -= moments.nu[0, c] * np.outer(s, s)
        self.rows.append(row)

    @property
    def variance(self):
        return np.diagonal(self.Sigma, axis1=1, axis2=2).T


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    f = np.column_stack([X[:, 0], X[:, 1] ** 2 - 1, X[:, 2]])
    return X, np.argmax(f + 0.3 * rng.standard_normal(f.shape), axis=1)


def cases():
    wide = 4.0 * RBF(1.5)
    yield "probit entropy", Probit(), wide, "entropy", "adf", 2
    yield "probit gain", Probit(), wide + White(0.1), "gain", "adf", 2
    yield "probit unit noise", Probit(), wide, "probability", "vb", 2
    yield "ordered", OrderedProbit(), wide, "entropy", "adf", 3
    yield "classes vb probability", MultinomialProbit(), wide, "probability", "vb", 3
    yield "classes vb entropy", MultinomialProbit(), wide + White(0.1), "entropy", "vb", 3
    yield "classes adf entropy", MultinomialProbit(), wide, "entropy", "adf", 3
    yield "classes adf gain", MultinomialProbit(), PerClass((wide, 2.0 * RBF(1.0), RBF(3.0))), "gain", "adf", 3
    yield "classes vb own kernels", MultinomialProbit(), PerClass((wide, 2.0 * RBF(1.0), RBF(3.0))), "gain", "vb", 3


@pytest.mark.parametrize(
    ("likelihood", "kernel", "criterion", "update", "K"), [c[1:] for c in cases()], ids=[c[0] for c in cases()]
)
@pytest.mark.parametrize("block_size", [1, 100])
def test_equals_the_dense_twin(problem, likelihood, kernel, criterion, update, K, block_size):
    # A block whose pool holds every row must choose as the algorithm row by row does.
    X, y = problem
    y = y if K == 3 else (y == 0).astype(int)
    C = likelihood.n_latent(K)
    kernel = kernel.bind(X, C)
    selector = Selector(criterion, update, block_size)
    twin = Dense(kernel(X), y, likelihood, C, selector)
    for _ in range(25):
        twin.include()
    ivm = IVM(25, criterion, update, block_size)
    active = ivm.empty(kernel, X, C, selector)
    assert active.n_groups == (1 if C == 1 or (update == "vb" and not isinstance(kernel, PerClass)) else 3)
    selector.grow(active, y, likelihood, 25)
    assert active.rows == twin.rows
    np.testing.assert_allclose(active.mean, twin.mean, atol=1e-9)
    np.testing.assert_allclose(np.broadcast_to(active.variance, twin.variance.shape), twin.variance, atol=1e-9)


@pytest.mark.parametrize("shared", [True, False])
def test_one_by_one_equals_a_block(problem, shared):
    X, _ = problem
    rng = np.random.default_rng(1)
    rows, G = rng.permutation(60)[:20], 1 if shared else 3
    precision, mean = rng.gamma(2.0, size=(20, G)), rng.standard_normal((20, 3))
    kernel = 2.0 * RBF(1.0) + White(0.2)
    one, block = (ActiveSet(kernel, X, 3, 20, shared) for _ in range(2))
    for i, row in enumerate(rows):
        one.include(int(row), precision[i], mean[i])
    block.include_block(rows[:7], precision[:7], mean[:7])
    block.include_all(rows[7:], precision[7:], mean[7:])
    for name in ("mean", "variance", "L", "M", "b", "site_mean"):
        np.testing.assert_allclose(getattr(block, name), getattr(one, name), atol=1e-10, err_msg=name)
    # L L' = B^-1 + K_I and the mean is K_{:,I} alpha
    K = kernel(X)
    own = one.L[-1] @ one.L[-1].T
    np.testing.assert_allclose(own, K[np.ix_(rows, rows)] + np.diag(1.0 / precision[:, -1]), atol=1e-10)
    np.testing.assert_allclose(K[:, rows] @ one.posterior().terms.alpha, one.mean, atol=1e-9)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("position", [0, 7, 14])
def test_removal_leaves_no_trace(problem, shared, position):
    X, _ = problem
    rng = np.random.default_rng(2)
    rows, G = rng.permutation(60)[:15], 1 if shared else 3
    precision, mean = rng.gamma(2.0, size=(15, G)), rng.standard_normal((15, 3))
    kernel = 2.0 * RBF(1.0)
    active, never = (ActiveSet(kernel, X, 3, 15, shared) for _ in range(2))
    active.include_block(rows, precision, mean)
    mean_before, variance_before = active.mean.copy(), active.variance.copy()
    left = np.delete(np.arange(15), position)
    never.include_block(rows[left], precision[left], mean[left])
    cavity_mean, cavity_variance = active.without_own_site()
    active.remove(position)
    assert active.rows == rows[left].tolist()
    for name in ("mean", "variance", "L", "M", "b", "site_mean", "site_precision"):
        np.testing.assert_allclose(getattr(active, name), getattr(never, name), atol=1e-10, err_msg=name)
    # What the row's own cavity said is what it looks like now.
    row = rows[position]
    np.testing.assert_allclose(cavity_mean[row], active.mean[row], atol=1e-9)
    np.testing.assert_allclose(cavity_variance[row], np.broadcast_to(active.variance[row], 3), atol=1e-9)
    active.include(int(row), precision[position], mean[position])
    np.testing.assert_allclose(active.mean, mean_before, atol=1e-12)
    np.testing.assert_allclose(active.variance, variance_before, atol=1e-12)


def test_lazy_selection_is_exact(problem):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 4))
    y = np.argmax(X + 0.5 * rng.standard_normal(X.shape), axis=1)
    likelihood, selector = MultinomialProbit(), Selector("probability", "vb")
    lazy, plain = (ActiveSet(9.0 * RBF(1.5), X, 4, 80, True) for _ in range(2))
    assert isinstance(row_scorer(selector, lazy, y, likelihood, None), _Lazy)
    selector.grow(lazy, y, likelihood, 80)
    scorer = RowScorer(selector, plain, y, likelihood, None)
    for _ in range(80):
        row = scorer.best().row
        moments = selector.moments(likelihood, y[[row]], plain.mean[[row]], plain.variance[[row]])
        precision, mean = moments.sites(plain.mean[[row]], plain.variance[[row]])
        plain.include(row, precision[0], mean[0])
    assert lazy.rows == plain.rows


def test_lazy_bounds_hold_and_save_work(problem):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    likelihood, selector = MultinomialProbit(), Selector("probability", "vb")
    active = ActiveSet(25.0 * RBF(1.0), X, 3, 60, True)
    scorer = row_scorer(selector, active, y, likelihood, None)
    evaluated = []
    once = scorer._evaluate
    scorer._evaluate = lambda rows: (evaluated.append(len(rows)), once(rows))
    for _ in range(60):
        row = scorer.best().row
        moments = selector.moments(likelihood, y[[row]], active.mean[[row]], active.variance[[row]])
        precision, mean = moments.sites(active.mean[[row]], active.variance[[row]])
        active.include(row, precision[0], mean[0])
    assert sum(evaluated) < 0.5 * 60 * 400


def test_gain_is_a_divergence():
    # KL between the marginals before and after, by the formula for Gaussians.
    likelihood, y = Probit(), np.array([1])
    mean, variance = np.array([[-0.4]]), np.array([[2.3]])
    _, first, second = likelihood.tilted(y, mean, variance)
    new_mean, new_variance = mean + variance * first, variance + variance**2 * second
    kl = 0.5 * (new_variance / variance + (new_mean - mean) ** 2 / variance - 1 + np.log(variance / new_variance))
    score = Selector("gain").score(likelihood, y, mean, variance)
    np.testing.assert_allclose(score, kl[0], rtol=1e-12)
    entropy = Selector("entropy").score(likelihood, y, mean, variance)
    np.testing.assert_allclose(entropy, 0.5 * np.log(variance / new_variance)[0], rtol=1e-12)


def test_all_rows_active_is_exact_regression():
    rng = np.random.default_rng(5)
    X = rng.uniform(-3, 3, (40, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(40)
    exact = GPRegressor(RBF(1.3), hyper="fixed").fit(X, y)
    sparse = IVMRegressor(RBF(1.3), n_active=40, hyper="fixed").fit(X, y)
    new = rng.uniform(-3, 3, (15, 2))
    for ours, theirs in zip(sparse.predict(new, return_std=True), exact.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    # The chain rule over inclusions is the evidence.
    assert sparse.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-8)


@pytest.mark.parametrize("K", [2, 3])
def test_all_rows_active_and_refined_is_full_ep(problem, K):
    X, y = problem
    likelihood = MultinomialProbit() if K == 3 else Probit()
    y = y if K == 3 else (y == 0).astype(int)
    C = likelihood.n_latent(K)
    kernel = 4.0 * RBF(1.5)
    ivm = IVM(60, "entropy", "adf")
    active = ivm.select(ActivePrior(kernel, X, C), y, likelihood).active
    fit = ivm.finish(active, y, likelihood)
    full = EP(coupling="none", tol=1e-9)(DensePrior(kernel(X), C), y, likelihood)
    np.testing.assert_allclose(active.mean, kernel(X) @ full.posterior.terms.alpha, atol=1e-3 if K == 3 else 1e-5)
    assert fit.log_evidence == pytest.approx(full.log_evidence, abs=1e-4)


def test_refined_unit_noise_is_variational_bayes(problem):
    X, y = problem
    kernel = 4.0 * RBF(1.5)
    ivm = IVM(60, update="vb")
    active = ivm.select(ActivePrior(kernel, X, 3), y, MultinomialProbit()).active
    ivm.finish(active, y, MultinomialProbit())
    full = VB()(DensePrior(kernel(X), 3), y, MultinomialProbit())
    np.testing.assert_allclose(active.mean, kernel(X) @ full.posterior.terms.alpha, atol=1e-5)


@pytest.mark.parametrize(("likelihood", "K"), [(Probit(), 2), (MultinomialProbit(), 3)])
def test_a_call_selects_and_refines(problem, likelihood, K):
    X, y = problem
    y = y if K == 3 else (y == 0).astype(int)
    prior = ActivePrior(4.0 * RBF(1.5), X, likelihood.n_latent(K))
    ivm = IVM(20)
    fit = ivm(prior, y, likelihood)
    active = ivm.select(prior, y, likelihood).active
    expected = ivm.finish(active, y, likelihood)
    assert fit.log_evidence == expected.log_evidence
    np.testing.assert_array_equal(fit.posterior.terms.alpha, expected.posterior.terms.alpha)
    np.testing.assert_array_equal(fit.loo.mean, expected.loo.mean)
    np.testing.assert_array_equal(fit.state.rows, active.rows)
    # Going on from the state selects nothing new, and rows that are excluded stay inactive.
    again = ivm(prior, y, likelihood, init=fit.state)
    np.testing.assert_array_equal(again.state.rows, fit.state.rows)
    excluded = np.arange(60) < 40
    assert np.all(ivm(replace(prior, excluded=excluded), y, likelihood).state.rows >= 40)
    with pytest.raises(
        TypeError, match="IVM has no gradient of an evidence; kernel parameters are learned by learn_by"
    ):
        ivm(prior, y, likelihood, gradient=True)


@pytest.mark.parametrize("n", [1, 7])
def test_a_callback_or_an_interrupt_ends_the_selection(problem, n):
    class Stops(Monitor):
        def __init__(self, error=None):
            self.error, self.steps = error, 0

        def step(self, note=""):
            self.steps += 1
            if self.steps == n and self.error is not None:
                raise self.error
            self.should_stop = self.steps >= n

    X, y = problem
    prior, whole = ActivePrior(4.0 * RBF(1.5), X, 3), IVM(20, refine=False)
    rows = whole(prior, y, MultinomialProbit()).state.rows[:n]
    for monitor, name in ((Stops(), "stopped"), (Stops(KeyboardInterrupt()), "interrupted")):
        fit = whole(prior, y, MultinomialProbit(), monitor=monitor)
        np.testing.assert_array_equal(fit.state.rows, rows)
        assert getattr(fit.info, name)
        expected = replace(whole, n_active=n)(prior, y, MultinomialProbit())
        np.testing.assert_allclose(fit.posterior.terms.alpha, expected.posterior.terms.alpha, atol=1e-12)


def test_single_precision_is_close(problem):
    X, y = problem
    kernel, likelihood, selector = 4.0 * RBF(1.5), MultinomialProbit(), Selector("probability", "vb")
    single, double = (ActiveSet(kernel, X, 3, 30, True, dtype) for dtype in (np.float32, np.float64))
    for active in (single, double):
        selector.grow(active, y, likelihood, 30)
    assert single.M.dtype == np.float32
    assert single.rows == double.rows
    assert relative_error(single.mean, double.mean) < 1e-5


@pytest.mark.parametrize("update", ["adf", "vb"])
def test_gradient_of_the_active_evidence(problem, update):
    X, y = problem
    kernel = 4.0 * RBF(1.5) + Linear(0.3)
    for own in (kernel, PerClass(kernel).bind(X, 3)):
        prior = ActivePrior(own, X, 3)
        sites = IVM(20, "entropy", update).select(prior, y, MultinomialProbit()).active.sites()
        batches = _batched(Problem(own, MultinomialProbit(), X, y, 3), [sites])
        value, slope, _ = _site_evidence(own, batches, own.theta)
        expected = central_difference(lambda t, k=own, b=batches: _site_evidence(k, b, t)[0], own.theta)
        np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)
    # The value itself is a ratio of Gaussian densities (LPJ05 eq 26, over what the sites alone say).
    K = kernel(X[sites.rows])
    dense = 0.0
    for c in range(3):
        noise = np.diag(1.0 / sites.precision[:, c % sites.precision.shape[1]])
        dense += multivariate_normal(np.zeros(20), K + noise).logpdf(sites.mean[:, c])
        dense -= multivariate_normal(np.zeros(20), noise).logpdf(sites.mean[:, c])
    assert value == pytest.approx(dense, rel=1e-9)


def test_gradient_of_the_noise_objective(problem):
    X, y = problem
    likelihood = OrderedProbit(fixed=())
    whole = Problem(RBF(), likelihood, X, y, 1)
    active = IVM(20).select(ActivePrior(RBF(), X, 1), y, likelihood).active
    moments = [(active.mean, active.variance)]
    _, slope, _ = _partition(whole, moments, likelihood.theta)
    expected = central_difference(lambda t: _partition(whole, moments, t)[0], likelihood.theta)
    np.testing.assert_allclose(slope, expected, rtol=1e-7)


def test_sites_without_precision_do_not_swamp_the_evidence(problem):
    # A likelihood that is not log-concave may get a site that matches the mean alone, with next to no precision.
    X, y = problem
    kernel = 20.0 * RBF(1.5)
    whole = Problem(kernel, Probit(), X, (y == 0).astype(int), 1)
    sites = IVM(30).select(ActivePrior(kernel, X, 1), whole.y, whole.likelihood).active.sites()
    ordinary = _site_evidence(kernel, _batched(whole, [sites]), kernel.theta)[0]
    sites.precision[3], sites.mean[3] = 1e-13, 1e13 * sites.precision[3] * sites.mean[3]
    value, slope, _ = _site_evidence(kernel, _batched(whole, [sites]), kernel.theta)
    assert abs(value - ordinary) < 20.0
    expected = central_difference(lambda t: _site_evidence(kernel, _batched(whole, [sites]), t)[0], kernel.theta)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-6)


def test_exchange_keeps_rows_distinct(problem):
    X, y = problem
    for criterion in ("random", "probability", "entropy"):
        ivm = IVM(10, criterion, "vb", n_exchanges=8)
        active = ivm.select(ActivePrior(RBF(), X, 3), y, MultinomialProbit()).active
        assert len(set(active.rows)) == 10


def test_rows_beyond_doubt_are_still_candidates():
    # P rounds to 1: its quantile must stay finite, or a row that loses its certainty would never be looked at again.
    X = np.linspace(0, 1, 12)[:, None]
    y = np.repeat([0, 1, 2], 4)
    active = ActiveSet(RBF(), X, 3, 5, True)
    active.mean[:] = 100.0 * np.eye(3)[y]
    scorer = row_scorer(Selector("probability", "vb"), active, y, MultinomialProbit(), None)
    active.rows = [0]
    assert scorer.best().row != 0
    active.mean[7] = -active.mean[7]
    assert scorer.best().row == 7


def test_default_sizes_grow_with_rows_and_classes():
    assert [default_size(n) for n in (80, 2000, 7000, 50_000)] == [80, 500, 700, 1000]
    assert [default_size(2000, K) for K in (2, 26, 100)] == [500, 650, 1000]
    assert default_size(300, 26) == 300
