"""Coverage of 95 % intervals of the ROC AUC and of average precision.

    python benchmarks/bench_intervals.py

Scores are normal, those of positive rows shifted; the true values are those of 200,000 rows.
"""

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from gpclass.evaluation.intervals import auc_interval, wilson

REPEATS = 400
#: positive rows, negative rows, shift
CASES = ((10, 490, 1.5), (20, 980, 1.5), (80, 3920, 1.5), (20, 980, 3.0), (20, 20, 1.5))


def drawn(rng, n_positive, n_negative, shift):
    own = np.arange(n_positive + n_negative) < n_positive
    return own, rng.normal(shift * own, 1.0)


def main():
    rng = np.random.default_rng(0)
    for m, n, shift in CASES:
        factor = 200_000 // (m + n)
        own, scores = drawn(rng, factor * m, factor * n, shift)
        auc, area = roc_auc_score(own, scores), average_precision_score(own, scores)
        covered = np.zeros(2)
        for _ in range(REPEATS):
            own, scores = drawn(rng, m, n, shift)
            low, high = auc_interval(roc_auc_score(own, scores), m, n)
            covered[0] += low <= auc <= high
            low, high = wilson(average_precision_score(own, scores), m)
            covered[1] += low <= area <= high
        shares = covered / REPEATS
        print(
            f"{m:4} of {m + n:4} rows: ROC AUC {auc:.3f} covered {shares[0]:.3f}, AP {area:.3f} covered {shares[1]:.3f}"
        )


if __name__ == "__main__":
    main()
