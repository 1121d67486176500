"""Bayesian Gaussian-process classification with calibrated probabilities, behind the scikit-learn interface."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators.gp_classifier import GPClassifier
    from .estimators.gp_regressor import GPRegressor
    from .estimators.ivm import IVMClassifier, IVMRegressor
    from .estimators.multitask import MultiTaskIVM
    from .estimators.null_category import NullCategoryClassifier
    from .estimators.ordinal import GPOrdinalClassifier
    from .estimators.sparse import SparseGPClassifier
    from .estimators.view_voting import ViewVotingClassifier
    from .estimators.virtual_vectors import VirtualVectorClassifier
    from .evaluation.comparison import compare
    from .io.persistence import load, save

__version__ = "0.1.0"

#: Where each public name lives. They are imported when first used: the command line should not wait for all of them.
_HOMES = {
    "GPClassifier": "estimators.gp_classifier",
    "GPOrdinalClassifier": "estimators.ordinal",
    "GPRegressor": "estimators.gp_regressor",
    "IVMClassifier": "estimators.ivm",
    "IVMRegressor": "estimators.ivm",
    "MultiTaskIVM": "estimators.multitask",
    "NullCategoryClassifier": "estimators.null_category",
    "SparseGPClassifier": "estimators.sparse",
    "ViewVotingClassifier": "estimators.view_voting",
    "VirtualVectorClassifier": "estimators.virtual_vectors",
    "compare": "evaluation.comparison",
    "load": "io.persistence",
    "save": "io.persistence",
}

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
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = found
        return found
    if not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
