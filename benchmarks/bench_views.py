"""Weights of views: found again where they are known, and by three ways the same.

python benchmarks/bench_views.py [recovery] [agreement]

recovery   draws from the model with known weights, 20 seeds: how near the learned weights come
agreement  weights on digits by the evidence, importance sampling and NUTS; view_weights.png

G06's own experiments are ``gpclass reproduce g06-digits`` and ``g06-fold``.
"""

import sys
import time
import warnings

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.model_selection import train_test_split

from gpclass import GPClassifier
from gpclass.datasets import make_views
from gpclass.hyper import NUTS, Importance
from gpclass.hyper.priors import Normal
from gpclass.kernels import RBF, View, WeightedSum
from gpclass.papers.data import load
from gpclass.plotting import ViewWeightsDisplay


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


def agreement():
    stored = load("mfeat")
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


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or ["recovery", "agreement"]:
        {"recovery": recovery, "agreement": agreement}[name]()
