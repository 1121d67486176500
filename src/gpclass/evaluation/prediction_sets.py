"""Sets of labels that hold the true one with a chosen probability: conformal prediction.

A label belongs to the set of a row where its probability is at least a threshold t. On n rows that the model has not
seen, t is the k-th largest probability of a true label, k = ceil((n + 1) coverage) (Sadinle, Lei and Wasserman 2019;
Vovk, Gammerman and Shafer 2005). If these rows and a new one are exchangeable, the place of the new row's probability
among the n + 1 is uniform, so it is at least t with a probability of k / (n + 1) or more, whatever the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from .metrics import checked_probabilities, label_positions, row_weights


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """Which labels to expect of a row, given the probabilities of a model: made by ``calibrate``, used by ``of``.

    Parameters
    ----------
    classes : the labels, in the order of the columns of probabilities
    thresholds : (K,) the least probability with which each label belongs to a set
    coverage : the share of rows whose set holds their label

    Examples
    --------
    >>> import numpy as np
    >>> from gpclass.evaluation.prediction_sets import PredictionSets
    >>> proba = np.linspace([0.05, 0.95], [0.95, 0.05], 19)  # of rows that the model was not fitted to
    >>> sets = PredictionSets.calibrate(["no", "yes"] * 9 + ["no"], proba, ["no", "yes"], coverage=0.7)
    >>> sets.of([[0.1, 0.9], [0.5, 0.5]])
    array([[False,  True],
           [ True,  True]])
    """

    classes: np.ndarray
    thresholds: np.ndarray
    coverage: float

    @classmethod
    def calibrate(
        cls,
        y: Any,
        proba: Any,
        classes: Any,
        coverage: float = 0.9,
        by_class: bool = False,
        sample_weight: Any = None,
    ) -> Self:
        """Thresholds from rows with known labels that the model was not fitted to.

        Parameters
        ----------
        y : labels (n,)
        proba : probabilities (n, K)
            Of rows set aside ("split conformal"): the coverage holds on average over rows and splits, whatever the
            model. Of leave-one-out predictions: it holds as far as the model hardly changes with one row.
        classes : the labels, in the order of the columns of ``proba``
        coverage : the share of new rows whose set is to hold their label, between 0 and 1
        by_class : bool, default=False
            Whether it shall be that share among the rows of every class, each of which gets a threshold of its own.
        sample_weight : (n,), default=None
            How often each row stands for rows like the new ones; a new row counts as the heaviest of these
            (Tibshirani et al. 2019), so the scale of weights does not matter.
        """
        check_coverage(coverage, by_class)
        classes = np.asarray(classes)
        proba = checked_probabilities(proba, len(classes))
        if np.shape(y) != (len(proba),):
            raise ValueError(f"expected {len(proba)} labels, one for each row of probabilities, got {np.shape(y)}")
        codes = label_positions(y, classes)
        weights = np.ones(len(proba)) if sample_weight is None else row_weights(sample_weight, len(proba))
        own = proba[np.arange(len(proba)), codes]
        groups = [codes == k for k in range(len(classes))] if by_class else [np.ones(len(codes), bool)]
        found = [_threshold(own[rows], weights[rows], coverage) for rows in groups]
        for label, rows, threshold in zip(classes.tolist(), groups, found, strict=False):
            if threshold is None:
                raise ValueError(_too_few(weights[rows], coverage, f" of {label!r}" if by_class else ""))
        return cls(classes, np.broadcast_to(np.array(found, dtype=float), (len(classes),)), float(coverage))

    def of(self, proba: Any) -> np.ndarray:
        """Which labels (n, K) belong to the set of each row; at least the most probable one.

        A row whose most probable label is below the threshold would have an empty set, which is always wrong: with the
        most probable label the coverage is never lower. Where a model errs less often than ``1 - coverage``, it is
        above ``coverage`` therefore, about the share of rows that are predicted right.
        """
        proba = checked_probabilities(proba, len(self.classes))
        sets = proba >= self.thresholds
        empty = np.flatnonzero(~sets.any(axis=1))
        sets[empty, proba[empty].argmax(axis=1)] = True
        return sets


def check_coverage(coverage: Any, by_class: Any = False) -> None:
    """Refuse what is no share of rows."""
    number = isinstance(coverage, Real) and not isinstance(coverage, bool)
    if not (number and 0.0 < coverage < 1.0):
        raise ValueError(f"expected a coverage between 0 and 1, such as 0.9, got {coverage!r}")
    if not isinstance(by_class, (bool, np.bool_)):
        raise ValueError(f"expected by_class to be True or False, got {by_class!r}")


def _threshold(own: np.ndarray, weights: np.ndarray, coverage: float) -> float | None:
    """The largest t for which rows with ``own`` >= t have the weight coverage * (total + that of the new row); None
    where all of them together do not."""
    if not np.any(weights):
        return None
    order = np.argsort(-own, kind="stable")
    reached = np.cumsum(weights[order])
    needed = coverage * (reached[-1] + weights.max())
    place = int(np.searchsorted(reached, needed * (1.0 - 1e-12)))  # 0.07 * 100 is more than 7
    return None if place == len(own) else float(own[order[place]])


def _too_few(weights: np.ndarray, coverage: float, which: str) -> str:
    least = int(np.ceil(coverage / (1.0 - coverage) * (1.0 - 1e-12)))
    total = weights.sum() / weights.max() if len(weights) and weights.max() > 0 else 0.0
    got = f"{len(weights)}" if total == len(weights) else f"{len(weights)} that count as {total:.3g} by their weights"
    smaller = "; choose a smaller coverage" + (", or by_class=False" if which else "")
    return f"expected at least {least} rows{which} for a coverage of {coverage:g}, got {got}{smaller}"
