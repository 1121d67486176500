"""Probabilities and moments of Gaussian variables in a cone: the integrals of the multinomial probit.

With independent y_j ~ N(m_j, t_j^2), t_j^2 = 1 + v_j, the label is i when y_i is the largest:

    Z_i = P(y_i > y_j for all j != i) = E_u prod_{j != i} Phi(x_j),   x_j = (u t_i + m_i - m_j) / t_j,  u ~ N(0, 1)

(GR06 section 4.5 and eq 5.5; appendix A with v = 0). Everything here is an average under the tilted weight
w(u) = N(u) prod Phi(x_j) / Z. With h = phi/Phi and the gaps d_j = m_i - m_j,

    dlogZ/dd_j        = E_w[h_j] / t_j                                                   (GR06 eqs 4.3-4.4)
    d2logZ/dd_j dd_l  = cov_w(h_j, h_l) / (t_j t_l) - [j = l] E_w[h_j (x_j + h_j)] / t_j^2

and the derivatives in the means follow, since m_i enters every gap and m_j only its own: rows and columns of the
Hessian sum to zero. Its negative W is a graph Laplacian: cov_w(h_j, h_l) >= 0 because h falls with u, and
W_ij = cov_w(h_j, u) / (t_j t_i) <= 0 for the label i, by Stein's lemma under w.

The rule. l(u) = -u^2/2 + sum_j log Phi(x_j) is concave with curvature at least 1. Newton's method from u = 0 climbs
to its mode without overshoot (l' is convex and falling), and from outside it finds the two points where l has dropped
by ``DROP``. Between them the trapezoid rule converges exponentially; its step follows the curvature at the left end,
where the integrand is steepest, so that unequal variances only cost more nodes. A rule with fixed nodes fails in
the tails and whenever t_i is large against some t_j.
"""

from math import ceil, exp, log, log1p, sqrt

import numpy as np

from .compiled import FAR, INV_SQRT_2PI, as_places, jit, jit_sums, mills, normal_parts, over_rows

#: How far below its maximum the log integrand is followed: what is left out is below exp(-DROP) of the whole.
DROP = 36.0
#: Step of the trapezoid rule in units of (largest curvature)^-1/2.
STEP = 0.85
#: The same for a rule good to 1e-6, in half the time.
ROUGH_DROP, ROUGH_STEP = 16.0, 1.1
#: log Z is about minus a gap squared; beyond this size its digits no longer resolve the integrand.
LARGEST_MEAN = 1e7
_TINY = 1e-150
#: Nodes between fresh exponentials, and what is 0: products of smaller numbers are slow.
_PIECE, _SMALLEST = 64, 1e-290
#: So many mantissas are multiplied before their logarithm is taken: each is at least 1e-9.
_FEW_CLASSES = 16
Moments = tuple[np.ndarray, np.ndarray, np.ndarray]
_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


@jit
def _log_integrand(u, a, b, k):
    """l(u), l'(u), l''(u) for x_j = a_j u + b_j."""
    value, slope, curvature = -0.5 * u * u, -u, -1.0
    mantissa = 1.0
    for j in range(k):
        x = a[j] * u + b[j]
        if x < FAR:
            m, e, h = normal_parts(x)
            mantissa *= m
            value += e
            slope += a[j] * h
            curvature -= a[j] * a[j] * h * (x + h)
            if mantissa < _TINY:
                value += log(mantissa)
                mantissa = 1.0
    return value + log(mantissa), slope, curvature


@jit
def _support(a, b, k, drop=DROP, widest=STEP):
    """Mode height, the two ends of the support, the number of trapezoid intervals, and whether Z is nearly 1."""
    u = 0.0
    value, slope, curvature = _log_integrand(u, a, b, k)
    for _ in range(200):
        step = -slope / curvature
        u += step
        value, slope, curvature = _log_integrand(u, a, b, k)
        if step * step * -curvature < 1e-6:
            break
    peak, mode = value, u
    ends = np.empty(2)
    steepest = -curvature
    for side in range(2):
        # The curvature is at least 1, so this point lies outside; Newton then approaches the end from there.
        u = mode + (2 * side - 1) * sqrt(2.0 * drop)
        value, slope, curvature = _log_integrand(u, a, b, k)
        for _ in range(200):
            if value > peak - drop - 1.0:
                break
            u += (peak - drop - value) / slope
            value, slope, curvature = _log_integrand(u, a, b, k)
        ends[side] = u
        steepest = max(steepest, -curvature)
    low, certain = _reach_down(a, b, k, ends[0])
    if certain:
        _, _, curvature = _log_integrand(low, a, b, k)
        # The largest precision of the Gaussians N(u) phi(x_j).
        steepest = max(steepest, -curvature, 1.0 + np.max(a[:k] ** 2))
    intervals = ceil((ends[1] - low) * sqrt(steepest) / widest)
    return peak, low, ends[1], max(intervals, 12), certain


