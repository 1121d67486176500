"""Prior distributions of parameters: for MAP estimates instead of plain maximum evidence, and for sampling.

A prior is a density of theta, the unconstrained value (``Normal``, ``StudentT``), or of the positive parameter itself
(``LogNormal``, ``Gamma``, ``Exponential``, ``HalfCauchy``, ``ExponentialGamma``, ``Dirichlet``). A mode depends on
which: a MAP estimate is the mode of the density *as the prior is written*, so that an ``Exponential`` prior on a
variance is the L1 penalty of LPJ05. Sampling has no such choice: a density of x = exp(theta) becomes one of theta by
the factor x.

Wherever a prior is asked for, a dictionary gives different priors to different parameters by name:

>>> from gpclass.hyper.priors import Gamma, Normal, Relevance
>>> wb98 = {"length_scale": Relevance(Normal(-3, 3)), "variance": Normal(-3, 3)}

``"length_scale"`` means every parameter of that name in the kernel; with several kernels, ``"rbf.length_scale"`` and
``"rbf.length_scale[0]"`` are more exact, and win (``hyper_.theta_names`` of a fitted estimator, or ``kernel.params``,
show the names). ``"likelihood.variance"`` is the likelihood's. Parameters without a prior in the dictionary keep the
weak default: ``Normal()``, and for the weights of a ``WeightedSum`` ``Dirichlet(1.2)``; None stands for no prior at
all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaincinv, gammaln, logsumexp

from ..numerics.parameters import ThetaEntry


class Terms(NamedTuple):
    """Log densities of the entries of theta, and the slope of each in its own entry."""

    value: np.ndarray
    slope: np.ndarray


@dataclass(frozen=True)
class Prior:
    """Base of all priors: independent distributions on the entries of theta."""

    #: whether the density is one of the positive parameter, exp(theta), and not of theta
    natural: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            self._check(name, value)

    def _check(self, name: str, value: Any) -> None:
        """A mean may be any number, or None; all other settings are positive."""
        if name == "mean":
            if value is not None and not (isinstance(value, Real) and np.isfinite(float(value))):
                raise ValueError(f"{type(self).__name__}: {name} must be a finite number, got {value!r}")
            return
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            array = np.array(np.nan)
        if not (np.all(np.isfinite(array)) and np.all(array > 0)):
            raise ValueError(f"{type(self).__name__}: {name} must be positive and finite, got {value!r}")

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        """The density as written; ``start`` holds the values that learning starts from."""
        raise NotImplementedError

    def log_measure(self, theta: np.ndarray) -> Terms:
        """log |dx / dtheta|: added to log_density it gives the density of theta."""
        if not self.natural:
            return Terms(np.zeros_like(theta), np.zeros_like(theta))
        return Terms(theta, np.ones_like(theta))


@dataclass(frozen=True)
class Normal(Prior):
    """Normal distributions on theta.

    ``mean`` is None for a prior centred on the starting values, or a number for all entries (WB98 use -3 with sd 3).
    """

    mean: float | None = None
    sd: float = 3.0

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        z = (theta - (start if self.mean is None else self.mean)) / self.sd
        return Terms(-0.5 * z**2 - np.log(self.sd) - 0.5 * np.log(2.0 * np.pi), -z / self.sd)


@dataclass(frozen=True)
class StudentT(Prior):
    """Student's t on theta: as ``Normal``, with heavier tails."""

    df: float = 4.0
    mean: float | None = None
    scale: float = 1.0

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        z = (theta - (start if self.mean is None else self.mean)) / self.scale
        constant = gammaln(0.5 * (self.df + 1.0)) - gammaln(0.5 * self.df)
        constant -= 0.5 * np.log(self.df * np.pi) + np.log(self.scale)
        value = constant - 0.5 * (self.df + 1.0) * np.log1p(z**2 / self.df)
        return Terms(value, -(self.df + 1.0) * z / (self.df + z**2) / self.scale)


@dataclass(frozen=True)
class LogNormal(Prior):
    """log x is normal with this mean and standard deviation. The mode of x is at exp(mean - sd^2)."""

    mean: float = 0.0
    sd: float = 1.0
    natural: ClassVar[bool] = True

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        value, slope = Normal(self.mean, self.sd).log_density(theta, start)
        return Terms(value - theta, slope - 1.0)


@dataclass(frozen=True)
class Gamma(Prior):
    """x has a Gamma distribution with this shape and rate (mean shape / rate)."""

    shape: float = 2.0
    rate: float = 1.0
    natural: ClassVar[bool] = True

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        x = np.exp(theta)
        constant = self.shape * np.log(self.rate) - gammaln(self.shape)
        return Terms(constant + (self.shape - 1.0) * theta - self.rate * x, self.shape - 1.0 - self.rate * x)


@dataclass(frozen=True)
class Exponential(Prior):
    """x has an exponential distribution: an L1 penalty ``rate * x``, as LPJ05 put on process variances."""

    rate: float = 1.0
    natural: ClassVar[bool] = True

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        return Gamma(1.0, self.rate).log_density(theta, start)


