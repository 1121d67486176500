"""The Gaussian posterior of many rows, given sites at a few of them: the state of the informative vector machine.

The posterior given sites with precisions B and means m at the active rows I is (LPJ05 eqs 20-25)

    Sigma = K - M M',   mean = M b,   M = K_{:,I} L^-T,   b = L^-1 m,   L L' = B^-1 + K_I

(after its eq 22 the paper prints the inverse of L L'). A new row appends a column to M and a row to L; variances and
means of all rows are updated in place, in O(n S) time, and no n x n matrix exists. Several rows at once are the same
algebra in blocks.

Where the sites of all latent functions have the same precisions (one latent function; or the unit noise of GR06 eqs
5.1-5.4 under a shared kernel), they share M, L and the variances: G = 1 group of latent functions instead of C.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from ...kernels import Kernel
from ...kernels.rows import features, with_features
from ...numerics import linalg
from ...numerics.compiled import jit, over_rows
from ..base import GaussianTerms, Latent, class_matrix
from ..posteriors import GaussianPosterior

#: Variances stay above this share of the prior's: rounding can push them below zero where the data settle everything.
_FLOOR = 1e-12
#: Rows of X whose covariances are computed at a time.
_BLOCK_ROWS = 8192
#: Columns of K held at a time when many rows are included.
_BLOCK_COLUMNS = 256


class CovarianceColumns:
    """Columns of K, a block of rows at a time."""

    def __init__(self, kernel: Kernel, X: np.ndarray) -> None:
        self.kernel, self.X = kernel, with_features(X, np.ascontiguousarray(features(X)))
        self.diagonal = kernel.diag(X)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """K[:, rows] as (n, b), or (C, n, b) where every class has a kernel of its own."""
        wanted = self.X[rows]
        blocks = [
            self.kernel(self.X[start : start + _BLOCK_ROWS], wanted) for start in range(0, len(self.X), _BLOCK_ROWS)
        ]
        K = np.concatenate(blocks, axis=-2)
        # A row and itself: white noise is on the diagonal only, and k(X, Z) cannot know which rows are the same.
        K[..., rows, np.arange(len(rows))] = self.diagonal[..., rows]
        return K


class ActiveSites(NamedTuple):
    """Active rows in the order of their inclusion, with the precisions (S, G) and means (S, C) of their sites: all that
    is needed to go on from."""

    rows: np.ndarray
    precision: np.ndarray
    mean: np.ndarray


class ActiveSet:
    """Means and variances of all rows, given sites at the active ones.

    Parameters
    ----------
    kernel, X : the prior and the rows, n of them
    n_latent : number C of latent functions
    capacity : most rows that can become active
    shared : whether all latent functions have the same site precisions, and a kernel in common
    dtype : of M, the one large array; float32 halves memory and traffic

    Attributes
    ----------
    mean (n, C), variance (n, G) : posterior moments at all rows
    floor (n, G) : no variance falls below this
    rows : the active rows, in the order of their inclusion
    excluded (n,) : rows that no selection may choose
    site_mean (S, C), site_precision (S, G), L (G, S, S), b (S, C), M (G, n, S) : as above, up to the capacity
    """

    def __init__(
        self, kernel: Kernel, X: np.ndarray, n_latent: int, capacity: int, shared: bool, dtype: type = np.float64
    ) -> None:
        self.columns = CovarianceColumns(kernel, X)
        G = 1 if shared else n_latent
        diagonal = np.atleast_2d(self.columns.diagonal).T
        self.variance = np.array(np.broadcast_to(diagonal, (len(X), G)), order="F")
        self.mean = np.zeros((len(X), n_latent))
        self.rows: list[int] = []
        self.excluded = np.zeros(len(X), bool)
        self.M: np.ndarray = np.zeros((G, len(X), capacity), dtype)
        self.L = np.zeros((G, capacity, capacity))
        self.b = np.zeros((capacity, n_latent))
        self.site_mean = np.zeros((capacity, n_latent))
        self.site_precision = np.zeros((capacity, G))
        self.floor = _FLOOR * self.variance

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def n_groups(self) -> int:
        return len(self.L)

    @property
    def eligible(self) -> np.ndarray:
        """Whether each row could become active, (n,)."""
        outside = ~self.excluded
        outside[self.rows] = False
        return outside

    def of_group(self, g: int) -> slice:
        """The latent functions of a group."""
        return slice(None) if self.n_groups == 1 else slice(g, g + 1)

    def include(self, row: int, precision: np.ndarray, mean: np.ndarray) -> None:
        """Add a site with precisions (G,) and means (C,) at a row."""
        k = self.size
        column = np.atleast_2d(self.columns(np.array([row]))[..., 0])
        self.site_precision[k], self.site_mean[k] = precision, mean
        for g in range(self.n_groups):
            own = self.M[g, row, :k].astype(float)
            scale = sqrt(1.0 / precision[g] + self.variance[row, g])  # L_kk = nu^-1/2
            self.L[g, k, :k], self.L[g, k, k] = own, scale
            classes = self.of_group(g)
            self.b[k, classes] = (mean - self.mean[row])[classes] / scale
            over_rows(
                _append_column,
                len(self.mean),
                0.2 * k + 20.0,
                column[g if len(column) > 1 else 0],
                self.M[g],
                own.astype(self.M.dtype),
                1.0 / scale,
                self.variance[:, g],
                self.floor[:, g],
                self.mean[:, classes],
                self.b[k, classes],
            )
        self.rows.append(row)

    def clear(self) -> None:
        """Take all sites out."""
        self.rows.clear()
        self.mean[:] = 0.0
        self.variance[:] = np.atleast_2d(self.columns.diagonal).T

    def include_all(self, rows: np.ndarray, precision: np.ndarray, mean: np.ndarray) -> None:
        """Add sites (b, G) and (b, C) at any number of rows."""
        for start in range(0, len(rows), _BLOCK_COLUMNS):
            part = slice(start, start + _BLOCK_COLUMNS)
            self.include_block(rows[part], precision[part], mean[part])

    def include_block(self, rows: np.ndarray, precision: np.ndarray, mean: np.ndarray) -> None:
        """Add sites (b, G) and (b, C) at several rows by matrix products."""
        k, stop = self.size, self.size + len(rows)
        self.site_precision[k:stop], self.site_mean[k:stop] = precision, mean
        block = self.columns(rows)
        before = self.mean[rows]
        for g in range(self.n_groups):
            own = np.asarray(self.M[g, rows, :k], dtype=float)
            classes = self.of_group(g)
            K = block if block.ndim == 2 else block[g]
            Sigma = K[rows] - own @ own.T
            corner = linalg.cholesky(Sigma + np.diag(1.0 / precision[:, g]))
            self.L[g, k:stop, :k], self.L[g, k:stop, k:stop] = own, corner
            self.b[k:stop, classes] = linalg.solve_triangular(corner, mean[:, classes] - before[:, classes])
            back = linalg.inverse_factor(corner).T
            narrow = own.astype(self.M.dtype)
            for start in range(0, len(self.mean), _BLOCK_ROWS):
                part = slice(start, start + _BLOCK_ROWS)
                new = (K[part] - self.M[g, part, :k] @ narrow.T) @ back
                self.M[g, part, k:stop] = new
                self.variance[part, g] -= np.einsum("ij,ij->i", new, new)
                self.mean[part, classes] += new @ self.b[k:stop, classes]
            np.maximum(self.variance[:, g], self.floor[:, g], out=self.variance[:, g])
        self.rows.extend(int(row) for row in rows)

    def remove(self, position: int) -> None:
        """Take out the site at ``rows[position]`` as if it had never come.

        Without row j, L has one more column than rows; rotations of neighbouring columns make it triangular again and
        leave its last column empty. The same rotations of M and b leave Sigma and the mean of the others in the
        first S - 1 columns: what the last one holds is what the site had contributed.
        """
        S = self.size
        for g in range(self.n_groups):
            L, classes = self.L[g, :S, :S], self.of_group(g)
            L[position : S - 1] = L[position + 1 : S]
            L[S - 1] = 0.0
            turns = _rotations(L, position)
            b = self.b[:S, classes]
            _rotate(b.T, position, turns)
            over_rows(_rotate_rows, len(self.mean), 2.0 * (S - position), self.M[g], position, turns)
            gone = self.M[g, :, S - 1].astype(float)
            self.variance[:, g] += gone**2
            self.mean[:, classes] -= gone[:, None] * b[S - 1]
            b[S - 1] = 0.0
            self.M[g, :, S - 1] = 0.0
            L[:, S - 1] = 0.0
        for sites in (self.site_mean, self.site_precision):
            sites[position : S - 1] = sites[position + 1 : S]
            sites[S - 1] = 0.0
        self.rows.pop(position)

    def without_own_site(self) -> Latent:
        """Means and variances (n, C) of every row given the labels of others: its own site, if any, divided out."""
        variance = np.array(np.broadcast_to(self.variance, self.mean.shape))
        mean = self.mean.copy()
        S, rows = self.size, self.rows
        precision = self.site_precision[:S]
        # The cavity of a site: 1/v - beta and mean/v - beta m; far from zero, since the site was built on one.
        left = np.maximum(1.0 - precision * variance[rows], 1e-10)
        mean[rows] = (mean[rows] - precision * variance[rows] * self.site_mean[:S]) / left
        variance[rows] /= left
        return Latent(mean, variance)

    def worth(self) -> np.ndarray:
        """How far each active row's site moves the posterior, (S,): KL(with it || without it), in nats."""
        mean, variance = self.without_own_site()
        rows, m, v = self.rows, mean[self.rows], variance[self.rows]
        # Where the prior leaves no doubt a site moves nothing: 1 for 0 / 0.
        v = np.where(v > 0.0, v, 1.0)
        shrink = np.where(self.variance[rows] > 0.0, self.variance[rows] / v, 1.0)
        return 0.5 * (shrink - 1.0 - np.log(shrink) + (self.mean[rows] - m) ** 2 / v).sum(axis=1)

    def sites(self) -> ActiveSites:
        """What was chosen so far."""
        S = self.size
        return ActiveSites(np.array(self.rows), self.site_precision[:S].copy(), self.site_mean[:S].copy())

    def posterior(self) -> GaussianPosterior:
        """The posterior, at the active rows.

        The factor is computed anew: it is free of what many updates have rounded away, and a saved model need not keep
        what can be had again to the last bit (``posteriors``).
        """
        S = self.size
        roots = np.sqrt(self.site_precision[:S])
        K = self.columns.kernel(self.columns.X[self.rows])
        alpha, factors = np.empty((S, self.mean.shape[1])), []
        for g in range(self.n_groups):
            classes, root = self.of_group(g), roots[:, g]
            factors.append(linalg.whitened_factor(class_matrix(K, g), root))
            # (B^-1 + K)^-1 m
            pulled = root[:, None] * self.site_mean[:S, classes]
            alpha[:, classes] = root[:, None] * linalg.solve(factors[g], pulled)
        shared = self.n_groups == 1
        terms = GaussianTerms(alpha, roots[:, 0] if shared else roots, factors[0] if shared else np.stack(factors))
        return GaussianPosterior(self.columns.kernel, self.columns.X[self.rows], terms)