@jit
def _reach_down(a, b, k, low):
    """Move the left end so that 1 - Z and the derivatives keep their digits when the label is all but certain.

    N(u) phi(x_j) peaks at -a b / (1 + a^2) with height exp(-z_j^2 / 2), z_j = b / sqrt(1 + a^2), and N(u) Phi(-x_j)
    nearby. Once every z_j is large, those peaks lie to the left of all the mass of N(u) prod Phi.
    """
    nearest = np.inf
    for j in range(k):
        nearest = min(nearest, b[j] / sqrt(1.0 + a[j] * a[j]))
    # Not certain yet, or so certain that 1 - Z and the derivatives are zero in double precision.
    if nearest < 3.0 or nearest > FAR:
        return low, False
    for j in range(k):
        precision = 1.0 + a[j] * a[j]
        if 0.5 * (b[j] * b[j] / precision - nearest * nearest) < DROP:
            low = min(low, -a[j] * b[j] / precision - sqrt(2.0 * DROP))
    return low, True


@jit
def _gaps(label, m, t, a, b, index, K):
    """Slopes a_j = t_i/t_j and offsets b_j = (m_i - m_j)/t_j of the other classes."""
    k = 0
    for j in range(K):
        if j != label:
            a[k] = t[label] / t[j]
            b[k] = (m[label] - m[j]) / t[j]
            index[k] = j
            k += 1
    return k


@jit
def _drop_distant(a, b, index, k, low):
    """Keep only the classes that matter: those with x_j below FAR somewhere on the support."""
    kept = 0
    for j in range(k):
        if a[j] * low + b[j] < FAR:
            a[kept], b[kept], index[kept] = a[j], b[j], index[j]
            kept += 1
    return kept


@jit
def _node(u, a, b, k, peak, x, h):
    """The integrand at u relative to its peak; fills x_j and h_j."""
    value, mantissa = -0.5 * u * u - peak, 1.0
    for j in range(k):
        x[j] = a[j] * u + b[j]
        m, e, h[j] = normal_parts(x[j])
        mantissa *= m
        value += e
        if mantissa < _TINY:
            value += log(mantissa)
            mantissa = 1.0
    return mantissa * exp(value)


@jit
def _log_probability(peak, integral, certain, complement):
    """log Z; from 1 - Z where Z is so close to 1 that its own logarithm would lose every digit."""
    if certain:
        return log1p(-complement * exp(-_LOG_SQRT_2PI))
    return min(peak + log(integral) - _LOG_SQRT_2PI, 0.0)


@jit
def _squares(start, step, n, out):
    """exp(-x^2 / 2) at n points x = start + s step, 0 beyond FAR.

    From each point to the next by two products, outwards from the point nearest to 0, in pieces short enough that
    rounding does not add up: digits are lost with the square of the length of a piece.
    """
    ratio = exp(-step * step)
    for first in range(0, n, _PIECE):
        last = min(first + _PIECE, n) - 1
        anchor = min(max(int(-start / step + 0.5), first), last)
        x = start + anchor * step
        height = exp(-0.5 * x * x) if abs(x) < FAR else 0.0
        out[anchor] = height
        for direction in (1, -1):
            value, factor = height, exp(-direction * step * x - 0.5 * step * step) if height > 0.0 else 0.0
            s = anchor + direction
            while first <= s <= last:
                value *= factor
                factor *= ratio
                if value < _SMALLEST:
                    value = 0.0
                out[s] = value
                s += direction


