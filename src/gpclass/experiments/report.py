"""One page of all results in a folder, the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from .. import pages
from . import NAMES
from .base import Comparison, rounded
from .runner import Result

PAPERS = {
    "GR06": "Girolami & Rogers (2006), Variational Bayesian multinomial probit regression with Gaussian process priors",
    "LPJ05": "Lawrence, Platt & Jordan (2005), Extensions of the informative vector machine",
    "CC05": "Cseke & Csató (2005), Multi-class inference with Gaussian processes",
    "G06": "Girolami (2006, slides), Bayesian data integration with Gaussian process priors",
    "WB98": "Williams & Barber (1998), Bayesian classification with Gaussian processes",
}
#: How each verdict is shown; the words tell it without the colour.
VERDICTS = {
    "within": ("= within", "good"),
    "better": ("▲ better", "good"),
    "worse": ("▼ worse", "bad"),
    "differs": ("≠ differs", "plain"),
}


def found(folder: Path) -> list[Result]:
    """The results in a folder, in the order of the papers; a full run goes before a quick one."""
    paths = {name: [folder / name / size for size in ("full", "quick", "tiny")] for name in NAMES}
    best = [next((path for path in own if (path / "result.json").is_file()), None) for own in paths.values()]
    return [Result.read(path) for path in best if path is not None]


def write(folder: Path, path: Path) -> Path:
    """Make the page, and give its path back."""
    if not folder.is_dir():
        raise FileNotFoundError(f"expected a folder with results of 'gpclass reproduce', and {folder} is not there")
    results = found(folder)
    if not results:
        raise ValueError(f"expected results of 'gpclass reproduce' in {folder}, and there are none")
    path.write_text(pages.page("gpclass: the papers, reproduced", _body(results, folder)), encoding="utf-8")
    return path


def _body(results: list[Result], folder: Path) -> Iterator[str]:
    everything = [own for result in results for own in result.comparisons]
    counts = {verdict: sum(own.verdict == verdict for own in everything) for verdict in VERDICTS}
    claims = [holds for result in results for holds in result.claims.values()]
    yield "<h1>The papers, reproduced</h1>"
    yield (
        f"<p>{len(results)} of {len(NAMES)} experiments; {sum(claims)} of {len(claims)} claims hold. Of "
        f"{sum(counts.values())} published numbers "
        + ", ".join(f"{counts[v]} {pages.mark(*VERDICTS[v])}" for v in VERDICTS)
        + ".</p>"
    )
    yield (
        '<p class="soft">Errors are standard errors of the mean. "Within" is a difference of at most two combined '
        "standard errors; a published number without an error counts as exact. Quick runs are smaller than the "
        "published ones: see the protocol of each.</p>"
    )
    yield '<nav id="contents" aria-label="Contents">'
    for paper, title in PAPERS.items():
        own = [result for result in results if result.paper == paper]
        if own:
            items = "".join(
                f'<li><a href="#{result.name}">{result.name}</a> {escape(result.title)} {_summary(result)}</li>'
                for result in own
            )
            yield f"<strong>{paper}</strong> <span class=soft>{escape(title)}</span><ul>{items}</ul>"
    yield "</nav>"
    for result in results:
        yield from _section(result, folder / result.name / result.size)
    missing = [name for name in NAMES if name not in {result.name for result in results}]
    if missing:
        yield f"<h2>Not run</h2><p>{', '.join(missing)}: <code>gpclass reproduce NAME</code></p>"


def _summary(result: Result) -> str:
    """How many published numbers were met, or where there are none, how many claims hold."""
    compared = [own for own in result.comparisons if own.verdict]
    if compared:
        met = sum(own.verdict in ("within", "better") for own in compared)
        return pages.mark(f"{met} of {len(compared)}", "good" if met == len(compared) else "plain")
    holds = sum(result.claims.values())
    return pages.mark(f"{holds} of {len(result.claims)} claims", "good" if holds == len(result.claims) else "bad")


def _section(result: Result, folder: Path) -> Iterator[str]:
    yield f'<section id="{result.name}"><h3>{result.name}: {escape(result.title)}</h3>'
    claims = "".join(
        f"<li>{pages.mark('holds', 'good') if holds else pages.mark('does not hold', 'bad')} {escape(claim)}</li>"
        for claim, holds in result.claims.items()
    )
    yield f"<ul class=claims>{claims}</ul>"
    if result.comparisons:
        heads = ("", "published", "here", "difference")
        yield pages.table(heads, map(_cells, result.comparisons), numbers=(1, 2, 3))
    for name in result.figures:
        yield pages.picture(folder / f"{name}.png", f"{result.title}: {name}")
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    machine = {name: escape(str(value)) for name, value in result.machine.items()}
    yield (
        f"<details><summary>Protocol, time and machine</summary><p>{escape(result.protocol)}</p>"
        f"<p class=soft>A {escape(result.size)} run of {len(result.tasks)} parts, {_duration(result.seconds)} of "
        f"computing in {machine['processes']} processes on {machine['cores']} cores ({machine['processor']}, "
        f"{machine['system']}), finished {escape(result.finished)}. {escape(versions)}.</p></details>"
        '<p class=soft><a href="#contents">contents</a></p></section>'
    )


def _cells(own: Comparison) -> list[str]:
    difference = ""
    if own.published is not None:
        word, kind = VERDICTS[own.verdict]
        difference = pages.mark(f"{own.measured - own.published:+.3g} {word}", kind)
    what = f"{escape(own.row)}<br><span class=soft>{escape(own.column)}</span>"
    return [what, rounded(own.published, own.published_error), rounded(own.measured, own.error), difference]


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
