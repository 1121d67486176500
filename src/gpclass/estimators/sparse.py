"""SparseGPClassifier: many rows, all of them heard, through a few inducing rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import assert_all_finite, check_array, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..hyper import Alternating, Model
from ..hyper.sampler import Sampler
from ..inference import IVM, SparseEP, SparseVB
from ..inference.active.ivm import DEFAULT_SIZE
from ..inference.base import Engine
from ..inference.inducing.features import ArrayRows, Features, SparseFit
from ..inference.posteriors import InducingPosterior
from ..inference.settings import check_setting
from ..kernels import Kernel, PerClass
from ..likelihoods import Likelihood
from ..training.learning import HYPER_OF_MANY, Fitted, for_many_rows
from ._base import GPEstimator, choose
from ._classifying import GPClassifierMixin, best_engine
from ._labels import refuse_mixed_labels
from ._sources import ScaledRows, Source, from_array, from_blocks

ENGINES = {"ep": SparseEP, "vb": SparseVB}
INDUCING = ("ivm", "kmeans++", "random")
#: Kernel parameters are learned and inducing rows chosen from at most so many rows.
SAMPLE_ROWS = 20000
#: Learning from at most so many rows goes without inducing rows.
PLAIN_ROWS = 1000


@dataclass(frozen=True)
class SparseModel(Model):
    """A model through inducing rows Z; thinned to a few rows, it is a plain one for ``learner``."""

    Z: np.ndarray
    learner: Engine

    def _features(self, kernel: Kernel) -> Features:
        return Features(kernel, self.Z, ArrayRows(self.X))

    def fit(self, theta: np.ndarray, init: Any = None, *, strict: bool = False) -> Any:
        kernel, likelihood = self.at(theta)
        engine: Any = self.engine
        return engine(self._features(kernel), self.y, likelihood, self.n_latent, init)

    def value_and_gradient(
        self, theta: np.ndarray, init: Any = None, *, strict: bool = False
    ) -> tuple[float, np.ndarray, Any]:
        kernel, likelihood = self.at(theta)
        engine: Any = self.engine
        fit = engine(self._features(kernel), self.y, likelihood, self.n_latent, init, gradient=True)
        return fit.objective, fit.gradient, fit.state

    def thinned(self, max_rows: int) -> Model:
        if max_rows > PLAIN_ROWS:
            return super().thinned(max_rows)
        return Model(self.kernel, self.likelihood, self.learner, self.X, self.y, self.n_latent).thinned(max_rows)


class SparseGPClassifier(GPClassifierMixin, GPEstimator):
    """Gaussian-process classifier for many rows: every label counts, through S inducing rows.

    A pass over the data costs O(n S^2 K) time; memory is O(S^2 K) and what a block of rows needs, with a few numbers
    for each row, and up to 2 GiB more where that spares computing the same covariances again.

    Parameters
    ----------
    kernel : kernel of ``gpclass.kernels`` or of scikit-learn, default=None
        As for ``GPClassifier``; one for all classes.
    n_inducing : int or None, default=None
        Number S of inducing rows; None is 500, or all rows where there are fewer.
    inducing : "ivm", "kmeans++", "random", or rows (S, n_features), default="ivm"
        Where they are: the rows that the informative vector machine keeps, rows far from each other, rows at random, or
        any given ones.
    likelihood : Likelihood or str, default=None
        None is ``Probit`` for two classes and ``MultinomialProbit`` for more.
    inference : "ep", "vb", ``SparseEP(...)`` or ``SparseVB(...)``, default="ep"
        Expectation propagation, or variational Bayes, whose cost hardly grows with the number of classes.
    approximation : "dtc" or "fitc", default="dtc"
        Whether the part of a row's latent value that the inducing rows cannot explain is left out where its label is
        heard ("dtc"), or is noise on it ("fitc"). "fitc" is the proper model; "dtc" learns more from few inducing rows.
    hyper : str or an object of ``gpclass.hyper``, default="auto"
        "evidence" learns kernel parameters from at most 350 rows; ``Evidence(max_rows=None)`` from all (at most 20000),
        through the inducing rows. "held_out" puts right what "evidence" says of scale by the predictions of rows set
        aside. "loo" and "fixed" as for ``GPClassifier``. "auto" is "held_out" from 5000 rows on, else "evidence".
    calibration : "loo" or None, default="loo"
        After fitting, learn two factors and the share of lapses, as ``GPClassifier`` does, from predictions of
        each row's label without it.
    dtype : "float64" or "float32", default="float64"
        Of covariances with the inducing rows: "float32" is twice as fast.
    n_restarts_optimizer, standardize, random_state, n_jobs, verbose
        As for ``GPClassifier``.

    Attributes
    ----------
    inducing_rows_ : (S, n_features), in the units of X
    classes_, kernel_, likelihood_, log_evidence_, calibration_, loo_proba_, relevance_, hyper_, info_, n_iter_, \
