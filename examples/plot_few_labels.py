"""
Semi-supervised classification with the null category
=====================================================

Two interleaved crescents with few labelled rows. The null category of Lawrence, Platt and Jordan (2005) uses the
unlabelled rows too: the decision boundary avoids regions where rows are dense.
"""

import matplotlib.pyplot as plt
import numpy as np

from gpclass import GPClassifier, NullCategoryClassifier
from gpclass.datasets import make_crescents
from gpclass.plotting import NullCategoryDisplay, ProbabilityMapDisplay

# %%
# One model uses the labelled rows only, the other all rows. ``transduction_`` holds a label for every training
# row. Five draws of the data, and the error of each model on the unlabelled rows.
draws = []
for seed in range(5):
    X, y, truth = make_crescents(400, labelled=0.1, random_state=seed)
    known = y != -1
    alone = GPClassifier().fit(X[known], y[known])
    both = NullCategoryClassifier(n_active=150, random_state=0).fit(X, y)
    wrong = [100 * np.mean((said != truth)[~known]) for said in (alone.predict(X), both.transduction_)]
    print(f"{known.sum():3} of {len(y)} labelled: these rows alone {wrong[0]:4.1f} % wrong, all rows {wrong[1]:4.1f} %")
    draws.append((X, y, alone, both))

# %%
# The third draw. On the right the band around the boundary is the null category, which should contain no rows.
# Crosses and circles are labelled rows, large dots the active rows.
X, y, alone, both = draws[2]
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained", sharex=True, sharey=True)
ProbabilityMapDisplay.from_estimator(alone, X, ax=left)
left.scatter(*X[y == -1].T, s=3, color="0.3")
left.scatter(*X[y == 0].T, s=55, facecolor="none", edgecolor="black")
left.scatter(*X[y == 1].T, s=55, marker="x", color="black")
left.set_title("The labelled rows alone")
NullCategoryDisplay.from_estimator(both, X, y, ax=right)
right.set_title("All rows")
plt.show()

# %%
# The method assumes that regions of low density separate the classes. It helps in most of the draws, not in all
# of them. Where classes overlap, a classifier of the labelled rows alone is the safer choice.
