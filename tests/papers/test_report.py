"""The commands, and the page of results in a real browser."""

from __future__ import annotations

import shutil

import pytest
from typer.testing import CliRunner

from gpclass.cli.app import app
from gpclass.papers import NAMES, Experiment, Quantity, reproduce
from tests.browsing import opened

command = CliRunner()


def every_verdict(_):
    """Comparisons of all kinds, with names that are long and names that are no HTML."""
    return [
        Quantity("<b>bold</b> & a row with a name of some length, parameters as published", "log likelihood", *own)
        for own in (
            (-72.27, 1.0, -72.5, 1.0, "higher"),
            (-50.0, 1.0, -72.5, 1.0, "higher"),
            (-90.0, 1.0, -72.5, 1.0, "higher"),
            (-90.0, 1.0, -72.5, 1.0, None),
            (-90.0, 1.0),
            (None, None, -72.5),
        )
    ]


MADE_UP = Experiment(
    "gr06-table1",
    "A made-up <i>table</i>",
    "Nothing was <u>run</u>.",
    lambda size: [{"seed": 0}],
    lambda seed: [{"x": seed}],
    every_verdict,
    lambda _: {"Something <s>holds</s>": True, "Something does not": False},
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with two small experiments, run by the command."""
    folder = tmp_path_factory.mktemp("results")
    ran = command.invoke(app, ["reproduce", "g06-sinc", "cc05-figure1", "--out", str(folder), "--jobs", "1"])
    assert ran.exit_code == 0, ran.output
    assert "holds" in ran.output
    reproduce(MADE_UP, "full", folder, n_jobs=1)
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


def test_missing_data_skip_an_experiment(tmp_path, monkeypatch):
    def refuse(**_):
        raise OSError("no network")

    monkeypatch.setenv("GPCLASS_DATA", str(tmp_path))
    monkeypatch.setattr("gpclass.datasets.fetched.fetch_openml", refuse)
    from gpclass.papers import data

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


def test_damaged_results_are_named_and_the_others_shown(results, tmp_path):
    shutil.copytree(results, tmp_path / "copy")
    broken = tmp_path / "copy" / "g06-sinc" / "quick" / "result.json"
    broken.write_text(broken.read_text()[:100])
    made = command.invoke(app, ["report", str(tmp_path / "copy"), "--out", str(tmp_path / "new" / "page.html")])
    assert made.exit_code == 1
    assert "g06-sinc" in made.output
    assert "gr06-table1" in (tmp_path / "new" / "page.html").read_text()


def test_paths_that_cannot_be_written_are_reported(results, tmp_path):
    (tmp_path / "file").write_text("")
    run = command.invoke(app, ["reproduce", "g06-sinc", "--out", str(tmp_path / "file")])
    assert run.exit_code == 2
    assert "Cannot write to folder" in run.output
    page = command.invoke(app, ["report", str(results), "--out", str(tmp_path)])
    assert page.exit_code == 1
    assert "Cannot save" in page.output


def test_brackets_in_a_path_are_not_markup(tmp_path):
    ran = command.invoke(app, ["reproduce", "cc05-figure1", "--out", str(tmp_path / "o[/b]"), "--jobs", "1"])
    assert ran.exit_code == 0, ran.output
    assert "o[/b]" in ran.output


def test_a_stopped_run_reports_how_to_continue(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("gpclass.cli.papers._run", stop)
    stopped = command.invoke(app, ["reproduce", "g06-sinc", "--out", str(tmp_path)])
    assert stopped.exit_code == 130
    assert "the same command continues" in stopped.output


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
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; a row" in text
    assert "<b>bold" not in text
    assert "<s>holds" not in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_in_a_browser(browser, report, width, scheme):
    page = opened(browser, report, width, scheme)
    assert page.evaluate("[...document.images].every(i => i.naturalWidth > 100)")
    # Tables could scroll by themselves, but need not.
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every(s => s.scrollWidth <= s.clientWidth)")
    for verdict in ("within", "better", "worse", "differs"):
        assert page.locator("td .good, td .other, td .bad", has_text=verdict).count() == 1
    targets = page.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert targets
    assert all(target.startswith("#") and page.query_selector(f'[id="{target[1:]}"]') for target in targets)
    page.click("nav a")
    assert page.evaluate("location.hash") == "#gr06-table1"
    page.close()
