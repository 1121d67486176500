"""Decisions from probabilities: the label of least expected cost, or none where a person should look.

With the cost C[i, j] of the decision j where the label is i, the expected cost of j for a row with probabilities p is
sum_i p_i C[i, j]. Where the smallest is above the cost of asking a person, the row is rejected (Chow 1970).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .metrics import checked_probabilities, label_positions, row_weights
from .prediction_sets import PredictionSets

__all__ = ["DecisionRule", "PredictionSets", "Threshold", "best_threshold"]


@dataclass(frozen=True, eq=False)
class DecisionRule:
    """Which label to act on, given what mistakes cost.

    Parameters
    ----------
    classes : the labels, in the order of the columns of probabilities
    costs : dict of (label, decision) to cost, or array (K, K), or None
        What it costs to decide for one label where another is true; 0 for right decisions and 1 for mistakes that are
        not named.
    reject : float or None, default=None
        What it costs to let a person decide; None never does.
    threshold : dict of one label to a probability, or None
        Decide for this label from this probability on, else for the other one, whatever the costs say; two labels.

    Examples
    --------
    >>> from gpclass.evaluation.decisions import DecisionRule
    >>> rule = DecisionRule(["fraud", "fine"], {("fraud", "fine"): 20.0}, reject=0.5)
    >>> rule.predict([[0.01, 0.99], [0.04, 0.96], [0.9, 0.1]], rejected="look")
    array(['fine', 'look', 'fraud'], dtype=object)
    """

    classes: Any
    costs: Any = None
    reject: float | None = None
    threshold: Mapping[Any, float] | None = None

    def __post_init__(self) -> None:
        classes = np.asarray(self.classes)
        K = len(classes)
        if classes.ndim != 1 or K < 2 or len(np.unique(classes)) != K:
            raise ValueError(f"expected at least 2 different labels in classes, got {self.classes!r}")
        if self.costs is None or isinstance(self.costs, Mapping):
            table = 1.0 - np.eye(K)
            for key, cost in (self.costs or {}).items():
                if not (isinstance(key, tuple) and len(key) == 2):
                    raise ValueError(f"expected pairs (label, decision) in costs, got {key!r}")
                table[tuple(label_positions(np.asarray([one]), classes)[0] for one in key)] = cost
        else:
            table = np.array(self.costs, dtype=float)
        if table.shape != (K, K) or not np.all(np.isfinite(table)):
            raise ValueError(f"expected finite costs ({K}, {K}), got {table.shape}")
        given = isinstance(self.reject, Real) and not isinstance(self.reject, bool)
        if self.reject is not None and not (given and np.isfinite(self.reject)):
            raise ValueError(f"expected a cost to reject, or None, got {self.reject!r}")
        if self.threshold is not None:
            _check_threshold(self.threshold, classes)
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "costs", table)

    def expected_costs(self, proba: Any) -> np.ndarray:
        """The expected cost (n, K) of every decision."""
        return checked_probabilities(proba, len(self.classes)) @ self.costs

    def choose(self, proba: Any) -> np.ndarray:
        """The column (n,) of the cheapest decision, -1 where the row is rejected."""
        expected = self.expected_costs(proba)
        chosen = expected.argmin(axis=1) if self.threshold is None else self._by_threshold(proba)
        if self.reject is None:
            return chosen
        return np.where(expected[np.arange(len(chosen)), chosen] > self.reject, -1, chosen)

    def _by_threshold(self, proba: Any) -> np.ndarray:
        ((label, value),) = (self.threshold or {}).items()
        own = int(label_positions([label], self.classes)[0])
        return np.where(checked_probabilities(proba, 2)[:, own] >= value, own, 1 - own)

    def chosen_costs(self, proba: Any) -> np.ndarray:
        """The expected cost (n,) of what is decided, or of asking."""
        return self._paid(self.expected_costs(proba), self.choose(proba))

    def predict(self, proba: Any, rejected: Any = None) -> np.ndarray:
        """The labels (n,) to act on; ``rejected`` where a person should decide."""
        chosen = self.choose(proba)
        if self.reject is None:
            return self.classes[chosen]
        found = self.classes[chosen].astype(object)
        found[chosen < 0] = rejected
        return found

    def costs_paid(self, y: Any, chosen: np.ndarray) -> np.ndarray:
        """The cost (n,) of chosen columns, or of asking, where the labels are y."""
        return self._paid(self.costs[label_positions(y, self.classes)], chosen)

    def mean_cost(self, y: Any, proba: Any, sample_weight: Any = None) -> float:
        """What the decisions cost on average where the labels are y."""
        paid = self.costs_paid(y, self.choose(proba))
        if not len(paid):
            raise ValueError("expected at least one row, got none")
        return float(np.average(paid, weights=None if sample_weight is None else row_weights(sample_weight, len(paid))))

    def _paid(self, costs: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """The costs (n, K) of what was chosen."""
        asked = 0.0 if self.reject is None else self.reject
        return np.where(chosen < 0, asked, costs[np.arange(len(chosen)), chosen])


def _check_threshold(threshold: Any, classes: np.ndarray) -> None:
    expected = "expected a threshold such as {'fraud': 0.2}, of one of two labels"
    if not (isinstance(threshold, Mapping) and len(threshold) == 1) or len(classes) != 2:
        raise ValueError(f"{expected}, got {threshold!r} for {len(classes)} labels")
    ((label, value),) = threshold.items()
    label_positions([label], classes)
    if not (isinstance(value, Real) and float(value) >= 0.0):
        raise ValueError(f"{expected}, a probability, got {value!r}")


class Threshold(NamedTuple):
    """Decide for the label from this probability on; what that costs on average, and what the best fixed decision for
    all rows would."""

    value: float
    cost: float
    baseline: float


def best_threshold(
    y: Any,
    proba: Any,
    label: Any,
    *,
    false_negative: float = 1.0,
    false_positive: float = 1.0,
    sample_weight: Any = None,
) -> Threshold:
    """The threshold with the least cost on these rows, halfway between two probabilities that occur.

    Parameters
    ----------
    y : labels (n,)
    proba : probabilities (n,) of ``label``
        Of rows that the model has not seen, such as a column of ``loo_proba_``. Where they are calibrated the result is
        near false_positive / (false_positive + false_negative), which needs no rows.
    false_negative, false_positive : what it costs to miss the label, and to decide for it wrongly
    sample_weight : weights (n,) of the rows, or None
    """
    truth, p = np.asarray(y) == label, np.asarray(proba, dtype=float)
    if p.shape != truth.shape or p.ndim != 1:
        raise ValueError(f"expected probabilities {truth.shape} of one label, got {p.shape}")
    p = checked_probabilities(p[:, None], 1)[:, 0]
    if not 0 < truth.sum() < len(truth):
        raise ValueError(
            f"expected rows with and without the label {label!r}, got {truth.sum()} of {len(truth)} with it"
        )
    if not (0 < false_negative < np.inf and 0 < false_positive < np.inf):
        raise ValueError(f"expected positive costs that are finite, got {false_negative!r} and {false_positive!r}")
    w = np.ones(len(p)) if sample_weight is None else row_weights(sample_weight, len(p))
    values, place = np.unique(p, return_inverse=True)
    with_label = np.bincount(place, w * truth, len(values))
    without = np.bincount(place, w * ~truth, len(values))
    # From the k-th value on: those below are missed, those from it on are false alarms.
    missed = np.concatenate([[0.0], np.cumsum(with_label)])
    alarms = without.sum() - np.concatenate([[0.0], np.cumsum(without)])
    cost = (false_negative * missed + false_positive * alarms) / w.sum()
    best = int(np.argmin(cost))
    borders = np.concatenate([[0.0], 0.5 * (values[1:] + values[:-1]), [np.nextafter(1.0, 2.0)]])
    return Threshold(float(borders[best]), float(cost[best]), float(min(cost[0], cost[-1])))
