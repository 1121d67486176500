"""Base of likelihoods that hold something for each training row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from .base import Likelihood


@dataclass(frozen=True, eq=False, repr=False)
class PerRow(Likelihood):
    """A likelihood ``base`` with something for each training row; serves fitting only, predictions use ``predictive``."""

    base: Likelihood = field(default_factory=Likelihood)

    @property
    def predictive(self) -> Likelihood:
        return self.base.predictive

    @property
    def log_concave(self) -> bool:
        return self.base.log_concave

    @property
    def children(self) -> tuple[Likelihood, ...]:
        return (self.base,)

    def _with_children(self, children: Sequence[Likelihood]) -> Self:
        return replace(self, base=children[0])

    def n_latent(self, n_classes: int) -> int:
        return self.base.n_latent(n_classes)

    def provides(self, method: str) -> bool:
        return self.base.provides(method)

    def auxiliary_noise(self, n: int) -> np.ndarray:
        return self.base.auxiliary_noise(n)
