"""Which rows of a table to label next, from Python and from the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import gpclass
from gpclass.tabular import TableError, query_table, read_table
from tests.tabular.conftest import flowers
from tests.tabular.test_commands import one_line, run


@pytest.fixture(scope="module")
def pool():
    return flowers(80, seed=1).drop(columns="species")


@pytest.fixture(scope="module")
def pool_file(pool, tmp_path_factory):
    path = tmp_path_factory.mktemp("pools") / "pool.csv"
    pool.to_csv(path, index=False)
    return path


def test_rows_of_a_table_are_those_of_its_estimator(model, pool):
    found = query_table(model, pool, n=5)
    frame, _ = model.frame(pool)
    indices, scores = gpclass.query(model.estimator_, frame, 5, return_scores=True)
    np.testing.assert_array_equal(found.rows, indices)
    np.testing.assert_array_equal(found.scores, scores)


def test_rows_with_a_label_are_left_out(model, pool):
    best = query_table(model, pool, n=3).rows
    labels = [None] * len(pool)
    labels[best[0]] = "rose"
    found = query_table(model, pool.assign(species=labels), n=len(pool) - 1)
    assert sorted([*found.rows, best[0]]) == list(range(len(pool)))
    assert any("1 row has a label in column 'species', left out" in note for note in found.notes)
    with pytest.raises(TableError, match="expected rows without a label in column 'species'"):
        query_table(model, pool.assign(species="rose"), n=3)


def test_the_command_writes_rows_in_order(model_file, pool_file, pool, tmp_path):
    out = tmp_path / "chosen.csv"
    ran = run("query", model_file, pool_file, "--n", 4, "--out", out)
    assert ran.exit_code == 0, ran.output
    assert f"4 rows to label in {out}" in ran.stdout
    chosen = pd.read_csv(out)
    expected = query_table(gpclass.load(model_file), read_table(pool_file), 4)
    assert chosen.columns.tolist() == ["line", "score", *pool.columns]
    assert chosen["line"].tolist() == (expected.rows + 2).tolist()
    assert chosen["plant"].tolist() == pool["plant"].iloc[expected.rows].tolist()
    np.testing.assert_allclose(chosen["score"], expected.scores, rtol=1e-5)
    assert np.all(np.diff(chosen["score"]) <= 0)


def test_standard_output_and_json(model_file, pool_file):
    printed = run("query", model_file, pool_file, "-n", 2, "--strategy", "entropy").stdout.splitlines()
    assert printed[0].startswith("line,score,plant,size")
    assert len(printed) == 3
    found = json.loads(run("query", model_file, pool_file, "--n", 2, "--strategy", "entropy", "--json").stdout)
    assert [str(line) for line in found["rows"]["line"]] == [row.split(",")[0] for row in printed[1:]]


def test_what_cannot_be(model_file, pool_file, regression_model, pool, tmp_path):
    assert "expected n between 1 and the 80 rows" in one_line(run("query", model_file, pool_file, "--n", 81))
    assert "expected a strategy among 'margin'" in one_line(run("query", model_file, pool_file, "--strategy", "best"))
    assert run("query", model_file, pool_file, "--n", 0).exit_code == 2
    assert "got a regression of 'size'" in one_line(
        run("query", gpclass.save(regression_model, tmp_path / "r.gpclass"), pool_file)
    )
    one_line(run("query", model_file, pool_file, "--out", pool_file), 2)
    pool.drop(columns="size").to_csv(tmp_path / "less.csv", index=False)
    assert "size" in one_line(run("query", model_file, tmp_path / "less.csv"))
