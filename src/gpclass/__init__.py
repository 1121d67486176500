"""Bayesian Gaussian-process classification with calibrated probabilities, behind the scikit-learn interface."""

from .classifier import GPClassifier
from .comparison import compare
from .ivm import IVMClassifier, IVMRegressor
from .ordinal import GPOrdinalClassifier
from .regressor import GPRegressor
from .sparse import SparseGPClassifier

__version__ = "0.1.0"

__all__ = [
    "GPClassifier",
    "GPOrdinalClassifier",
    "GPRegressor",
    "IVMClassifier",
    "IVMRegressor",
    "SparseGPClassifier",
    "__version__",
    "compare",
]
