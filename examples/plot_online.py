"""
Rows that keep coming: learning batch after batch with a fixed budget
======================================================================

``IVMClassifier.partial_fit`` takes in one batch after the other. All rows speak, and at most ``n_active`` are
kept, so memory and the time for a batch do not grow.
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
# The first batch settles the kernel; later ones leave it alone.
stream = IVMClassifier(n_active=250, random_state=0)
seen, errors, seconds = [], [], []
for start in range(0, 1200, 200):
    batch = slice(start, start + 200)
    begin = time.perf_counter()
    stream.partial_fit(X[batch], y[batch], classes=range(10))
    seconds.append(time.perf_counter() - begin)
    seen.append(start + 200)
    errors.append(100 * (1 - stream.score(X_test, y_test)))
    print(f"{seen[-1]:5} rows seen, {len(stream.active_rows_)} kept, {errors[-1]:5.2f} % errors, {seconds[-1]:.1f} s")

# %%
# What would a model have done that saw all rows at once, and one that threw the rest away?
together = IVMClassifier(n_active=250, random_state=0).fit(X[:1200], y[:1200])
forgetful = IVMClassifier(n_active=250, random_state=0).fit(X[950:1200], y[950:1200])
limits = {
    "all at once, 250 rows kept": 100 * (1 - together.score(X_test, y_test)),
    "the last 250 rows alone": 100 * (1 - forgetful.score(X_test, y_test)),
}
figure, ax = plt.subplots(figsize=(6.6, 4), layout="constrained")
ax.plot(seen, errors, "o-", label="batch after batch, 250 rows kept")
for (name, error), style in zip(limits.items(), ("--", ":"), strict=True):
    print(f"{name}: {error:.2f} % errors")
    ax.axhline(error, color="0.3", linestyle=style, label=name)
ax.set(xlabel="rows seen", ylabel="errors on new digits, %", ylim=(0, None), title="A budget of 250 rows")
ax.grid(alpha=0.25)
ax.legend()
plt.show()
