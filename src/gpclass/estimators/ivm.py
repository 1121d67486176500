"""IVMClassifier and IVMRegressor: models that keep a few informative rows."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..hyper.objective import set_aside
from ..inference import IVM, Exact
from ..inference.active.active_set import ActiveSites
from ..inference.active.ivm import DEFAULT_SIZE
from ..inference.active.online import Basis
from ..inference.active.selection import Selector
from ..inference.base import Engine
from ..inference.calibration import Calibration, LooPrediction, calibrate
from ..inference.posteriors import GaussianPosterior, InducingPosterior
from ..kernels import PerClass
from ..likelihoods import Likelihood
from ..training.active import fit_ivm, one_theta
from ..training.learning import MANY, Fitted
from ._base import GPEstimator, column_moments
from ._classifying import GPClassifierMixin, best_engine
from ._labels import is_missing, refuse_mixed_labels
from ._regressing import GPRegressorMixin

#: Rows that are passed over are the easier ones and flatter the model. Of many rows, so many are therefore set aside to
#: calibrate; of fewer, none can be spared (measured: docs/design.md).
_JUDGES = 1000
#: Rows whose predictions, made before their label came, calibrate an online model.
_RECENT = 1000


class IVMEstimator(GPEstimator):
    """Base of IVMClassifier and IVMRegressor."""

    n_active: int | None
    criterion: str
    update: str
    block_size: int
    n_exchanges: int
    refine: bool
    warm_start: bool
    dtype: str
    sites_: ActiveSites | None
    posterior_: GaussianPosterior | InducingPosterior
    log_evidence_: float
    _basis: Basis | None = None
    _problem: str | None = None
    _files_rows = False

    def _ivm(self, learner: Engine) -> IVM:
        return IVM(
            n_active=self.n_active,
            criterion=self.criterion,
            update=self.update,
            block_size=self.block_size,
            n_exchanges=self.n_exchanges,
            refine=self.refine,
            dtype=self.dtype,
            learner=learner,
        )

    @property
    def active_(self) -> np.ndarray:
        """The rows kept, in the order of their inclusion, as rows of the X of ``fit``."""
        check_is_fitted(self)
        if self.sites_ is None:
            raise AttributeError("active_ counts the rows of fit; after partial_fit the rows kept are in active_rows_")
        return self.sites_.rows

    @property
    def active_rows_(self) -> np.ndarray:
        """The rows kept, (S, n_features), in the units of X."""
        check_is_fitted(self)
        return self._unscaled(self.posterior_.X)

    def _taken_up(self, X: np.ndarray, y: np.ndarray) -> ActiveSites | None:
        """With ``warm_start``, the active rows of the last fit, if data and model are the same."""
        settings = (self.kernel, self.likelihood, self.hyper, self.update, self.standardize)
        problem = blake2b(repr((X.shape, settings)).encode())
        for data in (X, y):
            problem.update(np.ascontiguousarray(data).data)
        before, self._problem = self._problem, problem.hexdigest()
        sites = getattr(self, "sites_", None)
        if not self.warm_start or sites is None:
            return None
        if before != self._problem:
            raise ValueError(
                "warm_start=True goes on choosing rows for the same model of the same data, but X, y, the kernel, the "
                "likelihood, hyper, standardize or update have changed; expected the same (new rows go to "
                "partial_fit), or warm_start=False to begin anew"
            )
        return sites

    # ---- online --------------------------------------------------------------------------------------

    def _begin(
        self, X: np.ndarray, y: np.ndarray, likelihood: Likelihood, ivm: IVM, n_latent: int, first: bool
    ) -> np.ndarray:
        """The batch in the kernel's units; at the first, those and the kernel's parameters are learned from it."""
        if isinstance(self.kernel, PerClass):
            raise TypeError("partial_fit needs one kernel for all classes, got a PerClass kernel")
        if not first:
            return self._scaled(X)
        # A column that is constant in the first batch may vary in the next.
        mean, variance = column_moments(X, None)
        moments = mean, np.where(variance <= 1e-24 * mean**2, 1.0, variance)
        model = self._model_of(X, y, likelihood, ivm, n_latent, moments=moments)  # type: ignore[arg-type]
        ivm.selector(model.kernel, likelihood, n_latent)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        model = self._learn_theta(model, one_theta(self, len(y), likelihood), ivm, rng)  # type: ignore[arg-type]
        self.log_evidence_ = 0.0
        return model.X

    @property
    def _budget(self) -> int:
        return DEFAULT_SIZE if self.n_active is None else self.n_active

    def _absorb(self, X: np.ndarray, y: np.ndarray, n_latent: int) -> tuple[np.ndarray, np.ndarray]:
        """Take in a batch of rows in the kernel's units; what was believed of each before. A callback may ask to stop:
        then of the first of them, which are those taken in."""
        selector = Selector(update="adf" if self.update == "auto" else self.update)
        groups = 1 if selector.update == "vb" else n_latent
        basis = (
            self._first_basis(X, n_latent, groups) if self._basis is None else self._basis.resized(self._budget, groups)
        )
        mean, variance = basis.absorb(X, y, self.likelihood_, selector)
        self._basis = basis  # only now: a batch that fails or is interrupted leaves the model as it was
        self.posterior_ = InducingPosterior.from_moments(self.kernel_, basis.rows.copy(), basis.mean, basis.Sigma)
        self.sites_ = None
        self.n_samples_seen_ = getattr(self, "n_samples_seen_", 0) + len(mean)
        return mean, variance

    def _first_basis(self, X: np.ndarray, n_latent: int, groups: int) -> Basis:
        """Nothing known yet, or what ``fit`` has left."""
        if getattr(self, "sites_", None) is None:
            return Basis(
                self.kernel_,
                self._budget,
                np.zeros((0, X.shape[1])),
                np.zeros((0, n_latent)),
                np.zeros((groups, 0, 0)),
            )
        assert isinstance(self.posterior_, GaussianPosterior)
        posterior = self.posterior_
        rows, weights = posterior.X, posterior.weights
        K = self.kernel_(rows)
        if weights.chol.ndim == 3 and groups == 1 < n_latent:
            raise ValueError(
                "update='vb' shares covariances between classes, but the model was fitted with update='adf'"
            )
        halves = [posterior.half(K, g) for g in range(groups)]
        Sigma = np.stack([K - half.T @ half for half in halves])
        return Basis(self.kernel_, self._budget, rows, K @ weights.alpha, Sigma)


class IVMClassifier(GPClassifierMixin, IVMEstimator):
    """The informative vector machine: a Gaussian-process classifier that keeps the most informative rows.

    Time is O(n S^2 + n S K) and memory O(n S) for n rows, K classes and S = ``n_active`` rows kept.

    Parameters
    ----------
    kernel : kernel of ``gpclass.kernels`` or of scikit-learn, default=None
        As for ``GPClassifier``.
    n_active : int or None, default=None
        Number of rows to keep; None is 500, or all where there are fewer. Raise it as far as time allows.
    likelihood : Likelihood or str, default=None
        None is ``Probit`` for two classes and ``MultinomialProbit`` for more.
    criterion : "auto", "entropy", "gain", "probability" or "random", default="auto"
        What makes a row informative: how far it lowers the entropy of the posterior (LPJ05), how far it moves it (in
        nats), or how improbable its label is without it (GR06); or rows at random, for comparison. "auto" is "entropy"
        for two classes and "probability" for more.
    update : "auto", "adf" or "vb", default="auto"
        How labels enter: "adf" matches moments, with covariances of its own for every class; "vb" takes GR06's
        pseudo-observation with unit noise, for which all classes share them. "auto" is "adf" for two classes and "vb"
        for more.
    block_size : int, default=1
        Rows taken up by one matrix product. With 1 every row is judged anew for every inclusion; 16 is faster on many
        rows and chooses slightly less well.
    n_exchanges : int, default=0
        After selection, how often at most the kept row that would be missed least makes room for the most informative
        of the others. It settles after a few, and rarely changes much.
    refine : bool, default=True
        Whether, after selection, the rows' contributions are made to agree with each other, by expectation propagation
        ("adf") or variational Bayes ("vb").
    hyper : str or an object of ``gpclass.hyper``, default="auto"
        "evidence" learns kernel parameters by the evidence of a sample of at most 350 rows, "loo" by its leave-one-out
        predictions; "held_out" puts right what "evidence" says of scale by the predictions of rows set aside;
        "alternating" learns from the active rows, in turns with their selection (LPJ05 algorithm 2); "fixed" leaves
        them alone. "auto" is "held_out" from 5000 rows on, else "evidence".
    calibration : "loo" or None, default="loo"
        As for ``GPClassifier``, from predictions of the training labels: of rows that were not kept, and of those kept
        without their own label. Rows that are passed over are the easier ones, so ``loo_proba_`` flatters the model
        unless all are kept; of 5000 rows and more, 1000 are set aside until it has been calibrated, and can be kept
        only then (of more than 50000, not at all).
    warm_start : bool, default=False
        Whether ``fit`` on the same data goes on from the rows kept by the last: after raising ``n_active``, or after
        an interrupt (Ctrl-C), which keeps what was chosen so far.
    dtype : "float64" or "float32", default="float64"
        Of the one large array in memory, n x n_active numbers.
    n_restarts_optimizer, standardize, random_state, n_jobs, verbose
        As for ``GPClassifier``; ``random_state=None`` settles equal scores in favour of the first row.

    Attributes
    ----------
    active_ : (S,) rows kept, in the order of their inclusion
    sites_ : their pseudo-observations: ``rows``, ``precision`` and ``mean``
    log_evidence_ : float, log evidence of the active rows' labels
    classes_, kernel_, likelihood_, calibration_, loo_proba_, relevance_, hyper_, info_, n_iter_, n_features_in_
        As for ``GPClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gpclass import IVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = IVMClassifier(n_active=200).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 1)
    0.9
    """

    _recent: tuple[np.ndarray, ...] | None = None

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_active: int | None = None,
        likelihood: Any = None,
        criterion: str = "auto",
        update: str = "auto",
        block_size: int = 1,
        n_exchanges: int = 0,
        refine: bool = True,
        hyper: Any = "auto",
        calibration: str | None = "loo",
        warm_start: bool = False,
        dtype: str = "float64",
        n_restarts_optimizer: int = 0,
        standardize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_active = n_active
        self.likelihood = likelihood
        self.criterion = criterion
        self.update = update
        self.block_size = block_size
        self.n_exchanges = n_exchanges
        self.refine = refine
        self.hyper = hyper
        self.calibration = calibration
        self.warm_start = warm_start
        self.dtype = dtype
        self.n_restarts_optimizer = n_restarts_optimizer
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any) -> IVMClassifier:
        """Fit to rows X (n, n_features) with labels y (n,).

        An interrupt (Ctrl-C) while rows are chosen leaves a model of those chosen so far, and is then raised.
        """
        self._check_calibration()
        with self._fitting():
            refuse_mixed_labels(y)
            X, y = self._validated(X, y, order="C", ensure_min_samples=2)
            labels = self._encode(y)
            likelihood = self._resolve_likelihood(len(self.classes_))
            start = self._taken_up(X, labels)
            ivm = self._ivm(best_engine(likelihood))
            n_latent = likelihood.n_latent(len(self.classes_))
            held_out = self._held_out(labels, ivm)
            fit, interrupted = fit_ivm(self, X, labels, likelihood, ivm, n_latent, start, held_out)
            judges = held_out if np.any(held_out) else np.ones(len(X), bool)
            self._calibrate_labels(labels, [Fitted(1.0, fit, self.likelihood_)], judges.astype(float))
            few = np.flatnonzero(judges)[-_RECENT:]
            assert fit.loo is not None
            self._recent = labels[few], fit.loo[0][few], fit.loo[1][few]
        if interrupted:
            raise KeyboardInterrupt(f"the model has the {len(self.active_)} rows chosen so far")
        return self

    def _held_out(self, labels: np.ndarray, ivm: IVM) -> np.ndarray:
        """Which rows are set aside to calibrate: some of many, or none."""
        n = len(labels)
        enough = self.calibration == "loo" and n >= MANY and n - ivm.size(n) >= 2 * _JUDGES
        return set_aside(labels, _JUDGES if enough else 0)

    @with_callbacks
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> IVMClassifier:
        """Absorb a batch of rows, in their order, into the model there is, or begin one.

        All rows speak, kept or not: at most ``n_active`` are kept, and what others have said of them stays. The first
        call learns the kernel parameters and the scale of the inputs; later ones leave them alone. ``classes`` (at the
        first call) lists all labels that can ever come; without it they are those of the first batch. Calibration
        rests on what was predicted for each row before its label came. ``update="auto"`` is "adf" here. Where a
        callback stops a batch early, ``n_samples_seen_`` says how many rows have been absorbed in all.
        """
        self._check_calibration()
        with self._fitting():
            refuse_mixed_labels(y)
            first = not hasattr(self, "posterior_")
            X, y = self._validated(X, y, order="C", first=first)
            labels = self._encode_batch(y, classes, first)
            likelihood = self._resolve_likelihood(len(self.classes_))
            n_latent = likelihood.n_latent(len(self.classes_))
            rows = self._begin(X, labels, likelihood, self._ivm(best_engine(likelihood)), n_latent, first)
            mean, variance = self._absorb(rows, labels, n_latent)
            labels = labels[: len(mean)]
            self.log_evidence_ += float(self.likelihood_.tilted(labels, mean, variance)[0].sum())
            self._calibrate_online(labels, mean, variance)
        return self

    def _encode_batch(self, y: Any, classes: Any, first: bool) -> np.ndarray:
        """Labels of a batch as numbers; at the first, the classes."""
        check_classification_targets(y)
        listed = None if classes is None else _checked_classes(classes)
        if first:
            self.classes_ = np.unique(y) if listed is None else listed
            if len(self.classes_) < 2:
                raise ValueError(
                    f"expected at least 2 classes, got {self.classes_.tolist()}; list all that can come in classes="
                )
        elif listed is not None and not np.array_equal(listed, self.classes_):
            raise ValueError(f"classes= is {list(classes)!r}, but the model has {self.classes_.tolist()}")
        labels = np.searchsorted(self.classes_, y)
        known = self.classes_[np.minimum(labels, len(self.classes_) - 1)] == y
        if not np.all(known):
            new = np.unique(np.asarray(y)[~known]).tolist()
            raise ValueError(
                f"expected labels of the classes {self.classes_.tolist()}, got {new} too; list all classes that can "
                "come in the first call: partial_fit(X, y, classes=...)"
            )
        return labels

    def _calibrate_online(self, labels: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> None:
        """From the latest predictions made before the label came."""
        self.loo_proba_ = None
        self.calibration_ = Calibration()
        if self._recent is not None:
            labels, mean, variance = (
                np.concatenate(pair) for pair in zip(self._recent, (labels, mean, variance), strict=True)
            )
        else:  # the first rows were predicted by a model that knew nothing
            labels, mean, variance = (part[len(part) // 2 :] for part in (labels, mean, variance))
        self._recent = tuple(part[-_RECENT:] for part in (labels, mean, variance))
        if self.calibration == "loo":
            labels, mean, variance = self._recent
            belief = LooPrediction(np.zeros(len(labels)), self.likelihood_, mean, variance)
            self.calibration_ = calibrate([belief], labels, np.ones(len(labels)))


def _checked_classes(classes: Any) -> np.ndarray:
    """All labels that can come, sorted."""
    if isinstance(classes, str) or np.ndim(classes) != 1:
        raise ValueError(f"expected a list of all labels that can come in classes=, got {classes!r}")
    given = list(classes)
    missing = [label for label in given if is_missing(label)]
    if missing:
        raise ValueError(f"expected labels in classes=, got {missing[0]!r} among {given!r}")
    if len({isinstance(label, str) for label in given}) > 1:
        kinds = sorted({type(label).__name__ for label in given})
        raise ValueError(f"expected labels of one type in classes=, got a mixture of {' and '.join(kinds)}")
    return np.unique(given)


class IVMRegressor(GPRegressorMixin, IVMEstimator):
    """The informative vector machine for numbers: Gaussian-process regression that keeps the most informative rows.

    Parameters
    ----------
    kernel, n_active, criterion, block_size, hyper, warm_start, dtype, n_restarts_optimizer, standardize, random_state, n_jobs, \