@jit_sums
def _add_class(a, b, low, width, n, squares, x_plus_h, h, value, mantissa):
    """One more class at the n nodes: its hazards h, x + h, and what it adds to the log integrand and its mantissa.

    Phi(x) is the mantissa times exp(-x^2 / 2) left of 0. No branches: the loop runs in vector instructions.
    """
    for s in range(n):
        x = a * (low + s * width) + b
        m = mills(abs(x))
        right = x > 0.0
        p = 1.0 - squares[s] * m if right else m
        h[s] = INV_SQRT_2PI * (squares[s] if right else 1.0) / p
        x_plus_h[s] = x + h[s]
        mantissa[s] *= p
        value[s] -= 0.0 if right else 0.5 * x * x


@jit_sums
def _add_to_complement(a, b, low, width, n, squares, complement):
    """1 - prod_j Phi(x_j) with one more class, to full relative accuracy: c + (1 - c) Phi(-x) has no cancellation."""
    for s in range(n):
        x = a * (low + s * width) + b
        tail = squares[s] * mills(abs(x))
        complement[s] += (1.0 - complement[s]) * (tail if x > 0.0 else 1.0 - tail)


@jit_sums
def _weighted_sums(g, h, x_plus_h, n):
    """Sums over nodes of g h and g h (x + h)."""
    first, own = 0.0, 0.0
    for s in range(n):
        product = g[s] * h[s]
        first += product
        own += product * x_plus_h[s]
    return first, own


@jit_sums
def _weighted_product(g, h, other, n):
    """The sum over nodes of g h h'."""
    total = 0.0
    for s in range(n):
        total += g[s] * h[s] * other[s]
    return total


@jit_sums
def _weighted_square(g, along, n):
    """The sum over nodes of g along^2."""
    total = 0.0
    for s in range(n):
        total += g[s] * along[s] * along[s]
    return total


@jit
def _moment_rows(start, stop, labels, means, scales, order, drop, widest, log_z, gradient, hessian):
    """order 0: log Z; 1: and gradient and Hessian's diagonal (n, K, 1); 2: and full Hessian (n, K, K)."""
    K = means.shape[1]
    a, b, index = np.empty(K), np.empty(K), np.empty(K, np.int64)
    first, own = np.empty(K), np.empty(K)
    second = np.empty((K, K))  # E[h_j h_q] below the diagonal; order 1 needs the diagonal alone
    room = 0
    for n in range(start, stop):
        i = labels[n]
        t = scales[n]
        k = _gaps(i, means[n], t, a, b, index, K)
        peak, low, high, intervals, certain = _support(a, b, k, drop, widest)
        k = _drop_distant(a, b, index, k, low)
        width, nodes = (high - low) / intervals, intervals + 1
        if nodes > room:
            room = 2 * nodes
            h, x_plus_h = np.empty((K, room)), np.empty((K, room))
            squares, g, mantissa, complement, along = (
                np.empty(room),
                np.empty(room),
                np.empty(room),
                np.empty(room),
                np.empty(room),
            )
        for s in range(nodes):
            u = low + s * width
            g[s] = -0.5 * u * u - peak
            mantissa[s], complement[s], along[s] = 1.0, 0.0, 0.0
        for j in range(k):
            _squares(a[j] * low + b[j], a[j] * width, nodes, squares)
            _add_class(a[j], b[j], low, width, nodes, squares, x_plus_h[j], h[j], g, mantissa)
            if certain:
                _add_to_complement(a[j], b[j], low, width, nodes, squares, complement)
            if j % _FEW_CLASSES == _FEW_CLASSES - 1:
                for s in range(nodes):
                    g[s] += log(mantissa[s])
                    mantissa[s] = 1.0
        total, left = 0.0, 0.0
        for s in range(nodes):
            g[s] = mantissa[s] * exp(g[s])
            total += g[s]
            if certain:
                u = low + s * width
                left += complement[s] * exp(-0.5 * u * u)
        log_z[n] = _log_probability(peak, total * width, certain, left * width)
        if order == 0:
            continue
        gradient[n] = 0.0
        for j in range(k):
            first[j], own[j] = _weighted_sums(g, h[j], x_plus_h[j], nodes)
            for q in range(0 if order == 2 else j, j + 1):
                second[j, q] = _weighted_product(g, h[j], h[q], nodes)
            first[j] /= total
            gradient[n, index[j]] = -first[j] / t[index[j]]
            gradient[n, i] += first[j] / t[index[j]]
        if order == 1:
            for j in range(k):
                for s in range(nodes):
                    along[s] += h[j, s] / t[index[j]]
            summed = _weighted_square(g, along, nodes)
            _fill_diagonal(n, i, index, k, t, total, first, own, second, summed, hessian)
        else:
            _fill_hessian(n, i, index, k, t, total, first, own, second, hessian)


