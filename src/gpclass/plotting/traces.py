"""How inference and learning went, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._canvas import COLOURS, INK, axes_or_new
from ._inputs import require


class BoundDisplay:
    """The bound on the log evidence after each iteration of the engine."""

    def __init__(self, trace: Any) -> None:
        self.trace = np.asarray(trace)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> BoundDisplay:
        require(estimator, "a model of gpclass")
        trace = getattr(getattr(estimator, "info_", None), "trace", ())
        if not len(trace):
            raise ValueError(
                "expected a model whose engine keeps a bound after each iteration, as VB, EP and Laplace do; got "
                f"{type(estimator).__name__} without one"
            )
        return cls(trace).plot(ax=ax)

    def plot(self, ax: Any = None, **line: Any) -> BoundDisplay:
        ax = axes_or_new(ax)
        ax.plot(np.arange(len(self.trace)), self.trace, marker="o", markersize=4, color=COLOURS[0], **line)
        ax.set(xlabel="iteration", ylabel="bound on the log evidence")
        ax.grid(alpha=0.25)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class EvidenceDisplay:
    """What learning maximised, after each of its iterations; a circle marks the one whose parameters were kept.

    Rounds of ``Alternating`` each have active rows of their own, so the evidence of one may be below that of the last.
    """

    def __init__(self, trace: Any, kept: float, ylabel: str = "log evidence") -> None:
        self.trace, self.kept, self.ylabel = np.asarray(trace), kept, ylabel

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> EvidenceDisplay:
        """Of a model whose kernel parameters were learned by "evidence", "loo" or "alternating", or sampled by
        ``Importance(as_published=True)``."""
        require(estimator, "a model of gpclass", "hyper_")
        learned = estimator.hyper_
        if not learned.trace:
            raise ValueError(
                "expected a model whose learning keeps its iterations, as hyper='evidence' does; got hyper="
                f"{estimator.hyper!r}. For the engine's iterations there is BoundDisplay"
            )
        sampled = learned.samples is not None
        ylabel = "bound on the log evidence" if sampled else "what learning maximises, with the log prior"
        return cls(learned.trace, learned.value, ylabel).plot(ax=ax)

    def plot(self, ax: Any = None) -> EvidenceDisplay:
        ax = axes_or_new(ax)
        rounds = np.arange(1, len(self.trace) + 1)
        ax.plot(rounds, self.trace, marker="o", markersize=4, color=COLOURS[0])
        for best in np.flatnonzero(self.trace == self.kept)[-1:]:
            ax.scatter(rounds[best], self.kept, s=110, facecolor="none", edgecolor=INK, linewidth=1.4, zorder=3)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="iteration of learning", ylabel=self.ylabel)
        ax.grid(alpha=0.25)
        self.ax_, self.figure_ = ax, ax.figure
        return self
