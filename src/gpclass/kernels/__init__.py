"""Covariance functions: values with pullbacks, combined by ``+`` and ``*``."""

from .base import Constant, Kernel, PerClass, Product, Scaled, Sum, View, White
from .dot_product import MLP, Linear, Polynomial
from .precomputed import Precomputed
from .sklearn_bridge import from_sklearn
from .stationary import RBF, Matern, RationalQuadratic

__all__ = [
    "MLP",
    "RBF",
    "Constant",
    "Kernel",
    "Linear",
    "Matern",
    "PerClass",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sum",
    "View",
    "White",
    "from_sklearn",
]
