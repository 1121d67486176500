"""
Soft labels from several annotators
===================================

Five people label each image, and some images are ambiguous. A majority vote discards the disagreement.
``GPClassifier`` accepts the vote fractions: a matrix of class probabilities in place of labels.
"""

import matplotlib.pyplot as plt
import numpy as np

from gpclass import GPClassifier
from gpclass.evaluation.metrics import mean_log_probability
from gpclass.plotting import ReliabilityDisplay

rng = np.random.default_rng(0)


def truth(X):
    """Probabilities of three classes that shade into each other."""
    angle = np.arctan2(X[:, 1], X[:, 0])
    scores = np.stack([2.0 * np.cos(angle - 2 * np.pi * k / 3) for k in range(3)], axis=1)
    odds = np.exp(scores * np.hypot(*X.T)[:, None])
    return odds / odds.sum(axis=1, keepdims=True)


def votes(X, n):
    return np.array([rng.multinomial(n, p) for p in truth(X)])


X, X_new = rng.normal(size=(150, 2)), rng.normal(size=(4000, 2))
counts = votes(X, 5)
y_new = votes(X_new, 1).argmax(axis=1)
print(f"{np.mean(counts.max(axis=1) < 5) * 100:.0f} % of the images are disputed")

# %%
# With ``sample_weight=5`` a row of vote fractions counts like five rows with one label each, at the cost of one
# row.
models = {
    "majority": GPClassifier().fit(X, counts.argmax(axis=1)),
    "vote fractions": GPClassifier().fit(X, counts / 5, sample_weight=np.full(len(X), 5.0)),
}
probas = {name: model.predict_proba(X_new) for name, model in models.items()}
for name, proba in probas.items():
    score = mean_log_probability(y_new, proba, [0, 1, 2])
    distance = np.mean(np.abs(proba - truth(X_new)))
    print(f"{name:16} mean log probability {score:.3f}, mean distance from the true probabilities {distance:.3f}")
print(f"{'the truth itself':16} mean log probability {mean_log_probability(y_new, truth(X_new), [0, 1, 2]):.3f}")

# %%
# The model trained on majority votes is over-confident. The model trained on vote fractions is better
# calibrated.
display = ReliabilityDisplay.from_predictions(y_new, probas, [0, 1, 2])
display.ax_.set_title("Predictions of a new annotator's label")
plt.show()
