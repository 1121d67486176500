"""What the nearest-neighbour estimators share: the kernel, rows as points, and batches that join the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..hyper.metric_learning import NeighborProblem, NeighborSettings
from ..inference.neighbors.embedding import Embedding
from ..inference.neighbors.posterior import NeighborPosterior
from ..inference.neighbors.search import INDICES
from ..inference.settings import check_counts
from ..kernels import Kernel, Matern, PerClass, from_sklearn
from ..numerics.devices import Place
from ..training.monitor import Monitor
from ..training.neighbors import TrainedNeighbors, train_neighbors
from ._base import Base, generator
from ._inputs import Inputs


class NeighborMixin(Base):
    """For estimators that are also ``GPEstimator``."""

    n_neighbors: int
    index: str
    max_iter: int
    likelihood_: Any
    _embedding: Embedding
    components_: np.ndarray | None
    _allows_missing = False
    _loo_flaw: str | None = "its metric is learned by these very predictions"

    def _check_settings(self) -> NeighborSettings:
        check_counts(self, n_neighbors=1, max_iter=1)
        if self.index not in INDICES:
            raise ValueError(f"index must be one of {list(INDICES)}, got {self.index!r}")
        if self.hyper not in ("loo", "fixed"):
            raise ValueError(
                f"hyper must be 'loo' or 'fixed', got {self.hyper!r}: {type(self).__name__} learns by leave-one-out "
                "predictions of batches"
            )
        learns = self.hyper == "loo"
        default = self.kernel is None
        return NeighborSettings(self.n_neighbors, self.index, learns, self.max_iter, default_kernel=default)

    def _embedded(self, inputs: Inputs, rows: np.ndarray) -> tuple[Kernel, np.ndarray, Embedding, Embedding | None]:
        """The kernel to start from, the rows as it takes them; how rows become points before the kernel, and after it,
        where neighbours are searched for."""
        X, sizes = inputs.scaled(rows), [0] * inputs.n_features
        for j, encoder in inputs.frame.places(inputs.encoders).items():
            sizes[j] = len(encoder.categories_[0])
        categories = Embedding(tuple(sizes))
        if self.kernel is None:
            points = categories.transform(X)
            # Columns that are constant have the prior's length-scale, so they matter as little as they vary.
            return Matern(np.ones(points.shape[1]), nu=1.5), points, categories, None
        kernel = from_sklearn(self.kernel)
        if isinstance(kernel, PerClass) or kernel.pairwise:
            raise TypeError(
                f"{type(self).__name__} needs one kernel of features for all classes, got {type(kernel).__name__}"
            )
        return kernel.bind(X, 1, inputs.columns), X, Embedding((0,) * inputs.n_features), categories

    def _train(
        self,
        inputs: Inputs,
        rows: np.ndarray,
        y: np.ndarray,
        targets: np.ndarray,
        link: Any,
        settings: NeighborSettings,
        monitor: Monitor,
        weights: np.ndarray | None,
        place: Place,
    ) -> tuple[Inputs, TrainedNeighbors, Embedding]:
        inputs = inputs.standardized(rows, self.kernel, self.standardize, weights)
        kernel, X, before, after = self._embedded(inputs, rows)
        with place.refusing_too_much(f"{len(y)} rows and their neighbours", "fit on the host: device='cpu'"):
            problem = NeighborProblem(kernel, link, X, y, targets, weights, embedding=after).sent_to(place)
            return inputs, train_neighbors(problem, settings, generator(self.random_state), monitor), before

    @staticmethod
    def _weights(sample_weight: Any, rows: np.ndarray) -> np.ndarray | None:
        """Weights (n,) of the rows, None where all are alike."""
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)

    @staticmethod
    def _without_zeros(
        rows: np.ndarray, y: np.ndarray, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Rows of weight 0 are dropped: they would take the places of neighbours."""
        if weights is None:
            return rows, y, None
        kept = weights > 0.0
        return rows[kept], y[kept], weights[kept]

    def _rows(self, X: Any, grams: Any = None, rows: Any = None) -> np.ndarray:
        return self._points(super()._rows(X, grams, rows))

    def _points(self, X: np.ndarray) -> np.ndarray:
        """Checked and scaled rows as the kernel takes them: categories as indicators, columns mixed."""
        points = self._embedding.transform(X)
        return points if self.components_ is None else points @ self.components_

    @property
    def _local(self) -> NeighborPosterior:
        return getattr(self.posterior_, "local", self.posterior_)

    @property
    def relevance_(self) -> np.ndarray:
        """Inverse squared length-scales (n_features,) in the kernel's units; for categories the mean over them, and
        the largest of what is made of a column."""
        check_is_fitted(self)
        relevance = self.kernel_.relevance(len(self._embedding.columns))
        if self.components_ is not None:
            relevance = self.components_**2 @ relevance
        return self._inputs.by_column(self._embedding.pooled(relevance))

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        raise AttributeError(
            f"{type(self).__name__} has no evidence: it learns by leave-one-out predictions, and hyper_.value is the "
            "mean log probability of held-out rows"
        )
