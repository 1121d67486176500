"""Newton's method from a neighbour's mode, for one and several latent functions, few rows and many."""

import numpy as np
import pytest

from gpclass.inference.dense.latent_objective import LatentObjective
from gpclass.kernels import RBF
from gpclass.likelihoods import Logit, MultinomialProbit, Probit, Softmax
from gpclass.training.monitor import SILENT

CASES = [(Logit(), 1, 60), (Logit(), 1, 230), (Probit(), 1, 230), (Softmax(), 3, 60), (MultinomialProbit(), 3, 60)]


@pytest.mark.parametrize(("likelihood", "C", "n"), CASES, ids=lambda value: str(value))
@pytest.mark.parametrize("variance", [1.0, 50.0])
def test_a_neighbour_is_a_shorter_way_to_the_same_mode(likelihood, C, n, variance):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [0.0] if C == 1 else [-0.4, 0.4])

    def at(scale, factor):
        return LatentObjective((factor * variance * RBF(scale))(X), y, likelihood, C)

    neighbour = at(1.0, 1.0).maximise(None, 1e-6, 50, SILENT).mode
    # Twice the variance: K alpha with the neighbour's alpha would be twice its mean, which has hardly moved.
    there = at(1.1, 2.0)
    scratch, warm = there.maximise(None, 1e-6, 50, SILENT), at(1.1, 2.0).maximise(neighbour.m, 1e-6, 50, SILENT)
    np.testing.assert_allclose(warm.mode.m, scratch.mode.m, atol=1e-8 * np.abs(scratch.mode.m).max())
    np.testing.assert_allclose(warm.mode.p, warm.mode.alpha, atol=1e-8)
    assert scratch.converged
    assert warm.converged
    assert len(warm.objective_trace) < len(scratch.objective_trace)
    assert warm.objective_trace[0] > there.at(neighbour.alpha).J
