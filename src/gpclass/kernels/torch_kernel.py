"""Kernels of features that a torch module computes; autograd gives their pullback."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from ..numerics.arrays import Array, is_numpy, namespace, to_host
from ..numerics.parameters import REAL
from .base import Kernel, Pullback, Wrapper
from .columns import Columns
from .rows import features


def _torch() -> Any:
    try:
        return import_module("torch")
    except ImportError as error:
        raise ImportError("TorchKernel needs torch: pip install 'gpclass[gpu]'") from error


@dataclass(frozen=True, eq=False, repr=False)
class TorchKernel(Wrapper):
    """k(x, z) = kernel(module(x), module(z)) for a ``torch.nn.Module`` that maps rows (n, d) to features (n, q).

    The parameters of the module are a parameter of the kernel, ``module_weights``, in the order of
    ``module.parameters()``: they are learned by the evidence with all others, by gradients that autograd computes. The
    module is copied, runs in double precision and in evaluation mode, and is computed where the rows are, on the host
    or on a device of torch.

    Parameters
    ----------
    kernel : RBF, Matern or RationalQuadratic, times a number or added to another
        The kernel on the features.
    module : torch.nn.Module
    module_weights : (p,) or None
        Values of the parameters; None takes those of the module.

    Notes
    -----
    A network has many parameters, and the evidence of a few hundred rows is easily fitted too well: compare held-out
    rows, or give ``module_weights`` a prior, ``Evidence(prior={"module_weights": Normal(sd=0.1)})``. A model with a
    module is kept with pickle; ``gpclass.save`` stores no code.
    """

    module: Any = None
    module_weights: Any = None
    domains: ClassVar = {"module_weights": REAL}

    def __post_init__(self) -> None:
        torch = _torch()
        if not isinstance(self.module, torch.nn.Module):
            raise TypeError(f"TorchKernel expects a torch.nn.Module, got {type(self.module).__name__}")
        if self.module_weights is None:
            own = [to_host(part).ravel() for part in self.module.parameters()]
            if not own:
                raise ValueError("TorchKernel expects a module with parameters, got one without")
            object.__setattr__(self, "module_weights", np.concatenate(own).astype(float))
            object.__setattr__(self, "module", copy.deepcopy(self.module).double().eval())
        super().__post_init__()
        size = sum(part.numel() for part in self.module.parameters())
        if np.shape(self.module_weights) != (size,):
            raise ValueError(
                f"TorchKernel: expected {size} weights, got an array of shape {np.shape(self.module_weights)}"
            )

    # ---- features -------------------------------------------------------------------------------------------

    def _parameters_at(self, place: Any, learns: bool) -> dict[str, Any]:
        """The parameters of the module by name, with these weights and on this device."""
        torch, found, start = _torch(), {}, 0
        weights = torch.tensor(np.asarray(self.module_weights), device=place)
        for name, part in self.module.named_parameters():
            found[name] = weights[start : start + part.numel()].reshape(part.shape).requires_grad_(learns)
            start += part.numel()
        return found

    def _computed(self, X: Any, parameters: dict[str, Any] | None = None) -> Any:
        """The features of rows as a tensor, with its graph where parameters are given."""
        torch = _torch()
        x = features(X)
        if not (is_numpy(x) or isinstance(x, torch.Tensor)):
            raise TypeError(f"TorchKernel expects NumPy arrays or torch tensors, got {type(x).__name__}")
        x = torch.tensor(x) if is_numpy(x) else x
        with torch.set_grad_enabled(parameters is not None):
            state = self._parameters_at(x.device, False) if parameters is None else parameters
            buffers = {name: part.to(x.device) for name, part in self.module.named_buffers()}
            found = torch.func.functional_call(self.module, {**state, **buffers}, (x,))
        if found.ndim != 2 or found.shape[0] != x.shape[0]:
            raise ValueError(
                f"TorchKernel expects a module that maps rows (n, d) to features (n, q): got {tuple(found.shape)} from "
                f"{tuple(x.shape)}"
            )
        return found

    def _features(self, X: Any) -> Array:
        """The features of rows, of the kind of the rows."""
        found = self._computed(X).detach()
        return to_host(found) if is_numpy(features(X)) else found

    # ---- the kernel -----------------------------------------------------------------------------------------

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        F, F_other = self._features(X), None if Z is None else self._features(Z)
        K, pull = self.kernel.vjp(F, F_other)

        def pullback(G: Array) -> np.ndarray:
            own = (
                {} if "module_weights" in self._fixed_names() else {"module_weights": self._slopes(X, Z, F, F_other, G)}
            )
            return self._collect(own, [pull(G)])

        return K, pullback

    def _slopes(self, X: Any, Z: Any, F: Array, F_other: Array | None, G: Array) -> np.ndarray:
        """d sum(G * K) / d weights: autograd, from the slopes in the features of each row."""
        torch = _torch()
        by_rows = self.kernel.rows_pullback(F, F_other, G)
        device = features(X).device if not is_numpy(features(X)) else "cpu"
        parameters = self._parameters_at(device, True)
        computed = [self._computed(rows, parameters) for rows in (X, Z) if rows is not None]
        slopes = [torch.as_tensor(part, device=device) for part in by_rows if part is not None]
        found = torch.autograd.grad(computed, list(parameters.values()), slopes, allow_unused=True)
        sizes = [part.numel() for part in parameters.values()]
        return np.concatenate(
            [np.zeros(n) if part is None else to_host(part).ravel() for part, n in zip(found, sizes, strict=True)]
        )

    def diag(self, X: Any) -> Array:
        return self.kernel.diag(self._features(X))

    # ---- what is about the columns of X, and not about features -------------------------------------------------

    def bind(self, X: Any, n_latent: int = 1, columns: Any = None) -> Kernel:
        Columns.of(columns).refuse_categories("TorchKernel")
        self.kernel.rows_pullback(*(np.zeros((1, self._features(X[:1]).shape[1])),) * 2, np.zeros((1, 1)))
        return replace(self, kernel=self.kernel.bind(self._features(X), n_latent))

    def with_data_driven_start(self, X: Any) -> Kernel:
        return replace(self, kernel=self.kernel.with_data_driven_start(self._features(X)))

    def relevance(self, n_features: int) -> np.ndarray:
        """Unknown: NaN for every input."""
        return np.full(n_features, np.nan)

    def observed_rows(self, X: Any) -> Array:
        xp = namespace(features(X))
        return ~xp.any(xp.isnan(features(X)), axis=1)

    def used_columns(self, n_features: int) -> np.ndarray:
        return np.ones(n_features, bool)

    def categorical_columns(self, columns: Columns, n_features: int) -> np.ndarray:
        return np.zeros(n_features, bool)

    @property
    def takes_missing(self) -> bool:
        return False

    @property
    def has_code(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return "torch"

    def __repr__(self) -> str:
        weights = f"<{len(self.module_weights)} weights, {crc32(self.module_weights.tobytes()):08x}>"
        return f"TorchKernel({self.kernel!r}, {type(self.module).__name__}, {weights})"
