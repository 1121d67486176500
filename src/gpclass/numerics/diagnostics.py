"""How far draws can be trusted: R-hat, effective sample sizes, and the tail of importance weights."""

import numpy as np
from scipy.special import logsumexp

from ..io.arviz_bridge import effective_sample_size

__all__ = ["FEWEST_DRAWS", "effective_sample_size", "effective_weights", "pareto_smoothed", "split_r_hat"]

#: Of a chain: each half of it has a variance only from two draws on.
FEWEST_DRAWS = 4


def split_r_hat(draws: np.ndarray) -> np.ndarray:
    """Gelman and Rubin's potential scale reduction of halved chains, for draws (chains, draws, ...)."""
    half = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :half], draws[:, half : 2 * half]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = half * halves.mean(axis=1).var(axis=0, ddof=1)
    # A chain that never moved has not mixed, whatever the others did.
    moving = np.all(np.ptp(draws, axis=1) > 0.0, axis=0)
    ratio = ((half - 1) / half * within + between / half) / np.where(moving, within, 1.0)
    return np.where(moving, np.sqrt(ratio), np.inf)


def effective_weights(log_weights: np.ndarray) -> float:
    """Kish's effective number of weighted draws, (sum w)^2 / sum w^2."""
    return float(np.exp(2.0 * logsumexp(log_weights) - logsumexp(2.0 * log_weights)))


def pareto_smoothed(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Importance weights whose largest are replaced by the quantiles of a generalised Pareto distribution fitted to
    them, and its tail index k (Vehtari et al. 2024). Below 0.7 averages can be trusted. Normalised to sum 1, in logs.
    """
    n = len(log_weights)
    log_weights = log_weights - np.max(log_weights)
    n_tail = int(np.ceil(min(0.2 * n, 3.0 * np.sqrt(n))))
    order = np.argsort(log_weights)
    tail = order[-n_tail:]
    cut = log_weights[order[-n_tail - 1]] if n_tail < n else -np.inf
    above = np.exp(log_weights[tail]) - np.exp(cut)
    k = np.inf
    # Fewer than five, or all the same, say nothing of a tail.
    if n_tail >= 5 and above[-1] > above[0] > 0.0:
        k, scale = _fit_pareto(above)
        ranks = (np.arange(n_tail) + 0.5) / n_tail
        quantiles = -np.log1p(-ranks) if abs(k) < 1e-12 else np.expm1(-k * np.log1p(-ranks)) / k
        log_weights = log_weights.copy()
        # No draw may weigh more than the heaviest did.
        log_weights[tail] = np.minimum(np.log(np.exp(cut) + scale * quantiles), 0.0)
    return log_weights - logsumexp(log_weights), float(k)


def _fit_pareto(x: np.ndarray) -> tuple[float, float]:
    """Shape k and scale of a generalised Pareto distribution for sorted x > 0 (Zhang and Stephens 2009), with the weak
    prior on k of Vehtari et al."""
    n = len(x)
    n_grid = 30 + int(np.sqrt(n))
    quartile = x[int(n / 4.0 + 0.5) - 1]
    grid = 1.0 / x[-1] + (1.0 - np.sqrt(n_grid / (np.arange(1, n_grid + 1) - 0.5))) / (3.0 * quartile)
    shapes = np.mean(np.log1p(-grid[:, None] * x), axis=1)
    profile = n * (np.log(-grid / shapes) - shapes - 1.0)
    weights = np.exp(profile - logsumexp(profile))
    b = float(weights @ grid)
    k = float(np.mean(np.log1p(-b * x)))
    scale = -k / b
    return (n * k + 5.0) / (n + 10.0), scale