@dataclass(frozen=True)
class HalfCauchy(Prior):
    """x is the absolute value of a Cauchy variable with this scale: most of it below, and a long tail."""

    scale: float = 1.0
    natural: ClassVar[bool] = True

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        squared = np.exp(2.0 * (theta - np.log(self.scale)))
        value = np.log(2.0 / (np.pi * self.scale)) - np.log1p(squared)
        return Terms(value, -2.0 * squared / (1.0 + squared))


@dataclass(frozen=True)
class ExponentialGamma(Prior):
    """The hierarchy of GR06: x ~ Exp(psi) with psi ~ Gamma(shape, rate), psi integrated out.

    p(x) = shape rate^shape / (rate + x)^(shape + 1). With small shape and rate it is vague over many orders of
    magnitude above ``rate``.
    """

    shape: float = 1e-3
    rate: float = 1e-3
    natural: ClassVar[bool] = True

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        total = np.logaddexp(np.log(self.rate), theta)
        constant = np.log(self.shape) + self.shape * np.log(self.rate)
        return Terms(constant - (self.shape + 1.0) * total, -(self.shape + 1.0) * np.exp(theta - total))


@dataclass(frozen=True)
class Dirichlet(Prior):
    """The shares x_j / sum(x) of several positive parameters are Dirichlet distributed, whatever their sum.

    ``concentration`` is one number, one for each parameter, or a ``Gamma`` prior for one number, which is integrated
    out: G06's hierarchy for the weights of views. The logarithm of the sum is ``total``, a weak normal about where
    learning starts. The density as written is one of the shares and of that logarithm.
    """

    concentration: float | Sequence[float] | Gamma = 1.0
    total: Normal = field(default_factory=Normal)
    natural: ClassVar[bool] = True

    def _check(self, name: str, value: Any) -> None:
        if name == "total":
            if not isinstance(value, Normal):
                raise TypeError(f"Dirichlet: total must be a Normal prior of the logarithm of the sum, got {value!r}")
        elif not isinstance(value, Gamma):
            super()._check(name, value)

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        if theta.size < 2:
            raise ValueError("Dirichlet: expected several parameters to share out, got one")
        log_total, shares = _log_sum(theta)
        log_shares = theta - log_total
        concentrations, log_chances = self._concentrations(theta.size)
        # One row for each value that the concentrations may have.
        log_norm = gammaln(concentrations.sum(axis=1)) - gammaln(concentrations).sum(axis=1)
        densities = log_chances + log_norm + (concentrations - 1.0) @ log_shares
        value = logsumexp(densities)
        mean = np.exp(densities - value) @ concentrations
        # d log share_i / d theta_j = [i = j] - share_j
        slope = (mean - 1.0) - shares * np.sum(mean - 1.0)
        total = self.total.log_density(np.array([log_total]), np.array([_log_sum(start)[0]]))
        return Terms(np.array([value + total.value[0]]), slope + shares * total.slope[0])

    def log_measure(self, theta: np.ndarray) -> Terms:
        # |d (J - 1 of the shares, log sum) / d theta| is the product of the shares.
        log_total, shares = _log_sum(theta)
        return Terms(np.array([np.sum(theta - log_total)]), 1.0 - theta.size * shares)

    def _concentrations(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Values (q, size) that the concentrations may have, and the logarithms (q,) of their probabilities."""
        if not isinstance(self.concentration, Gamma):
            a = np.asarray(self.concentration, dtype=float)
            if a.ndim and a.shape != (size,):
                raise ValueError(f"Dirichlet: {a.size} concentrations for {size} parameters")
            return np.broadcast_to(a, (1, size)), np.zeros(1)
        # The middle of 60 parts of equal probability.
        values = gammaincinv(self.concentration.shape, (np.arange(60) + 0.5) / 60.0) / self.concentration.rate
        return np.tile(np.maximum(values, 1e-6)[:, None], size), np.full(60, -np.log(60.0))


def _log_sum(theta: np.ndarray) -> tuple[float, np.ndarray]:
    """log sum_j exp(theta_j), and the shares of the terms."""
    log_total = float(logsumexp(theta))
    return log_total, np.exp(theta - log_total)


@dataclass(frozen=True)
class Relevance(Prior):
    """A prior on the relevance w = 1 / l^2 of an input, for the length-scale l: the w of WB98's equation 4."""

    prior: Prior

    def _check(self, name: str, value: Any) -> None:
        if not isinstance(value, Prior):
            raise TypeError(f"Relevance: expected a prior for the relevance, got {value!r}")

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        value, slope = self.prior.log_density(-2.0 * theta, -2.0 * start)
        return Terms(value, -2.0 * slope)

    def log_measure(self, theta: np.ndarray) -> Terms:
        value, slope = self.prior.log_measure(-2.0 * theta)
        return Terms(value + np.log(2.0), -2.0 * slope)


PriorLike = Prior | Mapping[str, Prior | None] | None

#: How the names of the likelihood's parameters begin.
LIKELIHOOD = "likelihood."


class LogPrior(NamedTuple):
    """Priors laid over the entries of one theta."""

    parts: tuple[tuple[Prior, np.ndarray], ...]
    start: np.ndarray

    def __call__(self, theta: np.ndarray, of_theta: bool = False) -> tuple[float, np.ndarray]:
        """Log density and gradient: as the priors are written, or (``of_theta``) as one density of theta."""
        value, gradient = 0.0, np.zeros_like(theta)
        for prior, where in self.parts:
            terms = [prior.log_density(theta[where], self.start[where])]
            if of_theta:
                terms.append(prior.log_measure(theta[where]))
            for term in terms:
                value += float(term.value.sum())
                gradient[where] += term.slope
        return value, gradient


def lay_over(prior: PriorLike, entries: Sequence[ThetaEntry], start: np.ndarray, known: Sequence[str]) -> LogPrior:
    """Give every entry of theta its prior (``known`` as for ``by_name``)."""
    if prior is None or isinstance(prior, Prior):
        chosen: list[Prior | None] = _weak(entries) if prior == Normal() else [prior] * len(entries)
    elif isinstance(prior, Mapping):
        for key, given in prior.items():
            if not (given is None or isinstance(given, Prior)):
                raise TypeError(f"the prior for {key!r} must be a Prior or None, got {given!r}")
        weak = _weak(entries)
        chosen = by_name(prior, entries, known, weak, "a prior")
        for j, default in enumerate(weak):  # a Dirichlet needs more than one weight
            if isinstance(default, Dirichlet) and sum(p is default for p in chosen) == 1 and chosen[j] is default:
                chosen[j] = Normal()
    else:
        raise TypeError(f"prior must be a Prior, a dictionary of name to Prior, or None; got {prior!r}")
    # A Dirichlet is for the entries of one parameter, even if it was given for several.
    groups: dict[tuple[int, str], list[int]] = {}
    for j, (entry, each) in enumerate(zip(entries, chosen, strict=True)):
        if each is not None:
            groups.setdefault((id(each), entry.parameter if isinstance(each, Dirichlet) else ""), []).append(j)
    parts = []
    for where in groups.values():
        own = chosen[where[0]]
        assert own is not None
        inner = own.prior if isinstance(own, Relevance) else own
        for j in where:
            if not entries[j].positive and (inner.natural or isinstance(own, Relevance)):
                raise ValueError(
                    f"{type(own).__name__} is a prior for positive parameters, but {entries[j].name!r} can have either "
                    "sign; use Normal or StudentT"
                )
        parts.append((own, np.array(where)))
    return LogPrior(tuple(parts), np.asarray(start, dtype=float))


def _weak(entries: Sequence[ThetaEntry]) -> list[Prior | None]:
    """The default priors of parameters that were given none."""
    weights = [entry.parameter for entry in entries if entry.role == "weights"]
    # The weights of one kernel share one Dirichlet, if there are several. With a concentration of 1 the most probable
    # share of every view that is of no use is 0; a little above 1 it is the smaller the more the data are against it.
    shared = {owner: Dirichlet(1.2) for owner in weights if weights.count(owner) > 1}
    weak = Normal()
    return [shared.get(entry.parameter, weak) for entry in entries]


def by_name(
    given: Mapping[str, Any], entries: Sequence[ThetaEntry], known: Sequence[str], other: Sequence[Any], what: str
) -> list[Any]:
    """Settings given by name, one for each entry of theta; those of ``other`` where none was given.

    ``known`` are the names of all parameters, fixed ones too.
    """
    chosen = list(other)
    for key in given:
        if not isinstance(key, str):
            raise TypeError(f"expected {what} for a parameter's name, got one for {key!r}")
    # The longer a name, the more exact it is: it is applied later.
    for key in sorted(given, key=len):
        where = _matches(key, entries)
        if not where:
            fixed = [name for name in known if _ends_with(name, key)]
            if fixed:
                raise ValueError(f"there is {what} for {fixed[0]!r}, which is fixed; drop it or free the parameter")
            near = get_close_matches(key, [entry.role for entry in entries], 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(
                f"there is {what} for {key!r}, but no such parameter{hint}; free parameters are "
                f"{[entry.name for entry in entries]}"
            )
        for j in where:
            chosen[j] = given[key]
    return chosen


def _matches(key: str, entries: Sequence[ThetaEntry]) -> list[int]:
    """The entries that a key means; the likelihood's only if it begins with "likelihood." or the kernel has none."""
    found = [
        j
        for j, entry in enumerate(entries)
        if key == entry.role or _ends_with(entry.name, key) or _ends_with(entry.parameter, key)
    ]
    if key.startswith(LIKELIHOOD):
        return found
    return [j for j in found if not entries[j].parameter.startswith(LIKELIHOOD)] or found


def _ends_with(name: str, key: str) -> bool:
    """Whether a dotted name is the key, or ends with it after a dot."""
    return f".{name}".endswith(f".{key}")
