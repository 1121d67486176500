"""Laplace's method: a Gaussian at the mode with the curvature there (WB98; GR06 section 4.2 and appendix E).

The curvature is taken in product form, so a fit costs C + 1 factorisations of n x n matrices after the mode is found.
For the softmax and for up to three classes of the multinomial probit that form is the curvature itself; for more
classes of the probit it keeps every class's own curvature, where GR06 factorise a dense K n x K n matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...likelihoods import Likelihood
from ..base import Fit, Info, require, threads_suited_to_size
from ..settings import check_settings
from .latent_objective import LatentObjective


@dataclass(frozen=True)
class Laplace:
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

    needs: ClassVar = ("derivatives", "curvature")
    takes_weights: ClassVar = True

    def __post_init__(self) -> None:
        check_settings(self, max_iter=1)

    @threads_suited_to_size
    def __call__(
        self,
        K: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        n_latent: int,
        init: np.ndarray | None = None,
        gradient: bool = False,
    ) -> Fit:
        require(self, likelihood)
        likelihood.refuse_to_learn("Laplace", able=("label_noise",))
        latent = LatentObjective(K, y, likelihood, n_latent)
        top, objective_trace, converged = latent.maximise(init, self.tol, self.max_iter)
        evidence = latent.laplace(top, gradient)
        # While learning, nobody asks for it, and it costs as much as the posterior itself.
        loo = None if gradient else latent.leave_one_out(top, evidence.posterior)
        info = Info(len(objective_trace) - 1, converged, tuple(objective_trace))
        weights = evidence.posterior.weights(top.alpha)
        value = evidence.value
        return Fit(weights, value, value, info, top.alpha, loo, evidence.dK, evidence.dlikelihood)
