"""Engines: from a prior and observations to a posterior."""

from .active.ivm import IVM
from .base import Draws, Engine, Fit, GaussianTerms, Info, Latent
from .dense.ep import EP
from .dense.exact import Exact
from .dense.gibbs import Gibbs
from .dense.laplace import Laplace
from .dense.vb import VB
from .inducing.parallel_ep import ParallelEP
from .inducing.sparse_ep import SparseEP
from .inducing.sparse_vb import SparseVB
from .prior import ActivePrior, DensePrior, InducingPrior

__all__ = [
    "EP",
    "IVM",
    "VB",
    "ActivePrior",
    "DensePrior",
    "Draws",
    "Engine",
    "Exact",
    "Fit",
    "GaussianTerms",
    "Gibbs",
    "InducingPrior",
    "Info",
    "Laplace",
    "Latent",
    "ParallelEP",
    "SparseEP",
    "SparseVB",
]
