"""95 % intervals of scores, which stay honest where no mistake was seen.

Weighted rows count as their effective number, (sum w)^2 / sum w^2 (Kish 1965).
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

#: Normal quantile of a two-sided interval of 95 %.
Z_95 = 1.959963984540054


class Interval(NamedTuple):
    """Both ends."""

    low: float
    high: float


def effective_rows(weights: np.ndarray) -> float:
    """The number of rows of equal weight that determine a mean as well as these do."""
    total = float(np.sum(weights))
    return 0.0 if total == 0.0 else total**2 / float(np.sum(np.square(weights)))


def wilson(share: float, n: float) -> Interval:
    """The interval of a proportion of n rows (Wilson 1927); from 0 to 1 where there are none."""
    if n <= 0:
        return Interval(0.0, 1.0)
    shrink = 1.0 / (1.0 + Z_95**2 / n)
    centre = shrink * (share + 0.5 * Z_95**2 / n)
    half = shrink * Z_95 * np.sqrt(share * (1.0 - share) / n + 0.25 * Z_95**2 / n**2)
    low = 0.0 if share == 0.0 else max(0.0, float(centre - half))  # exact where rounding would not be
    return Interval(low, 1.0 if share == 1.0 else min(1.0, float(centre + half)))


def auc_interval(auc: float, n_positive: float, n_negative: float) -> Interval:
    """The interval of an area under the ROC curve: the areas t with |auc - t| = z sd(t), where the variance is that of
    Hanley and McNeil (1982) with the symmetric count of Newcombe (2006, method 5)."""

    def variance(t: float) -> float:
        pairs = 0.5 * (n_positive + n_negative) - 1.0
        bend = (1.0 - t) / (2.0 - t) + t / (1.0 + t)
        return t * (1.0 - t) * (1.0 + pairs * bend) / (n_positive * n_negative)

    def lower(area: float) -> float:
        if area == 0.0:
            return 0.0
        end = min(area, 1.0 - 1e-12)  # 1 itself, where the variance is 0, is the other end of the interval
        return float(brentq(lambda t: t + Z_95 * np.sqrt(max(variance(t), 0.0)) - area, 0.0, end))

    return Interval(lower(auc), 1.0 - lower(1.0 - auc))


def mean_and_error(values: np.ndarray, weights: np.ndarray) -> tuple[float, float | None]:
    """A weighted mean and its standard error, None for one row."""
    mean = float(np.average(values, weights=weights))
    n = len(values)
    error = np.sqrt(np.sum((weights * (values - mean)) ** 2) * n / max(n - 1, 1)) / weights.sum()
    return mean, float(error) if n > 1 else None
