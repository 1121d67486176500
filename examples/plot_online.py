"""
Streaming data: learning batch by batch with a fixed budget
===========================================================

``IVMClassifier.partial_fit`` learns from one batch after the other. The posterior conditions on all rows, and at
most ``n_active`` of them are stored, so memory and the time for a batch do not grow.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gpclass import IVMClassifier

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
X_test, y_test = X[1200:], y[1200:]

# %%
# The first batch determines the kernel; later ones do not change it.
stream = IVMClassifier(n_active=250, random_state=0)
seen, errors, seconds = [], [], []
for start in range(0, 1200, 200):
    batch = slice(start, start + 200)
    begin = time.perf_counter()
    stream.partial_fit(X[batch], y[batch], classes=range(10))
    seconds.append(time.perf_counter() - begin)
    seen.append(start + 200)
    errors.append(100 * (1 - stream.score(X_test, y_test)))
    print(f"{seen[-1]:5} rows seen, {len(stream.active_rows_)} active, {errors[-1]:5.2f} % errors, {seconds[-1]:.1f} s")

# %%
# For comparison: a model of all rows at once, and a model of the last rows alone.
together = IVMClassifier(n_active=250, random_state=0).fit(X[:1200], y[:1200])
forgetful = IVMClassifier(n_active=250, random_state=0).fit(X[950:1200], y[950:1200])
limits = {
    "all at once, 250 active rows": 100 * (1 - together.score(X_test, y_test)),
    "the last 250 rows alone": 100 * (1 - forgetful.score(X_test, y_test)),
}
figure, ax = plt.subplots(figsize=(6.6, 4), layout="constrained")
ax.plot(seen, errors, "o-", label="batch by batch, 250 active rows")
for (name, error), style in zip(limits.items(), ("--", ":"), strict=True):
    print(f"{name}: {error:.2f} % errors")
    ax.axhline(error, color="0.3", linestyle=style, label=name)
ax.set(xlabel="rows seen", ylabel="errors on new digits, %", ylim=(0, None), title="A budget of 250 rows")
ax.grid(alpha=0.25)
ax.legend()
plt.show()
