"""Base of likelihoods that hold values for each training row."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from .base import Likelihood


@dataclass(frozen=True, eq=False, repr=False)
class PerRow(Likelihood):
    """A power or product of a likelihood ``base`` with values for each training row; predictions use ``predictive``."""

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
        return self._unchecked(base=children[0])

    def n_latent(self, n_classes: int) -> int:
        return self.base.n_latent(n_classes)

    def n_outcomes(self, n_latent: int) -> int:
        return self.base.n_outcomes(n_latent)

    def labels(self, n_latent: int) -> np.ndarray:
        return self.base.labels(n_latent)

    @property
    def supports(self) -> frozenset[str]:
        # A power of a likelihood has no closed Gaussian average.
        return frozenset(self.base.supports) - {"site", "tilted_gradient"}

    def auxiliary_noise(self, n: int) -> np.ndarray:
        return self.base.auxiliary_noise(n)
