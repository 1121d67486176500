"""Normal distribution functions and the arc sine, in double precision, from operators that ONNX Runtime has."""

import numpy as np

from ...numerics.compiled import INV_SQRT_2PI, mills_coefficients
from . import namespace as xp
from .graph import RecordedArray, elementwise

_MILLS = mills_coefficients()
#: Beyond so many standard deviations phi and Phi are 0 in double precision; squares of larger numbers could overflow.
_FARTHEST = 1e100


def mills(a: RecordedArray) -> RecordedArray:
    """exp(a^2 / 2) Phi(-a) for a >= 0, as ``numerics.compiled.mills``, by Horner's scheme."""
    t = (a - 5.3) / (a + 5.3)
    total = _MILLS[-1] * t + _MILLS[-2]
    for coefficient in _MILLS[-3::-1]:
        total = total * t + coefficient
    return total / (1.0 + a)


def normal_cdf(x: RecordedArray) -> RecordedArray:
    """Phi(x)"""
    a = xp.minimum(xp.abs(x), _FARTHEST)
    tail = xp.exp(-0.5 * (a * a)) * mills(a)
    return xp.where(x > 0.0, 1.0 - tail, tail)


def log_normal_cdf(x: RecordedArray) -> RecordedArray:
    """log Phi(x), to 1e-15 relative left of 0 and absolute right of it."""
    a = xp.minimum(xp.abs(x), _FARTHEST)
    half, m = 0.5 * (a * a), mills(a)
    return xp.where(x > 0.0, xp.log(1.0 - xp.exp(-half) * m), xp.log(m) - half)


def hazard(x: RecordedArray) -> RecordedArray:
    """phi(x) / Phi(x)"""
    a = xp.minimum(xp.abs(x), _FARTHEST)
    phi, m = xp.exp(-0.5 * (a * a)), mills(a)
    return INV_SQRT_2PI * xp.where(x > 0.0, phi / (1.0 - phi * m), 1.0 / m)


def arc_sine(x: RecordedArray) -> RecordedArray:
    """asin(x) for |x| <= 1: in single precision, and one step of Newton's method.

    Near 1, where the sine is flat, asin(x) = pi / 2 - 2 asin(((1 - x) / 2)^1/2).
    """
    size = xp.minimum(xp.abs(x), 1.0)
    near_one = size > 0.5
    sine = xp.where(near_one, xp.sqrt(0.5 * (1.0 - size)), size)
    rough = _rough_arc_sine(xp.astype(sine, np.float32))
    angle = xp.astype(rough, np.float64)
    angle = angle - (xp.sin(angle) - sine) / xp.cos(angle)
    angle = xp.where(near_one, 0.5 * np.pi - 2.0 * angle, angle)
    return xp.where(x < 0.0, -angle, angle)


_rough_arc_sine = elementwise("Asin", np.arcsin)
