"""
Many rows: active rows or inducing points?
===========================================

``IVMClassifier`` conditions on the most informative rows and ignores the labels of the others.
``SparseGPClassifier`` conditions on every label through as many inducing points. The first does well where labels
are reliable. Where some are wrong, it selects just those.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from gpclass import IVMClassifier, SparseGPClassifier

rng = np.random.default_rng(0)


def draw(n, right):
    """Two classes on either side of a winding surface; a label is right with the given probability."""
    X = rng.uniform(-2, 2, (n, 3))
    inside = X[:, 1] > np.sin(2.5 * X[:, 0]) + 0.4 * X[:, 2]
    return X, np.where(rng.uniform(size=n) < right, inside, ~inside).astype(int)


# %%
# All three learn kernel parameters in the same way, from a sample of 350 rows. They differ in the labels they use
# after that. The second selects its active rows at random.
found: dict[tuple[float, str], list[tuple[int, float, float]]] = {}
for right in (1.0, 0.9):
    X, y = draw(3000, right)
    X_new, y_new = draw(3000, right)
    print(f"{100 * right:.0f} % of the labels are right")
    for size in (25, 75, 225):
        models = {
            "active rows, most informative": IVMClassifier(n_active=size, random_state=0),
            "active rows, random": IVMClassifier(n_active=size, criterion="random", random_state=0),
            "inducing points, all labels": SparseGPClassifier(n_inducing=size, random_state=0),
        }
        for name, model in models.items():
            start = time.perf_counter()
            model.fit(X, y)
            seconds = time.perf_counter() - start
            loss = log_loss(y_new, model.predict_proba(X_new)[:, 1])
            found.setdefault((right, name), []).append((size, loss, seconds))
            print(f"  {size:4} {name:32} log loss {loss:.3f}, {seconds:.1f} s")

# %%
# The most informative label is the least probable one. Without wrong labels it lies near the boundary. With wrong
# labels, it is one of them. Conditioning on all labels is the safe choice where classes overlap or labels may be
# wrong.
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, right in zip(axes, (1.0, 0.9), strict=True):
    for (own, name), points in found.items():
        if own == right:
            sizes, losses, _ = zip(*points, strict=True)
            ax.plot(sizes, losses, "o-", label=name)
    best = -np.log(right) * right - (0.0 if right == 1 else (1 - right) * np.log(1 - right))
    ax.axhline(best, color="0.3", linestyle=":", label="best possible")
    ax.set(xlabel="active rows or inducing points", xscale="log", title=f"{100 * right:.0f} % of the labels are right")
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
    ax.grid(alpha=0.25)
axes[0].set_ylabel("log loss on new rows")
axes[0].legend(fontsize="small")
plt.show()