@jit
def _fill_diagonal(n, i, index, k, t, total, first, own, second, summed, hessian):
    """Second derivatives in each mean alone; the label's is var_w(sum_j h_j / t_j) - sum_j E_w[own_j] / t_j^2."""
    hessian[n] = 0.0
    slope, label_label = 0.0, summed / total
    for j in range(k):
        c = index[j]
        hessian[n, c, 0] = ((second[j, j] - own[j]) / total - first[j] * first[j]) / (t[c] * t[c])
        slope += first[j] / t[c]
        label_label -= own[j] / total / (t[c] * t[c])
    hessian[n, i, 0] = label_label - slope * slope


@jit
def _fill_hessian(n, i, index, k, t, total, first, own, second, hessian):
    """From the moments of h to the derivatives in the means; the label's row makes every sum zero."""
    hessian[n] = 0.0
    for j in range(k):
        c = index[j]
        row_sum = 0.0
        for q in range(k):
            raw = second[j, q] if q <= j else second[q, j]
            covariance = raw / total - first[j] * first[q]
            if q == j:
                covariance -= own[j] / total
            covariance /= t[c] * t[index[q]]
            row_sum += covariance
            hessian[n, c, index[q]] = covariance
        hessian[n, i, i] += row_sum
        hessian[n, c, i] = -row_sum
        hessian[n, i, c] = -row_sum


@jit
def _curvature_pullback_rows(start, stop, labels, means, cotangent, out):
    """out_k = sum_j cotangent_j d(-d2logZ/dm_j^2)/dm_k at unit scales.

    In gaps, sum_j c_j d2logZ/dm_j^2 = sum_jl B_jl d2logZ/dd_j dd_l with B_jl = c_i + [j = l] c_j. With
    Q(u) = sum_j B_jj L''_j + h' B h (L = log Phi, L' = h) that is q = E_w[Q] - g' B g, g = E_w[h], and
    dq/dd_k = E_w[dQ/dd_k] + E_w[Q h_k] - E_w[Q] g_k - 2 (H B g)_k, H the Hessian in the gaps.
    """
    K = means.shape[1]
    a, b, index = np.empty(K), np.empty(K), np.empty(K, np.int64)
    x, h, c = np.empty(K), np.empty(K), np.empty(K)
    first, direct, mixed, curve = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    unit = np.ones(K)
    for n in range(start, stop):
        i = labels[n]
        k = _gaps(i, means[n], unit, a, b, index, K)
        peak, low, high, intervals, _ = _support(a, b, k)
        k = _drop_distant(a, b, index, k, low)
        width = (high - low) / intervals
        ci = cotangent[n, i]
        for j in range(k):
            c[j] = cotangent[n, index[j]]
        total, total_q = 0.0, 0.0
        first[:k], direct[:k], mixed[:k], curve[:k] = 0.0, 0.0, 0.0, 0.0
        # E_w[h_k (B g)' h] needs g first, so H B g is gathered from E_w[h_k h_q] below.
        cross = np.zeros((k, k))
        for s in range(intervals + 1):
            g = _node(low + s * width, a, b, k, peak, x, h)
            total_h = h[:k].sum()
            curved = ci * total_h * total_h
            for j in range(k):
                second = -h[j] * (x[j] + h[j])
                curved += (ci + c[j]) * second + c[j] * h[j] * h[j]
            total += g
            total_q += g * curved
            for j in range(k):
                second = -h[j] * (x[j] + h[j])
                third = -second * (x[j] + h[j]) - h[j] * (1.0 + second)
                first[j] += g * h[j]
                curve[j] += g * second
                direct[j] += g * ((ci + c[j]) * third + 2.0 * second * (ci * total_h + c[j] * h[j]))
                mixed[j] += g * curved * h[j]
                for q in range(k):
                    cross[j, q] += g * h[j] * h[q]
        mean_q = total_q / total
        first[:k] /= total
        sum_g = first[:k].sum()
        out[n] = 0.0
        for j in range(k):
            # (H B g)_j with (B g)_l = ci sum_g + c_l g_l
            hbg = curve[j] / total * (ci * sum_g + c[j] * first[j])
            for q in range(k):
                hbg += (cross[j, q] / total - first[j] * first[q]) * (ci * sum_g + c[q] * first[q])
            dq = (direct[j] + mixed[j]) / total - mean_q * first[j] - 2.0 * hbg
            # out wants -d2logZ, and d_j = m_i - m_j
            out[n, index[j]] = dq
            out[n, i] -= dq


