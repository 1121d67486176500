"""
Epistemic and aleatoric uncertainty
===================================

A probability of one half can mean that classes overlap (aleatoric uncertainty), or that there are no training rows
nearby (epistemic uncertainty). More rows reduce the second only. The latent uncertainty of a Gaussian process
tells one from the other.
"""

import matplotlib.pyplot as plt
import numpy as np

from gpclass import GPClassifier
from gpclass.evaluation.uncertainty import entropy_split
from gpclass.kernels import RBF

rng = np.random.default_rng(0)
centres = np.repeat([(-2.0, 0.0), (2.0, 0.0), (0.0, 2.5)], [60, 60, 120], axis=0)
X = centres + 0.65 * rng.standard_normal((240, 2))
y = np.where(np.arange(240) < 120, np.arange(240) // 60, rng.integers(0, 2, 240))
model = GPClassifier(10.0 * RBF(1.0)).fit(X, y)

# %%
# ``entropy_split`` splits the entropy of each predicted label. The aleatoric part remains even if the latent
# function is known, because labels are random given the function. The epistemic part is the information that a
# label would give about the function.
side = np.linspace(-5, 5, 70)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
total, epistemic, aleatoric = entropy_split(model, grid)
parts = {"total": total, "aleatoric": aleatoric, "epistemic": epistemic}

# %%
# At the top the labels are mixed, and more rows do not change that. At the bottom and in the corners there are no
# rows yet, and a label there would be informative.
figure, axes = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained", sharex=True, sharey=True)
for ax, (name, values) in zip(axes, parts.items(), strict=True):
    image = ax.pcolormesh(side, side, values.reshape(70, 70), vmin=0, vmax=np.log(2), cmap="viridis", shading="gouraud")
    for label, colour in ((0, "white"), (1, "#D55E00")):
        ax.scatter(*X[y == label].T, s=9, color=colour, edgecolor="black", linewidth=0.3)
    ax.set_title(name)
    ax.set_aspect("equal")
figure.colorbar(image, ax=axes, label="nats")
for name, place in {"among mixed labels": (0.0, 2.5), "far below": (0.0, -4.5), "in a cluster": (-2.0, 0.0)}.items():
    at = np.argmin(np.sum((grid - place) ** 2, axis=1))
    print(f"{name:20}", ", ".join(f"{part} {values[at]:.2f}" for part, values in parts.items()))
plt.show()
