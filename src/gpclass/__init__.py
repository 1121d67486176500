"""Bayesian Gaussian-process classification with calibrated probabilities, behind the scikit-learn interface."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators.gp_classifier import GPClassifier
    from .estimators.gp_ordinal_classifier import GPOrdinalClassifier
    from .estimators.gp_regressor import GPRegressor
    from .estimators.ivm_classifier import IVMClassifier
    from .estimators.ivm_regressor import IVMRegressor
    from .estimators.multitask_ivm_classifier import MultiTaskIVMClassifier
    from .estimators.multitask_ivm_regressor import MultiTaskIVMRegressor
    from .estimators.nearest_neighbor_gp_classifier import NearestNeighborGPClassifier
    from .estimators.nearest_neighbor_gp_regressor import NearestNeighborGPRegressor
    from .estimators.null_category_classifier import NullCategoryClassifier
    from .estimators.sparse_gp_classifier import SparseGPClassifier
    from .estimators.view_voting_classifier import ViewVotingClassifier
    from .estimators.virtual_vector_classifier import VirtualVectorClassifier
    from .evaluation.comparison import compare
    from .evaluation.query import query
    from .io.onnx.export import export_onnx
    from .io.persistence import load, save
    from .training.time_limit import TimeLimit

__version__ = "0.1.0"

#: Where each public name lives. They are imported when first used: the command line should not wait for all of them.
_HOMES = {
    "GPClassifier": "estimators.gp_classifier",
    "GPOrdinalClassifier": "estimators.gp_ordinal_classifier",
    "GPRegressor": "estimators.gp_regressor",
    "IVMClassifier": "estimators.ivm_classifier",
    "IVMRegressor": "estimators.ivm_regressor",
    "MultiTaskIVMClassifier": "estimators.multitask_ivm_classifier",
    "MultiTaskIVMRegressor": "estimators.multitask_ivm_regressor",
    "NearestNeighborGPClassifier": "estimators.nearest_neighbor_gp_classifier",
    "NearestNeighborGPRegressor": "estimators.nearest_neighbor_gp_regressor",
    "NullCategoryClassifier": "estimators.null_category_classifier",
    "SparseGPClassifier": "estimators.sparse_gp_classifier",
    "TimeLimit": "training.time_limit",
    "ViewVotingClassifier": "estimators.view_voting_classifier",
    "VirtualVectorClassifier": "estimators.virtual_vector_classifier",
    "compare": "evaluation.comparison",
    "export_onnx": "io.onnx.export",
    "load": "io.persistence",
    "query": "evaluation.query",
    "save": "io.persistence",
}

#: Modules with a shorter name.
_MODULES = {"decisions": "evaluation.decisions"}

__all__ = [
    "GPClassifier",
    "GPOrdinalClassifier",
    "GPRegressor",
    "IVMClassifier",
    "IVMRegressor",
    "MultiTaskIVMClassifier",
    "MultiTaskIVMRegressor",
    "NearestNeighborGPClassifier",
    "NearestNeighborGPRegressor",
    "NullCategoryClassifier",
    "SparseGPClassifier",
    "TimeLimit",
    "ViewVotingClassifier",
    "VirtualVectorClassifier",
    "__version__",
    "compare",
    "export_onnx",
    "load",
    "query",
    "save",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = found
        return found
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    if not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
