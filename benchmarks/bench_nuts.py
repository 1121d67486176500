"""NUTS over ten length-scales and an amplitude on GR06's toy problem and on Pima (``pima``: that alone), and what a
gradient costs beside an evidence."""

import sys
import time
import warnings

import numpy as np

from gpclass import GPClassifier
from gpclass.datasets import make_rings
from gpclass.hyper import NUTS, Objective
from gpclass.inference import EP, VB, Laplace
from gpclass.inference.problem import Problem
from gpclass.kernels import RBF, Constant
from gpclass.likelihoods import Logit, MultinomialProbit
from gpclass.papers.data import halves


def seconds(work, repeats=5):
    """The median, after one call to warm up."""
    work()
    took = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return np.median(took)


def gradient_ratio():
    for n in (120, 480):
        X, y = make_rings(n, random_state=0)
        problem = Problem(100.0 * RBF(np.ones(10)), MultinomialProbit(), X, y - 1, 3)
        for name, engine in (("vb", VB()), ("laplace", Laplace()), ("ep", EP())):
            objective = Objective(problem, engine, engine)
            evidence = seconds(lambda objective=objective: objective.fit(objective.theta))
            gradient = seconds(lambda objective=objective: objective.value_and_gradient(objective.theta))
            print(
                f"{name:8} n = {n}: evidence {1e3 * evidence:.0f} ms, with gradient in 11 parameters "
                f"{1e3 * gradient:.0f} ms, ratio {gradient / evidence:.2f}",
                flush=True,
            )


def mixing():
    X, y = make_rings(120 + 4620, random_state=0)
    start = time.perf_counter()
    hyper = NUTS(n_tune=100, n_chains=2)
    model = GPClassifier(100.0 * RBF(np.ones(10)), hyper=hyper, random_state=0).fit(X[:120], y[:120])
    samples = model.hyper_.samples
    print(
        f"NUTS, 120 rows, 11 parameters, {samples.theta.shape[0]} chains of {samples.theta.shape[1]}: R-hat "
        f"{samples.r_hat:.3f}, effective {samples.n_effective:.0f}, {samples.n_failed} divergences, accuracy "
        f"{100 * model.score(X[120:], y[120:]):.2f} %, {model.hyper_.n_evaluations} gradients, "
        f"{time.perf_counter() - start:.0f} s"
    )


def pima():
    """Ripley's 200 rows and 7 inputs, Laplace's method with the logit, default settings of NUTS."""
    X, y, X_test, y_test = halves("pima")
    kernel = 1.0 * RBF(np.ones(7)) + Constant(1.0)
    start, cpu = time.perf_counter(), time.process_time()
    model = GPClassifier(
        kernel, likelihood=Logit(), inference="laplace", hyper="nuts", standardize=True, random_state=0
    ).fit(X, y)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    errors = np.count_nonzero(model.predict(X_test) != y_test)
    print(
        f"{model.hyper_.samples}, {model.hyper_.samples.n_failed} divergences, {errors} errors of 332, "
        f"{model.hyper_.n_evaluations} gradients, {seconds:.0f} s, {cpu_seconds:.0f} s of CPU"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:] != ["pima"]:
        gradient_ratio()
        mixing()
    pima()
