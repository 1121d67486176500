"""Learning and sampling through the estimators: what reaches the prediction, and what a user can read off."""

import pickle
import sys
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from sklearn.callback import ProgressBar
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sklearn_kernels

from gpclass import GPClassifier, GPRegressor
from gpclass.hyper import HMC, NUTS, Evidence, Fixed, HyperResult, Importance, LeaveOneOut, Metropolis, Samples
from gpclass.hyper.priors import Exponential, Gamma, LogNormal, Normal, Relevance
from gpclass.inference import EP, Gibbs, Laplace
from gpclass.inference.calibration import Calibration
from gpclass.inference.posteriors import MixturePosterior
from gpclass.kernels import RBF, Constant, PerClass
from gpclass.likelihoods import Gaussian, Probit
from gpclass.training import default_kernel
from gpclass.training.monitor import SILENT
from tests.conftest import central_difference, relative_error

FEW = Importance(prior=Normal(), n_draws=40, n_models=4)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::5], y[::5]


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, (X[:, 0] + 0.4 * rng.normal(size=40) > 0).astype(int)


@pytest.fixture(scope="module")
def mixture(iris):
    """Predictions averaged over few samples of theta."""
    return GPClassifier(10.0 * RBF(1.0), hyper=FEW, random_state=0).fit(*iris)


class Recorder:
    """A callback that remembers; asks to stop when told to."""

    def __init__(self, stop_at=None):
        self.events, self.stop_at = [], stop_at
        self.steps_of = Counter()
        self.torn_down = 0

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))
        parent = context.parent.task_name if context.parent is not None else None
        self.steps_of[parent] += 1
        return parent == self.stop_at

    def teardown(self, estimator, context):
        self.torn_down += 1

    def count(self, kind, name):
        return self.events.count((kind, name))


@pytest.fixture(scope="module")
def by_nuts(binary):
    """A model with a few draws by NUTS, and the callback that has followed it."""
    pytest.importorskip("nutpie")
    hyper, recorder = NUTS(n_draws=10, n_tune=20, n_chains=2, n_models=3), Recorder()
    model = GPClassifier(1.0 * RBF(np.ones(2)), hyper=hyper, random_state=0).set_callbacks(recorder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*binary), recorder


# ---- one optimum -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("inference", ["vb", "laplace", "ep"])
def test_map_is_stationary(binary, inference):
    prior = {"variance": Gamma(2.0, 0.5), "length_scale": Relevance(Normal(-3, 3))}
    hyper = Evidence(prior=prior, tol=1e-12)
    model = GPClassifier(2.0 * RBF(np.ones(2)), inference=inference, hyper=hyper).fit(*binary)

    def log_posterior(theta):
        # Gamma as it is written, for the variance; the normal for log w = -2 log l.
        penalty = (2.0 - 1.0) * theta[0] - 0.5 * np.exp(theta[0])
        return model.log_marginal_likelihood(theta) + penalty - 0.5 * np.sum(((-2.0 * theta[1:] + 3.0) / 3.0) ** 2)

    slope = central_difference(log_posterior, model.hyper_.theta, step=1e-2)
    assert np.max(np.abs(slope)) < 2e-3


