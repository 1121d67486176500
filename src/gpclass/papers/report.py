"""One HTML page of all results in a folder, measured beside published values."""

from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path

from ..io import html as pages
from ..io.files import write_whole
from . import NAMES
from .base import Quantity, rounded
from .runner import Result

PAPERS = {
    "GR06": "Girolami & Rogers (2006), Variational Bayesian multinomial probit regression with Gaussian process priors",
    "LPJ05": "Lawrence, Platt & Jordan (2005), Extensions of the informative vector machine",
    "CC05": "Cseke & Csató (2005), Multi-class inference with Gaussian processes",
    "G06": "Girolami (2006, slides), Bayesian data integration with Gaussian process priors",
    "WB98": "Williams & Barber (1998), Bayesian classification with Gaussian processes",
}
#: Text and colour of each verdict.
VERDICTS = {
    "within": ("= within", "good"),
    "better": ("▲ better", "other"),
    "worse": ("▼ worse", "bad"),
    "differs": ("≠ differs", "bad"),
}


def find(folder: Path) -> tuple[list[tuple[Result, Path]], list[str]]:
    """Results in a folder and their own folders, in the order of the papers, a full run before a quick one; and a
    message for each result that could not be read."""
    results, damaged = [], []
    for name in NAMES:
        for size in ("full", "quick"):
            path = folder / name / size
            if not (path / "result.json").is_file():
                continue
            try:
                result = Result.read(path)
                missing = [figure for figure in result.figures if not (path / f"{figure}.png").is_file()]
                if result.name != name or missing:
                    raise ValueError(f"expected {name} and its figures in {path}, got {result.name} without {missing}")
            except ValueError as error:
                damaged.append(f"{error}; 'gpclass reproduce {name}' makes it anew")
                continue
            results.append((result, path))
            break
    return results, damaged


def write(folder: Path, path: Path) -> list[str]:
    """Write the page of a folder's results; returns a message for each result that could not be read."""
    if not folder.is_dir():
        raise ValueError(f"expected a folder with results of 'gpclass reproduce', and {folder} is none")
    results, damaged = find(folder)
    if not results:
        message = f"expected results of 'gpclass reproduce' in {folder}, and there are none"
        raise ValueError("\n".join([message, *damaged]))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, pages.page("gpclass: the papers, reproduced", _body(results)))
    return damaged


def _body(found: list[tuple[Result, Path]]) -> Iterator[str]:
    results = [result for result, _ in found]
    counts: Counter[str] = Counter(quantity.verdict for result in results for quantity in result.comparisons)
    claims = [holds for result in results for holds in result.claims.values()]
    yield "<h1>The papers, reproduced</h1>"
    yield (
        f"<p>{len(results)} of {len(NAMES)} experiments; {sum(claims)} of {len(claims)} claims hold. Of "
        f"{sum(counts[v] for v in VERDICTS)} comparisons with published values "
        + ", ".join(f"{counts[v]} {pages.mark(*VERDICTS[v])}" for v in VERDICTS)
        + ".</p>"
    )
    yield (
        '<p class="soft">Errors are standard errors of the mean. "Within" is a difference of at most two combined '
        "standard errors. Measured values without a standard error have no verdict. Quick runs are smaller than the "
        "published ones: see the protocol of each.</p>"
    )
    yield '<nav id="contents" aria-label="Contents"><h2>Contents</h2>'
    for paper, title in PAPERS.items():
        items = "".join(
            f'<li><a href="#{result.name}">{result.name}</a> {escape(result.title)} {_summary(result)}</li>'
            for result in results
            if result.paper == paper
        )
        if items:
            yield f"<h3>{paper} <span class=soft>{escape(title)}</span></h3><ul>{items}</ul>"
    yield "</nav>"
    for result, folder in found:
        yield from _section(result, folder)
    missing = [name for name in NAMES if name not in {result.name for result in results}]
    if missing:
        yield f"<h2>Not run</h2><p>{', '.join(missing)}: <code>gpclass reproduce NAME</code></p>"


def _summary(result: Result) -> str:
    """The size of the run and how many published values were reached, or without any, how many claims hold."""
    met = [quantity.verdict in ("within", "better") for quantity in result.comparisons if quantity.verdict]
    what = "" if met else " claims"
    met = met or list(result.claims.values())
    return pages.mark(f"{escape(result.size)}: {sum(met)} of {len(met)}{what}", "good" if all(met) else "plain")


def _section(result: Result, folder: Path) -> Iterator[str]:
    heading = f"{result.name}: {escape(result.title)} {pages.mark(result.size, 'plain')}"
    yield f'<section id="{result.name}"><h2>{heading}</h2>'
    claims = "".join(
        f"<li>{pages.mark('holds', 'good') if holds else pages.mark('does not hold', 'bad')} {escape(claim)}</li>"
        for claim, holds in result.claims.items()
    )
    if claims:
        yield f"<ul class=claims>{claims}</ul>"
    if result.comparisons:
        heads = ("quantity", "published", "here", "difference")
        yield pages.table(f"numbers of {result.name}", heads, map(_cells, result.comparisons), numbers=(1, 2, 3))
    for name in result.figures:
        yield pages.picture((folder / f"{name}.png").read_bytes(), f"{result.title}: {name.replace('_', ' ')}")
    makers = "; ".join(", ".join(f"{name} {value}" for name, value in maker.items()) for maker in result.makers)
    warned = ", ".join(f"{count} {name}" for name, count in result.warnings.items()) or "none"
    yield (
        f"<details><summary>Protocol, time and machine</summary><p>{escape(result.protocol)}</p>"
        f"<p class=soft>A {escape(result.size)} run of {len(result.tasks)} parts, {_duration(result.seconds)} of "
        f"computing summed over processes, finished {escape(result.finished)}. {escape(makers)}. Warnings: "
        f"{escape(warned)}.</p></details>"
        '<p class=soft><a href="#contents">contents</a></p></section>'
    )


def _cells(quantity: Quantity) -> list[str]:
    difference = ""
    if quantity.published is not None and quantity.measured is not None:
        difference = f"{quantity.measured - quantity.published:+.3g}"
        if quantity.verdict:
            word, kind = VERDICTS[quantity.verdict]
            difference = pages.mark(f"{difference} {word}", kind)
    what = f"{escape(quantity.row)}<br><span class=soft>{escape(quantity.column)}</span>"
    published, here = rounded(quantity.published, quantity.published_error), rounded(quantity.measured, quantity.error)
    return [what, published, here, difference]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
