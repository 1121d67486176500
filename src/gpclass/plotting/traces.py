"""Traces of inference and of learning."""

from typing import Any, Self

import numpy as np

from ._canvas import COLOURS, INK, Display
from ._inputs import require


class BoundDisplay(Display):
    """The bound on the log evidence after each iteration of the engine."""

    def __init__(self, trace: Any) -> None:
        self.trace = np.asarray(trace)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        require(estimator, "a model of gpclass")
        trace = getattr(getattr(estimator, "info_", None), "trace", ())
        if not len(trace):
            raise ValueError(
                "expected a model whose engine records a bound after each iteration, as VB, EP and Laplace do; got "
                f"{type(estimator).__name__} without one"
            )
        return cls(trace).plot(ax=ax)

    def _draw(self, ax: Any, **line: Any) -> None:
        ax.plot(np.arange(len(self.trace)), self.trace, marker="o", markersize=4, color=COLOURS[0], **line)
        ax.set(xlabel="iteration", ylabel="bound on the log evidence")
        ax.grid(alpha=0.25)


class EvidenceDisplay(Display):
    """The objective of learning after each iteration; a circle marks the parameters that were kept.

    Each round of ``Alternating`` has its own active rows, so the objective may decrease from one to the next.
    """

    def __init__(self, trace: Any, kept: float, ylabel: str = "log evidence") -> None:
        self.trace, self.kept, self.ylabel = np.asarray(trace), kept, ylabel

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """From a model whose kernel parameters were learned by "evidence", "loo" or "alternating", or sampled by
        ``Importance(as_published=True)``."""
        require(estimator, "a model of gpclass", "hyper_")
        learned = estimator.hyper_
        if not learned.trace:
            raise ValueError(
                "expected a model whose learning records its iterations, as hyper='evidence' does; got hyper="
                f"{estimator.hyper!r}. BoundDisplay shows the iterations of the engine"
            )
        sampled = learned.samples is not None
        ylabel = "bound on the log evidence" if sampled else "objective of learning, with the log prior"
        return cls(learned.trace, learned.value, ylabel).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        rounds = np.arange(1, len(self.trace) + 1)
        ax.plot(rounds, self.trace, marker="o", markersize=4, color=COLOURS[0])
        for best in np.flatnonzero(self.trace == self.kept)[-1:]:
            ax.scatter(rounds[best], self.kept, s=110, facecolor="none", edgecolor=INK, linewidth=1.4, zorder=3)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="iteration of learning", ylabel=self.ylabel)
        ax.grid(alpha=0.25)
