"""The engine protocol: what every engine takes and returns.

An engine is a frozen value that holds settings. It is called as

    engine(prior, y, likelihood, init=None, gradient=False, monitor=SILENT) -> Fit

and keeps no state: a warm start is the ``state`` of another Fit, passed as ``init``. ``prior_type`` names the kind of
prior the engine works on (``inference.prior``), ``needs`` the likelihood methods it calls.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from ..likelihoods import Likelihood
from ..numerics.arrays import Array, namespace, to_host
from ..numerics.linalg import suited_threads
from ..training.monitor import SILENT, Monitor

#: Beyond this prior variance double precision cannot hold K + noise.
LARGEST_VARIANCE = 1e10


class Info(NamedTuple):
    """How the computation went.

    ``n_iter`` counts steps, ``trace`` holds the bound or evidence after each. ``n_skipped`` counts site updates that
    were skipped because a cavity was no distribution (EP). For samplers, ``r_hat`` is the largest R-hat and
    ``n_effective`` the smallest effective sample size (None without ArviZ). ``stopped`` says that a callback ended the
    computation early, ``interrupted`` that Ctrl-C did.
    """

    n_iter: int
    converged: bool
    trace: tuple[float, ...] = ()
    n_skipped: int = 0
    r_hat: float | None = None
    n_effective: float | None = None
    stopped: bool = False
    interrupted: bool = False


class Latent(NamedTuple):
    """Gaussian distributions of C latent functions at m rows: mean (m, C) and cov.

    ``cov`` holds the marginal variances (m, C); or covariances between latent functions at each row (m, C, C), from
    an engine that couples them; or the full covariances between rows (C, m, m) when those were asked for.
    """

    mean: np.ndarray
    cov: np.ndarray

    @classmethod
    def on_host(cls, mean: Array, cov: Array) -> Latent:
        """From arrays of any namespace, which become NumPy arrays."""
        return cls(to_host(mean), to_host(cov))


class LatentTerms(NamedTuple):
    """The terms (r, C) that add up to the latent means at one row, and the training rows (r,) that they belong to."""

    rows: np.ndarray
    terms: np.ndarray


class GaussianTerms(NamedTuple):
    """A Gaussian posterior at the training rows, in the form that predictions need.

    With k* the covariances of a new row with the training rows, the latent mean is k*' alpha and the variance
    k** - |L^-1 (sqrt_precision * k*)|^2. ``alpha`` is (n, C); ``sqrt_precision`` and ``chol`` are (n,) and (n, n) when
    all latent functions share them, else (n, C) and (C, n, n).

    A posterior that couples the classes (``ProductFormPosterior``) has in addition the factor of M and the square roots
    of rho; then new rows get covariances between latent functions.

    All have the namespace of the prior covariances.
    """

    alpha: Array
    sqrt_precision: Array
    chol: Array
    coupling: Array | None = None
    sqrt_rho: Array | None = None


class Draws(NamedTuple):
    """Posterior draws of alpha, (chains, draws, n, C), the terms that all draws share, and the latent values at the
    training rows that were drawn with them, shaped as alpha, as a NumPy array."""

    alpha: Array
    sqrt_precision: Array
    chol: Array
    latent: np.ndarray

    @property
    def flat(self) -> Array:
        """The draws of all chains, (S, n, C)."""
        chains, draws, n, C = self.alpha.shape
        return namespace(self.alpha).reshape(self.alpha, (chains * draws, n, C))

    def terms(self, s: int) -> GaussianTerms:
        """The Gaussian of one of all draws."""
        return GaussianTerms(self.flat[s, ...], self.sqrt_precision, self.chol)


class Fit(NamedTuple):
    """Result of an engine.

    ``log_evidence`` is the engine's own estimate of log p(y); ``objective`` is what learning maximises (the same unless
    an engine has a better one). ``loo`` holds the latent moments at each training row without its own label;
    ``left_out`` are these, or what computes them, which keeps the matrices of the fit until ``settled``. ``gradient``
    is d objective / d theta, the kernel's parameters before the likelihood's, None unless asked for. Both are NumPy
    arrays whatever the namespace of the prior. ``state`` is what a fit with other parameters can start from.
    """

    posterior: Any
    log_evidence: float
    objective: float
    info: Info
    left_out: Latent | Callable[[], Latent] | None = None
    gradient: np.ndarray | None = None
    state: Any = None

    @property
    def loo(self) -> Latent | None:
        return self.left_out() if callable(self.left_out) else self.left_out

    def settled(self) -> Fit:
        """The same with leave-one-out predictions that are computed."""
        return self._replace(left_out=self.loo)


@dataclass(frozen=True)
class Engine(ABC):
    """Base of all engines; a subclass gives ``prior_type`` and ``infer``."""

    #: the kind of prior that the engine works on: DensePrior, ActivePrior or InducingPrior
    prior_type: ClassVar[Any]
    #: likelihood methods that the engine calls beyond ``log_prob`` and ``tilted``
    needs: ClassVar[tuple[str, ...]] = ()
    #: whether the engine takes likelihoods with a weight for each row, or soft labels
    takes_weights: ClassVar[bool] = False
    #: whether all latent functions share one factor where they share a kernel
    shares_factor: ClassVar[bool] = False
    #: whether the evidence of a run that ended at its limit of iterations is close enough to guide a search
    close_before_convergence: ClassVar[bool] = False

    def __call__(
        self,
        prior: Any,
        y: np.ndarray,
        likelihood: Likelihood,
        init: Any = None,
        gradient: bool = False,
        monitor: Monitor = SILENT,
        **more: Any,
    ) -> Fit:
        """Refuse what cannot work, then ``infer`` with as many BLAS threads as the number of rows deserves."""
        self.check(likelihood, prior.n_latent)
        with suited_threads(prior.n_rows):
            return self.infer(prior, y, likelihood, init, gradient, monitor, **more)

    @abstractmethod
    def infer(
        self, prior: Any, y: np.ndarray, likelihood: Likelihood, init: Any, gradient: bool, monitor: Monitor
    ) -> Fit: ...

    def without_groups(
        self,
        prior: Any,
        y: np.ndarray,
        likelihood: Likelihood,
        terms: GaussianTerms,
        groups: Sequence[np.ndarray],
    ) -> Latent:
        """Latent moments of each row without the labels of its group, from the ``terms`` of a fit to all rows; each
        group is an array of row numbers, and rows in none are NaN."""
        raise TypeError(
            f"expected an engine that predicts groups of rows without their labels, such as EP(), VB(), Laplace() or "
            f"Exact(); got {type(self).__name__}(). Refit with sklearn.model_selection.LeaveOneGroupOut"
        )

    @property
    def learner(self) -> Engine:
        """The engine whose objective learning maximises: this one, unless it has no gradient."""
        return self

    def in_one_matrix(self) -> Engine | None:
        """The engine that fits the same model of many rows with a single n x n matrix, or None."""
        return None

    def check(self, likelihood: Likelihood, n_latent: int) -> None:
        """Refuse a likelihood that the engine cannot work with, before any work is done."""
        missing = [name for name in self.needs if name not in likelihood.supports]
        if missing:
            # EP works with every likelihood, but for weights and soft labels.
            other = "ep" if likelihood.predictive is likelihood else "laplace"
            raise TypeError(
                f"{type(self).__name__} inference needs a likelihood with {', '.join(missing)}; "
                f"{type(likelihood).__name__} has none: use inference={other!r}"
            )
        if likelihood.predictive is not likelihood and not self.takes_weights:
            raise TypeError(
                f"{type(self).__name__} inference takes no weights or soft labels; use inference='vb' or 'laplace'"
            )

    def differentiates(self, likelihood: Likelihood) -> bool:
        """Whether the engine gives the gradient of its objective for such a likelihood."""
        return True

    def why_not_converged(self, info: Info) -> str:
        """What a fit that did not converge means, and what to do about it."""
        return (
            f"{type(self).__name__} inference stopped after {info.n_iter} iterations without converging; the best "
            "state is kept. Raise max_iter or loosen tol of the engine."
        )


def check_engine(engine: Any, prior_type: Any, owner: str, names: tuple[str, ...]) -> Engine:
    """The engine, refused with a sentence that names what would work if it needs another kind of prior."""
    if isinstance(engine, type):
        raise ValueError(f"inference must be an object, not a class: write {engine.__name__}() with brackets")
    if not isinstance(engine, Engine):
        raise ValueError(f"inference must be one of {sorted(names)} or an engine object, got {engine!r}")
    if engine.prior_type is not prior_type:
        own = engine.prior_type
        raise TypeError(
            f"{owner} needs an engine that {prior_type.describes}, such as inference={either(names)}; "
            f"{type(engine).__name__} {own.describes} and belongs in {own.estimator(engine)}"
        )
    return engine


def either(names: Sequence[str]) -> str:
    """The names in quotes, as in: 'a', 'b' or 'c'."""
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last


def check_prior_variance(K: Array) -> None:
    """Refuse prior variances that leave no digits beside observation noise of about 1."""
    xp = namespace(K)
    largest = float(xp.max(xp.linalg.diagonal(K)))
    if not largest <= LARGEST_VARIANCE:
        raise LinAlgError(
            f"expected prior variances up to {LARGEST_VARIANCE:g}, got {largest:.3g}: scale the inputs "
            "(standardize=True) or give the kernel smaller parameters"
        )


def class_matrix(K: Array, c: int) -> Array:
    """The matrix of latent function c, whether shared or its own."""
    return K if K.ndim == 2 else K[c, ...]
