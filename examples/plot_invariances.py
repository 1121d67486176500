"""
Known invariances: shifted digits keep their labels
====================================================

``VirtualVectorClassifier`` shifts the active rows of an informative vector machine by one pixel in four directions
and selects again from all of them (Lawrence, Platt and Jordan 2005, section 6).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gpclass import IVMClassifier, VirtualVectorClassifier
from gpclass.plotting import VirtualVectorDisplay

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
X, X_test, y, y_test = X[:500], X[500:], y[:500], y[500:]

# %%
# The second selection uses the active rows of the first and their shifts.
model = VirtualVectorClassifier(IVMClassifier(n_active=250, random_state=0), n_active=750).fit(X, y)
made = np.mean(model.virtual_.transform > 0)
print(f"{100 * made:.0f} % of the {len(model.active_rows_)} active rows are shifted copies of others")


def moved(images, step):
    """Images shifted to the right; the left edge is repeated."""
    shape = images.reshape(-1, 8, 8)
    return np.roll(np.pad(shape, ((0, 0), (0, 0), (2, 2)), mode="edge"), step, axis=2)[:, :, 2:-2].reshape(-1, 64)


# %%
# New digits unchanged, and shifted by a pixel, which is much in an image of eight by eight. A model with shifted
# rows has far fewer errors on shifted digits and a few more on unshifted ones.
errors = {}
for name, fitted in {"without shifted rows": model.first_, "with shifted rows": model}.items():
    errors[name] = [100 * (1 - fitted.score(moved(X_test, step), y_test)) for step in (-1, 0, 1)]
    print(
        f"{name:22}",
        ", ".join(f"{step:+d}: {e:.1f} % errors" for step, e in zip((-1, 0, 1), errors[name], strict=True)),
    )

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for shift, (name, values) in zip((-0.19, 0.19), errors.items(), strict=True):
    ax.bar(np.arange(3) + shift, values, 0.38, label=name)
ax.set_xticks(range(3), ["one pixel left", "unchanged", "one pixel right"])
ax.set(ylabel="errors on new digits, %", title="500 training digits")
ax.legend()

# %%
# Some of the virtual rows and their transforms.
VirtualVectorDisplay.from_estimator(model, n_images=20, only_virtual=True)
plt.show()
