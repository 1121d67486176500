"""Prior beliefs about parameters: for MAP estimates instead of plain maximum evidence, and for sampling.

A prior speaks either of theta, the unconstrained value (``Normal``, ``StudentT``), or of the positive parameter itself
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

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaincinv, gammaln, logsumexp


class Terms(NamedTuple):
    """Log densities of the entries of theta, and the slope of each in its own entry."""

    value: np.ndarray
    slope: np.ndarray


@dataclass(frozen=True)
class Prior:
    """Base of all priors: independent distributions on the entries of theta."""

    #: whether the density is one of the positive parameter, exp(theta), and not of theta
    natural: ClassVar[bool] = False

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        """The density as written; ``start`` holds the values that learning starts from."""
        raise NotImplementedError

    def log_measure(self, theta: np.ndarray) -> Terms:
        """log |dx / dtheta|: added to log_density it gives the density of theta."""
        if not self.natural:
            return Terms(np.zeros_like(theta), np.zeros_like(theta))
        return Terms(theta, np.ones_like(theta))


def _check_real(prior: Prior, **settings: Any) -> None:
    for name, value in settings.items():
        if value is not None and not (isinstance(value, Real) and np.isfinite(float(value))):
            raise ValueError(f"{type(prior).__name__}: {name} must be a finite number, got {value!r}")


def _check_positive(prior: Prior, **settings: Any) -> None:
    for name, value in settings.items():
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            array = np.array(np.nan)
        if not (np.all(np.isfinite(array)) and np.all(array > 0)):
            raise ValueError(f"{type(prior).__name__}: {name} must be positive and finite, got {value!r}")


@dataclass(frozen=True)
class Normal(Prior):
    """Normal distributions on theta.

    ``mean`` is None for a prior centred on the starting values, or a number for all entries (WB98 use -3 with sd 3).
    """

    mean: float | None = None
    sd: float = 3.0

    def __post_init__(self) -> None:
        _check_positive(self, sd=self.sd)
        _check_real(self, mean=self.mean)

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        z = (theta - (start if self.mean is None else self.mean)) / self.sd
        return Terms(-0.5 * z**2 - np.log(self.sd) - 0.5 * np.log(2.0 * np.pi), -z / self.sd)


@dataclass(frozen=True)
class StudentT(Prior):
    """Student's t on theta: as ``Normal``, with room for lapses."""

    df: float = 4.0
    mean: float | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_positive(self, df=self.df, scale=self.scale)
        _check_real(self, mean=self.mean)

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

    def __post_init__(self) -> None:
        _check_positive(self, sd=self.sd)
        _check_real(self, mean=self.mean)

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        value, slope = Normal(self.mean, self.sd).log_density(theta, start)
        return Terms(value - theta, slope - 1.0)


@dataclass(frozen=True)
class Gamma(Prior):
    """x has a Gamma distribution with this shape and rate (mean shape / rate)."""

    shape: float = 2.0
    rate: float = 1.0
    natural: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_positive(self, shape=self.shape, rate=self.rate)

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        x = np.exp(theta)
        constant = self.shape * np.log(self.rate) - gammaln(self.shape)
        return Terms(constant + (self.shape - 1.0) * theta - self.rate * x, self.shape - 1.0 - self.rate * x)


@dataclass(frozen=True)
class Exponential(Prior):
    """x has an exponential distribution: an L1 penalty ``rate * x``, as LPJ05 put on process variances."""

    rate: float = 1.0
    natural: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_positive(self, rate=self.rate)

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        return Gamma(1.0, self.rate).log_density(theta, start)


@dataclass(frozen=True)
class HalfCauchy(Prior):
    """x is the absolute value of a Cauchy variable with this scale: most of it below, and a long tail."""

    scale: float = 1.0
    natural: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_positive(self, scale=self.scale)

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

    def __post_init__(self) -> None:
        _check_positive(self, shape=self.shape, rate=self.rate)

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

    def __post_init__(self) -> None:
        if not isinstance(self.concentration, Gamma):
            _check_positive(self, concentration=self.concentration)
        if not isinstance(self.total, Normal):
            raise TypeError(f"Dirichlet: total must be a Normal prior of the logarithm of the sum, got {self.total!r}")

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

    def __post_init__(self) -> None:
        if not isinstance(self.prior, Prior):
            raise TypeError(f"Relevance: expected a prior for the relevance, got {self.prior!r}")

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> Terms:
        value, slope = self.prior.log_density(-2.0 * theta, -2.0 * start)
        return Terms(value, -2.0 * slope)

    def log_measure(self, theta: np.ndarray) -> Terms:
        value, slope = self.prior.log_measure(-2.0 * theta)
        return Terms(value + np.log(2.0), -2.0 * slope)


