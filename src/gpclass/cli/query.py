"""The command that chooses rows to label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._console import count, print_json, print_line, print_notes, write_stdout
from .models import AsJson, Encoding, ModelFile, _check_output, _csv, _load

Pool = Annotated[Path, typer.Argument(help="CSV, TSV or Parquet file of rows to choose from.", show_default=False)]


def query(
    model: ModelFile,
    pool: Pool,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Number of rows to choose.", metavar="N")] = 10,
    strategy: Annotated[str, typer.Option(help="Score of a row: margin, entropy or bald.", metavar="NAME")] = "margin",
    save: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV file; default: standard output.", show_default=False, metavar="FILE"),
    ] = None,
    encoding: Encoding = None,
    json: AsJson = False,
) -> None:
    """Choose which rows of a table to label next (active learning).

    The most informative row comes first. Each row is scored given those before it, so similar rows are not chosen
    together. Rows that have a label already are skipped. The score is 1 minus the difference between the two largest
    probabilities (margin), the entropy of the label in nats (entropy), or the mutual information of the label and the
    model in nats (bald).
    """
    _check_output(save, pool, model)
    from ..tabular import query_table, read_table

    table = read_table(pool, encoding)
    found = query_table(_load(model), table, n, strategy)
    chosen = table.subset(found.rows.tolist())
    columns: dict[str, Any] = {table.unit: chosen.positions, "score": found.scores.tolist()}
    columns |= {f"{name} (of the table)" if name in columns else name: cells for name, cells in chosen.columns.items()}
    print_notes(found.notes)
    if save is not None:
        from ..io.files import write_whole

        write_whole(save, _csv(columns))
    if json:
        print_json({"rows": columns, "out": None if save is None else str(save), "notes": found.notes})
    elif save is None:
        write_stdout(_csv(columns))
    else:
        print_line(f"{count(len(chosen), 'row')} to label in {save}")
