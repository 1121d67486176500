"""The page about a model: what it says, and how it looks in a real browser."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import gpclass.tabular.card as card_module
from gpclass.io import html
from gpclass.tabular import TableModel, card_figures, explain
from gpclass.tabular import model as model_module
from gpclass.tabular.card import card
from tests.browsing import opened
from tests.tabular.conftest import flowers


@pytest.fixture(scope="module")
def page(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("cards") / "flowers.html"
    path.write_text(card(model, "flowers.gpclass"), encoding="utf-8")
    return path


def test_the_page_is_one_file_with_everything_on_it(page, model):
    text = page.read_text(encoding="utf-8")
    assert "http://" not in text
    assert "https://" not in text
    assert "<script" not in text
    for title in (
        "<h2>Scores",
        "Confusion matrix",
        "The data",
        "<h2>Influence of the columns",
        "<h2>Partial dependence",
        "Most informative rows",
        "Most surprising rows",
        "Settings and versions",
    ):
        assert title in text
    assert f"{100 * model.scores_['error']:.2f} %" in text
    assert text.count("<svg") == 5
    assert "<img" not in text
    assert "&#x27;plant&#x27; is left out" in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_in_a_browser(browser, page, width, scheme):
    window = opened(browser, page, width, scheme)
    assert window.evaluate("document.querySelectorAll('figure svg').length") == 5
    # Words in drawings have the colour of the page's, and all of them lie inside.
    ink = window.evaluate("getComputedStyle(document.body).color")
    words = window.evaluate("[...document.querySelectorAll('svg text')].map(t => getComputedStyle(t).fill)")
    assert set(words) == {ink}
    beyond = """[...document.querySelectorAll('svg text')].filter(t => {
        const own = t.getBoundingClientRect(), all = t.closest('svg').getBoundingClientRect();
        return own.left < all.left - 2 || own.right > all.right + 2;}).map(t => t.textContent)"""
    assert window.evaluate(beyond) == []
    names = window.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(set(names)) == len(names)
    lefts = window.evaluate("[...document.querySelectorAll('section')].map(s => s.getBoundingClientRect().left)")
    assert len(set(lefts)) == (2 if width == 1440 else 1)  # two columns
    diagonal = window.locator("[aria-label='Confusion matrix'] .count").count()
    assert diagonal >= 2
    window.close()


def test_names_are_not_html(fixed_parameters):
    frame = flowers(40).rename(columns={"size": "<b>size</b>", "species": "<i>species"})
    text = card(TableModel("<i>species").fit(frame), "<u>name")
    assert "<b>size" not in text
    assert "<i>species" not in text
    assert "<u>name" not in text
    assert "&lt;b&gt;size" in text


def test_names_are_no_formulas_and_may_be_long_and_alike(fixed_parameters):
    start = "a name that is longer than the picture has room for, "
    frame = flowers(40).rename(columns={"size": f"{start}one", "weight": f"{start}two", "colour": "cost $a_{$"})
    frame["species"] = np.where(frame["species"] == "rose", "$\\foo$", "b")
    text = card(TableModel("species").fit(frame))
    assert "$\\foo$" in text
    assert "cost $a_{$" in text


def test_rows_can_be_left_out(model):
    page = card(model, rows=False)
    assert "Most surprising rows" not in page
    assert "plant 1" not in page


def test_few_labels_among_many_rows(monkeypatch, fixed_parameters):
    monkeypatch.setattr(model_module, "KEPT_ROWS", 20)
    frame = flowers(150).drop(columns=["weight", "colour"])
    frame.loc[frame.index % 19 != 4, "species"] = None
    page = card(TableModel("species", unlabelled="").fit(frame))
    assert "142 unlabelled rows" in page


def test_cards_of_other_kinds(regression_model, ordinal_model, views_model, fixed_parameters):
    assert "variance explained" in card(regression_model)
    assert card(ordinal_model).count("<svg") == 7
    assert "Weights of the views" in card(views_model)
    few = flowers(40).drop(columns=["colour", "weight"])
    few.loc[::2, "species"] = None
    assert "few labels known" in card(TableModel("species", unlabelled="").fit(few))
    words = pd.DataFrame({"a": ["x", "y"] * 10, "b": (["u"] * 7 + ["v"] * 3) * 2, "t": ["p", "q"] * 9 + ["q", "p"]})
    assert card(TableModel("t").fit(words)).count("<svg") == 4


def test_ids_and_labels_are_shown_in_full(fixed_parameters):
    frame = flowers(40).assign(plant=[20230100012 + 7 * i for i in range(40)])
    frame["species"] = np.where(frame["species"] == "rose", 123456789012, 123456789013)
    page = card(TableModel("species").fit(frame.rename(columns={"plant": "plant_id"})))
    assert "202301000" in page
    assert "2.02301e+10" not in page
    assert "<td>123456789013" in page


def test_settings_are_shown_though_they_are_zero_or_arrays(fixed_parameters):
    frame = flowers(60)[["size", "species"]]
    frame["species"] = np.where(frame["species"] == "rose", 1, 2)
    frame.loc[::3, "species"] = 0
    page = card(TableModel("species", unlabelled=0).fit(frame))
    assert "<td>unlabelled" in page
    assert "<td>random_state" in page
    assert "<td>regress" not in page


@pytest.mark.parametrize("kind", ["labels", "one column", "numbers", "ordered"])
def test_figures_show_no_rows_where_none_are_wanted(
    kind, frame, model, regression_model, ordinal_model, fixed_parameters, monkeypatch
):
    drawn = []

    def kept(draw, description, *arguments, **_):
        drawn.append(Figure().subplots())
        draw(drawn[-1], *arguments)
        return ""

    monkeypatch.setattr(card_figures, "figure", kept)
    model = {
        "labels": lambda: model,
        "one column": lambda: TableModel("species", drop=["weight"]).fit(frame),
        "numbers": lambda: regression_model,
        "ordered": lambda: ordinal_model,
    }[kind]()

    def points():
        """Markers, dots and strokes: at most a few bins of a reliability diagram are left without rows."""
        dots = [len(own.get_offsets()) for ax in drawn for own in ax.collections if len(own.get_offsets()) > 1]
        marks = [len(own.get_xdata()) for ax in drawn for own in ax.lines if own.get_marker() not in ("None", "", None)]
        return sum(dots) + sum(marks)

    page = card_module.card(model)
    with_rows = points()
    drawn.clear()
    page = card_module.card(model, rows=False)
    assert with_rows >= 40 or kind in ("labels", "one column")  # whose figures have no rows in any case
    assert points() <= 24
    assert "rows of the table, and" not in page


def test_the_members_of_a_family_are_shown_with_their_weights(model, page):
    members = [member for member in model.estimator_.hyper_.members if member.weight > 0.0]
    assert members
    text = page.read_text(encoding="utf-8")
    for member in members:
        assert f"kernel {member.name!r}, weight {member.weight:.2f}" in text.replace("&#x27;", "'")


def test_tables_show_the_most_influential_columns(fixed_parameters):
    frame = flowers(60)
    rng = np.random.default_rng(0)
    noise = {f"noise {i}": rng.normal(size=60).round(3) for i in range(24)}
    model = TableModel("species").fit(pd.DataFrame(noise).assign(**frame))
    text = card(model)
    order = [row["column"] for row in explain(model)["columns"]]
    assert order[0] != model.schema_.used[0].name
    data = text[text.index("<h2>The data") : text.index("<h2>Most informative")]
    assert re.findall("<td>((?:noise )?\\w+)</td><td>(?:number|category)", data) == order[:20]
    assert "and 8 more columns" in data
    surprising = text[text.index("<h2>Most surprising rows") :]
    heads = re.findall("<th scope=col>([^<]*)", surprising[: surprising.index("</thead>")])
    assert heads == ["row", "probability", "expected", "species", "plant", *order[:8]]


def test_drawings_take_the_colours_of_the_page():
    svg = '<?xml?><svg xmlns="x"><!-- a --><g id="a" style="fill: #222222; stroke: #123456"/><use href="#a"/></svg>'
    drawn = html.drawing(svg, "a < b", {"#222222": "currentColor"})
    assert 'style="fill: currentColor; stroke: color-mix(in srgb, #123456 70%, currentColor)"' in drawn
    assert 'aria-label="a &lt; b"' in drawn
    assert "xmlns" not in drawn
    assert "<!--" not in drawn
    name = drawn.split(' id="')[1].split('"')[0]
    assert name != "a"
    assert f'href="#{name}"' in drawn
