"""NullCategoryClassifier: few labels, and many rows without one that keep the boundary away from themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from ..hyper import Alternating, Fixed
from ..hyper.objective import Model
from ..hyper.priors import Exponential
from ..hyper.tasks import OneAgainstRest
from ..inference import EP, IVM
from ..inference.base import Fit
from ..inference.posteriors import GaussianPosterior, SeparatePosterior
from ..kernels import RBF, Constant, Kernel, White
from ..likelihoods import MultinomialProbit, NullCategory, Probit, Softmax
from ..training.active import check_room, warn_if_too_many
from ..training.learning import Fitted
from ._base import GPEstimator
from ._classifying import GPClassifierMixin
from ._labels import is_missing, refuse_mixed_labels

LINKS = {"cone": MultinomialProbit, "softmax": Softmax}


class NullCategoryClassifier(GPClassifierMixin, GPEstimator):
    """Semi-supervised classification: rows without a label say that no boundary passes where they are.

    Between two classes lies a null category, a band of width 1 in the latent function in which there are no data
    (LPJ05 section 4). A labelled row says on which side of the band it is, a row without label only that it is not in
    it, so the boundary settles where rows are few. The informative vector machine keeps the most informative rows of
    both kinds. More than two classes are one such model for each class against the rest, with a kernel in common.

    Parameters
    ----------
    kernel : kernel of ``gpclass.kernels`` or of scikit-learn, default=None
        None standardises the inputs and takes amplitude * RBF + Constant + White. The width of the band is 1, so the
        amplitude decides how much of the space is band.
    n_active : int or None, default=None
        Number of rows to keep for each boundary; None is 500, or all where there are fewer.
    gamma : "proportion", "learned" or a number, default="proportion"
        Probability that a label is missing: the share of rows without one, learned (for the two sides of a boundary
        apart), or given.
    noise : float, default=1e-6
        Variance of the process noise that softens the edges of the band; a White kernel does the same, and is learned.
    link : "cone" or "softmax", default="cone"
        How the latent functions of more than two classes become probabilities: by the multinomial probit, whose
        classes are cones, or by the softmax.
    hyper : "alternating", "fixed" or an ``Alternating``, default="alternating"
        "alternating" learns the kernel from the active rows in eight turns with their selection (LPJ05 algorithm 2),
        and keeps the parameters that predict the labels best, each without itself. Variances have an exponential prior:
        without one they grow until the band is too narrow to count. "fixed" takes the kernel as it is, from a model of
        data with labels perhaps.
    block_size, dtype
        As for ``IVMClassifier``.
    calibration : "loo" or None, default="loo"
        As for ``IVMClassifier``, from the labelled rows.
    unlabelled : label, default=-1
        What stands for "no label" in y, as it is or as text, beside None and NaN; None leaves it at these two, so that
        -1 can be a class.
    standardize, random_state, verbose
        As for ``GPClassifier``.

    Attributes
    ----------
    transduction_ : (n,) labels of all training rows: their own, or the most probable one
    active_ : (S,) rows kept, in the order of their inclusion; with more than two classes a tuple, one for each class
    gamma_ : probabilities that a label is missing, of the lower and the upper side; (n_classes, 2) for more than two
    null_category_ : the likelihood that the rows were heard through; with more than two classes a tuple
    likelihood_ : what turns latent values into probabilities, with noise as wide as the band: rows without label have
        pushed them apart and deserve no more trust than that
    log_evidence_, objective_ : float, log evidence of the active rows, summed over boundaries
    info_ : how inference went; with more than two classes a tuple
    classes_, kernel_, calibration_, loo_proba_, relevance_, hyper_, n_features_in_
        As for ``GPClassifier``.

    Examples
    --------
    >>> from gpclass import NullCategoryClassifier
    >>> from gpclass.datasets import make_crescents
    >>> X, y, truth = make_crescents(200, random_state=0)
    >>> model = NullCategoryClassifier(n_active=60).fit(X, y)
    >>> bool((model.transduction_ == truth).mean() > 0.9)
    True
    """

    _start_variance = 1.0
    _files_rows = False
    active_: np.ndarray | tuple[np.ndarray, ...]
    null_category_: NullCategory | tuple[NullCategory, ...]
    info_: Any

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_active: int | None = None,
        gamma: Any = "proportion",
        noise: float = 1e-6,
        link: str = "cone",
        hyper: Any = "alternating",
        block_size: int = 1,
        calibration: str | None = "loo",
        unlabelled: Any = -1,
        dtype: str = "float64",
        standardize: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_active = n_active
        self.gamma = gamma
        self.noise = noise
        self.link = link
        self.hyper = hyper
        self.block_size = block_size
        self.calibration = calibration
        self.unlabelled = unlabelled
        self.dtype = dtype
        self.standardize = standardize
        self.random_state = random_state
        self.verbose = verbose

    # There is one way to learn, from one place.
    n_restarts_optimizer = 0
    n_jobs = None
    likelihood = None

    def _default_shape(self, length_scale: float) -> Kernel:
        # From too long a length-scale learning may end with all rows on one side of the band.
        return RBF(0.5 * length_scale)

    def _start_kernel(self, n_features: int) -> Kernel:
        if self.kernel is not None:
            return super()._start_kernel(n_features)
        small = float(np.exp(-2.0))
        return super()._start_kernel(n_features) + Constant(small) + White(small, bounds={"variance": (1e-8, 1e3)})

    @with_callbacks
    def fit(self, X: Any, y: Any) -> NullCategoryClassifier:
        """Fit to rows X (n, n_features) with labels y (n,), -1, None or NaN where there is none."""
        self._check_calibration()
        if not (isinstance(self.link, str) and self.link in LINKS):
            raise ValueError(f"link must be one of {sorted(LINKS)}, got {self.link!r}")
        with self._fitting():
            given, X = X, self._validated(X, order="C", ensure_min_samples=2)
            labels = self._encode(y)
            check_consistent_length(X, labels)
            ivm = self._ivm()
            warn_if_too_many(ivm, len(X))
            model = self._boundaries(X, labels, ivm)
            check_room([len(X)] * len(model.parts), ivm, 1)
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
            model = self._learn_theta(model, self._learner(model), ivm, rng)  # type: ignore[arg-type]
            interrupted = self._choose(model, ivm, None if self.random_state is None else rng)
            self._calibrate_known(labels)
            known = labels >= 0
            self.transduction_ = np.where(known, self.classes_[labels], self.predict(given))
        if interrupted:
            raise KeyboardInterrupt("the model has the rows chosen so far")
        return self

    def _ivm(self) -> IVM:
        return IVM(
            n_active=self.n_active,
            criterion="entropy",
            update="adf",
            block_size=self.block_size,
            refine=False,
            dtype=self.dtype,
            learner=EP(),
        )

    def _encode(self, y: Any) -> np.ndarray:
        """Labels as whole numbers, -1 where there is none."""
        given = np.asarray(y, dtype=object)
        if given.ndim == 2 and given.shape[1] == 1:
            given = given[:, 0]
        if given.ndim != 1:
            raise ValueError(f"expected labels y (n,), got an array of shape {given.shape}")
        missing = np.array([is_missing(value) or self._is_mark(value) for value in given.tolist()], bool)
        known = np.array(given[~missing].tolist())
        named = "-1, None or NaN" if self.unlabelled == -1 else f"{self.unlabelled!r}, None or NaN"
        if not np.any(missing):
            raise ValueError(
                f"expected some rows without a label (marked {named}), got a label in every one of {len(given)} rows; "
                "for those there are IVMClassifier and GPClassifier"
            )
        if not len(known):
            raise ValueError(f"expected labelled rows of at least 2 classes, got no label at all in {len(given)} rows")
        refuse_mixed_labels(given[~missing])
        labels = np.full(len(given), -1)
        try:
            labels[~missing] = super()._encode(known)
        except ValueError as error:
            if "at least 2 classes" not in str(error):
                raise
            raise ValueError(
                f"expected labelled rows of at least 2 classes, got {len(known)} labelled rows, all "
                f"{known.tolist()[0]!r}, and {missing.sum()} without a label"
            ) from None
        return labels

    def _is_mark(self, value: Any) -> bool:
        """Whether a value says that there is no label; as text too, which NumPy makes of numbers among strings."""
        mark = self.unlabelled
        if mark is None or isinstance(value, bool) != isinstance(mark, bool):
            return False
        return bool(value == mark) or (isinstance(value, str) and value == str(mark))

    def _boundaries(self, X: np.ndarray, labels: np.ndarray, ivm: IVM) -> Model:
        """One model of two classes, or one for each class against the rest."""
        share = np.bincount(labels[labels >= 0]) / np.sum(labels >= 0)
        gamma = self._gamma(float(np.mean(labels < 0)))
        learned = ("gamma_plus", "gamma_minus") if isinstance(self.gamma, str) and self.gamma == "learned" else ()
        binary = len(self.classes_) == 2
        fixed = tuple(name for name in NullCategory.domains if name not in (*learned, *(("bias",) if binary else ())))
        likelihoods = tuple(
            # What the shares of the labels say, as a threshold of a latent value of unit variance.
            NullCategory(gamma, gamma, float(ndtri(part)), self.noise, fixed=fixed)
            for part in (share[1:] if binary else share)
        )
        model = self._model_of(X, labels, likelihoods[0], ivm, 1)  # type: ignore[arg-type]
        if binary:
            return model
        return OneAgainstRest(**vars(model), likelihoods=likelihoods)

    def _gamma(self, proportion: float) -> float:
        if isinstance(self.gamma, str):
            if self.gamma not in ("proportion", "learned"):
                raise ValueError(f"gamma must be 'proportion', 'learned' or a number, got {self.gamma!r}")
            return proportion
        number = isinstance(self.gamma, (float, np.floating))
        if not (number and 0.0 < self.gamma < 1.0):
            raise ValueError(f"gamma must be 'proportion', 'learned' or a number between 0 and 1, got {self.gamma!r}")
        return float(self.gamma)

    def _learner(self, model: Model) -> Alternating | Fixed:
        if isinstance(self.hyper, (Alternating, Fixed)):
            return self.hyper
        if self.hyper == "fixed":
            return Fixed()
        if self.hyper != "alternating":
            raise ValueError(f"hyper must be 'alternating', 'fixed' or an Alternating(...), got {self.hyper!r}")
        # An L1 penalty on process variances (LPJ05 section 4.3).
        variances = [name for name in model.kernel.theta_names if "variance" in name]
        # The turns can jump about, and with few labels some rounds give all rows to one class.
        return Alternating(n_rounds=8, keep="best", prior={name: Exponential(1.0) for name in variances})

    def _choose(self, model: Model, ivm: IVM, selection_rng: np.random.Generator | None) -> bool:
        """Choose the active rows of every boundary; whether Ctrl-C cut it short."""
        theta, X = self.hyper_.theta, model.X
        chosen: list[np.ndarray] = []
        fits: list[Fit] = []
        likelihoods: list[NullCategory] = []
        interrupted = False
        for part in model.parts:
            kernel, likelihood = part.at(theta)
            if interrupted:
                raise KeyboardInterrupt  # some boundaries are missing: better the model there was
            active, interrupted = ivm.select(kernel, X, part.y, likelihood, 1, selection_rng)
            chosen.append(np.array(active.rows))
            fits.append(ivm.finish(active, part.y, likelihood))
            likelihoods.append(likelihood)  # type: ignore[arg-type]
        self._warn_about(ivm, next((fit for fit in fits if not fit.info.converged), fits[0]))  # type: ignore[arg-type]
        self.n_iter_ = sum(fit.info.n_iter for fit in fits)
        self.log_evidence_ = sum(fit.log_evidence for fit in fits)
        self.objective_ = sum(fit.objective for fit in fits)
        self.info_ = fits[0].info if len(fits) == 1 else tuple(fit.info for fit in fits)
        self.gamma_ = np.array([(like.gamma_minus, like.gamma_plus) for like in likelihoods]).squeeze()
        parts = tuple(
            GaussianPosterior(self.kernel_, X[rows], fit.weights) for rows, fit in zip(chosen, fits, strict=True)
        )
        loo = [np.hstack([fit.loo[i] for fit in fits]) for i in range(2)]  # type: ignore[index]
        if len(parts) == 1:
            self.active_, self.posterior_, self.null_category_ = chosen[0], parts[0], likelihoods[0]
            self.likelihood_ = Probit(likelihoods[0].bias)
        else:
            biases = np.array([like.bias for like in likelihoods])
            loo[0] += biases
            self.active_, self.posterior_ = tuple(chosen), SeparatePosterior(parts, biases)
            self.null_category_ = tuple(likelihoods)
            self.likelihood_ = LINKS[self.link]()
        self._beliefs = fits[0]._replace(loo=(loo[0], loo[1]))
        return interrupted

    def _calibrate_known(self, labels: np.ndarray) -> None:
        """Calibrate by the labelled rows, each without its own label."""
        known = labels >= 0
        proba = np.where(known[:, None], np.eye(len(self.classes_))[labels], 0.0)
        fitted = Fitted(1.0, self._beliefs, self.likelihood_)
        self._calibrate(proba, [fitted], known.astype(float), np.ones(len(labels), bool))
        del self._beliefs
