"""
A data frame with words in it needs no preparation
===================================================

Columns of text are categories, and ``GPClassifier`` takes them as they are: rows are the nearer the more
categories they share. An ordinary table of customers, two columns of numbers and two of words.
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
# With the words, without them, and with each as a column of zeros and ones beside the numbers.
choices = {
    "words as they are": lambda table: table,
    "numbers only": lambda table: table[["age", "visits"]],
    "one column for each word": lambda table: pd.get_dummies(table, dtype=float),
}
models = {}
for name, choice in choices.items():
    models[name] = GPClassifier().fit(choice(train), y)
    proba = models[name].predict_proba(choice(test))
    error = np.mean(models[name].classes_[proba.argmax(axis=1)] != y_test)
    mean = mean_log_probability(y_test, proba, models[name].classes_)
    print(f"{name:26} {100 * error:5.1f} % errors, mean log probability {mean:.3f}")
print(models["words as they are"].kernel_)

# %%
# The model has found that age works in opposite directions. Nobody told it of an interaction: in a product of
# kernels, a function of age may differ from plan to plan.
figure, ax = plt.subplots(figsize=(6.6, 4), layout="constrained")
ages = np.arange(18, 81)
for plan, colour in zip(("basic", "family", "student"), ("#0072B2", "#009E73", "#D55E00"), strict=True):
    rows = pd.DataFrame({"age": ages.astype(float), "visits": 4, "plan": plan, "city": "Graz"})
    stays = models["words as they are"].predict_proba(rows)[:, 1]
    truth = {"basic": 1.5, "family": 0.0, "student": -1.5}[plan] * (ages - 49) / 10
    ax.plot(ages, stays, color=colour, label=plan)
    ax.plot(ages, 1 / (1 + np.exp(-truth)), color=colour, linestyle=":", linewidth=1)
ax.set(xlabel="age", ylabel="probability of staying", ylim=(0, 1), title="HyperResult, and the truth (dotted)")
ax.grid(alpha=0.25)
ax.legend(title="plan")
plt.show()
