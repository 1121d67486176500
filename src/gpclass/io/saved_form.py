"""What a saved file holds of a model, and the model again from that.

Factors that come out the same when computed again are left out, and so are the training rows of sparse models.
"""

from dataclasses import replace
from typing import Any

from sklearn.base import BaseEstimator

from ..inference.neighbors.posterior import NeighborPosterior, StackedPosterior
from ..inference.posteriors import GaussianPosterior, InducingPosterior, MixturePosterior, SeparatePosterior
from ..training.trained import Trained


def saved_form(model: Any) -> Any:
    """A copy of a fitted model, or of anything that holds some, with what its file holds."""
    return _Copy("compact")(model)


def restored_form(model: Any) -> Any:
    """The model that ``saved_form`` was called on, but for the rows that it left out."""
    return _Copy("restored")(model)


class _Copy:
    """A copy with a method of every posterior that has it applied; what was one object stays one."""

    def __init__(self, method: str) -> None:
        self.method = method
        self._made: dict[int, tuple[Any, Any]] = {}

    def __call__(self, value: Any) -> Any:
        if id(value) not in self._made:
            self._made[id(value)] = value, self._copy(value)  # the original is kept, so that no other gets its id
        return self._made[id(value)][1]

    def _copy(self, value: Any) -> Any:
        if isinstance(value, (GaussianPosterior, InducingPosterior, NeighborPosterior, StackedPosterior)):
            return getattr(value, self.method)()
        if isinstance(value, MixturePosterior):
            return replace(value, members=self(value.members))
        if isinstance(value, SeparatePosterior):
            return replace(value, parts=self(value.parts))
        if isinstance(value, Trained):
            return replace(value, posterior=self(value.posterior))
        if isinstance(value, BaseEstimator):
            state = value._saved_state() if hasattr(value, "_saved_state") else vars(value)
            new = object.__new__(type(value))
            new.__dict__ = {name: self(own) for name, own in state.items()}
            return new
        if isinstance(value, dict):
            return {name: self(own) for name, own in value.items()}
        if isinstance(value, (list, tuple)):
            parts = [self(own) for own in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        return value
