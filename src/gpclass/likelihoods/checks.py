"""Numerical checks of what a likelihood declares."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from ..numerics.differences import derivative
from ..numerics.product_form import precision
from .base import CAPABILITIES, Likelihood

#: Second differences of log p up to this count as rounding.
_ROUNDING = 1e-5


def check_log_concave(likelihood: Likelihood, n_classes: int) -> None:
    """Refuse a likelihood that declares ``log_concave`` and is not: EP would give a wrong gradient for it.

    Looks at second differences of log p(y | f) along a few lines, for all labels. Quick: estimators call it in ``fit``.

    Raises
    ------
    ValueError
        Says for which label and at which latent values log p(y | f) is convex.
    """
    if not likelihood.log_concave:
        return
    found = _convex_place(likelihood, likelihood.n_latent(n_classes), 6.0)
    if found is not None:
        label, f = found
        raise ValueError(
            f"{type(likelihood).__name__} declares log_concave = True, but log p(y = {label} | f) is not concave at "
            f"f = {np.round(f, 2).tolist()}; write log_concave = False"
        )


def _convex_place(likelihood: Likelihood, C: int, reach: float) -> tuple[int, np.ndarray] | None:
    """Label and latent values (C,) where log p is convex along a line; None where it is concave along all of them."""
    lines, labels = _lines(C, reach), likelihood.labels(C)
    n_lines, n_points, _ = lines.shape
    y = np.repeat(labels, n_lines * n_points)
    f = np.tile(lines.reshape(-1, C), (len(labels), 1))
    with np.errstate(all="ignore"):  # far in the tails log p may be minus infinity
        log_prob = _of_rows(likelihood, len(y)).log_prob(y, f).reshape(len(labels), n_lines, n_points)
        bend = np.diff(log_prob, 2, axis=2)
    bend = np.where(np.isfinite(bend), bend, -np.inf)
    label, line, point = np.unravel_index(np.argmax(bend), bend.shape)
    if bend[label, line, point] <= _ROUNDING:
        return None
    return int(labels[label]), lines[line, point + 1]


@cache
def _lines(C: int, reach: float) -> np.ndarray:
    """Equally spaced points (lines, points, C): for C > 1 along the first latent function and random directions."""
    if C == 1:
        return np.linspace(-reach, reach, int(4 * reach) + 1)[None, :, None]
    t = np.linspace(-reach, reach, int(2 * reach) + 1)[:, None]
    offset, direction = np.random.default_rng(0).normal(size=(2, 2, C))
    direction /= np.max(np.abs(direction), axis=1, keepdims=True)
    return np.stack([t * np.eye(C)[0], *(o + t * d for o, d in zip(offset, direction, strict=True))])


def check_likelihood(likelihood: Likelihood, n_classes: int) -> None:
    """Compare every method of a likelihood with finite differences, and its declarations with its methods.

    For likelihoods that change with f on a scale of about 1. Takes a fraction of a second for a few classes.

    Raises
    ------
    ValueError
        Says what is wrong.

    Examples
    --------
    >>> from gpclass.likelihoods import Probit, check_likelihood
    >>> check_likelihood(Probit(), n_classes=2)
    """
    C = likelihood.n_latent(n_classes)
    labels = likelihood.labels(C)
    rng = np.random.default_rng(0)
    y = np.tile(labels, -(-12 // len(labels)))
    f = 1.5 * rng.normal(size=(len(y), C))
    var = rng.gamma(2.0, 0.4, size=f.shape)
    check = _Check(_of_rows(likelihood, len(y)), y, f, var)
    check.declarations()
    check_log_concave(likelihood, n_classes)
    if not likelihood.log_concave and _convex_place(likelihood, C, 40.0) is None:
        check.fail("log_concave is False, but log p(y | f) is concave wherever it was computed; write True")
    if type(likelihood).tilted is not Likelihood.tilted:
        check.tilted()
    for name in sorted(likelihood.supports):
        getattr(check, name)()


def _of_rows(likelihood: Likelihood, n: int) -> Likelihood:
    """The likelihood of n rows; one that holds values for each training row takes those of its first row."""
    return likelihood.subset(np.zeros(n, int))


class _Check:
    """The checks of one likelihood at rows y (n,), f (n, C), var (n, C); one method for each that it may support."""

    def __init__(self, likelihood: Likelihood, y: np.ndarray, f: np.ndarray, var: np.ndarray) -> None:
        self.likelihood, self.y, self.f, self.var = likelihood, y, f, var
        self.rng = np.random.default_rng(1)

    def fail(self, what: str) -> None:
        raise ValueError(f"{type(self.likelihood).__name__}: {what}")

    def agree(self, what: str, actual: Any, expected: Any, tol: float) -> None:
        actual, expected = np.asarray(actual), np.asarray(expected)
        if actual.shape != expected.shape:
            self.fail(f"{what} should have shape {expected.shape}, got {actual.shape}")
        error = np.max(np.abs(actual - expected), initial=0.0) / max(np.max(np.abs(expected), initial=0.0), 1e-3)
        if not error < tol:
            self.fail(f"{what} has a relative error of {error:.1e}, expected below {tol:g}")

    def by_column(self, function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float = 1e-3) -> np.ndarray:
        """Derivatives of a function of each row by itself in the columns of x, which come last."""

        def moved(e: np.ndarray, t: float) -> np.ndarray:
            return function(x + t * e)

        return np.stack([derivative(partial(moved, e), step=step) for e in np.eye(x.shape[1])], axis=-1)

    def declarations(self) -> None:
        likelihood, y, f, var = self.likelihood, self.y, self.f, self.var
        unknown = sorted(set(likelihood.supports) - CAPABILITIES)
        if unknown:
            self.fail(f"supports names {unknown}, expected names out of {sorted(CAPABILITIES)}")
        log_prob = likelihood.log_prob(y, f)
        if log_prob.shape != y.shape or not np.all(np.isfinite(log_prob)):
            self.fail(f"log_prob should give finite numbers of shape {y.shape}, got {log_prob!r}")
        cov = var[:, :, None] * np.eye(f.shape[1])
        for name in sorted(CAPABILITIES - {"tilted_gradient"}):  # which always works
            try:
                getattr(likelihood, name)(*((y, f, cov) if name == "site" else (y, f)))
            except NotImplementedError:
                if name in likelihood.supports:
                    self.fail(f"supports names {name!r}, but the method is not implemented")
            else:
                if name not in likelihood.supports:
                    self.fail(f"{name} is implemented; name it in supports, or raise NotImplementedError")

    def tilted(self) -> None:
        likelihood, y, mean, var = self.likelihood, self.y, self.f, self.var
        log_z, first, second = likelihood.tilted(y, mean, var)
        # Quadrature over several latent functions is coarse.
        tol = {1: 1e-5, 2: 1e-4, 3: 1e-3}.get(mean.shape[1], 5e-2)
        self.agree("log Z of tilted", log_z, likelihood.tilted_by_quadrature(y, mean, var)[0], tol)
        slopes = self.by_column(lambda m: likelihood.tilted(y, m, var)[0], mean)
        self.agree("the gradient of tilted", first, slopes, tol)
        # The heat equation: dlogZ/dv = (second + first^2) / 2.
        by_variance = self.by_column(lambda v: likelihood.tilted(y, mean, v)[0], var)
        self.agree("the second derivative of tilted", 0.5 * (second + first**2), by_variance, tol)

    def tilted_gradient(self) -> None:
        args = self.y, self.f, self.var
        expected = Likelihood.tilted_gradient(self.likelihood, *args)
        self.agree("tilted_gradient", self.likelihood.tilted_gradient(*args), expected, 1e-7)

    def derivatives(self) -> None:
        likelihood, y, f = self.likelihood, self.y, self.f
        log_prob, gradient, hessian = likelihood.derivatives(y, f)
        self.agree("log p of derivatives", log_prob, likelihood.log_prob(y, f), 1e-8)
        self.agree("the gradient of derivatives", gradient, self._gradient(f), 1e-7)
        slopes = self.by_column(lambda x: likelihood.derivatives(y, x)[1], f)
        self.agree("the Hessian of derivatives", hessian, slopes, 1e-7)

    def curvature(self) -> None:
        likelihood, y, f = self.likelihood, self.y, self.f
        d, pullback = likelihood.curvature(y, f)
        if not np.all(d > 0.0):
            self.fail("curvature should be positive")
        if likelihood.log_concave:
            diagonal = d if f.shape[1] == 1 else d - d**2 / d.sum(axis=1, keepdims=True)
            bend = np.einsum("ncc->nc", self.by_column(lambda x: self._gradient(x, 1e-2), f, 1e-2))
            self.agree("the diagonal of curvature", diagonal, -bend, 1e-4)
        cotangent = self.rng.normal(size=f.shape)
        slopes = self.by_column(lambda x: (cotangent * np.log(likelihood.curvature(y, x)[0])).sum(axis=1), f)
        self.agree("the pullback of curvature", pullback(cotangent), slopes, 1e-6)

    def augment(self) -> None:
        likelihood, y, f = self.likelihood, self.y, self.f
        noise = likelihood.auxiliary_noise(len(y))[:, None]
        # The auxiliary is f + bias + noise given y, with mean f + bias + noise * d log p / df.
        bias = likelihood.augment(y, f) - f - noise * self._gradient(f)
        self.agree("augment less its value from the gradient", bias, np.full(f.shape, bias.mean()), 1e-6)

    def site(self) -> None:
        likelihood, y, mean = self.likelihood, self.y, self.f
        n, C = mean.shape
        root = self.rng.normal(size=(n, C, C))
        cov = 0.3 * root @ np.swapaxes(root, 1, 2) + 0.3 * np.eye(C)
        log_z, d, location = likelihood.site(y, mean, cov)
        self.agree("log Z of site", log_z, likelihood.tilted_by_quadrature(y, mean, cov)[0], 5e-2)
        T = precision(d)
        pull = location - np.einsum("nij,nj->ni", T, mean)
        gradient = np.linalg.solve(np.eye(C) + T @ cov, pull[:, :, None])[:, :, 0]
        slopes = self.by_column(lambda m: likelihood.site(y, m, cov)[0], mean)
        self.agree("the gradient of log Z by site", gradient, slopes, 1e-3)

    def noise_slopes(self) -> None:
        likelihood, y, f = self.likelihood, self.y, self.f
        found = likelihood.noise_slopes(y, f)
        noise = float(likelihood.params["label_noise"])

        def slope(function: Callable[[Likelihood], np.ndarray]) -> Any:
            return derivative(lambda t: function(likelihood.with_params(label_noise=t)), noise, step=1e-3 * noise)

        self.agree("d log p / d label_noise", found[0], slope(lambda moved: moved.log_prob(y, f)), 1e-6)
        self.agree("d gradient / d label_noise", found[1], slope(lambda moved: moved.derivatives(y, f)[1]), 1e-6)
        by_log_d = slope(lambda moved: np.log(moved.curvature(y, f)[0]))
        self.agree("d log curvature / d label_noise", np.broadcast_to(found[2], f.shape), by_log_d, 1e-6)

    def _gradient(self, f: np.ndarray, step: float = 1e-3) -> np.ndarray:
        return self.by_column(lambda x: self.likelihood.log_prob(self.y, x), f, step)
