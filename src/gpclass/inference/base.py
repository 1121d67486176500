"""What every engine takes and gives.

An engine is a frozen bag of settings that is called as

    engine(K, y, likelihood, n_latent, init=None, gradient=False) -> Fit

with the prior covariance K of the training rows, (n, n) when all latent functions share a kernel or (C, n, n). It knows
neither kernels nor estimators and keeps no state: a warm start is the ``init`` of another Fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..likelihoods import Likelihood


class Info(NamedTuple):
    """How the computation went: steps taken, whether it converged, and the bound or evidence after each."""

    n_iter: int
    converged: bool
    trace: tuple[float, ...] = ()


class Weights(NamedTuple):
    """A Gaussian posterior at the training rows, in the form that predictions need.

    With k* the covariances of a new row with the training rows, the latent mean is k*' alpha and the variance
    k** - |L^-1 (root * k*)|^2. ``alpha`` is (n, C); ``root`` and ``chol`` are (n,) and (n, n) when all latent functions
    share them, else (n, C) and (C, n, n).
    """

    alpha: np.ndarray
    root: np.ndarray
    chol: np.ndarray


class Fit(NamedTuple):
    """Result of an engine.

    ``log_evidence`` is the engine's own account of log p(y); ``objective`` is what learning should maximise (the same
    unless an engine knows better). ``dK`` is d objective / d K, ``dlikelihood`` d objective / d theta of the
    likelihood; both are None unless the gradient was asked for.
    """

    weights: Weights
    log_evidence: float
    objective: float
    info: Info
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


def require(engine: Any, likelihood: Likelihood) -> None:
    """Refuse a likelihood that lacks what the engine needs, before any work is done."""
    missing = [name for name in engine.needs if not likelihood.provides(name)]
    if missing:
        raise TypeError(
            f"{type(engine).__name__} inference needs a likelihood with {', '.join(missing)}; "
            f"{type(likelihood).__name__} has none"
        )


def class_matrix(K: np.ndarray, c: int) -> np.ndarray:
    """The matrix of latent function c, whether shared or its own."""
    return K if K.ndim == 2 else K[c]
