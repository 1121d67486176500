"""Samples of many rows: random, the same in any order, and with enough rows of every class."""

import numpy as np
import pytest

from gpclass.estimators._sampling import chosen, class_sizes, priorities, row_hashes


def test_priorities_are_uniform_and_independent_of_the_values():
    X = np.arange(40_000.0).reshape(-1, 2)
    p = priorities(row_hashes(X, 7))
    assert np.abs(np.sort(p) - np.linspace(0.0, 1.0, len(p))).max() < 0.015  # Kolmogorov: 0.0115 at the level of 1 %
    assert abs(np.corrcoef(X[:, 0], p)[0, 1]) < 0.03
    assert abs(np.corrcoef(p, priorities(row_hashes(X, 8)))[0, 1]) < 0.03


def test_the_same_rows_in_any_order():
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((3000, 3)), rng.integers(0, 3, 3000)
    sizes = class_sizes(np.bincount(codes), 300)
    order = rng.permutation(3000)
    rows = chosen(priorities(row_hashes(X, 1)), codes, sizes)
    again = chosen(priorities(row_hashes(X[order], 1)), codes[order], sizes)
    np.testing.assert_array_equal(np.sort(order[again]), rows)
    assert np.bincount(codes[rows]).tolist() == sizes.tolist()


def test_equal_rows_are_chosen_in_their_share():
    X = np.repeat(np.eye(2), 5000, axis=0)
    rows = chosen(priorities(row_hashes(X, 3)), np.zeros(10_000, int), np.array([1000]))
    assert 400 < np.sum(rows < 5000) < 600


@pytest.mark.parametrize(
    ("per_class", "n", "expected"), [([900, 100], 100, [90, 20]), ([900, 5], 100, [100, 5]), ([30, 30], 100, [30, 30])]
)
def test_sizes_of_classes(per_class, n, expected):
    assert class_sizes(np.array(per_class), n).tolist() == expected


def test_zeros_of_either_sign_are_equal():
    assert row_hashes(np.array([[0.0], [-0.0]]), 5)[0] == row_hashes(np.array([[-0.0]]), 5)[0]
