"""Finite differences of fourth order."""

import numpy as np
import pytest

from gpclass.numerics.differences import derivative


@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (0.3, np.inf), (-1.0, 0.3), (0.3, 0.3005), (0.2999, 0.3001)])
def test_derivative_stays_inside_bounds(bounds):
    def function(t):
        assert bounds[0] - 1e-12 <= t <= bounds[1] + 1e-12
        return np.array([np.exp(t), t**4])

    np.testing.assert_allclose(derivative(function, 0.3, bounds), [np.exp(0.3), 4 * 0.3**3], rtol=1e-9)


def test_no_room():
    assert derivative(np.exp, 0.3, (0.3, 0.3)) == 0.0
