"""The cone integrals against plain quadrature, arbitrary precision, closed forms and brute force."""

import mpmath
import numpy as np
import pytest

from gpclass.inference import VB, DensePrior
from gpclass.likelihoods import MultinomialProbit, Probit
from gpclass.numerics import nested_ep as orthant
from gpclass.numerics import probit_moments as cone
from gpclass.numerics import probit_sampling as cone_draws
from gpclass.numerics.product_form import product_form
from gpclass.numerics.special import hazard, log_Phi
from tests.conftest import central_difference, relative_error
from tests.numerics import plain_probit_moments as cone_numpy


def _cases(n_classes, gap, kind, seed):
    rng = np.random.default_rng([n_classes, gap, seed])
    mean = rng.uniform(-0.5, 0.5, n_classes) * gap
    if seed == 1:
        mean = np.where(rng.random(n_classes) < 0.5, float(gap), 0.0)
    variance = {
        "none": np.zeros(n_classes),
        "equal": np.full(n_classes, 10.0 ** rng.uniform(-2, 4)),
        "unequal": 10.0 ** rng.uniform(-2, 4, n_classes),
    }[kind]
    return mean, variance, int(rng.integers(n_classes))


@pytest.mark.parametrize("kind", ["none", "equal", "unequal"])
@pytest.mark.parametrize("gap", [0, 1, 8, 30])
@pytest.mark.parametrize("n_classes", [2, 3, 5, 10, 26, 100])
def test_moments_agree_with_dense_quadrature(n_classes, gap, kind):
    for seed in range(2):
        mean, variance, label = _cases(n_classes, gap, kind, seed)
        expected = cone_numpy.derivatives(label, mean, variance)
        actual = cone.derivatives(np.array([label]), mean[None], variance[None])
        assert abs(np.expm1(actual[0][0] - expected[0])) < 1e-10
        assert relative_error(actual[1][0], expected[1]) < 1e-9
        assert relative_error(actual[2][0], expected[2]) < 1e-8


@pytest.mark.parametrize("gap", [-30.0, -5.0, 0.0, 2.0, 8.0, 30.0])
@pytest.mark.parametrize("variances", [(0.0, 0.0), (1e4, 0.0), (0.0, 1e4), (3.0, 100.0)])
def test_two_classes_have_a_closed_form(gap, variances):
    scale = np.sqrt(2.0 + sum(variances))
    z = gap / scale
    log_z, gradient, hessian = cone.derivatives(np.array([0]), np.array([[gap, 0.0]]), np.array([variances]))
    h = hazard(z)
    np.testing.assert_allclose(log_z, log_Phi(z), rtol=1e-8)
    np.testing.assert_allclose(gradient[0], np.array([1.0, -1.0]) * h / scale, rtol=1e-8)
    curvature = h * (z + h) / scale**2
    np.testing.assert_allclose(hessian[0], -curvature * np.array([[1, -1], [-1, 1]]), rtol=1e-8)


@pytest.mark.parametrize(
    ("n_classes", "gap", "own_variance"), [(3, 30.0, 10.0), (30, 28.0, 8.0), (100, 28.46, 8.0), (5, 12.0, 2.0)]
)
def test_certain_labels_with_a_large_variance_of_their_own(n_classes, gap, own_variance):
    # 1 - Z and the derivatives are tiny here and come from far left of the mass of the integrand.
    mean, variance = np.zeros(n_classes), np.zeros(n_classes)
    mean[0], variance[0] = gap, own_variance
    expected = cone_numpy.derivatives(0, mean, variance, panels=4000)
    actual = cone.derivatives(np.array([0]), mean[None], variance[None])
    assert relative_error(actual[1][0], expected[1]) < 1e-8
    assert relative_error(actual[2][0], expected[2]) < 1e-8
    mpmath.mp.dps = 40
    t = mpmath.sqrt(1 + own_variance)

    def integrand(u):
        return mpmath.npdf(u) * (1 - mpmath.ncdf(u * t + gap) ** (n_classes - 1))

    complement = mpmath.quad(integrand, [-30, -20, -15, -12, -10, -8, -6, -5, -4, -3, -2, 0, 5, 30])
    assert actual[0][0] == pytest.approx(float(mpmath.log(1 - complement)), rel=1e-8)


def test_means_beyond_resolution_are_refused():
    with pytest.raises(ValueError, match=r"latent means up to 1e\+07 in size, got 1e\+09"):
        cone.log_z(np.array([0]), np.array([[0.0, 1e9]]))


