"""Engines: from a prior covariance and observations to a Gaussian posterior."""

from .base import Engine, Fit, Info, Weights
from .ep import EP
from .exact import Exact
from .gibbs import Gibbs
from .ivm import IVM
from .laplace import Laplace
from .sparse_ep import SparseEP
from .sparse_vb import SparseVB
from .vb import VB

__all__ = ["EP", "IVM", "VB", "Engine", "Exact", "Fit", "Gibbs", "Info", "Laplace", "SparseEP", "SparseVB", "Weights"]
