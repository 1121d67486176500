"""
Class weights or a threshold for a rare class
==============================================

With one row in twenty in the rare class, the most probable class is hardly ever the rare one.
``class_weight="balanced"`` gives its rows more weight. That moves the boundary, but the probabilities no longer
match the class frequencies. A lower threshold moves the boundary and keeps the probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import balanced_accuracy_score, log_loss, recall_score

from gpclass import GPClassifier
from gpclass.plotting import ProbabilityMapDisplay


def draw(n, rng):
    """A common class everywhere, and a rare one on one side."""
    y = (rng.uniform(size=n) < 0.05).astype(int)
    X = rng.normal(size=(n, 2)) * np.where(y, 0.6, 1.2)[:, None] + np.outer(y, (1.5, 1.0))
    return X, np.where(y, "rare", "common")


rng = np.random.default_rng(3)
X, y = draw(500, rng)
X_new, y_new = draw(5000, rng)
models = {
    "plain": GPClassifier().fit(X, y),
    "balanced": GPClassifier(class_weight="balanced").fit(X, y),
}

# %%
# The unweighted model rarely predicts the rare class, but its probabilities are informative: with the threshold at
# the frequency of the rare class it finds most of its rows.
share = np.mean(y == "rare")
print(f"share of rare rows in training: {share:.3f}")
print(f"{'':28} {'rare found':>10} {'balanced accuracy':>18} {'log loss':>9}")
for name, model in models.items():
    rare = model.predict_proba(X_new)[:, 1]
    for threshold in (0.5, share) if name == "plain" else (0.5,):
        said = np.where(rare > threshold, "rare", "common")
        found = recall_score(y_new, said, pos_label="rare")
        balanced = balanced_accuracy_score(y_new, said)
        loss = log_loss(y_new, rare)
        print(f"{name + f', threshold {threshold:.2f}':28} {100 * found:9.0f} % {balanced:18.3f} {loss:9.3f}")

# %%
# With large weights single rare rows form islands, and the balanced model overestimates the frequency of the rare
# class. If you need probabilities, do not weight the classes; choose the threshold by the cost of errors.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained", sharex=True, sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    ProbabilityMapDisplay.from_estimator(model, X, y, ax=ax)
    expected = model.predict_proba(X_new)[:, 1].mean()
    ax.set_title(f"{name}: expects {100 * expected:.0f} % rare rows, {100 * np.mean(y_new == 'rare'):.0f} % are")
plt.show()
