"""
Regression: does the band hold what it promises?
=================================================

``GPRegressor`` learns how smooth the curve is and how noisy the numbers are. Its band should hold 95 % of new
numbers, near the rows and in a gap between them.
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
# The band widens in the gap, where there are no rows. With ``return_std=True``, ``predict`` gives the standard
# deviation of a new number, noise included.
X_new, y_new = draw(5000)
mean, sd = model.predict(X_new, return_std=True)
inside = np.abs(y_new - mean) < 1.96 * sd
gap = (X_new[:, 0] > 0.5) & (X_new[:, 0] < 2.5)
print(f"inside the band: {100 * inside[~gap].mean():.1f} % near rows, {100 * inside[gap].mean():.1f} % in the gap")
print(f"width of the band: {4 * sd[~gap].mean():.2f} near rows, {4 * sd[gap].mean():.2f} in the gap")

display = LatentDisplay.from_estimator(model, X, y)
along = np.linspace(-5, 5, 400)
display.ax_.plot(along, curve(along), ":", color="0.3", label="truth")
display.ax_.set(title="A gap in the rows is a gap in knowledge", xlabel="x", ylabel="y")
display.ax_.legend(fontsize="small")
plt.show()
