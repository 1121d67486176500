"""WB98 figure 2: Relevance of the inputs of the Pima data

The 200 training rows of Ripley's split. Inputs standardised, priors, starting values, steps, 200 trajectories and a
third discarded as in the paper, which does not print where v1 starts (here at its prior's mean); draws of ten chains
together instead of one (three in quick runs). The point estimate is found by L-BFGS-B to convergence instead of 20
steps of scaled conjugate gradients. The figure prints no numbers, so there is nothing to compare but the words about
it.
"""

import numpy as np

from ..numerics.diagnostics import split_r_hat
from .base import Claims, Figures, Quantities, Quantity, Records, Rows, Size, Task
from .data import halves
from .figures import COLOURS, panels
from .models import covariance, hmc_classifier, map_classifier

DATA = ("pima",)
INPUTS = ("pregnancies", "glucose", "blood pressure", "skin fold", "body mass", "pedigree", "age")
#: Variables 1 and 3, which the paper's text says have the shortest length-scales.
SHORTEST = (0, 2)
#: Variables 1, 2, 5 and 6, the most important ones in the study of Wahba et al. (1995) that the paper cites.
IMPORTANT = (0, 1, 4, 5)


def tasks(size: Size) -> list[Task]:
    n_chains, n_iter = {"tiny": (1, 30), "quick": (3, 200), "full": (10, 200)}[size]
    chains: list[Task] = [{"method": "HMC", "seed": seed, "n_iter": n_iter} for seed in range(n_chains)]
    return [*chains, {"method": "MAP", "seed": 0, "n_iter": 0}]


def run(method: str, seed: int, n_iter: int) -> Rows:
    X, y, *_ = halves("pima")
    kernel = covariance(X.shape[1])
    model = (hmc_classifier(kernel, n_iter, seed) if method == "HMC" else map_classifier(kernel)).fit(X, y)
    learned = model.hyper_
    thetas = learned.theta[None] if learned.samples is None else learned.samples.flat
    scales = [j for j, entry in enumerate(model.kernel_.theta_entries) if entry.role == "length_scale"]
    yield {"log_w": -2.0 * thetas[:, scales]}  # w = 1 / l^2


def compare(records: Records) -> Quantities:
    chains, best = _chains_and_best(records)
    for i, name in enumerate(INPUTS):
        means = Records({"log_w": mean} for mean in chains[:, :, i].mean(axis=1))
        yield means.quantity(name, "log w, mean", "log_w")
        yield Quantity(name, "log w, sd", float(chains[:, :, i].std()))
        yield Quantity(name, "log w, point estimate", float(best[i]))


def claims(records: Records) -> Claims:
    chains, best = _chains_and_best(records)
    mean, sd = chains.mean(axis=(0, 1)), chains.std(axis=(0, 1))
    others = [i for i in range(len(INPUTS)) if i not in IMPORTANT]
    near = np.all(np.abs(best - mean) <= 2.0 * sd)
    return {
        "Ours: the point estimate of every log w is within two standard deviations of its posterior mean": near,
        "Ours: pregnancies, glucose, body mass and pedigree, the important inputs of Wahba et al., have larger w on "
        "average than the other three": np.mean(mean[list(IMPORTANT)]) > np.mean(mean[others]),
        "Pregnancies and blood pressure have the shortest length-scales": set(np.argsort(-mean)[:2]) == set(SHORTEST),
    }


def draw(records: Records) -> Figures:
    chains, best = _chains_and_best(records)
    figure, ax = panels(size=(6.0, 3.4))
    positions = np.arange(1, len(INPUTS) + 1)
    mean, sd = chains.mean(axis=(0, 1)), chains.std(axis=(0, 1))
    label = "posterior mean and standard deviation"
    ax.errorbar(positions, mean, sd, fmt="o", capsize=4, color=COLOURS[0], label=label)
    ax.plot(positions, best, "s", markerfacecolor="none", color=COLOURS[1], markersize=9, label="point estimate")
    names = [f"{i}\n{name.replace(' ', chr(10))}" for i, name in zip(positions, INPUTS, strict=True)]
    ax.set_xticks(positions, names, fontsize=8)
    ax.set_ylabel("log w (higher: shorter length-scale)")
    ax.set_title(f"{len(chains)} chain(s), R-hat up to {np.max(split_r_hat(chains)):.2f}", fontsize=9)
    ax.grid(axis="y", alpha=0.3)
    ax.legend(fontsize=8)
    return {"relevances": figure}


def _chains_and_best(records: Records) -> tuple[np.ndarray, np.ndarray]:
    """Draws (chains, draws, inputs) of log w, and the point estimate."""
    return records.where(method="HMC").values("log_w"), records.where(method="MAP").values("log_w")[0, 0]
