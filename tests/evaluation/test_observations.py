"""Observations in the place of labels leave the covariances that labels leave on average."""

import numpy as np
import pytest

from gpclass.evaluation.observations import site_roots
from gpclass.inference.calibration import Calibration
from gpclass.inference.posteriors import Member
from gpclass.likelihoods import Logit, MultinomialProbit, OrderedProbit, Probit

SEVERAL = np.array([[3.0, 1.0, 0.5], [1.0, 2.0, 0.0], [0.5, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("likelihood", "mean", "cov"),
    [
        (Probit(), [0.7], [[4.0]]),
        (Logit(), [-1.0], [[9.0]]),
        (OrderedProbit.from_cut_points([-1.0, 2.0]), [0.3], [[2.0]]),
        (MultinomialProbit(), [0.5, 0.0, -0.5], SEVERAL),
    ],
    ids=["probit", "logit", "ordered", "three classes"],
)
@pytest.mark.parametrize("lapse_rate", [0.0, 0.05])
def test_expected_covariance(likelihood, mean, cov, lapse_rate):
    """Covariances of weighted draws given each label, averaged by the probabilities of the labels."""
    mean, cov = np.array(mean), np.array(cov)
    u = np.random.default_rng(0).standard_normal((20000, len(mean)))
    f = mean + np.concatenate([u, -u]) @ np.linalg.cholesky(cov).T
    p = likelihood.predict(f, np.zeros_like(f))
    p = (1.0 - lapse_rate) * p + lapse_rate / p.shape[1]
    expected = sum(np.cov(f.T, aweights=w).reshape(cov.shape) * w.mean() for w in p.T)
    member = Member(1.0, None, likelihood, Calibration(lapse_rate=lapse_rate))
    R = site_roots(member, mean[None], cov[None])[0]
    np.testing.assert_allclose(np.linalg.inv(np.linalg.inv(cov) + R @ R.T), expected, atol=0.015 * cov.max())


def test_a_label_that_is_known_observes_nothing():
    member = Member(1.0, None, Probit(), Calibration())
    assert np.abs(site_roots(member, np.array([[30.0]]), np.array([[[1.0]]]))).max() < 1e-9