def test_exponential_prior_prunes_and_lognormal_does_not(binary):
    # LPJ05's L1 penalty on process variances: a component that explains nothing goes to (nearly) nothing.
    X, y = binary
    kernel = RBF(1.0, fixed=True) * 1.0 + Constant(1.0)
    found = {}
    for name, prior in (("l1", Exponential(5.0)), ("lognormal", LogNormal(0.0, 0.5))):
        model = GPClassifier(kernel, hyper=Evidence(prior={"constant.variance": prior}), calibration=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a pruned variance ends at its bound
            found[name] = model.fit(X, y).kernel_.params["constant.variance"]
    assert found["l1"] < 1e-3
    assert found["lognormal"] > 0.1


def test_standard_error_is_the_curvature(iris):
    model = GPClassifier(10.0 * RBF(1.0), hyper=Evidence(tol=1e-12, max_rows=None), inference="laplace").fit(*iris)
    prior = model._objective.log_prior(Normal())

    def slope(theta):
        return model.log_marginal_likelihood(theta, eval_gradient=True)[1] + prior(theta)[1]

    curvature = -central_difference(slope, model.hyper_.theta, step=1e-2)
    expected = np.sqrt(np.diag(np.linalg.inv(0.5 * (curvature + curvature.T))))
    assert relative_error(model.hyper_.standard_error, expected) < 5e-3
    assert model.hyper_.theta_names == ("variance", "length_scale")


def test_no_standard_error_at_a_bound_or_for_leave_one_out(binary):
    bounded = 1.0 * RBF(1.0, bounds={"length_scale": (0.9, 1.1)})
    with pytest.warns(ConvergenceWarning, match="length_scale at a bound"):
        model = GPClassifier(bounded).fit(*binary)
    assert np.isnan(model.hyper_.standard_error[1])
    assert np.isfinite(model.hyper_.standard_error[0])
    assert GPClassifier(1.0 * RBF(1.0), hyper=LeaveOneOut()).fit(*binary).hyper_.standard_error is None


def test_prior_moves_the_optimum(binary):
    tight = Evidence(prior={"length_scale": Normal(np.log(5.0), 0.01)})
    model = GPClassifier(1.0 * RBF(1.0), hyper=tight).fit(*binary)
    assert model.kernel_.params["length_scale"] == pytest.approx(5.0, rel=0.03)


def test_per_class_parameters_differ(iris):
    kernel = PerClass(10.0 * RBF(2.0) + Constant(1.0))
    model = GPClassifier(kernel, likelihood="softmax", inference="laplace", hyper=Evidence(prior=Normal(-3, 3)))
    model.fit(*iris)
    scales = [model.kernel_.params[f"{c}.rbf.length_scale"] for c in range(3)]
    assert np.ptp(scales) > 0.1
    assert model.relevance_.shape == (3, 4)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"lengthscale": Normal()}, "no such parameter .did you mean"),
        ({"bias": Normal()}, "'likelihood.bias', which is fixed"),
    ],
)
def test_priors_on_what_is_not_there(binary, prior, message):
    for hyper in (Evidence(prior=prior), NUTS(prior=prior), HMC(prior=prior), Importance(prior=prior)):
        with pytest.raises(ValueError, match=message):
            GPClassifier(RBF(1.0), likelihood=Probit(fixed=True), hyper=hyper).fit(*binary)


def test_fixed_outside_given_bounds_is_a_contradiction():
    with pytest.raises(ValueError, match=r"is fixed at 20\.0, which is outside the bounds"):
        RBF(20.0, fixed="length_scale", bounds={"length_scale": (0.1, 10.0)})
    assert RBF(2e5, fixed="length_scale").params["length_scale"] == 2e5  # the default bounds bind nobody


# ---- log marginal likelihood -----------------------------------------------------------------------------


@pytest.mark.parametrize("inference", ["vb", "laplace", "ep"])
def test_log_marginal_likelihood(iris, inference):
    engine = EP(tol=1e-9, max_iter=2000) if inference == "ep" else inference
    model = GPClassifier(10.0 * RBF(1.0), inference=engine, hyper="fixed").fit(*iris)
    assert model.log_marginal_likelihood() == pytest.approx(model.objective_, abs=1e-6)
    theta = np.array([2.0, 0.3])
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood(theta), abs=1e-6)
    assert relative_error(gradient, central_difference(model.log_marginal_likelihood, theta, step=5e-3)) < 1e-5


def test_log_marginal_likelihood_is_scikit_learns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    y = 3.0 + 2.0 * np.sin(X[:, 0]) + 0.1 * rng.normal(size=30)
    ours = GPRegressor(1.5 * RBF(0.8), likelihood=Gaussian(0.05), hyper="fixed").fit(X, y)
    theirs = GaussianProcessRegressor(
        1.5 * sklearn_kernels.RBF(0.8) + sklearn_kernels.WhiteKernel(0.05),
        optimizer=None,
        normalize_y=True,
        alpha=0.0,
    ).fit(X, y)
    # scikit-learn answers for standardised targets: add what their units take away.
    units = len(y) * np.log(y.std())
    assert ours.log_marginal_likelihood() + units == pytest.approx(theirs.log_marginal_likelihood(), abs=1e-8)
    assert ours.log_marginal_likelihood() == pytest.approx(ours.log_evidence_, abs=1e-8)


@pytest.mark.parametrize("theta", [[1.0], [1.0, np.nan], [[1.0, 2.0]]])
def test_log_marginal_likelihood_of_a_bad_theta(binary, theta):
    model = GPClassifier(1.0 * RBF(1.0), hyper="fixed").fit(*binary)
    with pytest.raises(ValueError, match="expected 2 finite values for theta"):
        model.log_marginal_likelihood(theta)


# ---- samples reach the prediction ------------------------------------------------------------------------


