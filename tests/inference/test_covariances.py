"""Covariances between new rows, against those of all rows at once and against block matrices of all classes."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gpclass import GPClassifier, IVMClassifier, NullCategoryClassifier, SparseGPClassifier
from gpclass.inference import Gibbs
from gpclass.kernels import RBF, PerClass

X, y = load_iris(return_X_y=True)
NEW, OTHERS = X[1::30], X[2::40]
KERNEL = 4.0 * RBF(1.0)


@pytest.mark.parametrize(
    "model",
    [
        GPClassifier(KERNEL, hyper="fixed"),
        GPClassifier(PerClass([KERNEL, 2.0 * RBF(2.0), 9.0 * RBF(0.5)]), hyper="fixed"),
        GPClassifier(KERNEL, hyper="fixed", inference="ep"),
        SparseGPClassifier(KERNEL, hyper="fixed", n_inducing=12),
        IVMClassifier(KERNEL, hyper="fixed", n_active=15),
        NullCategoryClassifier(KERNEL, hyper="fixed", n_active=15),
    ],
    ids=["vb", "a kernel for each class", "ep", "sparse", "ivm", "one machine for each class"],
)
def test_covariances_with_other_rows_are_those_of_all_rows_at_once(model):
    labels = y[::5].copy()
    if isinstance(model, NullCategoryClassifier):
        labels[::4] = -1
    model.fit(X[::5], labels)
    rows, others = model._rows(NEW), model._rows(OTHERS)
    joint = model.posterior_.joint(np.concatenate([rows, others])).cov[:, : len(NEW), len(NEW) :]
    found = model.posterior_.covariances_with(others)(rows)
    np.testing.assert_allclose(np.einsum("mckc->cmk", found), joint, atol=1e-9)
    if getattr(model, "inference", None) != "ep":
        off = found * (1.0 - np.eye(3))[None, :, None, :]
        assert np.all(off == 0.0)


@pytest.mark.parametrize("inference", ["ep", "laplace"])
def test_coupled_classes_have_the_covariances_of_the_block_matrix(inference):
    """K(X, Z) - K(X, rows) (I + W K)^-1 W K(rows, Z) with W_n = diag(d_n) - d_n d_n' / s_n, in blocks of rows."""
    model = GPClassifier(KERNEL, hyper="fixed", inference=inference, standardize=False).fit(X[::10], y[::10])
    d = model.posterior_.terms.sqrt_precision**2
    W = np.zeros((len(d), 3, len(d), 3))
    for n, own in enumerate(d):
        W[n, :, n] = np.diag(own) - np.outer(own, own) / own.sum()
    W = W.reshape(3 * len(d), -1)
    K, cross, with_others = (
        np.kron(KERNEL(a, b), np.eye(3)) for a, b in ((X[::10], X[::10]), (NEW, X[::10]), (X[::10], OTHERS))
    )
    expected = np.kron(KERNEL(NEW, OTHERS), np.eye(3)) - cross @ np.linalg.solve(
        np.eye(len(K)) + W @ K, W @ with_others
    )
    found = model.posterior_.covariances_with(OTHERS)(NEW)
    assert np.abs(found[:, 0, :, 1]).max() > 1e-3
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-8)


@pytest.mark.filterwarnings("ignore:the chains have not mixed")
def test_draws_have_the_covariances_of_the_whole_mixture():
    model = GPClassifier(KERNEL, hyper="fixed", inference=Gibbs(30, 20, 1, 1, evidence=False)).fit(X[::10], y[::10])
    rows = model._rows(NEW)
    found = model.posterior_.covariances_with(rows)(rows)
    variances = np.einsum("mcmc->mc", found)
    np.testing.assert_allclose(variances, model.posterior_.latent(rows).cov, atol=1e-9)
    assert np.linalg.eigvalsh(found.reshape(3 * len(NEW), -1)).min() > -1e-9
