"""Variational Bayes through inducing points, for probit likelihoods: one S x S matrix for all classes.

With f given w integrated out (``inducing``), a row's auxiliaries have noise 1 + D about v' w, and variational Bayes
(``vb``) finds the maximum of the concave function

    J(w) = sum_n log E p(y_n | f_n) - 1/2 sum_c |w_c|^2,   f_n ~ N(v_n' w, D_n),

about which all classes have the covariance B^-1, B = I + V diag(1 / (1 + D)) V'. The curvature of J lies between I and
B, so the search takes L^-1 B L^-T = I as its units, B = L L', and every step costs two products with V.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...numerics.arrays import Array, cast, cast_as, identity, is_numpy, like, namespace, to_host
from ...training.monitor import Monitor
from ..base import Engine, Fit, Info, Latent
from ..posteriors import InducingPosterior
from ..prior import InducingPrior
from ..settings import check_settings
from .features import Block, weighted_gram

#: Steps before the curvature is looked at.
_FIRST_STEPS = 10


@dataclass(frozen=True)
class SparseVB(Engine):
    """Variational Bayes with inducing points.

    Parameters
    ----------
    tol : float
        Stop when no entry of the gradient is larger than this, in units in which the curvature is at most 1.
    max_iter : int
        Limit on steps of the search.
    """

    tol: float = 1e-2
    max_iter: int = 500

    prior_type: ClassVar = InducingPrior
    needs: ClassVar = ("augment",)

    def __post_init__(self) -> None:
        check_settings(self, max_iter=1)

    def infer(
        self, prior: InducingPrior, y: np.ndarray, likelihood: Likelihood, init: Any, gradient: bool, monitor: Monitor
    ) -> Fit:
        features: Any = prior.features
        basis, n_latent = features.basis, prior.n_latent
        if gradient:
            raise TypeError("SparseVB has no gradient of an evidence; learn with SparseEP")
        S, chol = basis.Z.shape[0], basis.chol
        R, log_det = _factor(features.sums(noise_gram, y, likelihood)[0], chol)
        fits = getattr(init, "shape", None) == (S, n_latent)
        w = like(init if fits else np.zeros((S, n_latent)), chol)
        objective_trace: list[float] = []
        with monitor.task("variational search") as search:
            # Where labels are certain the curvature is far below its bound: once it is roughly known, it makes better
            # units.
            w, converged = self._maximise(features, y, likelihood, w, R, _FIRST_STEPS, search, objective_trace)
            if not converged and not search.should_stop:
                units, _ = _factor(features.sums(mean_curvature_gram, y, likelihood, w)[0], chol)
                w, converged = self._maximise(features, y, likelihood, w, units, self.max_iter, search, objective_trace)
        bounds = tuple(J - 0.5 * n_latent * log_det for J in objective_trace)
        info = Info(len(objective_trace), converged, bounds, stopped=search.should_stop and not converged)
        posterior = InducingPosterior(basis.kernel, basis.Z, chol, w, R[None, ...])
        loo = _leave_one_out(features, y, likelihood, w, R)
        return Fit(posterior, bounds[-1], bounds[-1], info, loo, state=w)

    def _maximise(
        self,
        features: Any,
        y: Any,
        likelihood: Likelihood,
        w: Array,
        R: Array,
        max_iter: int,
        search: Any,
        objective_trace: list[float],
    ) -> tuple[Array, bool]:
        """L-BFGS from w in the units z = R^-T w; where it got, and whether that is the top."""

        def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
            w = R.T @ like(z.reshape(shape), R)
            value, slopes = features.sums(objective_sums, y, likelihood, w)
            return 0.5 * linalg.dot(w, w) - float(value), to_host(R @ (w - like(slopes, w))).ravel()

        def tell(intermediate_result: OptimizeResult) -> None:
            objective_trace.append(-float(intermediate_result.fun))
            search.step(f"objective {objective_trace[-1]:.2f}")
            if search.should_stop:
                raise StopIteration

        shape = tuple(w.shape)
        start = to_host(linalg.solve_triangular(R, w, transposed=True))
        options = {"maxiter": max_iter, "gtol": self.tol, "ftol": 0.0, "maxcor": 20}
        found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options, callback=tell)
        objective_trace.append(-float(found.fun))
        return R.T @ like(found.x.reshape(shape), R), bool(np.max(np.abs(found.jac)) <= self.tol)


# ---- sums over blocks of rows ---------------------------------------------------------------------------


def _tilted(block: Block, y: np.ndarray, likelihood: Likelihood, w: Array) -> tuple[Array, Array, Array]:
    """log E p(y | f), and its slopes and curvatures (b, C) in v' w, for a block of rows."""
    m = block.V.T @ cast_as(w, block.V)
    log_z, first, second = likelihood.evaluate(
        "tilted", y, m, namespace(m).broadcast_to(block.site_noise[:, None], m.shape)
    )
    return log_z, cast(first, float), namespace(m).clip(cast(-second, float), 0.0, None)


