"""Runs an experiment: tasks side by side, each result kept on disk the moment it is there."""

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
from .base import Comparison, Experiment, Records, Size, Task
from .data import load

PACKAGES = ("gpclass", "numpy", "scipy", "scikit-learn", "numba")
Progress = Callable[[int, int], None]
#: What the file of a task holds.
_OUTCOME = {"task", "version", "seconds", "maker", "warnings", "records"}


class TaskError(RuntimeError):
    """Some tasks broke; the others are done and kept. The message says which, and where the reasons are."""


@dataclass(frozen=True)
class Result:
    """What a run leaves behind, and what the report reads back."""

    name: str
    title: str
    paper: str
    size: str
    protocol: str
    comparisons: list[Comparison]
    claims: dict[str, bool]
    figures: list[str]
    tasks: list[Task]
    #: Of computing, summed over processes, and tasks among them that an earlier run had done.
    seconds: float
    n_earlier: int
    finished: str
    #: Machines and versions that computed it: one, unless a run was continued elsewhere.
    makers: list[dict[str, str]]
    #: How often the library warned, by category.
    warnings: dict[str, int]

    @classmethod
    def read(cls, folder: Path) -> Result:
        """Of a folder that ``reproduce`` wrote; ValueError where it is damaged."""
        path = folder / "result.json"
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            stored["comparisons"] = [Comparison(**own) for own in stored["comparisons"]]
            return cls(**stored)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"expected the result of an experiment in {path}, and it cannot be read: {error}"
            ) from error


def reproduce(
    experiment: Experiment,
    size: Size = "quick",
    out: str | Path = "reproduction",
    n_jobs: int | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Run what is not yet there of an experiment, and write ``out/NAME/SIZE``.

    Parameters
    ----------
    size : "quick", "full", or "tiny" for tests
    n_jobs : processes, each on one core; None is one for each core
    fresh : whether results that are there already are thrown away first
    progress : called with the number of tasks done and of all tasks, each time one is finished

    A result that is there counts only if it was computed by this version of gpclass with the same arguments; where its
    sources have changed since, ``makers`` has both marks of them. Raises
    ``MissingDataError`` where a data set is not to be had, and ``TaskError`` where tasks broke.
    """
    if size not in get_args(Size):
        raise ValueError(f"expected a size among {', '.join(get_args(Size))}, got {size!r}")
    if n_jobs is not None and n_jobs < 1:
        raise ValueError(f"expected at least one process, got {n_jobs}")
    if experiment.draw is not None:
        from .figures import panels

        panels()  # better to know now than after hours that matplotlib is not there
    for name in experiment.data:
        load(name)
    folder = Path(out) / experiment.name / size
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    for left in folder.rglob("*.part" if not fresh else "tasks/*"):
        left.unlink()
    tasks = experiment.tasks(size)
    paths = [folder / "tasks" / f"{_slug(task)}.json" for task in tasks]
    if len(set(paths)) < len(paths):
        raise ValueError(f"expected tasks of {experiment.name} that differ, got the same one twice")
    wanted = {path: task for path, task in zip(paths, tasks, strict=True) if _stored(path, task) is None}
    n_earlier = len(tasks) - len(wanted)
    _carry_out_all(experiment, wanted, n_earlier, len(tasks), n_jobs or joblib.cpu_count(), folder, progress)
    outcomes = [_read_back(path, task) for path, task in zip(paths, tasks, strict=True)]
    records = Records(
        {**task, **row} for task, outcome in zip(tasks, outcomes, strict=True) for row in outcome["records"]
    )
    makers = {json.dumps(outcome["maker"]): outcome["maker"] for outcome in outcomes}
    result = Result(
        experiment.name,
        experiment.title,
        experiment.paper,
        size,
        experiment.protocol,
        experiment.compare(records),
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


def _carry_out_all(
    experiment: Experiment,
    wanted: dict[Path, Task],
    done: int,
    total: int,
    n_jobs: int,
    folder: Path,
    progress: Progress | None,
) -> None:
    """Run tasks side by side; those that break do not stop the others."""
    if progress is not None:
        progress(done, total)
    broken = []
    parallel = joblib.Parallel(n_jobs, "loky", return_as="generator_unordered", pre_dispatch=n_jobs, batch_size=1)
    try:
        for reason in parallel(joblib.delayed(_carry_out)(experiment, task, path) for path, task in wanted.items()):
            if reason:
                broken.append(reason)
            done += 1
            if progress is not None:
                progress(done, total)
    except TerminatedWorkerError as error:
        raise TaskError(
            f"a process of {experiment.name} was killed, most likely for memory: take fewer than {n_jobs} processes. "
            "What is finished is kept."
        ) from error
    reasons = folder / "errors.txt"
    reasons.unlink(missing_ok=True)
    if broken:
        reasons.write_text("\n".join(broken), encoding="utf-8")
        last = broken[0].rstrip().splitlines()[-1]
        raise TaskError(f"{len(broken)} of {total} parts of {experiment.name} failed ({last}), see {reasons}")


def _carry_out(experiment: Experiment, task: Task, path: Path) -> str | None:
    """Run one task and keep its records, in the process that ran it: a killed run loses only what is in hand.

    Where it breaks, the reason is given back.
    """
    start = time.perf_counter()
    # One core for each process: threads of two BLAS libraries on the same cores wait for one another.
    with threadpool_limits(1), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            records = [plain(row) for row in experiment.run(**task)]
        except Exception:
            return f"{task}\n{traceback.format_exc()}"
    outcome = {
        "task": task,
        "version": version("gpclass"),
        "seconds": time.perf_counter() - start,
        "maker": _maker(),
        "warnings": Counter(warning.category.__name__ for warning in said),
        "records": records,
    }
    _write(path, outcome)
    return None


def _maker() -> dict[str, str]:
    """The machine and the versions of this process."""
    machine = {"processor": _processor(), "cores": str(os.cpu_count()), "system": platform.platform()}
    versions = {name: version(name) for name in PACKAGES}
    return {**machine, "python": platform.python_version(), **versions, "code": _code()}


@cache
def _code() -> str:
    """A mark of the package's sources, which change more often than its version."""
    package = Path(__file__).parents[1]
    mark = blake2b(digest_size=6)
    for path in sorted(package.rglob("*.py")):
        mark.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return mark.hexdigest()


def _stored(path: Path, task: Task) -> dict[str, Any] | None:
    """The outcome of a task, or None where there is none that fits."""
    try:
        outcome = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(outcome, dict) and outcome.keys() >= _OUTCOME
    return outcome if whole and outcome["task"] == plain(task) and outcome["version"] == version("gpclass") else None


def _read_back(path: Path, task: Task) -> dict[str, Any]:
    outcome = _stored(path, task)
    if outcome is None:
        raise TaskError(f"expected the result of a task in {path}, which is gone or damaged; run it again")
    return outcome


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
                drawn = BytesIO()
                figure.savefig(drawn, format=ending)
                write_whole(folder / f"{name}.{ending}", drawn.getvalue())
    return list(figures)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
