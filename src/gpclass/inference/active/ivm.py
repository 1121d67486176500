"""The informative vector machine: selection by assumed density filtering, then refinement of the sites chosen."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...kernels import Kernel, PerClass
from ...likelihoods import Gaussian, Likelihood
from ...training.monitor import SILENT, Monitor
from ..base import Engine, Fit, Info, Latent, class_matrix
from ..dense.ep import EP, Sites
from ..dense.latent_objective import LatentObjective, Point
from ..dense.product_form_posterior import ProductFormPosterior, Workspace
from ..dense.vb import left_out_variance
from ..prior import ActivePrior, DensePrior
from ..settings import check_counts, check_settings
from .active_set import ActiveSet, ActiveSites
from .selection import Selector

#: Rows kept where nobody says how many: a tenth of all or so many for each class, within these limits.
DEFAULT_SIZES, _CLASS_SIZE = (500, 1000), 25
#: Numbers in C matrices of S x S that a moment may take, three times over.
_ALL_AT_ONCE = 2e7


class Selected(NamedTuple):
    """Active rows, and whether Ctrl-C or a callback ended their selection early."""

    active: ActiveSet
    interrupted: bool
    stopped: bool = False


def default_size(n_rows: int, n_latent: int = 1) -> int:
    """How many of so many rows are kept, or are inducing points, where nobody says how many."""
    least, most = DEFAULT_SIZES
    return min(n_rows, most, max(least, n_rows // 10, _CLASS_SIZE * n_latent))


@dataclass(frozen=True)
class IVM(Engine):
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
        After selection, how often at most the active row that is missed least makes way for the most informative one.
    refine : bool
        After selection, whether the sites are made to agree with each other: expectation propagation (or variational
        Bayes, for "vb") over the active rows.
    dtype : "float64" or "float32"
        Of the one large array, n x n_active.
    learn_by : engine
        What learns kernel parameters from a sample of rows.
    """

    n_active: int | None = None
    criterion: str = "auto"
    update: str = "auto"
    block_size: int = 1
    n_exchanges: int = 0
    refine: bool = True
    dtype: str = "float64"
    learn_by: Engine = field(default_factory=EP)

    prior_type: ClassVar = ActivePrior

    def __post_init__(self) -> None:
        if self.n_active is not None:
            check_counts(self, n_active=1)
        check_settings(self, block_size=1, n_exchanges=0)
        self._selector(1)

    @property
    def learner(self) -> Engine:
        return self.learn_by

    def _selector(self, n_latent: int, vb_works: bool = True) -> Selector:
        many = n_latent > 1
        criterion = ("probability" if many else "entropy") if self.criterion == "auto" else self.criterion
        update = ("vb" if many and vb_works else "adf") if self.update == "auto" else self.update
        return Selector(criterion, update, self.block_size)

    def infer(
        self,
        prior: ActivePrior,
        y: np.ndarray,
        likelihood: Likelihood,
        init: Any = None,
        gradient: bool = False,
        monitor: Monitor = SILENT,
        rng: np.random.Generator | None = None,
    ) -> Fit:
        """Select active rows, going on from the ``ActiveSites`` in ``init``, and refine their sites.

        An interrupt (Ctrl-C) keeps the rows selected so far, and the result is marked as interrupted. ``rng`` breaks
        ties between rows; None takes the first of them.
        """
        if gradient:
            raise TypeError("IVM has no gradient of an evidence; kernel parameters are learned by learn_by")
        active, interrupted, stopped = self.select(prior, y, likelihood, init, monitor, rng)
        sites = active.sites()
        try:
            fit = self.finish(active, y, likelihood, monitor)
        except KeyboardInterrupt:
            active.clear()
            active.include_all(*sites)
            fit, interrupted = replace(self, refine=False).finish(active, y, likelihood), True
        info = fit.info._replace(stopped=stopped or fit.info.stopped, interrupted=interrupted)
        return fit._replace(info=info, state=active.sites())

    def why_not_converged(self, info: Info) -> str:
        return (
            "the sites of the active rows do not quite agree with each other: refinement stopped without converging, "
            "and its best state is kept (refine=False goes without)"
        )

    def size(self, n_rows: int) -> int:
        """How many of so many rows are kept."""
        return min(default_size(n_rows) if self.n_active is None else self.n_active, n_rows)

    def selector(self, kernel: Kernel, likelihood: Likelihood, n_latent: int) -> Selector:
        """The selector for such a model; refuses a model that has none."""
        selector = self._selector(n_latent, not isinstance(kernel, PerClass) and "augment" in likelihood.supports)
        if kernel.pairwise:
            raise TypeError(
                "the informative vector machine needs features, not the covariances that a Precomputed kernel takes"
            )
        self.check(likelihood, n_latent)
        if selector.update == "vb" and "augment" not in likelihood.supports:
            name = type(likelihood).__name__
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
        prior: ActivePrior,
        y: np.ndarray,
        likelihood: Likelihood,
        start: ActiveSites | None = None,
        monitor: Monitor = SILENT,
        rng: np.random.Generator | None = None,
    ) -> Selected:
        """Select the active rows (LPJ05 algorithm 1), going on from ``start``.

        Predictions are kept up to date for all rows, also for those that the prior excludes from selection. An
        interrupt keeps what has been selected: it is returned and not raised.
        """
        kernel, n_latent = prior.kernel, prior.n_latent
        selector = self.selector(kernel, likelihood, n_latent)
        active = self.empty(kernel, prior.X, n_latent, selector)
        if start is not None and len(start.rows):
            kept = slice(0, self.size(len(start.rows)))
            active.include_all(start.rows[kept], start.precision[kept], start.mean[kept])
        if prior.excluded is not None:
            active.excluded = prior.excluded
        try:
            stopped = selector.grow(active, y, likelihood, self.size(len(y)), rng, monitor)
            if active.size < len(y):
                stopped |= selector.exchange(active, y, likelihood, self.n_exchanges, rng, monitor)
        except KeyboardInterrupt:
            if not active.size:
                raise
            # A row may be half included: include those that are complete again.
            whole = active.sites()
            active.clear()
            active.include_all(*whole)
            return Selected(active, True)
        return Selected(active, False, stopped)

    def finish(self, active: ActiveSet, y: np.ndarray, likelihood: Likelihood, monitor: Monitor = SILENT) -> Fit:
        """The fit after selection, its sites refined where that is wanted, with ``loo`` for all rows."""
        fit = self.refined(active, y, likelihood, monitor)
        loo = active.without_own_site()
        if fit.loo is not None:
            for moment, own in zip(loo, fit.loo, strict=True):
                moment[active.rows] = own
        return fit._replace(left_out=loo)

    def refined(self, active: ActiveSet, y: np.ndarray, likelihood: Likelihood, monitor: Monitor = SILENT) -> Fit:
        """As ``finish``, but ``loo`` holds the active rows only, and only where dividing out their sites would flatter
        the model."""
        selector = self.selector(active.columns.kernel, likelihood, active.mean.shape[1])
        rows = np.array(active.rows)
        info = Info(active.size, True)
        if not self.refine or isinstance(likelihood, Gaussian):
            log_evidence = _chain_rule(active, y[rows], likelihood)
            return Fit(active.posterior(), log_evidence, log_evidence, info)
        sites, fit = refined_sites(selector, active, y[rows], likelihood, monitor)
        active.clear()
        active.include_all(rows, sites.precision, sites.location / sites.precision)
        info = fit.info._replace(n_iter=active.size + fit.info.n_iter)
        return fit._replace(posterior=active.posterior(), info=info, state=None)


