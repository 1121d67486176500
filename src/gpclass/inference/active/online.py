"""A posterior that includes rows one at a time: assumed density filtering on a budget of active rows.

What is known is a Gaussian N(mean, Sigma) over the latent values u at S basis rows; anywhere else the prior says how f
depends on u. A new row is absorbed in three steps:

1. f at the row joins u, with its distribution given u under the prior;
2. its label updates all of u by moment matching, as in ``selection``;
3. one basis row too many leaves: its value is integrated out, and f depends on the others as under the prior.

Step 3 is the projection of Csato and Opper (2002): it keeps the means and covariances of all values that stay, so what
a row's label has said of its neighbours is not lost with the row. The row that leaves is the one whose mean the others
predict best: alpha = K^-1 mean, P = K^-1, and sum_c alpha_jc^2 / P_jj is what the mean function loses, in its prior's
norm. A row that the basis predicts to within ``NOVELTY`` of its prior variance never joins.
"""

from __future__ import annotations

import numpy as np

from ...kernels import Kernel
from ...likelihoods import Likelihood
from ...numerics import linalg
from ...numerics.compiled import jit, over_rows
from ...training.monitor import SILENT, Monitor
from ..base import Latent
from .selection import Selector

#: Share of the prior variance below which a row adds nothing to the basis.
NOVELTY = 1e-6
#: K^-1 is computed afresh where K K^-1 k misses k by more than this share of the prior variance: updates lose digits.
_RESIDUAL = 1e-9


class Basis:
    """At most ``budget`` basis rows, with means (S, C) and covariances (G, S, S) of the latent values there."""

    def __init__(self, kernel: Kernel, budget: int, rows: np.ndarray, mean: np.ndarray, Sigma: np.ndarray) -> None:
        self.kernel, self.budget, self.size = kernel, budget, len(rows)
        room = max(budget, self.size) + 1
        self._rows = np.zeros((room, rows.shape[1]))
        self._mean = np.zeros((room, mean.shape[1]))
        self._Sigma = np.zeros((len(Sigma), room, room))
        self._K, self._P = np.zeros((2, room, room))
        S = self.size
        self._rows[:S], self._mean[:S], self._Sigma[:, :S, :S] = rows, mean, Sigma
        self._refresh()

    def resized(self, budget: int, groups: int) -> Basis:
        """A copy for so many rows, with covariances for each of C latent functions where they were shared."""
        Sigma = self.Sigma
        if len(Sigma) > groups:
            raise ValueError("update='vb' shares covariances between classes, but the model has them for each ('adf')")
        return Basis(self.kernel, budget, self.rows, self.mean, np.broadcast_to(Sigma, (groups, *Sigma.shape[1:])))

    @property
    def rows(self) -> np.ndarray:
        return self._rows[: self.size]

    @property
    def mean(self) -> np.ndarray:
        return self._mean[: self.size]

    @property
    def Sigma(self) -> np.ndarray:
        return self._Sigma[:, : self.size, : self.size]

    @property
    def P(self) -> np.ndarray:
        """K^-1"""
        return self._P[: self.size, : self.size]

    @property
    def K(self) -> np.ndarray:
        return self._K[: self.size, : self.size]

    def _refresh(self) -> None:
        if self.size:
            self.K[...] = self.kernel(self.rows)
            self.P[...] = linalg.inverse(linalg.cholesky(self.K))

    def _given_basis(self, k: np.ndarray, prior: float) -> np.ndarray:
        """K^-1 k, with a step of iterative refinement."""
        a = self.P @ k
        missed = k - self.K @ a
        if self.size and np.abs(missed).max() > _RESIDUAL * prior:
            self._refresh()
            a = self.P @ k
            missed = k - self.K @ a
        return a + self.P @ missed

    def absorb(
        self, X: np.ndarray, y: np.ndarray, likelihood: Likelihood, selector: Selector, monitor: Monitor = SILENT
    ) -> Latent:
        """Take in rows in the order given; what was believed of each before its label came, (n, C) and (n, C). They are
        fewer than the rows given where a callback asks to stop."""
        prior = self.kernel.diag(X)
        means, variances = np.empty((2, len(X), self._mean.shape[1]))
        done = 0
        with linalg.suited_threads(self.budget), monitor.task("rows", len(X)) as steps:
            for i in steps.each(range(len(X))):
                means[i], variances[i] = self._absorb(X[i : i + 1], y[i : i + 1], float(prior[i]), likelihood, selector)
                while self.size > self.budget:
                    self._drop(int(np.argmin(self._worth())))
                done = i + 1
        return Latent(means[:done], variances[:done])

    def _absorb(
        self, x: np.ndarray, y: np.ndarray, prior: float, likelihood: Likelihood, selector: Selector
    ) -> tuple[np.ndarray, np.ndarray]:
        k = self.kernel(self.rows, x)[:, 0]
        a = self._given_basis(k, prior)
        left = max(prior - k @ a, 0.0)
        cross = self.Sigma @ a  # (G, S): covariances of f at the row with u
        mean, variance = a @ self.mean, np.maximum(cross @ a + left, 1e-12 * prior)
        moments = selector.moments(likelihood, y, mean[None], variance[None])
        if left > NOVELTY * prior:
            self._join(x, k, prior, a, left, mean, cross, variance)
            cross = np.column_stack([cross, variance])
        # mean += g s and Sigma -= nu s s' (LPJ05 eqs 9-12)
        self.mean[...] += np.broadcast_to(cross.T, self.mean.shape) * moments.gain
        Sigma = self.Sigma
        for g in range(len(cross)):
            over_rows(_lower, self.size, 0.3 * self.size, Sigma[g], moments.nu[0, g], cross[g])
        return mean, np.broadcast_to(variance, mean.shape)

    def _join(
        self,
        x: np.ndarray,
        k: np.ndarray,
        prior: float,
        a: np.ndarray,
        left: float,
        mean: np.ndarray,
        cross: np.ndarray,
        variance: np.ndarray,
    ) -> None:
        """The row joins the basis."""
        S = self.size
        self._K[S, :S] = self._K[:S, S] = k
        self._K[S, S] = prior
        self._rows[S], self._mean[S] = x[0], mean
        self._Sigma[:, S, :S], self._Sigma[:, :S, S], self._Sigma[:, S, S] = cross, cross, variance
        self._P[:S, :S] += np.outer(a, a) / left
        self._P[S, :S] = self._P[:S, S] = -a / left
        self._P[S, S] = 1.0 / left
        self.size += 1

    def _worth(self) -> np.ndarray:
        alpha = self.P @ self.mean
        return (alpha**2).sum(axis=1) / np.diag(self.P)

    def _drop(self, j: int) -> None:
        """The row leaves, and the last takes its place; what is known of the others stays."""
        S, P = self.size, self.P
        P -= np.outer(P[:, j], P[:, j]) / P[j, j]
        for square in (self.K, P, *self.Sigma):
            square[j, :] = square[S - 1, :]
            square[:, j] = square[:, S - 1]
        self._rows[j], self._mean[j] = self._rows[S - 1], self._mean[S - 1]
        self.size -= 1


@jit
def _lower(start, stop, Sigma, nu, s):
    """Sigma -= nu s s'"""
    for i in range(start, stop):
        factor = nu * s[i]
        for j in range(len(s)):
            Sigma[i, j] -= factor * s[j]
