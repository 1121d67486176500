"""A comparison of models as text, CSV and a page."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..evaluation.leaderboard import Leaderboard, Ranked
from ..io import html as pages

#: What scores are called in tables, with their unit.
HEADS = {
    "error": "error %",
    "mean_steps_off": "steps off",
    "log_loss": "log loss",
    "brier": "Brier score",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "calibration_error": "calibration error %",
    "rmse": "RMSE",
    "log_density": "log density",
    "inside_90": "inside 90 % interval",
}
#: Scores of the predictions of all folds together, which have no standard error between folds.
_POOLED = ("brier", "roc_auc", "average_precision", "calibration_error")
#: Format and factor of a score.
_FORMATS: Mapping[str, tuple[str, float]] = {
    "error": (".2f", 100.0),
    "mean_steps_off": (".3f", 1.0),
    "log_loss": (".4f", 1.0),
    "brier": (".4f", 1.0),
    "roc_auc": (".3f", 1.0),
    "average_precision": (".3f", 1.0),
    "calibration_error": (".1f", 100.0),
    "rmse": (".4g", 1.0),
    "log_density": (".4f", 1.0),
    "inside_90": (".1f", 100.0),
}


def narrow(board: Leaderboard) -> list[str]:
    """The scores that have room on a terminal."""
    wide = {"brier", "average_precision"} | ({"roc_auc"} if "mean_steps_off" in board.metrics else set())
    return [name for name in board.metrics if name not in wide]


def cells(one: Ranked, metrics: Sequence[str]) -> list[str]:
    """The scores of a model with their standard errors, and the seconds of a fit, as text."""
    scores = [_cell(one, name) for name in metrics]
    return [*scores, f"{one.seconds:.1f}" if one.folds else ""]


def _cell(one: Ranked, name: str) -> str:
    if name not in one.scores:
        return one.state if name == "error" or name == "rmse" else ""
    digits, factor = _FORMATS[name]
    error = f" ± {factor * one.errors[name]:{digits}}" if name in one.errors else ""
    return f"{factor * one.scores[name]:z{digits}}{error}"


def notes_on(board: Leaderboard) -> list[str]:
    """What the figures are, and what went wrong."""
    by = "RMSE" if "rmse" in board.metrics else "log loss"
    notes = [f"means over {board.folds} folds ± standard errors between them, best {by} first; seconds of a fit"]
    for one in board.scores:
        done = f" after {one.folds} of {board.folds} folds" if one.state != "finished" and one.folds else ""
        if one.state != "finished" or one.message:
            notes.append(f"{one.name}: {one.state}{done}" + (f": {one.message}" if one.message else ""))
    if board.interrupted:
        notes.append("interrupted: the table shows what was finished")
    return notes


def records(board: Leaderboard) -> list[dict[str, Any]]:
    """One record for each model, with standard errors as ``..._se``, and the scores of every class."""
    found = []
    for one in board.scores:
        scores: dict[str, Any] = {}
        for name in board.metrics:
            scores[name] = one.scores.get(name)
            if name not in _POOLED:
                scores[f"{name}_se"] = one.errors.get(name)
        about = {"folds": one.folds, "seconds": one.seconds, "message": one.message}
        by_class = {"by_class": one.by_class} if "roc_auc" in board.metrics else {}
        found.append({"name": one.name, "state": one.state, **scores, **about, **by_class})
    return found


def csv(board: Leaderboard) -> str:
    import pandas as pd

    table = pd.DataFrame(records(board)).drop(columns="by_class", errors="ignore")
    return table.to_csv(index=False, lineterminator="\n", float_format="%.6g")


def page(board: Leaderboard, table: str, target: str, notes: Sequence[str] = ()) -> str:
    """A self-contained page: a bar for the score that models are sorted by, and a table of all scores."""
    by = "rmse" if "rmse" in board.metrics else "log_loss"
    rows = [[escape(one.name), *map(escape, cells(one, board.metrics))] for one in board.scores]
    heads = ["model", *[HEADS[name] for name in board.metrics], "seconds"]
    said = "".join(f"<li>{escape(note)}</li>" for note in [*notes_on(board), *notes])
    return pages.page(
        f"Models of {target}",
        [
            f"<h1>Models of {escape(target)}</h1>\n<p>Compared on the same {board.folds} folds of {escape(table)}.</p>",
            f"<section>\n<h2>{HEADS[by]}</h2>\n<p class=soft>Shorter is better; the line is one standard error to "
            f"either side.</p>\n{_bars(board, by)}\n</section>",
            f"<section>\n<h2>All scores</h2>\n{pages.table('Scores', heads, rows, range(1, len(heads)))}\n</section>",
            f"<section>\n<h2>Notes</h2>\n<ul>{said}</ul>\n</section>",
        ],
    )


def _bars(board: Leaderboard, by: str) -> str:
    """A bar chart of a score, as SVG in the colours of the page."""
    shown = [one for one in board.scores if by in one.scores]
    if not shown:
        return "<p>No model has finished.</p>"
    ends = [one.scores[by] + one.errors.get(by, 0.0) for one in shown]
    scale = 300.0 / (max(ends) or 1.0)
    digits = _FORMATS[by][0]
    parts = []
    for i, one in enumerate(shown):
        value, error, y = scale * one.scores[by], scale * one.errors.get(by, 0.0), 26 * i
        kind = "ours" if one.name.startswith("gpclass") else "theirs"
        parts += [
            f'<text x="170" y="{y + 16}" text-anchor="end">{escape(_shortened(one.name))}</text>',
            f'<rect class="{kind}" x="180" y="{y + 3}" width="{value:.1f}" height="18" rx="2"/>',
            f'<line x1="{180 + max(value - error, 0.0):.1f}" x2="{180 + value + error:.1f}" y1="{y + 12}" '
            f'y2="{y + 12}"/>',
            f'<text x="{188 + value + error:.1f}" y="{y + 16}">{one.scores[by]:{digits}}</text>',
        ]
    names = ", ".join(f"{one.name} {one.scores[by]:{digits}}" for one in shown)
    size = f'viewBox="0 0 560 {26 * len(shown)}"'
    return f'<svg class="bars" {size} role="img" aria-label="{escape(names)}">{"".join(parts)}</svg>'


def _shortened(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"
