"""Labels from correlated latent values, by expectation propagation in each row.

The label i is the largest of K latent values plus noise, f ~ N(m, S): normal noise gives the multinomial probit, Gumbel
noise the softmax. With u the label's own noise and x_j = f_i - f_j + u, Z = E prod_{j != i} F(x_j), F the distribution
function of the noise. Each F gets a Gaussian site on x_j with precision alpha_j and location beta_j, visited in turn:
for the probit, where u itself is Gaussian, the inner loop of Riihimaki, Jylanki & Vehtari (2013). A Gumbel u starts
from the Gaussian with its mean and variance, and one more site corrects that.

With u integrated out again the sites make one Gaussian site on f whose precision has the product form of
``product_form``, diag(d) - d d' / sum(d), with d_j = alpha_j and d_i the precision of u.

For the probit with independent latent values ``probit_moments`` is exact and faster.
"""

from math import exp, log, log1p, pi, sqrt

import numpy as np
from scipy.special import log_softmax

from .compiled import as_places, jit, normal_parts, over_rows

SWEEPS = 50
TOLERANCE = 1e-9
#: Mean and variance of the Gumbel distribution.
_GUMBEL_MEAN, _GUMBEL_VARIANCE = 0.5772156649015329, pi * pi / 6.0
#: The quadrature for a Gumbel factor: Gauss-Legendre panels between the points where the integrand fell by exp(-DROP),
#: each as wide as so many local standard deviations.
_DROP, _PANEL, _MOST_PANELS = 30.0, 2.5, 1000
#: How much of the Gaussian that stands for u its correcting site may take away.
_ALMOST_FLAT = 1.0 - 1e-7
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(10)


@jit
def _fallen(x, a, b, peak):
    """Whether the log integrand -a x^2 / 2 + b x - e^-x is DROP below its peak."""
    return (b - 0.5 * a * x) * x - exp(-x) < peak - _DROP


@jit
def _edge(mode, step, a, b, peak):
    """Where the integrand has fallen by DROP, on the side of ``step``; doubling, then halving.

    Left of the mode e^-x is a wall, far steeper than the width at the mode says: hence the many halvings.
    """
    for _ in range(100):
        if _fallen(mode + step, a, b, peak):
            break
        step *= 2.0
    near = 0.0
    for _ in range(40):
        middle = 0.5 * (near + step)
        if _fallen(mode + middle, a, b, peak):
            step = middle
        else:
            near = middle
    return mode + step


@jit
def _gumbel_factor(density, m, v):
    """log Z and the matching site's precision and location, for x ~ N(m, v) and the factor exp(-e^-x), the Gumbel
    distribution function, or (``density``) the Gumbel density over the Gaussian that stands for it."""
    a, b, constant = 1.0 / v, m / v, -0.5 * m * m / v - 0.5 * log(2.0 * pi * v)
    tilt, flat = 0.0, 0.0
    if density:
        flat = 1.0 / _GUMBEL_VARIANCE
        tilt = -1.0 - _GUMBEL_MEAN * flat
        a, b = max(a - flat, 0.0), b + tilt
        constant += 0.5 * (_GUMBEL_MEAN**2 * flat + log(2.0 * pi * _GUMBEL_VARIANCE))
    # The slope b - a x + e^-x is convex and falls: Newton's method from its positive side never overshoots.
    mode = -log1p(max(-b, 0.0))
    for _ in range(100):
        e = exp(-mode)
        step = (b - a * mode + e) / (a + e)
        mode += step
        if step <= 1e-10 * (1.0 + abs(mode)):
            break
    e = exp(-mode)
    peak = (b - 0.5 * a * mode) * mode - e
    width = 1.0 / sqrt(a + e)
    low, high = _edge(mode, -width, a, b, peak), _edge(mode, width, a, b, peak)
    total, first, square, bend, shift, spread = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for _ in range(_MOST_PANELS):
        if low >= high:
            break
        # The curvature a + e^-x is largest at the left end of a panel.
        half = 0.5 * min(_PANEL / sqrt(a + exp(-low)), high - low)
        for s in range(_NODES.size):
            x = low + half * (1.0 + _NODES[s])
            e = exp(-x)
            weight = half * _NODE_WEIGHTS[s] * exp((b - 0.5 * a * x) * x - e - peak)
            slope = e + tilt + flat * x
            total += weight
            first += weight * slope
            square += weight * slope * slope
            bend += weight * (flat - e)
            shift += weight * (x - mode)
            spread += weight * (x - mode) ** 2
        low += 2.0 * half
    first /= total
    log_z = log(total) + peak + constant
    shift /= total
    variance = spread / total - shift * shift
    if variance > 0.5 * v:
        second = square / total - first * first + bend / total
        shrink = 1.0 + v * second
        if -second / shrink > -_ALMOST_FLAT * flat or not density:
            return log_z, -second / shrink, (first - m * second) / shrink
        # Far right the Gumbel density is exponential: keep a trace of curvature, and the mean.
        return log_z, -_ALMOST_FLAT * flat, first - _ALMOST_FLAT * flat * (m + v * first)
    # The derivatives of log Z have few digits of a site that says far more than the belief; the moments have them all.
    precision = 1.0 / variance
    return log_z, precision - 1.0 / v, precision * (mode + shift) - m / v


