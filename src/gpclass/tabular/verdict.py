"""What the scores of a model say, in one sentence and three numbers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .model import TableModel

#: A space at which a line does not end.
NO_BREAK = "\u00a0"
#: A model predicts well, or fairly well, with up to this share of the error (or variance) of guessing left.
_WELL, _FAIRLY = 0.25, 0.6


class Verdict(NamedTuple):
    """A sentence, and three numbers as text with what they are."""

    sentence: str
    numbers: tuple[tuple[str, str], ...]


def verdict(model: TableModel) -> Verdict:
    """How well a model predicts, and whether that is better than guessing."""
    judge_scores = _of_numbers if model.task_ == "regression" else _of_classes
    return judge_scores(model.target, model.scores_)


def _of_classes(target: str, scores: Mapping[str, Any]) -> Verdict:
    error, guess = scores["error"], scores["guess_error"]
    low, high = scores["error_low"], scores["error_high"]
    interval = f"95 % interval {percent(low, False)} to {percent(high)}"
    wrong, guessing = f"{percent(error)} of rows wrong ({interval})", "guessing the most frequent class"
    if high < guess:
        sentence = (
            f"Predicts {target} {_how_well(error / guess)}: {wrong}, where {guessing} is wrong for {percent(guess)}."
        )
    else:
        if error < guess:
            start = f"It is not certain that {target} is predicted better than by {guessing}"
        else:
            start = f"Predicts {target} no better than {guessing}"
        sentence = f"{start}: {wrong}, where guessing is wrong for {percent(guess)}."
        if scores["log_loss"] + 2.0 * (scores["log_loss_se"] or np.inf) < scores["guess_log_loss"]:
            sentence += " Its probabilities still say more than the class frequencies do."
    if "mean_cost" in scores:
        sentence += (
            f" Its decisions cost {scores['mean_cost']:.3g} per row, where {scores['guess_decision']!r} for all rows "
            f"costs {scores['guess_mean_cost']:.3g}."
        )
    third = (percent(scores["calibration_error"]), "calibration error: mean gap between confidence and accuracy")
    if "mean_steps_off" in scores:
        third = (f"{scores['mean_steps_off']:.2f}", "steps off in the order of the classes, on average")
    return Verdict(
        sentence,
        (
            (percent(error), f"of rows wrong, {interval}"),
            (f"{scores['log_loss']:z.3f}", f"log loss; {scores['guess_log_loss']:.3f} for the class frequencies"),
            third,
        ),
    )


def _of_numbers(target: str, scores: Mapping[str, Any]) -> Verdict:
    rmse, guess = scores["rmse"], scores["guess_rmse"]
    off = f"off by {rmse:.3g} (root mean square), where predicting the mean is off by {guess:.3g}"
    if rmse + 2.0 * (scores["rmse_se"] or 0.0) < guess:
        sentence = f"Predicts {target} {_how_well(1.0 - scores['explained'])}: {off}."
    else:
        sentence = f"Predicts {target} no better than its mean does: {off}."
    return Verdict(
        sentence,
        (
            (f"{rmse:.3g}", f"root mean square error; {guess:.3g} for the mean"),
            (percent(max(scores["explained"], 0.0)), "of the variance explained"),
            (percent(scores["inside_90"]), "of values inside their 90 % intervals"),
        ),
    )


def _how_well(share_left: float) -> str:
    if share_left <= _WELL:
        return "well"
    return "fairly well" if share_left <= _FAIRLY else "better than guessing, but with many errors"


def percent(share: float, unit: bool = True) -> str:
    """A share in per cent, with one decimal below ten."""
    value = 100.0 * share
    return f"{value:.{1 if value < 9.95 else 0}f}{NO_BREAK + '%' if unit else ''}"
