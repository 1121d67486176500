"""The command ``gpclass check``: how a new table differs from the one that a model was fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from ._console import count, out, print_json, print_line, print_notes
from .explain import ShowAll
from .models import AsJson, Encoding, ModelFile, TableFile, _load

#: Columns shown, so that all fits on 20 lines, and all of them with --all.
_MOST = 12


def check(
    model: ModelFile, data: TableFile, encoding: Encoding = None, show_all: ShowAll = False, json: AsJson = False
) -> None:
    """Check a new table for drift: has the data changed since training?

    Prints for each column the distance between the distributions (Kolmogorov-Smirnov statistic for numbers, total
    variation for categories; 0: equal, 1: disjoint), missing values, numbers outside the training range and new
    categories; then the fraction of rows far from the training rows, and the predicted labels.

    A change is reported if it is larger than chance explains, given the number of tests. Numbers are compared with the
    training rows that the model keeps (at most 500). The exit code is 0 with or without changes.
    """
    from ..tabular import check_drift, read_table

    found = check_drift(_load(model), read_table(data, encoding))
    print_notes(found["notes"])
    if json:
        print_json(found)
        return
    print_line(found["summary"])
    _show_columns(found["columns"], show_all)
    far, predictions = found["far"], found["predictions"]
    print_line(
        f"far from the training rows: {_percent(far['share'])} of the rows, {_percent(far['before'])} in training"
    )
    if "labels" in predictions:
        labels = sorted(predictions["labels"], key=lambda label: -abs(label["share"] - label["before"]))
        texts = [f"{one['label']} {_percent(one['share'])} ({_percent(one['before'])})" for one in labels[:6]]
        more = f" and {len(labels) - 6} more" if len(labels) > 6 else ""
        print_line(f"predicted labels (in training): {', '.join(texts)}{more}")
    else:
        print_line(f"mean prediction: {predictions['mean']:.4g} ({predictions['mean_before']:.4g} in training)")
    if found["unknown_columns"]:
        print_line(f"columns that the training table did not have: {', '.join(found['unknown_columns'][:8])}")
    rows = f"{count(found['rows'], 'row')} compared with {count(found['reference_rows'], 'kept row')}"
    print_line(f"{rows} of the training table")


def _show_columns(columns: list[Mapping[str, Any]], show_all: bool) -> None:
    table = Table("column", "changed", "distance", "missing (before)", "new values", box=None)
    shown = columns if show_all else columns[:_MOST]
    for row in shown:
        if "out_of_range" in row:
            new = f"{_percent(row['out_of_range'])} out of range" if row["out_of_range"] else ""
        else:
            named = ", ".join(row.get("named", [])[:3])
            new = f"{_percent(row['new_categories'])} new: {named}" if named else ""
        changed = Text("yes", style="yellow") if row["changed"] else Text("no", style="dim")
        missing = f"{_percent(row['missing'])} ({_percent(row['missing_before'])})"
        missing = missing if row["missing"] or row["missing_before"] else ""
        table.add_row(Text(row["column"]), changed, f"{row['distance']:.3f}", missing, Text(new))
    out.print(table)
    if len(columns) > len(shown):
        print_line(f"and {count(len(columns) - len(shown), 'more column')}: --all shows all")


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
