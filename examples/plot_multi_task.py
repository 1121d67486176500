"""
Many related tasks with few rows each
======================================

Each task is a different curve, but all are equally smooth and equally noisy. ``MultiTaskIVMRegressor`` learns one
kernel from all of them, and ``adapt`` makes a model for a new task from a handful of rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from gpclass import GPRegressor, MultiTaskIVMRegressor
from gpclass.plotting import TaskDisplay

rng = np.random.default_rng(2)
NOISE = 0.3


def curve(n):
    """A new task: two waves of random height, seen at n places with noise."""
    waves = rng.normal(size=(2, 2)) / np.sqrt(2)

    def f(at):
        return sum(a * np.sin(k * at) + b * np.cos(k * at) for k, (a, b) in enumerate(waves.T, start=1))

    x = np.sort(rng.uniform(-3, 3, n))
    return x[:, None], f(x) + NOISE * rng.standard_normal(n), f


tasks = {f"task {name}": curve(n) for name, n in zip("abcd", (25, 20, 15, 10), strict=True)}
X = np.concatenate([own[0] for own in tasks.values()])
y = np.concatenate([own[1] for own in tasks.values()])
task = np.repeat(list(tasks), [len(own[1]) for own in tasks.values()])

# %%
# Active rows are circled. They are selected across tasks, the most informative row of any task next.
model = MultiTaskIVMRegressor(n_active=50).fit(X, y, task=task)
TaskDisplay.from_estimator(model, X, y, task)
print(f"learned noise {model.noise_std_:.2f}, truth {NOISE}")

# %%
# New tasks of seven rows each. Seven rows alone hardly separate noise from signal. With the kernel of the other
# tasks, they do.
grid = np.linspace(-3, 3, 100)[:, None]
scores = {"adapted": [], "alone": []}
for _ in range(20):
    x, seen, f = curve(7)
    models = {"adapted": model.adapt(x, seen), "alone": GPRegressor().fit(x, seen)}
    new = f(grid[:, 0]) + NOISE * rng.standard_normal(100)
    for name, own in models.items():
        mean, sd = own.predict(grid, return_std=True)
        scores[name].append((np.sqrt(np.mean((mean - f(grid[:, 0])) ** 2)), norm.logpdf(new, mean, sd).mean()))
scores = {name: np.array(values) for name, values in scores.items()}
for name, values in scores.items():
    error, density = values.mean(axis=0)
    print(f"{name:8} root mean squared error {error:.2f}, log density of new targets {density:.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", width_ratios=(1.5, 1))
for (name, own), colour in zip(models.items(), ("#0072B2", "#D55E00"), strict=True):
    mean, sd = own.predict(grid, return_std=True)
    left.plot(grid, mean, color=colour, label=name)
    left.fill_between(grid[:, 0], mean - 2 * sd, mean + 2 * sd, color=colour, alpha=0.15, linewidth=0)
left.plot(grid, f(grid[:, 0]), "k:", label="truth")
left.plot(x, seen, "kx")
left.set(title="The last of the new tasks", xlabel="x", ylabel="y")
left.legend(fontsize="small")
gain = scores["adapted"][:, 1] - scores["alone"][:, 1]
right.axvline(0, color="0.3", linestyle=":")
right.plot(np.sort(gain), np.arange(1, len(gain) + 1), "o")
right.set(
    xlabel="gain in log density by adapting",
    ylabel="new tasks, sorted",
    title=f"Better in {np.sum(gain > 0)} of {len(gain)}",
)
plt.show()