@jit
def _factor(gumbel, density, m, v):
    """log Z of one factor under x ~ N(m, v), and the precision and location of the site that matches its moments."""
    if gumbel:
        return _gumbel_factor(density, m, v)
    scale = sqrt(1.0 + v)
    z = m / scale
    mantissa, exponent, h = normal_parts(z)
    second = -h * (z + h) / (1.0 + v)
    shrink = 1.0 + v * second
    return log(mantissa) + exponent, -second / shrink, (h / scale - m * second) / shrink


@jit
def _site_sweeps(gumbel, k, prior_mean, covariance, mean, alpha, beta):
    """log Z and sites for k factors; covariance and mean enter as the prior's, leave as the posterior's.

    With ``gumbel`` the last of the k variables is u itself.
    """
    alpha[:k] = 0.0
    beta[:k] = 0.0
    log_det = 0.0
    for _ in range(SWEEPS):
        change = 0.0
        for j in range(k):
            spread = covariance[j, j]
            precision = 1.0 / spread - alpha[j]
            if precision <= 0.0:
                continue
            v = 1.0 / precision
            m = v * (mean[j] / spread - beta[j])
            _, new_alpha, new_beta = _factor(gumbel, j == k - 1, m, v)
            d_alpha, d_beta = new_alpha - alpha[j], new_beta - beta[j]
            change = max(change, abs(d_alpha) * spread, abs(d_beta) * sqrt(spread))
            alpha[j], beta[j] = new_alpha, new_beta
            grow = 1.0 + d_alpha * spread
            log_det += log(grow)
            pull = (d_beta - d_alpha * mean[j]) / grow
            shrinkage = d_alpha / grow
            column = covariance[:k, j].copy()
            for a in range(k):
                mean[a] += pull * column[a]
                for b in range(k):
                    covariance[a, b] -= shrinkage * column[a] * column[b]
        if change < TOLERANCE:
            break
    # log Z of EP with prior means, in natural parameters.
    total = -0.5 * log_det
    for j in range(k):
        spread = covariance[j, j]
        precision = 1.0 / spread - alpha[j]
        v = 1.0 / precision
        location = mean[j] / spread - beta[j]
        log_z, _, _ = _factor(gumbel, j == k - 1, v * location, v)
        p = beta[j] - prior_mean[j] * alpha[j]
        q = location - prior_mean[j] * precision
        total += log_z + 0.5 * log1p(alpha[j] * v)
        total += 0.5 * p * (mean[j] - prior_mean[j])
        total += 0.5 * spread * (q * (alpha[j] * v * q - 2.0 * p) - p * p)
    return total


@jit
def _gaps(gumbel, i, means, covariance, K, gap, X):
    """Means and covariances of x_j = f_i - f_j + u, the label left out, and after them (Gumbel) of u."""
    shift, noise = (_GUMBEL_MEAN, _GUMBEL_VARIANCE) if gumbel else (0.0, 1.0)
    a = 0
    for j in range(K):
        if j == i:
            continue
        gap[a] = means[i] - means[j] + shift
        b = 0
        for q in range(K):
            if q != i:
                X[a, b] = covariance[i, i] - covariance[i, j] - covariance[i, q] + covariance[j, q] + noise
                b += 1
        a += 1
    if gumbel:
        gap[a] = shift
        X[a, : a + 1] = noise
        X[:a, a] = noise
        a += 1
    return a


@jit
def _site_rows(start, stop, gumbel, labels, means, covariances, log_z, d, location):
    K = means.shape[1]
    gap, mean, alpha, beta = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    X = np.empty((K, K))
    for n in range(start, stop):
        i = labels[n]
        k = _gaps(gumbel, i, means[n], covariances[n], K, gap, X)
        mean[:k] = gap[:k]
        log_z[n] = _site_sweeps(gumbel, k, gap, X, mean, alpha, beta)
        own, pull = 1.0, 0.0
        if gumbel:
            own = 1.0 / _GUMBEL_VARIANCE + alpha[K - 1]
            pull = _GUMBEL_MEAN / _GUMBEL_VARIANCE + beta[K - 1]
        # u integrated out of exp(-own u^2 / 2 + pull u) prod_j exp(-alpha_j x_j^2 / 2 + beta_j x_j).
        common = (pull + beta[: K - 1].sum()) / (own + alpha[: K - 1].sum())
        d[n, i] = own
        location[n, i] = 0.0
        a = 0
        for j in range(K):
            if j != i:
                d[n, j] = alpha[a]
                location[n, j] = alpha[a] * common - beta[a]
                location[n, i] -= location[n, j]
                a += 1


def log_proba(means: np.ndarray, covariances: np.ndarray, gumbel: bool = False) -> np.ndarray:
    """log probabilities (n, K) of all classes for latent means (n, K) and covariances (n, K, K), normalised."""
    n, K = means.shape
    return log_softmax(np.stack([site(np.full(n, k), means, covariances, gumbel)[0] for k in range(K)], axis=1), axis=1)


def site(
    labels: np.ndarray, means: np.ndarray, covariances: np.ndarray, gumbel: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log Z (n,) and the Gaussian site in f that stands for the label: precision diag(d) - d d' / sum(d), location.

    Both vanish on shifts common to all classes, as the label does.
    """
    means, covariances = np.ascontiguousarray(means, dtype=float), np.ascontiguousarray(covariances, dtype=float)
    n, K = means.shape
    log_z, d, location = np.empty(n), np.empty((n, K)), np.empty((n, K))
    cost = 100.0 * K**2 + (4000.0 * K if gumbel else 0.0)
    over_rows(_site_rows, n, cost, gumbel, as_places(labels, K), means, covariances, log_z, d, location)
    return log_z, d, location