def test_mixture_is_the_weighted_average(iris):
    X, y = iris
    hyper = Importance(prior=Normal(), n_draws=25, n_models=4)
    model = GPClassifier(10.0 * RBF(1.0), hyper=hyper, inference="laplace", calibration=None, random_state=0).fit(X, y)
    assert isinstance(model.posterior_, MixturePosterior)
    assert model.posterior_.weights.sum() == pytest.approx(1.0)
    total = 0.0
    for member in model.posterior_.members:
        alone = GPClassifier(member.posterior.kernel, hyper="fixed", inference="laplace", calibration=None).fit(X, y)
        total = total + member.weight * alone.predict_proba(X[:7] + 0.3)
    assert relative_error(model.predict_proba(X[:7] + 0.3), total) < 1e-7
    assert np.allclose(np.exp(model.predict_log_proba(X[:7])), model.predict_proba(X[:7]))


@pytest.mark.filterwarnings("ignore:the tail of the importance weights is heavy")
def test_mixture_moments_are_those_of_its_draws(iris, mixture):
    X, y = iris
    hyper = Importance(prior=Normal(), n_draws=25, n_models=4)
    coupled = GPClassifier(10.0 * RBF(1.0), hyper=hyper, inference="ep", calibration=None, random_state=0).fit(X, y)
    for model in (mixture, coupled):
        new = X[:4] + 0.5
        mean, cov = model.latent(new)
        draws = model.sample_latent(new, 20000, random_state=0)
        assert np.all(np.abs(draws.mean(axis=0) - mean) < 5.0 * draws.std(axis=0) / np.sqrt(20000))
        variance = np.einsum("mcc->mc", cov) if cov.ndim == 3 else cov
        assert np.allclose(draws.var(axis=0), variance, rtol=0.07)
        full = model.latent(new, full_cov=True)
        assert np.allclose(full.cov[:, range(4), range(4)].T, variance, rtol=1e-6)
        assert np.allclose(np.cov(draws[:, :, 0].T), full.cov[0], atol=0.06 * variance[:, 0].max())


@pytest.mark.parametrize(
    ("n_draws", "n_models", "rows", "tol"),
    [(50, 25, [0, 7], 0.04), pytest.param(250, 120, range(0, 14, 3), 0.02, marks=pytest.mark.slow)],
)
def test_leave_one_out_of_a_mixture(binary, n_draws, n_models, rows, tol):
    # Brute force: sample theta without the row, predict its label.
    X, y = binary[0][:14], binary[1][:14]
    sampler = Importance(prior=Normal(sd=1.0), n_draws=n_draws, n_models=n_models)
    kernel = 3.0 * RBF(1.0)
    settings = {"hyper": sampler, "inference": "ep", "calibration": None, "random_state": 0}
    together = GPClassifier(kernel, **settings).fit(X, y).loo_proba_
    for i in rows:
        rest = np.arange(14) != i
        alone = GPClassifier(kernel, **settings).fit(X[rest], y[rest]).predict_proba(X[i : i + 1])
        assert np.abs(together[i] - alone).max() < tol


@pytest.mark.parametrize("inference", ["vb", "laplace"])
def test_leave_one_out_of_a_mixture_with_weights(binary, inference, monkeypatch):
    # A row of weight w takes with it the power w of what each theta says of its label.
    X, y = binary[0][:16], binary[1][:16]
    weights = np.array([1.0, 2.0, 3.0, 0.5] * 4)
    thetas, shares = np.array([[0.5, -0.3], [1.0, 0.0], [2.0, 0.5]]), np.array([0.2, 0.5, 0.3])

    class Given(HMC):
        def __call__(self, objective, rng, monitor=SILENT, effort=None):
            samples = Samples(thetas[None], np.zeros((1, 3)), shares)
            return HyperResult(samples.mean, 0.0, 0, True, theta_names=("a", "b"), samples=samples)

    settings = {"inference": inference, "calibration": None}
    mixture = GPClassifier(1.0 * RBF(1.0), hyper=Given(), **settings).fit(X, y, sample_weight=weights)
    parts = []
    for member in mixture.posterior_.members:
        alone = GPClassifier(member.posterior.kernel, hyper="fixed", **settings).fit(X, y, sample_weight=weights)
        parts.append((member.weight, alone.loo_proba_))
    own = np.array([p[np.arange(16), y] for _, p in parts])
    tilted = np.array([share for share, _ in parts])[:, None] * own**-weights
    expected = np.einsum("sn,snk->nk", tilted / tilted.sum(axis=0), np.array([p for _, p in parts]))
    assert np.allclose(mixture.loo_proba_, expected, atol=1e-6)


