"""What all estimators share: parameters, the kernel to start from, storing a result, and latent predictions."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import hyper
from ..hyper import HyperResult, Objective, Search
from ..hyper.view_weights import ViewWeights, view_weights
from ..inference.base import Engine, Latent, check_engine, either
from ..inference.posteriors import DrawsPosterior
from ..inference.problem import Problem
from ..io.arviz_bridge import inference_data
from ..kernels import RBF, Additive, Categorical, Kernel, Laplacian, Matern, Quantiles, View, from_sklearn
from ..kernels.rows import Rows, select
from ..kernels.views import EmptyRowError
from ..likelihoods import Likelihood, Weighted
from ..numerics.devices import HOST, Place, beside, host_rows
from ..training.monitor import Callbacks, Monitor, Terminal, Together
from ..training.neighbors import TrainedNeighbors
from ..training.row_order import RowOrder
from ..training.trained import Settings, Trained
from ._documentation import Documented
from ._inputs import Inputs, allows_missing
from .distributed import is_collection

SEARCHES: Mapping[str, type[Search]] = {
    "alternating": hyper.Alternating,
    "evidence": hyper.Evidence,
    "fixed": hyper.Fixed,
    "held_out": hyper.HeldOut,
    "hmc": hyper.HMC,
    "importance": hyper.Importance,
    "loo": hyper.LeaveOneOut,
    "metropolis": hyper.Metropolis,
    "neighbors": hyper.NearestNeighbors,
    "nuts": hyper.NUTS,
    "stochastic": hyper.StochasticEvidence,
}
#: From so many rows on, the estimators for many rows learn by held-out rows
#: (docs/decisions/0035-held-out-rows-for-kernel-parameters.md).
MANY_ROWS = 5000
#: From so many rows on, classifiers with the default kernel learn it by nearest neighbours
#: (docs/decisions/0060-default-kernels-of-many-rows.md).
NEIGHBOR_ROWS = 1000


def choose_engine(value: Any, named: Mapping[str, Any], owner: str, prior_type: Any) -> Engine:
    """The parameter ``inference``, a word or an engine, refused where it works on another kind of prior."""
    if isinstance(value, str):
        if value not in named:
            raise ValueError(f"inference must be one of {sorted(named)} or an engine object, got {value!r}")
        return named[value]()
    return check_engine(value, prior_type, owner, tuple(named))


def choose_search(value: Any, allowed: tuple[str, ...] = tuple(SEARCHES), owner: str = "") -> Search:
    """The parameter ``hyper``, a word or an object of ``gpclass.hyper``; others than ``allowed`` are refused."""
    if isinstance(value, type):
        raise ValueError(f"hyper must be an object, not a class: write {value.__name__}() with brackets")
    if isinstance(value, str) and value in SEARCHES:
        found: Any = SEARCHES[value]()
    elif isinstance(value, Search):
        found = value
    else:
        raise ValueError(f"hyper must be one of {sorted(allowed)} or an object of gpclass.hyper, got {value!r}")
    if owner and not any(isinstance(found, SEARCHES[name]) for name in allowed if name in SEARCHES):
        name = repr(value) if isinstance(value, str) else f"{type(value).__name__}()"
        limit = "learns one set of kernel parameters" if found.samples else "learns in fewer ways"
        other = "samples them; use GPClassifier" if found.samples else "needs IVMClassifier"
        raise TypeError(f"{owner} {limit}: expected hyper={either(allowed)}, got {name}, which {other}(hyper={name})")
    return found


def generator(random_state: Any) -> np.random.Generator:
    """A generator seeded as scikit-learn understands ``random_state``."""
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if not (random_state is None or isinstance(random_state, np.random.RandomState) or whole) or (
        whole and not 0 <= random_state < 2**32
    ):
        raise ValueError(
            f"random_state must be a whole number from 0 to 2**32 - 1, a RandomState or None, got {random_state!r}"
        )
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def checked_n_jobs(n_jobs: Any) -> int | None:
    """The parameter ``n_jobs``, at most as many as there are cores."""
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if not (n_jobs is None or (whole and n_jobs != 0)):
        raise ValueError(f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r}")
    return n_jobs if n_jobs is None or n_jobs < 0 else min(int(n_jobs), os.cpu_count() or 1)


#: Kernels that have a name, for standardised inputs, given the length-scale that the default one starts from. The sum
#: of d absolute distances is about the square of that of their root mean square.
SHAPES: dict[str, Callable[[float], Kernel]] = {
    "matern": lambda length_scale: Matern(length_scale, nu=2.5),
    "rbf": RBF,
    "laplacian": lambda length_scale: Laplacian(length_scale**2),
    "additive": lambda length_scale: Additive(1.5) + 1.0 * Matern(length_scale, nu=2.5),
    "quantiles": lambda length_scale: Quantiles(Additive(1.5) + 1.0 * Matern(length_scale, nu=2.5)),
}


class GPEstimator(Documented, CallbackSupportMixin, BaseEstimator):
    """Base of all Gaussian-process estimators."""

    kernel: Any
    hyper: Any
    standardize: Any
    random_state: Any
    verbose: int
    n_restarts_optimizer: int = 0
    n_jobs: int | None = None
    #: amplitude that the default kernel starts from, and that its prior is centred on
    _start_variance: float = 1.0
    #: estimators for more rows than fit into memory
    _for_many_rows: tuple[str, ...] = ("SparseGPClassifier", "IVMClassifier")
    #: whether rows may have missing values where the kernel takes them
    _allows_missing: bool = True
    #: whether a saved file holds the training rows; without them there is no evidence at other parameters
    _saves_rows: bool = True
    #: what the units of the observations add to a log density of them
    _log_units: float = 0.0
    #: names that ``kernel`` may be
    _kernel_names: tuple[str, ...] = tuple(SHAPES)
    _inputs: Inputs
    _objective: Objective
    posterior_: Any
    kernel_: Kernel
    likelihood_: Likelihood
    hyper_: HyperResult

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, Kernel) and self.kernel.pairwise
        tags.input_tags.allow_nan = allows_missing(self)
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """As in scikit-learn; ``deep`` adds the parameters of a kernel of gpclass, such as ``kernel__length_scale``,
        under the names that ``set_params`` and a grid search take. The default kernel and those that a word names have
        none to set."""
        params = super().get_params(deep)
        if deep and isinstance(self.kernel, Kernel):
            params |= {f"kernel__{name}": value for name, value in self.kernel.params.items()}
        return params

    def set_params(self, **params: Any) -> Any:
        """As in scikit-learn; ``kernel__length_scale=2`` replaces the kernel by one with that parameter changed."""
        if hasattr(params.get("kernel", self.kernel), "get_params"):  # a kernel of scikit-learn sets its own
            return super().set_params(**params)
        nested = {name[len("kernel__") :]: params.pop(name) for name in list(params) if name.startswith("kernel__")}
        super().set_params(**params)
        if nested:
            if self.kernel is None or isinstance(self.kernel, str):
                raise ValueError(
                    f"the default kernel has no settable parameters; pass a kernel to set {sorted(nested)}"
                )
            self.kernel = from_sklearn(self.kernel).with_params(nested)
        return self

    # ---- fitting ------------------------------------------------------------------------------------

    @contextmanager
    def _monitor(self) -> Iterator[Monitor]:
        """Around all of a fit: the callbacks and the terminal that follow it."""
        callbacks = Callbacks(self, self._init_callback_context(max_subtasks=None))
        yield Together([callbacks, Terminal(type(self).__name__)] if self.verbose else [callbacks])
        callbacks.end()

    def _settings(self, engine: Engine, search: Search, calibrates: bool = True) -> Settings:
        n = self.n_restarts_optimizer
        whole = isinstance(n, (int, np.integer)) and not isinstance(n, bool)
        if not (whole and n >= 0):
            raise ValueError(f"n_restarts_optimizer must be a whole number >= 0, got {n!r}")
        return Settings(
            engine,
            search,
            int(n),
            checked_n_jobs(self.n_jobs),
            calibrates,
            default_kernel=self.kernel is None or isinstance(self.kernel, str),
            instead=self._for_many_rows,
        )

    def _row_order(self, X: np.ndarray, y: np.ndarray) -> RowOrder:
        """The order of training; covariances, whose columns are rows too, stay as they are."""
        return RowOrder.unsorted(len(X)) if self.__sklearn_tags__().input_tags.pairwise else RowOrder.of(X, y)

    def _start_kernel(self, inputs: Inputs, shape: str | None = None) -> Kernel:
        """The kernel to start from, or that of a ``shape``; ``training.default_kernel`` may give the default one more
        length-scales."""
        kernel = self.kernel if shape is None else shape
        if isinstance(kernel, str):
            if kernel not in SHAPES:
                raise ValueError(f"kernel must be a kernel, None or one of {self._kernel_names}, got {kernel!r}")
        elif kernel is not None:
            return from_sklearn(kernel)
        n_features, n_categories = inputs.n_features, len(inputs.encoders)
        make = self._default_shape if kernel is None else SHAPES[kernel]
        numbers = make(np.sqrt(max(n_features - n_categories, 1)))
        if not n_categories:
            return self._start_variance * numbers
        # Two rows are similar where both their numbers and their categories are.
        categories = View(Categorical(np.sqrt(n_categories)), dtype="category")
        both = categories if n_categories == n_features else View(numbers, dtype="number") * categories
        return self._start_variance * both

    def _default_shape(self, length_scale: float) -> Kernel:
        """The default kernel but for its amplitude, for standardised inputs."""
        raise NotImplementedError

    def _problem(
        self,
        inputs: Inputs,
        rows: Any,
        y: np.ndarray,
        likelihood: Likelihood,
        n_latent: int,
        weights: np.ndarray | None = None,
        left_out: np.ndarray | None = None,
        shape: str | None = None,
        numbers: np.ndarray | None = None,
    ) -> Problem:
        """The problem in the kernel's units, from checked rows; ``weights`` and ``left_out`` as ``Weighted`` has
        them, ``shape`` as for ``_start_kernel``, ``numbers`` of the rows for messages, where they are not in order."""
        X = inputs.scaled(rows)
        try:
            kernel = self._start_kernel(inputs, shape).bind(X, n_latent, inputs.columns)
        except EmptyRowError as error:
            if numbers is None:
                raise
            raise EmptyRowError(int(numbers[error.row])) from None
        if weights is not None and (np.any(weights != 1.0) or (left_out is not None and np.any(left_out != 1.0))):
            likelihood = Weighted(base=likelihood, weights=weights, left_out=left_out)
        X = inputs.sent(X)
        check_runs(kernel, X, inputs.place)
        return Problem(kernel, likelihood, X, y, n_latent)

    def _store(self, inputs: Inputs, trained: Trained | TrainedNeighbors, **more: Any) -> None:
        """Warn of what training reports, then replace all fitted attributes at once; an interrupt is raised after."""
        for message in trained.messages:  # before: where a warning is an error, the fit has failed
            warnings.warn(message, stacklevel=4)
        fitted = {
            "_inputs": inputs,
            "_objective": trained.objective,
            "n_features_in_": inputs.n_columns,
            "input_names_": inputs.feature_names,
            "input_mean_": inputs.mean,
            "input_scale_": inputs.scale,
            "categories_": inputs.categories,
            "kernel_": trained.kernel,
            "likelihood_": trained.likelihood,
            "posteriors_" if isinstance(trained.posterior, tuple) else "posterior_": trained.posterior,
            "hyper_": trained.hyper,
            "info_": trained.info,
            "n_iter_": trained.n_iter,
            "log_evidence_": trained.log_evidence,
            "objective_": trained.objective_value,
        }
        fitted = {name: value for name, value in fitted.items() if value is not None}
        if inputs.names is not None:
            fitted["feature_names_in_"] = inputs.names
        kept = {name: value for name, value in vars(self).items() if name.startswith("_") or not name.endswith("_")}
        self.__dict__ = {**kept, **fitted, **more}
        if trained.interrupted:
            active: Any = more.get("active_") if trained.sites is None else trained.sites.rows
            what = "kernel parameters learned" if active is None else f"{np.hstack(active).size} rows selected"
            raise KeyboardInterrupt(f"the model has the {what} so far")

    # ---- after fitting ------------------------------------------------------------------------------

    def _rows(self, X: Any, grams: Any = None, rows: Any = None) -> Any:
        """New rows, checked, in the kernel's units and in the place of the model."""
        check_is_fitted(self)
        if is_collection(X):
            raise TypeError(
                f"expected rows in memory, got a Dask collection, which {type(self).__name__} takes in predict and "
                "predict_proba only"
            )
        return self._inputs.sent(self._inputs.transform(self, host_rows(X), grams, rows))

    def latent(self, X: Any, full_cov: bool = False) -> Latent:
        """Gaussian distributions of the latent functions at the rows of X.

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
        return Latent(*(beside(part, X) for part in self._latent(self._rows(X), full_cov)))

    def _latent(self, rows: Any, full_cov: bool) -> Latent:
        with self._enough_memory(rows):
            return self.posterior_.joint(rows) if full_cov else self.posterior_.latent(rows)

    def _enough_memory(self, rows: Any) -> AbstractContextManager:
        """For predictions: memory that the device does not have is an error that says so."""
        what = f"predictions of {rows.shape[0]} rows"
        return self._inputs.place.refusing_too_much(what, "predict fewer rows at a time")

    def sample_latent(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at the rows of X, correlated between rows."""
        rows = self._rows(X)
        with self._enough_memory(rows):
            draws = self.posterior_.sample(rows, n_samples, generator(random_state))
        return beside(draws, X)

    @property
    def relevance_(self) -> np.ndarray:
        """How much each column of X matters: inverse squared length-scale (or weight variance), in the kernel's units;
        (n_features,), or (C, n_features) with a PerClass kernel. A column of which features are made, such as whether
        its value is missing, has the largest relevance of them and its own."""
        check_is_fitted(self)
        return self._relevance_of(self.kernel_)

    def _relevance_of(self, kernel: Kernel) -> np.ndarray:
        return self._inputs.by_column(kernel.relevance(self._inputs.n_features))

    @property
    def view_weights_(self) -> ViewWeights:
        """How much of the latent functions each view of a ``WeightedSum`` makes up: shares, their mean and spread."""
        check_is_fitted(self)
        if not self.kernel_.view_names:
            raise AttributeError(f"view_weights_ needs a WeightedSum kernel, got {type(self.kernel_).__name__}")
        self._require_training_rows("view_weights_")
        return view_weights(self._objective, self.hyper_)

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
            For "vb" the Laplace evidence at the same mode, which is closer to the truth than its bound; for "gibbs"
            that of "vb".
        gradient : (p,), only with ``eval_gradient``
        """
        check_is_fitted(self)
        theta = self.hyper_.theta if theta is None else np.asarray(theta, dtype=float)
        if theta.shape != self.hyper_.theta.shape or not np.all(np.isfinite(theta)):
            raise ValueError(f"expected {self.hyper_.theta.size} finite values for theta, got {theta!r}")
        self._require_training_rows("the evidence")
        objective = self._objective
        for name, value, (low, high) in zip(objective.theta_names, theta, objective.theta_bounds, strict=True):
            if not low - 1e-9 <= value <= high + 1e-9:
                raise ValueError(f"expected theta of {name} between {low:.4g} and {high:.4g}, got {value:.4g}")
        if eval_gradient:
            value, gradient, _ = objective.value_and_gradient(theta)
            return value + self._log_units, gradient
        return objective.evidence(theta) + self._log_units

    def _require_training_rows(self, what: str) -> None:
        if not self._objective.n_rows:
            raise AttributeError(
                f"{what} needs the training rows, and the file of a sparse model holds its active rows only; fit "
                "again, or keep the model with pickle or joblib"
            )

    def _saved_state(self) -> dict[str, Any]:
        """The attributes that a saved file holds (``io.persistence``)."""
        state = dict(vars(self))
        if "kernel_" in state and self.kernel_.has_code:
            raise TypeError(
                "expected a kernel without code of its own, got TorchKernel: keep this model with pickle or joblib"
            )
        if "_inputs" in state and not self._inputs.place.on_host:  # a file is read where there may be no device
            state["_inputs"] = replace(self._inputs, place=HOST)
            state["_objective"] = self._objective.on_host()
            if self.hyper_.objective is not None:
                state["hyper_"] = replace(self.hyper_, objective=self.hyper_.objective.on_host())
        if "_objective" in state and not self._saves_rows:
            state["_objective"] = replace(self._objective, problem=self._objective.problem.subset(np.zeros(0, int)))
            state["hyper_"] = replace(self.hyper_, objective=None, search=None)
            if "_trained" in state:  # what a warm start or the next batch goes on from
                less = {"objective": state["_objective"], "hyper": state["hyper_"], "loo": None, "loo_proba": None}
                state["_trained"] = replace(state["_trained"], **less)
        return state

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
        return inference_data(samples, self._objective.problem, latent, getattr(self, "classes_", None))


def check_runs(kernel: Kernel, X: Any, place: Place) -> None:
    """Refuse a kernel that cannot be computed on a device."""
    if place.on_host or kernel.pairwise or isinstance(X, Rows):
        return
    few, reason = select(X, slice(0, 2)), "it gives an array of another place"
    try:
        runs = Place.of(kernel(few)) == place
    except Exception as error:
        runs, reason = False, f"{type(error).__name__}: {error}"
    if not runs:
        raise TypeError(
            f"{kernel!r} cannot be computed on {place} ({reason}); kernels of gpclass can, and those that use the "
            'namespace of their argument. Or fit with device="cpu"'
        )


if TYPE_CHECKING:
    Base = GPEstimator
else:
    #: Mixins of estimators stand beside ``GPEstimator``, and not below it, but may rely on what it has.
    Base = object
