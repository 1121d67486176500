"""Experiments whose smallest size is slow, on fewer rows: records, quantities, claims and figures are complete.

Whether the claims hold is tested at the smallest size, by the slow tests of each paper.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpclass.papers import get, reproduce
from gpclass.papers.data import whole
from gpclass.papers.gr06_figure2 import METHODS

GRID = {"n_steps": 2, "burn_in": 40, "n_sweeps": 80}
USPS = {"n_rows": 300, "n_active": 20, "n_rounds": 1}


def each(name, *values, **shared):
    """One task for each value of an argument."""
    return [{**shared, name: value} for value in values]


REDUCED = {
    "gr06-figure2": each("method", *METHODS, seed=0, n_rows=40, n_test=60, n_draws=25, n_iterations=4),
    "gr06-figure4": each("log_phi", -1.0, 5.0, n_train=30, n_test=30, seed=0, **GRID),
    "g06-wine": each("log_phi", -7.0, -1.0, seed=0, **GRID),
    "gr06-table1": each("split", 0, set="iris", n_draws=25, burn_in=20, n_sweeps=40),
    "gr06-table2": each("set", "WAV", n_train=60, split=0),
    "lpj05-figure5": each("rows", "published", "drawn", seed=0, n_rows=60, n_active=20),
    "lpj05-table1": each("fraction", 0.05, 0.25, seed=0, n_learn=20, **USPS),
    "lpj05-table2": each("fraction", 1.0, 0.05, 0.25, seed=0, n_taught=20, **USPS),
    "lpj05-figure8": each("n_active", 28, phoneme=0, n_speakers=1, n_rounds=1),
    "cc05-figure2": each("seed", 0, n_test=60, n_side=8),
    "cc05-figure3": each("seed", 0, n_scales=3, n_train=30, n_test=60),
    "g06-neal": each(
        "method",
        "evidence",
        "importance sampling",
        "Metropolis within Gibbs",
        amplitude="learned",
        split=0,
        n_rows=40,
        n_test=40,
        n_draws=25,
        n_sweeps=40,
        n_nuts=10,
        n_chains=1,
        n_models=3,
    ),
    "wb98-table1": each("split", 0, 1, n_iter=6),
    "wb98-table2": [
        {"method": "HMC", "seed": 0, "n_iter": 6},
        *each("method", "MAP", "linear discriminant", "logistic regression", seed=0, n_iter=0),
    ],
    "wb98-figure2": [{"method": "HMC", "seed": 0, "n_iter": 6}, {"method": "MAP", "seed": 0, "n_iter": 0}],
    "wb98-table3": each("fold", 0, repeat=0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REDUCED)
def test_reduced_experiment_is_complete(name, tmp_path, monkeypatch, stand_ins):
    if name == "g06-neal":
        pytest.importorskip("arviz")  # counts effective draws
    if name == "cc05-figure2":
        monkeypatch.setattr("gpclass.papers.cc05_figure2.N_ROWS", 60)
    if name == "wb98-table3":
        monkeypatch.setattr(
            "gpclass.papers.wb98_table3.whole", lambda data: (whole(data)[0][:146, :2], whole(data)[1][:146])
        )
    full = get(name)
    result = reproduce(replace(full, tasks=lambda _: REDUCED[name]), "tiny", tmp_path, n_jobs=1)
    assert [set(task) for task in REDUCED[name]] == [set(full.tasks("tiny")[0])] * len(REDUCED[name])
    assert result.comparisons
    assert all(quantity.measured is not None for quantity in result.comparisons)
    assert result.claims
    assert all((tmp_path / name / "tiny" / f"{figure}.png").stat().st_size > 1000 for figure in result.figures)