def test_rows_that_theta_has_not_seen_keep_the_shares(binary):
    X, y = binary
    hyper = Importance(prior=Normal(), n_draws=40, n_models=5, max_rows=20)
    model = GPClassifier(1.0 * RBF(1.0), hyper=hyper, calibration=None, random_state=0).fit(X, y)
    rows = model.hyper_.rows
    assert len(rows) == 20
    parts = [
        member.weight * GPClassifier(member.posterior.kernel, hyper="fixed", calibration=None).fit(X, y).loo_proba_
        for member in model.posterior_.members
    ]
    unseen = np.setdiff1d(np.arange(len(y)), rows)
    assert np.allclose(model.loo_proba_[unseen], sum(parts)[unseen], atol=1e-6)
    assert not np.allclose(model.loo_proba_[rows], sum(parts)[rows], atol=1e-6)


def test_calibration_of_a_mixture_is_an_optimum(iris, mixture):
    X, y = iris
    model = mixture
    assert model.calibration_ != Calibration()
    assert np.allclose(model.loo_proba_.sum(axis=1), 1.0, atol=1e-6)
    plain = GPClassifier(10.0 * RBF(1.0), hyper=FEW, random_state=0, calibration=None).fit(X, y)
    gain = np.log(model.loo_proba_[np.arange(len(y)), y]) - np.log(plain.loo_proba_[np.arange(len(y)), y])
    assert gain.sum() > 0.0


def test_regression_average():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(15, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=15)
    model = GPRegressor(hyper=Importance(prior=Normal(sd=1.0), n_draws=100), random_state=0).fit(X, y)
    new = np.array([[0.3], [4.0]])
    mean, std = model.predict(new, return_std=True)
    _, cov = model.predict(new, return_cov=True)
    assert np.allclose(std**2, np.diag(cov))
    # By hand, over the members.
    means, seconds = 0.0, 0.0
    for weight, posterior, likelihood, _ in model.posterior_.members:
        m, v = posterior.latent(model._inputs.scaled(new))
        means += weight * m[:, 0]
        seconds += weight * (m[:, 0] ** 2 + v[:, 0] + likelihood.variance)
    assert np.allclose(mean, model.target_mean_ + model.target_scale_ * means)
    assert np.allclose(std, model.target_scale_ * np.sqrt(seconds - means**2))


