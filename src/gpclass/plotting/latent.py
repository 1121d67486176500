"""Latent functions along one input, and the update of one latent value."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_regressor

from ._canvas import COLOURS, INK, Display, class_colours, legend, shortened
from ._inputs import PlotInputs, require


def latent_moments(estimator: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations (m, C) of the latent functions at rows, scaled by ``calibration_`` as in
    predictions."""
    mean, cov = estimator.latent(X)
    if hasattr(estimator, "calibration_"):
        mean, cov = estimator.calibration_(mean, cov)
    return mean, np.sqrt(cov if cov.ndim == 2 else np.diagonal(cov, axis1=1, axis2=2))


@dataclass(eq=False, repr=False)
class LatentDisplay(Display):
    """Latent functions along one input, with bands of two standard deviations.

    ``mean`` and ``sd`` are (m, C), at the m inputs ``along``. Two classes, or ordered ones, have one function, which
    separates them at the ``cuts``. ``rows`` (n,) are inputs, and ``y`` (n,) class indices (-1 for none), drawn as a
    rug; without ``classes`` y are regression targets.
    """

    along: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    _: KW_ONLY
    classes: np.ndarray | None = None
    cuts: np.ndarray | None = None
    rows: np.ndarray | None = None
    y: np.ndarray | None = None
    xlabel: str = ""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, feature: Any = 0, resolution: int = 200, ax: Any = None
    ) -> Self:
        """From a classifier's latent functions, scaled by its calibration, or a regressor's predictions in the units of
        y, with noise; other inputs are held at their medians or most frequent categories."""
        require(estimator, "a model with latent functions, such as GPClassifier", "latent", "likelihood_")
        inputs = PlotInputs(X)
        index = inputs.index(feature)
        classes = None if is_regressor(estimator) else estimator.classes_
        y = inputs.target(y, classes)
        along, rows = inputs.line(index, resolution, margin=0.03)
        cuts = None
        if classes is None:
            mean, sd = (values[:, None] for values in estimator.predict(rows, return_std=True))
        else:
            mean, sd = latent_moments(estimator, rows)
            if hasattr(estimator, "cut_points_"):
                cuts = estimator.cut_points_
            elif mean.shape[1] == 1:
                cuts = np.array([-getattr(estimator.likelihood_, "bias", 0.0)])
        rows, xlabel = inputs.values[:, index], inputs.name(index)
        return cls(along, mean, sd, classes=classes, cuts=cuts, rows=rows, y=y, xlabel=xlabel).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        n_functions = self.mean.shape[1]
        functions, ylabel = self._functions()
        for c, (colour, name) in enumerate(functions):
            mean, reach = self.mean[:, c], 2.0 * self.sd[:, c]
            # Many bands lie over each other.
            alpha = 0.2 if n_functions <= 3 else 0.09
            ax.fill_between(self.along, mean - reach, mean + reach, color=colour, alpha=alpha, linewidth=0)
            ax.plot(self.along, mean, color=colour, linewidth=1.6, label=name)
        cuts = [] if self.cuts is None else list(self.cuts)
        for i, cut in enumerate(cuts):
            name = "boundary" if len(cuts) == 1 else "cut points"
            ax.axhline(cut, color=INK, linewidth=0.9, linestyle=":", label=None if i else name)
        if self.y is not None and self.classes is None:
            ax.plot(self.rows, self.y, ".", color=INK, markersize=5, alpha=0.6)
        elif self.y is not None:
            self._draw_rug(ax, named=n_functions == 1)
        legend(ax, "best" if n_functions == 1 else None)
        ax.set(xlabel=self.xlabel, ylabel=ylabel)
        ax.grid(alpha=0.25)

    def _functions(self) -> tuple[list[tuple[Any, str | None]], str]:
        """Colour and name of each function, and what their values are."""
        if self.classes is None:
            return [(COLOURS[0], "mean ± 2 sd")], "y"
        if self.mean.shape[1] > 1:
            names = [shortened(label) for label in self.classes]
            return list(zip(class_colours(len(names)), names, strict=True)), "latent functions ± 2 sd"
        high = f", high for {shortened(self.classes[1])}" if len(self.classes) == 2 else ""
        return [(INK, None)], f"latent function ± 2 sd{high}"

    def _draw_rug(self, ax: Any, named: bool) -> None:
        """Rows as a rug at the bottom, one line for each class."""
        assert self.classes is not None
        assert self.y is not None
        assert self.rows is not None
        n_classes = len(self.classes)
        share = min(0.03 * n_classes, 0.25)
        low, high = ax.get_ylim()
        ax.set_ylim(low - (high - low) * share / (1.0 - share), high)
        colours = class_colours(n_classes, ordered=self.mean.shape[1] == 1 and n_classes > 2)
        for k, label in enumerate(self.classes):
            x = self.rows[self.y == k]
            height = np.full(len(x), share * (k + 0.5) / n_classes)
            name = shortened(label) if named else None
            line = {"marker": "|", "linestyle": "none", "markersize": 6, "alpha": 0.8, "label": name}
            ax.plot(x, height, color=colours[k], transform=ax.get_xaxis_transform(), **line)


class UpdateDisplay(Display):
    """Density of a latent value before and after one observation, and the likelihood (LPJ05 figure 4)."""

    def __init__(self, f: np.ndarray, before: np.ndarray, likelihood: np.ndarray, after: np.ndarray) -> None:
        self.f, self.before, self.likelihood, self.after = f, before, likelihood, after

    @classmethod
    def from_likelihood(cls, likelihood: Any, y: Any, mean: float, variance: float, *, ax: Any = None) -> Self:
        """From a likelihood with one latent function, an observation y, and the prior density N(mean, variance)."""
        if not variance > 0:
            raise ValueError(f"variance must be positive, got {variance!r}")
        spread = np.sqrt(variance)
        f = np.linspace(min(mean - 4 * spread, -2.0), max(mean + 4 * spread, 2.0), 801)
        before = np.exp(-0.5 * ((f - mean) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
        height = np.exp(likelihood.log_prob(np.full(len(f), y), f[:, None]))
        after = before * height
        return cls(f, before, height, after / np.trapezoid(after, f)).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.f, self.before, color=COLOURS[0], linestyle=(0, (8, 4)), label="before")
        scaled = self.likelihood / self.likelihood.max() * 0.9 * self.after.max()
        ax.plot(self.f, scaled, color=COLOURS[4], linestyle=":", label="likelihood, scaled")
        ax.plot(self.f, self.after, color=INK, label="after")
        ax.set(xlabel="latent value", ylabel="density")
        ax.legend(fontsize="small")
