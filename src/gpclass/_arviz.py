"""The bridge to ArviZ, for those who have it (``pip install gpclass[mcmc]``)."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np


def _arviz() -> Any:
    with warnings.catch_warnings():
        # ArviZ 0.x announces its successor at import.
        warnings.simplefilter("ignore", FutureWarning)
        import arviz

    return arviz


def inference_data(latent: np.ndarray, classes: np.ndarray) -> Any:
    """Draws (chains, draws, n, C) of the latent values at the training rows, as InferenceData."""
    if find_spec("arviz") is None:
        raise ImportError("idata_ needs ArviZ: pip install 'gpclass[mcmc]'")
    # A single latent function of two classes speaks for the second.
    names = classes if latent.shape[-1] == len(classes) else classes[-1:]
    return _arviz().from_dict(
        posterior={"f": latent},
        coords={"row": np.arange(latent.shape[2]), "label": names},
        dims={"f": ["row", "label"]},
    )


def effective_sample_size(draws: np.ndarray) -> float | None:
    """The smallest bulk effective sample size over all entries of draws (chains, draws, ...); None without ArviZ."""
    if find_spec("arviz") is None:
        return None
    arviz = _arviz()
    return float(arviz.ess(arviz.convert_to_dataset({"f": draws}))["f"].min())
