"""
When annotators disagree, keep the disagreement
================================================

Five people label each image, and some images are hard. The majority throws away who was outvoted.
``GPClassifier`` takes the shares of votes as they are: a matrix of class probabilities in place of labels.
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
# A row of votes counts as five rows with one label each would, at the price of one: ``sample_weight=5`` says
# how many.
models = {
    "majority": GPClassifier().fit(X, counts.argmax(axis=1)),
    "shares of votes": GPClassifier().fit(X, counts / 5, sample_weight=np.full(len(X), 5.0)),
}
probas = {name: model.predict_proba(X_new) for name, model in models.items()}
for name, proba in probas.items():
    score = mean_log_probability(y_new, proba, [0, 1, 2])
    gap = np.mean(np.abs(proba - truth(X_new)))
    print(f"{name:16} mean log probability {score:.3f}, mean distance from the true probabilities {gap:.3f}")
print(f"{'the truth itself':16} mean log probability {mean_log_probability(y_new, truth(X_new), [0, 1, 2]):.3f}")

# %%
# Trained on majorities, the model believes that people agree. Trained on votes, it knows better.
display = ReliabilityDisplay.from_predictions(y_new, probas, [0, 1, 2])
display.ax_.set_title("What a new annotator says")
plt.show()
