"""Girolami & Rogers (2006), tables 1 and 2: the claims hold at small size too."""

from __future__ import annotations

import pytest


@pytest.mark.slow
def test_table1_laplace_is_less_informative_than_variational_bayes(tiny):
    result = tiny("gr06-table1")
    assert all(result.claims.values()), result.claims
    assert {quantity.verdict for quantity in result.comparisons if quantity.published is None} == {""}


@pytest.mark.slow
def test_table2_variational_bayes_reaches_the_published_errors_and_does_not_fail_on_dna(tiny):
    result = tiny("gr06-table2")
    assert all(result.claims.values()), result.claims
    rows = {quantity.row: quantity for quantity in result.comparisons}
    assert rows["WAV, VBGPS"].verdict == "within"
    assert rows["DNA, VBGPM"].verdict == "better"
