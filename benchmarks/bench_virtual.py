"""Virtual informative vectors (LPJ05 section 6) on USPS, the official split: error, log loss and time.

    python benchmarks/bench_virtual.py

One model for all ten digits; a model for each of them is LPJ05's table 3, ``gpclass reproduce lpj05-table3``.
"""

import time

import numpy as np

from gpclass import IVMClassifier, VirtualVectorClassifier
from gpclass.kernels import RBF, Linear
from gpclass.papers.data import load

KERNEL = 100.0 * RBF(8.0) + Linear(0.1)


def usps():
    stored = load("usps")
    return tuple(
        stored[part].astype(float) if part[0] == "X" else stored[part].astype(int)
        for part in ("X_train", "y_train", "X_test", "y_test")
    )


def scores(log_p, truth):
    """Error in per cent and log loss."""
    return 100.0 * np.mean(log_p.argmax(axis=1) != truth), -np.mean(log_p[np.arange(len(truth)), truth])


def joint(sizes=((500, 1000), (500, 1500), (1500, 3000), (1500, 4500))):
    X, y, X_new, y_new = usps()
    start = time.perf_counter()
    kernel = IVMClassifier(KERNEL, n_active=500, hyper="alternating").fit(X, y).kernel_
    print(f"joint: kernel learned in {time.perf_counter() - start:.0f} s\n    {kernel}")
    print("first rows  kept  error first %  error virtual %  log loss first  log loss virtual  seconds")
    for n_first, n_active in sizes:
        start = time.perf_counter()
        model = VirtualVectorClassifier(IVMClassifier(kernel, n_active=n_first, hyper="fixed"), n_active=n_active)
        model.fit(X, y)
        took = time.perf_counter() - start
        wrong, loss = scores(model.predict_log_proba(X_new), y_new)
        wrong_first, loss_first = scores(model.first_.predict_log_proba(X_new), y_new)
        print(
            f"{n_first:10d}  {n_active:4d}  {wrong_first:13.2f}  {wrong:15.2f}  {loss_first:14.4f}  {loss:16.4f}  "
            f"{took:7.0f}",
            flush=True,
        )


if __name__ == "__main__":
    joint()
