"""Laplace's method: a Gaussian at the mode with the curvature there (WB98; GR06 section 4.2 and appendix E).

The curvature is taken in product form, so a fit costs C + 1 factorisations of n x n matrices after the mode is found.
For the softmax and for up to three classes of the multinomial probit that form is the curvature itself; for more
classes of the probit it keeps every class's own curvature, where GR06 factorise a dense K n x K n matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ...likelihoods import Likelihood
from ...training.monitor import Monitor
from ..base import Engine, Fit, GaussianTerms, Info, Latent
from ..prior import DensePrior
from ..settings import check_settings
from .latent_objective import LatentObjective
from .left_out_groups import mode_without_groups


@dataclass(frozen=True)
class Laplace(Engine):
    """Laplace's method for any likelihood with derivatives and a curvature in product form.

    Parameters
    ----------
    tol : float
        Stop when no latent value moves by more than this.
    max_iter : int
        Limit on Newton steps.
    """

    tol: float = 1e-6
    max_iter: int = 200

    prior_type: ClassVar = DensePrior
    needs: ClassVar = ("derivatives", "curvature")
    takes_weights: ClassVar = True

    def __post_init__(self) -> None:
        check_settings(self, max_iter=1)

    def infer(
        self, prior: DensePrior, y: np.ndarray, likelihood: Likelihood, init: Any, gradient: bool, monitor: Monitor
    ) -> Fit:
        latent = LatentObjective(prior.K, y, likelihood, prior.n_latent)
        mode, objective_trace, converged, stopped = latent.maximise(init, self.tol, self.max_iter, monitor)
        evidence = latent.laplace(mode, gradient)
        # Few ask for it, and it costs as much as the posterior itself.
        loo = None if gradient else cache(lambda: latent.leave_one_out(mode, evidence.posterior))
        info = Info(len(objective_trace) - 1, converged, tuple(objective_trace), stopped=stopped)
        posterior = prior.posterior(evidence.posterior.terms(mode.alpha))
        slope = prior.gradient(evidence.dK, evidence.dlikelihood) if gradient else None
        return Fit(posterior, evidence.value, evidence.value, info, loo, slope, mode.m)

    def without_groups(
        self,
        prior: DensePrior,
        y: np.ndarray,
        likelihood: Likelihood,
        terms: GaussianTerms,
        groups: Sequence[np.ndarray],
    ) -> Latent:
        """By the curvature at the mode (``mode_without_groups``)."""
        mean, cov = mode_without_groups(prior.K, y, likelihood, terms, groups)
        return Latent(mean, cov if cov.shape[1] > 1 else cov[:, :, 0])

    def check(self, likelihood: Likelihood, n_latent: int) -> None:
        super().check(likelihood, n_latent)
        likelihood.refuse_to_learn("Laplace", able=("label_noise",))
