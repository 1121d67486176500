"""One suite for every likelihood: declarations, closed forms against quadrature, probabilities."""

import pickle

import numpy as np
import pytest

from gpclass import likelihoods
from gpclass.likelihoods import (
    Gaussian,
    Likelihood,
    Logit,
    MultinomialProbit,
    NullCategory,
    OrderedProbit,
    Probit,
    SoftLabels,
    Softmax,
    Weighted,
    check_likelihood,
    check_log_concave,
)
from gpclass.likelihoods.base import CAPABILITIES
from gpclass.numerics.arrays import to_host
from gpclass.numerics.devices import Place
from tests.inference.namespaces import NAMESPACES, moved

N = 7
WEIGHTS = np.array([0.5, 2.0, 1.0, 3.0, 0.1, 1.5, 4.0])
PROBA = np.random.default_rng(0).dirichlet(np.ones(3), size=N)
#: Every likelihood, and a number of classes for it.
LIKELIHOODS = {
    "gaussian": (Gaussian(0.7, 0.3, fixed=()), 2),
    "probit": (Probit(0.4, 1.7, fixed=()), 2),
    "logit": (Logit(), 2),
    "ordered": (OrderedProbit([0.8, 1.5], -0.6, 0.5, fixed=()), 4),
    "ordered_two": (OrderedProbit([], 0.2), 2),
    "null_category": (NullCategory(0.7, 0.4, 0.3, 0.2, fixed=()), 2),
    "multinomial_probit_2": (MultinomialProbit(), 2),
    "multinomial_probit_4": (MultinomialProbit(), 4),
    "noisy_probit": (Probit(label_noise=0.1, fixed=("bias", "variance")), 2),
    "noisy_multinomial_probit": (MultinomialProbit(label_noise=0.05, fixed=()), 3),
    "softmax_2": (Softmax(), 2),
    "softmax_3": (Softmax(), 3),
    "softmax_4": (Softmax(), 4),
    "weighted_probit": (Weighted(base=Probit(0.4, 1.7), weights=WEIGHTS), 2),
    "weighted_noisy": (Weighted(base=MultinomialProbit(label_noise=0.05, fixed=()), weights=WEIGHTS), 3),
    "soft_logit": (SoftLabels(base=Logit(), proba=PROBA[:, :2] / PROBA[:, :2].sum(axis=1, keepdims=True)), 2),
    "soft_probit": (SoftLabels(base=MultinomialProbit(), proba=PROBA), 3),
    "weighted_soft": (Weighted(base=SoftLabels(base=Softmax(), proba=PROBA), weights=WEIGHTS), 3),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_declarations(name):
    check_likelihood(*LIKELIHOODS[name])


def test_every_public_likelihood_is_in_the_list():
    public = {getattr(likelihoods, name) for name in likelihoods.__all__}
    classes = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Likelihood)}
    bases = {Likelihood, likelihoods.NoisyLabels}
    assert classes - bases == {type(likelihood) for likelihood, _ in LIKELIHOODS.values()}


def test_what_depends_on_the_instance():
    assert "site" in MultinomialProbit().supports
    assert "noise_slopes" not in MultinomialProbit().supports
    noisy = MultinomialProbit(label_noise=0.1)
    assert "site" not in noisy.supports
    assert "noise_slopes" in noisy.supports
    assert "noise_slopes" in Weighted(base=noisy, weights=WEIGHTS).supports
    assert not {"site", "tilted_gradient"} & Weighted(base=Softmax(), weights=WEIGHTS).supports
    for kind in (Probit, MultinomialProbit):
        assert kind().log_concave
        assert not kind(label_noise=0.1).log_concave


@pytest.fixture(params=[name for name, (kind, _) in LIKELIHOODS.items() if kind.predictive is kind], scope="module")
def case(request):
    likelihood, n_classes = LIKELIHOODS[request.param]
    C = likelihood.n_latent(n_classes)
    rng = np.random.default_rng(len(request.param))
    f = 1.5 * rng.normal(size=(N, C))
    var = rng.gamma(2.0, 0.4, size=(N, C))
    y = rng.normal(size=N) if request.param == "gaussian" else rng.choice(likelihood.labels(C), size=N)
    return likelihood, y, f, var


def test_closed_forms_agree_with_quadrature(case):
    likelihood, y, mean, var = case
    if mean.shape[1] > 2:
        pytest.skip("quadrature over more than two latent functions is too coarse")
    for ours, rule in zip(likelihood.tilted(y, mean, var), Likelihood.tilted(likelihood, y, mean, var), strict=True):
        np.testing.assert_allclose(ours, rule, rtol=2e-5, atol=2e-6)
    expected = Likelihood.expected_log_prob(likelihood, y, mean, var)
    np.testing.assert_allclose(likelihood.expected_log_prob(y, mean, var), expected, rtol=1e-6)


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


@pytest.mark.parametrize("name", NAMESPACES)
def test_methods_that_run_on_devices_give_the_same_numbers_there(case, name):
    likelihood, y, f, var = case
    assert likelihood.on_devices <= {"derivatives", "curvature", "tilted", "site"}
    for method in sorted(likelihood.on_devices):
        given = (f, var) if method == "tilted" else (f,)
        expected = likelihood.evaluate(method, y, *given)
        there = [moved(part, name) for part in given]
        found = likelihood.evaluate(method, y, *there)
        if method == "curvature":
            assert Place.of(found[0]) == Place.of(there[0])
            expected, found = (expected[0], expected[1](f)), (found[0], found[1](there[0]))
        for one, other in zip(found, expected, strict=True):
            assert Place.of(one) == Place.of(there[0])
            np.testing.assert_allclose(to_host(one), other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["noisy_probit", "noisy_multinomial_probit"])
