"""Places of arrays: names, errors that say what would work, and memory."""

import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import config_context

from gpclass.numerics import devices
from gpclass.numerics.arrays import device, to_host
from gpclass.numerics.devices import HOST, Place, beside, host_labels, host_rows, place_of
from tests.inference.namespaces import NAMESPACES, moved, needs_dispatch

X = np.random.default_rng(0).normal(size=(4, 2))


def fake_torch(n_devices):
    return SimpleNamespace(__version__="9.9", cuda=SimpleNamespace(device_count=lambda: n_devices))


@pytest.mark.parametrize("name", NAMESPACES)
def test_an_array_sent_to_a_place_is_there(name):
    there = moved(X, name)
    place = Place.of(there)
    again = place.send(2.0 * X)
    assert Place.of(again) == pickle.loads(pickle.dumps(place)) == place != HOST
    assert device(again) == device(there)
    np.testing.assert_array_equal(to_host(again), 2.0 * X)


def test_the_host_keeps_arrays_as_they_are():
    assert HOST.send(X) is X
    assert Place.of(X) == HOST
    assert str(HOST) == "this machine"


def test_none_is_the_host_for_what_scikit_learn_makes_arrays_of():
    assert place_of(None, X) == place_of("cpu", X) == HOST
    assert place_of(None, moved(X, "array_api_strict")) == HOST  # without dispatch
    assert place_of(None, X.tolist()) == HOST


@needs_dispatch
@pytest.mark.parametrize("name", NAMESPACES)
def test_none_is_where_an_array_is(name):
    there = moved(X, name)
    with config_context(array_api_dispatch=True):
        assert place_of(None, there) == Place.of(there)
        assert place_of("cpu", there) == HOST
        np.testing.assert_array_equal(host_rows(there), X)
        np.testing.assert_array_equal(host_labels(there, there), X)
        assert Place.of(beside(X, there)) == Place.of(there)
        assert beside(np.array(["a", "b"]), there).tolist() == ["a", "b"]
    assert beside(X, there) is X


def test_cuda_is_the_first_library_that_has_the_device(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch(2))
    assert place_of("cuda", X) == Place("torch", "cuda:0")
    assert place_of("cuda:1", X) == Place("torch", "cuda:1")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cuda:-1", "torch", "", 0, True])
def test_a_device_that_is_no_name(name):
    with pytest.raises(ValueError, match='device must be None, "cpu", "cuda" or "cuda:1" with the number'):
        place_of(name, X)


def test_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setattr(devices, "_CUDA_LIBRARIES", ("torch",))
    monkeypatch.setitem(sys.modules, "torch", fake_torch(0))
    with pytest.raises(ValueError, match=r"device='cuda': expected a CUDA device of that number, got torch 9\.9 finds"):
        place_of("cuda", X)
    monkeypatch.setitem(sys.modules, "torch", fake_torch(1))
    with pytest.raises(ValueError, match=r"device='cuda:3': .* torch 9\.9 finds 1"):
        place_of("cuda:3", X)


def test_no_library_with_devices(monkeypatch):
    for library in ("torch", "cupy"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=r"needs torch or CuPy: pip install 'gpclass\[gpu\]'"):
        place_of("cuda", X)


@needs_dispatch
@pytest.mark.parametrize("dtype", ["int64", "float16"])
def test_rows_that_are_no_numbers_of_enough_digits(dtype):
    torch = pytest.importorskip("torch")
    with (
        config_context(array_api_dispatch=True),
        pytest.raises(TypeError, match=rf"expected X of double or single precision, got torch.{dtype} on torch cpu"),
    ):
        host_rows(torch.ones((2, 2), dtype=getattr(torch, dtype)))


@needs_dispatch
def test_integers_of_the_strict_namespace():
    strict = pytest.importorskip("array_api_strict")
    with config_context(array_api_dispatch=True), pytest.raises(TypeError, match="expected X of double or single"):
        host_rows(strict.ones((2, 2), dtype=strict.int64))


@needs_dispatch
def test_labels_on_another_device():
    strict = pytest.importorskip("array_api_strict")
    one, other = (strict.ones(3, device=strict.Device(name)) for name in ("device1", "device2"))
    with config_context(array_api_dispatch=True):
        assert host_labels(one, one).shape == (3,)
        assert host_labels(one, X).shape == (3,)
        with pytest.raises(
            ValueError, match=r"expected y where X is, array_api_strict device1, or on the host; got it"
        ):
            host_labels(other, one)
