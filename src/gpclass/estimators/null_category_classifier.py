"""NullCategoryClassifier: few labels, and many rows without one that keep the boundary away from themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_consistent_length

from ..hyper import Alternating, Fixed, Search
from ..hyper.priors import Exponential
from ..inference import EP
from ..inference.problem import OneVersusRestProblem, Problem
from ..kernels import RBF, Constant, Kernel, White
from ..likelihoods import Likelihood, MultinomialProbit, NullCategory, Probit, Softmax
from ..training.active import train_parts
from ..training.trained import LabelWeights
from ._active import ACTIVE_FLAW, ivm_of
from ._base import GPEstimator, generator
from ._classifying import GPClassifierMixin
from ._inputs import Inputs
from ._labels import UNLABELLED, Labels, split_unlabelled

LINKS = {"cone": MultinomialProbit, "softmax": Softmax}


class NullCategoryClassifier(GPClassifierMixin, GPEstimator):
    """Semi-supervised classifier: the decision boundary avoids unlabelled rows.

    Between two classes lies a null category, a band of width 1 in the latent function that contains no data (LPJ05
    section 4). A labelled row is on a known side of the band, an unlabelled row on either side, so the boundary lies
    where rows are few. An informative vector machine keeps the most informative rows of both kinds. For more than two
    classes there is one such model for each class against the rest, with a common kernel.

    Parameters
    ----------
    kernel : kernel of ``gpclass.kernels`` or of scikit-learn, default=None
        None standardises the inputs and uses amplitude * RBF + Constant + White. The width of the band is 1, so the
        amplitude determines how much of the input space it covers.
    n_active : int or None, default=None
        Number of rows to keep for each boundary; None is 500, or all rows if there are fewer.
    gamma : "proportion", "learned" or a number, default="proportion"
        Probability that a label is missing: the fraction of unlabelled rows, learned (separately for both sides of a
        boundary), or given.
    noise : float, default=1e-6
        Variance of the process noise that softens the edges of the band; a White kernel does the same, and is learned.
    link : "cone" or "softmax", default="cone"
        How the latent functions of more than two classes become probabilities: by the multinomial probit ("cone") or
        by the softmax.
    hyper : "alternating", "fixed" or an ``Alternating``, default="alternating"
        "alternating" alternates eight times between learning the kernel from the active rows and selecting them (LPJ05
        algorithm 2), and keeps the parameters with the best leave-one-out predictions. Variances have an exponential
        prior: without one they grow until the band is too narrow to matter. "fixed" learns nothing; the kernel may
        come from a model of labelled data.
    block_size, dtype : as for ``IVMClassifier``
    calibration : "loo" or None, default="loo"
        As for ``IVMClassifier``, from the labelled rows.
    unlabelled : label, default=-1
        Value in y that marks unlabelled rows, as it is or as text, besides None and NaN; with None only these two do,
        so that -1 can be a class.
    standardize, random_state, verbose
        As for ``GPClassifier``.

    Attributes
    ----------
    transduction_ : (n,) labels of all training rows: the given or the most probable one
    active_ : (S,) rows kept, in the order of their inclusion; with more than two classes a tuple, one for each class
    gamma_ : probabilities that a label is missing, of the lower and the upper side; (n_classes, 2) for more than two
    null_category_ : the likelihood of the training rows; with more than two classes a tuple
    likelihood_ : likelihood for predictions, with noise as wide as the band, because unlabelled rows push latent values
        apart
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
    _saves_rows = False
    _loo_flaw = ACTIVE_FLAW
    active_: np.ndarray | tuple[np.ndarray, ...]
    null_category_: NullCategory | tuple[NullCategory, ...]

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

    def _default_shape(self, length_scale: float) -> Kernel:
        # From too long a length-scale learning may end with all rows on one side of the band.
        return RBF(0.5 * length_scale)

    def _start_kernel(self, inputs: Inputs, shape: str | None = None) -> Kernel:
        start = super()._start_kernel(inputs, shape)
        if self.kernel is not None:
            return start
        small = float(np.exp(-2.0))
        return start + Constant(small) + White(small, bounds={"variance": (1e-8, 1e3)})

    @with_callbacks
    def fit(self, X: Any, y: Any) -> NullCategoryClassifier:
        """Fit to rows X (n, n_features) with labels y (n,), -1, None or NaN where there is none."""
        with self._monitor() as monitor:
            calibrates, rng = self._calibrates, generator(self.random_state)
            if not (isinstance(self.link, str) and self.link in LINKS):
                raise ValueError(f"link must be one of {sorted(LINKS)}, got {self.link!r}")
            inputs, raw, _ = Inputs.fit(self, X, order="C", ensure_min_samples=2)
            known, missing = split_unlabelled(y, self.unlabelled)
            labels = Labels.of(known)
            codes = np.full(len(missing), UNLABELLED)
            codes[~missing] = labels.encode(known)
            check_consistent_length(raw, codes)
            order = self._row_order(raw, codes)
            raw, codes, missing = raw[order.rows], codes[order.rows], missing[order.rows]
            inputs = inputs.standardized(raw, self.kernel, self.standardize)
            problem = self._boundaries(inputs, raw, codes, labels, order.rows)
            ivm = ivm_of(self, EP(), criterion="entropy", update="adf", refine=False)
            trained = train_parts(
                problem,
                self._settings(ivm, self._search(problem), calibrates),
                rng,
                monitor,
                link=self._joint_likelihood,
                labels=LabelWeights.of(codes, len(labels), (~missing).astype(float)),
                random_ties=self.random_state is not None,
            ).renumbered(order.rows)
        attributes = self._class_attributes(labels.classes, trained)
        # All training rows have the most probable label, and those with a label their own.
        probable = trained.posterior.predict_log(trained.likelihood, inputs.scaled(raw), trained.calibration)
        one = len(trained.likelihoods) == 1
        attributes |= {
            "transduction_": labels.classes[np.where(codes < 0, probable.argmax(axis=1), codes)[order.places]],
            "active_": trained.active[0] if one else trained.active,
            "null_category_": trained.likelihoods[0] if one else trained.likelihoods,
            "gamma_": np.array([(like.gamma_minus, like.gamma_plus) for like in trained.likelihoods]).squeeze(),
        }
        self._store(inputs, trained, **attributes)
        return self

    def _joint_likelihood(self, likelihoods: list[Any]) -> Likelihood:
        """What turns latent values into probabilities: of the one boundary, or of all of them."""
        return Probit(likelihoods[0].bias) if len(likelihoods) == 1 else LINKS[self.link]()

    def _boundaries(
        self, inputs: Inputs, rows: np.ndarray, codes: np.ndarray, labels: Labels, numbers: np.ndarray
    ) -> Problem:
        """One problem of two classes, or one for each class against the rest."""
        share = np.bincount(codes[codes >= 0]) / np.sum(codes >= 0)
        gamma = self._gamma(float(np.mean(codes < 0)))
        learned = ("gamma_plus", "gamma_minus") if isinstance(self.gamma, str) and self.gamma == "learned" else ()
        binary = len(labels) == 2
        free = (*learned, *(("bias",) if binary else ()))
        fixed = tuple(name for name in NullCategory.domains if name not in free)
        likelihoods = tuple(
            # The shares of the labels as thresholds of a latent value of unit variance.
            NullCategory(gamma, gamma, float(ndtri(part)), self.noise, fixed=fixed)
            for part in (share[1:] if binary else share)
        )
        problem = self._problem(inputs, rows, codes, likelihoods[0], 1, numbers=numbers)
        return problem if binary else OneVersusRestProblem(**vars(problem), likelihoods=likelihoods)

    def _gamma(self, proportion: float) -> float:
        if isinstance(self.gamma, str):
            if self.gamma not in ("proportion", "learned"):
                raise ValueError(f"gamma must be 'proportion', 'learned' or a number, got {self.gamma!r}")
            return proportion
        number = isinstance(self.gamma, (float, np.floating))
        if not (number and 0.0 < self.gamma < 1.0):
            raise ValueError(f"gamma must be 'proportion', 'learned' or a number between 0 and 1, got {self.gamma!r}")
        return float(self.gamma)

    def _search(self, problem: Problem) -> Search:
        if isinstance(self.hyper, (Alternating, Fixed)):
            return self.hyper
        if self.hyper == "fixed":
            return Fixed()
        if self.hyper != "alternating":
            raise ValueError(f"hyper must be 'alternating', 'fixed' or an Alternating(...), got {self.hyper!r}")
        # An L1 penalty on process variances (LPJ05 section 4.3).
        roles = ("variance", "weight_variance", "bias_variance")
        variances = [entry.name for entry in problem.kernel.theta_entries if entry.role in roles]
        # The rounds need not converge, and with few labels some of them give all rows to one class.
        return Alternating(n_rounds=8, keep="best", prior={name: Exponential(1.0) for name in variances})
