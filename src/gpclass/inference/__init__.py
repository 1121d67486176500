"""Engines: from a prior covariance and observations to a Gaussian posterior."""

from .base import Engine, Fit, Info, Weights
from .exact import Exact
from .vb import VB

__all__ = ["VB", "Engine", "Exact", "Fit", "Info", "Weights"]