n_features_in_
        As for ``GPClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gpclass import SparseGPClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SparseGPClassifier(n_inducing=100).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.9
    True
    """

    _files_rows = False

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_inducing: int | None = None,
        inducing: Any = "ivm",
        likelihood: Any = None,
        inference: Any = "ep",
        approximation: str = "dtc",
        hyper: Any = "auto",
        calibration: str | None = "loo",
        dtype: str = "float64",
        n_restarts_optimizer: int = 0,
        standardize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.likelihood = likelihood
        self.inference = inference
        self.approximation = approximation
        self.hyper = hyper
        self.calibration = calibration
        self.dtype = dtype
        self.n_restarts_optimizer = n_restarts_optimizer
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> SparseGPClassifier:
        """Fit to rows X (n, n_features) with labels y (n,).

        X may be a ``numpy.memmap``, which is read in blocks and never as a whole; or, without y, blocks (X, y) of rows:
        a list of them, or a generator function that is called for every pass over the data.
        """
        self._check_calibration()
        check_setting("dtype", self.dtype)
        with self._fitting():
            source = self._source(X, y)
            labels = self._encode(source.y)
            likelihood = self._resolve_likelihood(len(self.classes_))
            n_latent = likelihood.n_latent(len(self.classes_))
            engine = choose("inference", self.inference, ENGINES)
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
            hyper, inducing_selector = (
                self._hyper(source.n_rows, likelihood),
                self._inducing_selector(source.n_rows, likelihood, n_latent),
            )
            model = self._sample_model(source, labels, likelihood, n_latent, hyper, inducing_selector, rng)
            self._learn_theta(model, hyper, inducing_selector, rng)  # type: ignore[arg-type]
            Z = self._choose_inducing(model, self.kernel_, self.likelihood_, inducing_selector, rng)
            self._model = replace(self._model, Z=Z)  # type: ignore[call-arg]  # for the evidence at other parameters
            features = Features(self.kernel_, Z, ScaledRows(source, self._scaled), self.approximation, self.dtype)
            fit: SparseFit = engine(features, labels, self.likelihood_, n_latent)
            self._warn_about(engine, fit)  # type: ignore[arg-type]
            self.info_, self.n_iter_ = fit.info, fit.info.n_iter
            self.log_evidence_, self.objective_ = fit.log_evidence, fit.objective
            self.posterior_ = InducingPosterior(self.kernel_, Z, features.chol, fit.mean, fit.spread)
            self._calibrate_labels(labels, [Fitted(1.0, fit, self.likelihood_)])
        return self

    def _source(self, X: Any, y: Any) -> Source:
        if callable(X) and y is not None:
            raise TypeError("a function gives blocks (X, y), so there must be no y beside it")
        if y is None and not hasattr(X, "shape"):
            source = from_blocks(X)
        elif isinstance(X, np.memmap) and y is not None:
            refuse_mixed_labels(y)
            y = column_or_1d(y)
            assert_all_finite(y, input_name="y")
            source = from_array(X, y)
        else:
            refuse_mixed_labels(y)
            X, y = self._validated(X, y, order="C", ensure_min_samples=2)
            return from_array(X, y)
        self.n_features_in_ = source.n_features
        self._keep_categories({}, ())
        self.__dict__.pop("feature_names_in_", None)
        return source

    @property
    def _takes_missing(self) -> bool:
        return False  # rows are read in blocks that must be whole

    def _hyper(self, n_rows: int, likelihood: Likelihood) -> Any:
        hyper = choose("hyper", for_many_rows(self.hyper, n_rows, likelihood), HYPER_OF_MANY)
        if isinstance(hyper, (Sampler, Alternating)):
            raise TypeError(
                "SparseGPClassifier: expected hyper='auto', 'evidence', 'held_out', 'loo' or 'fixed', got "
                f"{self.hyper!r}"
            )
        return hyper

    def _sample_model(
        self,
        source: Source,
        labels: np.ndarray,
        likelihood: Likelihood,
        n_latent: int,
        hyper: Any,
        inducing_selector: IVM,
        rng: np.random.Generator,
    ) -> SparseModel:
        """The model on the rows that parameters are learned from, with inducing rows as the kernel's start has them."""
        if isinstance(self.kernel, PerClass):
            raise TypeError("SparseGPClassifier needs one kernel for all classes, got a PerClass kernel")
        if isinstance(self.kernel, Kernel) and self.kernel.pairwise:
            raise TypeError("SparseGPClassifier needs features, not the covariances that a Precomputed kernel takes")
        few = np.arange(source.n_rows)
        if source.n_rows > SAMPLE_ROWS:
            few = np.sort(rng.choice(source.n_rows, SAMPLE_ROWS, replace=False))
        moments = source.mean, source.variance
        learner = best_engine(likelihood)
        model = self._model_of(source.subset(few), labels[few], likelihood, learner, n_latent, moments=moments)
        ep = SparseEP(tol=1e-5, max_iter=200)  # slopes of the evidence need settled sites
        plain = SparseModel(model.kernel, likelihood, ep, model.X, model.y, n_latent, model.X[:0], learner)  # type: ignore[arg-type]
        max_rows = getattr(getattr(hyper, "first", hyper), "max_rows", 0)
        if max_rows is not None and max_rows <= PLAIN_ROWS:
            return plain
        return replace(plain, Z=self._choose_inducing(plain, model.kernel, likelihood, inducing_selector, rng))

    def _choose_inducing(
        self, model: Model, kernel: Kernel, likelihood: Likelihood, inducing_selector: IVM, rng: np.random.Generator
    ) -> np.ndarray:
        """The inducing rows in the kernel's units."""
        if not isinstance(self.inducing, str):
            Z = check_array(self.inducing, dtype=np.float64)
            if Z.shape[1] != self.n_features_in_:
                raise ValueError(f"inducing has {Z.shape[1]} columns, but X has {self.n_features_in_}")
            return self._scaled(Z)
        if self.inducing not in INDUCING:
            raise ValueError(f"inducing must be one of {list(INDUCING)} or an array of rows, got {self.inducing!r}")
        n = len(model.X)
        S = inducing_selector.size(n)
        if self.inducing == "random":
            return model.X[np.sort(rng.choice(n, S, replace=False))]
        if self.inducing == "kmeans++":
            return kmeans_plusplus(model.X, S, random_state=int(rng.integers(2**31 - 1)))[0]
        active, interrupted = inducing_selector.select(kernel, model.X, model.y, likelihood, model.n_latent)
        if interrupted:
            raise KeyboardInterrupt
        return model.X[active.rows]

    def _inducing_selector(self, n_rows: int, likelihood: Likelihood, n_latent: int) -> IVM:
        """The informative vector machine that chooses inducing rows, as many as there are to be."""
        # Judged row by row, several classes need few integrals; where they need all of them, blocks are faster.
        block_size = 1 if n_latent > 1 and likelihood.log_concave else 16
        size = self._size(min(n_rows, SAMPLE_ROWS)) if isinstance(self.inducing, str) else None
        return IVM(size, block_size=block_size, dtype="float32")

    def _size(self, n_rows: int) -> int:
        """How many inducing rows there are to be."""
        given = self.n_inducing
        if given is None:
            return min(DEFAULT_SIZE, n_rows)
        if not (isinstance(given, (int, np.integer)) and not isinstance(given, bool) and given >= 1):
            raise ValueError(f"n_inducing must be a whole number >= 1, or None, got {given!r}")
        if given > n_rows:
            warnings.warn(f"n_inducing is {given}, but there are {n_rows} rows: all of them are used", stacklevel=5)
        return min(int(given), n_rows)

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """The log evidence at theta through the inducing rows, to compare values of theta by.

        Always expectation propagation under "fitc", on the rows that parameters are learned from (all, or
        20000 of more): not ``log_evidence_``, which is of all rows, by ``inference`` and ``approximation``. The inducing rows
        stay where they are.

        Parameters
        ----------
        theta, eval_gradient
            As for ``GPClassifier``.

        Returns
        -------
        value : float
        gradient : (p,), only with ``eval_gradient``
        """
        return super().log_marginal_likelihood(theta, eval_gradient)

    @property
    def inducing_rows_(self) -> np.ndarray:
        """The inducing rows, (S, n_features), in the units of X."""
        check_is_fitted(self)
        return self._unscaled(self.posterior_.X)
