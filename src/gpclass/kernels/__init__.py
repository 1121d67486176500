"""Covariance functions: values with pullbacks, combined by ``+`` and ``*``."""

from .base import Constant, Kernel, PerClass, Product, Scaled, Sum, White
from .by_column import Additive, Laplacian
from .categorical import Categorical
from .columns import Columns
from .dot_product import MLP, Linear, Polynomial
from .precomputed import Precomputed
from .quantiles import Quantiles
from .sklearn_bridge import from_sklearn
from .stationary import RBF, Matern, RationalQuadratic
from .structured import diffusion_gram, kmer_gram, spectrum_gram
from .torch_kernel import TorchKernel
from .views import View, WeightedSum

__all__ = [
    "MLP",
    "RBF",
    "Additive",
    "Categorical",
    "Columns",
    "Constant",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "PerClass",
    "Polynomial",
    "Precomputed",
    "Product",
    "Quantiles",
    "RationalQuadratic",
    "Scaled",
    "Sum",
    "TorchKernel",
    "View",
    "WeightedSum",
    "White",
    "diffusion_gram",
    "from_sklearn",
    "kmer_gram",
    "spectrum_gram",
]
