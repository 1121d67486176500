"""The likelihood contract.

Shapes: y is (n,), latent values f are (n, C), Gaussian beliefs about them have means and variances (n, C), independent
between latent functions. C = 1 for binary, ordered and Gaussian targets, C = number of classes otherwise. Class labels
are whole numbers 0 ... K-1 here; estimators translate.

``log_prob`` is required. ``tilted``, ``expected_log_prob`` and ``predict`` have quadrature defaults that closed forms
override; ``derivatives``, ``curvature`` and ``augment`` exist where the mathematics gives them, and an engine that
needs one of them says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from ..numerics.compiled import as_places
from ..numerics.parameters import Parameterised
from ..numerics.special import gaussian_rule


@dataclass(frozen=True, eq=False, repr=False)
class Likelihood(Parameterised):
    """Base of all likelihoods."""

    def n_latent(self, n_classes: int) -> int:
        """Number C of latent functions."""
        return 1

    def n_outcomes(self, n_latent: int) -> int:
        """Number of class labels that ``predict`` gives probabilities for."""
        return 2 if n_latent == 1 else n_latent

    def log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log p(y_n | f_n), (n,)."""
        raise NotImplementedError

    def derivatives(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log p (n,), gradient (n, C), Hessian (n, C, C) in f: for Laplace and Newton's method."""
        raise NotImplementedError

    def curvature(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Product form d (n, C) of the negative Hessian, and pullback(dL/dlog d) = dL/df.

        For C = 1 the negative Hessian is d itself, otherwise diag(d) - d d'/sum(d); see ``product_form``.
        """
        raise NotImplementedError

    def augment(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Posterior means (n, C) of the unit-variance Gaussian auxiliaries behind y (GR06 eqs 4.3-4.4)."""
        raise NotImplementedError

    def tilted(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log Z = log E p(y | f) with f ~ N(mean, var), its gradient and second derivatives in the means.

        The tilted distribution p(y | f) N(f; mean, var) / Z has means mean + var * gradient and variances
        var + var^2 * second.
        """
        log_prob, shift, weights = self._at_nodes(y, mean, var)
        log_z = logsumexp(log_prob, b=weights[:, None], axis=0)
        tilt = weights[:, None] * np.exp(log_prob - log_z)
        first = np.einsum("sn,snc->nc", tilt, shift)
        second = np.einsum("sn,snc->nc", tilt, shift**2) - first**2
        return log_z, first / np.sqrt(var), (second - 1.0) / var

    def site(self, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log Z (n,) and the matching Gaussian site for beliefs f ~ N(mean, cov) with covariances (n, C, C).

        The site's precision is diag(d) - d d'/sum(d); returned are log Z, d (n, C) and the location (n, C).
        """
        raise NotImplementedError

    def tilted_gradient(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """d sum_n log Z_n / d theta for the likelihood's own parameters (LPJ05 eq 28)."""
        if self.theta.size:
            raise NotImplementedError(f"{type(self).__name__} has no tilted_gradient")
        return np.zeros(0)

    def expected_log_prob(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """E log p(y_n | f_n) with f ~ N(mean, var), (n,)."""
        log_prob, _, weights = self._at_nodes(y, mean, var)
        return weights @ log_prob

    def predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """log probabilities (n, K) of the labels, integrated over the latent Gaussian."""
        labels = range(self.n_outcomes(mean.shape[1]))
        return np.stack([self.tilted(np.full(len(mean), k), mean, var)[0] for k in labels], axis=1)

    def predict(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """Probabilities (n, K) of the labels, integrated over the latent Gaussian."""
        proba = np.exp(self.predict_log(mean, var))
        return proba / proba.sum(axis=1, keepdims=True)

    def auxiliary_noise(self, n: int) -> np.ndarray:
        """Variance (n,) of the Gaussian noise between a row's latent value and its observation."""
        return np.full(n, float(getattr(self, "variance", 1.0)))

    def loo_log_prob(self, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
        """log E p(y_n | f_n) (n,) under leave-one-out beliefs, with or without covariances between classes."""
        if cov.ndim == 2:
            return self.tilted(y, mean, cov)[0]
        return self.predict_log(mean, cov)[np.arange(len(y)), y]

    @property
    def predictive(self) -> Likelihood:
        """The likelihood of a new row: without what holds something for each training row."""
        return self

    def without_label_noise(self) -> Likelihood:
        """The likelihood of the right label."""
        return self

    def with_label_noise(self, log_z: np.ndarray, n_latent: int) -> tuple[np.ndarray, np.ndarray]:
        """log Z of the label as observed from that of the right one, and the derivative of one in the other."""
        return log_z, np.ones_like(log_z)

    def subset(self, rows: np.ndarray) -> Likelihood:
        """The likelihood of some of the training rows; only one that holds something for each row needs to know."""
        return self

    def share_left_out(self, n: int) -> np.ndarray:
        """The share (n,) of each row's likelihood that leaving the row out takes away."""
        return np.ones(n)

    @property
    def log_concave(self) -> bool:
        """Whether log p(y | f) is concave in f, so that Newton's method cannot go astray."""
        return True

    def refuse_to_learn(self, engine: str, able: tuple[str, ...] = ()) -> None:
        """For engines that learn kernel parameters and, of the likelihood's, at most those in ``able``."""
        unable = [name for name in self.theta_names if name not in able]
        if unable:
            raise ValueError(
                f"{engine} learns kernel parameters{''.join(f' and {name}' for name in able)} only; fix "
                f"{', '.join(unable)} of {type(self).__name__}"
            )

    def provides(self, method: str) -> bool:
        """Whether this class has its own version of a method that the base only declares."""
        return getattr(type(self), method) is not getattr(Likelihood, method)

    def _at_nodes(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log p at the nodes (S, n), standardised nodes (S, 1, C), weights (S,)."""
        nodes, weights = gaussian_rule(mean.shape[1])
        scale = np.sqrt(var)
        log_prob = np.stack([self.log_prob(y, mean + scale * node) for node in nodes])
        return log_prob, nodes[:, None, :], weights


def signs(y: np.ndarray) -> np.ndarray:
    """-1, +1 for labels 0, 1, as a column."""
    return (2.0 * as_places(y, 2) - 1.0)[:, None]