def test_curvature_with_label_noise_is_that_of_the_right_label_times_its_probability(name):
    likelihood, n_classes = LIKELIHOODS[name]
    C = likelihood.n_latent(n_classes)
    rng = np.random.default_rng(0)
    y, f = rng.integers(likelihood.n_outcomes(C), size=N), 1.5 * rng.normal(size=(N, C))
    d, _ = likelihood.curvature(y, f)
    clean = likelihood.without_label_noise()
    slope, _ = likelihood._levels(C)
    right = slope * np.exp(clean.log_prob(y, f) - likelihood.log_prob(y, f))
    diagonal = d if C == 1 else d - d**2 / d.sum(axis=1, keepdims=True)
    expected = -right[:, None] * np.einsum("ncc->nc", clean.derivatives(y, f)[2])
    np.testing.assert_allclose(diagonal, expected, rtol=1e-5, atol=1e-7)


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


# ---- likelihoods of users ---------------------------------------------------------------------------------


def define(**body):
    return type("Mine", (Likelihood,), {"log_prob": lambda self, y, f: Logit().log_prob(y, f), **body})


def test_log_prob_and_log_concave_are_all_that_a_likelihood_must_have():
    mine = define(log_concave=True)()
    check_likelihood(mine, 2)
    rng = np.random.default_rng(0)
    y, mean, var = rng.integers(2, size=N), 2.0 * rng.normal(size=(N, 1)), rng.gamma(2.0, 20.0, size=(N, 1))
    for ours, exact in zip(mine.tilted(y, mean, var), Logit().tilted(y, mean, var), strict=True):
        np.testing.assert_allclose(ours, exact, rtol=1e-12)
    np.testing.assert_allclose(mine.predict(mean, var), Logit().predict(mean, var), rtol=1e-12)
    np.testing.assert_allclose(mine.expected_log_prob(y, mean, var), Logit().expected_log_prob(y, mean, var))
    assert mine.tilted_gradient(y, mean, var).shape == (0,)


@pytest.mark.parametrize("name", sorted(CAPABILITIES - {"tilted_gradient"}))
def test_methods_that_are_not_declared_say_so(name):
    likelihood, f = define(log_concave=True)(), np.zeros((1, 1))
    with pytest.raises(NotImplementedError, match=rf"Mine has no {name}; it supports \[\]"):
        getattr(likelihood, name)(np.array([0]), f, *([f[:, :, None]] if name == "site" else []))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Mine must declare .* write log_concave = True or log_concave = False"),
        ({"log_concave": True, "supports": {"site"}}, r"declares supports = \['site'\] but defines \[\]"),
        ({"log_concave": True, "site": Softmax.site}, r"write supports = frozenset\(\['site'\]\)"),
        ({"log_concave": True, "supports": {"tilted"}}, "must be a set of names out of"),
        ({"log_concave": True, "supports": "site"}, "must be a set of names out of"),
    ],
)
def test_a_class_whose_declarations_do_not_fit_is_refused(body, message):
    with pytest.raises(TypeError, match=message):
        define(**body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"supports": property(lambda self: {"site"})}, "supports names 'site', but the method is not implemented"),
        ({"supports": property(lambda self: {"tilted"})}, r"supports names \['tilted'\]"),
        ({"supports": property(lambda self: set()), "derivatives": Logit.derivatives}, "name it in supports"),
        (
            {"supports": {"derivatives"}, "derivatives": lambda self, y, f: Probit().derivatives(y, f)},
            "log p of derivatives has a relative error",
        ),
        (
            {"supports": {"curvature"}, "curvature": lambda self, y, f: Probit().curvature(y, f)},
            "the diagonal of curvature",
        ),
        ({"supports": {"augment"}, "augment": lambda self, y, f: f}, "augment less"),
        ({"tilted": lambda self, *args: Probit().tilted(*args)}, "log Z of tilted"),
        ({"log_prob": lambda self, y, f: f}, r"log_prob should give finite numbers of shape \(12,\)"),
        ({"log_concave": False}, "log_concave is False, but"),
    ],
)
def test_check_finds_what_is_wrong(body, message):
    with pytest.raises(ValueError, match=message):
        check_likelihood(define(**{"log_concave": True, **body})(), 2)


@pytest.mark.parametrize("floor", [0.1, 1e-3])
@pytest.mark.parametrize(("base", "n_classes"), [(Probit(), 2), (Softmax(), 3), (Softmax(), 6)])
def test_log_concave_is_checked(base, n_classes, floor):
    settings = {
        "log_prob": lambda self, y, f: np.log(floor + (1.0 - 2.0 * floor) * np.exp(base.log_prob(y, f))),
        "n_latent": lambda self, n: base.n_latent(n),
    }
    check_log_concave(define(log_concave=False, **settings)(), n_classes)
    with pytest.raises(ValueError, match=r"Mine declares log_concave = True, but .* write log_concave = False"):
        check_log_concave(define(log_concave=True, **settings)(), n_classes)
    check_log_concave(base, n_classes)
