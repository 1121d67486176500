"""What the estimators share: input checks, kernels from settings, learning, and prediction in blocks. No maths."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..hyper import Alternating, Evidence, Fixed, HeldOut, HyperResult, Metropolis, Model
from ..hyper.sampler import Sampler
from ..hyper.view_weights import ViewWeights, view_weights
from ..inference import IVM, VB, Exact, Gibbs
from ..inference.base import Engine, Fit
from ..inference.posteriors import DrawsPosterior, Latent, Member, MixturePosterior, Posterior, make_posterior
from ..io.arviz_bridge import inference_data
from ..io.filing import is_filing
from ..kernels import RBF, Categorical, Columns, Kernel, PerClass, View, WeightedSum, from_sklearn
from ..kernels.views import EmptyRowError
from ..likelihoods import Likelihood, Weighted
from ..training.learning import HYPER, Fitted, fit_samples, learn_default, why_not_mixed
from ..training.monitor import Callbacks, Terminal, listening
from ._documentation import Documented
from ._tables import Categories, _numbers, as_codes, find_categories, is_frame


@contextmanager
def rollback_on_error(estimator: Any) -> Iterator[None]:
    """Whatever stops a fit, Ctrl-C included, leaves the estimator as it was before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def available_memory() -> int | None:
    """Bytes that can be had without swapping, or None where the system does not say."""
    limits = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) * 1024)
        group = Path("/sys/fs/cgroup/memory.max")
        if group.exists() and (text := group.read_text().strip()).isdigit():
            limits.append(int(text))
    except OSError:
        pass
    if not limits:
        try:
            limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (ValueError, OSError, AttributeError):
            return None
    return min(limits)


def check_memory(n_rows: int, n_matrices: int, instead: tuple[str, ...]) -> None:
    """Refuse, before starting, a fit whose matrices cannot fit; ``instead`` are the names of what needs none."""
    needed = 8 * n_rows**2 * n_matrices
    available = available_memory()
    if available is not None and needed > available:
        need = "need" if len(instead) > 1 else "needs"
        raise MemoryError(
            f"an exact fit on {n_rows} rows needs about {needed / 2**30:.1f} GiB for {n_matrices} matrices of "
            f"{n_rows} x {n_rows}, and this machine has {available / 2**30:.1f} GiB free; use {' or '.join(instead)}, "
            f"which {need} no such matrices, or fit on fewer rows"
        )


#: Numbers beyond this have squares and products that no float holds.
LARGEST = 1e100


def refuse_huge(X: np.ndarray, first_row: int = 0) -> None:
    """Refuse numbers that cannot be squared; ``first_row`` is the number of the first row, where X is not all."""
    if X.size and max(np.fmax.reduce(X, axis=None), -np.fmin.reduce(X, axis=None)) > LARGEST:
        row, column = (int(first[0]) for first in np.nonzero(np.abs(X) > LARGEST))
        raise ValueError(
            f"expected numbers of at most {LARGEST:g} in X, got {X[row, column]:g} in row {first_row + row}, "
            f"column {column}"
        )