def _prepare(means: np.ndarray, variances: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    means = np.ascontiguousarray(means, dtype=float)
    if means.size and not np.max(np.abs(means)) <= LARGEST_MEAN:
        raise ValueError(f"expected latent means up to {LARGEST_MEAN:g} in size, got {np.max(np.abs(means)):.3g}")
    if variances is None:
        return means, np.ones_like(means)
    return means, np.sqrt(1.0 + np.broadcast_to(np.asarray(variances, dtype=float), means.shape))


def _cost(K: int, order: int) -> float:
    """Rough nanoseconds for one row."""
    return 1000.0 * K * (1.0 + (K / 30.0 if order else 0.0))


def _moments(labels, means, variances, order, rough=False) -> Moments:
    means, scales = _prepare(means, variances)
    n, K = means.shape
    log_z = np.empty(n)
    gradient = np.empty((n, K)) if order >= 1 else np.empty((0, 0))
    hessian = np.empty({1: (n, K, 1), 2: (n, K, K)}.get(order, (0, 0, 0)))
    rule = (ROUGH_DROP, ROUGH_STEP) if rough else (DROP, STEP)
    cost = _cost(K, order) * (0.5 if rough else 1.0)
    over_rows(_moment_rows, n, cost, as_places(labels, K), means, scales, order, *rule, log_z, gradient, hessian)
    return log_z, gradient, hessian


def log_z(
    labels: np.ndarray, means: np.ndarray, variances: np.ndarray | None = None, *, rough: bool = False
) -> np.ndarray:
    """log probability (n,) of each row's label for latent means (n, K) and variances (n, K), 0 by default.

    ``rough`` is good to 1e-6 relative: enough to compare rows.
    """
    return _moments(labels, means, variances, 0, rough)[0]


def tilted(labels: np.ndarray, means: np.ndarray, variances: np.ndarray | None = None) -> Moments:
    """(log Z, dlogZ/dm, d2logZ/dm_k^2): what moment matching of marginals needs, (n,), (n, K), (n, K).

    At zero variances the gradient is p of GR06 eq 4.6.
    """
    log_z, gradient, hessian = _moments(labels, means, variances, 1)
    return log_z, gradient, hessian[:, :, 0]


def derivatives(labels: np.ndarray, means: np.ndarray, variances: np.ndarray | None = None) -> Moments:
    """(log Z, dlogZ/dm, d2logZ/dm dm'): (n,), (n, K), (n, K, K)."""
    return _moments(labels, means, variances, 2)


def log_proba(means: np.ndarray, variances: np.ndarray | None = None) -> np.ndarray:
    """log probabilities (n, K) of all classes, each integral centred on its own mode (GR06 section 4.5)."""
    n, K = means.shape
    return np.stack([log_z(np.full(n, k), means, variances) for k in range(K)], axis=1)


def curvature_pullback(labels: np.ndarray, means: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    """d sum_nj cotangent_nj W_n,jj / d means, where W = -d2logZ/dm dm' at zero variances."""
    means, cotangent = np.ascontiguousarray(means, dtype=float), np.ascontiguousarray(cotangent, dtype=float)
    n, K = means.shape
    out = np.empty_like(means)
    over_rows(_curvature_pullback_rows, n, _cost(K, 2), as_places(labels, K), means, cotangent, out)
    return out
