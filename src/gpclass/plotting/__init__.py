"""Displays like those of scikit-learn: ``Display.from_estimator(...)`` computes and draws, ``.plot(ax=)`` draws again.

The data are attributes of the display, with ``ax_`` and ``figure_``. ``features=`` and ``feature=`` are indices or
names of columns. matplotlib is imported when something is drawn.
"""

from ._canvas import COLOURS, INK
from .active_set import ActiveSetDisplay, VirtualVectorDisplay
from .latent import LatentDisplay, UpdateDisplay
from .null_category import NullCategoryDisplay
from .ordinal import OrdinalThresholdDisplay
from .probability_map import ProbabilityMapDisplay
from .relevance import RelevanceDisplay, RelevancePosteriorDisplay, ViewWeightsDisplay, log_relevance
from .reliability import ReliabilityDisplay
from .tasks import TaskDisplay
from .traces import BoundDisplay, EvidenceDisplay

__all__ = [
    "COLOURS",
    "INK",
    "ActiveSetDisplay",
    "BoundDisplay",
    "EvidenceDisplay",
    "LatentDisplay",
    "NullCategoryDisplay",
    "OrdinalThresholdDisplay",
    "ProbabilityMapDisplay",
    "RelevanceDisplay",
    "RelevancePosteriorDisplay",
    "ReliabilityDisplay",
    "TaskDisplay",
    "UpdateDisplay",
    "ViewWeightsDisplay",
    "VirtualVectorDisplay",
    "log_relevance",
]