PriorLike = Prior | Mapping[str, Prior | None] | None


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


def lay_over(
    prior: PriorLike,
    names: Sequence[str],
    positive: Sequence[bool] | np.ndarray,
    start: np.ndarray,
    known: Sequence[str],
) -> LogPrior:
    """Give every entry of theta its prior (names as for ``by_name``)."""
    if prior is None or isinstance(prior, Prior):
        chosen: list[Prior | None] = [prior] * len(names)
        if prior == Normal():
            chosen = _weak(names)
    elif isinstance(prior, Mapping):
        for key, given in prior.items():
            if not (given is None or isinstance(given, Prior)):
                raise TypeError(f"the prior for {key!r} must be a Prior or None, got {given!r}")
        weak = _weak(names)
        chosen = by_name(prior, names, known, weak, "a prior")
        for j, mine in enumerate(weak):  # of one weight alone there is nothing to share out
            if isinstance(mine, Dirichlet) and sum(p is mine for p in chosen) == 1 and chosen[j] is mine:
                chosen[j] = Normal()
    else:
        raise TypeError(f"prior must be a Prior, a dictionary of name to Prior, or None; got {prior!r}")
    parts = []
    # A Dirichlet is one for the entries of one parameter, whatever it was given for.
    groups = [(id(p), names[j].split("[")[0] if isinstance(p, Dirichlet) else "") for j, p in enumerate(chosen)]
    for distinct in dict.fromkeys(group for group, p in zip(groups, chosen, strict=True) if p is not None):
        where = np.array([j for j, group in enumerate(groups) if group == distinct])
        mine = chosen[where[0]]
        assert mine is not None
        inner = mine.prior if isinstance(mine, Relevance) else mine
        for j in where:
            if not positive[j] and (inner.natural or isinstance(mine, Relevance)):
                raise ValueError(
                    f"{type(mine).__name__} is a prior for positive parameters, but {names[j]!r} can have either sign; "
                    "use Normal or StudentT"
                )
        parts.append((mine, where))
    return LogPrior(tuple(parts), np.asarray(start, dtype=float))


def _weak(names: Sequence[str]) -> list[Prior | None]:
    """What is believed of parameters that nobody gave a prior: little."""
    owners = [name.split("[")[0] for name in names]
    # The weights of one kernel share one Dirichlet; of one weight alone there is nothing to share out.
    several = {owner for owner in owners if owner.split(".")[-1] == "weights" and owners.count(owner) > 1}
    # With a concentration of 1 the most probable share of every view that is of no use is 0; a little above it is the
    # smaller the more the data are against it.
    shared = {owner: Dirichlet(1.2) for owner in several}
    weak = Normal()
    return [shared.get(owner, weak) for owner in owners]


def by_name(
    given: Mapping[str, Any], names: Sequence[str], known: Sequence[str], other: Sequence[Any], what: str
) -> list[Any]:
    """Settings given by name, one for each entry of theta; those of ``other`` where none was given.

    ``names`` are those of the entries of theta, ``known`` those of all parameters, fixed ones too.
    """
    chosen = list(other)
    for key in given:
        if not isinstance(key, str):
            raise TypeError(f"expected {what} for a parameter's name, got one for {key!r}")
    # The longer a name, the more exact: it is laid on later.
    for key in sorted(given, key=len):
        where = _meant(key, names)
        if not where:
            fixed = _meant(key, known)
            if fixed:
                raise ValueError(
                    f"there is {what} for {known[fixed[0]]!r}, which is fixed; drop it or free the parameter"
                )
            near = get_close_matches(key, [name.split(".")[-1] for name in names], 1)
            hint = f" (did you mean {near[0].split('[')[0]!r}?)" if near else ""
            raise ValueError(
                f"there is {what} for {key!r}, but no such parameter{hint}; free parameters are {list(names)}"
            )
        for j in where:
            chosen[j] = given[key]
    return chosen


def _meant(key: str, names: Sequence[str]) -> list[int]:
    """Places of the names that a key speaks of: the kernel's before the likelihood's, unless it says "likelihood."."""
    places = [j for j, name in enumerate(names) if _means(key, name)]
    own = [j for j in places if not names[j].startswith("likelihood.")]
    return own if own and not key.startswith("likelihood.") else places


def _means(key: str, name: str) -> bool:
    """Whether a key of a dictionary of priors speaks of the parameter with this full name."""
    bare = re.sub(r"\[\d+\]$", "", name)
    return any(known == key or known.endswith(f".{key}") for known in (name, bare))
