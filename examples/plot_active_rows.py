"""
Which rows does an informative vector machine select?
=====================================================

Rows whose labels are least probable given the rows selected so far: those near the class boundaries. The toy
problem of Girolami and Rogers (2006), section 6.3 and figure 5a, with fifty of a thousand rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from gpclass import IVMClassifier
from gpclass.datasets import make_rings
from gpclass.kernels import RBF
from gpclass.plotting import ActiveSetDisplay

X, y = make_rings(1000, n_irrelevant=0, random_state=0)
X_new, y_new = make_rings(2000, n_irrelevant=0, random_state=1)
kernel = 10.0 * RBF(0.5)
model = IVMClassifier(kernel, n_active=50, hyper="fixed", random_state=0).fit(X, y)
print(f"{len(model.active_)} of {len(X)} rows active, {100 * (1 - model.score(X_new, y_new)):.2f} % errors on new rows")

# %%
# The model conditions on the circled rows; the numbers give the order of selection. On the lines a class has
# probability one half.
figure, ax = plt.subplots(figsize=(6.6, 5.4), layout="constrained")
display = ActiveSetDisplay.from_estimator(model, X, y, ax=ax)
side = np.linspace(-1.15, 1.15, 160)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
for proba in model.predict_proba(grid).T:
    ax.contour(side, side, proba.reshape(160, 160), levels=[0.5], colors="0.4", linewidths=0.8)
ax.set(xlabel="$x_1$", ylabel="$x_2$", title="Fifty informative rows of a thousand", aspect="equal")

# %%
# A random selection needs many more rows for the same error.
sizes = (10, 20, 30, 50, 80, 120)
errors: dict[str, list[float]] = {"probability": [], "random": []}
for criterion, found in errors.items():
    for size in sizes:
        machine = IVMClassifier(kernel, n_active=size, criterion=criterion, hyper="fixed")
        scores = [machine.set_params(random_state=seed).fit(X, y).score(X_new, y_new) for seed in range(3)]
        found.append(100 * (1 - np.mean(scores)))
    print(f"{criterion:12}", "  ".join(f"{size}: {error:.1f} %" for size, error in zip(sizes, found, strict=True)))

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(sizes, errors["probability"], "o-", label="least probable label first")
ax.plot(sizes, errors["random"], "s--", label="at random")
ax.set(xlabel="active rows", ylabel="errors on new rows, %", ylim=(0, None), title="Informative and random rows")
ax.grid(alpha=0.25)
ax.legend()
plt.show()
