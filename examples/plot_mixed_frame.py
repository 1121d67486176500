"""
Data frames with categorical columns
====================================

``GPClassifier`` treats text columns as categories without any preparation: rows are more similar the more
categories they share. The table describes customers by two numeric and two categorical columns.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from gpclass import GPClassifier
from gpclass.evaluation.metrics import mean_log_probability

rng = np.random.default_rng(0)
n = 700
frame = pd.DataFrame(
    {
        "age": rng.uniform(18, 80, n).round(),
        "visits": rng.poisson(4, n),
        "plan": rng.choice(["basic", "family", "student"], n),
        "city": rng.choice(["Bergen", "Cork", "Graz", "Turku"], n),
    }
)
# What age does depends on the plan: up for some, down for others.
slope = frame["plan"].map({"basic": 1.5, "family": 0.0, "student": -1.5})
score = slope * (frame["age"] - 49) / 10 + 0.5 * (frame["visits"] - 4) + frame["city"].map({"Cork": 1.5}).fillna(0.0)
y = np.where(score + rng.logistic(size=n) > 0, "stays", "leaves")
train, test, y, y_test = train_test_split(frame, y, train_size=250, random_state=0)
print(train.head())

# %%
# With the categories, without them, and with one-hot encoding.
choices = {
    "categories": lambda table: table,
    "numeric columns only": lambda table: table[["age", "visits"]],
    "one-hot encoding": lambda table: pd.get_dummies(table, dtype=float),
}
models = {}
for name, choice in choices.items():
    models[name] = GPClassifier().fit(choice(train), y)
    proba = models[name].predict_proba(choice(test))
    error = np.mean(models[name].classes_[proba.argmax(axis=1)] != y_test)
    mean = mean_log_probability(y_test, proba, models[name].classes_)
    print(f"{name:26} {100 * error:5.1f} % errors, mean log probability {mean:.3f}")
print(models["categories"].kernel_)

# %%
# The effect of age depends on the plan. The model learns this interaction, because in a product of kernels the
# function of age may differ between plans.
figure, ax = plt.subplots(figsize=(6.6, 4), layout="constrained")
ages = np.arange(18, 81)
for plan, colour in zip(("basic", "family", "student"), ("#0072B2", "#009E73", "#D55E00"), strict=True):
    rows = pd.DataFrame({"age": ages.astype(float), "visits": 4, "plan": plan, "city": "Graz"})
    stays = models["categories"].predict_proba(rows)[:, 1]
    truth = {"basic": 1.5, "family": 0.0, "student": -1.5}[plan] * (ages - 49) / 10
    ax.plot(ages, stays, color=colour, label=plan)
    ax.plot(ages, 1 / (1 + np.exp(-truth)), color=colour, linestyle=":", linewidth=1)
ax.set(xlabel="age", ylabel="probability of staying", ylim=(0, 1), title="Learned probabilities and the truth (dotted)")
ax.grid(alpha=0.25)
ax.legend(title="plan")
plt.show()