@pytest.mark.parametrize(
    ("inference", "hyper"),
    [
        ("laplace", HMC(n_iter=12, n_leapfrog=3, n_models=4)),
        ("vb", NUTS(n_draws=6, n_tune=20, n_chains=1, n_models=4)),
        ("ep", Importance(n_draws=25, n_models=4)),
        ("vb", Evidence(prior=Gamma())),
        ("laplace", Evidence(prior=Gamma())),
        ("ep", Evidence(prior=Gamma())),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_choices_with_engines(iris, hyper, inference):
    X, y = iris
    kernel = 10.0 * RBF(1.0)
    model = GPClassifier(kernel, hyper=hyper, inference=inference, random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.9
    assert np.isfinite(model.log_evidence_)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), proba)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_metropolis_predicts(iris):
    X, y = iris
    gibbs = Gibbs(n_draws=20, burn_in=100, thin=1, n_chains=2)
    model = GPClassifier(10.0 * RBF(1.0), hyper="metropolis", inference=gibbs, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.hyper_.samples.theta.shape == (2, 20, 2)
    assert model.hyper_.fits is None
    assert np.isnan(model.log_evidence_)
    assert model.loo_proba_ is None


def test_metropolis_needs_gibbs(binary):
    with pytest.raises(TypeError, match="expected inference='gibbs', got VB"):
        GPClassifier(hyper="metropolis").fit(*binary)
    with pytest.raises(ValueError, match="max_rows must be None"):
        GPClassifier(hyper=Metropolis(max_rows=10), inference="gibbs").fit(*binary)


def test_samples_that_have_not_mixed_are_told(binary):
    # A walk of so small steps is elsewhere in its second half, whatever the seed; one that is too short need not be.
    hyper = HMC(n_iter=100, n_leapfrog=1, step_size=1e-3)
    with pytest.warns(ConvergenceWarning, match="have not mixed: R-hat is up to"):
        GPClassifier(1.0 * RBF(1.0), hyper=hyper, random_state=0).fit(*binary)


def test_a_chain_that_never_moves_has_not_mixed(binary):
    with pytest.warns(ConvergenceWarning, match="nearly every proposal for the kernel parameters was refused"):
        model = GPClassifier(1.0 * RBF(1.0), hyper=HMC(n_iter=12, step_size=50.0)).fit(*binary)
    assert model.hyper_.samples.n_effective == 1.0
    assert model.hyper_.samples.r_hat == np.inf


def test_samples_where_inference_does_not_converge_are_refused(binary):
    # Three sweeps are never enough: nothing can be sampled, and learning by evidence does what it can.
    X, y = binary
    with pytest.raises(LinAlgError, match="did not converge in 3 iterations"):
        GPClassifier(1.0 * RBF(1.0), hyper=HMC(n_iter=12), inference=EP(max_iter=3)).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="EP inference stopped after 3 iterations"):
        GPClassifier(1.0 * RBF(1.0), inference=EP(max_iter=3)).fit(X, y)


def test_inference_that_fails_at_every_sample(binary, monkeypatch):
    class Moody(Laplace):
        def __call__(self, prior, y, likelihood, init=None, gradient=False, monitor=SILENT):
            if not gradient and abs(prior.K[0, 0] - self.known) > 1e-9:
                raise LinAlgError("the matrix is broken")
            return super().__call__(prior, y, likelihood, init, gradient, monitor)

    model = GPClassifier(1.0 * RBF(1.0), hyper=HMC(n_iter=12, n_leapfrog=2), inference=Laplace(), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*binary)
        proba = model.predict_proba(binary[0])
        Moody.known = float(np.exp(model.hyper_.theta[0]))
        # Only the fit at the mean works now, none at the samples: the model from before stays.
        model.set_params(inference=Moody())
        with pytest.raises(LinAlgError, match="failed at every sample of the parameters: the matrix is broken"):
            model.fit(*binary)
    assert np.array_equal(model.predict_proba(binary[0]), proba)


# ---- the sampler of GR06 as published -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_published_importance(binary):
    X, y = binary
    hyper = Importance(as_published=True, n_draws=40, n_rounds=6)
    model = GPClassifier(RBF(np.ones(2)), hyper=hyper, inference="vb", random_state=0).fit(X, y)
    assert len(model.hyper_.trace) == 6
    assert model.hyper_.samples.n_effective >= 1.0
    assert not isinstance(model.posterior_, MixturePosterior)
    # phi is the weighted mean of the draws (equation 4.7), theta its logarithm as a length-scale
    samples = model.hyper_.samples
    phi = samples.weights @ (0.5 * np.exp(-2.0 * samples.flat))
    assert np.allclose(model.hyper_.theta, -0.5 * np.log(2.0 * phi))
    assert np.allclose(model.relevance_, 2.0 * phi)


def test_published_draws_have_the_mean_of_the_estimate(binary):
    # phi ~ Exp with rate psi = (sigma + 1) / (tau + phi): draws average to the last estimate, here the start, 5.
    X, y = binary[0][:8], binary[1][:8]
    kernel = RBF(np.full(2, np.sqrt(0.1)))
    hyper = Importance(as_published=True, n_draws=1500, n_rounds=1)
    samples = GPClassifier(kernel, hyper=hyper, inference="vb", random_state=0).fit(X, y).hyper_.samples
    drawn = 0.5 * np.exp(-2.0 * samples.flat)
    assert np.allclose(drawn.mean(axis=0), 5.0, rtol=0.08)
    assert np.allclose(drawn.std(axis=0), 5.0, rtol=0.1)


def test_published_bound_is_that_of_vb(binary):
    # At a fixed phi the iteration searches to VB's fixed point: many iterations of 4.6 alone reach its bound.
    from gpclass.hyper.published_importance import _update_means

    X, y = binary
    model = GPClassifier(1.0 * RBF(1.0), hyper="fixed", inference="vb").fit(X, y)
    m, bounds = np.zeros((len(y), 1)), []
    for _ in range(200):
        m, bound = _update_means(model._objective, model.kernel_(model.posterior_.X), m)
        bounds.append(bound)
    assert np.all(np.diff(bounds) > -1e-9)
    assert bounds[-1] == pytest.approx(model.log_evidence_, abs=1e-8)


def test_published_fixed_point_with_a_bias(binary):
    from gpclass.hyper.published_importance import _update_means

    X, y = binary
    likelihood = Probit(bias=1.0, fixed=True)
    model = GPClassifier(1.0 * RBF(1.0), likelihood=likelihood, hyper="fixed", inference="vb").fit(X, y)
    m = np.zeros((len(y), 1))
    for _ in range(200):
        m, bound = _update_means(model._objective, model.kernel_(model.posterior_.X), m)
    assert bound == pytest.approx(model.log_evidence_, abs=1e-8)


def test_published_draws_per_class_stand_for_their_own_weights(iris):
    hyper = Importance(as_published=True, n_draws=1500, n_rounds=1)
    few = iris[0][::3], iris[1][::3]
    model = GPClassifier(PerClass(RBF(1.0)), hyper=hyper, inference="vb", random_state=0).fit(*few)
    phi = 0.5 * np.exp(-2.0 * model.hyper_.samples.flat)
    assert np.allclose(phi.mean(axis=0), 0.5 * np.exp(-2.0 * model.hyper_.theta), rtol=0.2)


def test_published_weights_are_the_density_of_the_means(iris):
    from scipy.stats import multivariate_normal

    from gpclass.hyper.published_importance import _log_prior_of_means

    X, y = iris[0][:10], iris[1][:10]
    m = np.random.default_rng(0).normal(size=(10, 3))
    for kernel in (RBF(0.3), PerClass(RBF(0.3))):
        fitted = GPClassifier(kernel, hyper="fixed").fit(iris[0][::3], iris[1][::3])
        objective = replace(fitted._objective, problem=replace(fitted._objective.problem, X=X, y=y))
        theta = objective.theta - 0.1
        K = objective.at(theta)[0](X)
        per_class = [
            multivariate_normal(np.zeros(10), K if K.ndim == 2 else K[c]).logpdf(m[:, c]) + 5.0 * np.log(2.0 * np.pi)
            for c in range(3)
        ]
        expected = per_class if K.ndim == 3 else [sum(per_class)]
        assert np.allclose(_log_prior_of_means(objective, theta, m), expected)


def test_published_importance_knows_length_scales_and_probits_only(binary):
    with pytest.raises(TypeError, match="'variance' is free; fix it"):
        GPClassifier(1.0 * RBF(1.0), hyper=Importance(as_published=True)).fit(*binary)
    with pytest.raises(TypeError, match=r"needs Probit\(\) or MultinomialProbit\(\) with unit variance"):
        GPClassifier(RBF(1.0), likelihood="logit", hyper=Importance(as_published=True)).fit(*binary)


# ---- what a user can read off ----------------------------------------------------------------------------


def test_idata_has_natural_values(binary, by_nuts):
    pytest.importorskip("arviz")
    X, y = binary
    model = by_nuts[0]
    posterior = model.idata_.posterior
    assert posterior["length_scale"].shape == (2, 10, 2)
    assert np.allclose(np.log(posterior["variance"].to_numpy()), model.hyper_.samples.theta[..., 0])
    assert model.idata_.sample_stats["lp"].shape == (2, 10)
    weighted = GPClassifier(1.0 * RBF(1.0), hyper=FEW, random_state=0).fit(X, y)
    resampled = np.log(weighted.idata_.posterior["length_scale"].to_numpy())
    samples = weighted.hyper_.samples
    assert resampled.shape == (1, 40)
    assert resampled.mean() == pytest.approx(samples.mean[1], abs=4.0 * samples.sd[1] / np.sqrt(samples.n_effective))


def test_idata_of_a_point_estimate_is_refused(binary):
    model = GPClassifier().fit(*binary)
    with pytest.raises(AttributeError, match="idata_ holds draws"):
        _ = model.idata_


def test_missing_extra_is_named(binary, monkeypatch):
    monkeypatch.setitem(sys.modules, "nutpie", None)
    with pytest.raises(ImportError, match=r"gpclass\[mcmc\]"):
        GPClassifier(hyper="nuts").fit(*binary)


# ---- priors and the default kernel -----------------------------------------------------------------------


ALIKE = Normal(sd=0.5)
TIGHT = Normal(0.0, 0.01)


@pytest.fixture
def relevances(monkeypatch):
    """Data for which the default kernel gets a length-scale for each input, and gives them no freedom after that."""
    monkeypatch.setattr(default_kernel, "choose_columns", lambda *_: None)
    monkeypatch.setattr(default_kernel, "_CLEAR_GAIN", -np.inf)
    monkeypatch.setattr(default_kernel, "_GAIN_PER_INPUT", np.inf)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60) > 0).astype(int)


