"""Girolami & Rogers (2006): what the paper says in words holds at small size too."""

from __future__ import annotations


def test_table1_laplace_is_less_informative_than_variational_bayes(tiny):
    result = tiny("gr06-table1")
    assert all(result.claims.values()), result.claims
    assert {own.verdict for own in result.comparisons if own.published is None} == {""}
