"""Cseke & Csató (2005) and the regression of Girolami (2006): the claims hold at small size too."""

from __future__ import annotations

import numpy as np
import pytest


def measured(result, column):
    """Our numbers in a column, by row."""
    return {quantity.row: quantity.measured for quantity in result.comparisons if quantity.column == column}


def test_cc05_figure1_a_large_scale_parameter_over_fits_and_the_evidence_prefers_the_smooth_fit(tiny):
    result = tiny("cc05-figure1")
    assert all(result.claims.values()), result.claims
    smooth, rough = measured(result, "rms distance from the truth").values()
    assert rough > 1.5 * smooth


@pytest.mark.slow
def test_cc05_figure2_boundaries_are_nearer_to_the_best_possible_than_those_of_neighbours(tiny):
    result = tiny("cc05-figure2")
    assert all(result.claims.values()), result.claims
    agreement = measured(result, "agreement with the best rule %")
    assert agreement["5-NN"] < agreement["Gaussian process"] < agreement["best possible"] == 100.0


@pytest.mark.slow
def test_cc05_figure3_gaussian_processes_beat_neighbours_unless_the_scale_is_extreme(tiny):
    result = tiny("cc05-figure3")
    assert all(result.claims.values()), result.claims
    errors = measured(result, "error %")
    assert all(own > errors["best possible"] for row, own in errors.items() if row != "best possible")


def test_g06_sinc_bands_hold_the_truth_and_the_evidence_prefers_the_wide_kernel(tiny):
    result = tiny("g06-sinc")
    assert all(result.claims.values()), result.claims
    # Neighbours that correlate by rho differ in sign with probability arccos(rho) / pi.
    turns = measured(result, "sign changes, % of steps")
    for phi in (0.1, 1.0, 10.0):
        expected = 100.0 * np.arccos(np.exp(-phi * (16.0 / 29.0) ** 2)) / np.pi
        assert abs(turns[f"prior, phi = {phi:g}"] - expected) < 6.0
