"""
Averaging over kernel parameters
================================

With thirty rows many kernels explain the labels. Optimisation picks one of them. ``Importance`` samples parameters,
weights them by their evidence and averages the predictions. Here the parameters vary far more than the
predictions.
"""

import matplotlib.pyplot as plt
import numpy as np

from gpclass import GPClassifier
from gpclass.hyper import Evidence, Importance
from gpclass.hyper.priors import LogNormal
from gpclass.kernels import RBF

rng = np.random.default_rng(4)
X = np.sort(rng.uniform(-3, 3, 30))[:, None]
y = (np.sin(2.2 * X[:, 0]) + 0.4 * rng.standard_normal(30) > 0).astype(int)
kernel = 10.0 * RBF(1.0)
prior = {"variance": LogNormal(np.log(10), 1.5), "length_scale": LogNormal(0, 1)}

optimum = GPClassifier(kernel, inference="ep", hyper=Evidence(prior=prior), calibration=None).fit(X, y)
sampler = Importance(prior=prior, n_draws=600)
averaged = GPClassifier(kernel, inference="ep", hyper=sampler, calibration=None, random_state=0).fit(X, y)
samples = averaged.hyper_.samples
drawn = samples.flat[rng.choice(len(samples.flat), 2000, p=samples.flat_weights)]
low, middle, high = np.quantile(np.exp(drawn), [0.05, 0.5, 0.95], axis=0)
for i, name in enumerate(averaged.hyper_.theta_names):
    best = np.exp(optimum.hyper_.theta[i])
    print(f"{name:12} optimum {best:5.2f}, draws {middle[i]:5.2f}, nine in ten from {low[i]:.2f} to {high[i]:.2f}")
print(f"{len(samples.flat)} draws, worth {samples.n_effective:.0f} independent ones")

# %%
# Thirty of the draws, one model for each.
along = np.linspace(-5, 5, 200)[:, None]
single = [
    GPClassifier(kernel.with_theta(theta), inference="ep", hyper="fixed", calibration=None)
    .fit(X, y)
    .predict_proba(along)[:, 1]
    for theta in drawn[:30]
]
inside = np.abs(along[:, 0]) < 3
print(f"standard deviation of their probabilities: {np.std(single, axis=0)[inside].mean():.3f} within the data")

# %%
# On the left contours of the evidence, and the draws. On the right the predictions. With one length-scale for each
# of many inputs an optimum can be over-confident, and the average is better.
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
axes = np.linspace(np.log(0.5), np.log(500), 30), np.linspace(np.log(0.15), np.log(3), 30)
evidence = np.array([[optimum.log_marginal_likelihood([v, s]) for v in axes[0]] for s in axes[1]])
levels = evidence.max() - np.array([8, 4, 2, 1, 0.5])
left.contour(np.exp(axes[0]), np.exp(axes[1]), evidence, levels=levels, colors="0.5", linewidths=0.8)
left.scatter(*np.exp(samples.flat).T, s=8000 * samples.flat_weights, alpha=0.4, linewidth=0)
left.plot(*np.exp(optimum.hyper_.theta), "k+", markersize=14, mew=2, label="optimum")
left.set(xscale="log", yscale="log", xlabel="amplitude", ylabel="length-scale", title="Draws of the parameters")
left.set(xlim=np.exp(axes[0][[0, -1]]), ylim=np.exp(axes[1][[0, -1]]))
left.legend()
right.plot(along, np.transpose(single), color="#0072B2", alpha=0.2, linewidth=0.8)
right.plot(along, averaged.predict_proba(along)[:, 1], color="#0072B2", linewidth=2, label="average of all draws")
right.plot(along, optimum.predict_proba(along)[:, 1], "k--", label="optimum")
right.plot(X[:, 0], y, "k|", markersize=10)
right.set(xlabel="x", ylabel="probability of 1", ylim=(-0.05, 1.05), title="Predictions of each draw")
right.grid(alpha=0.25)
right.legend(loc="upper left", fontsize="small")
plt.show()
