"""The picture of the start page, drawn anew whenever the library or this file is younger than it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import gpclass

PLACE = "_static/generated"
#: Colour of words and lines, and of the ground of the panels, in either colour scheme.
SCHEMES = {"light": ("#24292f", "#ffffff"), "dark": ("#cfd3d8", "#eceef0")}


def pinwheel(n: int, rng: Any) -> tuple[Any, Any]:
    """Three arms that wind around each other and overlap."""
    import numpy as np

    y = rng.integers(0, 3, n)
    along = rng.normal(1.0, 0.3, n)
    angle = 2.0 * np.pi * y / 3.0 + 1.3 * along + 0.7 * rng.standard_normal(n)
    return np.column_stack([along * np.cos(angle), along * np.sin(angle)]), np.array(["a", "b", "c"])[y]


def draw(folder: Path) -> None:
    """Probabilities learned from 200 rows, and how often they are right on 4000 others."""
    import matplotlib.pyplot as plt
    import numpy as np

    from gpclass import GPClassifier
    from gpclass.plotting import ProbabilityMapDisplay, ReliabilityDisplay

    rng = np.random.default_rng(0)
    X, y = pinwheel(200, rng)
    X_new, y_new = pinwheel(4000, rng)
    model = GPClassifier().fit(X, y)
    proba = model.predict_proba(X_new)
    for scheme, (ink, ground) in SCHEMES.items():
        inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
        style = {**dict.fromkeys(inked, ink), "axes.facecolor": ground, "figure.facecolor": "none"}
        style |= {"axes.titlesize": 10.5, "legend.facecolor": "white", "legend.labelcolor": "#24292f"}
        with plt.rc_context(style):
            figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 4.1), layout="constrained")
            ProbabilityMapDisplay.from_estimator(model, X, y, ax=left)
            left.set_title("200 rows, three classes: the probability of each")
            left.set(xlabel="", ylabel="", xticks=[], yticks=[])
            ReliabilityDisplay.from_predictions(
                y_new, {"4000 new rows": proba}, model.classes_, strategy="quantile", ax=right
            )
            right.set(xlim=(0.4, 1.0), ylim=(0.4, 1.0))
            right.set_title("Confidence, and how often it is right")
            figure.savefig(folder / f"start_{scheme}.png", dpi=160)
            plt.close(figure)


def make(app: Sphinx) -> None:
    folder = Path(app.srcdir) / PLACE
    pictures = [folder / f"start_{scheme}.png" for scheme in SCHEMES]
    sources = [Path(__file__), *Path(gpclass.__file__).parent.rglob("*.py")]
    youngest = max(source.stat().st_mtime for source in sources)
    if all(picture.exists() and picture.stat().st_mtime >= youngest for picture in pictures):
        return
    folder.mkdir(parents=True, exist_ok=True)
    draw(folder)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", make)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
