"""False alarms and power of ``gpclass check``: random halves of tables, as they are and with one column changed.

python benchmarks/bench_drift.py FOLDER

Models keep their initial kernel parameters: drift of columns does not depend on them.
"""

import sys
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

import gpclass
from gpclass.tabular import TableModel, check_drift, read_table

SPLITS = 10


def halves(table, rng):
    rows = rng.permutation(len(table))
    return table.subset(sorted(rows[::2].tolist())), table.subset(sorted(rows[1::2].tolist()))


def moved(table, column, kind, rng):
    """A column of numbers half a standard deviation higher; of categories, three rows of ten with the most frequent."""
    cells = list(table.columns[column])
    if kind == "number":
        values = np.array([np.nan if cell is None else float(cell) for cell in cells])
        step = 0.5 * np.nanstd(values)
        cells = [None if cell is None else repr(float(float(cell) + step)) for cell in cells]
    else:
        most = Counter(cell for cell in cells if cell is not None).most_common(1)[0][0]
        cells = [most if rng.random() < 0.3 else cell for cell in cells]
    new = table.subset(list(range(len(table))))
    new.columns[column] = cells
    return new


def main(folder):
    gpclass.GPClassifier = partial(gpclass.GPClassifier, hyper="fixed")
    total = np.zeros(4, int)
    print("table            columns  rows  alarms  columns changed  far or predictions   found")
    for path in sorted(Path(folder).glob("*.csv")):
        table, rng = read_table(path), np.random.default_rng(0)
        alarms = columns = others = found = 0
        for _ in range(SPLITS):
            old, new = halves(table, rng)
            model = TableModel(list(table.columns)[-1], engine="vb").fit(old)
            report = check_drift(model, new)
            wrong = sum(row["changed"] for row in report["columns"])
            other = report["far"]["changed"] or report["predictions"]["changed"]
            columns, others, alarms = columns + wrong, others + other, alarms + bool(wrong or other)
            used = model.schema_.used
            column = used[rng.integers(len(used))]
            again = check_drift(model, moved(new, column.name, column.kind, rng))["columns"]
            found += next(row["changed"] for row in again if row["column"] == column.name)
        total += (alarms, columns, others, found)
        print(f"{path.stem:16} {len(used):7} {len(new):5} {alarms:7} {columns:16} {others:19} {found:7}", flush=True)
    print(f"all, of {SPLITS} splits each {total[0]:9} {total[1]:16} {total[2]:19} {total[3]:7}")


if __name__ == "__main__":
    main(sys.argv[1])
