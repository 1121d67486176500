"""Commands for the papers' experiments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from ._console import err, fail, out, print_line

if TYPE_CHECKING:
    from ..papers import Experiment, Result

COLOURS = {"better": "blue", "within": "green", "worse": "red", "differs": "yellow", "": "default"}


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments, such as gr06-table1; 'all' for all of them.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments and exit.")] = False,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="Run as published, or reduced so that all take about 12 minutes.")
    ] = False,
    folder: Annotated[Path, typer.Option("--out", help="Folder of the results.")] = Path("reproduction"),
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Number of processes; default: the number of cores.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Recompute existing results.")] = False,
) -> None:
    """Reproduce tables and figures of the papers, beside the published values.

    Finished tasks are kept: a stopped run continues from there. 'gpclass report' makes a page of the results.
    """
    from ..papers import NAMES, get

    if list_all or not names:
        table = Table(Column("name", no_wrap=True), "title", box=None)
        for name in NAMES:
            table.add_row(name, Text(get(name).title))
        out.print(table)
        if not list_all:
            raise fail("expected the name of an experiment or 'all'; --list shows the names", 2)
        return
    try:
        everything = "all" in names
        selected = [get(name) for name in dict.fromkeys(names) if name != "all"]
        selected = [get(name) for name in NAMES] if everything else selected
        folder.mkdir(parents=True, exist_ok=True)
    except ValueError as error:
        raise fail(str(error), 2) from None
    except OSError as error:
        raise fail(f"Cannot write to folder {folder}: {error.strerror}", 2) from None
    done, left_out, failed = _run_all(selected, "full" if full else "quick", folder, jobs, fresh)
    if done:
        print_line(f"results are in {folder}; for a page of them: gpclass report {folder}")
    if failed or not done or (left_out and not everything):
        raise fail(f"not done: {', '.join([*left_out, *failed])}")


def _run_all(
    experiments: list[Experiment], size: Any, folder: Path, jobs: int | None, fresh: bool
) -> tuple[list[str], list[str], list[str]]:
    """Names of experiments that were done, left out without their data, and failed."""
    from ..papers import MissingDataError

    done, left_out, failed = list[str](), list[str](), list[str]()
    for experiment in experiments:
        try:
            _show(_run(experiment, size, folder, jobs, fresh))
            done.append(experiment.name)
        except MissingDataError as missing:
            err.print(Text(f"{experiment.name} is left out: {missing}"), soft_wrap=True)
            left_out.append(experiment.name)
        except KeyboardInterrupt:
            command = "the same command" + (" without --fresh" if fresh else "")
            raise fail(f"stopped; finished tasks are kept, and {command} continues from there", 130) from None
        except Exception as error:
            err.print(Text(f"{experiment.name} failed: {error or type(error).__name__}"), soft_wrap=True)
            failed.append(experiment.name)
    return done, left_out, failed


def _run(experiment: Experiment, size: Any, folder: Path, jobs: int | None, fresh: bool) -> Result:
    from ..papers import reproduce as run

    times = TimeElapsedColumn(), TimeRemainingColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *times)
    with Progress(*columns, console=err, transient=True, disable=not sys.stderr.isatty()) as bars:
        bar = bars.add_task(experiment.name, total=None)

        def progress(done: int, total: int) -> None:
            bars.update(bar, completed=done, total=total)

        return run(experiment, size, folder, jobs, fresh, progress)


def _show(result: Result) -> None:
    from ..papers.base import rounded

    title = Text(f"{result.name}: {result.title}")
    table = Table("", "", "published", "here", "", title=title, title_justify="left", box=None)
    for quantity in result.comparisons:
        table.add_row(
            Text(quantity.row),
            Text(quantity.column),
            rounded(quantity.published, quantity.published_error),
            rounded(quantity.measured, quantity.error),
            Text(quantity.verdict, style=COLOURS[quantity.verdict]),
        )
    out.print(table)
    for claim, holds in result.claims.items():
        out.print(Text(f"{'holds' if holds else 'DOES NOT HOLD'}: {claim}", style="green" if holds else "red"))
    earlier = f", {result.n_earlier} of {len(result.tasks)} parts from an earlier run" if result.n_earlier else ""
    if len({maker.get("code") for maker in result.makers}) > 1:
        earlier += ", and the code has changed since some of them (--fresh recomputes)"
    out.print(f"{result.seconds:.0f} seconds of computing{earlier}\n", highlight=False)


def report(
    folder: Annotated[Path, typer.Argument(help="Folder of the results of 'reproduce'.")] = Path("reproduction"),
    page: Annotated[Path | None, typer.Option("--out", help="HTML file; default: report.html in the folder.")] = None,
) -> None:
    """Write one self-contained HTML page of all results in a folder."""
    from ..papers.report import write

    path = page or folder / "report.html"
    try:
        damaged = write(folder, path)
    except OSError as error:
        raise fail(f"Cannot save {path}: {error.strerror}") from None
    print_line(f"wrote {path}")
    if damaged:
        raise fail("; ".join(damaged))
