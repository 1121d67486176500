"""One suite for every likelihood: derivatives, closed forms against quadrature, probabilities."""

import pickle

import numpy as np
import pytest

from gpclass.likelihoods import (
    Gaussian,
    Likelihood,
    Logit,
    MultinomialProbit,
    NullCategory,
    OrderedProbit,
    Probit,
    Softmax,
)
from tests.conftest import central_difference, relative_error

N = 7
LIKELIHOODS = {
    "gaussian": (Gaussian(0.7, 0.3, fixed=()), 1),
    "probit": (Probit(0.4, 1.7, fixed=()), 1),
    "logit": (Logit(), 1),
    "ordered": (OrderedProbit([0.8, 1.5], -0.6, 0.5, fixed=()), 1),
    "ordered_two": (OrderedProbit([], 0.2), 1),
    "null_category": (NullCategory(0.7, 0.4, 0.3, 0.2, fixed=()), 1),
    "multinomial_probit_2": (MultinomialProbit(), 2),
    "multinomial_probit_4": (MultinomialProbit(), 4),
    "noisy_probit": (Probit(label_noise=0.1, fixed=("bias", "variance")), 1),
    "noisy_multinomial_probit": (MultinomialProbit(label_noise=0.05, fixed=()), 3),
    "softmax_2": (Softmax(), 2),
    "softmax_3": (Softmax(), 3),
}


@pytest.fixture(params=LIKELIHOODS, scope="module")
def case(request):
    likelihood, C = LIKELIHOODS[request.param]
    rng = np.random.default_rng(len(request.param))
    f = 1.5 * rng.normal(size=(N, C))
    var = rng.gamma(2.0, 0.4, size=(N, C))
    low = -1 if isinstance(likelihood, NullCategory) else 0  # no label
    y = rng.normal(size=N) if request.param == "gaussian" else rng.integers(low, likelihood.n_outcomes(C), size=N)
    return likelihood, y, f, var


def test_derivatives(case):
    likelihood, y, f, _ = case
    if not likelihood.provides("derivatives"):
        pytest.skip(f"{type(likelihood).__name__} has no derivatives in f")
    log_prob, gradient, hessian = likelihood.derivatives(y, f)
    np.testing.assert_allclose(log_prob, likelihood.log_prob(y, f), rtol=1e-10)
    assert gradient.shape == f.shape
    assert hessian.shape == (*f.shape, f.shape[1])
    numeric = central_difference(lambda x: likelihood.log_prob(y, x).sum(), f)
    assert relative_error(gradient, numeric) < 1e-8
    for c in range(f.shape[1]):

        def shifted(step, c=c):
            max_step = f.copy()
            max_step[:, c] += step
            return likelihood.derivatives(y, max_step)[1]

        assert relative_error(hessian[:, c], central_difference(shifted, np.zeros(()))) < 1e-8


def by_column(function, x, step):
    """Slopes (n, C) of a function that gives a value (n,) for each row of x by itself: all rows move at once."""
    columns = np.eye(x.shape[1])
    return np.stack(
        [central_difference(lambda t, e=e: function(x + t * e), np.zeros(()), step) for e in columns], axis=1
    )


def test_tilted_derivatives(case):
    likelihood, y, mean, var = case
    log_z, first, second = likelihood.tilted(y, mean, var)
    assert log_z.shape == (N,)
    numeric = by_column(lambda m: likelihood.tilted(y, m, var)[0], mean, 2e-3)
    assert relative_error(first, numeric) < (1e-6 if mean.shape[1] < 3 else 1e-5)
    if mean.shape[1] == 1:
        curvature = by_column(lambda m: likelihood.tilted(y, m, var)[1][:, 0], mean, 2e-3)
        assert relative_error(second, curvature) < 1e-6
    # The heat equation selection_rng both to the variance: dlogZ/dv = (second + first^2) / 2.
    by_variance = by_column(lambda v: likelihood.tilted(y, mean, v)[0], var, 1e-3)
    assert relative_error(0.5 * (second + first**2), by_variance) < 1e-5


def test_closed_forms_agree_with_quadrature(case):
    likelihood, y, mean, var = case
    if mean.shape[1] > 2:
        pytest.skip("the default rule is too coarse a judge in more than two dimensions")
    for ours, rule in zip(likelihood.tilted(y, mean, var), Likelihood.tilted(likelihood, y, mean, var), strict=True):
        np.testing.assert_allclose(ours, rule, rtol=2e-5, atol=2e-6)
    expected = Likelihood.expected_log_prob(likelihood, y, mean, var)
    np.testing.assert_allclose(likelihood.expected_log_prob(y, mean, var), expected, rtol=1e-6)


def test_gradient_in_the_likelihoods_own_parameters(case):
    likelihood, y, mean, var = case
    gradient = likelihood.tilted_gradient(y, mean, var)
    assert gradient.shape == likelihood.theta.shape
    if gradient.size:
        numeric = central_difference(lambda t: likelihood.with_theta(t).tilted(y, mean, var)[0].sum(), likelihood.theta)
        assert relative_error(gradient, numeric) < 1e-8


