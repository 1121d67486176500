"""GR06 figure 3: Predictive likelihood over kernel parameters, two classes

Toy data of two rings around a blob, the outer ring and the blob merged into one class; one draw of 100 rows to learn
from and 240 to test on, sizes that are not printed. Only the two inputs that matter are used: with the eight irrelevant
ones a kernel of one scale for all inputs is at chance level over the whole printed range of phi. Kernel s exp(-phi |x -
x'|^2) with log s and log phi from -1 to 5, natural logarithms, in steps of a quarter (quick: of 1). Gibbs: one chain,
2000 sweeps discarded, every tenth of the next 1000 kept (quick: 500 and 500), each draw's latent Gaussian integrated
out; variational Bayes, EP and Laplace have the same probit. EP is not in the paper. The paper prints contours and no
numbers; distances are mean absolute differences from the sampler, in nats over the test set.
"""

from typing import Any

import numpy as np

from ..likelihoods import Probit
from .base import Claims, Records, Rows
from .likelihood_grid import claims as grid_claims
from .likelihood_grid import claims_at_unit_amplitude, compare, draw, responses, ring_split
from .likelihood_grid import ring_tasks as tasks

__all__ = ["claims", "compare", "draw", "run", "tasks"]


def run(n_train: int, n_test: int, seed: int, **grid: Any) -> Rows:
    X, y, X_test, y_test = ring_split(n_train, n_test, seed)
    yield from responses((X, np.minimum(y, 2), X_test, np.minimum(y_test, 2)), Probit(), **grid)


def claims(records: Records) -> Claims:
    return {**grid_claims(records), **claims_at_unit_amplitude(records)}
