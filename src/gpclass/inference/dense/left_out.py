"""Leave-one-out predictions of several classes: the rows that respond most to leaving one out are solved for again.

The linear response of a mode, and the cavity of EP, take the sites of all other rows as they are. With several classes
and large amplitudes that flatters: without a row its neighbours are less certain too. So each row gets a small latent
problem of its own, at the s inputs with the largest prior covariance to it. All rows elsewhere keep their Gaussian
sites. With A the posterior covariance at the s inputs, W the sum of the sites at each of them and alpha that of the
gradients, the latent values there have, before they see their own labels, the covariance and mean

    V = A (I - W A)^-1,   mu = m - V alpha.

Under that prior the labels at these inputs, without the row's, are fitted anew, by Newton's method or by sweeps of EP.
With one input that has one row this is linear response, or the cavity; with all inputs it is the refit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...numerics import product_form as curvature
from ...numerics.arrays import to_host
from .cavities import FLOOR, cavities, matching_sites
from .product_form_posterior import ProductFormPosterior

#: Latent values of a small problem, about: sites of EP depend on more of the others than modes do.
SIZE_OF_MODES, SIZE_OF_SWEEPS = 100, 160
#: The fewest and most inputs in it.
_FEWEST, _MOST = 8, 20
#: Rows that leaving them out moves less than this are predicted by linear response: in units of their spread and the
#: unit noise.
_SMALL_MOVE = 0.05
#: At most so many problems, those of the rows that move farthest, so that the cost stays below that of learning.
_MOST_PROBLEMS = 500
#: Numbers in C matrices of n x n that may be held, three times over.
_MOST_NUMBERS = 5e7
#: Problems that are solved together.
_BLOCK = 8
#: Newton's method converges quadratically, sweeps of EP linearly: each is as close when its steps are so small, those
#: of sweeps in the same units. Sweeps go on where EP itself is asked for more than this multiple of its tolerance.
_MAX_ITER, _TOL, _SWEEP_TOL, _SWEEPS_PER_TOL = 40, 1e-4, 3e-3, 30.0
#: Share of the way to the matching sites that a sweep of EP goes.
_DAMPING = 0.75
#: Inputs are equal where the variance of their difference is below this share of their variances.
_EQUAL = 1e-10


class SmallProblems(NamedTuple):
    """b problems with s inputs each.

    ``rows`` (t,) are those at the inputs, one of each kind of equal rows, in the order of the inputs; ``inputs`` (t,)
    has the input of each, counted through all problems, and ``left`` (t,) how many rows of the kind there are when one
    is taken out of its problem. Prior means are (b, sC), covariances
    (b, sC, sC), and ``alpha`` (t, C) has the gradients of the rows in the whole problem. Sweeps end when
    the means at the first ``watched`` inputs have settled.
    """

    rows: np.ndarray
    inputs: np.ndarray
    left: np.ndarray
    alpha: np.ndarray
    mean: np.ndarray
    cov: np.ndarray
    watched: int = 1

    def spread(self, values: np.ndarray, C: int) -> np.ndarray:
        """Values (b, sC) of inputs for all rows (t, C)."""
        return values.reshape(-1, C)[self.inputs]

    def summed(self, values: np.ndarray) -> np.ndarray:
        """The sum at each input, (b, s, ...), of values (t, ...) of rows."""
        starts = np.searchsorted(self.inputs, np.arange(self.inputs[-1] + 1))
        sums = np.add.reduceat(values, starts)
        return sums.reshape(len(self.mean), -1, *values.shape[1:])


#: solves small problems: alpha (b, sC) and the precisions W (b, s, C, C) at the inputs; latent values there then have
#: the mean mu + V alpha and the covariance (V^-1 + W)^-1
Solver = Callable[[SmallProblems], tuple[np.ndarray, np.ndarray]]


def largest_moves(moves: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """How far (n,) each row moves, for steps (n, C) of latent values with covariances (n, C, C), in units of their
    spread and the unit noise; what is common to all classes does not count."""
    C = moves.shape[1]
    contrasts = np.eye(C) - (1.0 / C if C > 1 else 0.0)
    variance = np.einsum("ac,ncd,ad->na", contrasts, cov, contrasts, optimize=True)
    return np.max(np.abs(moves @ contrasts) / np.sqrt(1.0 + np.maximum(variance, 0.0)), axis=1)


def solve_again(
    posterior: ProductFormPosterior,
    likelihood: Likelihood,
    y: np.ndarray,
    centre: tuple[np.ndarray, np.ndarray],
    left_out: tuple[np.ndarray, np.ndarray],
    solve: Solver,
    problem_size: int,
) -> None:
    """Replace means (n, C) and covariances (n, C, C) of rows without their labels where these are far from ``centre``,
    the mean and alpha (n, C) of the posterior."""
    (mean, alpha), (n, C) = centre, centre[0].shape
    moves = largest_moves(left_out[0] - mean, left_out[1])
    if C * n * n > _MOST_NUMBERS:
        return
    K = to_host(posterior.K)
    K = K if K.ndim == 2 else K.sum(axis=0)
    first = _first_equal(K)
    # Rows with the same input and label are of one kind, unless they have weights.
    kind = np.arange(n)
    if likelihood.subset(kind[:1]) is likelihood:
        kind = np.unique(first * (int(y.max()) + 1) + y, return_inverse=True)[1]
    _, example, counts = np.unique(kind, return_index=True, return_counts=True)
    asked = np.flatnonzero(moves[example] > _SMALL_MOVE)
    asked = asked[np.argsort(-moves[example[asked]], kind="stable")][:_MOST_PROBLEMS]
    if len(asked) == 0:
        return
    own, shared = (to_host(part) for part in posterior.joint())
    W, share = to_host(posterior.precision()), likelihood.share_left_out(n)
    distinct = np.unique(first)
    kinds_at = {u: np.flatnonzero(first[example] == u) for u in distinct}
    size = min(len(distinct), max(_FEWEST, min(problem_size // C, _MOST)))
    blocks = np.array_split(asked, -(-len(asked) // _BLOCK))

    def one(number: int) -> tuple[np.ndarray, np.ndarray]:
        block = blocks[number]
        near = np.stack([_nearest(K[row], first[row], distinct, size) for row in example[block]])
        groups = [kinds_at[u] for u in near.ravel()]
        inputs, kinds = np.repeat(np.arange(near.size), [len(group) for group in groups]), np.concatenate(groups)
        rows, copies = example[kinds], counts[kinds].astype(float)
        left = copies - np.where(kinds == block[inputs // size], share[rows], 0.0)
        start = SmallProblems(rows, inputs, left, alpha[rows], mean[near].reshape(len(block), -1), np.empty(0))
        A = np.stack([posterior_block(own, shared, group) for group in near])
        V = np.linalg.solve(np.eye(size * C) - times_blocks(A, start.summed(copies[:, None, None] * W[rows])), A)
        V = 0.5 * (V + np.swapaxes(V, 1, 2))
        pull = start.summed(copies[:, None] * alpha[rows]).reshape(len(block), -1)
        problem = start._replace(mean=start.mean - _apply(V, pull), cov=V)
        solved, at_inputs = solve(problem)
        cov = np.linalg.solve(np.eye(size * C) + times_blocks(V, at_inputs), V[:, :, :C])[:, :C]
        return (problem.mean + _apply(V, solved))[:, :C], cov

    found = linalg.for_each_class(one, len(blocks), n)
    place = np.full(len(example), -1)
    place[asked] = np.arange(len(asked))
    at = place[kind]
    for target, parts in zip(left_out, zip(*found, strict=True), strict=True):
        target[at >= 0] = np.concatenate(parts)[at[at >= 0]]


def _first_equal(K: np.ndarray) -> np.ndarray:
    """The first row (n,) with the same input as each row."""
    variance = np.diagonal(K)
    difference = variance[:, None] + variance - 2.0 * K
    return np.argmax(difference <= _EQUAL * variance[:, None], axis=1)


def _nearest(covariance: np.ndarray, own: int, distinct: np.ndarray, size: int) -> np.ndarray:
    """The row's own input, then those with the largest covariance to it."""
    order = distinct[np.argsort(-covariance[distinct], kind="stable")]
    return np.concatenate([[own], order[order != own][: size - 1]])


