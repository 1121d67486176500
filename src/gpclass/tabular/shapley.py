"""Shapley values of one prediction: of every coalition of a few columns, or of sampled orders of many.

The value v(S) of a coalition S of columns is the mean prediction where the columns of S have the values of the row and
all others those of a background row: interventional, or marginal, Shapley values (Lundberg and Lee 2017; Janzing,
Minorics and Bloebaum 2020). They add up to the prediction minus the mean prediction of the background.
"""

from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np

#: Predictions (m,) for coalitions (m, p), True where a column has the value of the row, and numbers (m,) of the
#: background rows that give the other columns.
Game = Callable[[np.ndarray, np.ndarray], np.ndarray]


class ShapleyValues(NamedTuple):
    """Contributions (p,) of the columns, their standard errors (0 where they are exact), the mean prediction of the
    background, and the prediction."""

    contributions: np.ndarray
    errors: np.ndarray
    base: float
    value: float


def exact(game: Game, n_columns: int, n_background: int) -> ShapleyValues:
    """From all 2^p coalitions: phi_j = sum over S without j of |S|! (p - |S| - 1)! / p! (v(S + j) - v(S))."""
    numbers = np.arange(2**n_columns)
    coalitions = (numbers[:, None] >> np.arange(n_columns)) & 1 == 1
    background = np.tile(np.arange(n_background), len(coalitions))
    found = game(np.repeat(coalitions, n_background, axis=0), background)
    v = found.reshape(len(coalitions), n_background).mean(axis=1)
    weights = np.array([1.0 / (n_columns * comb(n_columns - 1, size)) for size in range(n_columns)])
    contributions = np.empty(n_columns)
    for j in range(n_columns):
        without = numbers[~coalitions[:, j]]
        contributions[j] = weights[coalitions[without].sum(axis=1)] @ (v[without | 1 << j] - v[without])
    return ShapleyValues(contributions, np.zeros(n_columns), float(v[0]), float(v[-1]))


def sampled(game: Game, n_columns: int, n_background: int, n_rounds: int, rng: np.random.Generator) -> ShapleyValues:
    """From random orders in which the columns take the values of the row, each forwards and backwards, which is
    antithetic (Mitchell, Cooper, Frank and Holmes 2022, section 4).

    Every round has an order for each background row, so the contributions of a round add up exactly. Standard errors
    are those of the orders, from the spread between rounds: the background counts as given.
    """
    orders = rng.permuted(np.tile(np.arange(n_columns), (n_rounds * n_background, 1)), axis=1)
    ranks = np.argsort(orders, axis=1)
    steps = np.arange(n_columns + 1)[:, None]
    # (orders, direction, step, column): the first columns of an order, then the last ones.
    coalitions = np.stack([ranks[:, None] < steps, ranks[:, None] >= n_columns - steps], axis=1)
    background = np.repeat(np.tile(np.arange(n_background), n_rounds), 2 * (n_columns + 1))
    found = game(coalitions.reshape(-1, n_columns), background).reshape(len(orders), 2, n_columns + 1)
    forwards, backwards = np.diff(found[:, 0]), np.diff(found[:, 1])[:, ::-1]
    pairs = np.empty((len(orders), n_columns))
    np.put_along_axis(pairs, orders, 0.5 * (forwards + backwards), axis=1)
    by_round = pairs.reshape(n_rounds, n_background, n_columns)
    errors = np.sqrt(by_round.var(axis=0, ddof=1).mean(axis=0) / (n_rounds * n_background))
    first = found[:n_background, 0]
    return ShapleyValues(pairs.mean(axis=0), errors, float(first[:, 0].mean()), float(first[:, -1].mean()))
