"""The documentation site: it builds without warnings and without a network, and its pages work in a browser."""

from __future__ import annotations

import ast
import os
import pickle
import re
import runpy
import shutil
import subprocess
import sys
import warnings
from base64 import b64decode
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import gpclass
from tests.browsing import opened

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
#: What the quickest of them take is seconds.
QUICK = ("first_steps", "mixed_frame")
#: A picture of one pixel.
DOT = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
PAGES = ("index.html", "api/gpclass.GPClassifier.html", "theory/variational_bayes.html")
MODULES = ("kernels", "likelihoods", "inference", "hyper", "plotting", "datasets", "tabular", "papers")
ENVIRONMENT = {**os.environ, "MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def build(folder, builder):
    """Build all pages, the examples as they are written but not run, with warnings as errors."""
    for needed in ("sphinx", "furo", "myst_parser", "sphinx_gallery"):
        pytest.importorskip(needed, reason="needs pip install 'gpclass[docs]'")
    made = shutil.ignore_patterns("_build", "gallery", "generated", "gpclass.*.rst", "__pycache__")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=made)
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=made)
    if builder == "dummy":  # the picture of the start page stands for itself
        (folder / "docs" / "_static" / "generated").mkdir()
        for scheme in ("light", "dark"):
            (folder / "docs" / "_static" / "generated" / f"start_{scheme}.png").write_bytes(DOT)
    options = ["-W", "--keep-going", "-D", "plot_gallery=False", "-d", folder / "doctrees"]
    run = subprocess.run(
        [sys.executable, "-m", "sphinx", "-b", builder, *options, folder / "docs", folder / "html"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """What all pages describe, as Sphinx reads them: names of objects, and names of pages."""
    folder = tmp_path_factory.mktemp("read")
    build(folder, "dummy")
    environment = pickle.loads((folder / "doctrees" / "environment.pickle").read_bytes())
    return set(environment.domaindata["py"]["objects"]), set(environment.all_docs)


def test_the_reference_names_everything_public(described):
    public = {f"gpclass.{name}" for name in gpclass.__all__}
    for module in MODULES:
        public |= {f"gpclass.{module}.{name}" for name in import_module(f"gpclass.{module}").__all__}
    public -= {"gpclass.__version__", "gpclass.plotting.COLOURS", "gpclass.plotting.INK", "gpclass.papers.NAMES"}
    assert public - described[0] == set()


def test_every_estimator_has_a_page_by_its_name(described):
    names = {f"api/gpclass.{name}" for name in gpclass.__all__ if name[0].isupper()}
    assert len(names) >= 11
    assert names - described[1] == set()


def test_every_example_is_in_the_gallery(described):
    assert len(EXAMPLES) >= 14
    assert {f"gallery/{example.stem}" for example in EXAMPLES} - described[1] == set()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build(folder, "html")
    return folder / "html"


@pytest.mark.slow
def test_the_gallery_shows_every_example(site):
    gallery = (site / "gallery" / "index.html").read_text(encoding="utf-8")
    for example in EXAMPLES:
        assert f"{example.stem}.html" in gallery


@pytest.mark.slow
def test_nothing_is_fetched_from_elsewhere(site):
    """Links may lead elsewhere; scripts, styles, fonts and images do not come from there."""
    elsewhere = r'"?(?:https?:)?//'
    tags = re.compile(
        rf'<(?:script|img|iframe|source)[^>]+src={elsewhere}|<link[^>]+rel="stylesheet"[^>]+href={elsewhere}'
    )
    styles = re.compile(rf"(?:url\(|@import )'?{elsewhere}")
    assert [page.name for page in site.rglob("*.html") if tags.search(page.read_text(encoding="utf-8"))] == []
    assert [page.name for page in site.rglob("*.css") if styles.search(page.read_text(encoding="utf-8"))] == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("name", PAGES)
def test_pages_in_a_browser(browser, site, name, width, scheme):
    page = opened(browser, site / name, width, scheme)
    # Formulas are drawn by the browser itself, and wide ones scroll in their own frame.
    drawn = page.evaluate("[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().height > 5)")
    assert all(drawn)
    assert bool(drawn) == name.startswith("theory")
    page.close()


@pytest.mark.slow
def test_links_of_the_start_page_lead_somewhere(browser, site):
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    links = page.evaluate("[...document.querySelectorAll('a[href]')].map(a => a.href)")
    own = [unquote(urlsplit(link).path) for link in links if link.startswith("file:")]
    assert [path for path in own if not Path(path).exists()] == []
    for card in page.query_selector_all("ul.cards > li > p:first-child > a"):
        assert card.get_attribute("href").removesuffix("#").endswith(".html")
    assert page.query_selector_all("ul.cards > li")
    assert page.evaluate("[...document.images].filter(i => i.offsetWidth > 200).length") == 1
    page.close()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_have_a_title_and_compile(path):
    text = path.read_text(encoding="utf-8")
    compile(text, path.name, "exec")
    title, line, blank, first = (ast.get_docstring(ast.parse(text)) or "").splitlines()[:4]
    assert title
    assert set(line) == {"="}
    assert len(line) >= len(title)
    assert blank == ""
    assert first
    assert "# %%" in text
    assert "plt.show()" in text


@pytest.mark.parametrize("name", QUICK)
def test_quick_examples_run(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive", UserWarning)
        runpy.run_path(str(ROOT / "examples" / f"plot_{name}.py"), run_name="__main__")
    matplotlib.pyplot.close("all")
    assert capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_an_example_runs_as_a_script(tmp_path):
    quiet = ["-W", "error::UserWarning", "-W", "ignore:FigureCanvasAgg is non-interactive:UserWarning"]
    run = subprocess.run(
        [sys.executable, *quiet, ROOT / "examples" / "plot_regression.py"],
        env=ENVIRONMENT,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout
    assert list(tmp_path.iterdir()) == []
