"""What all searches and samplers of theta share."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..training.monitor import SILENT, Monitor
from .objective import Objective
from .results import HyperResult, Start


class Effort(NamedTuple):
    """How many more starting points a search tries, in how many processes, and where it starts if not at the starting
    values of the parameters."""

    n_restarts_optimizer: int = 0
    n_jobs: int | None = None
    start: Start | None = None


ONE_START = Effort()


@dataclass(frozen=True)
class Search(ABC):
    """Base of everything that chooses theta; called with an objective, it returns a ``HyperResult``."""

    #: whether theta changes, so that starting values may be adapted to the data
    learns: ClassVar[bool] = True
    #: whether theta is sampled: predictions then average over draws
    samples: ClassVar[bool] = False
    #: whether theta is taken from a search that runs first (its field ``first``) and then adjusted (``adjust``)
    adjusts: ClassVar[bool] = False
    #: whether the default kernel may get one length-scale for each input
    tries_relevances: ClassVar[bool] = False
    #: whether the default kernel gets one length-scale for each input
    needs_relevances: ClassVar[bool] = False

    @abstractmethod
    def __call__(
        self, objective: Objective, rng: np.random.Generator, monitor: Monitor = SILENT, effort: Effort = ONE_START
    ) -> HyperResult: ...

    def check(self, objective: Objective) -> None:
        """Refuse an objective that this search cannot work on, before any work is done."""
        return

    @property
    def row_limit(self) -> int | None:
        """Theta is learned from at most so many rows; None takes all."""
        return None

    @property
    def rows_at_once(self) -> int | None:
        """How many rows an evaluation takes at most; None for all."""
        return self.row_limit

    @property
    def averages(self) -> bool:
        """Whether predictions average over draws of theta."""
        return self.samples

    @property
    def n_averaged(self) -> int:
        """Predictions average over fits at so many draws of theta."""
        return 1