def refined_sites(
    selector: Selector, active: ActiveSet, y: np.ndarray, likelihood: Likelihood, monitor: Monitor
) -> tuple[Sites, Fit]:
    """Sites (S, G), (S, C) at the active rows that agree with each other, and the fit they come from."""
    S, C = active.size, active.mean.shape[1]
    prior = DensePrior(active.columns.kernel(active.columns.X[active.rows]), C)
    with monitor.task("refinement") as steps:
        if selector.update == "vb":
            # Variational Bayes (``vb``) without the Laplace evidence at its mode.
            latent = LatentObjective(prior.K, y, likelihood, C)
            mode, objective_trace, converged, stopped = latent.maximise(None, 1e-6, 200, steps)
            noise = latent.noise[:, None]
            # Pseudo-observations y~ = mean + noise * slope, and the slope at the mode is K^-1 mean = alpha.
            precision = np.broadcast_to(1.0 / noise, (S, active.n_groups))
            bound = mode.J - 0.5 * latent.log_det
            info = Info(len(objective_trace) - 1, converged, stopped=stopped)
            loo = _leave_one_out(latent, mode) if len(active.mean) == S else None
            return Sites(precision, mode.m / noise + mode.alpha), Fit(None, bound, bound, info, loo)
        precision = np.broadcast_to(active.site_precision[:S], (S, C))
        start = Sites(precision.copy(), precision * active.site_mean[:S])
        engine = EP(coupling="none", max_iter=400 if C == 1 else 100)
        fit = engine(prior, y, likelihood, init=start, monitor=steps)
        return fit.state, fit._replace(left_out=None)


def _leave_one_out(latent: LatentObjective, mode: Point) -> Latent:
    """Means and variances (S, C) of the active rows, each without its own label, where "vb" has refined their sites and
    all rows are active.

    Dividing out a site would be optimistic: its label has moved the pseudo-observation already, and what is left still
    depends on it. The likelihood's own curvature says by how much, as for ``VB``; where all classes at once need too
    much memory, that of each class alone, which removes not quite all of the label. For a selection of rows the same
    would be pessimistic: without one active row another would have been selected, and calibration without a
    replacement makes predictions underconfident (docs/decisions/0031-leave-one-out-of-active-rows.md).
    """
    d, _ = latent.likelihood.curvature(latent.y, mode.m)
    if d.size * len(d) <= _ALL_AT_ONCE:
        mean, _ = latent.leave_one_out(mode, ProductFormPosterior(latent.K, d))
    else:
        workspace = Workspace(len(d), 1)
        alone = [
            ProductFormPosterior(class_matrix(latent.K, c), own[:, None], workspace).marginals()
            for c, own in enumerate(d.T)
        ]
        variance = np.concatenate(alone, axis=1)[:, :, 0]
        # As docs/theory/leave_one_out.md has it for coupled classes, with W_n = diag(d_n).
        mean = mode.m - variance / (1.0 - d * variance) * mode.p
    return Latent(mean, left_out_variance(latent))


def _chain_rule(active: ActiveSet, y: np.ndarray, likelihood: Likelihood) -> float:
    """log p(y_1) + log p(y_2 | y_1) + ...: each active label under the posterior before its inclusion.

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
