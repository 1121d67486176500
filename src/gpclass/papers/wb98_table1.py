"""WB98 table 1: The sex of crabs: hybrid Monte Carlo and a point estimate

50 random splits (4 in quick runs): 20 crabs of each sex and colour to learn from, the other 120 to test on. The paper
has one split and does not say which; trained on the first 20 of each group, the smallest crabs, the Gaussian process
makes 49 errors without colour. So published counts, each of one split, are given the binomial error of our mean. Inputs
standardised on the training rows, priors, starting values, steps, 200 trajectories and a third discarded as in the
paper, which does not print where v1 starts (here at its prior's mean). The point estimate is found by L-BFGS-B to
convergence instead of 20 steps of scaled conjugate gradients. Of the other methods of the table only those with one
obvious form are computed again (logistic regression without penalty); Neal's sampler of the latent functions is not.
"""

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from .base import Claims, Figures, Quantities, Records, Rows, Size, Task, binomial_error
from .data import load
from .figures import method_errors
from .models import covariance, hmc_classifier, map_classifier, peers

DATA = ("crabs",)
N_TRAIN, N_TEST = 80, 120
#: Errors of 120 crabs, on one split.
PUBLISHED = {
    "given": {"HMC": 3, "MAP": 4, "linear discriminant": 8, "logistic regression": 4},
    "not given": {"HMC": 3, "MAP": 3, "linear discriminant": 8, "logistic regression": 4},
}


def tasks(size: Size) -> list[Task]:
    n_splits, n_iter = {"tiny": (3, 10), "quick": (4, 200), "full": (50, 200)}[size]
    return [{"split": split, "n_iter": n_iter} for split in range(n_splits)]


def run(split: int, n_iter: int) -> Rows:
    stored = load("crabs")
    sex = stored["sex"]
    # 20 of each sex and colour
    shuffle = StratifiedShuffleSplit(1, train_size=N_TRAIN, test_size=N_TEST, random_state=split)
    train, test = next(shuffle.split(stored["X"], stored["y"]))
    with_colour = np.hstack([stored["X"], (stored["sp"] == "B").astype(float)[:, None]])
    for colour, X in (("given", with_colour), ("not given", stored["X"])):
        kernel = covariance(X.shape[1])
        models = {"HMC": hmc_classifier(kernel, n_iter, split), "MAP": map_classifier(kernel), **peers()}
        for method, model in models.items():
            model.fit(X[train], sex[train])
            row = {"colour": colour, "method": method, "errors": np.count_nonzero(model.predict(X[test]) != sex[test])}
            yield {**row, "acceptance": model.hyper_.samples.acceptance} if method == "HMC" else row


def compare(records: Records) -> Quantities:
    for colour, published in PUBLISHED.items():
        for method, errors in published.items():
            runs = records.where(colour=colour, method=method)
            # One split: as if each test crab were drawn independently.
            error = N_TEST / 100.0 * binomial_error(100.0 * runs.mean("errors") / N_TEST, N_TEST)
            yield runs.quantity(f"colour {colour}, {method}", f"errors of {N_TEST}", "errors", errors, error, "lower")


def claims(records: Records) -> Claims:
    def errors(method: str) -> np.ndarray:
        return np.array([records.where(colour=colour, method=method).values("errors") for colour in PUBLISHED])

    def no_more(ours: np.ndarray, theirs: np.ndarray) -> bool:
        """Whether our mean is not larger, within two standard errors over splits."""
        more = (ours - theirs).mean(axis=0)
        return more.mean() <= 2.0 * np.std(more, ddof=1) / np.sqrt(more.size)

    gaussian_processes = [quantity for quantity in compare(records) if quantity.row.endswith(("HMC", "MAP"))]
    possible = all(quantity.verdict == "within" for quantity in gaussian_processes)
    return {
        "The point estimate makes about as many errors as the average over the parameters: at most one more "
        "or fewer": np.abs(errors("MAP").mean() - errors("HMC").mean()) <= 1.0,
        "Ours: the Gaussian process makes no more errors than linear discriminant and logistic regression": all(
            no_more(errors(method), errors(peer))
            for method in ("HMC", "MAP")
            for peer in ("linear discriminant", "logistic regression")
        ),
        "Ours: the published 3 and 4 errors are what a random split can give": possible,
        "Fewer than 5 per cent of the trajectories are refused": records.where(method="HMC").mean("acceptance") > 0.95,
    }


def draw(records: Records) -> Figures:
    parts = {
        f"colour {colour}": (records.where(colour=colour), {method: (errors, None) for method, errors in cells.items()})
        for colour, cells in PUBLISHED.items()
    }
    settings = {"size": (4.6, 2.6), "sharex": True}
    return {"errors": method_errors(parts, PUBLISHED["given"], "errors", f"errors of {N_TEST} crabs", **settings)}
