"""SparseGPClassifier: many rows, all used, summarised by a few inducing points."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ..inference import IVM, InducingPrior, ParallelEP, SparseEP, SparseVB
from ..inference.active.ivm import default_size
from ..inference.base import Engine, Latent
from ..inference.inducing.features import InducingBasis
from ..inference.settings import check_setting
from ..kernels import Kernel, PerClass
from ..likelihoods import Likelihood
from ..numerics.arrays import to_host
from ..numerics.devices import HOST, host_labels, host_rows, place_of
from ..training.checkpoint import Checkpoint
from ..training.inducing import InducingPoints, train_inducing
from ..training.row_order import RowOrder
from ._active import search_for_many_rows
from ._base import GPEstimator, check_runs, choose_engine, generator
from ._classifying import GPClassifierMixin, best_engine
from ._inputs import Inputs
from ._labels import check_labels, label_column
from ._sources import SourceRows, from_array, from_blocks
from .distributed import is_collection

ENGINES = {"ep": SparseEP, "vb": SparseVB}
INDUCING = ("ivm", "kmeans++", "random")
#: Kernel parameters are learned and inducing points chosen from at most so many rows.
SAMPLE_ROWS = 20000


class SparseGPClassifier(GPClassifierMixin, GPEstimator):
    """Gaussian-process classifier for many rows: all are used, summarised by S inducing points.

    A pass over the data takes O(n S^2 K) time. Memory is O(S^2 K), plus a block of rows, a few numbers for each row,
    and a cache of covariances of up to 2 GiB.

    Parameters
    ----------
    kernel, likelihood : as for ``GPClassifier``; one kernel for all classes
    n_inducing : int or None, default=None
        Number S of inducing points; None is a tenth of the rows or 25 for each class, at least 500 and at most 1000, or
        all rows if there are fewer.
    inducing : "ivm", "kmeans++", "random", or rows (S, n_features), default="ivm"
        How they are chosen: the active rows of an informative vector machine, rows far from each other, random rows, or
        given points.
    inference : "ep", "vb", ``SparseEP(...)``, ``ParallelEP(...)`` or ``SparseVB(...)``, default="ep"
        Expectation propagation (``SparseEP``, from more than 20000 rows on ``ParallelEP``), or variational Bayes, whose
        cost hardly grows with the number of classes.
    approximation : "dtc" or "fitc", default="dtc"
        Whether the part of a row's latent value that the inducing points do not explain is ignored in training ("dtc"),
        or treated as noise ("fitc"). "fitc" is a proper model; "dtc" learns more from few points.
    hyper : str or an object of ``gpclass.hyper``, default="auto"
        "evidence" learns kernel parameters from at most 350 rows; ``Evidence(max_rows=None)`` from all (at most 20000),
        through the inducing points. "held_out" corrects the scale found by "evidence" with predictions of held-out
        rows. "neighbors" learns a length-scale for each input from nearest rows, then corrects the scale. "loo" and
        "fixed" are as for ``GPClassifier``. "auto" is "neighbors" from 1000 rows on with the default kernel of numbers,
        "held_out" from 5000 rows on with others, else "evidence".
    calibration : "loo" or None, default="loo"
        As for ``GPClassifier``.
    dtype : "float64" or "float32", default="float64"
        Type of the covariances with the inducing points; "float32" is twice as fast.
    checkpoint : str, path or None, default=None
        File for the state of a long fit: after an interruption, the next fit to the same rows continues from it. It is
        a pickle, and is deleted when the fit is done. ``random_state=None`` then means 0.
    n_restarts_optimizer, standardize, random_state, n_jobs, device, verbose
        As for ``GPClassifier``.

    Attributes
    ----------
    inducing_rows_ : (S, n_features), in the units of X
    classes_, kernel_, likelihood_, log_evidence_, calibration_, loo_proba_, loo_labels_, relevance_, hyper_, info_, \
