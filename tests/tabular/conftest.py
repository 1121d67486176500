"""Small tables of every kind, and models of them."""

import numpy as np
import pandas as pd
import pytest

import gpclass
from gpclass.tabular import TableModel


def flowers(n=60, seed=0):
    """Numbers, categories, gaps, a name for every row, and a target that follows from them."""
    rng = np.random.default_rng(seed)
    size, weight = rng.normal(5, 2, n).round(2), rng.normal(0, 1, n).round(3)
    colour = rng.choice(["red", "blue", "white"], n)
    species = np.where(size + 2 * (colour == "red") > 6, "rose", "daisy")
    frame = pd.DataFrame({"plant": [f"plant {i}" for i in range(n)], "size": size, "weight": weight, "colour": colour})
    frame.loc[rng.random(n) < 0.15, "weight"] = np.nan
    return frame.assign(species=species)


@pytest.fixture(scope="session")
def frame():
    return flowers()


@pytest.fixture(scope="session")
def table_file(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "flowers.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def model(frame):
    return TableModel("species").fit(frame)


@pytest.fixture(scope="session")
def model_file(model, tmp_path_factory):
    return gpclass.save(model, tmp_path_factory.mktemp("models") / "flowers.gpclass")