def column_moments(X: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the columns, of what is there."""
    there = np.ma.masked_invalid(X)
    mean = np.ma.average(there, axis=0, weights=weights)
    variance = np.ma.average((there - mean) ** 2, axis=0, weights=weights)
    return np.ma.filled(mean, 0.0), np.ma.filled(variance, 0.0)


def choose(name: str, value: Any, named: Mapping[str, type]) -> Any:
    """A setting given as a word or as an object."""
    if isinstance(value, str):
        if value not in named:
            raise ValueError(f"{name} must be one of {sorted(named)} or an object, got {value!r}")
        return named[value]()
    if isinstance(value, type):
        raise ValueError(f"{name} must be an object, not a class: write {value.__name__}() with brackets")
    if not callable(value):
        raise ValueError(f"{name} must be one of {sorted(named)} or an object, got {value!r}")
    return value


def _warn_if_blind(kernel: Kernel, X: np.ndarray) -> None:
    """Say so when no two rows look alike at the starting values: learning has no slope to follow from there."""
    if kernel.pairwise or isinstance(kernel, PerClass) or len(X) < 2:
        return
    rows = X[: min(len(X), 500)]
    K = kernel(rows)
    scale = np.sqrt(np.diag(K))
    if np.all(scale > 0):
        correlation = np.abs(K / scale / scale[:, None])[~np.eye(len(K), dtype=bool)]
        if correlation.max() < 1e-6:
            warnings.warn(
                "at its starting values the kernel sees no two rows as similar (largest correlation "
                f"{correlation.max():.1g}), so nothing can be learned; scale the inputs (standardize=True) or start "
                "from a larger length_scale",
                UserWarning,
                stacklevel=4,
            )


class GPEstimator(Documented, CallbackSupportMixin, BaseEstimator):
    """Base of all Gaussian-process estimators."""

    kernel: Any
    hyper: Any
    n_restarts_optimizer: int
    standardize: Any
    random_state: Any
    n_jobs: int | None
    verbose: int
    #: amplitude that the default kernel starts from, and that its prior is centred on
    _start_variance: float = 1.0
    #: what to turn to where there are too many rows for an exact fit
    _for_many_rows: tuple[str, ...] = ("SparseGPClassifier", "IVMClassifier")
    posterior_: Posterior | MixturePosterior
    kernel_: Kernel
    likelihood_: Likelihood
    hyper_: HyperResult

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, Kernel) and self.kernel.pairwise
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    @property
    def _takes_missing(self) -> bool:
        """Whether rows may have NaN."""
        return isinstance(self.kernel, Kernel) and self.kernel.takes_missing

    def set_params(self, **params: Any) -> Any:
        """As in scikit-learn; ``kernel__length_scale=2`` replaces the kernel by one with that parameter changed."""
        if hasattr(params.get("kernel", self.kernel), "get_params"):  # a kernel of scikit-learn sets its own
            return super().set_params(**params)
        nested = {name[len("kernel__") :]: params.pop(name) for name in list(params) if name.startswith("kernel__")}
        super().set_params(**params)
        if nested:
            if self.kernel is None:
                raise ValueError(
                    f"the default kernel has no settable parameters; pass a kernel to set {sorted(nested)}"
                )
            self.kernel = from_sklearn(self.kernel).with_params(nested)
        return self

    # ---- fitting ------------------------------------------------------------------------------------

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        """Around all of a fit: who hears of its progress, and nothing changed if it fails."""
        # The callbacks' context comes first: it must outlive a fit that fails, to be torn down.
        root = Callbacks(self, self._init_callback_context(max_subtasks=None))
        with rollback_on_error(self), listening(root, Terminal(type(self).__name__) if self.verbose else None):
            yield
            root.end()

    def _validated(self, X: Any, *y: Any, first: bool = True, **settings: Any) -> Any:
        """What scikit-learn's ``validate_data`` makes of X (and y), columns of categories as codes."""
        if first or not hasattr(self, "_categories"):  # streams of rows begin without a fit
            self._keep_categories(find_categories(X), getattr(X, "columns", ()))
        X, strange = as_codes(X, self._categories, gaps=self._takes_missing)
        if strange:
            warnings.warn(
                f"columns {strange} hold categories that were not there in fit: they match none of those", stacklevel=4
            )
        finite = "allow-nan" if self._takes_missing else True
        try:
            valid = validate_data(self, X, *y, dtype=np.float64, reset=first, ensure_all_finite=finite, **settings)
        except ValueError as error:
            if str(error).startswith("Input X contains NaN"):
                raise ValueError(
                    f"Input X contains NaN: expected a number in every cell for {type(self).__name__} and its kernel. "
                    "Fill gaps with an imputer, take gpclass.tabular.TableModel, which does, or a WeightedSum of views"
                ) from None
            if not str(error).startswith("could not convert string to float"):
                raise
            if is_frame(X):  # of numbers in fit, which takes text for categories; or else y is at fault
                for name in X.columns:
                    _numbers(name, X[name])
                raise
            raise ValueError(f"{error}; columns of categories need a data frame, got {type(X).__name__}") from error
        rows = valid[0] if y else valid
        refuse_huge(rows)
        if not first and self._takes_missing and getattr(self, "_gram_layout", None) is None:
            # Predictions go by blocks, which cannot tell the number of a row in X.
            empty = np.flatnonzero(~self.kernel_.observed_rows(rows))
            if len(empty):
                raise EmptyRowError(int(empty[0]))
        return valid

    def _keep_categories(self, categories: dict[Any, Categories], columns: Any) -> None:
        """Which columns hold categories, and which those are."""
        self._categories = categories
        self.categories_ = {name: own.values for name, own in categories.items()}
        self._categorical = np.array([name in categories for name in columns]) if categories else None

    def _columns(self, n_features: int) -> Columns:
        """What is known of the columns."""
        names = getattr(self, "feature_names_in_", None)
        categorical = getattr(self, "_categorical", None)
        layout = getattr(self, "_gram_layout", None)
        if layout is None:
            return Columns(names, categorical, n_features=n_features)
        return Columns(names, categorical, layout.columns, layout.n_features)

    def _start_kernel(self, n_features: int) -> Kernel:
        """The kernel to start from (see also _learning.learn_default for the default one)."""
        if self.kernel is not None:
            return from_sklearn(self.kernel)
        n_categories = len(getattr(self, "categories_", ()))
        numbers = self._default_shape(np.sqrt(max(n_features - n_categories, 1)))
        if not n_categories:
            return self._start_variance * numbers
        # A row must be like another in both to be like it.
        categories = View(Categorical(np.sqrt(n_categories)), dtype="category")
        shape = categories if n_categories == n_features else View(numbers, dtype="number") * categories
        return self._start_variance * shape

    def _default_shape(self, length_scale: float) -> Kernel:
        """The default kernel but for its amplitude, for standardised inputs."""
        return RBF(length_scale)

    def _settle_scale(
        self,
        X: np.ndarray,
        weights: np.ndarray | None,
        moments: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Means and standard deviations of the inputs (from ``moments``, means and variances, where X is not all), or 0
        and 1 when they are to be taken as they come."""
        if self.standardize not in ("auto", True, False):
            raise ValueError(f"standardize must be 'auto', True or False, got {self.standardize!r}")
        kernels = self.kernel.children if isinstance(self.kernel, PerClass) else (self.kernel,)
        automatic = all(kernel is None or isinstance(kernel, WeightedSum) for kernel in kernels)
        wanted = automatic if self.standardize == "auto" else self.standardize
        if wanted and isinstance(self.kernel, Kernel) and self.kernel.pairwise:
            raise ValueError("standardize=True makes no sense for a Precomputed kernel: X holds covariances")
        self.input_mean_, self.input_scale_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if not wanted:
            return
        # Neither codes of categories nor Gram matrices behind the features have a scale.
        known = self._columns(X.shape[1])
        scaled = np.arange(X.shape[1]) < (known.n_features or 0)
        scaled[: known.n_features] &= ~self._codes(known)
        own = column_moments(X[:, scaled], weights) if moments is None else (part[scaled] for part in moments)
        mean, variance = own
        spread = np.sqrt(variance)
        # A constant column says nothing: an infinite scale takes it out, whatever it holds at prediction.
        constant = spread <= 1e-12 * np.abs(mean)
        if len(constant) and np.all(constant) and np.all(scaled):
            raise ValueError(
                f"expected at least one column that varies, got {X.shape[1]} constant column(s) over {len(X)} rows"
            )
        self.input_mean_[scaled], self.input_scale_[scaled] = mean, np.where(constant, np.inf, spread)

    def _codes(self, known: Columns) -> np.ndarray:
        """Which features are codes: columns of categories, and what the kernel takes for them."""
        n_features = known.n_features or 0
        codes = np.zeros(n_features, bool) if known.categorical is None else known.categorical.copy()
        if isinstance(self.kernel, Kernel):
            with suppress(ValueError):  # columns that are not there are told of when the kernel is bound
                codes |= self.kernel.categorical_columns(known, n_features)
        return codes

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return (X - self.input_mean_) / self.input_scale_

    def _unscaled(self, rows: np.ndarray) -> np.ndarray:
        """Rows in the units of X; columns that were constant have that constant."""
        return rows * np.where(np.isinf(self.input_scale_), 0.0, self.input_scale_) + self.input_mean_

    def _learn(
        self,
        X: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        engine: Engine,
        n_latent: int,
        weights: np.ndarray | None = None,
        left_out: np.ndarray | None = None,
    ) -> list[Fitted]:
        """Choose theta, or sample it, fit there, and keep the result; ``weights`` and ``left_out`` as ``Weighted`` has
        them."""
        # Measured at the peak of learning: factors, inverses and gradients for every latent function, and a dozen more.
        n_matrices = 7 * n_latent + 13 if isinstance(self.kernel, PerClass) else 3 * n_latent + 12
        check_memory(len(X), n_matrices, self._for_many_rows)
        model = self._model_of(X, y, likelihood, engine, n_latent, weights, left_out)
        hyper = choose("hyper", self.hyper, HYPER)
        n_models = getattr(hyper, "n_models", 1)
        if n_models > 1:
            shared = isinstance(engine, (VB, Gibbs, Exact)) and not isinstance(self.kernel, PerClass)
            check_memory(len(X), n_models * (1 if shared else n_latent + 1), self._for_many_rows)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        model = self._learn_theta(model, hyper, engine, rng)
        X, final = model.X, replace(model, engine=engine)
        # A sampler of the latent functions has made its fits already; the first speaks for them.
        fit = final.fit(self.hyper_.theta) if self.hyper_.fits is None else self.hyper_.fits[0][2]
        self._warn_about(engine, fit)
        self.info_ = fit.info
        self.n_iter_ = fit.info.n_iter
        self.log_evidence_ = fit.log_evidence
        self.objective_ = fit.objective
        if self.hyper_.samples is None or not getattr(hyper, "averages", True):
            self.posterior_ = make_posterior(self.kernel_, X, fit.weights)
            return [Fitted(1.0, fit, self.likelihood_)]
        members = fit_samples(final, self.hyper_, n_models, rng)
        self.hyper_ = self.hyper_._replace(fits=None)
        kernels = [final.at(theta)[0] for theta, _ in members]
        self.posterior_ = MixturePosterior(
            tuple(
                Member(fitted.weight, make_posterior(kernel, X, fitted.fit.weights), fitted.likelihood)
                for kernel, (_, fitted) in zip(kernels, members, strict=True)
            )
        )
        return [fitted for _, fitted in members]

    def _model_of(
        self,
        X: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        engine: Engine,
        n_latent: int,
        weights: np.ndarray | None = None,
        left_out: np.ndarray | None = None,
        moments: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Model:
        """Everything but theta: rows in the kernel's units, the kernel's shapes settled, settings checked."""
        whole = isinstance(self.n_restarts_optimizer, (int, np.integer)) and not isinstance(
            self.n_restarts_optimizer, bool
        )
        if not (whole and self.n_restarts_optimizer >= 0):
            raise ValueError(f"n_restarts_optimizer must be a whole number >= 0, got {self.n_restarts_optimizer!r}")
        if hasattr(engine, "check"):
            engine.check(likelihood)
        self._settle_scale(X, weights, moments)
        X = self._scaled(X)
        kernel = self._start_kernel(X.shape[1]).bind(X, n_latent, self._columns(X.shape[1]))
        if weights is not None and (np.any(weights != 1.0) or (left_out is not None and np.any(left_out != 1.0))):
            if not getattr(engine, "takes_weights", False):
                raise TypeError(f"{type(engine).__name__} inference takes no weights; use inference='vb' or 'laplace'")
            likelihood = Weighted(base=likelihood, weights=weights, left_out=left_out)
        return Model(kernel, likelihood, getattr(engine, "learner", engine), X, y, n_latent)

    def _learn_theta(self, model: Model, hyper: Any, engine: Engine, rng: np.random.Generator) -> Model:
        """Learn or sample theta; the model, its kernel perhaps with a length-scale for each input now."""
        if not isinstance(hyper, Fixed):
            model = replace(model, kernel=model.kernel.with_data_driven_start(model.X))
            _warn_if_blind(model.kernel, model.X)
        if isinstance(hyper, (Metropolis, Alternating)):
            hyper.check(engine)
            self.hyper_ = hyper(replace(model, engine=engine), rng, self.n_restarts_optimizer, self.n_jobs)
        elif isinstance(hyper, HeldOut):
            hyper.check(replace(model, engine=engine))
            model = self._learn_theta(model, hyper.first, engine, rng)
            self.hyper_ = hyper.adjust(replace(model, engine=engine), self.hyper_)
        elif self.kernel is None and isinstance(hyper, (Evidence, Sampler)):
            model, self.hyper_ = learn_default(model, hyper, rng, self.n_restarts_optimizer, self.n_jobs)
        else:
            self.hyper_ = hyper(model, rng, self.n_restarts_optimizer, self.n_jobs)
        max_rows = getattr(hyper, "max_rows", None)
        if max_rows is not None and len(rows := model.spread_rows(max_rows)) < len(model.y):
            self.hyper_ = self.hyper_._replace(rows=rows)
        self._model = model
        self.kernel_, likelihood = model.at(self.hyper_.theta)
        self.likelihood_ = likelihood.predictive
        return model

    def _warn_about(self, engine: Engine, fit: Fit) -> None:
        """Whatever did not converge or ran into a bound, and what to do about it."""
        troubles = []
        samples = self.hyper_.samples
        if samples is not None and not self.hyper_.converged:
            troubles.append(why_not_mixed(samples))
        elif not self.hyper_.converged:
            troubles.append(
                f"learning stopped after {self.hyper_.n_evaluations} evaluations without converging; the best "
                "parameters found are kept. Raise Evidence(max_iter=...) or HeldOut(max_evaluations=...), whichever is "
                "learning, or start from other values."
            )
        # No label noise found is a finding, not a trouble.
        noise = getattr(self.likelihood_, "label_noise", 0.0)
        at_bounds = [name for name in self.hyper_.at_bounds if not name.endswith("label_noise") or noise > 1e-3]
        # Nor is a view that has nothing to say.
        at_bounds = [name for name in at_bounds if name.split("[")[0].split(".")[-1] != "weights"]
        if at_bounds and self.kernel is not None:  # nobody gave the default kernel its bounds
            troubles.append(
                f"learning ended with {', '.join(at_bounds)} at a bound; widen it with bounds={{...}} or "
                "fix the parameter"
            )
        if self.hyper_.fits is not None:
            pass  # Metropolis within Gibbs: told already
        elif not fit.info.converged and fit.info.r_hat is not None:
            troubles.append(
                f"the chains have not mixed: R-hat is up to {fit.info.r_hat:.2f}, expected below 1.1. Raise burn_in, "
                "thin or n_draws of Gibbs(...)"
            )
        elif not fit.info.converged and isinstance(engine, IVM):
            troubles.append(
                "the sites of the active rows do not quite agree with each other: refinement stopped without "
                "converging, and its best state is kept (refine=False goes without)"
            )
        elif not fit.info.converged:
            troubles.append(
                f"{type(engine).__name__} inference stopped after {fit.info.n_iter} iterations without converging; the "
                "best state is kept. Raise max_iter or loosen tol of the engine."
            )
        for trouble in troubles:
            warnings.warn(trouble, ConvergenceWarning, stacklevel=4)

    # ---- after fitting ------------------------------------------------------------------------------

    def _checked(self, X: Any) -> np.ndarray:
        """New rows, checked and in the kernel's units."""
        check_is_fitted(self)
        if self.kernel_.pairwise:
            # Precomputed takes one more column: each new row's own variance.
            gram = check_array(X, dtype=np.float64)
            if gram.shape[1] == self.n_features_in_ + 1:
                return gram
        return self._scaled(self._validated(X, first=False))

    def latent(self, X: Any, full_cov: bool = False) -> Latent:
        """Gaussian beliefs about the latent functions at the rows of X.

        Parameters
        ----------
        X : array-like or data frame of shape (m, n_features)
        full_cov : bool
            Whether to give the covariances between rows, for each latent function, instead of the variances.

        Returns
        -------
        Latent
            ``mean`` (m, C) and ``cov``: variances (m, C), covariances between latent functions (m, C, C) from an engine
            that couples them (EP, Laplace), or (C, m, m) with ``full_cov=True``. C is the number of
            classes, or 1 for two classes and for regression.
        """
        X = self._checked(X)
        return self.posterior_.joint(X) if full_cov else self.posterior_.latent(X)

    def sample_latent(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at the rows of X, correlated between rows."""
        X = self._checked(X)
        seed = check_random_state(random_state).randint(2**31 - 1)
        return self.posterior_.sample(X, n_samples, np.random.default_rng(seed))

    @property
    def relevance_(self) -> np.ndarray:
        """How much each input matters: inverse squared length-scale (or weight variance), for inputs as the kernel saw
        them; (n_features,), or (C, n_features) with a PerClass kernel."""
        check_is_fitted(self)
        return self.kernel_.relevance(self.n_features_in_)

    @property
    def view_weights_(self) -> ViewWeights:
        """How much of the latent functions each view of a ``WeightedSum`` makes up: shares, their mean and spread."""
        check_is_fitted(self)
        if not isinstance(self.kernel_, WeightedSum):
            raise AttributeError(f"view_weights_ needs a WeightedSum kernel, got {type(self.kernel_).__name__}")
        self._require_training_rows("view_weights_")
        return view_weights(self._model, self.hyper_)

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """What learning maximises, the engine's log evidence without the prior, on all training rows.

        Parameters
        ----------
        theta : array-like of shape (p,), default=None
            Values of the free parameters in the order of ``hyper_.theta_names``: logarithms of variances and
            length-scales, ``bias`` and ``label_noise`` as they are. None takes the learned ones.
        eval_gradient : bool
            Whether to give the gradient in theta as well.

        Returns
        -------
        value : float
            For "vb" the Laplace evidence at the same mode, which is closer to the truth than its bound; "gibbs" lets
            "vb" answer.
        gradient : (p,), only with ``eval_gradient``
        """
        check_is_fitted(self)
        theta = self.hyper_.theta if theta is None else np.asarray(theta, dtype=float)
        if theta.shape != self.hyper_.theta.shape or not np.all(np.isfinite(theta)):
            raise ValueError(f"expected {self.hyper_.theta.size} finite values for theta, got {theta!r}")
        self._require_training_rows("the evidence")
        for name, value, (low, high) in zip(self._model.theta_names, theta, self._model.theta_bounds, strict=True):
            if not low - 1e-9 <= value <= high + 1e-9:
                raise ValueError(f"expected theta of {name} between {low:.4g} and {high:.4g}, got {value:.4g}")
        if eval_gradient:
            value, gradient, _ = self._model.value_and_gradient(theta)
            return value + self._log_units, gradient
        return self._model.evidence(theta) + self._log_units

    #: whether a saved file holds the training rows; without them there is no evidence at other parameters
    _files_rows: bool = True

    def _require_training_rows(self, what: str) -> None:
        if not len(self._model.y):
            raise AttributeError(
                f"{what} needs the training rows, and the file of a sparse model holds its active rows only; fit "
                "again, or keep the model with pickle or joblib"
            )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if is_filing() and not self._files_rows and "_model" in state:
            model = state["_model"]
            state = {**state, "_model": replace(model, X=model.X[:0], y=model.y[:0])}
        return state

    #: what the units of the observations add to a log density of them
    _log_units: float = 0.0

    @property
    def idata_(self) -> Any:
        """Draws as ArviZ InferenceData: the parameters by name where they were sampled (weighted draws resampled), and
        ``f``, the latent values at the training rows, from "gibbs" (``row`` counts those of positive weight)."""
        check_is_fitted(self)
        samples = self.hyper_.samples
        posterior = getattr(self, "posterior_", None)
        latent = posterior.draws.latent if isinstance(posterior, DrawsPosterior) else None
        if samples is None and latent is None:
            raise AttributeError(
                "idata_ holds draws; fit with inference='gibbs', or sample the kernel parameters, as hyper='nuts' does"
            )
        return inference_data(samples, self._model, latent, getattr(self, "classes_", None))
