"""Which rows does an informative vector machine keep? Those whose labels were least expected: where classes meet.

The toy of Girolami and Rogers' section 6.3 and figure 5a (2006): fifty of a thousand rows. Run ``python
examples/plot_active_rows.py``; it takes a few seconds and writes ``active_rows.png``.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from gpclass import IVMClassifier
from gpclass.datasets import make_rings
from gpclass.kernels import RBF

X, y = make_rings(1000, n_irrelevant=0, random_state=0)
model = IVMClassifier(10.0 * RBF(0.5), n_active=50, random_state=0).fit(X, y)
X_new, y_new = make_rings(2000, n_irrelevant=0, random_state=1)
print(f"{len(model.active_)} rows kept, {100 * (1 - model.score(X_new, y_new)):.2f} % errors on new rows")

figure, axes = plt.subplots(figsize=(5.5, 5), layout="constrained")
side = np.linspace(-1.15, 1.15, 200)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
proba = model.predict_proba(grid)
for k, colour in enumerate(("tab:blue", "tab:orange", "tab:green")):
    own = X[y == model.classes_[k]]
    axes.plot(*own.T, ".", color=colour, markersize=3, label=f"class {model.classes_[k]}")
    axes.contour(side, side, proba[:, k].reshape(200, 200), levels=[0.5], colors=colour, linewidths=1)
axes.plot(*X[model.active_].T, "o", mfc="none", mec="black", markersize=8, label="kept")
axes.set(xlabel="$x_1$", ylabel="$x_2$", title="Fifty informative rows of a thousand", aspect="equal")
axes.legend(loc="upper right", fontsize="small")
figure.savefig("active_rows.png", dpi=120)
