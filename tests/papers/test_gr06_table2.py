"""Girolami & Rogers (2006), table 2: variational Bayes keeps up with support vector machines."""

from __future__ import annotations


def test_variational_bayes_reaches_the_published_errors_and_does_not_fail_on_dna(tiny):
    result = tiny("gr06-table2")
    assert all(result.claims.values()), result.claims
    rows = {own.row: own for own in result.comparisons}
    assert rows["WAV, VBGPS"].verdict == "within"
    assert rows["DNA, VBGPM"].verdict == "better"
