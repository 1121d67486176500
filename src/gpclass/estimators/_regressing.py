"""What regressors share: the noise model, and predictions of new targets in their own units."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from ..inference.posteriors import members_of
from ..kernels import RBF, Kernel
from ..likelihoods import Gaussian, Likelihood
from ..numerics.devices import beside
from ..training.trained import Trained
from ._base import Base
from ._targets import Targets
from .distributed import lazily


class GPRegressorMixin(RegressorMixin, Base):
    """For regressors that are also ``GPEstimator``: targets are centred and scaled internally."""

    likelihood: Any
    _targets: Targets

    def _default_shape(self, length_scale: float) -> Kernel:
        return RBF(length_scale)

    def _noise(self) -> Gaussian:
        if self.likelihood is not None and not isinstance(self.likelihood, Gaussian):
            kind = type(self.likelihood).__name__ if isinstance(self.likelihood, Likelihood) else repr(self.likelihood)
            raise TypeError(f"regression needs a Gaussian likelihood, got {kind}")
        return Gaussian(0.1) if self.likelihood is None else self.likelihood

    def _target_attributes(self, targets: Targets, trained: Trained, n_rows: int, n_used: int) -> dict[str, Any]:
        """Fitted attributes that regressors have, after a fit to ``n_rows`` whose evidence is that of ``n_used``."""
        assert isinstance(trained.likelihood, Gaussian)
        return {
            "_targets": targets,
            "_log_units": n_rows * targets.log_density,
            "target_mean_": targets.mean,
            "target_scale_": targets.scale,
            "log_evidence_": trained.log_evidence + n_used * targets.log_density,
            "noise_std_": targets.scale * float(np.sqrt(trained.likelihood.variance)),
        }

    @lazily
    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Mean (m,) of new targets; with ``return_std`` or ``return_cov`` also their spread, noise included."""
        found = self._in_units(return_std, return_cov, lambda: self._moments(self._rows(X), return_cov))
        return tuple(beside(part, X) for part in found) if isinstance(found, tuple) else beside(found, X)

    def _in_units(self, return_std: bool, return_cov: bool, moments: Callable[[], tuple[Any, Any]]) -> Any:
        """What was asked for of mean and (co)variance of new targets, in the units of y."""
        if return_std and return_cov:
            raise ValueError("expected at most one of return_std and return_cov, got both")
        mean, cov = moments()
        number, scale = self._targets.inverse(mean), self._targets.scale
        if return_cov:
            return number, cov * scale**2
        return (number, np.sqrt(cov) * scale) if return_std else number

    def _moments(self, rows: Any, full_cov: bool) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (or covariance) of new targets, averaged over models where there are several."""
        weights, means, spreads = [], [], []
        for weight, posterior, likelihood, _ in members_of(self.posterior_, self.likelihood_):
            assert isinstance(likelihood, Gaussian)
            mean, cov = posterior.joint(rows) if full_cov else posterior.latent(rows)
            weights.append(weight)
            means.append(mean[:, 0] + likelihood.bias)
            noise = likelihood.variance
            spreads.append(cov[0] + noise * np.eye(len(mean)) if full_cov else cov[:, 0] + noise)
        mean = np.average(means, axis=0, weights=weights)
        off = np.array(means) - mean
        between = np.einsum("s,si,sj->ij" if full_cov else "s,si,si->i", weights, off, off)
        return mean, np.average(spreads, axis=0, weights=weights) + between