@pytest.mark.parametrize(
    ("given", "used", "n_free"),
    [
        (Normal(), ALIKE, 4),
        ({"variance": TIGHT}, {"length_scale": ALIKE, "variance": TIGHT}, 4),
        (None, {"length_scale": ALIKE, "variance": None}, 4),
        # Of these nobody expects that they are alike, and there is nothing to gain from that.
        ({"length_scale": TIGHT}, {"length_scale": TIGHT}, 2),
        ({"length_scale": None}, {"length_scale": None}, 2),
        (TIGHT, TIGHT, 2),
    ],
    ids=["default", "amplitude", "none", "length-scales", "none for length-scales", "all"],
)
def test_samplers_keep_the_priors_they_were_given(relevances, monkeypatch, given, used, n_free):
    seen = []

    def sample(self, objective, *args):
        seen.append((self.prior, objective.theta))
        return Fixed()(objective, None)

    monkeypatch.setattr(HMC, "sample", sample)
    GPClassifier(hyper=HMC(prior=given)).fit(*relevances)
    ((prior, start),) = seen
    assert (prior, len(start)) == (used, n_free)
    # The search before has left the amplitude where its prior wants it.
    assert (abs(start[0]) < 0.1) == (used == {"length_scale": ALIKE, "variance": TIGHT})


