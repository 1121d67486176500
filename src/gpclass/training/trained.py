"""What training takes beside the problem, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from ..hyper import HyperResult, Objective, Search
from ..inference.active.active_set import ActiveSites
from ..inference.base import Engine, Fit, Info, Latent
from ..inference.calibration import Calibration
from ..kernels import Kernel
from ..likelihoods import Likelihood


@dataclass(frozen=True)
class Settings:
    """How to train.

    ``calibrates`` says whether predictions are calibrated by leave-one-out predictions; ``default_kernel`` that the
    kernel was not given, so that it may get a length-scale for each input, and its bounds are nobody's; ``instead``
    names estimators that need less memory. Parameters are learned by ``learner``, by default that of the engine; the
    search for those of a default kernel starts where ``coarse``, if there is one, finds an optimum of a few rows.
    """

    engine: Engine
    search: Search
    n_restarts_optimizer: int = 0
    n_jobs: int | None = None
    calibrates: bool = True
    default_kernel: bool = False
    instead: tuple[str, ...] = ()
    learner: Engine | None = None
    coarse: Engine | None = None


class LabelWeights(NamedTuple):
    """How training labels enter calibration: probabilities (n, K) of the classes, the weight (n,) of each row, and the
    share (n,) of that weight that leaving the row out takes away."""

    proba: np.ndarray
    weights: np.ndarray
    left_out: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None) -> LabelWeights:
        """For certain labels; a row with the code -1 has none."""
        proba = np.where(codes[:, None] >= 0, np.eye(n_classes)[codes], 0.0)
        weights = np.ones(len(codes)) if weights is None else weights
        return cls(proba, weights, np.ones(len(codes)))


class WeightedFit(NamedTuple):
    """One fit, its weight in predictions, and the likelihood it was made with."""

    weight: float
    fit: Fit
    likelihood: Likelihood


@dataclass(frozen=True)
class Trained:
    """A trained model: all that predictions and a file need.

    ``objective`` belongs to the starting values and gives the evidence at other parameters. ``loo`` holds leave-one-out
    latent moments where one set of parameters made them, ``loo_proba`` the calibrated probabilities for labels;
    ``messages`` are warnings for the user.
    """

    objective: Objective
    kernel: Kernel
    likelihood: Likelihood
    posterior: Any
    hyper: HyperResult
    log_evidence: float
    objective_value: float | None
    info: Any
    n_iter: int
    calibration: Calibration = field(default_factory=Calibration)
    loo_proba: np.ndarray | None = None
    loo: Latent | None = None
    sites: ActiveSites | None = None
    interrupted: bool = False
    messages: tuple[Warning, ...] = ()

    def renumbered(self, rows: np.ndarray) -> Self:
        """What was trained on the rows ``X[rows]``, with its rows numbered as in X; the objective keeps its own."""
        places, sites = np.argsort(rows), self.sites
        return replace(
            self,
            hyper=self.hyper.renumbered(rows),
            loo=None if self.loo is None else Latent(*(moment[places] for moment in self.loo)),
            loo_proba=None if self.loo_proba is None else self.loo_proba[places],
            sites=None if sites is None else sites._replace(rows=rows[sites.rows]),
        )


def summary(fits: list[Fit]) -> dict[str, Any]:
    """Evidence, objective and info of one fit, or of several independent ones together."""
    infos: tuple[Info, ...] = tuple(fit.info for fit in fits)
    return {
        "log_evidence": sum(fit.log_evidence for fit in fits),
        "objective_value": sum(fit.objective for fit in fits),
        "info": infos[0] if len(infos) == 1 else infos,
        "n_iter": sum(info.n_iter for info in infos),
    }
