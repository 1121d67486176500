"""Selection and learning in turns."""

import numpy as np
import pytest

from gpclass.hyper import Alternating, HyperResult, alternating
from gpclass.inference import IVM
from gpclass.kernels import RBF
from gpclass.likelihoods import Probit

from .conftest import objective_of

FREE, HELD = Probit(fixed=("variance", "label_noise")), Probit(fixed=True)


@pytest.mark.parametrize("best", [0, 1, 2])
@pytest.mark.parametrize(
    ("kernel", "likelihood", "turns", "converged"),
    [
        (RBF(1.0), HELD, [False, True, False], [False, True, False]),
        (RBF(1.0, fixed=True), FREE, [False, True, True], [False, True, True]),
        (RBF(1.0), FREE, [True, True, False, True, True, False], [True, False, False]),
    ],
    ids=["kernel", "likelihood", "both"],
)
def test_the_round_that_is_kept_says_whether_it_converged(monkeypatch, kernel, likelihood, turns, converged, best):
    X = np.random.default_rng(0).standard_normal((20, 2))
    objective = objective_of(kernel, likelihood, IVM(5), X, (X[:, 0] > 0).astype(int))
    thetas = []

    def maximise(target, theta, *_):
        return HyperResult(theta + 0.1, float(len(thetas)), 1, flags.pop(0))

    def score(self, objective, theta):
        thetas.append(theta)
        return 10.0 * (len(thetas) - 1 == best)

    monkeypatch.setattr(alternating, "maximise", maximise)
    monkeypatch.setattr(Alternating, "_score", score)
    flags = list(turns)
    kept = Alternating(n_rounds=3, keep="best")(objective, np.random.default_rng(0))
    assert kept.converged == converged[best]
    np.testing.assert_array_equal(kept.theta, thetas[best])
    flags = list(turns)
    last = Alternating(n_rounds=3)(objective, np.random.default_rng(0))
    assert last.converged == converged[2]
    np.testing.assert_array_equal(last.theta, thetas[2])
