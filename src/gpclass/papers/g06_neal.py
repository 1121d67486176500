"""G06 neal: Neal's toy problem: importance sampling of the relevances against Markov chains

Three classes, four inputs of which two matter, 200 rows to learn from and 800 to test on: the first and the last of the
file as in GPstuff, and two random splits (quick: none); the slides print no sizes. RBF with a length-scale for each
input, inputs as they come; amplitude one as on the slides, and learned as in GPstuff, whose figures, with Student-t
priors, are the ones compared with; the test rows are the same, so the binomial error enters once. Samplers share GR06's
vague prior on relevances: importance sampling with 500 draws (2000 on the slides; quick 200), Metropolis steps within
Gibbs sampling, and NUTS, 100 draws after 100 to tune (quick 40 each); two chains (quick one). The slides throw 5000
sweeps of the Gibbs sampler away, and 2000 Metropolis steps for each draw of the parameters, and predict each test row
by 100 draws for each of the sampler's; here each of 2000 sweeps after 1000 discarded moves both, every second is kept
(quick 400 after 200), and the latent functions are integrated out. The evidence gives one point. Seconds are those of
learning on one core; nothing is calibrated. Errors of length-scales are posterior standard deviations. Needs
gpclass[mcmc].
"""

import time
from itertools import product
from typing import Any

import numpy as np

from .. import GPClassifier
from ..hyper import NUTS, Importance, Metropolis
from ..hyper.importance import HIERARCHY
from ..inference import Gibbs
from ..kernels import RBF
from .base import Claims, Figures, Quantities, Quantity, Records, Rows, Size, Task, binomial_error, by_size, counted
from .data import whole
from .figures import COLOURS, MARKERS, legend_below, panels
from .models import test_set_scores

DATA = ("neal3",)
#: The slides show pictures only. GPstuff (nested EP, most probable parameters, amplitude learned) on the first 200 and
#: the last 800 rows: error in per cent, length-scales.
GPSTUFF_ERROR = 15.25
GPSTUFF_SCALES = (0.58525, 0.64233, 4.8782, 4.3622)
N_RELEVANT = 2
IMPORTANCE, METROPOLIS = "importance sampling", "Metropolis within Gibbs"
CHAINS = (METROPOLIS, "NUTS")
PRIOR = {"length_scale": HIERARCHY}
Settings = dict[str, Any]


def tasks(size: Size) -> list[Task]:
    sizes = by_size(size, n_rows=(80, 200, 200), n_test=(300, 800, 800), n_draws=(60, 200, 500))
    sizes |= by_size(size, n_sweeps=(80, 400, 2000), n_nuts=(20, 40, 100), n_chains=(1, 1, 2), n_models=(5, 25, 25))
    n_amplitudes, n_chains = (1, 1) if size == "tiny" else (2, 2)
    return [
        {"method": method, "amplitude": amplitude, "split": split, **sizes}
        for split in range(3 if size == "full" else 1)
        for amplitude in ("one", "learned")[:n_amplitudes]
        for method in ("evidence", IMPORTANCE, *CHAINS[:n_chains])
    ]


def run(method: str, amplitude: str, split: int, n_rows: int, n_test: int, **sizes: int) -> Rows:
    X, y = whole("neal3")
    if split > 0:
        order = np.random.default_rng(split).permutation(len(y))
        X, y = X[order], y[order]
    rbf = RBF(np.ones(X.shape[1]))
    kernel = rbf if amplitude == "one" else 10.0 * rbf
    settings = learner(method, split, **sizes)
    start = time.perf_counter()
    model = GPClassifier(kernel, calibration=None, random_state=split, **settings).fit(X[:n_rows], y[:n_rows])
    seconds = time.perf_counter() - start
    learned = model.hyper_
    sd = np.asarray(learned.standard_error if learned.samples is None else learned.samples.sd)
    yield {
        **test_set_scores(model, X[-n_test:], y[-n_test:]),
        "seconds": seconds,
        "n_effective": None if learned.samples is None else learned.samples.n_effective,
        "log_scales": learned.theta[-X.shape[1] :].tolist(),
        "log_scales_sd": sd[-X.shape[1] :].tolist(),
    }


