"""Rows whose label is given as probabilities of the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..numerics.product_form import product_form
from .per_row import PerRow


@dataclass(frozen=True, eq=False, repr=False)
class SoftLabels(PerRow):
    """prod_k p(k | f_n)^q_nk for the training rows: log p is the expected log likelihood under the probabilities q.

    ``proba`` holds q (n, K). For engines that work with derivatives in f; a power has no closed
    Gaussian average.
    """

    proba: np.ndarray = field(default_factory=lambda: np.ones((0, 0)))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.base.refuse_to_learn("a fit to soft labels")

    @property
    def supports(self) -> frozenset[str]:
        return super().supports - {"noise_slopes"}

    def subset(self, rows: np.ndarray) -> SoftLabels:
        return replace(self, proba=self.proba[rows])

    def loo_log_prob(self, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
        return (self.proba * self.base.predict_log(mean, cov)).sum(axis=1)

    def _labels(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(q_k, the label k in every row) for all classes."""
        return [(q, np.full(len(q), k)) for k, q in enumerate(self.proba.T)]

    def log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.sum([q * self.base.log_prob(k, f) for q, k in self._labels()], axis=0)

    def derivatives(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_prob, first, second = np.zeros(len(f)), np.zeros_like(f), np.zeros((*f.shape, f.shape[1]))
        for q, k in self._labels():
            parts = self.base.derivatives(k, f)
            log_prob += q * parts[0]
            first += q[:, None] * parts[1]
            second += q[:, None, None] * parts[2]
        return log_prob, first, second

    def augment(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.sum([q[:, None] * self.base.augment(k, f) for q, k in self._labels()], axis=0)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """The product form with the diagonal of the averaged curvature."""
        parts = [(q[:, None], *self.base.curvature(k, f)) for q, k in self._labels()]
        if f.shape[1] == 1:
            d = np.sum([q * own for q, own, _ in parts], axis=0)
            return d, lambda c: np.sum([pull(c * q * own / d) for q, own, pull in parts], axis=0)

        def diagonal(d: np.ndarray) -> np.ndarray:
            return d - d * d / d.sum(axis=1, keepdims=True)

        d, to_diagonal = product_form(np.sum([q * diagonal(own) for q, own, _ in parts], axis=0))

        def pullback(cotangent: np.ndarray) -> np.ndarray:
            by_w = to_diagonal(cotangent)
            total = np.zeros_like(f)
            for q, own, pull in parts:
                rho = own / own.sum(axis=1, keepdims=True)
                # w_j = d_j - d_j^2 / s: dw_j / dlog d_l = (1 - 2 rho_j) d_j [j = l] + rho_j^2 d_l
                c = q * by_w
                by_log_d = own * ((1.0 - 2.0 * rho) * c + (rho**2 * c).sum(axis=1, keepdims=True))
                total += pull(by_log_d)
            return total

        return d, pullback
