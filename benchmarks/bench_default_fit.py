"""CPU time of a default fit, beside another version of the library: python benchmarks/bench_default_fit.py OTHER/src

Each version runs in processes of its own, in turns, and the median of five fits counts, after one that compiles.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

WORK = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from sklearn.datasets import load_digits, load_iris, load_wine
from gpclass import GPClassifier
data = {"iris": load_iris, "wine": load_wine, "digits 400": load_digits}
found = {}
for name, load in data.items():
    X, y = load(return_X_y=True)
    X, y = X[:400], y[:400]
    GPClassifier().fit(X, y)
    start = time.process_time()
    model = GPClassifier().fit(X, y)
    found[name] = [time.process_time() - start, model.log_evidence_]
print(json.dumps(found))
"""


def measured(source: str) -> dict[str, list[float]]:
    environment = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run([sys.executable, "-c", WORK], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    other, own = sys.argv[1], str(Path(__file__).resolve().parents[1] / "src")
    runs = [(measured(other), measured(own)) for _ in range(5)]
    print(f"{'data':12} {'before':>8} {'now':>8} {'ratio':>6}   difference of the log evidence")
    for name in runs[0][0]:
        before, now = (statistics.median(run[i][name][0] for run in runs) for i in range(2))
        difference = runs[0][1][name][1] - runs[0][0][name][1]
        print(f"{name:12} {before:7.2f}s {now:7.2f}s {now / before:6.2f}   {difference:.1e}")


if __name__ == "__main__":
    main()
