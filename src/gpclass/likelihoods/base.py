"""The base class of likelihoods.

Shapes: y is (n,), latent values f are (n, C), Gaussian distributions of them have means and variances (n, C),
independent between latent functions. C = 1 for binary, ordered and Gaussian targets, C = number of classes otherwise.
Class labels are the integers 0 ... K-1; estimators translate.

A likelihood must define ``log_prob`` and declare ``log_concave``; that is all it must have. ``tilted``,
``expected_log_prob``, ``predict_log`` and ``predict`` work by quadrature unless a closed form overrides them. What else
a likelihood defines it declares in ``supports``, and an engine that needs one of these methods says so:

    derivatives      gradient and Hessian of log p in f
    curvature        negative Hessian in product form, and its derivative
    augment          means of Gaussian auxiliary variables
    site             Gaussian site that couples the latent functions
    tilted_gradient  d log Z / d theta in closed form; without it, by differences
    noise_slopes     derivatives with respect to the label noise

``check_likelihood`` compares all of this with finite differences.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..numerics.arrays import Array, on_host
from ..numerics.compiled import as_places
from ..numerics.differences import derivative
from ..numerics.parameters import Parameterised
from ..numerics.special import gaussian_rule, step_rule

#: log p or log Z (n,), and its first and second derivatives
Moments = tuple[np.ndarray, np.ndarray, np.ndarray]
#: The methods that a likelihood may declare in ``supports``.
CAPABILITIES = frozenset({"derivatives", "curvature", "augment", "site", "tilted_gradient", "noise_slopes"})
#: Quadrature under a smaller variance than this loses its digits.
_SMALLEST_VARIANCE = 1e-10
#: Latent values that quadrature over several latent functions takes at a time.
_CHUNK = 2**20


@dataclass(frozen=True, eq=False, repr=False)
class Likelihood(Parameterised):
    """Base of all likelihoods.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from gpclass.likelihoods import Likelihood, check_likelihood
    >>> class Lapsing(Likelihood):
    ...     log_concave = False
    ...
    ...     def log_prob(self, y, f):
    ...         return np.log(0.1 + 0.8 * norm.cdf((2 * y - 1) * f[:, 0]))
    >>> check_likelihood(Lapsing(), n_classes=2)
    """

    def __init_subclass__(cls, **settings: Any) -> None:
        """Refuse a class whose declarations do not fit its methods."""
        super().__init_subclass__(**settings)
        if _defines(cls, "log_prob") and not _defines(cls, "log_concave"):
            raise TypeError(
                f"{cls.__name__} must declare whether log p(y | f) is concave in f for every y: write "
                "log_concave = True or log_concave = False in the class. False is always safe"
            )
        declared: Any = cls.supports if _defines(cls, "supports") else frozenset()
        if isinstance(declared, property):  # depends on the instance; ``check_likelihood`` looks at one
            return
        if not isinstance(declared, Set) or not CAPABILITIES.issuperset(declared):
            raise TypeError(f"{cls.__name__}.supports must be a set of names out of {sorted(CAPABILITIES)}")
        defined = {name for name in CAPABILITIES if _defines(cls, name)}
        if defined != set(declared):
            raise TypeError(
                f"{cls.__name__} declares supports = {sorted(declared)} but defines {sorted(defined)}: write "
                f"supports = frozenset({sorted(defined)}), or define what is missing"
            )

    @property
    def supports(self) -> Set[str]:
        """Names of the optional methods that this likelihood has, a class attribute or a property."""
        return frozenset()

    @property
    def on_devices(self) -> Set[str]:
        """Names of the methods that take arrays of any namespace and answer in it, a class attribute or a property;
        the others are called with NumPy arrays."""
        return frozenset()

    def evaluate(self, name: str, y: np.ndarray, *arrays: Array) -> Any:
        """The method of that name, wherever the arrays are."""
        method = getattr(self, name)
        return method(y, *arrays) if name in self.on_devices else on_host(method, y, *arrays)

    @property
    def log_concave(self) -> bool:
        """Whether log p(y | f) is concave in f for every y; a class attribute or a property."""
        raise self._unsupported("log_concave")

    def _unsupported(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {name}; it supports {sorted(self.supports)}")

    def n_latent(self, n_classes: int) -> int:
        """Number C of latent functions."""
        return 1

    def n_outcomes(self, n_latent: int) -> int:
        """Number of class labels that ``predict`` gives probabilities for."""
        return 2 if n_latent == 1 else n_latent

    def labels(self, n_latent: int) -> np.ndarray:
        """All labels that ``log_prob`` takes."""
        return np.arange(self.n_outcomes(n_latent))

    def log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log p(y_n | f_n), (n,)."""
        raise self._unsupported("log_prob")

    def derivatives(self, y: np.ndarray, f: np.ndarray) -> Moments:
        """log p (n,), gradient (n, C), Hessian (n, C, C) in f: for Laplace and Newton's method."""
        raise self._unsupported("derivatives")

    def curvature(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Product form d (n, C) of the negative Hessian, and pullback(dL/dlog d) = dL/df.

        For C = 1 the negative Hessian is d itself, otherwise diag(d) - d d'/sum(d); see ``product_form``. A likelihood
        that is not log-concave gives an approximation with d > 0.
        """
        raise self._unsupported("curvature")

    def augment(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Posterior means (n, C) of Gaussian auxiliaries with variance ``auxiliary_noise`` (GR06 eqs 4.3-4.4)."""
        raise self._unsupported("augment")

    def site(self, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> Moments:
        """log Z (n,) and the matching Gaussian site for f ~ N(mean, cov) with covariances (n, C, C).

        The site's precision is diag(d) - d d'/sum(d); returned are log Z, d (n, C) and the location (n, C).
        """
        raise self._unsupported("site")

    def noise_slopes(self, y: np.ndarray, f: np.ndarray) -> Moments:
        """Derivatives in ``label_noise`` of log p (n,), its gradient in f (n, C), and log d (n, 1) of ``curvature``."""
        raise self._unsupported("noise_slopes")

    def tilted(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> Moments:
        """log Z = log E p(y | f) with f ~ N(mean, var), its gradient and second derivatives in the means.

        The tilted distribution p(y | f) N(f; mean, var) / Z has means mean + var * gradient and variances
        var + var^2 * second.
        """
        return self.tilted_by_quadrature(y, mean, var)

    def tilted_gradient(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """d sum_n log Z_n / d theta for the likelihood's own parameters (LPJ05 eq 28)."""
        theta = self.theta

        def log_z(j: int, value: float) -> float:
            moved = np.where(np.arange(len(theta)) == j, value, theta)
            return float(self.with_theta(moved).tilted(y, mean, var)[0].sum())

        bounds = enumerate(self.theta_bounds)
        return np.array([derivative(partial(log_z, j), theta[j], tuple(pair)) for j, pair in bounds])

    def expected_log_prob(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """E log p(y_n | f_n) with f ~ N(mean, var), (n,)."""
        nodes, weights = gaussian_rule(mean.shape[1])
        return self._log_prob_at(y, mean[:, None] + np.sqrt(var)[:, None] * nodes) @ weights

    def predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """log probabilities (n, K) of the labels, integrated over f ~ N(mean, var); covariances (n, C, C) do too."""
        tilted = self.tilted if var.ndim == 2 else self.tilted_by_quadrature
        labels = range(self.n_outcomes(mean.shape[1]))
        return np.stack([tilted(np.full(len(mean), k), mean, var)[0] for k in labels], axis=1)

    def predict(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """Probabilities (n, K) of the labels, integrated over the latent Gaussian."""
        proba = np.exp(self.predict_log(mean, var))
        return proba / proba.sum(axis=1, keepdims=True)

    def auxiliary_noise(self, n: int) -> np.ndarray:
        """Variance (n,) of the Gaussian noise between a row's latent value and its observation."""
        return np.full(n, float(getattr(self, "variance", 1.0)))

    def loo_log_prob(self, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
        """log E p(y_n | f_n) (n,) with leave-one-out means and (co)variances of f."""
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
        """log Z of the observed label from that of the right one, and the derivative of one in the other."""
        return log_z, np.ones_like(log_z)

    def subset(self, rows: np.ndarray) -> Likelihood:
        """The likelihood of some of the training rows, for likelihoods that hold something for each of them."""
        return self

    def share_left_out(self, n: int) -> np.ndarray:
        """The share (n,) of each row's likelihood that leaving the row out takes away."""
        return np.ones(n)

    def refuse_to_learn(self, engine: str, able: tuple[str, ...] = ()) -> None:
        """For engines that learn kernel parameters and, of the likelihood's, at most those in ``able``."""
        unable = [name for name in self.theta_names if name not in able]
        if unable:
            learned = " and ".join(("kernel parameters", *able))
            raise ValueError(f"{engine} learns {learned} only; fix {', '.join(unable)} of {type(self).__name__}")

    def tilted_by_quadrature(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> Moments:
        """``tilted`` from ``log_prob`` alone; covariances (n, C, C) give second derivatives (n, C, C).

        One latent function has a rule for functions that change around f = 0 on a scale of 1, right for any variance.
        Several have a product or quasi-random rule, right while standard deviations are a few times that scale.
        """
        n, C = mean.shape
        if C == 1:
            return self._tilted_of_one(y, mean, var)
        nodes, weights = gaussian_rule(C)
        n_chunks = -(-n * nodes.size // _CHUNK)
        if n_chunks > 1 and n > 1:
            chunks = np.array_split(np.arange(n), min(n, n_chunks))
            parts = [self.subset(rows).tilted_by_quadrature(y[rows], mean[rows], var[rows]) for rows in chunks]
            log_z, first, second = (np.concatenate(part) for part in zip(*parts, strict=True))
            return log_z, first, second
        identity = np.eye(C)
        if var.ndim == 3:
            root = np.linalg.cholesky(var + _SMALLEST_VARIANCE * identity)
        else:
            root = np.sqrt(np.maximum(var, _SMALLEST_VARIANCE))[:, :, None] * identity
        f = mean[:, None] + nodes @ np.swapaxes(root, 1, 2)
        log_z, tilt = _normalised(self._log_prob_at(y, f) + np.log(weights))
        # With f = mean + root u the gradient is root^-T E u and the Hessian root^-T (cov u - I) root^-1.
        u = tilt @ nodes
        products = (nodes[:, :, None] * nodes[:, None, :]).reshape(len(nodes), -1)
        bend = (tilt @ products).reshape(n, C, C) - u[:, :, None] * u[:, None, :] - identity
        inverse = np.linalg.inv(root)
        second = np.swapaxes(inverse, 1, 2) @ bend @ inverse
        first = np.einsum("nji,nj->ni", inverse, u)
        return log_z, first, second if var.ndim == 3 else np.einsum("nii->ni", second).copy()

    def _tilted_of_one(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> Moments:
        """``tilted_by_quadrature`` for one latent function."""
        v = np.maximum(var.reshape(mean.shape), _SMALLEST_VARIANCE)
        nodes, log_weights = step_rule(mean[:, 0], v[:, 0])
        log_z, tilt = _normalised(self._log_prob_at(y, nodes[:, :, None]) + log_weights)
        shift = nodes - mean
        first = np.sum(tilt * shift, axis=1, keepdims=True) / v
        spread = np.sum(tilt * shift**2, axis=1, keepdims=True) / v
        return log_z, first, ((spread - 1.0) / v - first**2).reshape(var.shape)

    def _log_prob_at(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log p (n, S) at S latent values for each row, f (n, S, C)."""
        n, S, C = f.shape
        rows = np.repeat(np.arange(n), S)
        return self.subset(rows).log_prob(np.asarray(y)[rows], f.reshape(-1, C)).reshape(n, S)


def _normalised(log_terms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms (n,) of the sums over the columns, and the shares (n, S) of the terms."""
    log_sum = logsumexp(log_terms, axis=1)
    return log_sum, np.exp(log_terms - log_sum[:, None])


def _defines(cls: type[Likelihood], name: str) -> bool:
    return getattr(cls, name) is not getattr(Likelihood, name)


def signs(y: np.ndarray) -> np.ndarray:
    """-1, +1 for labels 0, 1, as a column."""
    return (2.0 * as_places(y, 2) - 1.0)[:, None]


class AverageInClosedForm(Likelihood):
    """Base of likelihoods of one latent function, with Gaussian noise ``variance`` and ``tilted`` in closed form, of
    which ``log_prob`` and ``derivatives`` are the limit of a known latent value."""

    variance: float  # a field of every subclass
    supports = frozenset({"derivatives"})
    log_concave = False

    def log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self.tilted(y, f, np.zeros_like(f))[0]

    def derivatives(self, y: np.ndarray, f: np.ndarray) -> Moments:
        log_prob, first, second = self.tilted(y, f, np.zeros_like(f))
        return log_prob, first, second[:, :, None]

    def _by_variance(self, first: np.ndarray, second: np.ndarray) -> float:
        """d log Z / d log variance. Noise and latent variance add up, so d/dvariance = (second + first^2) / 2."""
        return self.variance * 0.5 * np.sum(second + first**2)
