"""
Finding wrong labels
====================

A tenth of the labels is wrong. A model with label noise learns this rate, predicts better, and finds the rows: a
small leave-one-out probability of the given label marks a suspicious row.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from gpclass import GPClassifier
from gpclass.evaluation.metrics import mean_log_probability
from gpclass.likelihoods import MultinomialProbit

X, y = load_wine(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.35, stratify=y, random_state=0)
rng = np.random.default_rng(1)
wrong = rng.permutation(len(y)) < len(y) // 10
noted = np.where(wrong, (y + rng.integers(1, 3, len(y))) % 3, y)
print(f"{wrong.sum()} of {len(y)} labels are wrong")

# %%
# ``label_noise`` is the probability that a label is any of the others. Learning starts at 0.05.
models = {
    "no label noise": GPClassifier(),
    "learned label noise": GPClassifier(likelihood=MultinomialProbit(label_noise=0.05, fixed=())),
}
suspicion = {}
for name, model in models.items():
    model.fit(X, noted)
    proba = model.predict_proba(X_test)
    error = 100 * np.mean(model.classes_[proba.argmax(axis=1)] != y_test)
    print(f"{name:26} {error:4.1f} % errors, mean log probability {mean_log_probability(y_test, proba, [0, 1, 2]):.3f}")
    suspicion[name] = -np.log(model.loo_proba_[np.arange(len(y)), noted])
print(f"learned label noise: {model.likelihood_.label_noise:.3f}")

# %%
# Rows sorted by leave-one-out probability. Nearly all of the most suspicious labels are indeed wrong.
score = suspicion["learned label noise"]
order = np.argsort(-score)
first = order[: wrong.sum()]
print(f"{wrong[first].sum()} of the {len(first)} most suspicious rows are wrong")
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
places = np.arange(len(y))
for chosen, colour, name in ((wrong, "#D55E00", "wrong"), (~wrong, "#0072B2", "right")):
    ax.vlines(places[chosen[order]], 0, score[order][chosen[order]], color=colour, linewidth=2, label=name)
ax.set(xlabel="rows, most suspicious first", ylabel="negative leave-one-out log probability", title="Suspicious labels")
ax.margins(x=0.01)
ax.legend(title="the label is")
plt.show()
