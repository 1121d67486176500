"""
Regression with predictive intervals
====================================

``GPRegressor`` learns the smoothness of the curve and the noise of the targets. Its interval should contain 95 % of
new targets, near the training rows and in a region without any.
"""

import matplotlib.pyplot as plt
import numpy as np

from gpclass import GPRegressor
from gpclass.plotting import LatentDisplay

rng = np.random.default_rng(0)


def curve(x):
    return 3.0 * np.sin(1.3 * x) + 1.5 * np.cos(2.9 * x)


def draw(n):
    x = rng.uniform(-5, 5, n)
    return x[:, None], curve(x) + 0.6 * rng.standard_normal(n)


X, y = draw(90)
outside = (X[:, 0] < 0.5) | (X[:, 0] > 2.5)
X, y = X[outside], y[outside]
model = GPRegressor().fit(X, y)
print(f"learned noise {model.noise_std_:.2f}, truth 0.6")
print(f"learned kernel {model.kernel_}")

# %%
# The interval widens where there are no rows. With ``return_std=True``, ``predict`` returns the standard deviation
# of a new target, noise included.
X_new, y_new = draw(5000)
mean, sd = model.predict(X_new, return_std=True)
inside = np.abs(y_new - mean) < 1.96 * sd
empty = (X_new[:, 0] > 0.5) & (X_new[:, 0] < 2.5)
print(f"coverage: {100 * inside[~empty].mean():.1f} % near rows, {100 * inside[empty].mean():.1f} % without rows")
print(f"mean width: {4 * sd[~empty].mean():.2f} near rows, {4 * sd[empty].mean():.2f} without rows")

display = LatentDisplay.from_estimator(model, X, y)
along = np.linspace(-5, 5, 400)
display.ax_.plot(along, curve(along), ":", color="0.3", label="truth")
display.ax_.set(title="Wide intervals where there are no rows", xlabel="x", ylabel="y")
display.ax_.legend(fontsize="small")
plt.show()