def _append_column(
    start: int,
    stop: int,
    column: np.ndarray,
    M: np.ndarray,
    own: np.ndarray,
    inverse_scale: float,
    variance: np.ndarray,
    floor: np.ndarray,
    mean: np.ndarray,
    b: np.ndarray,
) -> None:
    """A new column of M, and what it says of variances and means (LPJ05 eqs 21, 24, 25), for some rows."""
    k = len(own)
    settled = M[start:stop, :k] @ own  # the one pass over M; BLAS does it at the speed of memory
    _settle(start, stop, column, settled, M[:, k], inverse_scale, variance, floor, mean, b)


@jit
def _settle(start, stop, column, settled, M_k, inverse_scale, variance, floor, mean, b):
    for n in range(start, stop):
        new = (column[n] - settled[n - start]) * inverse_scale
        M_k[n] = new
        variance[n] = max(variance[n] - new * new, floor[n])
        for c in range(len(b)):
            mean[n, c] += new * b[c]


@jit
def _rotations(L, first):
    """Make L, lower triangular but for one entry above the diagonal in rows from ``first`` on, triangular; the
    cosines and sines used."""
    S = len(L)
    turns = np.empty((S - 1 - first, 2))
    for j in range(first, S - 1):
        length = sqrt(L[j, j] ** 2 + L[j, j + 1] ** 2)
        c, s = L[j, j] / length, L[j, j + 1] / length
        turns[j - first, 0], turns[j - first, 1] = c, s
        for i in range(j, S - 1):
            left, right = L[i, j], L[i, j + 1]
            L[i, j] = c * left + s * right
            L[i, j + 1] = c * right - s * left
    return turns


@jit
def _rotate(A, first, turns):
    """Rotate neighbouring columns of A."""
    for n in range(len(A)):
        for t in range(len(turns)):
            j = first + t
            left, right = A[n, j], A[n, j + 1]
            A[n, j] = turns[t, 0] * left + turns[t, 1] * right
            A[n, j + 1] = turns[t, 0] * right - turns[t, 1] * left


@jit
def _rotate_rows(start, stop, M, first, turns):
    _rotate(M[start:stop], first, turns)
