"""Pictures in scikit-learn's manner: ``Display.from_estimator(...)`` computes and draws, ``.plot(ax=)`` draws again."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .metrics import ReliabilityCurve, reliability_curve

#: Colours for classes, readable for the colour-blind (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#555555")
INK = "#222222"


def _axes(ax: Any) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'gpclass[plot]'") from error
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _class_colours(n_classes: int) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(COLOURS[k % len(COLOURS)]) for k in range(n_classes)])


class ProbabilityMapDisplay:
    """Class probabilities over two inputs: colours mix in proportion, lines are the decision boundaries."""

    def __init__(self, grid: tuple[np.ndarray, np.ndarray], proba: np.ndarray, classes: np.ndarray) -> None:
        self.grid, self.proba, self.classes = grid, proba, classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: tuple[int, int] = (0, 1),
        resolution: int = 160,
        ax: Any = None,
    ) -> ProbabilityMapDisplay:
        """Map a fitted classifier over two inputs, the others held at their medians; y draws the rows on top."""
        check_is_fitted(estimator)
        X = np.asarray(X, dtype=float)
        axes = []
        for feature in features:
            low, high = X[:, feature].min(), X[:, feature].max()
            margin = 0.06 * (high - low)
            axes.append(np.linspace(low - margin, high + margin, resolution))
        grid = np.meshgrid(*axes)
        rows = np.tile(np.median(X, axis=0), (grid[0].size, 1))
        for feature, values in zip(features, grid, strict=True):
            rows[:, feature] = values.ravel()
        proba = estimator.predict_proba(rows).reshape(resolution, resolution, -1)
        display = cls((axes[0], axes[1]), proba, estimator.classes_)
        display.plot(ax=ax)
        if y is not None:
            colours = _class_colours(len(estimator.classes_))
            for k, label in enumerate(estimator.classes_):
                mine = np.asarray(y) == label
                display.ax_.scatter(
                    *X[mine][:, list(features)].T,
                    s=16,
                    color=colours[k],
                    edgecolor="white",
                    linewidth=0.5,
                    label=str(label),
                )
            if len(estimator.classes_) <= 10:
                display.ax_.legend(loc="upper right", fontsize="small", framealpha=0.9)
        return display

    def plot(self, ax: Any = None) -> ProbabilityMapDisplay:
        ax = _axes(ax)
        colours = _class_colours(self.proba.shape[-1])
        # Half-way to white, so that the rows stand out.
        image = 1.0 - 0.55 * self.proba @ (1.0 - colours)
        x, y = self.grid
        ax.imshow(image, extent=(x[0], x[-1], y[0], y[-1]), origin="lower", aspect="auto", interpolation="bilinear")
        for k in range(self.proba.shape[-1]):
            rest = np.delete(self.proba, k, axis=-1).max(axis=-1)
            ax.contour(x, y, self.proba[..., k] - rest, levels=[0.0], colors=INK, linewidths=0.9)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class BoundDisplay:
    """The bound on the log evidence after each iteration of the engine."""

    def __init__(self, trace: Any) -> None:
        self.trace = np.asarray(trace)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> BoundDisplay:
        check_is_fitted(estimator)
        return cls(estimator.info_.trace).plot(ax=ax)

    def plot(self, ax: Any = None, **line: Any) -> BoundDisplay:
        ax = _axes(ax)
        ax.plot(np.arange(len(self.trace)), self.trace, marker="o", markersize=4, color=COLOURS[0], **line)
        ax.set(xlabel="iteration", ylabel="bound on the log evidence")
        ax.grid(alpha=0.25)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class RelevanceDisplay:
    """Relevance of each input, largest on top, on a logarithmic scale."""

    def __init__(self, relevance: np.ndarray, names: list[str]) -> None:
        self.relevance, self.names = np.asarray(relevance), names

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Any = None, max_inputs: int = 20, ax: Any = None
    ) -> RelevanceDisplay:
        """The most relevant inputs of a fitted estimator; with a PerClass kernel, the mean over classes."""
        check_is_fitted(estimator)
        relevance = np.atleast_2d(estimator.relevance_).mean(axis=0)
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", [f"x{j + 1}" for j in range(len(relevance))])
        top = np.argsort(relevance)[::-1][:max_inputs]
        return cls(relevance[top], [str(feature_names[j]) for j in top]).plot(ax=ax)

    def plot(self, ax: Any = None) -> RelevanceDisplay:
        ax = _axes(ax)
        places = np.arange(len(self.names))[::-1]
        floor = max(self.relevance.max() * 1e-8, self.relevance[self.relevance > 0].min() * 0.5)
        ax.hlines(places, floor, np.maximum(self.relevance, floor), color=COLOURS[0], linewidth=2)
        ax.plot(np.maximum(self.relevance, floor), places, "o", color=COLOURS[0])
        ax.set_yticks(places, self.names)
        ax.set(xscale="log", xlabel="relevance (inverse squared length-scale)")
        ax.grid(axis="x", alpha=0.25)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class RelevancePosteriorDisplay:
    """What is known of each input's relevance w (WB98, figure 2): log w with one standard deviation either way.

    From samples of the parameters these are posterior means and deviations, from one optimum its value and Laplace's
    standard error. ``optimum`` (squares) stands beside them where it is given.
    """

    def __init__(
        self, mean: np.ndarray, sd: np.ndarray, names: list[str], optimum: np.ndarray | None = None, label: str = ""
    ) -> None:
        self.mean, self.sd, self.names, self.optimum, self.label = mean, sd, names, optimum, label

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, optimum: Any = None, feature_names: Any = None, ax: Any = None
    ) -> RelevancePosteriorDisplay:
        """Of a fitted estimator; ``optimum`` is another one, fitted to the same inputs, whose relevances to compare.

        With a PerClass kernel log w is averaged over the classes.
        """
        check_is_fitted(estimator)
        mean, sd = log_relevance(estimator)
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", [f"x{j + 1}" for j in range(len(mean))])
        elif len(feature_names) != len(mean):
            raise ValueError(f"expected {len(mean)} feature_names, got {len(feature_names)}")
        other = None if optimum is None else log_relevance(optimum)[0]
        label = "posterior mean" if estimator.hyper_.samples is not None else "optimum"
        return cls(mean, sd, [str(name) for name in feature_names], other, label).plot(ax=ax)

    def plot(self, ax: Any = None) -> RelevancePosteriorDisplay:
        ax = _axes(ax)
        places = np.arange(len(self.names))
        ax.errorbar(places, self.mean, self.sd, fmt="o", color=COLOURS[0], capsize=4, label=f"{self.label} ± 1 sd")
        if self.optimum is not None:
            ax.plot(places, self.optimum, "s", markerfacecolor="none", color=COLOURS[1], label="optimum")
        long = max(map(len, self.names)) >= 8
        ax.set_xticks(places, self.names, rotation=30 if long else 0, ha="right" if long else "center")
        ax.set(ylabel="log relevance, log w")
        ax.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False)
        ax.grid(axis="y", alpha=0.25)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ReliabilityDisplay:
    """How often predictions of a given confidence are right; on the diagonal confidence is deserved."""

    def __init__(self, curves: dict[str, ReliabilityCurve]) -> None:
        self.curves = curves

    @classmethod
    def from_predictions(
        cls, y_true: Any, probas: dict[str, np.ndarray], classes: Any, *, n_bins: int = 10, ax: Any = None
    ) -> ReliabilityDisplay:
        """One curve for each named array of probabilities, all for the same rows."""
        curves = {name: reliability_curve(y_true, proba, classes, n_bins) for name, proba in probas.items()}
        return cls(curves).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Any = None) -> ReliabilityDisplay:
        name = type(estimator).__name__
        return cls.from_predictions(y, {name: estimator.predict_proba(X)}, estimator.classes_, n_bins=n_bins, ax=ax)

    def plot(self, ax: Any = None) -> ReliabilityDisplay:
        ax = _axes(ax)
        ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":")
        for i, (name, curve) in enumerate(self.curves.items()):
            colour = COLOURS[i % len(COLOURS)]
            ax.plot(curve.confidence, curve.accuracy, color=colour, label=name)
            sizes = 12 + 120 * np.sqrt(curve.rows / curve.rows.sum())
            ax.scatter(curve.confidence, curve.accuracy, s=sizes, color=colour, alpha=0.7)
        ax.set(
            xlim=(0, 1.02),
            ylim=(0, 1.02),
            xlabel="confidence in the predicted label",
            ylabel="share that is right",
        )
        ax.set_aspect("equal")
        ax.legend(loc="lower right", fontsize="small")
        ax.grid(alpha=0.25)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def log_relevance(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of log w for each input of a fitted estimator, from samples or Laplace's covariance.

    NaN where an input is not used, or its uncertainty is not known.
    """
    learned = estimator.hyper_

    def at(theta: np.ndarray) -> np.ndarray:
        kernel = estimator._model.at(theta)[0]
        with np.errstate(divide="ignore"):
            values = np.log(np.atleast_2d(kernel.relevance(estimator.n_features_in_))).mean(axis=0)
        return np.where(np.isfinite(values), values, np.nan)

    if learned.samples is not None:
        values = np.array([at(theta) for theta in learned.samples.flat])
        weights = learned.samples.flat_weights
        mean = weights @ values
        return mean, np.sqrt(weights @ (values - mean) ** 2)
    mean = at(learned.theta)
    if learned.covariance is None:
        return mean, np.full_like(mean, np.nan)
    highest = estimator._model.theta_bounds[:, 1]
    steps = np.where(learned.theta + 1e-4 <= highest, 1e-4, -1e-4)
    by_theta = np.array([(at(learned.theta + e) - mean) / e.sum() for e in np.diag(steps)])
    # Parameters without a standard error matter only to the inputs that depend on them.
    moved = np.abs(by_theta) > 1e-9
    known = np.where(np.isfinite(learned.covariance), learned.covariance, 0.0)
    variance = np.einsum("pj,pq,qj->j", by_theta, known, by_theta)
    unknown = np.any(moved & ~np.isfinite(np.diag(learned.covariance))[:, None], axis=0)
    return mean, np.where(unknown, np.nan, np.sqrt(np.maximum(variance, 0.0)))
