"""Exact draws of Gaussian variables from a cone: the auxiliaries of the multinomial probit given their means.

For y_j ~ N(m_j, 1) with y_i the largest, u = y_i - m_i has the density N(u) prod_j Phi(u + m_i - m_j) / Z,
log-concave and one-dimensional; given y_i the others are normal below it, drawn by inversion. For u we propose from
the log-linear interpolation of its density between the nodes of ``probit_moments``'s rule and accept or keep the
current value (Metropolis): a chain that uses this step has exactly the right distribution, acceptance is near one,
and no loop can hang.
"""

from math import exp, expm1, log, log1p, sqrt

import numpy as np

from .compiled import as_places, jit, normal_parts, over_rows
from .probit_moments import _gaps, _log_integrand, _support


@jit
def inverse_log_phi(log_p):
    """x with log Phi(x) = log_p < 0, at any depth: Newton on a concave function, from the left."""
    if log_p > -0.6931471805599453:
        if log_p > -1e-300:
            return 38.0
        return -inverse_log_phi(log(-expm1(log_p)))
    x = -sqrt(-2.0 * log_p)
    for _ in range(60):
        mantissa, exponent, h = normal_parts(x)
        step = (log_p - log(mantissa) - exponent) / h
        x += step
        if abs(step) <= 1e-13 * max(1.0, abs(x)):
            break
    return x


@jit
def _log_phi(x):
    mantissa, exponent, _ = normal_parts(x)
    return log(mantissa) + exponent


@jit
def _draw_label(a, b, k, current, where, accept, log_density):
    """One Metropolis step for u; ``where`` and ``accept`` are uniform on (0, 1)."""
    peak, low, high, intervals, _ = _support(a, b, k)
    width = (high - low) / intervals
    total = 0.0
    for s in range(intervals + 1):
        log_density[s] = _log_integrand(low + s * width, a, b, k)[0] - peak
        if s > 0:
            total += _segment(log_density[s - 1], log_density[s])
    left = where * total
    s = 0
    while s < intervals - 1:
        mass = _segment(log_density[s], log_density[s + 1])
        if left <= mass:
            break
        left -= mass
        s += 1
    mass = _segment(log_density[s], log_density[s + 1])
    share = min(left / mass, 1.0)
    slope = log_density[s + 1] - log_density[s]
    inside = share if abs(slope) < 1e-9 else log1p(share * expm1(slope)) / slope
    proposal = low + (s + inside) * width
    gain = _log_integrand(proposal, a, b, k)[0] - peak - (log_density[s] + inside * slope)
    if low <= current <= high:
        place = (current - low) / width
        c = min(int(place), intervals - 1)
        proposed = log_density[c] + (place - c) * (log_density[c + 1] - log_density[c])
        gain -= _log_integrand(current, a, b, k)[0] - peak - proposed
        if log(accept) > gain:
            return current
    # A current value outside the support has probability below exp(-DROP): leave it at once.
    return proposal


@jit
def _segment(left, right):
    """Integral of exp over a unit interval with these log densities at its ends, linear between."""
    slope = right - left
    if abs(slope) < 1e-9:
        return exp(0.5 * (left + right))
    return exp(left) * expm1(slope) / slope


@jit
def _draw_rows(start, stop, labels, means, values, uniforms):
    K = means.shape[1]
    a, b, index = np.empty(K), np.empty(K), np.empty(K, np.int64)
    unit = np.ones(K)
    log_density = np.empty(4096)
    for n in range(start, stop):
        i = labels[n]
        k = _gaps(i, means[n], unit, a, b, index, K)
        u = _draw_label(a, b, k, values[n, i] - means[n, i], uniforms[n, K], uniforms[n, K + 1], log_density)
        values[n, i] = means[n, i] + u
        for j in range(K):
            if j != i:
                room = _log_phi(values[n, i] - means[n, j])
                values[n, j] = means[n, j] + inverse_log_phi(log(uniforms[n, j]) + room)


def redraw(labels: np.ndarray, means: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> None:
    """Replace ``values`` (n, K), auxiliaries in their cones, by the next state of the chain, in place."""
    n, K = means.shape
    uniforms = np.maximum(rng.random((n, K + 2)), 1e-300)
    over_rows(_draw_rows, n, 1500.0 * K, labels, np.ascontiguousarray(means), values, uniforms)


def start(labels: np.ndarray, means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Auxiliaries somewhere in the right cones, to begin a chain from."""
    values = means + rng.standard_normal(means.shape)
    values[np.arange(len(labels)), as_places(labels, means.shape[1])] = values.max(axis=1) + rng.random(len(labels))
    return values


@jit
def _half_line_rows(start, stop, sides, means, out, uniforms):
    for n in range(start, stop):
        s = sides[n] * means[n, 0]
        out[n, 0] = sides[n] * (s - inverse_log_phi(log(uniforms[n]) + _log_phi(s)))


def draw_half_line(labels: np.ndarray, means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """y ~ N(mean, 1) above zero for label 1 and below it for label 0, (n, 1)."""
    out = np.empty_like(means)
    uniforms = np.maximum(rng.random(len(means)), 1e-300)
    over_rows(_half_line_rows, len(means), 500.0, 2.0 * labels - 1.0, np.ascontiguousarray(means), out, uniforms)
    return out