@pytest.mark.parametrize(
    ("mean", "variance"),
    [
        ([0.0, -30.0, 2.0], [0.0, 0.0, 0.0]),
        ([-12.0, 3.0, 3.5, 1.0], [1e4, 0.1, 2.0, 0.01]),
        ([9.0, -4.0, 1.0], [0.3, 1e4, 50.0]),
    ],
)
def test_log_z_agrees_with_arbitrary_precision(mean, variance):
    mpmath.mp.dps = 40
    t = [mpmath.sqrt(1 + v) for v in variance]

    def integrand(u):
        value = mpmath.npdf(u)
        for j in range(1, len(mean)):
            value *= mpmath.ncdf((u * t[0] + mean[0] - mean[j]) / t[j])
        return value

    breaks = [-30, -10, -4, -2, -1, -0.5, -0.2, -0.1, 0, 0.1, 0.2, 0.5, 1, 2, 4, 8, 12, 16, 22, 30, 45]
    expected = float(mpmath.log(mpmath.quad(integrand, breaks)))
    actual = cone.log_z(np.array([0]), np.array([mean]), np.array([variance]))[0]
    assert actual == pytest.approx(expected, rel=1e-10)


def test_probabilities_sum_to_one_and_agree_with_sampling():
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(3, 4)), rng.gamma(1.0, 2.0, size=(3, 4))
    proba = np.exp(cone.log_proba(mean, variance))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-11)
    draws = mean + np.sqrt(1.0 + variance) * rng.standard_normal((400_000, 3, 4))
    frequency = np.stack([(draws.argmax(-1) == k).mean(0) for k in range(4)], axis=1)
    assert np.max(np.abs(frequency - proba)) < 4 * 0.5 / np.sqrt(400_000)


