"""GR06 figure 3: predictive likelihood of a binary problem over kernel parameters, by sampling and approximations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..likelihoods import Probit
from .base import Experiment, Records, Size, Task
from .likelihood_grid import compare, draw, preserved, reasonable_at_unit_amplitude, responses, rows_of_grid
from .rings_split import LOG_PHI, sizes, split


def tasks(size: Size) -> list[Task]:
    return [{**task, **sizes(size)} for task in rows_of_grid(size, LOG_PHI, 25)]


def run(n_train: int, n_test: int, seed: int, **grid: Any) -> Iterator[dict[str, Any]]:
    X, y, X_test, y_test = split(n_train, n_test, seed)
    yield from responses((X, np.minimum(y, 2), X_test, np.minimum(y_test, 2)), Probit(), **grid)


def claims(records: Records) -> dict[str, bool]:
    return {**preserved(records), **reasonable_at_unit_amplitude(records)}


EXPERIMENT = Experiment(
    "gr06-figure3",
    "Predictive likelihood over kernel parameters, two classes",
    "Toy data of two rings around a blob, the outer ring and the blob merged into one class; one draw of 100 rows to "
    "learn from and 240 to test on, sizes that are not printed. Only the two inputs that matter are used: with the "
    "eight irrelevant ones a kernel of one scale for all inputs is at chance level over the whole printed range of "
    "phi. Kernel s exp(-phi |x - x'|^2) with log s and log phi from -1 to 5, natural logarithms, in steps of a "
    "quarter (quick: of 1). Gibbs: one chain, 2000 sweeps thrown away, every tenth of the next 1000 kept (quick: 500 "
    "and 500), each draw's latent Gaussian integrated out; variational Bayes, EP and Laplace have the same probit. EP "
    "is not in the paper. The paper prints contours and no numbers; distances are mean absolute differences from the "
    "sampler, in nats over the test set.",
    tasks,
    run,
    compare,
    claims,
    draw,
)
