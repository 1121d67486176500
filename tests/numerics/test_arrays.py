"""Namespaces, and the way to the host and back; array_api_strict stands for any device."""

import numpy as np
import pytest

from gpclass.numerics.arrays import device, is_numpy, like, namespace, on_host, to_host

xp = pytest.importorskip("array_api_strict")


@pytest.fixture
def elsewhere():
    return xp.asarray([[1.0, 2.0]], dtype=xp.float32, device=xp.Device("device1"))


def test_numpy_passes_straight_through():
    x = np.arange(3.0)
    assert namespace(x, x) is np
    assert device(x) == "cpu"
    assert to_host(x) is x
    assert like(x, x) is x
    assert on_host(lambda y: y, x) is x


def test_there_and_back(elsewhere):
    assert not is_numpy(elsewhere)
    assert namespace(elsewhere) is xp
    np.testing.assert_array_equal(to_host(elsewhere), [[1.0, 2.0]])
    moved = like(np.broadcast_to(3.0, (4,)), elsewhere)
    assert moved.shape == (4,)
    assert moved.dtype == xp.float32
    assert device(moved) == device(elsewhere)
    assert like(np.float64(3.0), elsewhere).shape == ()


def test_two_namespaces_do_not_mix(elsewhere):
    with pytest.raises(TypeError):
        namespace(elsewhere, np.ones(2))


def test_on_host_converts_tuples_and_pullbacks(elsewhere):
    def square(weights, x):
        assert is_numpy(x)
        return weights * x**2, lambda c: 2.0 * weights * x * c

    value, pullback = on_host(square, np.array(2.0), elsewhere)
    slope = pullback(value)
    assert namespace(value, slope) is xp
    np.testing.assert_allclose(to_host(value), [[2.0, 8.0]])
    np.testing.assert_allclose(to_host(slope), [[8.0, 64.0]])
