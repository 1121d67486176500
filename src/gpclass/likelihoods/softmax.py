"""Class labels through the softmax (multinomial logit) of K latent values (WB98 section 4, CC05)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, softmax

from ..special import gaussian_rule
from .base import Likelihood


@dataclass(frozen=True, eq=False, repr=False)
class Softmax(Likelihood):
    """P(y = k | f) = exp(f_k) / sum_j exp(f_j); Gaussian averages by product or quasi-random rules."""

    def n_latent(self, n_classes: int) -> int:
        return n_classes

    def log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return log_softmax(f, axis=1)[np.arange(len(f)), np.asarray(y, dtype=int)]

    def derivatives(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pi = softmax(f, axis=1)
        gradient = -pi
        gradient[np.arange(len(f)), np.asarray(y, dtype=int)] += 1.0
        hessian = pi[:, :, None] * pi[:, None, :]
        diagonal = np.arange(f.shape[1])
        hessian[:, diagonal, diagonal] -= pi
        return self.log_prob(y, f), gradient, hessian

    def curvature(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        pi = np.maximum(softmax(f, axis=1), 1e-300)
        return pi, lambda c: c - pi * c.sum(axis=1, keepdims=True)

    def predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        nodes, weights = gaussian_rule(mean.shape[1])
        root = np.linalg.cholesky(var) if var.ndim == 3 else np.sqrt(var)[:, :, None] * np.eye(mean.shape[1])
        total = np.zeros_like(mean)
        for node, weight in zip(nodes, weights, strict=True):
            total += weight * softmax(mean + root @ node, axis=1)
        return np.log(np.maximum(total, 1e-300))
