"""Training rows of a Dask collection (the twin of ``estimators._sources.SourceRows``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from ...inference.inducing.features import ArrayRows, Features, InducingBasis
from ...inference.problem import Problem
from ...training.row_order import RowOrder
from ...training.trained import LabelWeights, Trained
from .._inputs import Inputs
from .._labels import Labels
from .collections import Chunks, check_versions
from .sums import ChunkSums, Reader
from .survey import Survey, refuse_text, sample, survey, with_categories


@dataclass(frozen=True)
class ChunkRows:
    """Rows that stay in their chunks, and a ``sample`` of them here; ``few`` are the numbers of the sampled rows."""

    inputs: Inputs
    chunks: Chunks
    survey: Survey
    labels: Labels
    estimator: Any
    sample: np.ndarray
    sample_codes: np.ndarray
    few: np.ndarray

    #: labels are with their rows
    codes: ClassVar[None] = None
    elsewhere: ClassVar[bool] = True

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, n_sampled: int, rng: np.random.Generator) -> ChunkRows:
        """Two passes: one over all rows, one for a sample of them."""
        chunks = Chunks.of(X, y)
        check_versions(chunks.client)
        found = survey(chunks)
        labels = Labels.of(found.labels)
        given, y_few, few = sample(chunks, found, n_sampled, rng)
        refuse_text(given)
        given, n_more = with_categories(given, found)
        inputs, rows, _ = Inputs.fit(estimator, given, sample_weight=np.repeat([0.0, 1.0], [n_more, len(y_few)]))
        if inputs.frame.times:  # the survey has no means of what is made of them
            raise ValueError(
                f"expected numbers and categories in a Dask collection, got dates in {list(inputs.frame.times)}"
            )
        rows, codes = rows[n_more:], labels.encode(y_few)
        order = RowOrder.of(rows, codes).rows
        probe = clone(estimator).set_callbacks()  # callbacks stay here
        probe.n_features_in_ = inputs.n_columns
        if inputs.names is not None:
            probe.feature_names_in_ = inputs.names
        return cls(inputs, chunks, found, labels, probe, rows[order], codes[order], few[order])

    @property
    def n_rows(self) -> int:
        return self.survey.n_rows

    @property
    def scaler(self) -> StandardScaler:
        return self.survey.scaler

    @property
    def weights(self) -> np.ndarray:
        """How many rows of the collection each of the sample stands for, about 1 on average: rare classes have more
        than their share of it."""
        stands_for = self.survey.counts.sum(axis=0) / np.bincount(self.sample_codes, minlength=len(self.labels))
        weights = stands_for[self.sample_codes]
        return weights / weights.mean()

    @property
    def label_weights(self) -> LabelWeights:
        """Those of the sample: calibration is learned from it."""
        return LabelWeights.of(self.sample_codes, len(self.labels), self.weights)

    @property
    def content(self) -> int:
        """A checksum of all rows and labels."""
        return crc32(np.array(self.survey.checksums, np.int64).tobytes())

    @property
    def loo_codes(self) -> np.ndarray:
        """The classes of the rows that have leave-one-out predictions."""
        return self.sample_codes

    def sums(self, basis: InducingBasis, inputs: Inputs, sample: Problem) -> ChunkSums:
        """All rows through inducing points."""
        reader = Reader(inputs, self.labels, self.estimator, self.survey.checksums, self.estimator.device)
        here = Features.on(basis, ArrayRows(sample.X))
        return ChunkSums(basis, self.chunks, reader, self.n_rows, here, self.sample_codes)

    def renumbered(self, trained: Trained) -> Trained:
        """What was trained, with rows of the sample numbered as in the collection."""
        return replace(trained, hyper=trained.hyper.renumbered(self.few), loo=None)

    @property
    def attributes(self) -> dict[str, Any]:
        """Which rows ``loo_proba_`` is of, and how many each stands for."""
        return {"loo_rows_": self.few, "loo_weights_": self.weights}
