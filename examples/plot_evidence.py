"""
Does the evidence know which kernel predicts best?
===================================================

No test set, no folds: the log evidence of the training labels is one number that says how well a kernel suits
them. Here it stands beside what happens on new rows.
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
    "RBF, each input its own": 10.0 * RBF(np.full(5, 2.0)),
    "Matern 3/2, each its own": 10.0 * Matern(np.full(5, 2.0), nu=1.5),
}

# %%
# Two rings around a blob, hidden among three inputs that say nothing. A straight line is of no use, and a
# kernel that can ignore inputs is of much.
table = []
for name, kernel in kernels.items():
    model = GPClassifier(kernel, inference="ep", standardize=True).fit(X, y)
    score = mean_log_probability(y_new, model.predict_proba(X_new), model.classes_)
    table.append((name, model.log_evidence_ / len(y), score))
    print(f"{name:26} log evidence {model.log_evidence_:7.1f}, mean log probability of new rows {score:.3f}")

# %%
# The order is the same. The evidence asks for each label given those before it, so it knows less than a model
# of all rows, and lies to the left.
figure, ax = plt.subplots(figsize=(6.6, 4.4), layout="constrained")
for (name, evidence, score), marker in zip(table, "os^vDX", strict=True):
    ax.plot(evidence, score, marker, markersize=9, label=name)
ax.set(xlabel="log evidence for each training row", ylabel="mean log probability of new rows")
ax.grid(alpha=0.25)
ax.legend()
plt.show()
