"""Predictive likelihood over kernel parameters (GR06 figures 3 and 4, G06 on wine): who preserves the sampler's?"""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("name", ["gr06-figure3", "gr06-figure4", "g06-wine"])
def test_variational_bayes_and_ep_preserve_the_response_of_the_sampler_better_than_laplace(tiny, name):
    result = tiny(name)
    assert all(result.claims.values()), result.claims
    column = "mean distance from Gibbs in log likelihood"
    apart = {own.row: own.measured for own in result.comparisons if own.column == column}
    assert apart["EP"] < apart["VB"] < apart["Laplace"]
    assert all(own.published is None for own in result.comparisons)
    assert result.figures == ["contours"]
