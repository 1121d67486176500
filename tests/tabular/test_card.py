"""The page about a model: what it says, and how it looks in a real browser."""

import numpy as np
import pandas as pd
import pytest

from gpclass.tabular import TableModel
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
        "How good it is",
        "Confusions",
        "The data",
        "What it goes by",
        "A map of the probabilities",
        "Most informative rows",
        "Most surprising rows",
        "Settings and versions",
    ):
        assert title in text
    assert f"{100 * model.scores_['error']:.2f} %" in text
    assert text.count("data:image/png;base64,") == 3
    assert "&#x27;plant&#x27; is left out" in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_in_a_browser(browser, page, width, scheme):
    window = opened(browser, page, width, scheme)
    assert window.evaluate("document.images.length") == 3
    diagonal = window.locator("[aria-label=Confusions] .count").count()
    assert diagonal >= 2
    window.close()


def test_names_are_not_html():
    frame = flowers(40).rename(columns={"size": "<b>size</b>", "species": "<i>species"})
    text = card(TableModel("<i>species").fit(frame), "<u>name")
    assert "<b>size" not in text
    assert "<i>species" not in text
    assert "<u>name" not in text
    assert "&lt;b&gt;size" in text


def test_names_are_no_formulas_and_may_be_long_and_alike():
    start = "a name that is longer than the picture has room for, "
    frame = flowers(40).rename(columns={"size": f"{start}one", "weight": f"{start}two", "colour": "cost $a_{$"})
    frame["species"] = np.where(frame["species"] == "rose", "$\\foo$", "b")
    assert "data:image/png" in card(TableModel("species").fit(frame))


def test_rows_can_be_left_out(model):
    page = card(model, rows=False)
    assert "Most surprising rows" not in page
    assert "plant 1" not in page


def test_few_labels_among_many_rows(monkeypatch):
    monkeypatch.setattr(model_module, "KEPT_ROWS", 20)
    frame = flowers(150).drop(columns=["weight", "colour"])
    frame.loc[frame.index % 19 != 4, "species"] = None
    page = card(TableModel("species", unlabelled="").fit(frame))
    assert "142 rows without label" in page


def test_cards_of_other_kinds():
    frame = flowers(40)
    assert "variance explained" in card(TableModel("size", regress=True).fit(frame))
    grades = np.array(["low", "mid", "high"])[np.digitize(frame["size"], [4, 6])]
    ordered = card(TableModel("grade", order=["low", "mid", "high"]).fit(frame.assign(grade=grades)))
    assert ordered.count("data:image/png") == 4
    views = card(TableModel("species", views={"a": ["size"], "b": ["colour"]}).fit(frame.drop(columns="weight")))
    assert "Weights of the sources" in views
    few = frame.copy()
    few.loc[::2, "species"] = None
    assert "few of them known" in card(TableModel("species", unlabelled="").fit(few.drop(columns=["colour", "weight"])))
    words = pd.DataFrame({"a": ["x", "y"] * 10, "b": (["u"] * 7 + ["v"] * 3) * 2, "t": ["p", "q"] * 9 + ["q", "p"]})
    assert "A map" not in card(TableModel("t").fit(words))