def test_importance_keeps_its_hierarchy(relevances, monkeypatch):
    seen = []

    def sample(self, objective, *args):
        seen.append((self.prior, len(objective.theta)))
        return Fixed()(objective, None)

    monkeypatch.setattr(Importance, "sample", sample)
    GPClassifier(hyper="importance").fit(*relevances)
    assert seen == [("hierarchy", 4)]


def test_learning_keeps_the_prior_of_the_amplitude(relevances):
    free = GPClassifier("matern", hyper=Evidence()).fit(*relevances).hyper_
    held = GPClassifier("matern", hyper=Evidence(prior={"variance": TIGHT})).fit(*relevances).hyper_
    assert len(free.theta) == len(held.theta) == 4
    assert free.theta[0] > 1.0
    assert abs(held.theta[0]) < 0.05


# ---- progress --------------------------------------------------------------------------------------------


def test_callbacks_follow_restarts_and_sweeps(binary):
    recorder = Recorder()
    model = GPClassifier(1.0 * RBF(1.0), inference="ep", n_restarts_optimizer=2, random_state=0).set_callbacks(recorder)
    model.fit(*binary)
    assert recorder.count("begin", "fit") == recorder.count("end", "fit") == 1
    assert recorder.count("begin", "search") == recorder.count("end", "search") == 3
    assert recorder.count("begin", "EP sweeps") == 1
    assert recorder.count("end", "step") > model.n_iter_
    assert recorder.torn_down == 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("hyper", "name", "n_steps"),
    [
        (HMC(n_iter=9, n_leapfrog=2, n_models=3), "trajectories", 9),
        (Importance(n_draws=25, n_models=3), "draws", 25),
    ],
    ids=["hmc", "importance"],
)
def test_callbacks_follow_every_draw(binary, hyper, name, n_steps):
    recorder = Recorder()
    GPClassifier(1.0 * RBF(1.0), hyper=hyper, random_state=0).set_callbacks(recorder).fit(*binary)
    assert recorder.steps_of[name] == n_steps


def test_callbacks_follow_every_draw_of_nuts(by_nuts):
    assert by_nuts[1].steps_of["draws"] == 2 * (20 + 10)


def test_a_callback_can_stop_the_search(binary):
    model = GPClassifier(1.0 * RBF(1.0)).set_callbacks(Recorder(stop_at="search"))
    with pytest.warns(ConvergenceWarning, match="without converging"):
        model.fit(*binary)
    free = GPClassifier(1.0 * RBF(1.0)).fit(*binary)
    assert model.hyper_.n_evaluations < free.hyper_.n_evaluations
    assert model.score(*binary) > 0.8


class AsksOnce(Recorder):
    """A callback that asks a part to stop, once, at its n-th step."""

    def __init__(self, name, n):
        super().__init__()
        self.name, self.n, self.heard = name, n, 0

    def on_fit_task_end(self, estimator, context):
        if context.parent is None or context.parent.task_name != self.name:
            return False
        self.heard += 1
        return self.heard == self.n


