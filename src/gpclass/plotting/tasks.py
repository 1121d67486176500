"""Related tasks of a multi-task model."""

from typing import Any, Self

import numpy as np
from sklearn.base import is_regressor

from ._canvas import COLOURS, INK, new_figure, shortened
from ._inputs import PlotInputs, require


class TaskDisplay:
    """Tasks in panels along one input, active rows circled (LPJ05 figure 7).

    ``panels`` has for every task its name, inputs, targets, a mask of its active rows, and the curve: inputs, means and
    standard deviations for regression, or the probability of the last class for classification.
    """

    def __init__(self, panels: list[dict[str, Any]], xlabel: str, ylabel: str) -> None:
        self.panels, self.xlabel, self.ylabel = panels, xlabel, ylabel

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, task: Any = None, *, feature: Any = 0, axes: Any = None
    ) -> Self:
        """From a multi-task estimator and its training data; other inputs are held at their medians or most frequent
        categories."""
        require(estimator, "a multi-task estimator", "tasks_")
        inputs, y = PlotInputs(X), np.ravel(y)
        index = inputs.index(feature)
        if task is None and len(estimator.tasks_) > 1:
            raise ValueError(f"expected task=, the task of each row, one of {estimator.tasks_.tolist()}; got none")
        task = np.repeat(estimator.tasks_, len(inputs)) if task is None else np.ravel(task)
        for name, given in (("y", y), ("task", task)):
            if len(given) != len(inputs):
                raise ValueError(f"expected {name} of {len(inputs)} rows, as X has, got {len(given)}")
        kept = np.zeros(len(inputs), bool)
        kept[estimator.active_] = True
        regression = is_regressor(estimator)
        panels = []
        for name in estimator.tasks_:
            member = task == name
            along, points = inputs.line(index, 200, among=member)
            if regression:
                mean, sd = estimator.predict(points, task=name, return_std=True)
                target = y[member].astype(float)
            else:
                mean, sd = estimator.predict_proba(points, task=name)[:, -1], None
                target = (y[member] == estimator.classes_[-1]).astype(float)
            x = inputs.values[member, index]
            panels.append({"name": name, "x": x, "y": target, "kept": kept[member], "curve": (along, mean, sd)})
        names = getattr(estimator, "feature_names_in_", None)
        xlabel = inputs.name(index) if names is None else str(names[index])
        ylabel = "y" if regression else f"probability of {shortened(estimator.classes_[-1])}"
        return cls(panels, xlabel, ylabel).plot(axes=axes)

    def plot(self, axes: Any = None) -> Self:
        if axes is None:
            figure = new_figure((3.4 * len(self.panels), 3.0))
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
            ax.set_title(f"{shortened(panel['name'])}: {int(kept.sum())} of {len(kept)} rows", fontsize="medium")
            ax.set_xlabel(self.xlabel)
        np.ravel(axes)[0].set_ylabel(self.ylabel)
        self.axes_, self.figure_ = np.ravel(axes), np.ravel(axes)[0].figure
        return self
