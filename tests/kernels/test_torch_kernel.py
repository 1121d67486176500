"""Kernels on the features of a torch module: values, slopes by differences, learning."""

import copy
import pickle
import sys

import numpy as np
import pytest
from sklearn import config_context

from gpclass import GPClassifier, save
from gpclass.hyper import Evidence
from gpclass.hyper.priors import Normal
from gpclass.kernels import RBF, Additive, Laplacian, Linear, Matern, RationalQuadratic, TorchKernel
from tests.conftest import central_difference
from tests.inference.namespaces import needs_dispatch

SMOOTH = {
    "rbf": RBF(0.8),
    "rbf ard": RBF([0.8, 1.3]),
    "matern 3/2": Matern(0.8, nu=1.5),
    "matern 5/2": Matern(0.8, nu=2.5),
    "rational quadratic": RationalQuadratic(0.8, alpha=1.5),
    "sum": 2.0 * RBF(0.8) + 0.5 * Matern(1.1, nu=2.5),
}
X, Z = np.random.default_rng(0).normal(size=(2, 7, 2))
Z = np.vstack([Z[:3], X[:2]])


@pytest.mark.parametrize("kernel", SMOOTH.values(), ids=SMOOTH)
@pytest.mark.parametrize("other", [None, Z], ids=["X", "X and Z"])
def test_slopes_in_the_rows(kernel, other):
    G = np.random.default_rng(1).normal(size=(7, 7 if other is None else 5))
    by_X, by_Z = kernel.rows_pullback(X, other, G)
    slopes = central_difference(lambda x: float(np.sum(G * kernel(x.reshape(X.shape), other))), X.ravel())
    np.testing.assert_allclose(by_X.ravel(), slopes, atol=1e-8)
    if other is None:
        assert by_Z is None
    else:
        slopes = central_difference(lambda z: float(np.sum(G * kernel(X, z.reshape(other.shape)))), other.ravel())
        np.testing.assert_allclose(by_Z.ravel(), slopes, atol=1e-8)


@pytest.mark.parametrize("kernel", [Laplacian(1.0), Additive(1.0), Linear(1.0), Matern(1.0, nu=0.5), RBF() * RBF()])
def test_kernels_without_slopes_in_the_rows(kernel):
    with pytest.raises(TypeError, match=r"has no slopes in its rows; RBF, Matern \(nu 1.5 or 2.5\) and RationalQuadr"):
        kernel.rows_pullback(X, None, np.ones((7, 7)))


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def network(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))


def test_covariances_are_those_of_the_features(torch, network):
    kernel = TorchKernel(2.0 * RBF(1.3), network)
    with torch.no_grad():
        F, F_other = (copy.deepcopy(network).double()(torch.tensor(rows)).numpy() for rows in (X, Z))
    np.testing.assert_allclose(kernel(X), 2.0 * RBF(1.3)(F), rtol=1e-12)
    np.testing.assert_allclose(kernel(X, Z), 2.0 * RBF(1.3)(F, F_other), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), 2.0)
    there = kernel(torch.tensor(X))
    assert isinstance(there, torch.Tensor)
    np.testing.assert_allclose(there.numpy(), kernel(X), rtol=1e-12)


@pytest.mark.parametrize("other", [None, Z], ids=["X", "X and Z"])
@pytest.mark.parametrize("on_torch", [False, True])
def test_pullback_agrees_with_differences(torch, network, other, on_torch):
    kernel = TorchKernel(2.0 * Matern(1.3, nu=2.5), network)
    assert kernel.n_theta == 4 * 3 + 5 * 3 + 2
    G = np.random.default_rng(2).normal(size=(7, 7 if other is None else 5))
    send = torch.tensor if on_torch else np.array
    found = kernel.vjp(send(X), None if other is None else send(other))[1](send(G))
    slopes = central_difference(lambda theta: float(np.sum(G * kernel.with_theta(theta)(X, other))), kernel.theta)
    np.testing.assert_allclose(found, slopes, atol=1e-8)
    fixed = TorchKernel(2.0 * Matern(1.3, nu=2.5), network, fixed="module_weights")
    np.testing.assert_allclose(fixed.vjp(X, other)[1](G), found[-2:], rtol=1e-10)


def test_a_kernel_is_a_value(network):
    kernel, again = TorchKernel(RBF(), network), TorchKernel(RBF(), network)
    assert kernel == again
    assert kernel != kernel.with_theta(1.0 + kernel.theta)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert "<27 weights" in repr(kernel)
    assert kernel.theta_names[0] == "module_weights[0]"
    next(network.parameters()).data.fill_(0.0)  # the kernel has a copy
    np.testing.assert_allclose(kernel(X), again(X), rtol=1e-14)


@needs_dispatch
@pytest.mark.filterwarnings("ignore:learning stopped")  # weights move on for long, and little is gained
def test_weights_are_learned_by_the_evidence(torch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (np.linalg.norm(X, axis=1) > 1.1).astype(int)
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
    start = 9.0 * TorchKernel(RBF(0.5), network)
    search = Evidence(prior={"module_weights": Normal(sd=1.0)}, max_iter=25)
    learned = GPClassifier(start, hyper=search).fit(X[:80], y[:80])
    at_start = GPClassifier(start, hyper="fixed").fit(X[:80], y[:80])
    assert learned.log_evidence_ > at_start.log_evidence_ + 5.0
    assert np.all(np.isnan(learned.relevance_))
    with config_context(array_api_dispatch=True):
        there = GPClassifier(learned.kernel_, hyper="fixed").fit(torch.tensor(X[:80]), y[:80])
        found = there.predict_proba(torch.tensor(X[80:]))
    here = GPClassifier(learned.kernel_, hyper="fixed").fit(X[:80], y[:80])
    np.testing.assert_allclose(found.numpy(), here.predict_proba(X[80:]), atol=1e-8)


class TestBadInput:
    def test_files_hold_no_code(self, network, tmp_path):
        model = GPClassifier(2.0 * TorchKernel(RBF(), network), hyper="fixed").fit(X, np.arange(7) % 2)
        with pytest.raises(TypeError, match="expected a kernel without code of its own, got TorchKernel"):
            save(model, tmp_path / "model.gpclass")
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X))

    def test_torch_is_named_where_it_is_missing(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch", None)
        with pytest.raises(ImportError, match=r"TorchKernel needs torch: pip install 'gpclass\[gpu\]'"):
            TorchKernel(RBF(), None)

    def test_no_module(self, torch):
        with pytest.raises(TypeError, match=r"expects a torch.nn.Module, got function"):
            TorchKernel(RBF(), lambda x: x)
        with pytest.raises(ValueError, match="a module with parameters, got one without"):
            TorchKernel(RBF(), torch.nn.Tanh())

    def test_weights_of_another_size(self, network):
        with pytest.raises(ValueError, match=r"expected 27 weights, got an array of shape \(3,\)"):
            TorchKernel(RBF(), network, np.zeros(3))

    def test_a_module_that_gives_no_features(self, torch):
        kernel = TorchKernel(RBF(), torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Flatten(0)))
        with pytest.raises(ValueError, match=r"maps rows \(n, d\) to features \(n, q\): got \(7,\) from \(7, 2\)"):
            kernel(X)

    def test_a_kernel_that_features_cannot_be_learned_under(self, network):
        with pytest.raises(TypeError, match="Laplacian has no slopes in its rows"):
            GPClassifier(TorchKernel(Laplacian(), network)).fit(X, np.arange(7) % 2)
