"""Bayesian Gaussian-process classification with calibrated probabilities, behind the scikit-learn interface."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .classifier import GPClassifier
    from .comparison import compare
    from .invariance import VirtualVectorClassifier
    from .ivm import IVMClassifier, IVMRegressor
    from .multitask import MultiTaskIVM
    from .multiview import ViewVotingClassifier
    from .ordinal import GPOrdinalClassifier
    from .persistence import load, save
    from .regressor import GPRegressor
    from .semisupervised import NullCategoryClassifier
    from .sparse import SparseGPClassifier

__version__ = "0.1.0"

#: Where each public name lives. They are imported when first used: the command line should not wait for all of them.
_HOMES = {
    "GPClassifier": "classifier",
    "GPOrdinalClassifier": "ordinal",
    "GPRegressor": "regressor",
    "IVMClassifier": "ivm",
    "IVMRegressor": "ivm",
    "MultiTaskIVM": "multitask",
    "NullCategoryClassifier": "semisupervised",
    "SparseGPClassifier": "sparse",
    "ViewVotingClassifier": "multiview",
    "VirtualVectorClassifier": "invariance",
    "compare": "comparison",
    "load": "persistence",
    "save": "persistence",
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
