"""Runs an experiment: tasks side by side, each result kept on disk the moment it is there."""

from __future__ import annotations

import csv
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from .base import Comparison, Experiment, Records, Size, Task
from .data import check

PACKAGES = ("gpclass", "numpy", "scipy", "scikit-learn", "numba", "matplotlib")
Progress = Callable[[int, int], None]


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
    seconds: float
    finished: str
    machine: dict[str, Any]
    versions: dict[str, str]

    @classmethod
    def read(cls, folder: Path) -> Result:
        stored = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        stored["comparisons"] = [Comparison(**own) for own in stored["comparisons"]]
        return cls(**stored)


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
    fresh : whether results that are there already are computed again
    progress : called with the number of tasks done and of all tasks, each time one is finished

    A result that is there counts only if it was computed by this version of gpclass with the same arguments. Raises
    ``MissingDataError`` where a data set is not to be had.
    """
    for name in experiment.data:
        check(name)
    folder = Path(out) / experiment.name / size
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    tasks = experiment.tasks(size)
    paths = [folder / "tasks" / f"{_slug(task)}.json" for task in tasks]
    if len(set(paths)) < len(paths):
        raise ValueError(f"expected tasks of {experiment.name} that differ, got the same one twice")
    wanted = {path: task for path, task in zip(paths, tasks, strict=True) if fresh or _stored(path, task) is None}
    done = len(tasks) - len(wanted)
    if progress is not None:
        progress(done, len(tasks))
    n_jobs = n_jobs or joblib.cpu_count()
    # One core for each process: threads of two BLAS libraries on the same cores wait for one another.
    with joblib.parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1):
        parallel = joblib.Parallel(return_as="generator_unordered", pre_dispatch=n_jobs)
        for _ in parallel(joblib.delayed(_carry_out)(experiment, task, path) for path, task in wanted.items()):
            done += 1
            if progress is not None:
                progress(done, len(tasks))
    outcomes = [_stored(path, task) for path, task in zip(paths, tasks, strict=True)]
    records = Records(
        {**task, **row}
        for task, outcome in zip(tasks, outcomes, strict=True)
        for row in outcome["records"]  # type: ignore[index]
    )
    _write_csv(folder / "records.csv", records)
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
        sum(outcome["seconds"] for outcome in outcomes),  # type: ignore[index]
        datetime.now(UTC).isoformat(timespec="seconds"),
        {"processor": _processor(), "cores": os.cpu_count(), "processes": n_jobs, "system": platform.platform()},
        {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    )
    _write(folder / "result.json", asdict(result))
    return result


def _carry_out(experiment: Experiment, task: Task, path: Path) -> None:
    """Run one task and keep its records, in the process that ran it: a killed run loses only what is in hand."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of models on purpose far from where they work: grids of parameters, few rows
        records = [_plain(row) for row in experiment.run(**task)]
    seconds = time.perf_counter() - start
    _write(path, {"task": task, "version": version("gpclass"), "seconds": seconds, "records": records})


def _stored(path: Path, task: Task) -> dict[str, Any] | None:
    """The outcome of a task, or None where there is none that fits."""
    try:
        outcome = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    fits = outcome.get("task") == _plain(task) and outcome.get("version") == version("gpclass")
    return outcome if fits else None


def _slug(task: Task) -> str:
    return "_".join(f"{name}-{value}" for name, value in task.items() if isinstance(value, str | int | float)) or "all"


def _plain(value: Any) -> Any:
    """NumPy's values as those of JSON."""
    if isinstance(value, dict):
        return {str(name): _plain(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


def _write(path: Path, content: Any) -> None:
    """All of a file or nothing of it."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(_plain(content), indent=1), encoding="utf-8")
    part.replace(path)


def _write_csv(path: Path, records: Records) -> None:
    """Values without the lists, one row for each record."""
    names = list(dict.fromkeys(name for row in records for name, value in row.items() if not isinstance(value, list)))
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(records)
    part.replace(path)


def _draw(experiment: Experiment, records: Records, folder: Path) -> list[str]:
    """Figures as PNG and SVG; their names."""
    if experiment.draw is None:
        return []
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none", "figure.dpi": 100, "savefig.dpi": 130}):
        figures = experiment.draw(records)
        for name, figure in figures.items():
            for ending in ("png", "svg"):
                figure.savefig(folder / f"{name}.{ending}")
    return list(figures)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
