"""The informative vector machine: selection by assumed density filtering, then refinement of the sites chosen."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...kernels import Kernel, PerClass
from ...likelihoods import Gaussian, Likelihood
from ...training.monitor import task
from ..base import Engine, Fit, Info, class_matrix
from ..dense.ep import EP, Sites
from ..dense.latent_objective import LatentObjective, Point
from ..dense.product_form_posterior import ProductFormPosterior, Workspace
from ..dense.vb import left_out_variance
from ..settings import check_counts, check_settings
from .active_set import ActiveSet, ActiveSites
from .selection import Selector

#: Rows kept where nobody says how many.
DEFAULT_SIZE = 500
#: Numbers in C matrices of S x S that a moment may take, three times over.
_ALL_AT_ONCE = 2e7


@dataclass(frozen=True)
class IVM:
    """Settings of the informative vector machine (LPJ05 section 3, GR06 section 5).

    Parameters
    ----------
    n_active : int or None
        Number of rows that the model keeps; None is 500, or all where there are fewer.
    criterion : "auto", "entropy", "gain", "probability" or "random"
        How rows are chosen (``selection``). "auto" is "probability" for more than two classes, else "entropy".
    update : "auto", "adf" or "vb"
        How a row's label enters. "adf" matches moments, with covariances for every class of their own; "vb" takes
        GR06's pseudo-observation with unit noise, with covariances that all classes share: K times cheaper. "auto" is
        "vb" for more than two classes under a shared kernel, else "adf".
    block_size : int
        Rows taken up by one matrix product (``selection.Selector``); 1 is the algorithm as published.
    n_exchanges : int
        After selection, how often at most the active row that is missed least makes workspace for the most informative one.
    refine : bool
        After selection, whether the sites are made to agree with each other: expectation propagation (or variational
        Bayes, for "vb") over the active rows.
    dtype : "float64" or "float32"
        Of the one large array, n x n_active.
    learner : engine that learns kernel parameters from a sample of rows
    """

    n_active: int | None = None
    criterion: str = "auto"
    update: str = "auto"
    block_size: int = 1
    n_exchanges: int = 0
    refine: bool = True
    dtype: str = "float64"
    learner: Engine = field(default_factory=EP)

    def __post_init__(self) -> None:
        if self.n_active is not None:
            check_counts(self, n_active=1)
        check_settings(self, block_size=1, n_exchanges=0)
        self._selector(1)

    def _selector(self, n_latent: int, shared_kernel: bool = True) -> Selector:
        many = n_latent > 1
        criterion = ("probability" if many else "entropy") if self.criterion == "auto" else self.criterion
        update = ("vb" if many and shared_kernel else "adf") if self.update == "auto" else self.update
        return Selector(criterion, update, self.block_size)

    def size(self, n_rows: int) -> int:
        """How many of so many rows are kept."""
        return min(DEFAULT_SIZE if self.n_active is None else self.n_active, n_rows)

    def selector(self, kernel: Kernel, likelihood: Likelihood, n_latent: int) -> Selector:
        """The selector for such a model, or why there is none."""
        selector = self._selector(n_latent, not isinstance(kernel, PerClass))
        name = type(likelihood).__name__
        if kernel.pairwise:
            raise TypeError(
                "the informative vector machine needs features, not the covariances that a Precomputed kernel takes"
            )
        if likelihood.predictive is not likelihood:
            raise TypeError("the informative vector machine takes no weights or soft labels")
        if not likelihood.provides("tilted"):
            raise TypeError(f"the informative vector machine needs a likelihood with tilted moments; {name} has none")
        if selector.update == "vb" and not likelihood.provides("augment"):
            raise TypeError(f"update='vb' needs a probit likelihood, got {name}; use update='adf'")
        return selector

    def empty(self, kernel: Kernel, X: np.ndarray, n_latent: int, selector: Selector) -> ActiveSet:
        """No row active yet."""
        shared = self.n_groups(kernel, n_latent, selector) == 1
        return ActiveSet(kernel, X, n_latent, self.size(len(X)), shared, np.dtype(self.dtype).type)

    def n_groups(self, kernel: Kernel, n_latent: int, selector: Selector) -> int:
        """How many groups of latent functions with the same covariances there are."""
        return 1 if selector.update == "vb" and not isinstance(kernel, PerClass) else n_latent

    def select(
        self,
        kernel: Kernel,
        X: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        n_latent: int,
        rng: np.random.Generator | None = None,
        start: ActiveSites | None = None,
        excluded: np.ndarray | None = None,
    ) -> tuple[ActiveSet, bool]:
        """Choose the active rows (LPJ05 algorithm 1), going on from ``start``; and whether Ctrl-C cut it short.

        Rows that are ``excluded`` (n,) are not chosen, but beliefs about them are kept too. What has been chosen when an
        interrupt comes is kept: it is reported and not raised.
        """
        selector = self.selector(kernel, likelihood, n_latent)
        active = self.empty(kernel, X, n_latent, selector)
        if start is not None and len(start.rows):
            kept = slice(0, self.size(len(start.rows)))
            active.include_all(start.rows[kept], start.precision[kept], start.mean[kept])
        if excluded is not None:
            active.excluded = excluded
        try:
            selector.grow(active, y, likelihood, self.size(len(y)), rng)
            if active.size < len(y):
                selector.exchange(active, y, likelihood, self.n_exchanges, rng)
        except KeyboardInterrupt:
            if not active.size:
                raise
            # A row may have been half included: begin again with those that are whole.
            whole = active.sites()
            active.clear()
            active.include_all(*whole)
            return active, True
        return active, False

    def finish(self, active: ActiveSet, y: np.ndarray, likelihood: Likelihood) -> Fit:
        """Refine the sites if that is wanted; the result, with beliefs about every row without its own label."""
        fit = self.settle(active, y, likelihood)
        beliefs = active.without_own_site()
        if fit.loo is not None:
            for belief, own in zip(beliefs, fit.loo, strict=True):
                belief[active.rows] = own
        return fit._replace(loo=beliefs)

    def settle(self, active: ActiveSet, y: np.ndarray, likelihood: Likelihood) -> Fit:
        """Refine the sites if that is wanted; the result, with beliefs about the active rows without their own labels
        where dividing out their sites would not do."""
        kernel = active.columns.kernel
        n_latent = active.mean.shape[1]
        selector = self.selector(kernel, likelihood, n_latent)
        rows = np.array(active.rows)
        info = Info(active.size, True)
        if not self.refine or isinstance(likelihood, Gaussian):
            log_evidence = _chain_rule(active, y[rows], likelihood)
            return Fit(active.weights(), log_evidence, log_evidence, info)
        sites, fit = refined_sites(selector, active, y[rows], likelihood)
        active.clear()
        active.include_all(rows, sites.precision, sites.location / sites.precision)
        info = fit.info._replace(n_iter=active.size + fit.info.n_iter)
        return fit._replace(weights=active.weights(), info=info, state=None)


def refined_sites(selector: Selector, active: ActiveSet, y: np.ndarray, likelihood: Likelihood) -> tuple[Sites, Fit]:
    """Sites (S, G), (S, C) at the active rows that agree with each other, and the fit they come from."""
    S, C = active.size, active.mean.shape[1]
    K = active.columns.kernel(active.columns.X[active.rows])
    with task("refinement"):
        if selector.update == "vb":
            # Variational Bayes (``vb``), without what it knows beyond the mode.
            latent = LatentObjective(K, y, likelihood, C)
            top, objective_trace, converged = latent.maximise(None, 1e-6, 200)
            noise = latent.noise[:, None]
            # Pseudo-observations y~ = mean + noise * slope, and the slope at the mode is K^-1 mean = alpha.
            precision = np.broadcast_to(1.0 / noise, (S, active.n_groups))
            bound = top.J - 0.5 * latent.log_det
            info = Info(len(objective_trace) - 1, converged)
            loo = _leave_one_out(latent, top) if len(active.mean) == S else None
            return Sites(precision, top.m / noise + top.alpha), Fit(active.weights(), bound, bound, info, loo=loo)
        precision = np.broadcast_to(active.site_precision[:S], (S, C))
        start = Sites(precision.copy(), precision * active.site_mean[:S])
        fit = EP(coupling="none", max_iter=400 if C == 1 else 100)(K, y, likelihood, C, init=start)
        return fit.state, fit._replace(loo=None)


def _leave_one_out(latent: LatentObjective, top: Point) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (S, C) of the active rows, each without its own label, where "vb" has refined their sites and
    all rows are active.

    Dividing out a site is then too kind: a pseudo-observation has been max_step by its label already, and what is left
    still knows it. How much the label has done is said by the likelihood's own curvature, as for ``VB``; where all
    classes at once need too much memory, by that of each class alone, which lets a little of the label through. Of a
    selection the same would be too hard: without a row that was kept, another would have been, and calibration by
    rows that nothing stands in for makes predictions too shy (measured: docs/design.md).
    """
    d, _ = latent.likelihood.curvature(latent.y, top.m)
    if d.size * len(d) <= _ALL_AT_ONCE:
        mean, _ = latent.leave_one_out(top, ProductFormPosterior(latent.K, d))
    else:
        workspace = Workspace(len(d), 1)
        alone = [
            ProductFormPosterior(class_matrix(latent.K, c), own[:, None], workspace).marginals()
            for c, own in enumerate(d.T)
        ]
        variance = np.concatenate(alone, axis=1)[:, :, 0]
        # As docs/theory/leave_one_out.md has it for coupled classes, with W_n = diag(d_n).
        mean = top.m - variance / (1.0 - d * variance) * top.p
    return mean, left_out_variance(latent)


def _chain_rule(active: ActiveSet, y: np.ndarray, likelihood: Likelihood) -> float:
    """log p(y_1) + log p(y_2 | y_1) + ...: each active label under the beliefs before its inclusion.

    Before row k came in, its mean and variance were those of the first k - 1 sites: rows of L and b say which.
    """
    S, C = active.size, active.mean.shape[1]
    mean, variance = np.empty((S, C)), np.empty((S, C))
    for g in range(active.n_groups):
        classes, L = active.of_group(g), active.L[g, :S, :S]
        below = np.tril(L, -1)
        mean[:, classes] = below @ active.b[:S, classes]
        variance[:, classes] = (np.diag(L) ** 2 - 1.0 / active.site_precision[:S, g])[:, None]
    return float(likelihood.tilted(y, mean, np.maximum(variance, 0.0))[0].sum())
