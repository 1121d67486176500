"""
Learning the weights of several tables
======================================

Four tables with three columns each describe the same objects. The true weight of each table is known here, because
the data are drawn from the model of Girolami (2006). ``WeightedSum`` learns it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from gpclass import GPClassifier, ViewVotingClassifier
from gpclass.datasets import make_views
from gpclass.evaluation.metrics import mean_log_probability
from gpclass.kernels import RBF, View, WeightedSum
from gpclass.plotting import ViewWeightsDisplay

shares = (0.5, 0.3, 0.2, 0.0)
X, y, views = make_views(800, shares=shares, random_state=0)
X, X_new, y, y_new = train_test_split(X, y, train_size=300, stratify=y, random_state=0)

# %%
# Each view has a kernel on its own columns, and the weights are learned with the other parameters. The baseline is
# one classifier for each table, combined by the product rule.
joint = GPClassifier(WeightedSum({name: View(RBF(2.0), columns) for name, columns in views.items()}))
models = {
    "one kernel for all": GPClassifier(),
    "product rule": ViewVotingClassifier(views=views, voting="product"),
    "learned weights": joint,
}
for name, model in models.items():
    proba = model.fit(X, y).predict_proba(X_new)
    error = np.mean(model.classes_[proba.argmax(axis=1)] != y_new)
    score = mean_log_probability(y_new, proba, model.classes_)
    print(f"{name:18} {100 * error:5.1f} % errors, mean log probability {score:.3f}")

# %%
# Error bars are two standard deviations, and crosses are the true shares. The irrelevant view gets a share near
# zero. The shares of the others are uncertain with so few rows.
display = ViewWeightsDisplay.from_estimator(joint)
display.ax_.plot(shares, np.arange(len(shares))[::-1], "kx", markersize=9, mew=2, label="truth")
display.ax_.set_title("Shares of the latent variance")
display.ax_.legend()
plt.show()
