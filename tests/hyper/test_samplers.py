"""Samplers of theta against a grid, and what they do with bad news."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import LinAlgError

from gpclass.hyper import HMC, NUTS, Importance, Metropolis, metropolis, nuts
from gpclass.hyper.importance import Proposal, adaptive_draws, log_mixture
from gpclass.hyper.priors import ExponentialGamma, Gamma, Normal, Relevance
from gpclass.hyper.results import Samples
from gpclass.hyper.target import Target
from gpclass.inference import EP, VB, Exact, Gibbs, Laplace
from gpclass.kernels import RBF, Matern
from gpclass.likelihoods import Gaussian, MultinomialProbit, Probit
from gpclass.numerics.diagnostics import effective_sample_size, effective_weights, pareto_smoothed, split_r_hat
from gpclass.training.monitor import SILENT
from tests.conftest import central_difference, relative_error

from .conftest import PRIOR, grid_moments, objective_of

EVERYWHERE = np.tile([-np.inf, np.inf], (3, 1))
SAMPLERS = {
    "hmc": HMC(prior=PRIOR, n_iter=450, burn_in=50, n_leapfrog=5, step_size=0.25, n_chains=2),
    "nuts": NUTS(prior=PRIOR, n_draws=300, n_tune=150, n_chains=2),
    "importance": Importance(prior=PRIOR, n_draws=600),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_moments_are_the_grids(name, regression, truth):
    learned = SAMPLERS[name](regression, np.random.default_rng(1))
    samples = learned.samples
    mean, sd = truth
    error = sd / np.sqrt(samples.n_effective)
    assert samples.n_effective > 150
    assert np.all(np.abs(samples.mean - mean) < 4.0 * error)
    assert np.all(np.abs(samples.sd / sd - 1.0) < 4.0 / np.sqrt(2.0 * samples.n_effective))
    assert learned.converged
    assert np.array_equal(learned.theta, samples.mean)
    assert learned.theta_names == ("variance", "length_scale")


@pytest.mark.parametrize("name", SAMPLERS)
def test_same_seed_same_draws(name, regression):
    few = {"hmc": {"n_iter": 20, "burn_in": 5}, "nuts": {"n_draws": 20, "n_tune": 30}, "importance": {"n_draws": 50}}
    sampler = replace(SAMPLERS[name], **few[name])
    first, second = (sampler(regression, np.random.default_rng(2)).samples.theta for _ in range(2))
    assert np.array_equal(first, second)


def _three_classes(n=24):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.4, 0.4])


@pytest.mark.parametrize("engine", [VB(), Laplace(), EP(tol=1e-9, max_iter=2000)], ids=["vb", "laplace", "ep"])
@pytest.mark.parametrize(
    "prior",
    [None, Normal(), {"length_scale": Relevance(ExponentialGamma()), "variance": Gamma(2.0, 0.1)}],
    ids=["flat", "normal", "mixed"],
)
def test_gradient_of_the_density(engine, prior):
    X, y = _three_classes()
    objective = objective_of(5.0 * RBF(np.array([1.0, 2.0])), MultinomialProbit(), engine, X, y, 3)
    target = Target(objective.value_and_gradient, objective.log_prior(prior), objective.theta_bounds, of_theta=True)
    theta = np.array([1.2, 0.3, 0.9])
    slopes = central_difference(lambda t: target(t)[0], theta, step=5e-3)
    assert relative_error(target(theta)[1], slopes) < 1e-5


@pytest.mark.parametrize("n_draws", [700, pytest.param(4000, marks=pytest.mark.slow)])
def test_metropolis_agrees_with_the_evidence(n_draws):
    # Binary probit, where EP's evidence is all but exact, so that the grid is the truth.
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, size=(12, 1))
    y = (np.sin(2.5 * X[:, 0]) + 0.2 * rng.normal(size=12) > 0).astype(int)
    objective = objective_of(2.0 * RBF(1.0), Probit(fixed=True), EP(), X, y)
    prior = {"variance": Normal(0.5, 1.0), "length_scale": Normal(0.0, 0.7)}
    log_prior = objective.log_prior(prior)
    mean, sd = grid_moments(lambda t: objective.fit(t).log_evidence + log_prior(t)[0], (-3.5, -3.0), (4.5, 3.0), n=25)
    gibbs = Gibbs(n_draws=n_draws, burn_in=300, thin=2, n_chains=2, random_state=0)
    sampled = replace(objective, engine=gibbs, learner=gibbs.learner)
    samples = Metropolis(prior=prior)(sampled, np.random.default_rng(0)).samples
    error = sd / np.sqrt(samples.n_effective)
    assert samples.n_effective > n_draws / 10
    assert samples.r_hat < (1.05 if n_draws > 1000 else 1.1)
    assert np.all(np.abs(samples.mean - mean) < 4.0 * error)
    assert np.all(np.abs(samples.sd / sd - 1.0) < 4.0 / np.sqrt(2.0 * samples.n_effective))


@pytest.mark.parametrize("n_draws", [600, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("idle", ["_move_given_auxiliaries", "_move_given_white"])
def test_each_metropolis_block_alone_is_right(idle, n_draws, monkeypatch):
    # Either block with the other switched off has the same target; a wrong one would show.
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, size=(10, 1))
    y = (X[:, 0] > 0).astype(int)
    objective = objective_of(1.0 * RBF(1.0, fixed=True), Probit(fixed=True), EP(), X, y)
    prior = Normal(0.0, 1.0)
    log_prior = objective.log_prior(prior)
    grid = np.linspace(-5, 5, 51)
    values = np.array([objective.fit(np.array([t])).log_evidence + log_prior(np.array([t]))[0] for t in grid])
    weights = np.exp(values - values.max())
    mean = weights @ grid / weights.sum()
    gibbs = Gibbs(n_draws=n_draws, burn_in=200, thin=4)
    sampled = replace(objective, engine=gibbs, learner=gibbs.learner)
    monkeypatch.setattr(metropolis._Chain, idle, lambda self, learning: None)
    chain = metropolis._Chain(sampled, log_prior, np.zeros(1), np.ones((1, 1)), np.random.SeedSequence(0))
    draws = chain.run(1, SILENT)[0][None]
    assert abs(draws.mean() - mean) < 4.0 * draws.std() / np.sqrt(effective_sample_size(draws))
    assert effective_sample_size(draws) > n_draws / 20


def test_proposals_integrate_to_one():
    proposal = Proposal(np.array([0.5]), np.array([[0.7]]), EVERYWHERE[:1])
    grid = np.linspace(-300, 300, 600001)[:, None]
    assert np.trapezoid(np.exp(proposal.log_density(grid)), grid[:, 0]) == pytest.approx(1.0, abs=1e-6)
    other = Proposal(np.array([-1.0]), np.array([[2.0]]), EVERYWHERE[:1])
    both = log_mixture([proposal, other], [3, 1], grid)
    assert np.trapezoid(np.exp(both), grid[:, 0]) == pytest.approx(1.0, abs=1e-5)


def test_proposals_are_cut_off_at_the_bounds():
    bounds = np.array([[0.2, 1.0]])
    proposal = Proposal(np.array([0.5]), np.array([[0.7]]), bounds)
    drawn = proposal.draw(500, np.random.default_rng(0))
    assert drawn.min() >= 0.2
    assert drawn.max() <= 1.0
    grid = np.linspace(-1, 2, 30001)[:, None]
    assert np.trapezoid(np.exp(proposal.log_density(grid)), grid[:, 0]) == pytest.approx(1.0, abs=0.02)


def test_importance_between_narrow_bounds(regression):
    kernel = 1.0 * RBF(1.0, bounds={"length_scale": (0.95, 1.05)})
    objective = replace(regression, problem=replace(regression.problem, kernel=kernel))
    samples = Importance(prior=PRIOR, n_draws=100)(objective, np.random.default_rng(0)).samples
    assert samples.n_failed == 0
    assert samples.n_effective > 30


def test_proposals_draw_what_they_say():
    # E q(theta) f(theta) by draws against the density on a grid, for a bounded f.
    proposal = Proposal(np.array([0.5]), np.array([[0.7]]), EVERYWHERE[:1])
    draws = proposal.draw(200000, np.random.default_rng(0))[:, 0]
    grid = np.linspace(-300, 300, 600001)
    expected = np.trapezoid(np.exp(proposal.log_density(grid[:, None])) * np.tanh(grid**2), grid)
    assert np.tanh(draws**2).mean() == pytest.approx(expected, abs=4e-3)


class _Normal:
    """A known density of theta, N(0, I), that integrates to one."""

    def __call__(self, theta):
        return -0.5 * theta @ theta - 0.5 * len(theta) * np.log(2.0 * np.pi), -theta


def test_adaptation_survives_a_bad_start():
    # The first proposal is off by two standard deviations in every direction, so rounds differ. Weights of all of
    # them together average to the integral, 1, up to the two per cent by which adapting to one's own draws biases them.
    first = Proposal(np.full(3, 2.0), np.eye(3), EVERYWHERE)
    integrals = []
    for seed in range(20):
        thetas, _, log_weights = adaptive_draws(_Normal(), first, 600, 5, np.random.default_rng(seed))
        integrals.append(np.exp(log_weights).mean())
    assert np.mean(integrals) == pytest.approx(1.0, abs=0.05)
    weights = np.exp(log_weights) / np.exp(log_weights).sum()
    assert np.allclose(weights @ thetas, 0.0, atol=0.2)
    assert np.allclose(weights @ thetas**2, 1.0, atol=0.3)


def test_leapfrog_keeps_the_energy(regression):
    # Energy errors of the leapfrog rule are of second order in the step: small steps are all but always accepted.
    few = HMC(prior=PRIOR, n_iter=20, burn_in=0, n_leapfrog=40, step_size=0.02)
    assert few(regression, np.random.default_rng(0)).samples.acceptance > 0.9995


def test_smoothed_weights_are_arviz():
    arviz = pytest.importorskip("arviz")
    rng = np.random.default_rng(0)
    for df in (1.5, 3.0, 30.0):
        log_weights = 1.5 * rng.standard_t(df, size=1000)
        ours, k = pareto_smoothed(log_weights)
        theirs, k_theirs = arviz.psislw(log_weights.copy())
        assert np.allclose(ours, theirs, atol=1e-9)
        assert k == pytest.approx(float(k_theirs), rel=1e-8)


def test_the_fewest_draws_have_a_tail_to_judge():
    log_weights = np.random.default_rng(0).normal(size=21)
    assert np.isfinite(pareto_smoothed(log_weights)[1])


def test_effective_number_of_weights():
    assert effective_weights(np.zeros(7)) == pytest.approx(7.0)
    assert effective_weights(np.array([0.0, -800.0])) == pytest.approx(1.0)


def test_representatives_keep_the_weights():
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(1, 400, 2))
    weights = rng.dirichlet(np.ones(400))
    samples = Samples(theta, np.zeros((1, 400)), weights)
    few, shares = samples.representatives(100, rng)
    assert shares.sum() == pytest.approx(1.0)
    assert len(few) <= 100
    assert np.all(np.abs(shares @ few - samples.mean) < 0.1)
    all_of_them, equal = Samples(theta, np.zeros((1, 400))).representatives(400, rng)
    assert len(all_of_them) == 400
    assert np.allclose(equal, 1 / 400)


def test_r_hat_sees_a_chain_apart():
    rng = np.random.default_rng(0)
    chains = rng.normal(size=(3, 200, 1))
    assert split_r_hat(chains)[0] < 1.02
    chains[0] += 1.0
    assert split_r_hat(chains)[0] > 1.1


# ---- bad news --------------------------------------------------------------------------------------------


class _Broken(Exact):
    """An engine that works at its starting point only."""

    def __call__(self, prior, *args, **kwargs):
        if abs(prior.K[0, 0] - 1.0) > 0.3:
            raise LinAlgError("the matrix is broken")
        return super().__call__(prior, *args, **kwargs)


def test_samples_that_fail_are_left_out(regression):
    objective = replace(regression, engine=_Broken(), learner=_Broken())
    samples = Importance(prior=PRIOR, n_draws=100)(objective, np.random.default_rng(0)).samples
    assert 0 < samples.n_failed < 100
    assert samples.theta.shape == (1, 100 - samples.n_failed, 2)
    assert np.all(np.isfinite(samples.log_density))
    assert samples.weights.sum() == pytest.approx(1.0)
    hmc = HMC(prior=PRIOR, n_iter=60)(objective, np.random.default_rng(0)).samples
    assert hmc.n_failed > 0
    assert np.all(np.abs(np.exp(hmc.theta[..., 0]) - 1.0) < 0.3)


def test_nothing_works_names_the_cause(regression):
    class Hopeless(Exact):
        def __call__(self, *args, **kwargs):
            raise LinAlgError("the matrix is broken")

    objective = replace(regression, engine=Hopeless(), learner=Hopeless())
    for hyper in (Importance(prior=PRIOR), HMC(prior=PRIOR), NUTS(prior=PRIOR)):
        with pytest.raises(LinAlgError, match="the matrix is broken"):
            hyper(objective, np.random.default_rng(0))


def test_scales_of_nuts_are_those_of_the_covariance_at_the_mode():
    covariance = np.array([[4.0, 1.0, np.nan], [1.0, 1e4, np.nan], [np.nan, np.nan, np.nan]])
    root = nuts._root(covariance, 3)
    shrunk = np.array([[4.0, 0.03, 0.0], [0.03, 9.0, 0.0], [0.0, 0.0, 0.25]])  # 100 became 3
    np.testing.assert_allclose(root @ root.T, shrunk, atol=1e-14)
    np.testing.assert_array_equal(nuts._root(None, 2), 0.5 * np.eye(2))


def test_an_error_in_the_density_comes_out_of_nuts(regression):
    class Buggy(Exact):
        def __call__(self, prior, *args, **kwargs):
            if abs(prior.K[0, 0] - 1.0) > 1.0:
                raise ZeroDivisionError("a bug")
            return super().__call__(prior, *args, **kwargs)

    objective = replace(regression, engine=Buggy(), learner=Buggy())
    with pytest.raises(ZeroDivisionError, match="a bug"):
        NUTS(prior=Normal(0.0, 2.0))(objective, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NUTS(n_draws=0), "NUTS: n_draws must be a whole number of at least 4, got 0"),
        (lambda: NUTS(target_accept=1.5), "target_accept must be between 0 and 1"),
        (lambda: HMC(n_iter=5, burn_in=3), "at least 4 trajectories after burn-in, got 5 - 3"),
        (lambda: HMC(n_leapfrog=2.5), "n_leapfrog must be a whole number"),
        (lambda: Importance(n_draws=40, n_rounds=10), "at least 5 draws a round, got 40 in 10"),
        (lambda: Importance(n_draws=21), "at least 5 draws a round, got 21 in 5"),
        (lambda: Importance(n_draws=20, n_rounds=1), "n_draws must be a whole number of at least 21, got 20"),
        (lambda: HMC(step_size="big"), r"step_size must be positive and finite, a number or a dictionary .* got 'big'"),
        (lambda: HMC(step_size=np.inf), "step_size must be positive and finite, .* got inf"),
        (
            lambda: HMC(step_size={"variance": None}),
            r"step_size must be positive .* got {'variance': None}",
        ),
        (lambda: Importance(prior="vague"), "prior must be 'hierarchy', a Prior, a dictionary or None, got 'vague'"),
        (lambda: NUTS(n_models=0), "n_models must be a whole number of at least 1"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_step_sizes(regression):
    for steps, message in (({"lengthscale": 0.1}, "no such parameter"), (-0.1, "step_size must be positive")):
        with pytest.raises(ValueError, match=message):
            HMC(step_size=steps)(regression, np.random.default_rng(0))


def test_missing_nutpie_is_named(regression, monkeypatch):
    monkeypatch.setitem(sys.modules, "nutpie", None)
    with pytest.raises(ImportError, match=r"pip install 'gpclass\[mcmc\]'"):
        NUTS()(regression, np.random.default_rng(0))


@pytest.mark.parametrize("name", SAMPLERS)
def test_nothing_free_means_nothing_to_sample(name, regression):
    fixed = replace(regression, problem=replace(regression.problem, kernel=regression.problem.kernel.fix()))
    learned = (
        SAMPLERS[name](fixed, np.random.default_rng(0))
        if name != "importance"
        else Importance()(fixed, np.random.default_rng(0))
    )
    assert learned.samples is None
    assert learned.theta.size == 0


def test_a_chain_respects_the_bounds():
    kernel = 1.0 * RBF(1.0, bounds={"length_scale": (0.8, 1.25)})
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 1))
    objective = objective_of(kernel, Gaussian(0.1, fixed=True), Exact(), X, X[:, 0])
    for sampler in (NUTS(n_draws=10, n_tune=20, n_chains=1), Importance(n_draws=200), HMC(n_iter=60)):
        samples = sampler(objective, np.random.default_rng(0)).samples
        kept = samples.flat[samples.flat_weights > 0]
        assert np.all((np.exp(kept[:, 1]) > 0.8 - 1e-6) & (np.exp(kept[:, 1]) < 1.25 + 1e-6))


def test_hierarchy_is_the_default_of_importance_where_there_are_length_scales():
    from gpclass.hyper.importance import HIERARCHY
    from gpclass.kernels import Linear

    X, y = np.zeros((3, 2)), np.zeros(3)
    with_scales = objective_of(2.0 * Matern(np.ones(2)), Gaussian(), Exact(), X, y)
    assert Importance().prior_for(with_scales) == {"length_scale": HIERARCHY}
    without = objective_of(Linear(), Gaussian(), Exact(), X, y)
    assert without.log_prior(Importance().prior_for(without)).parts[0][0] == Normal()