def test_log_proba_is_log_z_of_every_label():
    rng = np.random.default_rng(1)
    mean, variance = 4.0 * rng.normal(size=(5, 6)), rng.gamma(1.0, 9.0, size=(5, 6))
    together = cone.log_proba(mean, variance)
    for k in range(6):
        np.testing.assert_allclose(together[:, k], cone.log_z(np.full(5, k), mean, variance), rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_derivatives_agree_with_differences(n_classes):
    rng = np.random.default_rng(n_classes)
    labels = rng.integers(n_classes, size=8)
    mean, variance = 2.0 * rng.normal(size=(8, n_classes)), rng.gamma(1.0, 2.0, size=(8, n_classes))
    _, gradient, hessian = cone.derivatives(labels, mean, variance)

    def shifted(k, order):
        def function(step):
            max_step = mean.copy()
            max_step[:, k] += step
            return cone.log_z(labels, max_step, variance) if order == 1 else cone.tilted(labels, max_step, variance)[1]

        return central_difference(function, np.zeros(()))

    for k in range(n_classes):
        assert relative_error(shifted(k, 1), gradient[:, k]) < 1e-8
        assert relative_error(shifted(k, 2), hessian[:, k]) < 1e-8
    np.testing.assert_allclose(cone.tilted(labels, mean, variance)[2], np.einsum("nkk->nk", hessian), rtol=1e-12)


def test_identities_of_the_unit_variance_case():
    rng = np.random.default_rng(3)
    labels, mean = rng.integers(5, size=40), 3.0 * rng.normal(size=(40, 5))
    _, gradient, hessian = cone.derivatives(labels, mean)
    np.testing.assert_allclose(gradient.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(hessian.sum(axis=1), 0.0, atol=1e-12)
    eigenvalues = np.linalg.eigvalsh(-hessian)
    assert eigenvalues.min() > -1e-10
    assert eigenvalues.max() < 1.0
    # W is a graph Laplacian: no positive entry off the diagonal.
    off = -hessian[:, ~np.eye(5, dtype=bool)]
    assert off.max() <= 1e-12


def test_paper_form_of_the_auxiliary_means():
    # GR06 eq 4.3 by brute force: cone-truncated draws.
    rng = np.random.default_rng(4)
    mean = np.array([0.3, -0.4, 0.8])
    draws = mean + rng.standard_normal((2_000_000, 3))
    kept = draws[draws.argmax(1) == 1]
    expected = mean + cone.tilted(np.array([1]), mean[None])[1][0]
    assert np.max(np.abs(kept.mean(0) - expected)) < 5.0 / np.sqrt(len(kept))


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_curvature_pullback_agrees_with_differences(n_classes):
    rng = np.random.default_rng(n_classes)
    labels, mean = rng.integers(n_classes, size=6), 2.0 * rng.normal(size=(6, n_classes))
    cotangent = rng.normal(size=mean.shape)
    actual = cone.curvature_pullback(labels, mean, cotangent)
    for k in range(n_classes):

        def weighted(step, k=k):
            max_step = mean.copy()
            max_step[:, k] += step
            return -np.sum(cotangent * cone.tilted(labels, max_step)[2], axis=1)

        assert relative_error(actual[:, k], central_difference(weighted, np.zeros(()))) < 1e-7


def test_rows_do_not_depend_on_how_they_are_shared_out():
    rng = np.random.default_rng(5)
    labels, mean = rng.integers(4, size=3000), rng.normal(size=(3000, 4))
    together = cone.derivatives(labels, mean)
    alone = cone.derivatives(labels[1234:1235], mean[1234:1235])
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_array_equal(a[1234], b[0])


class TestProductForm:
    def test_exact_for_three_classes(self):
        rng = np.random.default_rng(0)
        labels, mean = rng.integers(3, size=200), 3.0 * rng.normal(size=(200, 3))
        W = -cone.derivatives(labels, mean)[2]
        d, _ = product_form(np.einsum("nkk->nk", W))
        rebuilt = np.einsum("nk,kl->nkl", d, np.eye(3)) - d[:, :, None] * d[:, None, :] / d.sum(1)[:, None, None]
        error = np.abs(rebuilt - W).max(axis=(1, 2)) / np.abs(W).max(axis=(1, 2))
        # A star-shaped row is cut off at one part in ten thousand.
        assert error.max() < 2e-4
        assert np.median(error) < 1e-7

    @pytest.mark.parametrize("n_classes", [2, 4, 10])
    def test_keeps_the_diagonal(self, n_classes):
        rng = np.random.default_rng(n_classes)
        labels, mean = rng.integers(n_classes, size=200), 2.0 * rng.normal(size=(200, n_classes))
        w = -cone.tilted(labels, mean)[2]
        d, _ = product_form(w)
        assert np.all(d > 0)
        assert np.max(np.abs(d - d**2 / d.sum(1, keepdims=True) - w) / w.max(1, keepdims=True)) < 2e-4

    @pytest.mark.parametrize("n_classes", [2, 3, 6])
    def test_pullback_agrees_with_differences(self, n_classes):
        rng = np.random.default_rng(n_classes)
        labels, mean = rng.integers(n_classes, size=5), rng.normal(size=(5, n_classes))
        c = rng.normal(size=mean.shape)
        if n_classes == 2:
            c[:, 1] = c[:, 0]

        def total(m):
            return np.sum(c * np.log(product_form(-cone.tilted(labels, m)[2])[0]))

        _, pull = product_form(-cone.tilted(labels, mean)[2])
        actual = cone.curvature_pullback(labels, mean, pull(c))
        assert relative_error(actual, central_difference(total, mean)) < 1e-6

    def test_no_curvature_at_all_gives_finite_numbers(self):
        d, pull = product_form(np.array([[0.0, 0.0, 0.0], [1e-30, 0.0, 1e-30], [0.2, 1e-40, 0.2]]))
        assert np.all(np.isfinite(d))
        assert np.all(np.isfinite(pull(np.ones((3, 3)))))


@pytest.mark.parametrize("labels", [[0, 1, 3], [-1, 0, 1]])
def test_labels_that_are_no_class_are_refused(labels):
    labels, means = np.array(labels), np.zeros((3, 3))
    for ask in (
        lambda: cone.log_z(labels, means),
        lambda: cone.curvature_pullback(labels, means, means),
        lambda: orthant.site(labels, means, np.tile(np.eye(3), (3, 1, 1))),
        lambda: cone_draws.start(labels, means, np.random.default_rng(0)),
        lambda: VB()(DensePrior(np.eye(3), 3), labels, MultinomialProbit()),
    ):
        with pytest.raises(ValueError, match=f"expected labels from 0 to 2, got labels from {min(labels)} to"):
            ask()
    with pytest.raises(ValueError, match="expected labels from 0 to 1"):
        VB()(DensePrior(np.eye(3), 1), labels, Probit())
