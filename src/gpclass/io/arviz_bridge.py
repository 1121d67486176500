"""The bridge to ArviZ, for those who have it (``pip install gpclass[mcmc]``)."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..hyper import Samples
    from ..inference.problem import Problem


def _arviz() -> Any:
    with warnings.catch_warnings():
        # ArviZ 0.x announces its successor at import.
        warnings.simplefilter("ignore", FutureWarning)
        import arviz

    return arviz


def inference_data(samples: Samples | None, problem: Problem, latent: np.ndarray | None, classes: Any) -> Any:
    """Draws of the parameters, and of latent values (chains, draws, n, C) at the training rows, as InferenceData."""
    if find_spec("arviz") is None:
        raise ImportError("idata_ needs ArviZ: pip install 'gpclass[mcmc]'")
    posterior: dict[str, np.ndarray] = {}
    stats: dict[str, np.ndarray] = {}
    coords: dict[str, Any] = {}
    dims: dict[str, list[str]] = {}
    if samples is not None:
        thetas, density = samples.theta, samples.log_density
        if samples.weights is not None:
            # Weighted draws have no place in InferenceData: as many unweighted ones stand for them.
            rng = np.random.default_rng(0)
            chosen = np.sort(rng.choice(len(samples.flat), size=len(samples.flat), p=samples.weights))
            thetas, density = samples.flat[chosen][None], density.reshape(-1)[chosen][None]
        stats["lp"] = density
        posterior |= natural_draws(thetas, problem)
    if latent is not None:
        # A single latent function of two classes speaks for the second.
        names = classes if latent.shape[-1] == len(classes) else classes[-1:]
        posterior["f"] = latent
        coords, dims = {"row": np.arange(latent.shape[2]), "label": names}, {"f": ["row", "label"]}
    return _arviz().from_dict(posterior=posterior, sample_stats=stats or None, coords=coords, dims=dims)


def natural_draws(thetas: np.ndarray, problem: Problem) -> dict[str, np.ndarray]:
    """Draws (chains, draws, p) of theta as natural values by parameter name, each (chains, draws, ...)."""
    drawn: dict[str, list[Any]] = {}
    for theta in thetas.reshape(-1, thetas.shape[-1]):
        for part, prefix in zip(problem.at(theta), ("", "likelihood."), strict=True):
            for name, parameter in part.parameters.items():
                if not parameter.fixed:
                    drawn.setdefault(prefix + name, []).append(parameter.value)
    return {name: np.array(values).reshape(*thetas.shape[:2], *np.shape(values[0])) for name, values in drawn.items()}


def effective_sample_size(draws: np.ndarray) -> float | None:
    """The smallest bulk effective sample size over all entries of draws (chains, draws, ...); None without ArviZ."""
    if np.any(np.ptp(draws, axis=1) == 0.0):
        return 1.0  # a chain that never moved
    if find_spec("arviz") is None:
        return None
    arviz = _arviz()
    return float(arviz.ess(arviz.convert_to_dataset({"f": draws}))["f"].min())
