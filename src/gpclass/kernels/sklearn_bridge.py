"""Kernel objects of scikit-learn, translated into ours."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk

from .base import Constant, Kernel, Product, Scaled, White
from .dot_product import Linear, Polynomial
from .stationary import RBF, Matern, RationalQuadratic


def from_sklearn(kernel: Any) -> Kernel:
    """Translate a ``sklearn.gaussian_process.kernels`` object, with its values, bounds and fixed parameters.

    Understood: ConstantKernel, WhiteKernel, RBF, Matern (nu 0.5, 1.5, 2.5, inf), RationalQuadratic, DotProduct,
    sums, products, and whole powers of DotProduct. Others raise a TypeError that names them.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, sk.Sum):
        return from_sklearn(kernel.k1) + from_sklearn(kernel.k2)
    if isinstance(kernel, sk.Product):
        return _product(kernel)
    if isinstance(kernel, sk.Exponentiation):
        return _power(kernel)
    if isinstance(kernel, sk.ConstantKernel):
        return Constant(kernel.constant_value, **_limits(kernel, constant_value="variance"))
    if isinstance(kernel, sk.WhiteKernel):
        return White(kernel.noise_level, **_limits(kernel, noise_level="variance"))
    if isinstance(kernel, sk.RBF):  # the base of Matern there
        scale = np.asarray(kernel.length_scale, dtype=float)
        scale = scale.ravel()[0] if scale.size == 1 else scale
        limits = _limits(kernel, length_scale="length_scale")
        nu = kernel.nu if isinstance(kernel, sk.Matern) else np.inf
        return RBF(scale, **limits) if np.isinf(nu) else Matern(scale, nu=float(nu), **limits)
    if isinstance(kernel, sk.RationalQuadratic):
        limits = _limits(kernel, length_scale="length_scale", alpha="alpha")
        return RationalQuadratic(kernel.length_scale, alpha=kernel.alpha, **limits)
    if isinstance(kernel, sk.DotProduct):
        bias = Constant(kernel.sigma_0**2, **_limits(kernel, square=True, sigma_0="variance"))
        return bias + Linear(1.0, fixed=True)
    if isinstance(kernel, type):
        raise TypeError(f"kernel must be an object, not a class: write {kernel.__name__}() with brackets")
    known = "ConstantKernel, WhiteKernel, RBF, Matern, RationalQuadratic, DotProduct, their sums and products"
    raise TypeError(f"expected a gpclass or scikit-learn kernel ({known}), got {kernel!r}")


def _product(kernel: Any) -> Kernel:
    """Constant factors become scalings, so that their meaning survives in the parameter names."""
    left, right = from_sklearn(kernel.k1), from_sklearn(kernel.k2)
    for factor, other in ((left, right), (right, left)):
        if isinstance(factor, Constant):
            if "variance" in other.domains:  # one amplitude is enough
                return _merged(factor, other)
            return Scaled(other, factor.variance, bounds=factor.bounds, fixed=factor.fixed)
    return Product((left, right))


def _merged(factor: Constant, other: Any) -> Kernel:
    """``other`` with its own amplitude and the factor as one: their ranges multiplied, free if either is free."""
    both = [factor.parameters["variance"], other.parameters["variance"]]
    values = [float(p.value) for p in both]
    ranges = [(value, value) if p.fixed else p.bounds for value, p in zip(values, both, strict=True)]
    fixed = all(p.fixed for p in both)
    bounds = {} if fixed else {"variance": tuple(np.prod(ranges, axis=0))}
    return replace(other, variance=np.prod(values), bounds=bounds, fixed=fixed)


def _power(kernel: Any) -> Kernel:
    whole = float(kernel.exponent).is_integer() and kernel.exponent >= 1
    if not (isinstance(kernel.kernel, sk.DotProduct) and whole):
        raise TypeError(f"of powers only DotProduct ** whole number is understood, got {kernel!r}")
    limits = _limits(kernel.kernel, square=True, sigma_0="bias_variance")
    limits["fixed"] = (*limits["fixed"], "weight_variance")
    return Polynomial(1.0, bias_variance=kernel.kernel.sigma_0**2, degree=int(kernel.exponent), **limits)


def _limits(kernel: Any, square: bool = False, **names: str) -> dict[str, Any]:
    """Bounds and fixed parameters of a scikit-learn kernel under our names."""
    bounds, fixed = {}, []
    for theirs, ours in names.items():
        limit = getattr(kernel, f"{theirs}_bounds")
        if isinstance(limit, str):  # "fixed"
            fixed.append(ours)
            continue
        pairs = np.atleast_2d(limit)
        low, high = float(pairs[:, 0].min()), float(pairs[:, 1].max())
        bounds[ours] = (low**2, high**2) if square else (low, high)
    return {"bounds": bounds, "fixed": tuple(fixed)}
