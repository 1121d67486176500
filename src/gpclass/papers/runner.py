"""Run an experiment: tasks in parallel, each result written to disk when it is finished."""

from __future__ import annotations

import csv
import json
import os
import platform
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, get_args

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from ..io.files import write_whole
from ..io.json_values import plain
from .base import Experiment, Quantity, Records, Size, Task
from .data import load

PACKAGES = ("gpclass", "numpy", "scipy", "scikit-learn", "numba")
Progress = Callable[[int, int], None]
#: Keys of the file of a task.
_OUTCOME = {"task", "version", "seconds", "maker", "warnings", "records"}


class TaskError(RuntimeError):
    """Some tasks failed; the results of the others are kept. The message names the file of the tracebacks."""


@dataclass(frozen=True)
class Result:
    """The result of a run, as ``result.json`` stores it."""

    name: str
    title: str
    paper: str
    size: str
    protocol: str
    comparisons: list[Quantity]
    claims: dict[str, bool]
    figures: list[str]
    tasks: list[Task]
    #: Computing time summed over processes, and the number of tasks taken from an earlier run.
    seconds: float
    n_earlier: int
    finished: str
    #: Machines and versions that computed it: more than one if a run was continued elsewhere.
    makers: list[dict[str, str]]
    #: Number of warnings by category.
    warnings: dict[str, int]

    @classmethod
    def read(cls, folder: Path) -> Result:
        """Read a folder that ``reproduce`` wrote; raises ValueError where it is damaged."""
        path = folder / "result.json"
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            stored["comparisons"] = [Quantity(**values) for values in stored["comparisons"]]
            return cls(**stored)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ValueError(f"expected the result of an experiment in {path}, got: {error}") from error


