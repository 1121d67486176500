"""What every engine takes and gives.

An engine is a frozen bag of settings that is called as

    engine(K, y, likelihood, n_latent, init=None, gradient=False) -> Fit

with the prior covariance K of the training rows, (n, n) when all latent functions share a kernel or (C, n, n). It knows
neither kernels nor estimators and keeps no state: a warm start is the ``init`` of another Fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError

from ..likelihoods import Likelihood
from ..numerics.linalg import suited_threads

#: Beyond this prior variance double precision cannot hold K + noise.
LARGEST_VARIANCE = 1e10


class Info(NamedTuple):
    """How the computation went: steps taken, whether it converged, the bound or evidence after each, and how many
    updates were skipped because a cavity was no distribution (EP); of sampling the largest R-hat and, where ArviZ is
    installed, the smallest effective sample size."""

    n_iter: int
    converged: bool
    trace: tuple[float, ...] = ()
    n_skipped: int = 0
    r_hat: float | None = None
    n_effective: float | None = None


class GaussianTerms(NamedTuple):
    """A Gaussian posterior at the training rows, in the form that predictions need.

    With k* the covariances of a new row with the training rows, the latent mean is k*' alpha and the variance
    k** - |L^-1 (root * k*)|^2. ``alpha`` is (n, C); ``root`` and ``chol`` are (n,) and (n, n) when all latent functions
    share them, else (n, C) and (C, n, n).

    A posterior that couples the classes (``coupling.ProductFormPosterior``) has in addition the factor of M and the roots of rho;
    then new rows get covariances between latent functions.
    """

    alpha: np.ndarray
    root: np.ndarray
    chol: np.ndarray
    coupling: np.ndarray | None = None
    root_rho: np.ndarray | None = None


class Fit(NamedTuple):
    """Result of an engine.

    ``log_evidence`` is the engine's own account of log p(y); ``objective`` is what learning should maximise (the same
    unless an engine knows better). ``state`` is what a fit with other parameters can start from, ``loo`` the latent
    means and variances (n, C) at each training row without its own label. ``dK`` is d objective / d K,
    ``dlikelihood`` d objective / d theta of the likelihood; both are None unless the gradient was asked for.
    """

    weights: Any
    log_evidence: float
    objective: float
    info: Info
    state: Any = None
    loo: tuple[np.ndarray, np.ndarray] | None = None
    dK: np.ndarray | None = None
    dlikelihood: np.ndarray | None = None


class Engine(Protocol):
    @property
    def needs(self) -> Sequence[str]: ...

    def __call__(
        self,
        K: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        n_latent: int,
        init: Any = None,
        gradient: bool = False,
    ) -> Fit: ...


def threads_suited_to_size(call: Callable[..., Fit]) -> Callable[..., Fit]:
    """For an engine's ``__call__``: BLAS threads as the number of rows deserves."""

    @wraps(call)
    def wrapped(self: Any, K: np.ndarray, *args: Any, **kwargs: Any) -> Fit:
        with suited_threads(K.shape[-1]):
            return call(self, K, *args, **kwargs)

    return wrapped


def require(engine: Any, likelihood: Likelihood) -> None:
    """Refuse a likelihood that lacks what the engine needs, before any work is done."""
    missing = [name for name in engine.needs if not likelihood.provides(name)]
    if missing:
        raise TypeError(
            f"{type(engine).__name__} inference needs a likelihood with {', '.join(missing)}; "
            f"{type(likelihood).__name__} has none. Try another engine, such as inference='laplace'"
        )


def differentiable(engine: Engine, likelihood: Likelihood) -> bool:
    """Whether the engine gives the gradient of its objective for such a likelihood."""
    differentiates = getattr(engine, "differentiates", None)
    return differentiates is None or differentiates(likelihood)


def check_prior(K: np.ndarray) -> None:
    """Refuse prior variances that leave no digits beside observation noise of about 1."""
    largest = float(np.max(np.diagonal(K, axis1=-2, axis2=-1)))
    if not largest <= LARGEST_VARIANCE:
        raise LinAlgError(
            f"expected prior variances up to {LARGEST_VARIANCE:g}, got {largest:.3g}: scale the inputs "
            "(standardize=True) or give the kernel smaller parameters"
        )


def class_matrix(K: np.ndarray, c: int) -> np.ndarray:
    """The matrix of latent function c, whether shared or its own."""
    return K if K.ndim == 2 else K[c]
