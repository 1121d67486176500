"""GR06 figure 4: predictive likelihood of three classes over kernel parameters, by sampling and approximations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..likelihoods import Softmax
from .base import Experiment, Records, Size, Task
from .likelihood_grid import compare, draw, preserved, reasonable_at_unit_amplitude, responses, rows_of_grid, surface
from .rings_split import LOG_PHI, sizes, split


def tasks(size: Size) -> list[Task]:
    return [{**task, **sizes(size)} for task in rows_of_grid(size, LOG_PHI, 25)]


def run(n_train: int, n_test: int, seed: int, **grid: Any) -> Iterator[dict[str, Any]]:
    yield from responses(split(n_train, n_test, seed), Softmax(), **grid)


def claims(records: Records) -> dict[str, bool]:
    best = {method: surface(records, method).max() for method in ("Gibbs", "VB", "Laplace")}
    return {
        **preserved(records),
        **reasonable_at_unit_amplitude(records),
        "Laplace's predictions hold less information: its best log likelihood is below those of Gibbs and of "
        "variational Bayes": best["Laplace"] < min(best["Gibbs"], best["VB"]),
    }


EXPERIMENT = Experiment(
    "gr06-figure4",
    "Predictive likelihood over kernel parameters, three classes",
    "Toy data of two rings around a blob; one draw of 100 rows to learn from and 240 to test on, sizes that are not "
    "printed. Only the two inputs that matter are used: with the eight irrelevant ones a kernel of one scale for all "
    "inputs is at chance level over the whole printed range of phi. Kernel s exp(-phi |x - x'|^2) with log s and log "
    "phi from -1 to 5, natural logarithms, in steps of a quarter (quick: of 1). Gibbs: one chain, 2000 sweeps thrown "
    "away, every tenth of the next 1000 kept (quick: 500 and 500), each draw's latent Gaussian integrated out; "
    "variational Bayes and EP have the same multinomial probit, Laplace the softmax as in the paper. EP is not in the "
    "paper. The paper prints contours and no numbers; distances are mean absolute differences from the sampler, in "
    "nats over the test set.",
    tasks,
    run,
    compare,
    claims,
    draw,
)
