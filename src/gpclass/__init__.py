"""Bayesian Gaussian-process classification with calibrated probabilities, behind the scikit-learn interface."""

from .classifier import GPClassifier
from .comparison import compare
from .invariance import VirtualVectorClassifier
from .ivm import IVMClassifier, IVMRegressor
from .multitask import MultiTaskIVM
from .multiview import ViewVotingClassifier
from .ordinal import GPOrdinalClassifier
from .regressor import GPRegressor
from .semisupervised import NullCategoryClassifier
from .sparse import SparseGPClassifier

__version__ = "0.1.0"

__all__ = [
    "GPClassifier",
    "GPOrdinalClassifier",
    "GPRegressor",
    "IVMClassifier",
    "IVMRegressor",
    "MultiTaskIVM",
    "NullCategoryClassifier",
    "SparseGPClassifier",
    "ViewVotingClassifier",
    "VirtualVectorClassifier",
    "__version__",
    "compare",
]
