"""GR06 figure 4: Predictive likelihood over kernel parameters, three classes

Toy data of two rings around a blob; one draw of 100 rows to learn from and 240 to test on, sizes that are not printed.
Only the two inputs that matter are used: with the eight irrelevant ones a kernel of one scale for all inputs is at
chance level over the whole printed range of phi. Kernel s exp(-phi |x - x'|^2) with log s and log phi from -1 to 5,
natural logarithms, in steps of a quarter (quick: of 1). Gibbs: one chain, 2000 sweeps discarded, every tenth of the
next 1000 kept (quick: 500 and 500), each draw's latent Gaussian integrated out; variational Bayes and EP have the same
multinomial probit, Laplace the softmax as in the paper. EP is not in the paper. The paper prints contours and no
numbers; distances are mean absolute differences from the sampler, in nats over the test set.
"""

from typing import Any

from ..likelihoods import Softmax
from .base import Claims, Records, Rows
from .likelihood_grid import claims as grid_claims
from .likelihood_grid import claims_at_unit_amplitude, compare, draw, responses, ring_split, surface
from .likelihood_grid import ring_tasks as tasks

__all__ = ["claims", "compare", "draw", "run", "tasks"]


def run(n_train: int, n_test: int, seed: int, **grid: Any) -> Rows:
    yield from responses(ring_split(n_train, n_test, seed), Softmax(), **grid)


def claims(records: Records) -> Claims:
    best = {method: surface(records, method).max() for method in ("Gibbs", "VB", "Laplace")}
    return {
        **grid_claims(records),
        **claims_at_unit_amplitude(records),
        "Laplace's predictions hold less information: its best log likelihood is below those of Gibbs and of "
        "variational Bayes": best["Laplace"] < min(best["Gibbs"], best["VB"]),
    }
