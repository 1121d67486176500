"""USPS digits with a fraction of their labels (LPJ05 section 4.5), shared by tables 1 and 2."""

from typing import Any

import numpy as np

from ..estimators.null_category_classifier import NullCategoryClassifier
from .base import Quantity, Records, Rows, binomial_error, published_table
from .data import Split, halves
from .figures import COLOURS, MARKERS, panels

DIGITS = tuple("0123456789")
FRACTIONS = (0.01, 0.025, 0.05, 0.1, 0.25)
#: Columns of the tables: ten models of one digit against the others, and the combination of all ten.
COLUMNS = (*DIGITS, "overall")
N_RUNS, N_TEST = 10, 2007
#: By fraction and column, mean and standard deviation over ten runs of the error in per cent.
Published = dict[float, dict[str, tuple[float, float]]]


def published_errors(text: str) -> Published:
    return {float(fraction): cells for fraction, cells in published_table(text).items()}


def digits(n_rows: int) -> Split:
    """X, y, X_test, y_test: the first rows of the official training set, and the whole official test set."""
    X, y, X_test, y_test = halves("usps")
    return X[:n_rows], y[:n_rows].astype(int), X_test, y_test.astype(int)


def hide_labels(y: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Labels that are kept with this probability, else -1; at least one of each digit is kept."""
    rng = np.random.default_rng(seed)
    known = rng.random(len(y)) < fraction
    for digit in range(10):
        if not np.any(known & (y == digit)):
            known[rng.choice(np.flatnonzero(y == digit))] = True
    return np.where(known, y, -1)


def errors(model: NullCategoryClassifier, X: np.ndarray, y: np.ndarray) -> Rows:
    """Errors in per cent by column; ``baseline`` is the error of always predicting that it is not this digit.

    The model of one digit decides by its latent function and threshold. Of all ten the largest latent function decides,
    without thresholds, which weigh a digit against nine others: on the hidden labels of draw 100, with r = 0.025, 0.05
    and 0.1, the error is 9.2, 5.6 and 4.6 %, with thresholds 9.2, 5.8 and 4.8 %.
    """
    latent = model.latent(X).mean
    for digit in range(10):
        positive = y == digit
        error = 100.0 * np.mean((latent[:, digit] > 0.0) != positive)
        yield {"column": str(digit), "error": error, "baseline": 100.0 * np.mean(positive)}
    likelihoods = model.null_category_
    assert isinstance(likelihoods, tuple)
    thresholds = np.array([likelihood.bias for likelihood in likelihoods])
    yield {"column": "overall", "error": 100.0 * np.mean((latent - thresholds).argmax(axis=1) != y)}


def cell(name: str, column: str, records: Records, published: tuple[float, float] | None = None) -> Quantity:
    """One cell of a table, a mean over draws of the labels (of one draw, with the binomial error of the test rows)."""
    mean = records.mean("error")
    error = records.standard_error("error") if len(records) > 1 else binomial_error(mean, N_TEST)
    heading = "overall error %" if column == "overall" else f"digit {column} error %"
    if published is None:
        return Quantity(name, heading, mean, error, better="lower")
    printed, sd = published
    # Some standard deviations are printed as 0.00: then the rounding of the mean to three digits remains.
    rounding = float(0.5 * 10.0 ** (np.floor(np.log10(printed)) - 2.0))
    return Quantity(name, heading, mean, error, printed, max(sd / N_RUNS**0.5, rounding), "lower")


def compare_with(published: Published, records: Records) -> list[Quantity]:
    """Every cell of a table."""
    return [
        cell(f"r = {r}", column, part.where(column=column), published[r].get(column))
        for r, part in records.by("fraction").items()
        for column in COLUMNS
    ]


def error_decreases(records: Records) -> bool:
    """Whether the overall error, a mean over draws, is lower with every larger fraction of the labels."""
    cells = sorted(records.where(column="overall").by("fraction").items())
    return bool(np.all(np.diff([cell.mean("error") for _, cell in cells]) < 0.0))


def digits_not_found(records: Records) -> list[str]:
    """Digits whose model is in no draw better than the baseline."""
    return [digit for digit in DIGITS if all(row["error"] >= row["baseline"] for row in records.where(column=digit))]


def draw_errors(curves: dict[str, Records], published: Published) -> Any:
    """Overall error against the fraction of labels, one curve for each method, and the errors of each digit."""
    figure, (left, right) = panels(2, size=(4.8, 3.8))
    for i, (name, records) in enumerate(curves.items()):
        fractions, cells = zip(*sorted(records.where(column="overall").by("fraction").items()), strict=True)
        means, spreads = [part.mean("error") for part in cells], [part.sd("error") for part in cells]
        left.errorbar(fractions, means, spreads, color=COLOURS[i], marker=MARKERS[i], capsize=3, label=name)
    shown = {fraction: row["overall"] for fraction, row in published.items() if "overall" in row}
    style = {"color": COLOURS[-1], "marker": "x", "ls": "--"}
    left.errorbar(list(shown), *zip(*shown.values(), strict=True), capsize=3, label="published", **style)
    left.set(xscale="log", xlabel="fraction of rows with a label", ylabel="overall error %", ylim=(0, None))
    left.set_xticks(FRACTIONS, [str(fraction) for fraction in FRACTIONS])
    left.minorticks_off()
    left.set_title("bars: standard deviation over draws", fontsize="small")
    # The digits of the largest fraction, with which every model finds its digit.
    records = next(iter(curves.values()))
    largest = max(records.distinct("fraction"))
    measured = [records.where(fraction=largest, column=digit).mean("error") for digit in DIGITS]
    printed = [published[largest].get(digit, (np.nan, 0.0))[0] for digit in DIGITS]
    positions = np.arange(10)
    right.bar(positions - 0.2, measured, 0.4, color=COLOURS[0], label="ours")
    right.bar(positions + 0.2, printed, 0.4, color=COLOURS[-1], label="published")
    right.set_xticks(positions, DIGITS)
    right.set(xlabel="digit against the others", ylabel="error %")
    right.set_title(f"{largest:.0%} of the labels", fontsize="small")
    for ax in (left, right):
        ax.legend()
    return figure
