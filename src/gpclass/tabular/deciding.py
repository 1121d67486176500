"""Decisions of a model of a table: what mistakes cost, thresholds, and rows that a person should look at."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np

from ..evaluation.class_scores import rarer
from ..evaluation.decisions import DecisionRule, best_threshold
from ..evaluation.intervals import Z_95, effective_rows, mean_and_error, wilson
from .tables import TableError, label_text, listed

#: What stands in place of a decision where a person should look.
ASK = "ask"
#: A tuned threshold is scored on rows that it was not tuned on, in so many parts.
_PARTS = 5
_EXAMPLES = "false_negative=20 or 'fraud->fine=20'"


@dataclass(frozen=True)
class Decisions:
    """How to decide, as people say it; ``rule`` makes it exact for the labels of a model.

    ``costs`` maps "false_negative" and "false_positive", or pairs, ("fraud", "fine") or "fraud->fine" for
    deciding fine where it is fraud, to costs. ``threshold`` is a
    probability of the positive label, or "auto": the one of least cost on given predictions. ``reject`` is the cost of
    asking a person, and ``positive`` the positive label, by default the rarer one of two.
    """

    costs: Mapping[Any, float] | None = None
    threshold: Any = None
    reject: float | None = None
    positive: Any = None

    @property
    def decides(self) -> bool:
        """Whether there is more to do than to take the most probable label."""
        return any(value is not None for value in (self.costs, self.threshold, self.reject))

    def updated(self, given: Self) -> Self:
        """With what is given in place of the own; new costs end the threshold that went with the old ones.

        Another positive label ends the threshold and the costs of false negatives and positives: they are those of the
        old one. Costs of pairs of labels stay.
        """
        own = replace(self, threshold=None) if given.costs is not None else self
        if given.positive is not None and str(label_text(given.positive)) != str(label_text(self.positive)):
            costs = {key: cost for key, cost in (self.costs or {}).items() if as_pair(key) is not None}
            own = replace(self, threshold=None, costs=costs or None)
        return replace(own, **{name: value for name, value in vars(given).items() if value is not None})

    def positive_position(self, labels: list[str], counts: Mapping[str, float]) -> int | None:
        """The positive label's position; None where there are several labels and none is named."""
        if self.positive is not None:
            text = str(label_text(self.positive))
            if text not in labels:
                raise TableError(f"expected the positive label to be one of {listed(labels)}, got {text!r}")
            return labels.index(text)
        return rarer([counts.get(label, 0) for label in labels]) if len(labels) == 2 else None

    def rule(
        self, labels: list[str], positive: int | None, scored: Mapping[str, np.ndarray], weights: Any
    ) -> DecisionRule | None:
        """The rule for these labels, None where nothing is asked for; ``scored`` are predictions of rows with known
        labels, which a threshold is tuned on."""
        if not self.decides:
            return None
        if self.reject is not None and ASK in labels:
            raise TableError(f"expected no label {ASK!r} with a reject option, which marks rejected rows with it")
        try:
            rule = DecisionRule(labels, self.cost_table(labels, positive), self.reject)
            if self.threshold is None:
                return rule
            if len(labels) != 2 or positive is None:
                raise ValueError(f"expected two labels for a threshold, got {len(labels)}; use costs instead")
            value = self._tuned(rule, positive, scored, weights) if self.threshold == "auto" else self._fixed()
            return replace(rule, threshold={labels[positive]: value})
        except (ValueError, TypeError) as error:
            raise TableError(str(error)) from None

    def decide(
        self,
        rule: DecisionRule,
        positive: int | None,
        scored: Mapping[str, np.ndarray],
        weights: Any,
        clusters: np.ndarray | None = None,
    ) -> np.ndarray:
        """The decisions (n,) about rows with known labels; a tuned threshold is tuned anew on the rows of other parts,
        because on its own rows it looks better than it is. Rows of a cluster are in the same part."""
        chosen = rule.choose(scored["proba"])
        if self.threshold != "auto" or positive is None:
            return chosen
        order = np.argsort(scored["labels"], kind="stable")  # so that every part has its share of both labels
        part = np.empty(len(order), dtype=int)
        part[order] = np.arange(len(order)) % _PARTS
        if clusters is not None:
            part = np.unique(clusters, return_inverse=True)[1] % _PARTS
        for k in range(_PARTS):
            others = {name: values[part != k] for name, values in scored.items()}
            value = self._tuned(rule, positive, others, None if weights is None else weights[part != k])
            own = replace(rule, threshold={rule.classes[positive]: value})
            chosen[part == k] = own.choose(scored["proba"][part == k])
        return chosen

    def _fixed(self) -> float:
        if not isinstance(self.threshold, Real) or not 0.0 < float(self.threshold) < 1.0:
            raise ValueError(f"expected a threshold between 0 and 1, or 'auto', got {self.threshold!r}")
        return float(self.threshold)

    def _tuned(self, rule: DecisionRule, positive: int, scored: Mapping[str, np.ndarray], weights: Any) -> float:
        missed, alarm = _prices(rule, positive)
        if not (missed > 0 and alarm > 0):
            raise ValueError(f"expected mistakes to cost more than right decisions, got {missed:g} and {alarm:g} more")
        truth = scored["labels"] == positive
        if not 0 < truth.sum() < len(truth):  # nothing to tune on
            return alarm / (missed + alarm)
        p = scored["proba"][:, positive]
        prices = {"false_negative": missed, "false_positive": alarm}
        return best_threshold(truth, p, True, **prices, sample_weight=weights).value

    def check(self, labels: list[str], positive: int | None) -> None:
        """Refuse what cannot be a rule for these labels."""
        self.rule(labels, positive, {"labels": np.empty(0), "proba": np.empty((0, len(labels)))}, None)

    def cost_table(self, labels: list[str], positive: int | None) -> np.ndarray:
        """The cost (K, K) of each decision (columns) for each label."""
        table = 1.0 - np.eye(len(labels))
        if self.costs is not None and not isinstance(self.costs, Mapping):
            raise TypeError(f"expected costs such as {_EXAMPLES}, got {self.costs!r}")
        # What is said of single pairs holds where both are given.
        for key, cost in sorted((self.costs or {}).items(), key=lambda item: as_pair(item[0]) is not None):
            pair = as_pair(key)
            if pair is not None:
                places = [_position(one, labels) for one in pair]
                table[places[0], places[1]] = cost
            elif key not in ("false_negative", "false_positive"):
                raise ValueError(f"expected costs such as {_EXAMPLES}, got {key!r}")
            elif positive is None:
                raise ValueError(
                    f"{key} needs the positive label (--positive) or two labels, got {len(labels)}; "
                    "'label->decision=cost' works for any number"
                )
            else:
                others = np.arange(len(labels)) != positive
                place = (positive, others) if key == "false_negative" else (others, positive)
                table[place] = cost
        return table


