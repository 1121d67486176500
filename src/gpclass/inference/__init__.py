"""Engines: from a prior covariance and observations to a Gaussian posterior."""

from .base import Engine, Fit, Info, Weights
from .ep import EP
from .exact import Exact
from .gibbs import Gibbs
from .laplace import Laplace
from .vb import VB

__all__ = ["EP", "VB", "Engine", "Exact", "Fit", "Gibbs", "Info", "Laplace", "Weights"]
