"""Pictures in scikit-learn's manner: ``Display.from_estimator(...)`` computes and draws, ``.plot(ax=)`` draws again."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._labels import is_missing
from .metrics import ReliabilityCurve, reliability_curve

#: Colours for classes, readable for the colour-blind (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#555555")
INK = "#222222"


def _new_figure(size: tuple[float, float] | None = None) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'gpclass[plot]'") from error
    return plt.figure(layout="constrained", figsize=size)


def _axes(ax: Any) -> Any:
    return _new_figure().subplots() if ax is None else ax


def _class_colours(n_classes: int) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(COLOURS[k % len(COLOURS)]) for k in range(n_classes)])


def _plane(
    X: np.ndarray, features: tuple[int, int], resolution: int
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """A plane through the rows over two inputs, the others at their medians: its axes, its grid, and it as rows."""
    axes = []
    for feature in features:
        low, high = X[:, feature].min(), X[:, feature].max()
        margin = 0.06 * (high - low)
        axes.append(np.linspace(low - margin, high + margin, resolution))
    grid = list(np.meshgrid(*axes))
    rows = np.tile(np.median(X, axis=0), (grid[0].size, 1))
    for feature, values in zip(features, grid, strict=True):
        rows[:, feature] = values.ravel()
    return axes, grid, rows


def _like(given: Any, rows: np.ndarray) -> Any:
    """Rows in a frame with the names of the columns given, which an estimator fitted to a data frame expects."""
    return type(given)(rows, columns=given.columns) if hasattr(given, "iloc") else rows


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
        given, X = X, np.asarray(X, dtype=float)
        axes, _, rows = _plane(X, features, resolution)
        proba = estimator.predict_proba(_like(given, rows)).reshape(resolution, resolution, -1)
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


class ViewWeightsDisplay:
    """How much of the latent functions each view makes up, with two standard deviations; one colour for each model."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> ViewWeightsDisplay:
        """Of a model with a ``WeightedSum`` kernel."""
        return cls.from_estimators({type(estimator).__name__: estimator}, ax=ax)

    @classmethod
    def from_estimators(cls, estimators: dict[str, Any], *, ax: Any = None) -> ViewWeightsDisplay:
        """Of several models with the same views, by name: one learned by the evidence and one by sampling, say."""
        weights = {name: estimator.view_weights_ for name, estimator in estimators.items()}
        if len({found.names for found in weights.values()}) != 1:
            raise ValueError(f"expected models with the same views, got {[w.names for w in weights.values()]}")
        return cls(weights).plot(ax=ax)

    def plot(self, ax: Any = None) -> ViewWeightsDisplay:
        ax = _axes(ax)
        views = next(iter(self.weights.values())).names
        places = np.arange(len(views))[::-1]
        height = 0.8 / len(self.weights)
        for i, (name, found) in enumerate(self.weights.items()):
            ax.barh(
                places + 0.4 - (i + 0.5) * height,
                found.mean,
                height,
                xerr=2.0 * np.nan_to_num(found.sd),
                color=COLOURS[i % len(COLOURS)],
                ecolor=INK,
                error_kw={"linewidth": 0.9},
                label=name,
            )
        ax.set(yticks=places, yticklabels=views, xlabel="share of the latent variance", xlim=(0.0, None))
        if len(self.weights) > 1:
            ax.legend(fontsize="small")
        ax.grid(axis="x", alpha=0.25)
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


