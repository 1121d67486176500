"""
Thousands of rows: fine structure from nearest neighbours
=========================================================

Stripes across the difference of two inputs, 5000 rows, one label in twenty wrong. ``NearestNeighborGPClassifier``
predicts each row from its nearest training rows, so its detail is not limited by a number of active rows or inducing
points. It also learns the metric by which rows are near.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from gpclass import NearestNeighborGPClassifier
from gpclass.kernels import Matern
from gpclass.plotting import ProbabilityMapDisplay

rng = np.random.default_rng(0)


def draw(n):
    """Rows in a square, with labels that alternate from stripe to stripe and are right with probability 0.95."""
    X = rng.uniform(-2, 2, (n, 2))
    stripe = np.floor(4.0 * (X[:, 0] - X[:, 1])).astype(int) % 2
    return X, np.where(rng.uniform(size=n) < 0.95, stripe, 1 - stripe)


X, y = draw(5000)
X_new, y_new = draw(2000)

# %%
# The default kernel has a length-scale for each input, and mixes inputs where held-back rows gain by it. A kernel that
# is given is not mixed. Forty neighbours and no global model make this example faster.
settings = {"n_neighbors": 40, "global_model": False, "random_state": 0}
models = {
    "a length-scale for each input": NearestNeighborGPClassifier(Matern(np.ones(2), nu=1.5), **settings),
    "inputs mixed": NearestNeighborGPClassifier(**settings),
}
for name, model in models.items():
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    right, loss = model.score(X_new, y_new), log_loss(y_new, model.predict_proba(X_new)[:, 1])
    print(f"{name:30} right {100 * right:.1f} %, log loss {loss:.3f}, {seconds:.1f} s")
print(f"{'best possible':30} right 95.0 %, log loss {-0.95 * np.log(0.95) - 0.05 * np.log(0.05):.3f}")

# %%
# Distances are those of the rows times ``components_``, in units of the length-scales. A step across the stripes is
# far longer than one along them, so the nearest rows of a row lie in its own stripe.
model = models["inputs mixed"]
metric = model.components_ / model.kernel_.params["length_scale"]
for name, step in (("across", [1.0, -1.0]), ("along", [1.0, 1.0])):
    print(f"a step {name:6} the stripes: {np.linalg.norm(np.array(step) / model.input_scale_ @ metric):.2f}")

# %%
# Probability maps of both. Colours mix in proportion to the probabilities, and lines are the decision boundaries. With
# separate length-scales neighbours come from several stripes: the boundaries waver and the stripes end near the border.
figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    ProbabilityMapDisplay.from_estimator(model, X, resolution=100, ax=ax)
    ax.set(xlabel="$x_0$", ylabel="$x_1$" if ax is axes[0] else "", title=name, aspect="equal")
plt.show()
