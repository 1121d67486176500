"""Rounds of expectation propagation against sweeps, whose fixed point they share, wherever the rows are."""

from functools import reduce

import numpy as np
import pytest

from gpclass.inference import EP, DensePrior, InducingPrior, ParallelEP, SparseEP, SparseVB
from gpclass.inference.inducing.features import ArrayRows, Features, added
from gpclass.inference.inducing.parallel_ep import Rounds
from gpclass.kernels import RBF
from gpclass.likelihoods import MultinomialProbit, OrderedProbit, Probit
from tests.inference.namespaces import NAMESPACES, moved

KERNEL = 4.0 * RBF(1.2)
LIKELIHOODS = {
    "classes": (MultinomialProbit(), 3),
    "binary": (Probit(), 1),
    "ordered": (OrderedProbit(), 1),
    "label noise": (MultinomialProbit(label_noise=0.05), 3),
}


def data(n=400, K=3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    f = np.column_stack([X[:, 0], X[:, 1] ** 2 - 1, X[:, 1]])
    y = np.argmax(f + 0.3 * rng.standard_normal(f.shape), axis=1)
    return X, y if K == 3 else (y == 0).astype(int)


def start(X, y, Z, likelihood, C, approximation, few=100):
    sample = Features(KERNEL, Z, ArrayRows(X[:few]), approximation)
    return Rounds.from_sample(SparseEP()(InducingPrior(sample, C), y[:few], likelihood).posterior, few / len(X))


def contrasts(latent):
    """Means without what all classes have in common, which sweeps hardly move."""
    return latent.mean - latent.mean.mean(axis=1, keepdims=True) if latent.mean.shape[1] > 1 else latent.mean


@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_rounds_end_where_sweeps_end(name, approximation):
    likelihood, C = LIKELIHOODS[name]
    X, y = data(K=2 if name == "binary" else 3)
    prior = InducingPrior(Features(KERNEL, X[:25], ArrayRows(X), approximation), C)
    rounds = ParallelEP(tol=1e-9, max_iter=100)(prior, y, likelihood, start(X, y, X[:25], likelihood, C, approximation))
    sweeps = SparseEP(tol=1e-10, max_iter=2000)(prior, y, likelihood)
    assert rounds.info.converged
    assert rounds.info.n_skipped == 0
    assert rounds.log_evidence == pytest.approx(sweeps.log_evidence, abs=1e-3 if C > 1 else 1e-7)
    np.testing.assert_allclose(contrasts(rounds.loo), contrasts(sweeps.loo), atol=1e-4)
    np.testing.assert_allclose(rounds.loo.cov, sweeps.loo.cov, rtol=1e-3)


def test_with_all_rows_inducing_it_is_full_ep():
    X, y = data(60)
    few = data(59)
    full = EP(coupling="none", tol=1e-9, max_iter=2000)(DensePrior(KERNEL(X), 3, KERNEL, X), y, MultinomialProbit())
    features = Features(KERNEL, X, ArrayRows(X))
    near = Rounds.from_sample(
        SparseEP()(InducingPrior(Features(KERNEL, X, ArrayRows(few[0])), 3), few[1], MultinomialProbit()).posterior, 1.0
    )
    rounds = ParallelEP(tol=1e-8, max_iter=200)(InducingPrior(features, 3), y, MultinomialProbit(), near)
    assert rounds.info.converged
    assert rounds.log_evidence == pytest.approx(full.log_evidence, abs=1e-6)
    np.testing.assert_allclose(rounds.loo.cov, full.loo.cov, rtol=1e-5)


def test_few_rounds_with_default_settings_are_close():
    X, y = data(2000)
    prior = InducingPrior(Features(KERNEL, X[:40], ArrayRows(X), "dtc"), 3)
    init = start(X, y, X[:40], MultinomialProbit(), 3, "dtc", 300)
    exact = ParallelEP(tol=1e-8, max_iter=100)(prior, y, MultinomialProbit(), init)
    fit = ParallelEP()(prior, y, MultinomialProbit(), start(X, y, X[:40], MultinomialProbit(), 3, "dtc", 300))
    assert fit.info.converged
    assert fit.info.n_iter <= 10
    new = np.random.default_rng(1).standard_normal((300, 2))
    ours, theirs = (MultinomialProbit().predict(*one.posterior.latent(new)) for one in (fit, exact))
    np.testing.assert_allclose(ours, theirs, atol=2e-3)


class Shards:
    """Rows in several places; those of the first are local."""

    def __init__(self, parts, y):
        self.parts, self.y, self.basis = parts, y, parts[0].basis

    def __len__(self):
        return sum(map(len, self.parts))

    def sums(self, part, y, *args):
        return reduce(added, (one.sums(part, labels, *args) for one, labels in zip(self.parts, self.y, strict=True)))

    def local_sample(self, y):
        return self.parts[0], self.y[0]


@pytest.mark.parametrize("n_shards", [2, 8, 32])
@pytest.mark.parametrize("engine", [ParallelEP(), SparseVB()], ids=["ep", "vb"])
def test_rows_in_several_places_give_the_same_posterior(engine, n_shards):
    X, y = data(640)
    likelihood = MultinomialProbit()
    parts = [Features(KERNEL, X[:30], ArrayRows(X[i::n_shards])) for i in range(n_shards)]
    shards = Shards(parts, [y[i::n_shards] for i in range(n_shards)])
    fits = [
        engine(
            InducingPrior(features, 3),
            labels,
            likelihood,
            start(X, y, X[:30], likelihood, 3, "fitc") if isinstance(engine, ParallelEP) else None,
        )
        for features, labels in ((Features(KERNEL, X[:30], ArrayRows(X)), y), (shards, None))
    ]
    ours, theirs = (fit.posterior.latent(X[:50]) for fit in fits)
    np.testing.assert_allclose(theirs.mean, ours.mean, atol=1e-8)
    np.testing.assert_allclose(theirs.cov, ours.cov, atol=1e-8)
    np.testing.assert_allclose(fits[1].loo.mean, fits[0].loo.mean[::n_shards], atol=1e-7)


def test_rounds_go_on_where_they_were_kept():
    X, y = data(1000)
    prior = InducingPrior(Features(KERNEL, X[:30], ArrayRows(X)), 3)
    init = start(X, y, X[:30], MultinomialProbit(), 3, "fitc")
    kept = []
    fit = ParallelEP(tol=1e-6, keep=lambda rounds: kept.append(rounds.copy()))(prior, y, MultinomialProbit(), init)
    again = ParallelEP(tol=1e-6)(prior, y, MultinomialProbit(), kept[2])
    assert again.info == fit.info
    np.testing.assert_array_equal(again.posterior.mean, fit.posterior.mean)


@pytest.mark.parametrize("xp", NAMESPACES)
def test_other_namespaces_agree(xp):
    X, y = data()
    likelihood = MultinomialProbit()
    here = ParallelEP()(
        InducingPrior(Features(KERNEL, X[:20], ArrayRows(X)), 3),
        y,
        likelihood,
        start(X, y, X[:20], likelihood, 3, "fitc"),
    )
    there = Features(KERNEL, moved(X[:20], xp), ArrayRows(X))
    few = Features(KERNEL, moved(X[:20], xp), ArrayRows(X[:100]))
    init = Rounds.from_sample(SparseEP()(InducingPrior(few, 3), y[:100], likelihood).posterior, 0.25)
    moved_fit = ParallelEP()(InducingPrior(there, 3), y, likelihood, init)
    assert moved_fit.info.n_iter == here.info.n_iter
    np.testing.assert_allclose(moved_fit.loo.mean, here.loo.mean, atol=1e-8)
    np.testing.assert_allclose(moved_fit.loo.cov, here.loo.cov, atol=1e-8)
