"""Models as ONNX files: bytes, seconds to load, and microseconds for each row, beside ``predict_proba``.

python benchmarks/bench_onnx.py
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime
from sklearn.datasets import load_breast_cancer, load_digits

from gpclass import GPClassifier, IVMClassifier, SparseGPClassifier, export_onnx
from gpclass.kernels import RBF


def models():
    """Fitted models, by name, and rows to predict."""
    X, y = load_breast_cancer(return_X_y=True)
    yield "GPClassifier(), 284 rows, 2 classes", GPClassifier(random_state=0).fit(X[::2], y[::2]), X[1::2]
    X, y = load_digits(return_X_y=True)
    kernel, settings = 100.0 * RBF(20.0), {"hyper": "fixed", "random_state": 0}
    for name, model in {
        "VB": GPClassifier(kernel, **settings),
        "EP": GPClassifier(kernel, inference="ep", **settings),
        "IVM, 200 active": IVMClassifier(kernel, n_active=200, **settings),
        "sparse, 200 inducing": SparseGPClassifier(kernel, n_inducing=200, **settings),
    }.items():
        yield f"{name}, 899 rows, 10 classes", model.fit(X[::2], y[::2]), X[1::2]


def microseconds(function, n_rows):
    """For each row, the best of several runs of about a second in all."""
    times, start = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < 1.0:
        before = time.perf_counter()
        function()
        times.append(time.perf_counter() - before)
    return 1e6 * min(times) / n_rows


def report(name, model, X, folder):
    """One line about one model."""
    path = export_onnx(model, Path(folder) / "model.onnx")
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    loading = time.perf_counter() - start
    difference = np.abs(session.run(["probabilities"], {"X": X})[0] - model.predict_proba(X)).max()
    print(
        f"{name:40s} {path.stat().st_size / 1e6:6.1f} MB, loads in {loading:.2f} s, differs by {difference:.1e}", end=""
    )
    for n in (1, 200):
        theirs = microseconds(lambda n=n: session.run(None, {"X": X[:n]}), n)
        ours = microseconds(lambda n=n: model.predict_proba(X[:n]), n)
        print(f"; {n} at a time {theirs:.0f} us (predict_proba {ours:.0f})", end="")
    print(flush=True)


def main():
    with TemporaryDirectory() as folder:
        for name, model, X in models():
            report(name, model, X, folder)


if __name__ == "__main__":
    main()
