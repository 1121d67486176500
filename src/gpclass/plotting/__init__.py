"""Pictures in scikit-learn's manner: ``Display.from_estimator(...)`` computes and draws, ``.plot(ax=)`` draws again.

What is drawn stays on the display, and ``ax_`` and ``figure_`` say where. ``features=`` and ``feature=`` are places or
names of columns. Nothing here needs matplotlib before something is drawn.
"""

from ._canvas import COLOURS, INK
from .active_set import ActiveSetDisplay
from .latent import LatentDisplay
from .null_category import NullCategoryDisplay
from .ordinal import OrdinalThresholdDisplay
from .probability_map import ProbabilityMapDisplay
from .relevance import RelevanceDisplay, RelevancePosteriorDisplay, log_relevance
from .reliability import ReliabilityDisplay
from .tasks import TaskDisplay
from .traces import BoundDisplay, EvidenceDisplay
from .update import UpdateDisplay
from .view_weights import ViewWeightsDisplay
from .virtual_vectors import VirtualVectorDisplay

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
