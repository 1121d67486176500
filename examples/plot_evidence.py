"""
Does the evidence select the kernel that predicts best?
========================================================

The log evidence of the training labels compares kernels without a test set and without folds. Here it is plotted
against the log probability of new rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from gpclass import GPClassifier
from gpclass.datasets import make_rings
from gpclass.evaluation.metrics import mean_log_probability
from gpclass.kernels import RBF, Linear, Matern, Polynomial

X, y = make_rings(120, n_irrelevant=3, random_state=0)
X_new, y_new = make_rings(3000, n_irrelevant=3, random_state=1)
kernels = {
    "linear": Linear(0.1),
    "polynomial": Polynomial(),
    "RBF": 10.0 * RBF(2.0),
    "Matern 3/2": 10.0 * Matern(2.0, nu=1.5),
    "RBF, ARD": 10.0 * RBF(np.full(5, 2.0)),
    "Matern 3/2, ARD": 10.0 * Matern(np.full(5, 2.0), nu=1.5),
}

# %%
# Two rings around a blob, with three irrelevant inputs. A linear kernel cannot separate them, and a kernel with
# one length-scale for each input can ignore the irrelevant ones.
table = []
for name, kernel in kernels.items():
    model = GPClassifier(kernel, inference="ep", standardize=True).fit(X, y)
    score = mean_log_probability(y_new, model.predict_proba(X_new), model.classes_)
    table.append((name, model.log_evidence_ / len(y), score))
    print(f"{name:26} log evidence {model.log_evidence_:7.1f}, mean log probability of new rows {score:.3f}")

# %%
# The order is the same. The evidence predicts each label given those before it, from fewer rows than the final
# model, so its values are lower.
figure, ax = plt.subplots(figsize=(6.6, 4.4), layout="constrained")
for (name, evidence, score), marker in zip(table, "os^vDX", strict=True):
    ax.plot(evidence, score, marker, markersize=9, label=name)
ax.set(xlabel="log evidence for each training row", ylabel="mean log probability of new rows")
ax.grid(alpha=0.25)
ax.legend()
plt.show()
