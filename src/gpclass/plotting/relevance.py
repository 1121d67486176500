"""Relevance of inputs and weights of views, with their uncertainty."""

from typing import Any, Self

import numpy as np

from ._canvas import COLOURS, INK, Display
from ._inputs import require


class RelevanceDisplay(Display):
    """Relevance of each input, largest on top, on a logarithmic scale.

    Thin lines are one standard deviation ``sd`` of the log relevance to each side, where it is known.
    """

    def __init__(self, relevance: np.ndarray, names: list[str], sd: np.ndarray | None = None) -> None:
        self.relevance, self.names = np.asarray(relevance), names
        self.sd = np.full(len(self.relevance), np.nan) if sd is None else np.asarray(sd)

    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: Any = None, max_inputs: int = 20, ax: Any = None) -> Self:
        """The most relevant inputs of a fitted estimator; with a PerClass kernel the mean over classes, without
        standard deviations."""
        require(estimator, "a model with relevances", "relevance_")
        relevance = np.atleast_2d(estimator.relevance_)
        one = len(relevance) == 1 and hasattr(estimator, "hyper_")
        relevance = relevance.mean(axis=0)
        if not np.any(relevance > 0):
            raise ValueError(f"expected a kernel with scales of inputs, got relevances {relevance.tolist()}")
        sd = log_relevance(estimator)[1] if one else np.full(len(relevance), np.nan)
        names = _names(estimator, feature_names, len(relevance))
        top = np.argsort(relevance)[::-1][:max_inputs]
        return cls(relevance[top], [names[j] for j in top], sd[top]).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        positions = np.arange(len(self.names))[::-1]
        known = np.isfinite(self.sd) & (self.relevance > 0)
        middle, spread = self.relevance[known], np.exp(self.sd[known])
        least = np.min([0.5 * self.relevance[self.relevance > 0].min(), *(0.8 * middle / spread)])
        floor = max(self.relevance.max() * 1e-8, least)
        stem = {"color": COLOURS[0], "alpha": 0.45} if np.any(known) else {"color": COLOURS[0]}
        ax.hlines(positions, floor, np.maximum(self.relevance, floor), linewidth=2, **stem)
        ax.plot(np.maximum(self.relevance, floor), positions, "o", color=COLOURS[0])
        if np.any(known):
            ends = np.maximum(middle / spread, floor), middle * spread
            ax.hlines(positions[known], *ends, color=INK, linewidth=1.1, zorder=3)
            for end in ends:
                ax.plot(end, positions[known], "|", color=INK, markersize=7, zorder=3)
        ax.set_yticks(positions, self.names)
        ax.set(xscale="log", xlabel="relevance (inverse squared length-scale)" + (" ± 1 sd" if np.any(known) else ""))
        ax.grid(axis="x", alpha=0.25)


class RelevancePosteriorDisplay(Display):
    """Log relevance log w of each input with one standard deviation to each side (WB98, figure 2).

    Posterior mean and standard deviation of samples, or an optimum and Laplace's standard error. ``optimum`` (squares)
    is another estimate.
    """

    def __init__(
        self, mean: np.ndarray, sd: np.ndarray, names: list[str], optimum: np.ndarray | None = None, label: str = ""
    ) -> None:
        self.mean, self.sd, self.names, self.optimum, self.label = mean, sd, names, optimum, label

    @classmethod
    def from_estimator(cls, estimator: Any, *, optimum: Any = None, feature_names: Any = None, ax: Any = None) -> Self:
        """From a fitted estimator; ``optimum`` is another one, fitted to the same inputs, to compare with.

        With a PerClass kernel log w is averaged over the classes.
        """
        require(estimator, "a model with relevances", "relevance_", "hyper_")
        mean, sd = log_relevance(estimator)
        names = _names(estimator, feature_names, len(mean))
        other = None if optimum is None else log_relevance(optimum)[0]
        if other is not None and len(other) != len(mean):
            raise ValueError(f"expected an optimum with {len(mean)} inputs, got one with {len(other)}")
        label = "posterior mean" if estimator.hyper_.samples is not None else "optimum"
        return cls(mean, sd, names, other, label).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        positions = np.arange(len(self.names))
        ax.errorbar(positions, self.mean, self.sd, fmt="o", color=COLOURS[0], capsize=4, label=f"{self.label} ± 1 sd")
        if self.optimum is not None:
            ax.plot(positions, self.optimum, "s", markerfacecolor="none", color=COLOURS[1], label="optimum")
        long = max(map(len, self.names)) >= 8
        ax.set_xticks(positions, self.names, rotation=30 if long else 0, ha="right" if long else "center")
        ax.set(ylabel="log relevance, log w")
        ax.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False)
        ax.grid(axis="y", alpha=0.25)