def test_probabilities_are_probabilities(case):
    likelihood, _, mean, var = case
    if isinstance(likelihood, Gaussian):
        predicted = likelihood.predict(mean, var)
        np.testing.assert_allclose(predicted, np.column_stack([mean[:, 0] + 0.3, var[:, 0] + 0.7]))
        return
    proba = likelihood.predict(mean, var)
    assert proba.shape == (N, likelihood.n_outcomes(mean.shape[1]))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    # No latent uncertainty: the likelihood itself.
    sure = likelihood.predict(mean, np.full_like(var, 1e-12))
    for k in range(proba.shape[1]):
        expected = np.exp(likelihood.log_prob(np.full(N, k), mean))
        if isinstance(likelihood, NullCategory):  # of labels that are there, and on one of the two sides
            present = [np.exp(likelihood.log_prob(np.full(N, j), mean)) / share for j, share in ((0, 0.6), (1, 0.3))]
            expected = present[k] / sum(present)
        np.testing.assert_allclose(sure[:, k], expected, rtol=1e-5)


def test_curvature_pullback(case):
    likelihood, y, f, _ = case
    if not likelihood.provides("curvature"):
        pytest.skip(f"{type(likelihood).__name__} has no curvature")
    d, pullback = likelihood.curvature(y, f)
    W = np.einsum("nc,cd->ncd", d, np.eye(f.shape[1]))
    if f.shape[1] > 1:
        W -= d[:, :, None] * d[:, None, :] / d.sum(axis=1)[:, None, None]
    if likelihood.log_concave:
        diagonal = -np.einsum("ncc->nc", likelihood.derivatives(y, f)[2])
    else:
        # A noisy label counts as far as it is believed.
        clean = likelihood.with_params(label_noise=0.0)
        slope, _ = likelihood._levels(f.shape[1])
        believed = slope * np.exp(clean.log_prob(y, f) - likelihood.log_prob(y, f))
        diagonal = -believed[:, None] * np.einsum("ncc->nc", clean.derivatives(y, f)[2])
    np.testing.assert_allclose(np.einsum("ncc->nc", W), diagonal, rtol=1e-5, atol=1e-7)
    c = np.ones_like(f) if f.shape[1] == 2 else np.random.default_rng(0).normal(size=f.shape)
    numeric = central_difference(lambda x: np.sum(c * np.log(likelihood.curvature(y, x)[0])), f)
    assert relative_error(pullback(c), numeric) < 1e-6


def test_augment_is_the_mean_of_the_noisy_latent_value(case):
    likelihood, y, f, _ = case
    if not likelihood.provides("augment"):
        pytest.skip(f"{type(likelihood).__name__} has no auxiliaries")
    noise, bias = getattr(likelihood, "variance", 1.0), getattr(likelihood, "bias", 0.0)
    expected = f + bias + noise * likelihood.derivatives(y, f)[1]
    np.testing.assert_allclose(likelihood.augment(y, f), expected, rtol=1e-10)


def test_pickle_and_theta_round_trip(case):
    likelihood = case[0]
    assert pickle.loads(pickle.dumps(likelihood)) == likelihood
    np.testing.assert_allclose(likelihood.with_theta(likelihood.theta).theta, likelihood.theta)


def test_far_tails_keep_their_digits():
    far = np.array([[-1e4], [1e4], [-40.0], [40.0]])
    for likelihood in (Probit(), Logit(), OrderedProbit([1.0])):
        for label in range(likelihood.n_outcomes(1)):
            log_prob, gradient, hessian = likelihood.derivatives(np.full(4, label), far)
            assert np.all(np.isfinite(log_prob))
            assert np.all(np.isfinite(gradient))
            if not isinstance(likelihood, Logit):
                # Far on the wrong side the curvature is that of the noise, on the right side there is none.
                assert np.all((hessian > -1.0001) & (hessian <= 0.0))
                assert hessian[0 if label else 1, 0, 0] == pytest.approx(-1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("mean", "var"), [(3.0, 1e4), (-300.0, 1e4), (40.0, 900.0), (2.0, 0.01), (2.0, 1e-6), (-30.0, 4.0)]
)
def test_logit_moments_at_any_variance(mean, var):
    import mpmath

    mpmath.mp.dps = 30
    scale = mpmath.sqrt(var)
    breaks = sorted(
        {0.0, -40.0, -5.0, 5.0, 40.0, *(mean + float(scale) * k for k in (-12, -6, -3, -1, 0, 1, 3, 6, 12))}
    )
    # 13, so that rounding does not drop the outermost break and with it a tail of 1e-9.
    breaks = [b for b in breaks if min(mean, 0.0) - 13 * scale <= b <= max(mean, 0.0) + 13 * scale]
    exact = mpmath.quad(lambda f: mpmath.npdf(f, mean, scale) / (1 + mpmath.exp(-f)), breaks)
    log_z = Logit().tilted(np.array([1]), np.array([[mean]]), np.array([[var]]))[0][0]
    assert log_z == pytest.approx(float(mpmath.log(exact)), rel=1e-10)


def test_ordered_probit_from_cut_points():
    likelihood = OrderedProbit.from_cut_points([-1.0, 0.5, 2.0])
    np.testing.assert_allclose(likelihood.cut_points, [-1.0, 0.5, 2.0])
    with pytest.raises(ValueError, match="increasing"):
        OrderedProbit.from_cut_points([1.0, 0.5])
    with pytest.raises(ValueError, match=r"categories 0 ... 3, got \[4\]"):
        likelihood.log_prob(np.array([4]), np.zeros((1, 1)))
