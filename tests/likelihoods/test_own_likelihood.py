"""A user's likelihood with nothing but log_prob, in every estimator that works by quadrature."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import log_ndtr, log_softmax, ndtr

from gpclass import GPClassifier, IVMClassifier, MultiTaskIVMClassifier, SparseGPClassifier
from gpclass.hyper import Evidence, Fixed, HeldOut
from gpclass.inference import EP, Laplace
from gpclass.inference.prior import DensePrior
from gpclass.kernels import RBF
from gpclass.likelihoods import Likelihood, MultinomialProbit, Probit, Softmax, check_likelihood
from gpclass.numerics.parameters import POSITIVE
from tests.conftest import central_difference, relative_error


class Lapsing(Likelihood):
    """Of the labels 20 % are random."""

    log_concave = False

    def log_prob(self, y, f):
        return np.log(0.1 + 0.8 * ndtr((2 * y - 1) * f[:, 0]))


class WronglyConcave(Lapsing):
    log_concave = True


class ThreeClasses(Likelihood):
    log_concave = True

    def n_latent(self, n_classes):
        return n_classes

    def log_prob(self, y, f):
        return log_softmax(f, axis=1)[np.arange(len(y)), y]


class WithDerivatives(ThreeClasses):
    supports = frozenset({"derivatives", "curvature"})

    def derivatives(self, y, f):
        return Softmax().derivatives(y, f)

    def curvature(self, y, f):
        return Softmax().curvature(y, f)


@dataclass(frozen=True, eq=False, repr=False)
class Steep(Likelihood):
    """A probit with a slope to be learned."""

    slope: float = 1.0
    domains: ClassVar = {"slope": POSITIVE}
    log_concave = True

    def log_prob(self, y, f):
        return log_ndtr((2 * y - 1) * self.slope * f[:, 0])


KERNEL = 4.0 * RBF(1.0)
TASK = np.arange(30) % 2


def data(n_classes):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    scores = X @ rng.normal(size=(2, n_classes)) + 0.2 * rng.normal(size=(30, n_classes))
    return X, scores.argmax(axis=1)


@pytest.mark.parametrize("kind", [Lapsing, ThreeClasses, WithDerivatives, Steep])
def test_declarations(kind):
    check_likelihood(kind(), 2 if kind in (Lapsing, Steep) else 3)


@pytest.mark.parametrize("likelihood", [Lapsing(), ThreeClasses()], ids=lambda own: type(own).__name__)
@pytest.mark.parametrize(
    "estimator",
    [
        GPClassifier(KERNEL, hyper="fixed"),
        GPClassifier(KERNEL, hyper=HeldOut(first=Fixed(), n_active=8, tol=0.5)),
        IVMClassifier(KERNEL, n_active=12, hyper="fixed"),
        IVMClassifier(KERNEL, n_active=12, hyper=HeldOut(first=Fixed(), n_active=8, tol=0.5)),
        SparseGPClassifier(KERNEL, n_inducing=12, hyper="fixed"),
        SparseGPClassifier(KERNEL, n_inducing=12, hyper=HeldOut(first=Fixed(), n_active=8, tol=0.5)),
        MultiTaskIVMClassifier(KERNEL, n_active=20, hyper="fixed"),
    ],
    ids=lambda estimator: f"{type(estimator).__name__}-{estimator.hyper if estimator.hyper == 'fixed' else 'held_out'}",
)
def test_log_prob_is_all_it_must_have(estimator, likelihood):
    X, y = data(2 if isinstance(likelihood, Lapsing) else 3)
    named = {"task": TASK} if isinstance(estimator, MultiTaskIVMClassifier) else {}
    estimator.set_params(likelihood=likelihood)
    proba = estimator.fit(X, y, **named).predict_proba(X, **named)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert np.mean(proba.argmax(axis=1) == y) > 0.8
    assert np.isfinite(estimator.log_evidence_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_auto_takes_ep_and_learns(n_classes):
    X, y = data(n_classes)
    likelihood = Lapsing() if n_classes == 2 else ThreeClasses()
    model = GPClassifier(likelihood=likelihood, kernel=KERNEL, hyper=Evidence(tol=1e-2)).fit(X, y)
    assert model.log_evidence_ > GPClassifier(KERNEL, likelihood=likelihood, hyper="fixed").fit(X, y).log_evidence_
    assert model.score(X, y) > 0.8


def test_quadrature_over_three_latent_functions_is_close_to_the_closed_form():
    class ByQuadrature(ThreeClasses):
        def log_prob(self, y, f):
            return MultinomialProbit().log_prob(y, f)

    X, y = data(3)
    ours, theirs = (
        EP(coupling="none")(DensePrior(KERNEL(X[:12]), 3), y[:12], likelihood)
        for likelihood in (ByQuadrature(), MultinomialProbit())
    )
    assert ours.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-3)
    np.testing.assert_allclose(ours.loo[0], theirs.loo[0], atol=1e-2)


def test_covariances_between_classes_without_a_site():
    X, y = data(3)
    ours, theirs = (
        GPClassifier(KERNEL, likelihood=likelihood, hyper="fixed").fit(X, y)
        for likelihood in (WithDerivatives(), Softmax())
    )
    assert isinstance(ours._objective.engine, Laplace)
    np.testing.assert_allclose(ours.calibration_, theirs.calibration_, rtol=0.05)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=5e-3)


def objective_and_slopes(model, theta):
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood(theta), rel=1e-12)
    return gradient, central_difference(model.log_marginal_likelihood, theta, 1e-2)


@pytest.mark.parametrize("inference", ["ep", EP(tol=1e-8)], ids=["ep", "tight"])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (1.5, -0.4)])
def test_gradient_of_ep_without_log_concavity(inference, shift):
    model = GPClassifier(RBF(1.0) * 4.0, likelihood=Lapsing(), inference=inference, hyper="fixed").fit(*data(2))
    gradient, expected = objective_and_slopes(model, model.kernel_.theta + shift)
    assert relative_error(gradient, expected) < (1e-3 if inference == "ep" else 1e-6)


def test_gradient_of_sparse_ep_without_log_concavity():
    model = SparseGPClassifier(KERNEL, likelihood=Lapsing(), n_inducing=15, hyper="fixed").fit(*data(2))
    assert relative_error(*objective_and_slopes(model, model.kernel_.theta)) < 1e-4


def test_gradient_in_a_parameter_without_closed_form():
    rng = np.random.default_rng(0)
    y, mean, var = rng.integers(2, size=7), rng.normal(size=(7, 1)), rng.gamma(2.0, 1.0, size=(7, 1))
    # Phi(s f) under N(m, v) is the probit with variance 1 / s^2, and theta is log s.
    for slope in (0.7, 1e5):  # inside, and at the upper bound
        exact = -2.0 * Probit(variance=slope**-2, fixed="bias", bounds={"variance": (1e-12, 1e5)}).tilted_gradient(
            y, mean, var
        )
        np.testing.assert_allclose(Steep(slope).tilted_gradient(y, mean, var), exact, rtol=1e-7, atol=1e-9)
    model = GPClassifier(RBF(1.0), likelihood=Steep(), inference=EP(tol=1e-8), hyper="fixed").fit(*data(2))
    assert model.hyper_.theta.shape == (2,)
    assert relative_error(*objective_and_slopes(model, model.hyper_.theta + np.array([0.3, 0.5]))) < 1e-6


@pytest.mark.parametrize("estimator", [GPClassifier, IVMClassifier, SparseGPClassifier, MultiTaskIVMClassifier])
def test_a_wrong_declaration_is_refused_at_fit(estimator):
    with pytest.raises(ValueError, match="WronglyConcave declares log_concave = True, but log p"):
        estimator(KERNEL, likelihood=WronglyConcave()).fit(*data(2))