n_iter_, n_features_in_
        As for ``GPClassifier``.
    loo_rows_, loo_weights_ : arrays, after a fit to a Dask collection
        The sample of rows that ``loo_proba_`` refers to, and how many rows each represents, 1 on average.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gpclass import SparseGPClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseGPClassifier(n_inducing=50).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.95
    True
    """

    _saves_rows = False
    _allows_missing = False  # rows are read in blocks that must be complete

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
        checkpoint: Any = None,
        n_restarts_optimizer: int = 0,
        standardize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
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
        self.checkpoint = checkpoint
        self.n_restarts_optimizer = n_restarts_optimizer
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> SparseGPClassifier:
        """Fit to rows X (n, n_features) with labels y (n,).

        X may be a ``numpy.memmap``, which is read in blocks and never as a whole; or, without y, blocks (X, y) of rows:
        a list of them, or a generator function that is called for every pass over the data; or a Dask array or data
        frame, with y likewise, whose rows stay where they are (``loo_proba_`` is that of a sample then).
        """
        with self._monitor() as monitor:
            # The sample of a fit that goes on from a checkpoint has to be the same.
            unseeded = self.random_state is None and self.checkpoint is not None
            calibrates, rng = self._calibrates, generator(0 if unseeded else self.random_state)
            check_setting("dtype", self.dtype)
            # Rows of a collection go to the devices of their workers.
            place = HOST if is_collection(X) else place_of(self.device, X)
            self._check_kernel()
            rows = self._training_rows(X, y, rng)
            n_rows, labels = rows.n_rows, rows.labels
            engine = self._engine(n_rows, rows.elsewhere)
            likelihood = self._resolve_likelihood(len(labels))
            n_latent = likelihood.n_latent(len(labels))
            engine.check(likelihood, n_latent)
            allowed = ("auto", "evidence", "held_out", "loo", "neighbors", "fixed")
            by_neighbors = rows.inputs.numeric and self.kernel is None
            search = search_for_many_rows(self.hyper, n_rows, likelihood, "SparseGPClassifier", allowed, by_neighbors)
            inputs = rows.inputs.standardized(rows.sample, self.kernel, self.standardize, scaler=rows.scaler)
            points = self._inducing_points(inputs, n_rows, likelihood, n_latent)
            problem = self._problem(inputs, rows.sample, rows.sample_codes, likelihood, n_latent)
            check_runs(problem.kernel, place.send(problem.X[:2]), place)
            smaller = "choose a smaller n_inducing, or dtype='float32'"
            with place.refusing_too_much(f"{n_rows} rows and the inducing points", smaller):
                checkpoint = self._checkpoint(rows)
                trained = train_inducing(
                    problem,
                    rows.codes,
                    self._settings(engine, search, calibrates),
                    points,
                    lambda kernel, Z: InducingBasis(kernel, place.send(Z), self.approximation, self.dtype),
                    lambda basis: rows.sums(basis, inputs, problem),
                    rng,
                    monitor,
                    rows.label_weights,
                    checkpoint,
                )
            trained = rows.renumbered(trained)
        attributes = self._class_attributes(labels.classes, trained, rows.loo_codes)
        self._store(replace(inputs, place=place), trained, **attributes | rows.attributes)
        if checkpoint is not None:
            checkpoint.remove()
        return self

    def _engine(self, n_rows: int, elsewhere: bool) -> Engine:
        """The engine; the default is ``ParallelEP`` for many rows, and for rows on other machines."""
        engines = {**ENGINES, "ep": ParallelEP if elsewhere or n_rows > SAMPLE_ROWS else SparseEP}
        return choose_engine(self.inference, engines, "SparseGPClassifier", InducingPrior)

    def _checkpoint(self, rows: Any) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        if not isinstance(self.checkpoint, (str, os.PathLike)):
            raise TypeError(f"checkpoint must be the name of a file, or None, got {self.checkpoint!r}")
        path = Path(self.checkpoint)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"Cannot save the checkpoint {path}: folder {path.parent} does not exist")
        others = ("checkpoint", "n_jobs", "device", "verbose", "random_state")
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in others}
        if not isinstance(self.inducing, str):
            settings["inducing"] = f"array with checksum {crc32(np.ascontiguousarray(self.inducing).tobytes()):x}"
        content = crc32(rows.scaler.mean_.tobytes(), rows.content)
        return Checkpoint(path, f"{rows.n_rows} rows with checksum {content:x}, {settings}")

    def _check_kernel(self) -> None:
        if isinstance(self.kernel, PerClass):
            raise TypeError("SparseGPClassifier needs one kernel for all classes, got a PerClass kernel")
        if isinstance(self.kernel, Kernel) and self.kernel.pairwise:
            raise TypeError("SparseGPClassifier needs features, not the covariances that a Precomputed kernel takes")

    def _training_rows(self, X: Any, y: Any, rng: np.random.Generator) -> Any:
        """The rows, wherever they are (``_training_rows``)."""
        if is_collection(X):
            from .distributed.training_rows import ChunkRows

            return ChunkRows.of(self, X, y, SAMPLE_ROWS, rng)
        X, y = host_rows(X), host_labels(y, X)
        if callable(X) and y is not None:
            raise TypeError("a function gives blocks (X, y), so there must be no y beside it")
        order = None
        if y is None and not hasattr(X, "shape"):
            source = from_blocks(X)
        elif isinstance(X, np.memmap) and y is not None:
            source = from_array(X, label_column(y))
        else:
            y = check_labels(y)
            inputs, raw, y = Inputs.fit(self, X, y, order="C", ensure_min_samples=2)
            order = RowOrder.of(raw, y)  # sorted where they are in memory
            source = from_array(raw[order.rows], y[order.rows])
        if order is None:
            inputs, order = Inputs.of_blocks(source.n_features), RowOrder.unsorted(source.n_rows)
        return SourceRows.of(inputs, source, order, SAMPLE_ROWS, place_of(self.device, X), rng)

    def _inducing_points(self, inputs: Inputs, n_rows: int, likelihood: Likelihood, n_latent: int) -> InducingPoints:
        """How inducing points are chosen, and the informative vector machine that selects them."""
        choice, size = self.inducing, None
        if isinstance(choice, str):
            if choice not in INDUCING:
                raise ValueError(f"inducing must be one of {list(INDUCING)} or an array of rows, got {choice!r}")
            size = self._size(min(n_rows, SAMPLE_ROWS), n_latent)
        else:
            Z = check_array(choice, dtype=np.float64)
            if Z.shape[1] != inputs.n_columns:
                raise ValueError(f"inducing has {Z.shape[1]} columns, but X has {inputs.n_columns}")
            if inputs.frame.words:
                raise ValueError(f"expected inducing to be a word for X with text in {list(inputs.frame.words)}")
            choice = inputs.scaled(inputs.features_of(Z, None))
        # Scored row by row, several classes need few integrals; where they need all of them, blocks are faster.
        block_size = 1 if n_latent > 1 and likelihood.log_concave else 16
        return InducingPoints(
            choice, IVM(size, block_size=block_size, dtype="float32", learn_by=best_engine(likelihood))
        )

    def _size(self, n_rows: int, n_latent: int) -> int:
        """How many inducing points there are to be."""
        given = self.n_inducing
        if given is None:
            return default_size(n_rows, n_latent)
        if not (isinstance(given, (int, np.integer)) and not isinstance(given, bool) and given >= 1):
            raise ValueError(f"n_inducing must be a whole number >= 1, or None, got {given!r}")
        if given > n_rows:
            warnings.warn(f"n_inducing is {given}, but there are {n_rows} rows: all of them are used", stacklevel=5)
        return min(int(given), n_rows)

    def latent(self, X: Any, full_cov: bool = False) -> Latent:
        """As for ``GPClassifier``; of a Dask collection, lazy Dask arrays."""
        if not is_collection(X):
            return super().latent(X, full_cov)
        from .distributed.predictions import lazy_latent

        check_is_fitted(self)
        if full_cov:
            raise ValueError(
                "expected full_cov=False for a Dask collection: covariances between all its rows do not fit"
            )
        return Latent(*lazy_latent(self, X, self.posterior_.n_latent))

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """The log evidence at theta through the inducing points, to compare values of theta by.

        Always expectation propagation under "fitc", on the rows that parameters are learned from (all, or
        20000 of more): not ``log_evidence_``, which is of all rows, by ``inference`` and ``approximation``. The
        inducing points stay where they are.

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
        """The inducing points, (S, n_features), in the units of X."""
        check_is_fitted(self)
        return self._inputs.unscaled(to_host(self.posterior_.X))
