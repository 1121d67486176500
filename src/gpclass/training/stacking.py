"""Weights of models by predictions of rows that they have not seen."""

import numpy as np


def stacking_weights(
    log_probs: np.ndarray, pseudo_counts: np.ndarray, counts: np.ndarray | None = None, n_iter: int = 200
) -> np.ndarray:
    """Weights of models whose mean probability is most likely, by EM from log probabilities (models, rows).

    Models start with, and are drawn to, the shares of their ``pseudo_counts``; a model that gives no row any
    probability gets no weight. A row counts ``counts`` (rows,) times.
    """
    prior = np.where(np.all(np.isneginf(log_probs), axis=1), 0.0, pseudo_counts)
    weights = prior / prior.sum()
    proba = np.exp(log_probs - log_probs.max(axis=0))
    for _ in range(n_iter):
        share = weights[:, None] * proba
        share /= share.sum(axis=0)
        total = share.sum(axis=1) if counts is None else share @ counts
        weights = (total + prior) / np.sum(total + prior)
    return weights
