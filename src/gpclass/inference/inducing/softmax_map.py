"""The most probable functions of a softmax model through inducing points: a quick global model of many classes.

With the features v_n of ``features`` and weights w (S, K), biases b (K,), this maximises the concave

    sum_n log softmax(v_n' w + b)_{y_n} - 1/2 sum |w|^2

by L-BFGS. There is no posterior variance; it is one member of a stack, whose other member has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.special import log_softmax

from ...kernels import Kernel
from ...numerics import linalg
from ...training.monitor import SILENT, Monitor
from ..posteriors import row_blocks


@dataclass(frozen=True)
class SoftmaxMode:
    """Weights (S, K) of whitened covariances with the inducing points Z, and biases (K,)."""

    kernel: Kernel
    Z: np.ndarray
    inverse_chol: np.ndarray
    weights: np.ndarray
    bias: np.ndarray

    def predict_log(self, X: np.ndarray) -> np.ndarray:
        """Log probabilities (m, K) at new rows."""
        found = np.empty((len(X), len(self.bias)))
        for rows in row_blocks(len(X), len(self.Z), 2):
            logits = _features(self.kernel, self.Z, self.inverse_chol, X[rows]) @ self.weights + self.bias
            found[rows] = log_softmax(logits.astype(float), axis=1)
        return found


def _features(kernel: Kernel, Z: np.ndarray, inverse_chol: np.ndarray, X: np.ndarray) -> np.ndarray:
    """v (m, S), in single precision, which the mode of a sum over rows does not feel."""
    return kernel(X, Z).astype(np.float32) @ inverse_chol.T


def softmax_mode(
    kernel: Kernel,
    Z: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    weights: np.ndarray | None = None,
    max_iter: int = 60,
    monitor: Monitor = SILENT,
) -> SoftmaxMode:
    """The mode for rows X with classes y that count ``weights`` (n,) times."""
    inverse_chol = linalg.inverse_factor(linalg.cholesky(kernel(Z, Z))).astype(np.float32)
    V = np.concatenate([_features(kernel, Z, inverse_chol, X[rows]) for rows in row_blocks(len(X), len(Z), 2)])
    S, K, rows = len(Z), n_classes, np.arange(len(y))
    counts = np.ones(len(y)) if weights is None else weights

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = flat[: S * K].reshape(S, K), flat[S * K :]
        log_p = log_softmax(V @ w.astype(np.float32) + b, axis=1)
        value = 0.5 * float(w.ravel() @ w.ravel()) - float(counts @ log_p[rows, y])
        off = np.exp(log_p)
        off[rows, y] -= 1.0
        off *= counts[:, None]
        by_w = V.T @ off.astype(np.float32)
        return value, np.concatenate([(by_w + w).ravel(), off.sum(axis=0)])

    with monitor.task("global model") as steps:

        def tell(intermediate_result: OptimizeResult) -> None:
            steps.step(f"objective {-float(intermediate_result.fun):.1f}")
            if steps.should_stop:
                raise StopIteration

        options: Any = {"maxiter": max_iter, "maxcor": 20}
        found = minimize(loss, np.zeros(S * K + K), jac=True, method="L-BFGS-B", options=options, callback=tell).x
    return SoftmaxMode(kernel, Z, inverse_chol, found[: S * K].reshape(S, K).astype(np.float32), found[S * K :])