def as_pair(key: Any) -> tuple[Any, Any] | None:
    """Label and decision of "fraud->fine" or ("fraud", "fine"); None for what is no pair."""
    parts = tuple(part.strip() for part in key.split("->")) if isinstance(key, str) else key
    return (parts[0], parts[1]) if isinstance(parts, tuple) and len(parts) == 2 else None


def written_costs(costs: Any) -> Any:
    """Costs with pairs as text, which can be saved."""
    if not isinstance(costs, Mapping):
        return costs
    texts = {key: None if (pair := as_pair(key)) is None else [str(label_text(one)) for one in pair] for key in costs}
    if any(pair is not None and "->" in "".join(pair) for pair in texts.values()):
        raise TableError(f"expected labels without '->' in costs, got {list(costs)}")
    return {key if texts[key] is None else "->".join(texts[key] or ()): cost for key, cost in costs.items()}


def class_weights(given: Any, labels: list[Any]) -> Any:
    """As estimators take them: "balanced", or a weight for each of the labels, 1 where none is given."""
    if given is None or (isinstance(given, str) and given == "balanced"):
        return given
    if not isinstance(given, Mapping):
        raise TableError(f"expected class weights 'balanced' or label=2,label2=1, got {given!r}")
    by_text = {str(label_text(label)): weight for label, weight in given.items()}
    texts = [str(label_text(label)) for label in labels]
    unknown = [text for text in by_text if text not in texts]
    if unknown:
        raise TableError(f"expected class weights of labels among {listed(texts)}, got {unknown[0]!r}")
    return {label: by_text.get(text, 1.0) for label, text in zip(labels, texts, strict=True)}


def _position(label: Any, labels: list[str]) -> int:
    text = str(label_text(label))
    if text not in labels:
        raise ValueError(f"expected costs of labels among {listed(labels)}, got {text!r}")
    return labels.index(text)


def _prices(rule: DecisionRule, positive: int) -> tuple[float, float]:
    """What a miss and a false alarm cost more than the right decisions, for two labels."""
    C, other = rule.costs, 1 - positive
    return float(C[positive, other] - C[positive, positive]), float(C[other, positive] - C[other, other])


def described(rule: DecisionRule, positive: int | None) -> str:
    """What a rule does, in one sentence."""
    if positive is not None and len(rule.classes) == 2:
        missed, alarm = _prices(rule, positive)
        label, value = str(rule.classes[positive]), alarm / (missed + alarm) if missed + alarm else np.nan
        if rule.threshold is not None:
            ((label, value),) = rule.threshold.items()
        text = f"decides for {label!r} from a probability of {value:.3g} on"
    else:
        text = "decides for the label of least expected cost"
    return text if rule.reject is None else f"{text}; {ASK!r} where the expected cost is above {rule.reject:g}"


def decision_scores(
    rule: DecisionRule, labels: np.ndarray, decided: np.ndarray, weights: np.ndarray | None
) -> dict[str, Any]:
    """The mean cost of decisions (n,) beside that of the best constant decision, and the share of rejected rows."""
    w = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float)
    paid, constant, best = costs_beside_constant(rule, labels, decided, w)
    mean, error = mean_and_error(paid, w)
    gain, gain_error = mean_and_error(paid - constant, w)
    scores: dict[str, Any] = {
        "mean_cost": mean,
        "mean_cost_se": error,
        "guess_mean_cost": float(np.average(constant, weights=w)),
        "guess_decision": str(best),
        "mean_cost_beats_guess": gain_error is not None and gain + Z_95 * gain_error < 0.0,
        "rule": {
            "costs": rule.costs.tolist(),
            "threshold": None if rule.threshold is None else dict(rule.threshold),
            "reject": rule.reject,
        },
    }
    if rule.reject is not None:
        asked = float(np.average(decided < 0, weights=w))
        low, high = wilson(asked, effective_rows(w))
        scores |= {"asked": asked, "asked_low": low, "asked_high": high}
    return scores


def costs_beside_constant(
    rule: DecisionRule, labels: np.ndarray, decided: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Any]:
    """What the decisions (n,) about each row cost, what the best constant decision costs there, and that decision."""
    paid, constant = rule.costs_paid(np.asarray(rule.classes)[labels], decided), rule.costs[labels]
    if rule.reject is not None:
        constant = np.column_stack([constant, np.full(len(labels), rule.reject)])
    best = int(np.average(constant, axis=0, weights=weights).argmin())
    return paid, constant[:, best], rule.classes[best] if best < len(rule.classes) else ASK
