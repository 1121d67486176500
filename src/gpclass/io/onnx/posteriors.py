"""Latent moments and probabilities of fitted posteriors, recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...inference.base import GaussianTerms
from ...inference.calibration import Calibration
from ...inference.posteriors import (
    GaussianPosterior,
    InducingPosterior,
    SeparatePosterior,
    members_of,
)
from ...kernels import Kernel, Precomputed, TorchKernel
from ...kernels.rows import Rows
from ...likelihoods import Gaussian, Likelihood
from ...numerics.arrays import to_host
from . import namespace as xp
from .graph import ExportError, Graph, RecordedArray
from .probabilities import probabilities


def class_probabilities(
    posterior: Any, likelihood: Likelihood, calibration: Calibration, rows: RecordedArray
) -> RecordedArray:
    """Probabilities (n, K), averaged over models where there are several; not normalised yet."""
    total: Any = 0.0
    for member in members_of(posterior, likelihood):
        mean, cov = moments(member.posterior, rows)
        proba = calibrated(member.likelihood, member.calibration or calibration, mean, cov)
        total = total + member.weight * proba
    return total


def calibrated(
    likelihood: Likelihood, calibration: Calibration, mean: RecordedArray, cov: RecordedArray
) -> RecordedArray:
    """Probabilities (n, K) from latent moments, calibrated."""
    proba = probabilities(likelihood.predictive, calibration.mean_scale * mean, calibration.variance_scale * cov)
    lapse = calibration.lapse_rate
    return (1.0 - lapse) * proba + lapse / proba.shape[1]


def target_moments(posterior: Any, likelihood: Likelihood, rows: RecordedArray) -> tuple[RecordedArray, RecordedArray]:
    """Mean (n,) and variance (n,) of new targets in the units of training, noise included."""
    weights, means, variances = [], [], []
    for member in members_of(posterior, likelihood):
        assert isinstance(member.likelihood, Gaussian)
        mean, var = moments(member.posterior, rows)
        weights.append(member.weight)
        means.append(mean[:, 0] + member.likelihood.bias)
        variances.append(var[:, 0] + member.likelihood.variance)
    pooled: Any = sum(weight * mean for weight, mean in zip(weights, means, strict=True))
    parts = zip(weights, means, variances, strict=True)
    return pooled, sum(weight * (var + (mean - pooled) ** 2) for weight, mean, var in parts)


def moments(posterior: Any, rows: RecordedArray) -> tuple[RecordedArray, RecordedArray]:
    """Latent means (n, C), and variances (n, C) or covariances (n, C, C)."""
    if isinstance(posterior, SeparatePosterior):
        found = [moments(part, rows) for part in posterior.parts]
        mean, cov = (xp.concat(part, axis=1) for part in zip(*found, strict=True))
        return mean + posterior.bias, cov
    if not isinstance(posterior, (GaussianPosterior, InducingPosterior)):
        raise ExportError(
            f"expected a Gaussian posterior, got {type(posterior).__name__}; "
            'models of inference="vb", "ep" and "laplace", sparse and informative-vector models have one'
        )
    try:
        return _recorded(posterior, rows.graph).moments(rows)
    except ExportError:
        raise
    except (AttributeError, NotImplementedError, TypeError) as error:
        expected = "expected a kernel that computes with the array namespace of its argument"
        raise ExportError(f"{expected}, got {posterior.kernel!r} ({error})") from error


def _recorded(posterior: Any, graph: Graph) -> Any:
    """The posterior with constants of a graph in place of its arrays."""
    refuse_kernel(posterior.kernel)
    if isinstance(posterior.X, Rows):
        raise ExportError("expected a model of X alone, got one with Gram matrices beside X")
    X = graph.constant(to_host(posterior.X))
    if isinstance(posterior, GaussianPosterior):
        terms = GaussianTerms(*(None if part is None else graph.constant(to_host(part)) for part in posterior.terms))
        return replace(posterior, X=X, terms=terms)
    parts = {name: graph.constant(to_host(getattr(posterior, name))) for name in ("chol", "mean", "spread")}
    return replace(posterior, X=X, **parts)


def refuse_kernel(kernel: Kernel) -> None:
    """Refuse what standard operators cannot compute."""
    if isinstance(kernel, (TorchKernel, Precomputed)):
        why = "holds code of its own" if isinstance(kernel, TorchKernel) else "takes covariances, and not features"
        raise ExportError(f"expected a kernel on features, got {type(kernel).__name__}, which {why}")
    for child in kernel.children:
        refuse_kernel(child)