verbose
        As for ``IVMClassifier``; ``hyper`` is "evidence" by default; amplitudes are in units of the standard deviation
        of y. The entropy does not depend
        on y, so "entropy" spreads the rows over the inputs; "gain" looks at y too.
    likelihood : Gaussian, default=None
        Noise model to start from, its variance in units of the variance of y; None starts at 0.1.

    Attributes
    ----------
    active_, sites_, kernel_, likelihood_, relevance_, hyper_, info_, n_iter_ : as for ``IVMClassifier``
    log_evidence_ : float, log density of the active rows' numbers, in the units of y
    noise_std_ : float, learned noise in the units of y
    """

    # Gaussian sites are exact: there is one way to take up a row, and nothing to refine.
    update = "adf"
    n_exchanges = 0
    refine = False

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_active: int | None = None,
        likelihood: Any = None,
        criterion: str = "entropy",
        block_size: int = 1,
        hyper: Any = "evidence",
        warm_start: bool = False,
        dtype: str = "float64",
        n_restarts_optimizer: int = 0,
        standardize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_active = n_active
        self.likelihood = likelihood
        self.criterion = criterion
        self.block_size = block_size
        self.hyper = hyper
        self.warm_start = warm_start
        self.dtype = dtype
        self.n_restarts_optimizer = n_restarts_optimizer
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any) -> IVMRegressor:
        """Fit to rows X (n, n_features) with numbers y (n,); an interrupt keeps the rows chosen so far."""
        with self._fitting():
            X, y = self._validated(X, y, order="C", y_numeric=True, ensure_min_samples=2)
            start = self._taken_up(X, np.asarray(y, dtype=float))
            _, interrupted = fit_ivm(self, X, self._settle_target(y), self._noise(), self._ivm(Exact()), 1, start)
            self._in_units_of_target(len(y), len(self.active_))
        if interrupted:
            raise KeyboardInterrupt(f"the model has the {len(self.active_)} rows chosen so far")
        return self

    @with_callbacks
    def partial_fit(self, X: Any, y: Any) -> IVMRegressor:
        """Absorb a batch of rows, in their order, into the model there is, or begin one.

        All rows speak, kept or not. The first call learns parameters and scales; later ones leave them alone.
        """
        with self._fitting():
            first = not hasattr(self, "posterior_")
            X, y = self._validated(X, y, order="C", y_numeric=True, first=first)
            if first:
                target = self._settle_target(y)
            else:
                target = (np.asarray(y, dtype=float) - self.target_mean_) / self.target_scale_
            rows = self._begin(X, target, self._noise(), self._ivm(Exact()), 1, first)
            mean, variance = self._absorb(rows, target, 1)
            self.log_evidence_ += float(self.likelihood_.tilted(target[: len(mean)], mean, variance)[0].sum())
            if first:
                self._in_units_of_target(len(y), len(mean))
            else:
                self.log_evidence_ -= len(mean) * float(np.log(self.target_scale_))
        return self
