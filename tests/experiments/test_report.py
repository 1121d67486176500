"""The commands, and the page of results in a real browser."""

from __future__ import annotations

import shutil

import pytest
from typer.testing import CliRunner

from gpclass.cli import app
from gpclass.experiments import NAMES

command = CliRunner()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with two small experiments, run by the command."""
    folder = tmp_path_factory.mktemp("results")
    ran = command.invoke(app, ["reproduce", "g06-sinc", "cc05-figure1", "--out", str(folder), "--jobs", "1"])
    assert ran.exit_code == 0, ran.output
    assert "holds" in ran.output
    return folder


@pytest.fixture(scope="module")
def report(results):
    made = command.invoke(app, ["report", str(results)])
    assert made.exit_code == 0, made.output
    return results / "report.html"


def test_list_names_every_experiment():
    listed = command.invoke(app, ["reproduce", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in NAMES)


def test_no_name_and_wrong_names_are_usage_errors():
    assert command.invoke(app, ["reproduce"]).exit_code == 2
    wrong = command.invoke(app, ["reproduce", "gr06-tabel1"])
    assert wrong.exit_code == 2
    assert "gr06-table1" in wrong.output


def test_missing_data_leave_an_experiment_out(tmp_path, monkeypatch):
    monkeypatch.setenv("GPCLASS_DATA", str(tmp_path))
    from gpclass.experiments import data

    data.load.cache_clear()
    left_out = command.invoke(app, ["reproduce", "lpj05-table3", "--out", str(tmp_path / "out")])
    data.load.cache_clear()
    assert left_out.exit_code == 1
    assert "usps.npz" in left_out.output


def test_a_report_needs_results(tmp_path):
    nothing = command.invoke(app, ["report", str(tmp_path)])
    assert nothing.exit_code == 1
    assert "there are none" in nothing.output
    assert command.invoke(app, ["report", str(tmp_path / "nowhere")]).exit_code == 1


def test_figures_are_kept_as_png_and_svg(results):
    pictures = sorted(path.suffix for path in (results / "g06-sinc" / "quick").glob("*.[ps][nv]g"))
    assert pictures
    assert pictures.count(".png") == pictures.count(".svg")


def test_the_page_is_one_file(report):
    text = report.read_text(encoding="utf-8")
    assert "http://" not in text
    assert "https://" not in text
    assert "<script" not in text
    assert text.count("data:image/png;base64,") >= 2


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs the browser Chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_in_a_browser(browser, report, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    images = page.evaluate("[...document.images].map(i => i.complete && i.naturalWidth > 100)")
    assert images
    assert all(images)
    targets = page.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert targets
    assert all(target.startswith("#") and page.query_selector(f'[id="{target[1:]}"]') for target in targets)
    page.click("nav a")
    assert page.evaluate("location.hash") == "#cc05-figure1"
    dark = sum(map(int, page.evaluate("getComputedStyle(document.body).backgroundColor").strip("rgb()").split(",")))
    assert dark < 200 if scheme == "dark" else dark > 600
    page.close()
