"""The example page: a model in a real browser, by onnxruntime-web, predicts what it predicts in Python."""

import json
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pandas as pd
import pytest

from gpclass import GPClassifier, GPRegressor, export_onnx
from gpclass.kernels import RBF, Categorical, View

PAGE = Path(__file__).parents[2] / "examples" / "browser"
RUNTIME = PAGE / "node_modules"

pytestmark = pytest.mark.skipif(
    not (RUNTIME / "onnxruntime-web").is_dir(), reason="onnxruntime-web is not installed in examples/browser"
)


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def site(tmp_path):
    """A folder with the page, and its address on this machine."""
    shutil.copy(PAGE / "index.html", tmp_path)
    (tmp_path / "node_modules").symlink_to(RUNTIME)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=tmp_path)) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield tmp_path, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def visit(browser, site):
    """A function that opens the page, with what must be true of it at the end."""
    folder, address = site
    said, asked, pages = [], [], []

    def opened(model, width, scheme):
        export_onnx(model, folder / "model.onnx")
        if hasattr(model, "classes_"):
            (folder / "classes.json").write_text(json.dumps(model.classes_.tolist()))
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}index.html")
        page.wait_for_selector("body[data-ready]", timeout=120_000)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        pages.append(page)
        return page

    yield opened
    assert said == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    for page in pages:
        page.close()


def fill(page, values):
    """Type one row."""
    for name, value in values.items():
        page.fill(f"input[name='{name}']", str(value))


def shows(page, expected, tolerance):
    """Wait until the page shows these numbers; an error if it never does."""
    page.wait_for_function(
        """([wanted, tolerance]) => {
            const lines = [...document.querySelectorAll("output > div")].map((line) => [...line.children]);
            const shown = Object.fromEntries(lines.map(([name, value]) =>
                [name.textContent, Number((value.querySelector("b") ?? value).textContent)]));
            return Object.entries(wanted).every(([name, value]) => Math.abs(shown[name] - value) <= tolerance);
        }""",
        arg=[{name: float(value) for name, value in expected.items()}, tolerance],
        timeout=60_000,
    )


def test_columns_of_text_and_correlated_classes(visit):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=45), "colour": rng.choice(["red", "green", "blue"], 45)})
    y = np.where(frame["size"] > 0.5, "big", np.where(frame["colour"] == "red", "red", "other"))
    kernel = 30.0 * (View(RBF(1.0), dtype="number") * View(Categorical(1.0), dtype="category"))
    model = GPClassifier(kernel, inference="ep", hyper="fixed").fit(frame, y)
    page, row = visit(model, 1200, "dark"), {"size": 0.4, "colour": "red"}
    fill(page, row)
    proba = model.predict_proba(pd.DataFrame([row]))[0]
    shows(page, dict(zip(model.classes_, proba, strict=True)), 1e-7)
    first = page.eval_on_selector("output > div", "line => [...line.children].map(part => part.textContent)")
    assert first == ["label", str(model.classes_[proba.argmax()])]


def test_a_regressor(visit):
    X = np.linspace(0.0, 6.0, 30)[:, None]
    model = GPRegressor(RBF(1.0), hyper="fixed").fit(np.hstack([X, X**2]), np.sin(X[:, 0]))
    page = visit(model, 400, "light")
    fill(page, {"X[0]": 2.0, "X[1]": 4.0})
    mean, sd = model.predict(np.array([[2.0, 4.0]]), return_std=True)
    shows(page, {"mean": mean[0], "standard deviation": sd[0]}, 1e-6)
