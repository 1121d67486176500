"""G06 wine: Predictive likelihood over kernel parameters, wine

One random split of wine, 60 % of the rows to learn from as in GR06, inputs standardised on them. Kernel s exp(-phi |x -
x'|^2) over a 21 x 21 grid (quick: 7 x 7) with log s from -1 to 5, the range of GR06, and log phi from -7 to -1: the
slides print no ranges, and beyond these two wines at random are hardly related at all. Gibbs: one chain, 2000 sweeps
discarded and 1000 made as in GR06, of which every tenth is kept (quick: 500 and 500), each draw's latent Gaussian
integrated out; variational Bayes and EP have the same multinomial probit, Laplace the softmax. EP is not in the slides.
They print contours and no numbers; distances are mean absolute differences from the sampler, in nats over the test set.
"""

from typing import Any

from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from ..likelihoods import Softmax
from .base import Rows, Size, Task
from .data import whole
from .likelihood_grid import claims, compare, draw, grid_tasks, responses

__all__ = ["claims", "compare", "draw", "run", "tasks"]

DATA = ("wine",)
#: Two wines at random are about 26 squared standard deviations apart. The number of steps is printed.
LOG_PHI, N_STEPS = (-7.0, -1.0), 21


def tasks(size: Size) -> list[Task]:
    return [{**task, "seed": 0} for task in grid_tasks(size, LOG_PHI, N_STEPS)]


def run(seed: int, **grid: Any) -> Rows:
    X, X_test, y, y_test = train_test_split(*whole("wine"), train_size=0.6, random_state=seed)
    scaler = StandardScaler().fit(X)
    yield from responses((scaler.transform(X), y, scaler.transform(X_test), y_test), Softmax(), **grid)
