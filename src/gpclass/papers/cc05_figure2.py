"""CC05 figure 2: Boundaries of hard classification, three classes

250 rows of nine Gaussians of unit variance, means uniform in the square [0, 10]^2, in our reading, labels of three
classes at random; whitened on the rows to learn from. The paper shows one set and does not say whether it is of this
kind; here are 20 (quick: 4), three of them drawn. Softmax with a latent function for each class, EP with moments by
quadrature as in figure 3 (a rule of 32 x 32 nodes laid around the tilted distribution where the paper has 7 a side
around the cavity), kernel b + a exp(-v |x - x'|^2 / 2) with a = b = 1 and log v = 1, which are not printed. Errors are
on 2000 new rows (quick: 1000); the best rule is that of the true Gaussians. The paper prints no numbers.
"""

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from .base import Claims, Figures, Quantity, Records, Rows, Size, Task
from .figures import COLOURS, MARKERS, legend_below, panels
from .nine_gaussians import N_CLASSES, make_draw, softmax_gp

#: Rows, printed; the scale parameter is not.
N_ROWS, SCALE = 250, float(np.e)
METHODS = ("Gaussian process", "5-NN", "best possible")


def tasks(size: Size) -> list[Task]:
    n_seeds, n_test, n_side = {"tiny": (3, 300, 15), "quick": (4, 1000, 50), "full": (20, 2000, 80)}[size]
    return [{"seed": seed, "n_test": n_test, "n_side": n_side} for seed in range(n_seeds)]


def run(seed: int, n_test: int, n_side: int) -> Rows:
    draw = make_draw(seed, N_ROWS, n_test)
    best = draw.best_labels(draw.X_test)
    process = softmax_gp(SCALE, "ep").fit(draw.X, draw.y)
    neighbours = KNeighborsClassifier(5).fit(draw.X, draw.y)
    predicted = (process.predict(draw.X_test), neighbours.predict(draw.X_test), best)
    for method, labels in zip(METHODS, predicted, strict=True):
        error, agreement = 100.0 * np.mean(labels != draw.y_test), 100.0 * np.mean(labels == best)
        yield {"method": method, "error": error, "agreement": agreement}
    side = np.linspace(-3.2, 3.2, n_side)
    lattice = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    labels = {"process": process.predict(lattice), "best": draw.best_labels(lattice)}
    yield {"method": "map", "side": side, **labels, "X": draw.X, "y": draw.y}


def compare(records: Records) -> list[Quantity]:
    return [
        records.where(method=method).quantity(method, label, key)
        for method in METHODS
        for key, label in (("error", "error %"), ("agreement", "agreement with the best rule %"))
    ]


def claims(records: Records) -> Claims:
    agreement, error = ([records.where(method=m).mean(key) for m in METHODS[:2]] for key in ("agreement", "error"))
    return {
        "Ours: boundaries of the Gaussian process agree with the best possible ones more often than those of 5-NN": (
            agreement[0] > agreement[1]
        ),
        "Ours: the hard rule of the Gaussian process errs less than 5-NN": error[0] < error[1],
    }


def draw(records: Records) -> Figures:
    maps = records.where(method="map")[:3]
    figure, axes = panels(len(maps), size=(3.6, 3.8), sharey=True, squeeze=False)
    for ax, row in zip(axes[0], maps, strict=True):
        side, X, y = (np.array(row[key]) for key in ("side", "X", "y"))
        for c in range(N_CLASSES):
            ax.plot(*X[y == c].T, MARKERS[c], color=COLOURS[c], markersize=3, label=f"class {c + 1}")
            inside = {key: np.reshape(row[key], (len(side), len(side))) == c for key in ("process", "best")}
            ax.contourf(side, side, inside["process"], levels=[0.5, 1.0], colors=[COLOURS[c]], alpha=0.25)
            # The last class shares its boundaries with the others.
            if c < N_CLASSES - 1 and inside["best"].any():
                style = {"colors": "black", "linestyles": "dotted", "linewidths": 1.2}
                ax.contour(side, side, inside["best"], levels=[0.5], **style)
        ax.set(title=f"draw {row['seed'] + 1}", xlabel="first whitened input", aspect="equal")
        ax.set(xlim=side[[0, -1]], ylim=side[[0, -1]])
    first = axes[0, 0]
    first.set_ylabel("second whitened input")
    first.plot([], [], ":", color="black", label="best possible boundary")
    label = "Gaussian process predicts class 1, and so on"
    first.plot([], [], "s", color=COLOURS[0], alpha=0.25, markersize=9, label=label)
    legend_below(figure, first, 5, fontsize=8)
    return {"boundaries": figure}