def reproduce(
    experiment: Experiment,
    size: Size = "quick",
    out: str | Path = "reproduction",
    n_jobs: int | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Run the tasks of an experiment that have no result yet, and write ``out/NAME/SIZE``.

    Parameters
    ----------
    size : "quick", "full", or "tiny" for tests
    n_jobs : processes, each on one core; None is one for each core. ``joblib.parallel_config(backend="dask")`` sends
        the tasks to a Dask cluster that can write to ``out``
    fresh : whether existing results are removed first
    progress : called with the number of finished tasks and of all tasks, each time one is finished

    An existing result is used only if it was computed by this version of gpclass with the same arguments; where the
    sources have changed since, ``makers`` has the hashes of both. Raises ``MissingDataError`` where a data set is
    missing, and ``TaskError`` where tasks failed.
    """
    if size not in get_args(Size):
        raise ValueError(f"expected a size among {', '.join(get_args(Size))}, got {size!r}")
    if n_jobs is not None and n_jobs < 1:
        raise ValueError(f"expected at least one process, got {n_jobs}")
    if experiment.draw is not None:
        from .figures import panels

        panels()  # fails now, and not after hours, without matplotlib
    for name in experiment.data:
        load(name)
    folder = Path(out) / experiment.name / size
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    for leftover in folder.rglob("*.part" if not fresh else "tasks/*"):
        leftover.unlink()
    tasks = experiment.tasks(size)
    paths = [folder / "tasks" / f"{_slug(task)}.json" for task in tasks]
    if len(set(paths)) < len(paths):
        raise ValueError(f"expected tasks of {experiment.name} that differ, got the same one twice")
    wanted = {path: task for path, task in zip(paths, tasks, strict=True) if _stored(path, task) is None}
    n_earlier = len(tasks) - len(wanted)
    report = progress or (lambda done, total: None)
    _run_tasks(experiment, wanted, n_earlier, n_jobs or joblib.effective_n_jobs(-1), folder, report)
    outcomes, records = [], Records()
    for path, task in zip(paths, tasks, strict=True):
        outcome = _stored(path, task)
        if outcome is None:
            raise TaskError(f"expected the result of a task in {path}, which is missing or damaged; run it again")
        outcomes.append(outcome)
        records += [{**task, **row} for row in outcome["records"]]
    makers = {json.dumps(outcome["maker"]): outcome["maker"] for outcome in outcomes}
    result = Result(
        *(experiment.name, experiment.title, experiment.paper, size, experiment.protocol),
        list(experiment.compare(records)),
        {claim: bool(holds) for claim, holds in experiment.claims(records).items()},
        _draw(experiment, records, folder),
        tasks,
        sum(outcome["seconds"] for outcome in outcomes),
        n_earlier,
        datetime.now(UTC).isoformat(timespec="seconds"),
        list(makers.values()),
        dict(sum((Counter(outcome["warnings"]) for outcome in outcomes), Counter())),
    )
    _write_csv(folder / "records.csv", records)
    _write(folder / "result.json", asdict(result))
    return result


def _run_tasks(
    experiment: Experiment, wanted: dict[Path, Task], n_earlier: int, n_jobs: int, folder: Path, progress: Progress
) -> None:
    """Run tasks in parallel; a failure does not stop the others."""
    total = n_earlier + len(wanted)
    progress(n_earlier, total)
    failed = []
    # By processes, or as joblib.parallel_config says.
    parallel = joblib.Parallel(n_jobs, return_as="generator_unordered", pre_dispatch=n_jobs, batch_size=1)
    try:
        errors = parallel(joblib.delayed(_run_task)(experiment, task, path) for path, task in wanted.items())
        for done, error in enumerate(errors, start=n_earlier + 1):
            if error:
                failed.append(error)
            progress(done, total)
    except TerminatedWorkerError as error:
        raise TaskError(
            f"a process of {experiment.name} was killed, most likely for memory: take fewer than {n_jobs} processes. "
            "What is finished is kept."
        ) from error
    tracebacks = folder / "errors.txt"
    tracebacks.unlink(missing_ok=True)
    if failed:
        tracebacks.write_text("\n".join(failed), encoding="utf-8")
        last = failed[0].rstrip().splitlines()[-1]
        raise TaskError(f"{len(failed)} of {total} parts of {experiment.name} failed ({last}), see {tracebacks}")


def _run_task(experiment: Experiment, task: Task, path: Path) -> str | None:
    """Run one task and write its records; returns the traceback of a failure."""
    start = time.perf_counter()
    # One core for each process: threads of two BLAS libraries on the same cores slow each other down.
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            records = [plain(row) for row in experiment.run(**task)]
        except Exception:
            return f"{task}\n{traceback.format_exc()}"
    outcome = {
        "task": task,
        "version": version("gpclass"),
        "seconds": time.perf_counter() - start,
        "maker": _environment(),
        "warnings": Counter(warning.category.__name__ for warning in caught),
        "records": records,
    }
    _write(path, outcome)
    return None


def _environment() -> dict[str, str]:
    """The machine and the versions of this process."""
    machine = {"processor": _processor(), "cores": str(os.cpu_count()), "system": platform.platform()}
    versions = {name: version(name) for name in PACKAGES}
    return {**machine, "python": platform.python_version(), **versions, "code": _source_hash()}


@cache
def _source_hash() -> str:
    """A hash of the package's sources, which change more often than its version."""
    package = Path(__file__).parents[1]
    digest = blake2b(digest_size=6)
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def _stored(path: Path, task: Task) -> dict[str, Any] | None:
    """The stored outcome of a task, or None without a valid one."""
    try:
        outcome = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    valid = isinstance(outcome, dict) and outcome.keys() >= _OUTCOME
    return outcome if valid and outcome["task"] == plain(task) and outcome["version"] == version("gpclass") else None


def _slug(task: Task) -> str:
    return "_".join(f"{name}-{value}" for name, value in task.items() if isinstance(value, str | int | float)) or "all"


def _write(path: Path, content: Any) -> None:
    write_whole(path, json.dumps(plain(content), indent=1, allow_nan=False))


def _write_csv(path: Path, records: Records) -> None:
    """Values without the lists, one row for each record."""
    names = list(dict.fromkeys(name for row in records for name, value in row.items() if not isinstance(value, list)))
    text = StringIO(newline="")
    writer = csv.DictWriter(text, names, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(records)
    write_whole(path, text.getvalue())


def _draw(experiment: Experiment, records: Records, folder: Path) -> list[str]:
    """Figures as PNG and SVG; their names."""
    if experiment.draw is None:
        return []
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none", "figure.dpi": 100, "savefig.dpi": 130}):
        figures = experiment.draw(records)
        for name, figure in figures.items():
            for ending in ("png", "svg"):
                content = BytesIO()
                figure.savefig(content, format=ending)
                write_whole(folder / f"{name}.{ending}", content.getvalue())
    return list(figures)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