class ViewWeightsDisplay(Display):
    """Share of each view in the latent variance, with two standard deviations; one colour for each model."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """From a model with a ``WeightedSum`` kernel."""
        return cls.from_estimators({type(estimator).__name__: estimator}, ax=ax)

    @classmethod
    def from_estimators(cls, estimators: dict[str, Any], *, ax: Any = None) -> Self:
        """From several models with the same views, by name."""
        weights = {name: estimator.view_weights_ for name, estimator in estimators.items()}
        if len({found.names for found in weights.values()}) != 1:
            raise ValueError(f"expected models with the same views, got {[w.names for w in weights.values()]}")
        return cls(weights).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        views = next(iter(self.weights.values())).names
        positions = np.arange(len(views))[::-1]
        height = 0.8 / len(self.weights)
        for i, (name, found) in enumerate(self.weights.items()):
            error = {"xerr": 2.0 * np.nan_to_num(found.sd), "ecolor": INK, "error_kw": {"linewidth": 0.9}}
            offset, colour = 0.4 - (i + 0.5) * height, COLOURS[i % len(COLOURS)]
            ax.barh(positions + offset, found.mean, height, color=colour, label=name, **error)
        ax.set(yticks=positions, yticklabels=views, xlabel="share of the latent variance", xlim=(0.0, None))
        if len(self.weights) > 1:
            ax.legend(fontsize="small")
        ax.grid(axis="x", alpha=0.25)


def _names(estimator: Any, given: Any, n: int) -> list[str]:
    """Names of the inputs: those given, the estimator's, or x1, x2, ..."""
    if given is None:
        given = getattr(estimator, "feature_names_in_", [f"x{j + 1}" for j in range(n)])
    elif len(given) != n:
        raise ValueError(f"expected {n} feature_names, got {len(given)}")
    return [str(name) for name in given]


def log_relevance(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of log w for each input of a fitted estimator, from samples or Laplace's covariance.

    NaN where an input is not used, or its uncertainty is not known.
    """
    learned = estimator.hyper_

    def at(theta: np.ndarray) -> np.ndarray:
        kernel = estimator._objective.at(theta)[0]
        with np.errstate(divide="ignore"):
            values = np.log(np.atleast_2d(estimator._relevance_of(kernel))).mean(axis=0)
        return np.where(np.isfinite(values), values, np.nan)

    if learned.samples is not None:
        values = np.array([at(theta) for theta in learned.samples.flat])
        weights = learned.samples.flat_weights
        mean = weights @ values
        return mean, np.sqrt(weights @ (values - mean) ** 2)
    mean = at(learned.theta)
    if learned.covariance is None:
        return mean, np.full_like(mean, np.nan)
    highest = estimator._objective.theta_bounds[:, 1]
    steps = np.where(learned.theta + 1e-4 <= highest, 1e-4, -1e-4)
    by_theta = np.array([(at(learned.theta + e) - mean) / e.sum() for e in np.diag(steps)])
    # Parameters without a standard error matter only to the inputs that depend on them.
    depends = np.abs(by_theta) > 1e-9
    known = np.where(np.isfinite(learned.covariance), learned.covariance, 0.0)
    variance = np.einsum("pj,pq,qj->j", by_theta, known, by_theta)
    unknown = np.any(depends & ~np.isfinite(np.diag(learned.covariance))[:, None], axis=0)
    return mean, np.where(unknown, np.nan, np.sqrt(np.maximum(variance, 0.0)))
