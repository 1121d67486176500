"""USPS digits with a fraction of their labels (LPJ05 section 4.5): what tables 1 and 2 share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..estimators.null_category import NullCategoryClassifier
from .base import Comparison, Records, binomial_error
from .data import halves
from .figures import COLOURS, MARKERS, panels

FRACTIONS = (0.01, 0.025, 0.05, 0.1, 0.25)
#: Columns of the tables: ten models of one digit against the others, and all of them together.
COLUMNS = (*"0123456789", "overall")
N_RUNS, N_TEST = 10, 2007
#: By fraction and column, mean and standard deviation over ten runs of the error in per cent.
Published = dict[float, dict[str, tuple[float, float]]]


def digits(n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y, X_test, y_test: the first rows of the official training set, and the whole official test set."""
    X, y, X_test, y_test = halves("usps")
    return X[:n_rows], y[:n_rows].astype(int), X_test, y_test.astype(int)


def hidden(y: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Labels that stay with this probability, -1 in place of the others; of each digit at least one stays."""
    rng = np.random.default_rng(seed)
    known = rng.random(len(y)) < fraction
    for digit in range(10):
        if not np.any(known & (y == digit)):
            known[rng.choice(np.flatnonzero(y == digit))] = True
    return np.where(known, y, -1)


def errors(model: NullCategoryClassifier, X: np.ndarray, y: np.ndarray) -> Iterator[dict[str, Any]]:
    """Errors in per cent by column; ``refusal`` is that of saying every time that it is not this digit.

    A digit's own model decides by its latent function and threshold. Of all ten the largest latent function decides,
    without thresholds, which weigh a digit against nine others: on the hidden labels of draw 100, with r = 0.025, 0.05
    and 0.1, that errs in 9.2, 5.6 and 4.6 %, with thresholds in 9.2, 5.8 and 4.8 %.
    """
    above = model.latent(X).mean
    for digit in range(10):
        own = y == digit
        wrong = 100.0 * np.mean((above[:, digit] > 0.0) != own)
        yield {"column": str(digit), "error": wrong, "refusal": 100.0 * np.mean(own)}
    thresholds = np.array([likelihood.bias for likelihood in model.null_category_])  # type: ignore[union-attr]
    yield {"column": "overall", "error": 100.0 * np.mean((above - thresholds).argmax(axis=1) != y)}


def comparison(name: str, column: str, own: Records, published: tuple[float, float] | None = None) -> Comparison:
    """One cell of a table, ours a mean over draws of the labels (of one draw, only the test rows' chance is known)."""
    mean = own.mean("error")
    error = own.standard_error("error") if len(own) > 1 else binomial_error(mean, N_TEST)
    heading = "overall error %" if column == "overall" else f"digit {column} error %"
    if published is None:
        return Comparison(name, heading, mean, error, better="lower")
    # Some spreads are printed as 0.00: then all that is not known is how the mean was rounded.
    known = max(published[1] / N_RUNS**0.5, half_a_unit(published[0]))
    return Comparison(name, heading, mean, error, published[0], known, "lower")


def half_a_unit(percent: float) -> float:
    """Half a unit of the last digit of a number with three of them, as the tables print all of theirs."""
    return float(0.5 * 10.0 ** (np.floor(np.log10(percent)) - 2.0))


def compare(records: Records, published: Published) -> list[Comparison]:
    """Every cell of a table."""
    return [
        comparison(
            f"r = {fraction}", column, records.where(fraction=fraction, column=column), published[fraction].get(column)
        )
        for fraction in records.distinct("fraction")
        for column in COLUMNS
    ]


def falls(records: Records) -> bool:
    """Whether the overall error, a mean over draws, is lower with every larger fraction of the labels."""
    overall = records.where(column="overall")
    means = [overall.where(fraction=fraction).mean("error") for fraction in sorted(overall.distinct("fraction"))]
    return bool(np.all(np.diff(means) < 0.0))


def never_found(records: Records) -> list[str]:
    """Digits whose model does in no draw better than to say every time that it is not this one."""
    return [
        digit
        for digit in COLUMNS[:-1]
        if all(row["error"] >= row["refusal"] for row in records.where(column=digit) if "refusal" in row)
    ]


def draw_errors(curves: dict[str, Records], published: Published) -> Any:
    """Overall error against the fraction of labels, one curve for each method, and the digits' own errors beside it."""
    figure, (left, right) = panels(2, size=(4.8, 3.8))
    for i, (name, records) in enumerate(curves.items()):
        own = records.where(column="overall")
        fractions = sorted(own.distinct("fraction"))
        cells = [own.where(fraction=fraction) for fraction in fractions]
        left.errorbar(
            fractions,
            [cell.mean("error") for cell in cells],
            [cell.sd("error") for cell in cells],
            color=COLOURS[i],
            marker=MARKERS[i],
            capsize=3,
            label=name,
        )
    shown = {fraction: row["overall"] for fraction, row in published.items() if "overall" in row}
    means, spreads = zip(*shown.values(), strict=True)
    left.errorbar(list(shown), means, spreads, color=COLOURS[-1], marker="x", ls="--", capsize=3, label="published")
    left.set(xscale="log", xlabel="fraction of rows with a label", ylabel="overall error %", ylim=(0, None))
    left.set_xticks(FRACTIONS, [str(fraction) for fraction in FRACTIONS])
    left.minorticks_off()
    left.set_title("bars: standard deviation over draws", fontsize="small")
    left.legend()
    # The digits of the largest fraction, where every model has something to go by.
    records = next(iter(curves.values()))
    largest = max(records.distinct("fraction"))
    own = records.where(fraction=largest)
    positions = np.arange(10)
    right.bar(
        positions - 0.2,
        [own.where(column=digit).mean("error") for digit in COLUMNS[:-1]],
        0.4,
        color=COLOURS[0],
        label="ours",
    )
    theirs = [published[largest].get(digit, (np.nan, 0.0))[0] for digit in COLUMNS[:-1]]
    right.bar(positions + 0.2, theirs, 0.4, color=COLOURS[-1], label="published")
    right.set_xticks(positions, COLUMNS[:-1])
    right.set(xlabel="digit against the others", ylabel="error %")
    right.set_title(f"{largest:.0%} of the labels", fontsize="small")
    right.legend()
    return figure
