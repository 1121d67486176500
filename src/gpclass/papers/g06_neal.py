"""G06: relevances of Neal's toy problem by importance sampling and by Markov chains, and what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import GPClassifier
from ..hyper import NUTS, Importance, Metropolis
from ..hyper.importance import HIERARCHY
from ..inference import Gibbs
from ..kernels import RBF
from .base import Comparison, Experiment, Records, Size, Task, binomial_error
from .data import whole
from .figures import COLOURS, MARKERS, panels
from .scores import scores

#: The slides show pictures only. GPstuff (nested EP, most probable parameters, amplitude learned) on the first 200 and
#: the last 800 rows: error in per cent, length-scales.
GPSTUFF_ERROR = 15.25
GPSTUFF_SCALES = (0.58525, 0.64233, 4.8782, 4.3622)
N_RELEVANT = 2
IMPORTANCE, METROPOLIS = "importance sampling", "Metropolis within Gibbs"
CHAINS = (METROPOLIS, "NUTS")
PRIOR = {"length_scale": HIERARCHY}


def tasks(size: Size) -> list[Task]:
    n_splits = {"tiny": 1, "quick": 1, "full": 3}[size]
    methods = ("evidence", IMPORTANCE, METROPOLIS) if size == "tiny" else ("evidence", IMPORTANCE, *CHAINS)
    sizes = {
        "n_rows": 80 if size == "tiny" else 200,
        "n_test": 300 if size == "tiny" else 800,
        "n_draws": {"tiny": 60, "quick": 200, "full": 500}[size],
        "n_sweeps": {"tiny": 80, "quick": 400, "full": 2000}[size],
        "n_nuts": {"tiny": 20, "quick": 40, "full": 100}[size],
        "n_chains": 2 if size == "full" else 1,
        "n_models": 5 if size == "tiny" else 25,
    }
    return [
        {"method": method, "amplitude": amplitude, "split": split, **sizes}
        for split in range(n_splits)
        for amplitude in (("one",) if size == "tiny" else ("one", "learned"))
        for method in methods
    ]


def run(
    method: str,
    amplitude: str,
    split: int,
    n_rows: int,
    n_test: int,
    n_draws: int,
    n_sweeps: int,
    n_nuts: int,
    n_chains: int,
    n_models: int,
) -> Iterator[dict[str, Any]]:
    X, y = whole("neal3")
    if split > 0:
        order = np.random.default_rng(split).permutation(len(y))
        X, y = X[order], y[order]
    start = RBF(np.ones(X.shape[1]))
    shared: dict[str, Any] = {"prior": PRIOR, "n_models": n_models}
    ways: dict[str, Callable[[], dict[str, Any]]] = {
        "evidence": lambda: {"hyper": "evidence"},
        IMPORTANCE: lambda: {"hyper": Importance(n_draws=n_draws, **shared)},
        METROPOLIS: lambda: {
            "hyper": Metropolis(**shared),
            "inference": Gibbs(
                n_draws=n_sweeps // 2, burn_in=n_sweeps // 2, thin=2, n_chains=n_chains, random_state=split
            ),
        },
        "NUTS": lambda: {"hyper": NUTS(n_draws=n_nuts, n_tune=n_nuts, n_chains=n_chains, **shared)},
    }
    model = GPClassifier(
        start if amplitude == "one" else 10.0 * start, calibration=None, random_state=split, **ways[method]()
    )
    started = time.perf_counter()
    model.fit(X[:n_rows], y[:n_rows])
    seconds = time.perf_counter() - started
    learned = model.hyper_
    n_effective = None if learned.samples is None else learned.samples.n_effective
    sd = np.asarray(learned.standard_error if learned.samples is None else learned.samples.sd)
    yield {
        **scores(model, X[-n_test:], y[-n_test:]),
        "seconds": seconds,
        "n_effective": n_effective,
        "log_scales": learned.theta[-X.shape[1] :].tolist(),
        "log_scales_sd": sd[-X.shape[1] :].tolist(),
    }


def compare(records: Records) -> list[Comparison]:
    found = []
    for amplitude in records.distinct("amplitude"):
        for method in records.distinct("method"):
            own = records.where(method=method, amplitude=amplitude)
            row = f"{method}, amplitude {amplitude}"
            first = own.where(split=0)
            n_test = first[0]["n_test"]
            comparable = amplitude == "learned"
            found += [
                Comparison(
                    row,
                    "error %, first split",
                    first.mean("error"),
                    binomial_error(first.mean("error"), n_test),
                    # The same test rows: chance enters by the count, and once.
                    GPSTUFF_ERROR if comparable else None,
                    better="lower",
                ),
                Comparison(
                    row,
                    "log likelihood",
                    own.mean("log_likelihood"),
                    own.standard_error("log_likelihood"),
                    better="higher",
                ),
                Comparison(row, "seconds to learn", own.mean("seconds"), own.standard_error("seconds")),
            ]
            if method != "evidence":
                found.append(Comparison(row, "seconds an effective draw", float(np.mean(cost(own)))))
            if comparable:
                found += [
                    Comparison(row, f"log length-scale of input {d + 1}, first split", at, sd, float(np.log(scale)))
                    for d, (at, sd, scale) in enumerate(
                        zip(first[0]["log_scales"], first[0]["log_scales_sd"], GPSTUFF_SCALES, strict=True)
                    )
                    if d < N_RELEVANT
                ]
    return found


def cost(records: Records) -> np.ndarray:
    """Seconds for each effective draw of the parameters."""
    return records.values("seconds") / records.values("n_effective").astype(float)


def claims(records: Records) -> dict[str, bool]:
    apart = [np.array(row["log_scales"]) for row in records]
    sampled = records.where(method=IMPORTANCE)
    chains = [
        (own, rival)
        for own in sampled
        for rival in records.where(split=own["split"], amplitude=own["amplitude"])
        if rival["method"] in CHAINS
    ]
    return {
        "Ours: every method finds the two inputs that matter, with length-scales less than half of the others'": all(
            own[:N_RELEVANT].max() < own[N_RELEVANT:].min() - np.log(2.0) for own in apart
        ),
        "Ours: importance sampling predicts as well as Markov chains, within 2 per cent of the rows and 0.03 nats a "
        "row": all(
            own["error"] < rival["error"] + 2.0
            and own["log_likelihood"] > rival["log_likelihood"] - 0.03 * own["n_test"]
            for own, rival in chains
        ),
        "Ours: importance sampling costs less than Markov chains for each effective draw": all(
            own["seconds"] / own["n_effective"] < rival["seconds"] / rival["n_effective"] for own, rival in chains
        ),
    }


def draw(records: Records) -> dict[str, Any]:
    amplitudes, methods = records.distinct("amplitude"), records.distinct("method")
    figure, axes = panels(3, len(amplitudes), size=(4.2, 3.4), squeeze=False)
    for line, amplitude in zip(axes, amplitudes, strict=True):
        for i, method in enumerate(methods):
            own = records.where(method=method, amplitude=amplitude)
            style = {"color": COLOURS[i], "marker": MARKERS[i], "linestyle": "none"}
            first = own[0]
            inputs = np.arange(1, len(first["log_scales"]) + 1)
            line[0].errorbar(
                inputs + 0.12 * (i - 1.5), first["log_scales"], first["log_scales_sd"], capsize=2, label=method, **style
            )
            spread = [binomial_error(row["error"], row["n_test"]) for row in own]
            line[1].errorbar(own.values("seconds"), own.values("error"), spread, capsize=2, **style)
            line[2].plot(own.values("seconds"), own.values("log_likelihood"), **style)
        line[0].set(xlabel="input", ylabel=f"log length-scale, amplitude {amplitude}", xticks=inputs)
        for ax, label in zip(line[1:], ("test error %", "log likelihood of the test rows"), strict=True):
            ax.set(xlabel="seconds to learn", ylabel=label)
            ax.set_xlim(left=0.0)
        if amplitude == "learned":
            line[0].plot(inputs, np.log(GPSTUFF_SCALES), "k_", markersize=16, label="GPstuff")
            line[1].axhline(GPSTUFF_ERROR, color="black", linewidth=0.8, linestyle="--")
    figure.legend(*axes[-1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return {"cost": figure}


EXPERIMENT = Experiment(
    "g06-neal",
    "Neal's toy problem: importance sampling of the relevances against Markov chains",
    "Three classes, four inputs of which two matter, 200 rows to learn from and 800 to test on: the first and the "
    "last of the file as in GPstuff, and two random splits (quick: none); the slides print no sizes. RBF with a "
    "length-scale for each input, inputs as they come; amplitude one as on the slides, and learned as in GPstuff, "
    "whose figures, with Student-t priors, are the ones compared with; the test rows are the same, so the error of "
    "counting on them enters once. Samplers share GR06's vague prior on relevances: importance sampling with 500 "
    "draws (2000 on the slides; quick 200), Metropolis steps within Gibbs sampling, and NUTS, 100 draws after 100 to "
    "tune (quick 40 each); two chains (quick one). The slides throw 5000 sweeps of the Gibbs sampler away, and 2000 "
    "Metropolis steps for each draw of the parameters, and predict each test row by 100 draws for each of the "
    "sampler's; here each of 2000 sweeps after 1000 thrown away moves both, every second is kept (quick 400 after "
    "200), and the latent functions are integrated out. The evidence gives one point. Seconds are those of learning "
    "on one core; nothing is calibrated. Errors of length-scales are posterior standard deviations. Needs "
    "gpclass[mcmc].",
    tasks,
    run,
    compare,
    claims,
    draw,
    data=("neal3",),
)