def objective_sums(block: Block, y: np.ndarray, likelihood: Likelihood, w: Array) -> tuple[float, Array]:
    """A block's share of the objective, and of its slope in w."""
    log_z, slope, _ = _tilted(block, y, likelihood, w)
    return float(namespace(w).sum(log_z)), cast(block.V @ cast_as(slope, block.V), float)


def noise_gram(block: Block, y: np.ndarray, likelihood: Likelihood) -> tuple[Array]:
    """A block's share of V diag(1 / (noise + D)) V'."""
    noise = like(likelihood.auxiliary_noise(len(y)), block.site_noise)
    return (weighted_gram(block.V, 1.0 / (noise + block.site_noise)),)


def mean_curvature_gram(block: Block, y: np.ndarray, likelihood: Likelihood, w: Array) -> tuple[Array]:
    """A block's share of V diag(mean curvature of the classes) V'."""
    _, _, curvature = _tilted(block, y, likelihood, w)
    return (weighted_gram(block.V, namespace(w).mean(curvature, axis=1)),)


def curvature_grams(block: Block, y: np.ndarray, likelihood: Likelihood, w: Array) -> tuple[Array]:
    """A block's share of V diag(curvature) V' for each class, (C, S, S)."""
    _, _, curvature = _tilted(block, y, likelihood, w)
    grams = linalg.for_each_class(
        lambda c: weighted_gram(block.V, curvature[:, c]), w.shape[1], block.V.shape[0], on_host=is_numpy(w)
    )
    return (namespace(w).stack(grams),)


# ---- from the sums --------------------------------------------------------------------------------------


def _factor(gram: Array, chol: Array) -> tuple[Array, float]:
    """R = L^-1 and log |B| of B = I + gram = L L'."""
    L = linalg.cholesky(identity(chol.shape[0], chol) + like(gram, chol))
    return linalg.inverse_factor(L), float(linalg.log_det(L))


def _norms(factors: Array, V: Array, c: int) -> Array:
    return cast(linalg.column_norms(factors[c, ...], V), float)


def _leave_one_out(features: Any, y: Any, likelihood: Likelihood, w: Array, R: Array) -> Latent:
    """Means by linear response with each class's own curvature, variances as variational Bayes has them.

    A label that is taken out, with slope p and curvature W at the mode, moves the row's mean by -a p / (1 - W a), a =
    v' (I + V diag(W) V')^-1 v; classes are taken one by one.
    """
    xp, C = namespace(w), w.shape[1]
    grams = like(features.sums(curvature_grams, y, likelihood, w)[0], w)
    factors = xp.stack([_factor(grams[c, ...], w)[0] for c in range(C)])
    here, labels = features.local_sample(y)
    factors, shared = cast(factors, here.dtype), cast(R, here.dtype)
    mean, variance = np.empty((2, len(here), C))
    for block in here:
        rows, V, D, dropped = block
        _, slope, curvature = _tilted(block, labels[rows], likelihood, w)
        noise = like(likelihood.auxiliary_noise(len(labels[rows])), D)
        m = V.T @ cast(w, here.dtype)
        settled = cast(linalg.column_norms(shared, V), float)
        # Without the row's own pseudo-observation of precision 1 / (noise + D).
        without = settled / xp.clip(1.0 - settled / (noise + D), 1e-10, None)
        variance[rows] = to_host(without + D + dropped)[:, None]
        norms = linalg.for_each_class(partial(_norms, factors, V), C, V.shape[0], on_host=is_numpy(V))
        a = xp.stack(norms, axis=1)
        mean[rows] = to_host(m - a * slope / xp.clip(1.0 - curvature * a, 1e-10, None))
    return Latent(mean, variance)
