"""Explanations of single predictions: CPU time, standard errors, and what orders in pairs save.

python benchmarks/bench_explain.py FOLDER
"""

import sys
import time
from pathlib import Path

import numpy as np

from gpclass.tabular import TableModel, explain_row, read_table, row_explanation
from gpclass.tabular.row_explanation import kept_row
from gpclass.tabular.shapley import sampled

TABLES, ROWS = ("car", "cleveland", "german"), 3
singles = []


def sampled_and_compared(game, p, n_background, n_rounds, rng):
    """``sampled``, and the mean standard error of as many predictions without orders backwards, in ``singles``."""

    def recorded(coalitions, numbers):
        found = game(coalitions, numbers)
        ranks = p - coalitions.reshape(-1, 2, p + 1, p)[:, 0].sum(axis=1)
        forwards = np.take_along_axis(np.diff(found.reshape(-1, 2, p + 1)[:, 0]), ranks, axis=1)
        variance = forwards.reshape(n_rounds, n_background, p).var(axis=0, ddof=1).mean(axis=0)
        singles.append(np.sqrt(variance / (2 * n_rounds * n_background)).mean())
        return found

    return sampled(recorded, p, n_background, n_rounds, rng)


def main(folder):
    row_explanation.sampled = sampled_and_compared
    print("table      columns  training rows  CPU s    largest contribution   mean standard error: in pairs, single")
    for name in TABLES:
        table = read_table(Path(folder) / f"{name}.csv")
        model = TableModel(list(table.columns)[-1]).fit(table)
        for position in model.sample_.positions[:: len(model.sample_) // ROWS][:ROWS]:
            row, start = kept_row(model, position), time.process_time()
            found = explain_row(model, row)
            seconds, columns = time.process_time() - start, found["columns"]
            errors = [np.mean([own["contribution_se"] for own in columns]), 0.0 if found["exact"] else singles[-1]]
            first = f"{columns[0]['contribution']:+.4f} ± {columns[0]['contribution_se']:.4f}"
            sizes = f"{name:10} {len(columns):7} {len(model.training_['targets']):14} {seconds:8.1f}"
            print(f"{sizes}  {first:>21} {errors[0]:20.5f} {errors[1]:12.5f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
