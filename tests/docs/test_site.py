"""The documentation site: it builds without warnings and without a network, and its pages work in a browser."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import gpclass
from tests.browsing import opened

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
#: What the quickest of them take is seconds.
QUICK = ("first_steps", "mixed_frame", "regression")
PAGES = ("index.html", "api/gpclass.GPClassifier.html", "theory/variational_bayes.html")
MODULES = ("kernels", "likelihoods", "inference", "hyper", "plotting", "datasets", "tabular", "experiments")
ENVIRONMENT = {**os.environ, "MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All pages, the examples as they are written but not run."""
    for needed in ("sphinx", "furo", "myst_parser", "sphinx_gallery"):
        pytest.importorskip(needed, reason="needs pip install 'gpclass[docs]'")
    folder = tmp_path_factory.mktemp("site")
    made = shutil.ignore_patterns("_build", "gallery", "gpclass.*.rst", "__pycache__")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=made)
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=made)
    build = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-j", "2", "-D", "plot_gallery=False"]
    run = subprocess.run(
        [*build, folder / "docs", folder / "html"], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return folder / "html"


def test_the_reference_names_everything_public(site):
    from sphinx.util.inventory import InventoryFile

    objects = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    described = {name for kind, names in objects.items() if kind.startswith("py:") for name in names}
    public = {f"gpclass.{name}" for name in gpclass.__all__}
    for module in MODULES:
        public |= {f"gpclass.{module}.{name}" for name in import_module(f"gpclass.{module}").__all__}
    public -= {"gpclass.__version__", "gpclass.plotting.COLOURS", "gpclass.plotting.INK", "gpclass.papers.NAMES"}
    assert public - described == set()


def test_every_estimator_has_a_page_by_its_name(site):
    for name in gpclass.__all__:
        if name[0].isupper():
            assert (site / "api" / f"gpclass.{name}.html").exists()


def test_every_example_is_in_the_gallery(site):
    gallery = (site / "gallery" / "index.html").read_text(encoding="utf-8")
    assert len(EXAMPLES) >= 14
    for example in EXAMPLES:
        assert f"{example.stem}.html" in gallery


def test_nothing_is_fetched_from_elsewhere(site):
    """Links may lead elsewhere; scripts, styles, fonts and images do not come from there."""
    elsewhere = r'"?(?:https?:)?//'
    tags = re.compile(
        rf'<(?:script|img|iframe|source)[^>]+src={elsewhere}|<link[^>]+rel="stylesheet"[^>]+href={elsewhere}'
    )
    styles = re.compile(rf"(?:url\(|@import )'?{elsewhere}")
    assert [page.name for page in site.rglob("*.html") if tags.search(page.read_text(encoding="utf-8"))] == []
    assert [page.name for page in site.rglob("*.css") if styles.search(page.read_text(encoding="utf-8"))] == []


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
def test_quick_examples_run_as_scripts(name, tmp_path):
    quiet = ["-W", "error::UserWarning", "-W", "ignore:FigureCanvasAgg is non-interactive:UserWarning"]
    run = subprocess.run(
        [sys.executable, *quiet, ROOT / "examples" / f"plot_{name}.py"],
        env=ENVIRONMENT,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout
    assert list(tmp_path.iterdir()) == []
