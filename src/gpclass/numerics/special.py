"""Normal-distribution functions that stay finite far in the tails, and quadrature rules for Gaussians."""

from functools import cache
from importlib import import_module

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr
from scipy.stats import qmc
from sklearn.externals import array_api_compat as compat

from .arrays import Array, on_host

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


def log_phi(x: np.ndarray) -> np.ndarray:
    """log N(x; 0, 1)."""
    return -0.5 * np.square(x) - LOG_SQRT_2PI


def log_Phi(x: np.ndarray) -> np.ndarray:
    """log of the standard normal distribution function."""
    return log_ndtr(x)


def hazard(x: np.ndarray) -> np.ndarray:
    """phi(x) / Phi(x), close to -x far left and to 0 far right."""
    x = np.asarray(x, dtype=float)
    left, right = np.minimum(x, 0.0), np.maximum(x, 0.0)
    # erfcx carries the factor exp(x^2/2) that phi/Phi would lose.
    by_tail = np.sqrt(2.0 / np.pi) / erfcx(-left / np.sqrt(2.0))
    return np.where(x <= 0, by_tail, np.exp(log_phi(right)) / ndtr(right))


def log_ndtr_and_hazard(x: Array) -> tuple[Array, Array]:
    """log Phi(x) and phi(x) / Phi(x) for an array of any namespace, which computes them itself where it can."""
    if compat.is_torch_array(x) or compat.is_cupy_array(x):
        special = import_module("torch.special" if compat.is_torch_array(x) else "cupyx.scipy.special")
        # exp(x^2 / 2) is infinite far right, where phi is 0.
        return special.log_ndtr(x), np.sqrt(2.0 / np.pi) / special.erfcx(x * -np.sqrt(0.5))
    return on_host(lambda values: (log_Phi(values), hazard(values)), x)


def log_Phi_difference(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """log(Phi(high) - Phi(low)) for low < high, without cancellation in either tail."""
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    # Reflect intervals on the right: Phi(high) - Phi(low) = Phi(-low) - Phi(-high).
    reflect = low + high > 0
    a, b = np.where(reflect, -high, low), np.where(reflect, -low, high)
    log_b = log_Phi(b)
    with np.errstate(invalid="ignore"):
        return log_b + np.log(-np.expm1(np.minimum(log_Phi(a) - log_b, 0.0)))


@cache
def gauss_hermite(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights with sum_s w_s g(u_s) = E g(u), u ~ N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(order)
    weights = weights / weights.sum()
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights


@cache
def gaussian_rule(dimension: int, budget: int = 4096) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (S, dimension) and weights for E g(u), u ~ N(0, I).

    One dimension has 64 Gauss-Hermite nodes; a few have the product rule that fits the budget (at least 8 nodes
    a side); more have scrambled Sobol points with a fixed seed, so that results never depend on the caller.
    """
    if dimension == 1:
        nodes, weights = gauss_hermite(64)
        return nodes[:, None], weights
    side = int(budget ** (1.0 / dimension) + 1e-9)
    if side >= 8:
        nodes, weights = gauss_hermite(side)
        grid = np.stack(np.meshgrid(*[nodes] * dimension, indexing="ij"), -1).reshape(-1, dimension)
        products = np.stack(np.meshgrid(*[weights] * dimension, indexing="ij"), -1).reshape(-1, dimension)
        return grid, products.prod(axis=1)
    points = qmc.MultivariateNormalQMC(np.zeros(dimension), rng=np.random.default_rng(0)).random(budget)
    return points, np.full(budget, 1.0 / budget)


def step_rule(mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes f (n, S) and log weights for E g(f), f ~ N(mean, var), where g changes around f = 0 on a scale of 1.

    Gauss-Legendre panels that are short around 0 and grow outwards, cut to where the Gaussian or, for means far
    from 0, the part of it between there and 0 has its mass. Right for a logistic function under any variance.
    """
    order, reach = 16, 9.5
    x, w = np.polynomial.legendre.leggauss(order)
    mean, scale = np.asarray(mean, dtype=float)[:, None], np.sqrt(np.asarray(var, dtype=float))[:, None]
    low, high = np.minimum(mean, 0.0) - reach * scale, np.maximum(mean, 0.0) + reach * scale
    # Around 0 for the step, around the mean for the Gaussian.
    growth = np.array([0.0, 2.0, 5.0, 10.0, 20.0, 40.0])
    around_step = np.concatenate([-growth[:0:-1], growth])
    around_mean = mean + scale * np.linspace(-reach, reach, 9)
    edges = np.hstack([np.tile(around_step, (len(mean), 1)), around_mean, low, high])
    edges = np.sort(np.clip(edges, low, high), axis=1)
    half = 0.5 * np.diff(edges, axis=1)[:, :, None]
    flat = len(mean), half.shape[1] * order
    nodes = (0.5 * (edges[:, 1:] + edges[:, :-1])[:, :, None] + half * x).reshape(flat)
    with np.errstate(divide="ignore"):
        log_weights = np.log((half * w).reshape(flat)) + log_phi((nodes - mean) / scale) - np.log(scale)
    return nodes, log_weights
