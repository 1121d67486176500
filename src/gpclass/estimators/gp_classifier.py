"""GPClassifier: joint multi-class Gaussian-process classification."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.metrics import accuracy_score
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..hyper import Evidence, NearestNeighbors
from ..inference import EP, VB, DensePrior, Gibbs, Laplace
from ..inference.base import Engine, Latent
from ..kernels.rows import features
from ..kernels.views import EmptyRowError
from ..likelihoods import Likelihood, SoftLabels
from ..likelihoods.weighted import copies_left_out
from ..numerics.devices import beside, host_labels, host_rows, place_of
from ..training.dense import train
from ..training.family import train_family
from ..training.trained import LabelWeights, Settings
from ._base import NEIGHBOR_ROWS, GPEstimator, choose_engine, choose_search, generator
from ._classifying import GPClassifierMixin, best_engine, log_odds
from ._inputs import Inputs
from ._labels import Labels, check_labels, class_factors, is_soft, soft_labels
from .distributed import lazily

#: Latent functions times cubed rows, of the last fit and of learning, up to which a family is learned; beyond, one
#: kernel by VB is several times faster.
#: Rows that the words "auto" and "evidence" learn from on a device.
_DEVICE_ROWS = 2000
_MOST_WORK, _MOST_LEARNING = 2e9, 3e8
#: Tolerances of engines that learn default kernels (at theirs, evidences are known to 0.01 nats), and of VB's last step
#: at the final fit: the one before it was the square root of that.
_EP_TOL, _VB_TOL, _VB_FINAL_TOL = 1e-2, 1e-3, 1e-4

ENGINES = {"vb": VB, "ep": EP, "laplace": Laplace, "gibbs": Gibbs}


class GPClassifier(GPClassifierMixin, GPEstimator):
    """Gaussian-process classifier with one joint model for all classes.

    Parameters
    ----------
    kernel : kernel of ``gpclass.kernels`` or of scikit-learn, or str, default=None
        Covariance of the latent functions, with the starting values of its parameters. None, or "auto", learns three
        kernels on standardised inputs ("additive", "quantiles" and one for nearly linear functions) and averages their
        probabilities, with weights learned from leave-one-out predictions; up to 100 rows, a constant for each class
        is averaged too. A name learns one kernel: "matern", "rbf", "laplacian", "additive" (a sum of functions of one
        input plus a Matern kernel) or "quantiles" ("additive" on the normal scores of the inputs). These kernels start
        with one length-scale. If leave-one-out predictions clearly improve, they get one for each input; or only the
        few inputs that matter get one, and the others are left out or share one in a second term. Categorical columns
        of a data frame have a separate kernel, which is the only one if no column is numeric. With 1000
        rows, or fewer and many classes (350 rows and seven classes, 300 and twelve, 800 and four), None is "matern".
    likelihood : Likelihood or str, default=None
        None is ``Probit`` for two classes and ``MultinomialProbit`` for more.
    inference : engine or str, default="auto"
        "auto" is "ep" if several kernels are averaged and rows have no weights, or if the likelihood has parameters to
        learn, such as label noise; else "vb" if the likelihood has Gaussian auxiliaries (probits), or "laplace".
        "vb" is the variational Bayes of GR06, "ep" joint expectation propagation, "laplace" Laplace's method, "gibbs"
        sampling: slow but asymptotically exact for fixed kernel parameters.
    hyper : str or an object of ``gpclass.hyper``, default="auto"
        "evidence" and "loo" learn kernel parameters by maximum evidence and by leave-one-out predictions, "neighbors"
        learns a length-scale for each input by predictions from nearest rows, "stochastic" takes steps on the evidence
        of random subsets of rows, "fixed" learns nothing. "auto" is "neighbors" from 1000 rows on with the default
        kernel of numbers, else "evidence". Others sample parameters and average predictions: "importance" (importance
        sampling, the fastest), "nuts" (the no-U-turn sampler, needs ``pip install gpclass[mcmc]``), "hmc" (hybrid
        Monte Carlo as in WB98), and "metropolis" (together with the latent functions; needs ``inference="gibbs"``).
    calibration : "loo" or None, default="loo"
        After fitting, learn one factor for all latent means, one for all latent variances, and the fraction of
        labels that are unpredictable, from leave-one-out predictions of the training labels; not with "gibbs".
    class_weight : "balanced", dict of label to weight, or None, default=None
        Weights of the classes, multiplied with ``sample_weight`` ("vb" and "laplace" only).
    n_restarts_optimizer : int, default=0
        Further starting points for learning, drawn at random.
    standardize : "auto" or bool, default="auto"
        Whether inputs are scaled to mean 0 and variance 1; "auto" scales them if ``kernel`` is None, a name or a
        ``WeightedSum``.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Processes for restarts and chains.
    device : str or None, default=None
        Device of all matrices: "cpu", "cuda" or "cuda:1" (torch or CuPy; ``pip install gpclass[gpu]``). None is the
        device of X: the host, or with ``sklearn.set_config(array_api_dispatch=True)`` that of an array of torch, CuPy
        or another array API library. Results are arrays of the same library and device as X.
    verbose : int, default=0
        1 prints the progress of learning and inference. For bars: ``set_callbacks(sklearn.callback.ProgressBar())``.

    Attributes
    ----------
    classes_ : array of the labels, sorted
    kernel_, likelihood_ : as learned
    log_evidence_ : float
        The engine's log evidence; for "vb" the variational bound, a lower bound; for "gibbs" an estimate by
        importance sampling, NaN where that fails.
    objective_ : float
        The objective of learning (without the prior) at the final fit; for "vb" the Laplace evidence at the same mode.
    calibration_ : Calibration
        The learned ``mean_scale``, ``variance_scale`` and ``lapse_rate``; ``latent`` gives latent values before they
        are applied.
    loo_proba_ : (n, n_classes)
        Probabilities of each training row's labels without its own label; NaN for rows of weight 0.
    loo_labels_, loo_weights_ : (n,) the labels of these rows, and their ``sample_weight`` (None without)
    relevance_ : (n_features,) inverse squared length-scales, 0 for inputs that are left out
    view_weights_ : shares of the views of a ``WeightedSum`` kernel: ``names``, ``mean`` and ``sd``
    categories_ : dictionary of the columns of a data frame that hold categories
    input_names_ : names of what the kernel sees: the columns of X, and columns derived from missing values, dates and
        text
    hyper_ : how learning went, a ``gpclass.hyper.HyperResult``
        ``members`` with ``name``, ``weight`` and ``kernel`` if several kernels were learned; the other attributes then
        describe the one with the largest weight; ``theta`` and ``theta_names``, ``standard_error`` of an optimum,
        ``samples`` (``theta``, ``weights``, ``mean``, ``sd``, ``n_effective``, ``r_hat``) where parameters were
        sampled; evaluations, convergence.
    info_ : how inference went (iterations, convergence, bound after each iteration)
    idata_ : draws of "gibbs" or of the kernel parameters as ArviZ InferenceData (needs ``pip install gpclass[mcmc]``)
    n_iter_ : int, iterations of the engine
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gpclass import GPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> GPClassifier().fit(X, y).predict_proba(X[[0, 70]]).round(1)
    array([[1. , 0. , 0. ],
           [0. , 0.5, 0.5]])
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        likelihood: Any = None,
        inference: Any = "auto",
        hyper: Any = "auto",
        calibration: str | None = "loo",
        class_weight: Any = None,
        n_restarts_optimizer: int = 0,
        standardize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.inference = inference
        self.hyper = hyper
        self.calibration = calibration
        self.class_weight = class_weight
        self.n_restarts_optimizer = n_restarts_optimizer
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, grams: Any = None, rows: Any = None) -> GPClassifier:
        """Fit to rows X (n, n_features) with labels y (n,): strings, numbers or any sortable objects.

        ``y`` may also hold soft labels (n, n_classes): probabilities of the classes for each row, an array (then the
        classes are 0, 1, ...) or a data frame (then they are its columns); for "vb" and "laplace". A row then counts
        by its expected log likelihood, as would many rows with labels in these proportions. Rows go by position.

        ``sample_weight`` (n,) raises the likelihood of each row to that power.

        ``grams`` holds the Gram matrices of ``Precomputed`` views next to X, by name: (n, n) each, or of more objects
        than those in X, and then ``rows`` (n,) says which of them the rows of X are. They travel by metadata routing,
        ``grams`` as it is and ``rows`` split: ``set_fit_request(grams=True, rows=True)``, and the same for score.
        """
        with self._monitor() as monitor:
            place, y = place_of(self.device, X), host_labels(y, X)
            sample_weight, X = host_labels(sample_weight, X, "sample_weight"), host_rows(X)
            calibrates, rng = self._calibrates, generator(self.random_state)
            auto = isinstance(self.hyper, str) and self.hyper == "auto"
            search = choose_search("evidence" if auto else self.hyper)
            y = check_labels(y)
            soft = is_soft(y)
            if soft:
                inputs, raw, _ = Inputs.fit(self, X, sample_weight=sample_weight, ensure_min_samples=2)
                check_consistent_length(raw, y)
                proba, labels = soft_labels(y)
                codes = proba.argmax(axis=1)
            else:
                inputs, raw, y = Inputs.fit(self, X, y, sample_weight, ensure_min_samples=2)
                labels = Labels.of(y)
                codes = labels.encode(y)
                proba = np.eye(len(labels))[codes]
            default = self.kernel is None or (isinstance(self.kernel, str) and self.kernel == "auto")
            if auto and len(codes) >= NEIGHBOR_ROWS and inputs.numeric and default:
                search = NearestNeighbors(n_active=1000)
            inputs, raw = replace(inputs, place=place).with_grams(raw, self.kernel, grams, rows)
            likelihood = self._resolve_likelihood(len(labels))
            weighted = self._row_weights(raw, proba, labels.classes, sample_weight)
            kept, plain = (
                weighted.weights > 0,
                bool(np.all(weighted.weights == 1.0) and np.all(weighted.left_out == 1.0)),
            )
            weighted = LabelWeights(*(part[kept] for part in weighted))
            n_latent = likelihood.n_latent(len(labels))
            by_ep = default and isinstance(search, Evidence) and _is_quick(n_latent, int(np.sum(kept)), search.max_rows)
            engine = self._engine(likelihood, soft or not plain, by_ep)
            if not place.on_host and isinstance(self.hyper, str) and isinstance(search, Evidence):
                search = replace(search, max_rows=_DEVICE_ROWS)
            if soft:
                likelihood = SoftLabels(base=likelihood, proba=weighted.proba)
            try:
                inputs = inputs.standardized(raw[kept], self.kernel, self.standardize, weighted.weights)
                given = inputs, raw[kept], codes[kept], likelihood, n_latent, weighted.weights, weighted.left_out
                settings = _roughly(self._settings(engine, search, calibrates), likelihood)
                if by_ep and not isinstance(engine, Gibbs) and len(inputs.encoders) < inputs.n_features:
                    trained = train_family(self._problem(*given, "additive"), settings, rng, monitor, weighted)
                else:
                    shape = "matern" if default else None
                    trained = train(self._problem(*given, shape), settings, rng, monitor, weighted)
            except EmptyRowError as error:
                raise EmptyRowError(int(np.flatnonzero(kept)[error.row])) from None
        by_row = None if sample_weight is None else np.full(len(codes), np.asarray(sample_weight, dtype=float))
        attributes = self._class_attributes(labels.classes, trained, None if soft else codes, kept, by_row)
        self._store(inputs, trained, **attributes)
        return self

    _kernel_names = ("auto", *GPEstimator._kernel_names)

    def latent(self, X: Any, full_cov: bool = False, grams: Any = None, rows: Any = None) -> Latent:
        return Latent(*(beside(part, X) for part in self._latent(self._rows(X, grams, rows), full_cov)))

    latent.__doc__ = GPEstimator.latent.__doc__

    def sample_latent(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at the rows of X, correlated between rows."""
        check_is_fitted(self)
        if self._inputs.grams is not None:
            raise ValueError("draws at new rows need the covariances between them, which a Gram view does not have")
        return super().sample_latent(X, n_samples, random_state)

    @lazily
    def predict_log_proba(self, X: Any, grams: Any = None, rows: Any = None) -> np.ndarray:
        """Log probabilities (m, n_classes), accurate far in the tails; columns as in ``classes_``.

        ``grams`` holds, for Gram views by name, covariances with the rows of ``fit``, or all with ``rows`` as there.
        """
        return beside(self._log_proba(self._rows(X, grams, rows)), X)

    @lazily
    def predict_proba(self, X: Any, grams: Any = None, rows: Any = None) -> np.ndarray:
        """Probabilities (m, n_classes), with the latent uncertainty integrated out; columns as in ``classes_``.

        ``grams`` and ``rows`` as for ``predict_log_proba``.
        """
        return beside(self._proba(self._rows(X, grams, rows)), X)

    @lazily
    def decision_function(self, X: Any, grams: Any = None, rows: Any = None) -> np.ndarray:
        """Log odds: of the second class (m,) for two classes, positive where it is predicted, or of each class against
        all others (m, n_classes), of which ``predict`` takes the largest; ``grams`` and ``rows`` as for
        ``predict_log_proba``."""
        return beside(log_odds(self._log_proba(self._rows(X, grams, rows))), X)

    @lazily
    def predict(self, X: Any, grams: Any = None, rows: Any = None) -> np.ndarray:
        """The most probable label of each row; ``grams`` and ``rows`` as for ``predict_log_proba``."""
        most_probable = self._proba(self._rows(X, grams, rows)).argmax(axis=1)
        return beside(self.classes_[most_probable], X)

    def predict_set(
        self, X: Any, coverage: float = 0.9, by_class: bool = False, grams: Any = None, rows: Any = None
    ) -> np.ndarray:
        sets = self._prediction_sets(coverage, by_class)
        return beside(sets.of(self._proba(self._rows(X, grams, rows))), X)

    predict_set.__doc__ = GPClassifierMixin.predict_set.__doc__

    @lazily
    def score(self, X: Any, y: Any, sample_weight: Any = None, grams: Any = None, rows: Any = None) -> float:
        """The share of rows whose most probable label is right; ``grams`` and ``rows`` as for ``predict``."""
        y, sample_weight = host_labels(y, X), host_labels(sample_weight, X, "sample_weight")
        return accuracy_score(y, self.predict(host_rows(X), grams, rows), sample_weight=sample_weight)

    def _row_weights(self, X: Any, proba: np.ndarray, classes: np.ndarray, sample_weight: Any) -> LabelWeights:
        """How often each row counts, sample weight times class weight (rows of weight 0 do not); the share of that
        which leaving a row out takes away; and the labels' probabilities as far as class weights change them."""
        weights = _check_sample_weight(sample_weight, features(X), dtype=np.float64, ensure_non_negative=True)
        # Sample weights alone can be numbers of copies; a class weight is the price of a mistake.
        left_out = np.divide(copies_left_out(weights), weights, out=np.ones_like(weights), where=weights > 0)
        if self.class_weight is not None:
            by_class = class_factors(self.class_weight, classes, proba)
            weights = weights * (proba @ by_class)
            proba = proba * by_class
            proba = proba / np.maximum(proba.sum(axis=1, keepdims=True), 1e-300)
        if np.any(weights == 0) and self.__sklearn_tags__().input_tags.pairwise:
            raise ValueError(
                "expected positive weights with a Precomputed kernel; drop rows of weight 0 from the Gram matrix"
            )
        counted = weights @ proba > 0
        if not np.all(counted):
            missing = classes[~counted].tolist()[0]
            raise ValueError(
                f"expected rows with positive weight in every class, got none for {missing!r} "
                f"({np.count_nonzero(counted)} of {len(classes)} classes have weight)"
            )
        return LabelWeights(proba, weights, left_out)

    def _engine(self, likelihood: Likelihood, weighted: bool, by_ep: bool) -> Engine:
        if isinstance(self.inference, str) and self.inference == "auto":
            engine = best_engine(likelihood, weighted)
            # EP predicts better; it takes no weights.
            return EP() if by_ep and engine == VB() and not weighted else engine
        if isinstance(self.inference, str) and self.inference == "gibbs":
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            return Gibbs(random_state=seed, n_jobs=self.n_jobs)
        return choose_engine(self.inference, {"auto": VB, **ENGINES}, "GPClassifier", DensePrior)


def _is_quick(n_latent: int, n_rows: int, max_rows: int | None) -> bool:
    """Whether a family of kernels takes seconds."""
    n_learned = n_rows if max_rows is None else min(n_rows, max_rows)
    return n_latent * float(n_rows) ** 3 <= _MOST_WORK and n_latent * float(n_learned) ** 3 <= _MOST_LEARNING


def _roughly(settings: Settings, likelihood: Likelihood) -> Settings:
    """Settings for a default kernel: an evidence need not be known better than it determines the parameters."""
    engine = settings.engine
    if not settings.default_kernel or not isinstance(engine, (EP, VB)):
        return settings
    learner = replace(engine, tol=max(engine.tol, _EP_TOL if isinstance(engine, EP) else _VB_TOL))
    quick = VB(tol=_VB_TOL)
    works = not likelihood.theta.size and all(need in likelihood.supports for need in quick.needs)
    engine = VB(tol=_VB_FINAL_TOL) if engine == VB() else engine
    return replace(settings, engine=engine, learner=learner, coarse=quick if works else None)