def learner(method: str, seed: int, n_draws: int, n_sweeps: int, n_nuts: int, n_chains: int, n_models: int) -> Settings:
    """Settings of a classifier that learns its parameters by this method."""
    shared: Settings = {"prior": PRIOR, "n_models": n_models}
    if method == IMPORTANCE:
        return {"hyper": Importance(n_draws=n_draws, **shared)}
    if method == METROPOLIS:
        half = n_sweeps // 2
        gibbs = Gibbs(n_draws=half, burn_in=half, thin=2, n_chains=n_chains, random_state=seed)
        return {"hyper": Metropolis(**shared), "inference": gibbs}
    if method == "NUTS":
        return {"hyper": NUTS(n_draws=n_nuts, n_tune=n_nuts, n_chains=n_chains, **shared)}
    return {"hyper": "evidence"}


def compare(records: Records) -> Quantities:
    for amplitude, method in product(records.distinct("amplitude"), records.distinct("method")):
        runs, row = records.where(method=method, amplitude=amplitude), f"{method}, amplitude {amplitude}"
        first, comparable = runs.where(split=0)[0], amplitude == "learned"
        published = GPSTUFF_ERROR if comparable else None
        yield counted(row, "error %, first split", first["error"], first["n_test"], published, better="lower")
        yield runs.quantity(row, "log likelihood", "log_likelihood", better="higher")
        yield runs.quantity(row, "seconds to learn", "seconds")
        if method != "evidence":
            cost = runs.values("seconds") / runs.values("n_effective").astype(float)
            yield Quantity(row, "seconds an effective draw", float(np.mean(cost)))
        for d in range(N_RELEVANT if comparable else 0):
            scale, sd, theirs = first["log_scales"][d], first["log_scales_sd"][d], np.log(GPSTUFF_SCALES[d])
            yield Quantity(row, f"log length-scale of input {d + 1}, first split", scale, sd, float(theirs))


def claims(records: Records) -> Claims:
    log_scales = [np.array(row["log_scales"]) for row in records]
    pairs = [
        (sampled, chain)
        for sampled in records.where(method=IMPORTANCE)
        for chain in records.where(split=sampled["split"], amplitude=sampled["amplitude"])
        if chain["method"] in CHAINS
    ]
    return {
        "Ours: every method finds the two inputs that matter, with length-scales less than half of the others'": all(
            scales[:N_RELEVANT].max() < scales[N_RELEVANT:].min() - np.log(2.0) for scales in log_scales
        ),
        "Ours: importance sampling predicts as well as Markov chains, within 2 per cent of the rows and 0.03 nats a "
        "row": all(
            sampled["error"] < chain["error"] + 2.0
            and sampled["log_likelihood"] > chain["log_likelihood"] - 0.03 * sampled["n_test"]
            for sampled, chain in pairs
        ),
        "Ours: importance sampling costs less than Markov chains for each effective draw": all(
            sampled["seconds"] / sampled["n_effective"] < chain["seconds"] / chain["n_effective"]
            for sampled, chain in pairs
        ),
    }


def draw(records: Records) -> Figures:
    amplitudes, methods = records.distinct("amplitude"), records.distinct("method")
    figure, axes = panels(3, len(amplitudes), size=(4.2, 3.4), squeeze=False)
    for line, amplitude in zip(axes, amplitudes, strict=True):
        for i, method in enumerate(methods):
            runs = records.where(method=method, amplitude=amplitude)
            style = {"color": COLOURS[i], "marker": MARKERS[i], "linestyle": "none"}
            first = runs[0]
            inputs = np.arange(1, len(first["log_scales"]) + 1)
            at, sd = inputs + 0.12 * (i - 1.5), first["log_scales_sd"]
            line[0].errorbar(at, first["log_scales"], sd, capsize=2, label=method, **style)
            spread = [binomial_error(row["error"], row["n_test"]) for row in runs]
            line[1].errorbar(runs.values("seconds"), runs.values("error"), spread, capsize=2, **style)
            line[2].plot(runs.values("seconds"), runs.values("log_likelihood"), **style)
        line[0].set(xlabel="input", ylabel=f"log length-scale, amplitude {amplitude}", xticks=inputs)
        for ax, label in zip(line[1:], ("test error %", "log likelihood of the test rows"), strict=True):
            ax.set(xlabel="seconds to learn", ylabel=label)
            ax.set_xlim(left=0.0)
        if amplitude == "learned":
            line[0].plot(inputs, np.log(GPSTUFF_SCALES), "k_", markersize=16, label="GPstuff")
            line[1].axhline(GPSTUFF_ERROR, color="black", linewidth=0.8, linestyle="--")
    legend_below(figure, axes[-1, 0], 5)
    return {"cost": figure}
