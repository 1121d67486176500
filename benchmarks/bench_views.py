"""Data integration (G06): digits and proteins seen through several sources, and weights that should be found again.

python benchmarks/bench_views.py [recovery] [digits] [agreement] [folds]

recovery   draws from the model with known weights, 20 seeds: how near the learned weights come
digits     multiple-features digits, 200 rows to learn from, 1800 to predict, 10 resamplings: each view alone, the sum
           and product rules, and the learned combination; digits_views.png
agreement  weights on digits by the evidence, importance sampling and NUTS; view_weights.png
folds      protein folds, official split: six views and one of noise, then all twelve
"""

import sys
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from gpclass import GPClassifier, ViewVotingClassifier
from gpclass.datasets import make_views
from gpclass.hyper import NUTS, Importance
from gpclass.kernels import RBF, View, WeightedSum
from gpclass.plotting import ViewWeightsDisplay
from gpclass.priors import Normal

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def combined(X, views):
    """G06's kernel: in every view an RBF as wide as its rows are apart, and only the weights are learned."""
    kernels = {}
    for name, columns in views.items():
        distance = float(np.median(pdist(X[:, columns])))
        kernels[name] = View(RBF(distance, fixed=True), columns)
    return WeightedSum(kernels)


def joint(X, y, views, **settings):
    settings = {"inference": "ep", "standardize": False, **settings}
    return GPClassifier(combined(X, views), **settings).fit(X, y)


def scores(model, X, y):
    log_proba = model.predict_log_proba(X)
    right = np.searchsorted(model.classes_, y)
    return np.mean(log_proba.argmax(axis=1) != right), np.mean(log_proba[np.arange(len(y)), right])


def side_by_side(parts):
    """Arrays by name as one, and the columns of each."""
    stops = np.cumsum([part.shape[1] for part in parts.values()])
    columns = {
        name: slice(int(stop) - part.shape[1], int(stop))
        for (name, part), stop in zip(parts.items(), stops, strict=True)
    }
    return np.hstack([part.astype(float) for part in parts.values()]), columns


def recovery(n_seeds=20):
    found, truth, noise = [], [], []
    for seed in range(n_seeds):
        shares = np.random.default_rng(seed).permutation([0.5, 0.3, 0.2, 0.0, 0.0])
        X, y, views = make_views(400, shares, n_features=2, random_state=seed)
        weights = joint(X, y, views).view_weights_
        found.append(weights.mean)
        truth.append(shares)
        noise.append(weights.mean[shares == 0.0].max())
    found, truth = np.array(found), np.array(truth)
    each = [np.corrcoef(f, t)[0, 1] for f, t in zip(found, truth, strict=True)]
    overall = np.corrcoef(found.ravel(), truth.ravel())[0, 1]
    print(
        f"recovery, {n_seeds} seeds: correlation with the truth {overall:.3f} over all, {np.mean(each):.3f} each; "
        f"mean share of useless views {found[truth == 0.0].mean():.4f}, largest {max(noise):.3f}"
    )


