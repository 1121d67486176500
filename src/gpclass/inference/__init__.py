"""Engines: from a prior covariance and observations to a Gaussian posterior."""

from .active.ivm import IVM
from .base import Engine, Fit, GaussianTerms, Info
from .dense.ep import EP
from .dense.exact import Exact
from .dense.gibbs import Gibbs
from .dense.laplace import Laplace
from .dense.vb import VB
from .inducing.sparse_ep import SparseEP
from .inducing.sparse_vb import SparseVB

__all__ = [
    "EP",
    "IVM",
    "VB",
    "Engine",
    "Exact",
    "Fit",
    "GaussianTerms",
    "Gibbs",
    "Info",
    "Laplace",
    "SparseEP",
    "SparseVB",
]
