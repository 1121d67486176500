"""Options of several commands about costs and thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import fail

if TYPE_CHECKING:
    from ..tabular.deciding import Decisions

_COST = "expected false_negative=20, false_positive=2 or 'fraud->fine=20' (label->decision=cost)"

Cost = Annotated[
    list[str] | None,
    typer.Option(
        help="Cost of a mistake (default 1): false_negative=20, or 'fraud->fine=20' for deciding 'fine' if the label "
        "is 'fraud'. May be repeated.",
        metavar="MISTAKE=COST",
        show_default=False,
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        help="Probability from which to decide for the positive label. auto: the threshold with the lowest cost on "
        "leave-one-out or held-out predictions.",
        metavar="P|auto",
        show_default=False,
    ),
]
Reject = Annotated[
    float | None,
    typer.Option(
        help="Cost of asking a person: the decision is 'ask' if any other is expected to cost more.",
        metavar="COST",
        show_default=False,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        help="Positive label; default: the rarer of two. Another one than in fit drops the threshold and the "
        "false_negative and false_positive costs of the model.",
        show_default=False,
        metavar="LABEL",
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        help="balanced, or label=2,label2=1: for a population with other class frequencies than the table. For a rare "
        "label, use --cost or --threshold instead.",
        metavar="WEIGHTS",
        show_default=False,
    ),
]


def decisions(cost: list[str] | None, threshold: str | None, reject: float | None, positive: str | None) -> Decisions:
    """What the options say."""
    from ..tabular.deciding import Decisions

    costs = dict(_parsed_cost(one) for one in cost) if cost else None
    if cost and costs is not None and len(costs) < len(cost):
        raise fail(f"--cost: expected every mistake once, got {', '.join(cost)}", 2)
    return Decisions(costs, _parsed_threshold(threshold), reject, positive)


def _parsed_cost(given: str) -> tuple[str, float]:
    mistake, _, number = given.rpartition("=")
    cost = _number(number)
    if cost is None or not mistake.strip():
        raise fail(f"--cost: {_COST}, got {given!r}", 2)
    return mistake.strip(), cost


def _parsed_threshold(given: str | None) -> Any:
    if given is None or given == "auto":
        return given
    value = _number(given)
    if value is None or not 0.0 < value < 1.0:
        raise fail(f"--threshold: expected a number between 0 and 1, or auto, got {given!r}", 2)
    return value


def class_weight(given: str | None) -> Any:
    """'balanced', or weights by label."""
    if given is None or given == "balanced":
        return given
    weights = {}
    for part in given.split(","):
        label, _, number = part.rpartition("=")
        weight = _number(number)
        if not label.strip() or weight is None or weight <= 0 or label.strip() in weights:
            raise fail(f"--class-weight: expected balanced or label=2,label2=1, got {given!r}", 2)
        weights[label.strip()] = weight
    return weights


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
