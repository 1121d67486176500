"""One suite for every engine: exact where it must be, gradients, warm starts, refusals."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris

from gpclass import inference
from gpclass.inference import EP, IVM, VB, DensePrior, Engine, Exact, Gibbs, Laplace, ParallelEP, SparseEP, SparseVB
from gpclass.inference.dense.gibbs import importance_evidence
from gpclass.inference.dense.latent_objective import LatentObjective, Preconditioner
from gpclass.inference.dense.product_form_posterior import ProductFormPosterior
from gpclass.inference.posteriors import GaussianPosterior
from gpclass.kernels import RBF, Linear, Matern, PerClass
from gpclass.likelihoods import Gaussian, Logit, MultinomialProbit, OrderedProbit, Probit, SoftLabels, Softmax, Weighted
from gpclass.numerics import probit_moments as cone
from gpclass.numerics.arrays import is_numpy, namespace, to_host
from tests.conftest import central_difference, relative_error
from tests.inference.namespaces import NAMESPACES, moved

KERNEL = 4.0 * RBF(1.1)


def _data(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    score = X @ rng.normal(size=(2, n_classes)) + 0.5 * rng.normal(size=(n, n_classes))
    return X, score.argmax(axis=1)


def _prior(kernel, X, C):
    K, pullback = kernel.vjp(X)
    return DensePrior(K, C, kernel, X, pullback)


TIGHT = EP(tol=1e-9, max_iter=300, coupling="none")
COUPLED = EP(tol=1e-9, max_iter=300)
FULL = EP(tol=1e-9, max_iter=300, coupling="full")


def _soft(n, n_classes):
    return np.random.default_rng(n_classes).dirichlet(np.full(n_classes, 0.3), n)


CASES = {
    "ep_gaussian": (TIGHT, Gaussian(0.3, 0.2, fixed=()), 1, KERNEL),
    "ep_binary": (TIGHT, Probit(0.3, 1.5, fixed="variance"), 1, KERNEL),
    "ep_logit": (TIGHT, Logit(), 1, KERNEL),
    "ep_ordered": (TIGHT, OrderedProbit([], 0.2), 1, KERNEL),
    "ep_three": (TIGHT, MultinomialProbit(), 3, KERNEL),
    "ep_five": (TIGHT, MultinomialProbit(), 5, 100.0 * RBF([0.8, 1.9])),
    "ep_per_class": (TIGHT, MultinomialProbit(), 3, PerClass((KERNEL, 2.0 * Matern(0.7), RBF(0.5) + Linear()))),
    "ep_coupled_two": (COUPLED, MultinomialProbit(), 2, KERNEL),
    "ep_coupled_three": (COUPLED, MultinomialProbit(), 3, KERNEL),
    "ep_coupled_five": (COUPLED, MultinomialProbit(), 5, 100.0 * RBF([0.8, 1.9])),
    "ep_coupled_per_class": (
        COUPLED,
        MultinomialProbit(),
        3,
        PerClass((KERNEL, 2.0 * Matern(0.7), RBF(0.5) + Linear())),
    ),
    "ep_softmax_three": (COUPLED, Softmax(), 3, KERNEL),
    "ep_softmax_five": (COUPLED, Softmax(), 5, 100.0 * RBF([0.8, 1.9])),
    "laplace_gaussian": (Laplace(), Gaussian(0.3, 0.2, fixed=True), 1, KERNEL),
    "laplace_binary": (Laplace(), Probit(), 1, KERNEL),
    "laplace_logit": (Laplace(), Logit(), 1, KERNEL),
    "laplace_softmax": (Laplace(), Softmax(), 4, 30.0 * RBF(0.9)),
    "laplace_probit": (Laplace(), MultinomialProbit(), 3, KERNEL),
    "laplace_per_class": (Laplace(), Softmax(), 3, PerClass((KERNEL, 2.0 * Matern(0.7), RBF(0.5) + Linear()))),
    "laplace_noisy": (Laplace(), MultinomialProbit(label_noise=0.1, fixed=()), 3, KERNEL),
    "vb_noisy_binary": (VB(), Probit(label_noise=0.1, fixed=("bias", "variance")), 1, KERNEL),
    "vb_noisy": (VB(), MultinomialProbit(label_noise=0.1, fixed=()), 3, KERNEL),
    "vb_noisy_bound": (VB(objective="bound"), MultinomialProbit(label_noise=0.1, fixed=()), 3, KERNEL),
    "exact": (Exact(), Gaussian(0.3, 0.2, fixed=()), 1, KERNEL),
    "vb_gaussian": (VB(), Gaussian(0.3, 0.2, fixed=True), 1, KERNEL),
    "vb_binary": (VB(), Probit(), 1, KERNEL),
    "vb_binary_other_noise": (VB(), Probit(0.3, 2.5), 1, KERNEL),
    "vb_low_rank": (VB(), MultinomialProbit(), 3, 10.0 * Linear() + 10.0),
    "vb_binary_bound": (VB(objective="bound"), Probit(), 1, KERNEL),
    "vb_two": (VB(), MultinomialProbit(), 2, KERNEL),
    "vb_three": (VB(), MultinomialProbit(), 3, KERNEL),
    "vb_three_bound": (VB(objective="bound"), MultinomialProbit(), 3, KERNEL),
    "vb_five": (VB(), MultinomialProbit(), 5, 30.0 * RBF([0.8, 1.9])),
    "vb_large_amplitude": (VB(), MultinomialProbit(), 3, 1000.0 * RBF(1.1)),
    "vb_soft": (VB(), SoftLabels(base=MultinomialProbit(), proba=_soft(25, 3)), 3, KERNEL),
    "vb_soft_five": (VB(), SoftLabels(base=MultinomialProbit(), proba=_soft(25, 5)), 5, KERNEL),
    "vb_soft_binary": (VB(), SoftLabels(base=Probit(), proba=_soft(25, 2)), 1, KERNEL),
    "laplace_soft": (
        Laplace(),
        Weighted(base=SoftLabels(base=Softmax(), proba=_soft(25, 4)), weights=np.linspace(0.3, 3.0, 25)),
        4,
        KERNEL,
    ),
    "vb_per_class": (
        VB(),
        MultinomialProbit(),
        3,
        PerClass((KERNEL, 2.0 * Matern(0.7), RBF(0.5) + Linear())),
    ),
    "vb_per_class_bound": (
        VB(objective="bound"),
        MultinomialProbit(),
        3,
        PerClass((KERNEL, 2.0 * Matern(0.7), RBF(0.5) + Linear())),
    ),
}


#: Engines that work on other priors, and where their tests are; sampling has tests of its own beside these.
ELSEWHERE = {
    Gibbs: "inference/dense/test_gibbs.py",
    IVM: "inference/active/test_ivm.py",
    ParallelEP: "inference/inducing/test_parallel_ep.py",
    SparseEP: "inference/inducing/test_features.py",
    SparseVB: "inference/inducing/test_features.py",
}


def test_every_public_engine_is_tested():
    public = {getattr(inference, name) for name in inference.__all__}
    engines = {one for one in public if issubclass(one, Engine) and one is not Engine}
    assert engines == {type(engine) for engine, *_ in CASES.values()} | set(ELSEWHERE)
    dense = {one for one in engines if one.prior_type is DensePrior}
    assert dense == {type(engine) for engine, *_ in CASES.values()} | {Gibbs}
    tests = Path(__file__).parents[1]
    for engine, path in ELSEWHERE.items():
        assert f"{engine.__name__}(" in (tests / path).read_text()


@pytest.fixture(params=CASES)
def case(request):
    engine, likelihood, C, kernel = CASES[request.param]
    X, y = _data(25, max(C, 2))
    return engine, likelihood, C, kernel, X, y.astype(float) if isinstance(likelihood, Gaussian) else y


def test_gradient_agrees_with_differences(case):
    engine, likelihood, C, kernel, X, y = case
    fit = engine(_prior(kernel, X, C), y, likelihood, gradient=True)
    assert fit.info.converged

    def objective(theta):
        split = kernel.theta.size
        return engine(_prior(kernel.with_theta(theta[:split]), X, C), y, likelihood.with_theta(theta[split:])).objective

    theta = np.concatenate([kernel.theta, likelihood.theta])
    assert isinstance(fit.gradient, np.ndarray)
    assert relative_error(fit.gradient, central_difference(objective, theta)) < 1e-6


def test_gradient_in_the_covariances_themselves(case):
    # Without a kernel the entries of K are the parameters, and the kernel's pullback gives the same in the end.
    engine, likelihood, C, kernel, X, y = case
    prior = _prior(kernel, X, C)
    whole = engine(prior, y, likelihood, gradient=True).gradient
    own = engine(DensePrior(prior.K, C), y, likelihood, gradient=True).gradient
    dK, dlikelihood = own[: prior.K.size].reshape(prior.K.shape), own[prior.K.size :]
    np.testing.assert_allclose(np.concatenate([prior.pullback(dK), dlikelihood]), whole, rtol=1e-9, atol=1e-12)


def test_warm_start_ends_in_the_same_place(case):
    engine, likelihood, C, kernel, X, y = case
    prior = _prior(kernel, X, C)
    cold = engine(prior, y, likelihood)
    other = engine(_prior(kernel.with_theta(kernel.theta + 0.3), X, C), y, likelihood)
    warm = engine(prior, y, likelihood, init=other.state)
    np.testing.assert_allclose(warm.posterior.terms.alpha, cold.posterior.terms.alpha, atol=1e-9)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-10)


def test_posterior_at_the_training_rows(case):
    engine, likelihood, C, kernel, X, y = case
    prior = _prior(kernel, X, C)
    posterior, K = engine(prior, y, likelihood).posterior, prior.K
    latent, joint = posterior.latent(X), posterior.joint(X)
    np.testing.assert_allclose(latent.mean, joint.mean, rtol=1e-10)
    own = latent.cov if latent.cov.ndim == 2 else np.einsum("ncc->nc", latent.cov)
    np.testing.assert_allclose(own, np.stack([np.diag(c) for c in joint.cov], axis=1), rtol=1e-6)
    if isinstance(engine, (VB, Exact)):
        noise = getattr(likelihood, "variance", 1.0)
        for c in range(C):
            own = K if K.ndim == 2 else K[c]
            expected = own - own @ np.linalg.solve(own + noise * np.eye(len(X)), own)
            np.testing.assert_allclose(joint.cov[c], expected, atol=1e-7)


def test_leave_one_out_predictions_are_distributions(case):
    engine, likelihood, C, kernel, X, y = case
    mean, cov = engine(_prior(kernel, X, C), y, likelihood).loo
    assert mean.shape == (len(X), C)
    assert np.all(np.isfinite(mean))
    assert np.all((cov if cov.ndim == 2 else np.einsum("ncc->nc", cov)) > 0)


@pytest.mark.parametrize("name", NAMESPACES)
def test_other_namespaces_give_the_same_numbers(case, name):
    engine, likelihood, C, kernel, X, y = case
    prior = _prior(kernel, X, C)
    foreign = replace(prior, K=moved(prior.K, name), pullback=lambda dK: prior.pullback(to_host(dK)))
    X_new = np.random.default_rng(5).normal(size=(6, 2))
    ours, theirs = (engine(own, y, likelihood) for own in (prior, foreign))
    assert theirs.info.converged
    assert theirs.info.n_iter == ours.info.n_iter
    assert theirs.log_evidence == pytest.approx(ours.log_evidence, rel=1e-8)
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-8)
    for found, expected in zip(theirs.posterior.terms, ours.posterior.terms, strict=True):
        assert (found is None) == (expected is None)
        if expected is not None:
            assert namespace(found) is namespace(foreign.K)
            assert relative_error(to_host(found), expected) < 1e-8
    found, expected = (
        [
            *fit.loo,
            *fit.posterior.latent(X_new),
            *fit.posterior.joint(X_new),
            engine(own, y, likelihood, gradient=True).gradient,
        ]
        for fit, own in ((theirs, foreign), (ours, prior))
    )
    for one, other in zip(found, expected, strict=True):
        assert is_numpy(one)
        assert relative_error(one, other) < 1e-8
    draws = [fit.posterior.sample(X_new, 3, np.random.default_rng(0)) for fit in (theirs, ours)]
    assert relative_error(*draws) < 1e-5  # the factor of a nearly singular covariance has half the digits
    # The state of a fit on the host starts one elsewhere, and the other way round.
    for start, own in ((ours.state, foreign), (theirs.state, prior)):
        assert engine(own, y, likelihood, init=start).log_evidence == pytest.approx(ours.log_evidence, rel=1e-8)


@pytest.mark.parametrize("engine", [TIGHT, Laplace(), VB(), Exact()])
def test_gaussian_noise_makes_every_engine_exact(engine):
    X, y = _data(20, 2)
    y = y + 0.3 * np.sin(np.arange(20.0))
    prior, likelihood = _prior(KERNEL, X, 1), Gaussian(0.3, 0.2, fixed=True)
    exact, fit = Exact()(prior, y, likelihood), engine(prior, y, likelihood)
    assert fit.log_evidence == pytest.approx(exact.log_evidence, abs=1e-8)
    X_new = np.random.default_rng(5).normal(size=(6, 2))
    ours, truth = (f.posterior.latent(X_new) for f in (fit, exact))
    np.testing.assert_allclose(ours.mean, truth.mean, atol=1e-8)
    np.testing.assert_allclose(ours.cov.reshape(6), truth.cov.reshape(6), atol=1e-8)
    # The cavity of a Gaussian site is the exact leave-one-out prediction: refit without each row.
    for i in range(0, 20, 7):
        rest = np.arange(20) != i
        alone = Exact()(_prior(KERNEL, X[rest], 1), y[rest], likelihood).posterior.latent(X[i : i + 1])
        assert fit.loo[0][i, 0] == pytest.approx(alone.mean[0, 0], abs=1e-7)
        assert fit.loo[1][i, 0] == pytest.approx(alone.cov[0, 0], abs=1e-7)


def _loo_by_refitting(engine, likelihood, C, kernel, X, y):
    proba = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        latent = engine(_prior(kernel, X[rest], C), y[rest], likelihood).posterior.latent(X[i : i + 1])
        proba.append(likelihood.predict(*latent)[0])
    return np.array(proba)


@pytest.mark.parametrize(
    ("engine", "likelihood", "largest", "average"),
    [
        (EP(), Probit(), 0.02, 0.005),
        (EP(coupling="none"), MultinomialProbit(), 0.06, 0.015),
        (EP(), MultinomialProbit(), 0.02, 0.005),
        pytest.param(EP(), Softmax(), 0.02, 0.005, marks=pytest.mark.slow),
        (VB(), Probit(), 0.02, 0.003),
        (VB(), MultinomialProbit(), 0.02, 0.003),
        (Laplace(), Probit(), 0.03, 0.005),
        (Laplace(), Softmax(), 0.03, 0.005),
        (Laplace(), MultinomialProbit(), 0.03, 0.005),
    ],
)
def test_leave_one_out_against_refits(engine, likelihood, largest, average):
    # How far a cavity is from a refit grows with the amplitude; figures for amplitude 3 on 60 rows.
    C = likelihood.n_latent(3)
    X, y = _data(60, max(C, 2), seed=1)
    kernel = 3.0 * RBF(1.2)
    fit = engine(_prior(kernel, X, C), y, likelihood)
    difference = np.abs(likelihood.predict(*fit.loo) - _loo_by_refitting(engine, likelihood, C, kernel, X, y))
    assert difference.max() < largest
    assert difference.mean() < average


def test_expectation_propagation_is_close_to_the_closed_form_evidence():
    # Unit amplitude, two and three labels: EP within 0.005 nats; Laplace and the bound as they are.
    rng = np.random.default_rng(0)
    worst = {"ep": 0.0, "laplace": 0.0, "bound": 0.0}
    for _ in range(20):
        X, y = rng.normal(size=(3, 2)), rng.integers(2, size=3)
        K = RBF(1.0)(X)
        r = np.outer(2 * y - 1, 2 * y - 1) * K / 2.0
        exact = np.log(0.125 + (np.arcsin(r[0, 1]) + np.arcsin(r[0, 2]) + np.arcsin(r[1, 2])) / (4 * np.pi))
        vb = VB()(DensePrior(K, 1), y, Probit())
        worst["ep"] = max(worst["ep"], abs(TIGHT(DensePrior(K, 1), y, Probit()).log_evidence - exact))
        worst["laplace"] = max(worst["laplace"], abs(vb.objective - exact))
        worst["bound"] = max(worst["bound"], exact - vb.log_evidence)
    assert worst["ep"] < 0.005
    assert worst["laplace"] < 0.05
    assert 0.0 < worst["bound"] < 0.5


def test_coupled_sites_of_one_row_are_exact_for_two_classes():
    # One label of two: Z = 1/2 by symmetry, and for a shifted prior the probit of the difference.
    prior = _prior(3.0 * RBF(1.0), np.zeros((1, 1)), 2)
    fit = COUPLED(prior, np.array([1]), MultinomialProbit())
    assert fit.log_evidence == pytest.approx(np.log(0.5), abs=1e-9)
    # f_1 - f_0 ~ N(0, 6) beyond noise of variance 2: the mean of the half normal, shared out evenly.
    latent = fit.posterior.latent(np.zeros((1, 1)))
    expected = 6.0 / np.sqrt(8.0) * np.sqrt(2.0 / np.pi)
    np.testing.assert_allclose(latent.mean[0], [-expected / 2, expected / 2], rtol=1e-7)


def test_coupled_sites_are_near_the_truth_where_independent_ones_are_not():
    # Importance-sampled evidence; at five rows the prior itself is a proposal good enough to check that by.
    rng = np.random.default_rng(0)
    for n, closest in ((5, 0.05), (60, 0.5)):
        X, y = _data(n, 3, seed=3)
        K = (20.0 * RBF(1.5))(X)
        truth = importance_evidence(DensePrior(K, 3), y, MultinomialProbit(), rng, n_samples=20_000)
        if n == 5:
            f = np.einsum("ij,sjc->sic", np.linalg.cholesky(K), rng.standard_normal((100_000, n, 3)))
            log_p = cone.log_z(np.tile(y, len(f)), f.reshape(-1, 3)).reshape(len(f), n).sum(axis=1)
            assert truth == pytest.approx(np.log(np.mean(np.exp(log_p))), abs=0.03)
        fits = {e.coupling: e(DensePrior(K, 3), y, MultinomialProbit()) for e in (TIGHT, COUPLED)}
        apart = {coupling: abs(fit.log_evidence - truth) for coupling, fit in fits.items()}
        assert apart["auto"] < closest
    assert apart["auto"] < 0.25 * apart["none"]


def test_local_laplace_moments_make_propagation_laplaces_method():
    # CC05's cheaper moments: mode and curvature of cavity times label. The sites are then expansions at the posterior
    # mean, so the fixed point is Laplace's own: same mean and same evidence.
    class Local(Softmax):
        def site(self, y, mean, cov):
            f = mean.copy()
            for _ in range(50):
                _, gradient, hessian = self.derivatives(y, f)
                a = np.linalg.solve(
                    np.eye(f.shape[1]) - hessian @ cov,
                    (gradient - np.einsum("nij,nj->ni", hessian, f - mean))[:, :, None],
                )[:, :, 0]
                f = mean + np.einsum("nij,nj->ni", cov, a)
            log_p, gradient, hessian = self.derivatives(y, f)
            log_z = log_p - 0.5 * (gradient * (f - mean)).sum(axis=1)
            log_z -= 0.5 * np.linalg.slogdet(np.eye(f.shape[1]) - hessian @ cov)[1]
            return log_z, self.curvature(y, f)[0], gradient - np.einsum("nij,nj->ni", hessian, f)

    X, y = _data(25, 4)
    K = KERNEL(X)
    by_rows, at_once = COUPLED(DensePrior(K, 4), y, Local()), Laplace()(DensePrior(K, 4), y, Softmax())
    assert by_rows.info.converged
    np.testing.assert_allclose(by_rows.posterior.terms.alpha, at_once.posterior.terms.alpha, atol=1e-7)
    assert by_rows.log_evidence == pytest.approx(at_once.log_evidence, abs=1e-7)


@pytest.mark.parametrize(("engine", "likelihood"), [(FULL, Probit()), (FULL, OrderedProbit([], 0.2))])
def test_coupling_makes_no_difference_to_one_latent_function(engine, likelihood):
    X, y = _data(25, 2)
    K = KERNEL(X)
    assert engine(DensePrior(K, 1), y, likelihood).log_evidence == TIGHT(DensePrior(K, 1), y, likelihood).log_evidence


def test_coupling_is_checked():
    with pytest.raises(ValueError, match="coupling must be 'auto', 'none' or 'full', got 'some'"):
        EP(coupling="some")
    X, y = _data(10, 3)
    with pytest.raises(TypeError, match="needs MultinomialProbit without label noise, or Softmax"):
        EP(coupling="full")(_prior(KERNEL, X, 3), y, MultinomialProbit(label_noise=0.1))


BAD = {
    "tol": ("a positive number", (0.0, -1.0, np.nan, np.inf, "small", None)),
    "damping": ("above 0 and at most 1", (0, -0.5, 7, np.nan, "auto")),
    "dtype": ("'float64' or 'float32'", ("int64", "float16", None)),
}
COUNTS = {"max_iter": 1, "n_draws": 4, "burn_in": 0, "thin": 1, "n_chains": 1, "block_size": 1, "n_exchanges": 0}
SETTINGS = [
    (engine, item.name)
    for engine in (EP, VB, Laplace, SparseEP, SparseVB, Gibbs, IVM)
    for item in fields(engine)
    if item.name in (*BAD, *COUNTS, "n_active")
]


@pytest.mark.parametrize(("engine", "name"), SETTINGS, ids=lambda part: getattr(part, "__name__", part))
def test_settings_are_checked(engine, name):
    least = COUNTS.get(name, 1)
    expected, bad = BAD.get(name, (f"a whole number of at least {least}", (least - 1, least + 0.5, True, "many")))
    for value in bad:
        with pytest.raises(ValueError, match=f"^{engine.__name__}: {name} must be {expected}.*, got {value!r}$"):
            engine(**{name: value})
    good = {"tol": 1e-3, "damping": 1, "dtype": "float32"}.get(name, np.int64(least))
    assert getattr(engine(**{name: good}), name) == good


def test_propagation_forgives_wrong_labels():
    X, y = _data(40, 3)
    K = (30.0 * RBF(2.0))(X)
    wrong = y.copy()
    wrong[:4] = (y[:4] + 1) % 3
    noisy = MultinomialProbit(label_noise=0.1)
    fit = EP()(DensePrior(K, 3), wrong, noisy)
    assert fit.info.converged
    assert fit.log_evidence > EP(coupling="none")(DensePrior(K, 3), wrong, MultinomialProbit()).log_evidence + 3.0
    sentence = r"EP gives no gradient for MultinomialProbit\(.*label_noise=0.1\), which is not log-concave; use VB\(\)"
    with pytest.raises(TypeError, match=sentence):
        EP()(DensePrior(K, 3), wrong, noisy, gradient=True)


def test_sites_of_isolated_rows_are_matched_too():
    # Cavity means of isolated rows never move; the sites must be right all the same.
    K, y = 10.0 * np.eye(3), np.array([0, 1, 2])
    careful, plain = (EP(damping=d, coupling="none")(DensePrior(K, 3), y, MultinomialProbit()) for d in (0.8, 1.0))
    assert careful.info.converged
    np.testing.assert_allclose(careful.posterior.terms.alpha, plain.posterior.terms.alpha, atol=1e-3)


def test_propagation_that_does_not_settle_returns_its_best_state():
    X, y = _data(25, 5)
    K = (100.0 * RBF([0.8, 1.9]))(X)
    short = EP(max_iter=9, tol=1e-12, coupling="none")(DensePrior(K, 5), y, MultinomialProbit())
    assert not short.info.converged
    assert short.log_evidence == pytest.approx(TIGHT(DensePrior(K, 5), y, MultinomialProbit()).log_evidence, abs=0.5)


def test_coupled_propagation_at_large_amplitude_is_accurate():
    # Predictions are k*' alpha with covariances of 1e5: every digit of alpha counts. Against a dense solution.
    X, y = _data(40, 4)
    kernel = 1e5 * RBF(3.0)
    K = kernel(X)
    fit = EP()(DensePrior(K, 4), y, MultinomialProbit())
    assert fit.info.converged
    assert fit.info.n_iter < 100
    d, location = fit.state
    T = np.einsum("nc,cd,nm->cndm", d, np.eye(4), np.eye(40))
    T -= np.einsum("nc,nd,nm->cndm", d / d.sum(axis=1, keepdims=True), d, np.eye(40))
    T = T.reshape(160, 160)
    prior = np.kron(np.eye(4), K)
    dense = np.linalg.solve(np.eye(160) + T @ prior, location.T.ravel()).reshape(4, 40).T
    X_new = np.random.default_rng(1).normal(size=(30, 2))
    ours, expected = (kernel(X_new, X) @ alpha for alpha in (fit.posterior.terms.alpha, dense))
    np.testing.assert_allclose(ours, expected, atol=1e-3)


@pytest.mark.parametrize("engine", [EP(), EP(coupling="none"), VB(), Laplace()])
def test_the_state_of_another_problem_is_no_start(engine):
    X, y = _data(30, 3)
    prior, small = _prior(KERNEL, X, 3), _prior(KERNEL, X[:20], 3)
    expected = engine(prior, y, MultinomialProbit()).log_evidence
    for other in (EP(), EP(coupling="none"), VB()):
        for state in (other(small, y[:20], MultinomialProbit()).state, other(prior, y, MultinomialProbit()).state):
            again = engine(prior, y, MultinomialProbit(), init=state)
            assert again.log_evidence == pytest.approx(expected, abs=1e-3)


def test_propagation_refuses_powers_of_a_likelihood():
    X, y = _data(10, 2)
    for likelihood in (
        Weighted(base=Probit(), weights=np.full(10, 3.0)),
        SoftLabels(base=Probit(), proba=np.full((10, 2), 0.5)),
    ):
        with pytest.raises(TypeError, match="EP inference takes no weights or soft labels; use inference='vb' or"):
            EP()(_prior(KERNEL, X, 1), y, likelihood)


@pytest.mark.parametrize("likelihood", [MultinomialProbit(), Softmax()])
@pytest.mark.parametrize("engine", [EP(), Laplace()])
def test_a_row_without_prior_variance_and_coupled_classes(engine, likelihood):
    X, y = _data(20, 3)
    X[5] = 0.0
    posterior = engine(_prior(Linear(), X, 3), y, likelihood).posterior
    proba = likelihood.predict(*posterior.latent(np.zeros((1, 2))))
    np.testing.assert_allclose(proba, 1.0 / 3.0, atol=0.02)


@pytest.mark.parametrize("engine", [EP(), EP(coupling="none"), VB(), Laplace()])
def test_a_row_without_prior_variance(engine):
    X, y = _data(20, 3)
    X[5] = 0.0
    fit = engine(_prior(Linear(), X, 3), y, MultinomialProbit())
    assert np.all(np.isfinite(fit.posterior.terms.alpha))
    assert np.all(np.isfinite(fit.loo[0]))


def test_draws_of_coupled_latent_functions_keep_their_covariance():
    X, y = _data(40, 3)
    posterior = Laplace()(_prior(KERNEL, X, 3), y, MultinomialProbit()).posterior
    x = np.array([[0.3, -0.2]])
    draws = posterior.sample(x, 20_000, np.random.default_rng(0))[:, 0]
    mean, cov = posterior.latent(x)
    assert np.max(np.abs(draws.mean(axis=0) - mean[0])) < 0.06
    assert np.max(np.abs(np.cov(draws.T) - cov[0])) < 0.15
    assert np.abs(cov[0, 0, 1]) > 0.5


def test_prior_variances_beyond_double_precision_are_refused():
    with pytest.raises(ValueError, match=r"prior variances up to 1e\+10, got 1e\+12: scale the inputs"):
        VB()(DensePrior(1e12 * np.eye(3), 3), np.array([0, 1, 2]), MultinomialProbit())


def test_exact_evidence_and_mean_are_the_textbook_ones():
    X, y = _data(12, 2)
    y = y + 0.1 * np.arange(12)
    K = KERNEL(X)
    fit = Exact()(DensePrior(K, 1), y, Gaussian(0.3, 0.2))
    S = K + 0.3 * np.eye(12)
    assert fit.log_evidence == pytest.approx(multivariate_normal(np.full(12, 0.2), S).logpdf(y), rel=1e-10)
    np.testing.assert_allclose(fit.posterior.terms.alpha[:, 0], np.linalg.solve(S, y - 0.2), rtol=1e-8)


class TestVariationalBayes:
    def test_fixed_point_of_the_published_iteration(self):
        X, y = _data(30, 3)
        K = KERNEL(X)
        newton = VB()(DensePrior(K, 3), y, MultinomialProbit())
        plain = VB(solver="plain", max_iter=5000, tol=1e-11)(DensePrior(K, 3), y, MultinomialProbit())
        np.testing.assert_allclose(newton.posterior.terms.alpha, plain.posterior.terms.alpha, atol=1e-8)
        # K^-1 m = p(m)
        p = cone.tilted(y, K @ newton.posterior.terms.alpha)[1]
        np.testing.assert_allclose(newton.posterior.terms.alpha, p, atol=1e-9)
        assert newton.info.n_iter < 15 < plain.info.n_iter

    @pytest.mark.parametrize("solver", ["newton", "plain"])
    @pytest.mark.parametrize("amplitude", [1.0, 100.0])
    def test_bound_never_falls(self, solver, amplitude):
        X, y = _data(30, 3)
        fit = VB(solver=solver, max_iter=60)(_prior(amplitude * RBF(1.0), X, 3), y, MultinomialProbit())
        assert np.diff(fit.info.trace).min() > -1e-10
        assert fit.log_evidence == fit.info.trace[-1]

    @pytest.mark.parametrize("seed", range(5))
    def test_bound_is_below_the_closed_form_evidence_of_two_and_three_rows(self, seed):
        # Z = 1/4 + asin(r) / 2 pi for two labels, 1/8 + sum asin(r_ij) / 4 pi for three.
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(3, 2)), rng.integers(2, size=3)
        K = (float(rng.uniform(0.5, 50)) * RBF(1.0))(X)
        sign = 2 * y - 1
        r = np.outer(sign, sign) * K / np.sqrt(np.outer(1 + np.diag(K), 1 + np.diag(K)))
        two = np.log(0.25 + np.arcsin(r[0, 1]) / (2 * np.pi))
        three = np.log(0.125 + (np.arcsin(r[0, 1]) + np.arcsin(r[0, 2]) + np.arcsin(r[1, 2])) / (4 * np.pi))
        for n, exact in ((2, two), (3, three)):
            assert VB()(DensePrior(K[:n, :n], 1), y[:n], Probit()).log_evidence < exact
            # A latent function for each of the two classes, same kernel: f_1 - f_0 + noise has twice the variance of
            # the binary model's f + noise, so the evidence is the same and the bound must stay below it too.
            assert VB()(DensePrior(K[:n, :n], 2), y[:n], MultinomialProbit()).log_evidence < exact

    @pytest.mark.parametrize("amplitude", [1.0, 10.0])
    def test_bound_is_below_the_brute_force_evidence_of_five_rows(self, amplitude):
        X, y = _data(5, 3, seed=2)
        K = (amplitude * RBF(1.0))(X)
        rng = np.random.default_rng(0)
        draws = np.einsum("ij,sjc->sic", np.linalg.cholesky(K + 1e-12 * np.eye(5)), rng.normal(size=(60_000, 5, 3)))
        log_prob = cone.log_z(np.tile(y, 60_000), draws.reshape(-1, 3)).reshape(-1, 5).sum(axis=1)
        probability = np.exp(log_prob)
        exact, error = probability.mean(), probability.std() / np.sqrt(60_000)
        fit = VB()(DensePrior(K, 3), y, MultinomialProbit())
        assert fit.log_evidence < np.log(exact - 4 * error)
        # And the Laplace evidence at the same mode is far closer to the truth.
        assert abs(fit.objective - np.log(exact)) < 0.25 * (np.log(exact) - fit.log_evidence)

    def test_shared_kernel_is_the_same_model_as_equal_kernels(self):
        X, y = _data(30, 4)
        shared, separate = KERNEL(X), PerClass(KERNEL).bind(X, 4)(X)
        one, many = (VB()(DensePrior(K, 4), y, MultinomialProbit(), gradient=True) for K in (shared, separate))
        np.testing.assert_allclose(one.posterior.terms.alpha, many.posterior.terms.alpha, atol=1e-10)
        assert one.log_evidence == pytest.approx(many.log_evidence, rel=1e-12)
        assert one.objective == pytest.approx(many.objective, rel=1e-10)
        np.testing.assert_allclose(one.gradient, many.gradient.reshape(4, -1).sum(axis=0), atol=1e-9)

    def test_laplace_evidence_is_the_dense_determinant_for_three_classes(self):
        X, y = _data(20, 3)
        K = (50.0 * RBF(1.3))(X)
        fit = VB()(DensePrior(K, 3), y, MultinomialProbit())
        m = K @ fit.posterior.terms.alpha
        log_prob, _, hessian = cone.derivatives(y, m)
        W = np.block([[np.diag(-hessian[:, a, b]) for b in range(3)] for a in range(3)])
        log_det = np.linalg.slogdet(np.eye(60) + W @ np.kron(np.eye(3), K))[1]
        dense = log_prob.sum() - 0.5 * np.sum(m * fit.posterior.terms.alpha) - 0.5 * log_det
        assert fit.objective == pytest.approx(dense, abs=1e-4)

    @pytest.mark.parametrize("amplitude", [1.0, 1e3, 9e4])
    def test_mode_and_gradient_at_any_amplitude(self, amplitude):
        X, y = _data(60, 5)
        kernel = amplitude * RBF(0.7)
        fit = VB()(_prior(kernel, X, 5), y, MultinomialProbit(), gradient=True)
        assert fit.info.converged
        alpha = fit.posterior.terms.alpha
        np.testing.assert_allclose(alpha, cone.tilted(y, kernel(X) @ alpha)[1], atol=1e-7)

        def objective(theta):
            return VB()(_prior(kernel.with_theta(theta), X, 5), y, MultinomialProbit()).objective

        # The determinants themselves lose digits as the amplitude grows.
        goal = 1e-6 if amplitude < 1e4 else 1e-4
        assert relative_error(fit.gradient, central_difference(objective, kernel.theta)) < goal

    def test_mode_where_labels_are_all_but_certain(self):
        X, y = load_iris(return_X_y=True)
        X, y = X[::3, 2:], y[::3]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        for log_variance in (9.5, 10.5, 11.0, 12.0):
            K = np.exp(log_variance) * Matern(np.exp(0.2), nu=2.5)(X)
            fit = VB()(DensePrior(K, 3), y, MultinomialProbit())
            assert fit.info.converged
            assert fit.info.n_iter < 40

    @pytest.mark.parametrize("scale", [1.0, 100.0, 1e4])
    def test_low_rank_kernels_reach_the_mode(self, scale):
        # Rank three, 40 rows: alpha has a large null space, in which conjugate gradients must not wander off.
        X, y = _data(40, 3)
        K = (scale * Linear() + scale)(X)
        fit = VB()(DensePrior(K, 3), y, MultinomialProbit())
        assert fit.info.converged
        p = cone.tilted(y, K @ fit.posterior.terms.alpha)[1]
        np.testing.assert_allclose(K @ (p - fit.posterior.terms.alpha), 0.0, atol=1e-5 * np.sqrt(scale))

    def test_contradicting_duplicates_are_fine(self):
        X = np.zeros((6, 2))
        fit = VB()(_prior(KERNEL, X, 3), np.array([0, 0, 1, 1, 2, 2]), MultinomialProbit())
        np.testing.assert_allclose(fit.posterior.terms.alpha.sum(axis=0), 0.0, atol=1e-8)

    @pytest.mark.parametrize("likelihood", [Logit(), Softmax()])
    def test_refuses_likelihoods_without_auxiliaries(self, likelihood):
        with pytest.raises(
            TypeError, match=f"VB inference needs a likelihood with augment; {type(likelihood).__name__}"
        ):
            VB()(DensePrior(np.eye(4), likelihood.n_latent(2)), np.array([0, 1, 0, 1]), likelihood)

    def test_refuses_what_it_cannot_learn_and_unknown_settings(self):
        with pytest.raises(ValueError, match="VB learns kernel parameters and label_noise only; fix bias of Probit"):
            VB()(DensePrior(np.eye(2), 1), np.array([0, 1]), Probit(fixed="variance"))
        with pytest.raises(ValueError, match="solver must be one of"):
            VB(solver="fast")
        with pytest.raises(TypeError, match="Gaussian"):
            Exact()(DensePrior(np.eye(2), 1), np.array([0, 1]), Probit())


class TestProductFormPosterior:
    @pytest.mark.parametrize(("C", "stacked"), [(1, False), (3, False), (4, True)])
    def test_value_and_gradients(self, C, stacked):
        rng = np.random.default_rng(C)
        X = rng.normal(size=(7, 2))
        K = np.stack([(2.0 * RBF(0.5 + c))(X) for c in range(C)]) if stacked else KERNEL(X)
        d = rng.gamma(1.0, 1.0, size=(7, C))
        posterior = ProductFormPosterior(K, d)
        value, (by_K, by_log_d) = posterior.log_det, posterior.log_det_gradient()

        def dense(K, d):
            W = np.zeros((7 * C, 7 * C))
            for a in range(C):
                for b in range(C):
                    block = d[:, a] * (a == b) - (d[:, a] * d[:, b] / d.sum(1) if C > 1 else 0.0)
                    W[7 * a : 7 * a + 7, 7 * b : 7 * b + 7] = np.diag(block)
            prior = np.zeros_like(W)
            for c in range(C):
                prior[7 * c : 7 * c + 7, 7 * c : 7 * c + 7] = K[c] if stacked else K
            return np.linalg.slogdet(np.eye(7 * C) + W @ prior)[1]

        assert value == pytest.approx(dense(K, d), rel=1e-10)
        numeric = central_difference(lambda t: dense(K, np.exp(t)), np.log(d))
        assert relative_error(by_log_d, numeric) < 1e-8
        direction = rng.normal(size=K.shape)
        direction = direction + np.swapaxes(direction, -1, -2)
        slope = central_difference(lambda s: dense(K + s * direction, d), np.zeros(()))
        assert np.sum(by_K * direction) == pytest.approx(float(slope), rel=1e-8)

    @pytest.mark.parametrize(("C", "stacked"), [(1, False), (3, False), (4, True)])
    def test_posterior_against_dense_inverses(self, C, stacked):
        rng = np.random.default_rng(C)
        X, Z = rng.normal(size=(7, 2)), rng.normal(size=(5, 2))
        kernel = PerClass(tuple((c + 1.0) * RBF(0.5 + c) for c in range(C))) if stacked else KERNEL
        K, cross, prior = (kernel(*rows) for rows in ((X,), (Z, X), (Z,)))
        d = rng.gamma(1.0, 1.0, size=(7, C))
        coupled = ProductFormPosterior(K, d)

        def blocks(matrix):
            return [matrix[c] if stacked else matrix for c in range(C)]

        def dense(matrices):
            return np.block(
                [[matrices[a] if a == b else np.zeros_like(matrices[0]) for b in range(C)] for a in range(C)]
            )

        W = coupled.precision()
        dense_W = np.block([[np.diag(W[:, a, b]) for b in range(C)] for a in range(C)])
        full = dense(blocks(K))
        A = full - full @ np.linalg.solve(np.eye(7 * C) + dense_W @ full, dense_W @ full)
        marginals = A.reshape(C, 7, C, 7)[:, np.arange(7), :, np.arange(7)]
        np.testing.assert_allclose(coupled.marginals(), marginals, atol=1e-10)
        r = rng.normal(size=(7, C))
        np.testing.assert_allclose(coupled.apply(r), (A @ r.T.ravel()).reshape(C, 7).T, atol=1e-9)
        if C > 1:
            new = dense(blocks(cross))
            S = dense(blocks(prior)) - new @ np.linalg.solve(np.eye(7 * C) + dense_W @ full, dense_W @ new.T)
            expected = S.reshape(C, 5, C, 5)[:, np.arange(5), :, np.arange(5)]
            latent = GaussianPosterior(kernel, X, coupled.terms(r)).latent(Z)
            np.testing.assert_allclose(latent.cov, expected, atol=1e-9)


def test_objective_far_from_any_posterior_is_minus_infinity():
    latent = LatentObjective(np.eye(3), np.array([0, 1, 2]), MultinomialProbit(), 3)
    assert -np.inf == latent.at(np.full((3, 3), 1e9)).J


def test_gradients_end_where_rounding_leaves_no_curvature():
    latent = LatentObjective(np.eye(3), np.array([0, 1, 2]), MultinomialProbit(), 3)
    W = np.zeros((3, 3, 3))
    # The image of every direction is the direction itself minus itself.
    x, solved = latent.solve(W, np.ones((3, 3)), 1e-8, Preconditioner(lambda r: r, W + np.eye(3), 10))
    assert not solved
    np.testing.assert_array_equal(x, 0.0)
