"""Predictions of rows without the labels of their whole group.

With A the posterior covariance between the latent values of a group, W its sites and alpha their gradients, the latent
values before the labels of the group are seen have the covariance and mean

    V = A (I - W A)^-1,   mu = m - V alpha,

the cavity of the group. It takes the sites of all other rows as they are, which flatters: without ten rows their
neighbours are less certain too. So where a group moves far, the rows with the largest prior covariance to it are fitted
anew without it (``left_out``). With all other rows among them that is the refit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...numerics.arrays import Array, to_host
from ..base import GaussianTerms, class_matrix
from .left_out import SmallProblems, Solver, by_modes, largest_moves, posterior_block, times_blocks
from .product_form_posterior import ProductFormPosterior

#: Latent values of rows outside a group that are fitted anew, about, and the fewest and most such rows.
_LATENT_VALUES, _FEWEST, _MOST = 200, 20, 100
#: Groups that move less than this are predicted by their cavity: in units of their spread and the unit noise.
_SMALL_MOVE = 0.05
#: At most so many groups, those that move farthest, are solved for again.
_MOST_PROBLEMS = 500


def without_groups(
    posterior: ProductFormPosterior,
    mean: np.ndarray,
    alpha: np.ndarray,
    groups: Sequence[np.ndarray],
    solve: Solver | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Means (n, C) and covariances (n, C, C) of the rows in ``groups`` without the labels of their group, NaN for
    others; ``mean`` and ``alpha`` (n, C) are those of the posterior. Without ``solve`` other rows keep their sites."""
    (n, C), K = mean.shape, to_host(posterior.K)
    K = K if K.ndim == 2 else K.sum(axis=0)
    own, shared = (to_host(part) for part in posterior.joint())
    W = to_host(posterior.precision())
    n_near = min(max(_LATENT_VALUES // C, _FEWEST), _MOST)

    def before_labels(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean (sC,) and covariance (sC, sC) of some rows before they see their labels."""
        A = posterior_block(own, shared, rows)
        V = np.linalg.solve(np.eye(len(A)) - times_blocks(A[None], W[None, rows])[0], A)
        V = 0.5 * (V + V.T)
        return mean[rows].ravel() - V @ alpha[rows].ravel(), V

    def again(group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert solve is not None
        near = _nearest(K, group, n_near)
        mu, V = before_labels(np.concatenate([group, near]))
        own_part, rest = slice(len(group) * C), slice(len(group) * C, None)
        ones, cross = np.ones(len(near)), V[own_part, rest]
        problem = SmallProblems(
            near, np.arange(len(near)), ones, alpha[near], mu[None, rest], V[None, rest, rest], len(near)
        )
        solved, precision = solve(problem)
        # f of the group given what is known at the rows near it: V_GN (I + W V)^-1 W V_NG less variance.
        weighted = times_blocks(cross[None], precision)[0]
        inner = np.eye(len(near) * C) + times_blocks(V[None, rest, rest], precision)[0]
        cov = V[own_part, own_part] - weighted @ np.linalg.solve(inner, cross.T)
        return mu[own_part] + cross @ solved[0], cov

    found = linalg.for_each_class(lambda g: _by_row(*before_labels(groups[g]), C), len(groups), n)
    if solve is not None:
        moves = np.array([largest_moves(mu - mean[rows], V).max() for (mu, V), rows in zip(found, groups, strict=True)])
        far = [g for g in np.argsort(-moves, kind="stable")[:_MOST_PROBLEMS] if moves[g] > _SMALL_MOVE]
        solved = linalg.for_each_class(lambda i: _by_row(*again(groups[far[i]]), C), len(far), n) if far else []
        for g, part in zip(far, solved, strict=True):
            found[g] = part
    means, covs = np.full((n, C), np.nan), np.full((n, C, C), np.nan)
    for group, (mu, V) in zip(groups, found, strict=True):
        means[group], covs[group] = mu, V
    return means, covs


def mode_without_groups(
    K: Array, y: np.ndarray, likelihood: Likelihood, terms: GaussianTerms, groups: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """``without_groups`` by the curvature at the mode K alpha, for Laplace's method and the mean of VB."""
    mean = linalg.product(K, terms.alpha)
    d, _ = likelihood.evaluate("curvature", y, mean)
    posterior, solve = ProductFormPosterior(K, d), by_modes(y, likelihood)
    return without_groups(posterior, to_host(mean), to_host(terms.alpha), groups, solve)


def independent_without_groups(
    K: Array, d: Array, mean: np.ndarray, alpha: np.ndarray, groups: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (n, C) by cavities, for sites of precision d (n, C) that are independent between classes."""
    parts = []
    for c in range(d.shape[1]):
        posterior = ProductFormPosterior(class_matrix(K, c), d[:, c : c + 1])
        parts.append(without_groups(posterior, mean[:, c : c + 1], alpha[:, c : c + 1], groups))
    return np.hstack([part[0] for part in parts]), np.hstack([part[1][:, :, 0] for part in parts])


def _nearest(K: np.ndarray, group: np.ndarray, size: int) -> np.ndarray:
    """The rows outside a group with the largest prior covariance to one of its rows."""
    covariance = K[group].max(axis=0)
    covariance[group] = -np.inf
    order = np.argsort(-covariance, kind="stable")
    return order[: min(size, len(K) - len(group))]


def _by_row(mean: np.ndarray, cov: np.ndarray, C: int) -> tuple[np.ndarray, np.ndarray]:
    """Means (s, C) and covariances (s, C, C) of each row."""
    s = len(mean) // C
    return mean.reshape(s, C), np.einsum("icid->icd", cov.reshape(s, C, s, C))