@pytest.mark.parametrize(
    ("asks_at", "n_kept"),
    [(3, 4), (10 + 2 * 6 + 1, 6), (70 + 10 + 2 * 9, 9)],
    ids=["burning in", "first chain", "second chain"],
)
@pytest.mark.filterwarnings("ignore:the chains have not mixed")
def test_a_callback_can_stop_gibbs(binary, asks_at, n_kept):
    gibbs = Gibbs(n_draws=30, burn_in=10, thin=2, n_chains=2, evidence=False)
    model = GPClassifier(4.0 * RBF(1.0), inference=gibbs, hyper="fixed")
    whole = model.fit(*binary).posterior_.draws
    stopped = model.set_callbacks(AsksOnce("sweeps", asks_at)).fit(*binary)
    draws = stopped.posterior_.draws
    assert np.array_equal(draws.alpha, whole.alpha[:, :n_kept])
    assert np.array_equal(draws.latent, whole.latent[:, :n_kept])
    assert stopped.n_iter_ == stopped.info_.n_iter == 10 + 2 * n_kept


def test_gibbs_that_was_stopped_early_has_not_mixed(binary):
    model = GPClassifier(4.0 * RBF(1.0), inference=Gibbs(evidence=False), hyper="fixed")
    with pytest.warns(ConvergenceWarning, match="the chains have not mixed"):
        model.set_callbacks(Recorder(stop_at="sweeps")).fit(*binary)
    assert model.posterior_.draws.alpha.shape == (4, 4, 40, 1)


@pytest.mark.parametrize(("asks_at", "n_kept"), [(2, 4), (9, 5), (12 + 10, 6)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_callback_can_stop_hmc(binary, asks_at, n_kept):
    hmc = HMC(n_iter=12, n_leapfrog=2, n_chains=2, n_models=2)
    model = GPClassifier(4.0 * RBF(1.0), hyper=hmc, random_state=0)
    whole = model.fit(*binary).hyper_
    stopped = model.set_callbacks(AsksOnce("trajectories", asks_at)).fit(*binary).hyper_
    assert np.array_equal(stopped.samples.theta, whole.samples.theta[:, :n_kept])
    assert stopped.samples.log_density.shape == (2, n_kept)
    assert stopped.n_evaluations < whole.n_evaluations


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_callback_can_stop_published_importance(binary):
    model = GPClassifier(RBF(np.ones(2)), hyper=Importance(as_published=True, n_draws=40, n_rounds=6), inference="vb")
    learned = model.set_callbacks(Recorder(stop_at="iterations")).fit(*binary).hyper_
    assert (len(learned.trace), learned.n_evaluations) == (1, 40)


def test_an_interrupt_of_nuts_leaves_the_model_as_it_was(binary, monkeypatch):
    pytest.importorskip("nutpie")
    background = sys.modules["nutpie.sample"]._BackgroundSampler
    asked = []

    def interrupted(self, *, timeout=None):  # as if somebody pressed Ctrl-C
        raise KeyboardInterrupt

    def cancelled(self):
        asked.append("cancel")
        self._sampler.abort()

    monkeypatch.setattr(background, "wait", interrupted)
    monkeypatch.setattr(background, "cancel", cancelled)
    model = GPClassifier(1.0 * RBF(1.0), random_state=0).fit(*binary)
    before = dict(vars(model))
    model.set_params(hyper=NUTS(n_draws=3000, n_tune=20, n_chains=2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*binary)
    assert asked[0] == "cancel"
    assert {**vars(model), "hyper": before["hyper"]} == before


def test_callbacks_are_torn_down_when_a_fit_fails(binary):
    recorder = Recorder()
    model = GPClassifier(hyper=Evidence(prior={"nothing": Normal()})).set_callbacks(recorder)
    with pytest.raises(ValueError, match="no such parameter"):
        model.fit(*binary)
    assert recorder.torn_down == 1
    assert not hasattr(model, "_callback_fit_ctx")


def test_progress_bar(binary, capsys):
    pytest.importorskip("rich")
    GPClassifier(1.0 * RBF(1.0), n_restarts_optimizer=1, random_state=0).set_callbacks(ProgressBar()).fit(*binary)
    shown = capsys.readouterr().out
    assert "GPClassifier - search" in shown
    assert "Newton steps" in shown


def test_verbose_prints_and_quiet_does_not(binary, capsys):
    GPClassifier(1.0 * RBF(1.0), inference="ep").fit(*binary)
    assert capsys.readouterr().out == ""
    GPClassifier(1.0 * RBF(1.0), inference="ep", verbose=1).fit(*binary)
    lines = capsys.readouterr().out.splitlines()
    assert any("search] done" in line and "log posterior" in line for line in lines)
    assert any("EP sweeps] done" in line for line in lines)


def test_callbacks_through_a_pipeline(binary):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    recorder = Recorder()
    model = GPClassifier(1.0 * RBF(1.0)).set_callbacks(recorder)
    make_pipeline(StandardScaler(), model).fit(*binary)
    assert recorder.count("begin", "search") == 1