class NullCategoryDisplay:
    """A boundary between two classes and the band around it that rows without label keep clear (LPJ05 figure 5).

    ``latent`` holds, over a grid, the latent mean above the boundary: 0 on it, -1/2 and 1/2 at the edges of the band.
    """

    def __init__(self, grid: tuple[np.ndarray, np.ndarray], latent: np.ndarray) -> None:
        self.grid, self.latent = grid, latent

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        label: Any = None,
        features: tuple[int, int] = (0, 1),
        resolution: int = 160,
        ax: Any = None,
    ) -> NullCategoryDisplay:
        """Of a ``NullCategoryClassifier`` fitted to X; with the y of ``fit`` labelled rows are crosses and circles,
        active rows large. With more than two classes ``label`` says whose boundary."""
        check_is_fitted(estimator)
        given, X = X, np.asarray(X, dtype=float)
        binary = len(estimator.classes_) == 2
        if not binary and label not in estimator.classes_:
            raise ValueError(f"expected label=, one of {estimator.classes_.tolist()}, got {label!r}")
        which = 0 if binary else int(np.flatnonzero(estimator.classes_ == label)[0])
        axes, grid, rows = _plane(X, features, resolution)
        bias = estimator.null_category_.bias if binary else 0.0
        latent = estimator.latent(_like(given, rows)).mean[:, which].reshape(grid[0].shape) + bias
        display = cls((axes[0], axes[1]), latent).plot(ax=ax)
        active = estimator.active_ if binary else estimator.active_[which]
        places = X[:, list(features)]
        display.ax_.scatter(*places.T, s=3, color=INK, alpha=0.5, label="rows")
        display.ax_.scatter(*places[active].T, s=22, color=INK, alpha=0.6, linewidth=0, label="active")
        if y is not None:
            upper = estimator.classes_[1] if binary else label
            labels = np.ravel(np.asarray(y, dtype=object)).tolist()
            known = np.array([not is_missing(value) and value in estimator.classes_.tolist() for value in labels])
            mine = np.array([own and value == upper for own, value in zip(known, labels, strict=True)])
            for chosen, marker, colour, name in (
                (mine, "x", COLOURS[1], str(upper)),
                (known & ~mine, "o", COLOURS[0], str(estimator.classes_[0]) if binary else "others"),
            ):
                face = {} if marker == "x" else {"facecolor": "none"}
                display.ax_.scatter(*places[chosen].T, s=55, marker=marker, color=colour, label=name, zorder=3, **face)
            display.ax_.legend(loc="upper right", fontsize="small", framealpha=0.9)
        return display

    def plot(self, ax: Any = None) -> NullCategoryDisplay:
        ax = _axes(ax)
        x, y = self.grid
        band = np.clip(1.0 - np.abs(self.latent) / 0.5, 0.0, 1.0)
        ax.contourf(x, y, band, levels=[1e-9, 1.0], colors=[COLOURS[4]], alpha=0.2)
        ax.contour(x, y, self.latent, levels=[0.0], colors=INK, linewidths=1.6)
        ax.contour(x, y, self.latent, levels=[-0.5, 0.5], colors=INK, linewidths=1.0, linestyles=":")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class UpdateDisplay:
    """What one row does to the belief about its latent value (LPJ05 figure 4): before, likelihood, after."""

    def __init__(self, f: np.ndarray, before: np.ndarray, likelihood: np.ndarray, after: np.ndarray) -> None:
        self.f, self.before, self.likelihood, self.after = f, before, likelihood, after

    @classmethod
    def from_likelihood(cls, likelihood: Any, y: Any, mean: float, variance: float, *, ax: Any = None) -> UpdateDisplay:
        """Of a likelihood with one latent function, an observation y, and the belief N(mean, variance)."""
        if not variance > 0:
            raise ValueError(f"variance must be positive, got {variance!r}")
        spread = np.sqrt(variance)
        f = np.linspace(min(mean - 4 * spread, -2.0), max(mean + 4 * spread, 2.0), 801)
        before = np.exp(-0.5 * ((f - mean) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
        height = np.exp(likelihood.log_prob(np.full(len(f), y), f[:, None]))
        after = before * height
        return cls(f, before, height, after / np.trapezoid(after, f)).plot(ax=ax)

    def plot(self, ax: Any = None) -> UpdateDisplay:
        ax = _axes(ax)
        ax.plot(self.f, self.before, color=COLOURS[0], linestyle=(0, (8, 4)), label="before")
        ax.plot(
            self.f,
            self.likelihood / self.likelihood.max() * 0.9 * self.after.max(),
            color=COLOURS[4],
            linestyle=":",
            label="likelihood, scaled",
        )
        ax.plot(self.f, self.after, color=INK, label="after")
        ax.set(xlabel="latent value", ylabel="density")
        ax.legend(fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class TaskDisplay:
    """Tasks side by side along one input, the rows that are kept circled (LPJ05 figure 7).

    ``panels`` has for every task its name, inputs, targets, which of its rows are kept, and the curve: inputs, means
    and, for numbers, standard deviations; for labels the curve is the probability of the last class.
    """

    def __init__(self, panels: list[dict[str, Any]], xlabel: str, ylabel: str) -> None:
        self.panels, self.xlabel, self.ylabel = panels, xlabel, ylabel

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, task: Any = None, *, feature: int = 0, axes: Any = None
    ) -> TaskDisplay:
        """Of a ``MultiTaskIVM`` and what it was fitted to; other inputs are held at their medians."""
        check_is_fitted(estimator)
        given, X, y = X, np.asarray(X, dtype=float), np.ravel(y)
        if task is None and len(estimator.tasks_) > 1:
            raise ValueError(f"expected task=, the task of each row, one of {estimator.tasks_.tolist()}; got none")
        task = np.repeat(estimator.tasks_, len(X)) if task is None else np.ravel(task)
        kept = np.zeros(len(X), bool)
        kept[estimator.active_] = True
        numbers = estimator.problem_ == "regression"
        panels = []
        for name in estimator.tasks_:
            own = task == name
            along = np.linspace(X[:, feature].min(), X[:, feature].max(), 200)
            rows = np.tile(np.median(X[own], axis=0), (len(along), 1))
            rows[:, feature] = along
            rows = _like(given, rows)
            if numbers:
                mean, sd = estimator.predict(rows, task=name, return_std=True)
                targets = y[own].astype(float)
            else:
                mean, sd = estimator.predict_proba(rows, task=name)[:, -1], None
                targets = (y[own] == estimator.classes_[-1]).astype(float)
            panels.append(
                {"name": name, "x": X[own, feature], "y": targets, "kept": kept[own], "curve": (along, mean, sd)}
            )
        names = getattr(estimator, "feature_names_in_", None)
        ylabel = "y" if numbers else f"probability of {estimator.classes_[-1]}"
        return cls(panels, f"x{feature + 1}" if names is None else str(names[feature]), ylabel).plot(axes=axes)

    def plot(self, axes: Any = None) -> TaskDisplay:
        if axes is None:
            figure = _new_figure((3.4 * len(self.panels), 3.0))
            axes = figure.subplots(1, len(self.panels), sharex=True, sharey=True, squeeze=False)[0]
        if np.size(axes) != len(self.panels):
            raise ValueError(f"expected {len(self.panels)} axes, one for each task, got {np.size(axes)}")
        for ax, panel in zip(np.ravel(axes), self.panels, strict=True):
            along, mean, sd = panel["curve"]
            ax.plot(along, mean, color=COLOURS[0])
            if sd is not None:
                ax.fill_between(along, mean - 2 * sd, mean + 2 * sd, color=COLOURS[0], alpha=0.15, linewidth=0)
            ax.plot(panel["x"], panel["y"], "x", color=INK, markersize=4)
            kept = panel["kept"]
            ax.scatter(panel["x"][kept], panel["y"][kept], s=80, facecolor="none", edgecolor=COLOURS[1], linewidth=1.4)
            ax.set(title=f"{panel['name']}: {int(kept.sum())} of {len(kept)} rows", xlabel=self.xlabel)
        np.ravel(axes)[0].set_ylabel(self.ylabel)
        self.axes_, self.figure_ = np.ravel(axes), np.ravel(axes)[0].figure
        return self


class VirtualVectorDisplay:
    """Rows that a ``VirtualVectorClassifier`` keeps, as images: in frames of one colour those that are transforms."""

    def __init__(self, images: np.ndarray, titles: list[str], virtual: np.ndarray) -> None:
        self.images, self.titles, self.virtual = images, titles, virtual

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, n_images: int = 30, only_virtual: bool = False, figure: Any = None
    ) -> VirtualVectorDisplay:
        """The first rows chosen; ``only_virtual`` leaves out those that are rows of the data themselves."""
        check_is_fitted(estimator)
        if estimator.image_shape_ is None:
            raise ValueError(
                "the rows of this model are no images: expected one fitted with image_shape=(height, width)"
            )
        transform = estimator.virtual_.transform
        chosen = np.flatnonzero(transform > 0) if only_virtual else np.arange(len(transform))
        chosen = chosen[:n_images]
        images = estimator.active_rows_[chosen].reshape(-1, *estimator.image_shape_)
        labels = estimator.active_labels_[chosen]
        titles = [f"{label}, {estimator.virtual_.names[k]}" for label, k in zip(labels, transform[chosen], strict=True)]
        return cls(images, titles, transform[chosen] > 0).plot(figure=figure)

    def plot(self, figure: Any = None) -> VirtualVectorDisplay:
        if figure is None:
            figure = _new_figure((10.0, 1.25 * max(1, -(-len(self.images) // 10))))
        columns = min(10, max(1, len(self.images)))
        axes = figure.subplots(-(-len(self.images) // columns), columns, squeeze=False).ravel()
        for ax in axes:
            ax.set_axis_off()
        for ax, image, title, virtual in zip(axes, self.images, self.titles, self.virtual, strict=False):
            ax.set_axis_on()
            ax.set(xticks=[], yticks=[])
            ax.imshow(image, cmap="gray_r", interpolation="nearest")
            ax.set_title(title, fontsize=7, color=COLOURS[1] if virtual else INK)
            for edge in ax.spines.values():
                edge.set(color=COLOURS[1] if virtual else INK, linewidth=1.5 if virtual else 0.5)
        self.axes_, self.figure_ = axes, figure
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
