"""Predictive likelihood over kernel parameters (GR06 figures 3 and 4, G06 on wine): engines against the sampler."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "gr06-figure3",
        pytest.param("gr06-figure4", marks=pytest.mark.slow),
        pytest.param("g06-wine", marks=pytest.mark.slow),
    ],
)
def test_variational_bayes_and_ep_preserve_the_response_of_the_sampler_better_than_laplace(tiny, name):
    result = tiny(name)
    assert all(result.claims.values()), result.claims
    column = "mean distance from Gibbs in log likelihood"
    apart = {quantity.row: quantity.measured for quantity in result.comparisons if quantity.column == column}
    assert apart["EP"] < apart["VB"] < apart["Laplace"]
    assert all(quantity.published is None for quantity in result.comparisons)
    assert result.figures == ["contours"]