def posterior_block(own: np.ndarray, shared: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Posterior covariances (sC, sC) at some inputs, classes fastest."""
    C, n, s = len(own), shared.shape[1], len(group)
    A = np.zeros((s * C, s * C))
    if C > 1:
        columns = shared[:, :, group].transpose(1, 2, 0).reshape(n, s * C)
        A = columns.T @ columns
    by_class = A.reshape(s, C, s, C)
    for c in range(C):
        by_class[:, c, :, c] += own[c][np.ix_(group, group)]
    return A


def times_blocks(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """A (b, m, sC) times the block-diagonal matrix of W (b, s, C, C)."""
    b, s, C, _ = W.shape
    return np.swapaxes(np.swapaxes(A.reshape(b, -1, s, C), 1, 2) @ W, 1, 2).reshape(A.shape)


def _apply(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (A @ x[:, :, None])[:, :, 0]


def by_modes(y: np.ndarray, likelihood: Likelihood) -> Solver:
    """Newton's method for the mode of each small problem, and the curvature there."""

    def solve(problem: SmallProblems) -> tuple[np.ndarray, np.ndarray]:
        V, mu, b = problem.cov, problem.mean, len(problem.mean)
        labels, own = y[problem.rows], likelihood.subset(problem.rows)
        kept, C = problem.left, problem.alpha.shape[1]

        def at(alpha: np.ndarray) -> tuple[np.ndarray, ...]:
            step = _apply(V, alpha)
            log_prob, p, hessian = own.derivatives(labels, problem.spread(mu + step, C))
            W = -hessian if likelihood.log_concave else linalg.positive_part(-hessian)
            J = problem.summed(kept * log_prob).sum(axis=1) - 0.5 * np.sum(alpha * step, axis=1)
            p, W = problem.summed(kept[:, None] * p), problem.summed(kept[:, None, None] * W)
            return J, step, p.reshape(b, -1), W

        alpha = problem.summed(kept[:, None] * problem.alpha).reshape(b, -1)
        J, step, p, W = at(alpha)
        for _ in range(_MAX_ITER):
            # alpha at the Newton step: (I + W V)^-1 (W (f - mu) + p)
            VW = times_blocks(V, W)
            right = (W @ step.reshape(*W.shape[:3], 1)).reshape(b, -1) + p
            target = np.linalg.solve(np.eye(V.shape[1]) + np.swapaxes(VW, 1, 2), right[:, :, None])[:, :, 0]
            size = np.ones((b, 1))
            while True:
                new = at(alpha + size * (target - alpha))
                worse = ~(new[0] >= J - 1e-9 * (1.0 + np.abs(J)))
                if not np.any(worse) or size.min() < 1e-6:
                    break
                size[worse] *= 0.5
            alpha = alpha + size * (target - alpha)
            moved = np.abs(new[1] - step).max()
            J, step, p, W = new
            if moved < _TOL:
                break
        return alpha, W

    return solve


def by_sweeps(y: np.ndarray, likelihood: Likelihood, d: np.ndarray, location: np.ndarray, tol: float) -> Solver:
    """Sweeps of EP with coupled sites, or those of one latent function, from those (n, C) of all rows, where these have
    the tolerance ``tol``."""
    smallest_step = min(_SWEEP_TOL, _SWEEPS_PER_TOL * tol)

    def solve(problem: SmallProblems) -> tuple[np.ndarray, np.ndarray]:
        (b, size), V, C = problem.mean.shape, problem.cov, d.shape[1]
        labels, own = y[problem.rows], likelihood.subset(problem.rows)
        sites, nu, left, last = d[problem.rows], location[problem.rows], problem.left[:, None], np.inf
        watched = problem.watched * C
        for _ in range(_MAX_ITER):
            T = curvature.curvature_blocks(sites)
            at_inputs = problem.summed(left[:, :, None] * T)
            P = np.linalg.solve(np.eye(size) + times_blocks(V, at_inputs), V)
            pull = problem.summed(left * nu) - (at_inputs @ problem.mean.reshape(b, -1, C, 1))[..., 0]
            step = _apply(P, pull.reshape(b, -1))
            means = problem.mean + step
            spread = np.sqrt(1.0 + np.maximum(np.diagonal(P, axis1=1, axis2=2)[:, :watched], 0.0))
            moved, last = np.max(np.abs(means[:, :watched] - last) / spread), means[:, :watched]
            if moved < smallest_step:
                break
            covs = np.einsum("bscsd->bscd", P.reshape(b, size // C, C, size // C, C))
            mean, cov = problem.spread(means, C), covs.reshape(-1, C, C)[problem.inputs]
            alpha = nu - linalg.row_products(T, mean)
            cavity = cavities(mean, cov, sites, alpha)
            matched, matched_nu = _matching(own, labels, cavity.mean, cavity.cov)
            fine = ~cavity.broken & np.all(np.isfinite(matched) & np.isfinite(matched_nu), axis=1)
            sites = np.where(fine[:, None], sites + _DAMPING * (matched - sites), sites)
            nu = np.where(fine[:, None], nu + _DAMPING * (matched_nu - nu), nu)
        return pull.reshape(b, -1) - (at_inputs @ step.reshape(b, -1, C, 1)).reshape(b, -1), at_inputs

    return solve


def _matching(likelihood: Likelihood, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> tuple[np.ndarray, ...]:
    """d and location (t, C) of the sites that match the moments of their rows, for cavities (t, C) and (t, C, C)."""
    if mean.shape[1] > 1:
        return likelihood.site(y, mean, cov)[1:]
    variance = cov[:, :, 0]
    _, first, second = likelihood.tilted(y, mean, variance)
    d, location = matching_sites(mean, variance, first, second, np.full_like(mean, FLOOR))
    return d, location
