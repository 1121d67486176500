"""How kernel parameters are chosen."""

from .alternating import Alternating
from .evidence import Evidence, Fixed
from .held_out import HeldOut
from .hmc import HMC
from .importance import Importance
from .leave_one_out import LeaveOneOut
from .metropolis import Metropolis
from .nearest_neighbors import NearestNeighbors
from .nuts import NUTS
from .objective import Objective
from .results import HyperResult, Samples
from .search import Search
from .stochastic import StochasticEvidence

__all__ = [
    "HMC",
    "NUTS",
    "Alternating",
    "Evidence",
    "Fixed",
    "HeldOut",
    "HyperResult",
    "Importance",
    "LeaveOneOut",
    "Metropolis",
    "NearestNeighbors",
    "Objective",
    "Samples",
    "Search",
    "StochasticEvidence",
]
