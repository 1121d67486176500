"""Class labels through the softmax (multinomial logit) of K latent values (WB98 section 4, CC05)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import helmert
from scipy.special import log_softmax, softmax

from .. import orthant
from ..curvature import product_form
from ..special import gaussian_rule
from .base import Likelihood

#: Up to so many classes EP takes the moments of a row by product quadrature (CC05 3.2), unless a contrast between two
#: classes has a variance for which the rule is too coarse.
_FEW, _WIDE = 3, 100.0
#: Predictions, by one rule around the belief, are given up for the nested sites from this variance on.
_WIDE_BELIEF = 30.0


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

    def site(self, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = orthant.site(y, mean, cov, gumbel=True)
        if mean.shape[1] <= _FEW:
            widths = _contrasts(cov)
            # A row without variance has no precision to work with, and nothing to improve.
            narrow = (widths.max(axis=(1, 2)) < _WIDE) & (np.linalg.eigvalsh(cov)[:, 0] > 1e-10)
            improved = _site_by_quadrature(y[narrow], mean[narrow], cov[narrow], *(part[narrow] for part in found))
            for part, better in zip(found, improved, strict=True):
                part[narrow] = better
        return found

    def predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        C = mean.shape[1]
        cov = var if var.ndim == 3 else var[:, :, None] * np.eye(C)
        out = np.empty_like(mean)
        wide = _contrasts(cov).max(axis=(1, 2)) >= _WIDE_BELIEF
        out[wide] = orthant.log_proba(mean[wide], cov[wide], gumbel=True)
        mean, cov = mean[~wide], cov[~wide]
        values, vectors = np.linalg.eigh(cov)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        nodes, weights = gaussian_rule(C)
        log_proba = np.full_like(mean, -np.inf)
        for node, weight in zip(nodes, weights, strict=True):
            log_proba = np.logaddexp(log_proba, np.log(weight) + log_softmax(mean + root @ node, axis=1))
        out[~wide] = log_proba
        return out


def _contrasts(cov: np.ndarray) -> np.ndarray:
    """Variances (n, C, C) of the differences between two latent values."""
    own = np.einsum("ncc->nc", cov)
    return own[:, :, None] + own[:, None, :] - 2.0 * cov


def _site_by_quadrature(
    y: np.ndarray, mean: np.ndarray, cov: np.ndarray, log_z: np.ndarray, d: np.ndarray, location: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Moments of belief times label by a product Gauss-Hermite rule (CC05 3.2), starting from a site that is near.

    The softmax sees only the K - 1 contrasts z = P f. The rule is laid around the tilted distribution's own mean and
    covariance and not, as in CC05, around the belief: one of large variance would have hardly a node where the label
    is decided.
    """
    n, K = mean.shape
    P = helmert(K)
    rows = np.arange(n)
    prior_mean, prior = mean @ P.T, P @ cov @ P.T
    precision = np.linalg.inv(prior)
    pull = np.einsum("nij,nj->ni", precision, prior_mean)
    T = d[:, :, None] * (np.eye(K) - d[:, None, :] / d.sum(axis=1)[:, None, None])
    spread = np.linalg.inv(precision + P @ T @ P.T)
    centre = np.einsum("nij,nj->ni", spread, pull + location @ P.T)
    nodes, weights = gaussian_rule(K - 1, budget=1024)
    for _ in range(2):
        root = np.linalg.cholesky(spread)
        z = centre + np.einsum("nij,sj->sni", root, nodes)
        off = z - prior_mean
        log_ratio = log_softmax(z @ P, axis=2)[:, rows, y] + 0.5 * np.sum(nodes**2, axis=1)[:, None]
        log_ratio -= 0.5 * np.einsum("sni,nij,snj->sn", off, precision, off, optimize=True)
        peak = log_ratio.max(axis=0)
        tilt = weights[:, None] * np.exp(log_ratio - peak)
        total = tilt.sum(axis=0)
        tilt /= total
        scale = np.log(np.einsum("nii->ni", root)).sum(axis=1) - 0.5 * np.linalg.slogdet(prior)[1]
        log_z = np.log(total) + peak + scale
        centre = np.einsum("sn,sni->ni", tilt, z)
        off = z - centre
        spread = np.einsum("sn,sni,snj->nij", tilt, off, off, optimize=True)
    # Of up to three classes every precision without common shifts has the product form; its diagonal says which.
    T = P.T @ (np.linalg.inv(spread) - precision) @ P
    d, _ = product_form(np.maximum(np.einsum("nii->ni", T), 0.0))
    # The location that gives site times belief the right mean.
    f = centre @ P
    location = d * (f - (d * f).sum(axis=1, keepdims=True) / d.sum(axis=1, keepdims=True))
    location += (np.einsum("nij,nj->ni", precision, centre) - pull) @ P
    return log_z, d, location