def digits():
    stored = np.load(DATA / "mfeat.npz")
    X, views = side_by_side({name: stored[f"X_{name}"] for name in ("zer", "kar", "pix", "fou")})
    y = stored["y"].astype(int)
    table = {name: [] for name in (*views, "sum rule", "product rule", "learned combination")}
    seconds = []
    for seed in range(10):
        few, rest = train_test_split(np.arange(len(y)), train_size=200, stratify=y, random_state=seed)
        # One model for each view, with amplitude and length-scale of its own.
        alone = GPClassifier(WeightedSum({"own": RBF()}), inference="ep", standardize=False)
        voting = ViewVotingClassifier(alone, views).fit(X[few], y[few])
        for name, model in voting.estimators_.items():
            table[name].append(scores(model, X[rest], y[rest]))
        table["sum rule"].append(scores(voting, X[rest], y[rest]))
        table["product rule"].append(scores(voting.set_params(rule="product"), X[rest], y[rest]))
        started = time.perf_counter()
        model = joint(X[few], y[few], views)
        seconds.append(time.perf_counter() - started)
        table["learned combination"].append(scores(model, X[rest], y[rest]))
        print(f"  {seed}: {model.view_weights_}", flush=True)
    table = {name: np.array(rows) for name, rows in table.items()}
    best = table["learned combination"]
    print("digits, 200 rows, 10 resamplings: error %, mean log probability; and what the combination gains, paired")
    for name, rows in table.items():
        gain = np.stack([rows[:, 0] - best[:, 0], best[:, 1] - rows[:, 1]])
        sem = gain.std(axis=1, ddof=1) / np.sqrt(10)
        print(
            f"  {name:20s} {100 * rows[:, 0].mean():6.2f} +- {100 * rows[:, 0].std(ddof=1):.2f} "
            f"{rows[:, 1].mean():8.3f}   {100 * gain[0].mean():6.2f} +- {100 * sem[0]:.2f} "
            f"{gain[1].mean():6.3f} +- {sem[1]:.3f}"
        )
    print(f"  {np.mean(seconds):.1f} s to learn the combination")
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
    for ax, column, label in zip(axes, (0, 1), ("error %", "mean log probability"), strict=True):
        values = [rows[:, column] * (100 if column == 0 else 1) for rows in table.values()]
        ax.boxplot(values, orientation="horizontal", tick_labels=list(table))
        ax.set_xlabel(label)
        ax.grid(axis="x", alpha=0.3)
    axes[0].invert_yaxis()
    figure.savefig("digits_views.png", dpi=130)


def agreement():
    stored = np.load(DATA / "mfeat.npz")
    X, views = side_by_side({name: stored[f"X_{name}"] for name in ("zer", "kar", "pix", "fou")})
    y = stored["y"].astype(int)
    few, _ = train_test_split(np.arange(len(y)), train_size=200, stratify=y, random_state=0)
    models = {}
    for name, hyper in (
        ("evidence", "evidence"),
        ("importance", Importance(prior=Normal(), n_draws=2000)),
        ("NUTS", NUTS(n_draws=60, n_tune=50, n_chains=1)),
    ):
        started = time.perf_counter()
        models[name] = joint(X[few], y[few], views, hyper=hyper, inference="vb", random_state=0)
        samples = models[name].hyper_.samples
        print(
            f"agreement, {name}: {models[name].view_weights_}, {time.perf_counter() - started:.0f} s",
            "" if samples is None else f"n_effective {samples.n_effective:.0f}",
            flush=True,
        )
    ViewWeightsDisplay.from_estimators(models).figure_.savefig("view_weights.png", dpi=130)


def folds():
    stored = np.load(DATA / "protein_fold.npz")
    y, y_new = stored["y_train"], stored["y_test"]
    noise = np.random.default_rng(0).standard_normal((len(y) + len(y_new), 20))
    six = ("C", "S", "H", "P", "Z", "V")
    for names in (six, (*six, "L1", "L4", "L14", "L30", "SWblosum62", "SWpam50")):
        parts = [{name: stored[f"X_{name}_{part}"] for name in names} for part in ("train", "test")]
        for part in parts:
            # Scores of alignments are above 0 and have a long tail.
            part.update({name: np.log(part[name]) for name in names if name.startswith("SW")})
        parts[0]["noise"], parts[1]["noise"] = noise[: len(y)], noise[len(y) :]
        (X, views), (X_new, _) = side_by_side(parts[0]), side_by_side(parts[1])
        started = time.perf_counter()
        scaler = StandardScaler().fit(X)
        X, X_new = scaler.transform(X), scaler.transform(X_new)
        model = joint(X, y, views)
        error, log_probability = scores(model, X_new, y_new)
        print(
            f"folds, {len(names)} views and noise: right {100 * (1 - error):.2f} %, mean log probability "
            f"{log_probability:.3f}, {time.perf_counter() - started:.0f} s"
        )
        print(f"  {model.view_weights_}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or ["recovery", "digits", "agreement", "folds"]:
        {"recovery": recovery, "digits": digits, "agreement": agreement, "folds": folds}[name]()
