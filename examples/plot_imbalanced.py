"""
One case in twenty: what class_weight changes, and what it does not
====================================================================

With one row in twenty in the rare class, plain predictions hardly ever name it. ``class_weight="balanced"``
counts each of its rows many times over. That moves the boundary, and takes the probabilities away from how
often things happen. A lower threshold does the first without the second.
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
# The plain model never needed to name the rare class to be right most of the time. Its probabilities are there
# all the same: with the threshold at the share of rare rows it finds them.
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
# Counted many times, single rare rows draw islands around themselves, and the balanced model expects more of
# them than there are. Where probabilities are wanted, leave the weights alone and choose the threshold by what
# errors cost.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained", sharex=True, sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    ProbabilityMapDisplay.from_estimator(model, X, y, ax=ax)
    expected = model.predict_proba(X_new)[:, 1].mean()
    ax.set_title(f"{name}: expects {100 * expected:.0f} % rare rows, {100 * np.mean(y_new == 'rare'):.0f} % are")
plt.show()
