"""The cone integral in plain NumPy: bisection for the support, then a dense composite Gauss-Legendre rule.

Nothing is shared with the compiled version but the formula. One row at a time, thousands of nodes.
"""

import numpy as np
from scipy.special import log_ndtr

from gpclass.numerics.special import hazard

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def _bisect(predicate, inside, outside):
    for _ in range(200):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if predicate(middle) else (inside, middle)
    return inside


def derivatives(label, mean, variance, drop=700.0, panels=600):
    """log Z, gradient and Hessian in the means for one row."""
    t = np.sqrt(1.0 + variance)
    others = np.array([j for j in range(len(mean)) if j != label])
    a, b = t[label] / t[others], (mean[label] - mean[others]) / t[others]

    def log_integrand(u):
        return -0.5 * u * u + log_ndtr(np.multiply.outer(u, a) + b).sum(-1)

    right = 1.0
    while -right + (a * hazard(a * right + b)).sum() > 0:
        right *= 2.0
    mode = _bisect(lambda u: -u + (a * hazard(a * u + b)).sum() > 0, -right, right)
    peak = log_integrand(mode)
    low = _bisect(lambda u: log_integrand(u) > peak - drop, mode, mode - 40.0)
    high = _bisect(lambda u: log_integrand(u) > peak - drop, mode, mode + 40.0)
    edges = np.linspace(low, high, panels + 1)
    half = 0.5 * np.diff(edges)[:, None]
    u = (0.5 * (edges[:-1] + edges[1:])[:, None] + half * NODES).ravel()
    weights = (half * WEIGHTS).ravel() * np.exp(log_integrand(u) - peak)
    total = weights.sum()
    weights /= total
    x = np.multiply.outer(u, a) + b
    h = hazard(x)
    first = weights @ h
    second = (h * weights[:, None]).T @ h - np.outer(first, first) - np.diag(weights @ (h * (x + h)))
    jacobian = np.zeros((len(others), len(mean)))
    jacobian[np.arange(len(others)), others] = -1.0 / t[others]
    jacobian[:, label] = 1.0 / t[others]
    log_z = peak + np.log(total) - 0.5 * np.log(2.0 * np.pi)
    return log_z, jacobian.T @ first, jacobian.T @ second @ jacobian
