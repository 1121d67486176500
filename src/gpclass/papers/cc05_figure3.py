"""CC05 figure 3: Multi-class Gaussian processes against 5-NN over the scale parameter

Nine Gaussians of unit variance (it is not printed), means uniform in the square [0, 10]^2, in our reading, labels of
three classes at random; 1000 rows, a half of them to learn from, whitened on these. 20 draws of everything (quick: 2),
where the paper seems to have one. Softmax with a latent function for each class and the kernel b + a exp(-v |x - x'|^2
/ 2) with a = b = 1 (not printed) and log v from -4 to 6 in steps of 1 (quick: of 2). EP with quadrature has a rule of
32 x 32 nodes laid around the tilted distribution where the paper has 7 a side around the cavity. EP with local Laplace
moments has Laplace's posterior as its fixed point, and is computed as that. The sparse approximation of the authors'
toolbox is not used. The paper prints a figure and no numbers.
"""

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from .base import Claims, Figures, Quantity, Records, Rows, Size, Task, by_size
from .figures import COLOURS, MARKERS, panels
from .nine_gaussians import make_draw, softmax_gp

REFERENCES = {"5-NN": "dashed", "best possible": "dotted"}
#: With sites by mode and curvature of cavity times label, every site is the expansion of the log likelihood at the
#: posterior mean: the fixed point of EP is then Laplace's posterior, computed by Laplace's method.
ENGINES = {"EP, quadrature": "ep", "EP, local Laplace": "laplace"}
#: Range of log v; not printed.
LOG_V = (-4.0, 6.0)
#: Not extreme: length-scales from the spread of the whitened rows down to about a third of it.
MODERATE = (0.0, 2.0)


def tasks(size: Size) -> list[Task]:
    sizes = by_size(size, n_scales=(3, 6, 11), n_train=(250, 500, 500), n_test=(400, 500, 500))
    return [{"seed": seed, **sizes} for seed in range({"tiny": 1, "quick": 2, "full": 20}[size])]


def run(seed: int, n_scales: int, n_train: int, n_test: int) -> Rows:
    draw = make_draw(seed, n_train, n_test)

    def error(labels: np.ndarray) -> float:
        return 100.0 * float(np.mean(labels != draw.y_test))

    neighbours = KNeighborsClassifier(5).fit(draw.X, draw.y)
    yield {"method": "5-NN", "log_v": None, "error": error(neighbours.predict(draw.X_test))}
    yield {"method": "best possible", "log_v": None, "error": error(draw.best_labels(draw.X_test))}
    for log_v in np.linspace(*LOG_V, n_scales).tolist():
        for method, inference in ENGINES.items():
            model = softmax_gp(np.exp(log_v), inference).fit(draw.X, draw.y)
            yield {"method": method, "log_v": log_v, "error": error(model.predict(draw.X_test))}


def compare(records: Records) -> list[Quantity]:
    references = [records.where(method=method).quantity(method, "error %", "error") for method in REFERENCES]
    return references + [
        cells.quantity(f"{method}, log v = {log_v:g}", "error %", "error")
        for method in ENGINES
        for log_v, cells in records.where(method=method).by("log_v").items()
    ]


def claims(records: Records) -> Claims:
    neighbours = records.where(method="5-NN").mean("error")
    low, high = MODERATE
    moderate = Records(row for row in records if row["method"] in ENGINES and low <= row["log_v"] <= high)
    exact, local = (moderate.where(method=method).mean("error") for method in ENGINES)
    ends = [records.where(method=method, log_v=end).mean("error") for method in ENGINES for end in LOG_V]
    both, equal = max(exact, local) < neighbours, abs(exact - local) < 1.0
    return {
        "Where the scale parameter is not extreme both Gaussian processes err less than 5-NN": both,
        "Ours: with extreme scale parameters both Gaussian processes err more than 5-NN": min(ends) > neighbours,
        "Ours: local Laplace moments err within a percentage point of quadrature where the scale is not extreme": equal,
    }


def draw(records: Records) -> Figures:
    figure, ax = panels(size=(6.0, 3.8))
    scales = records.distinct("log_v")[1:]
    for method, marker, colour in zip(ENGINES, MARKERS, COLOURS, strict=False):
        cells = [records.where(method=method, log_v=log_v) for log_v in scales]
        means, errors = [part.mean("error") for part in cells], [part.standard_error("error") or 0.0 for part in cells]
        ax.errorbar(scales, means, errors, marker=marker, color=colour, capsize=2, label=method)
    for method, style in REFERENCES.items():
        ax.axhline(records.where(method=method).mean("error"), color="black", linestyle=style, label=method)
    ax.axvspan(*MODERATE, color=COLOURS[6], alpha=0.12, label="not extreme")
    ax.set(xlabel="log v", ylabel="error %")
    ax.legend(fontsize=8)
    return {"errors": figure}
