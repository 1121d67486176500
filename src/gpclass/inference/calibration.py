"""Calibration of latent means and variances by leave-one-out predictions.

An approximate posterior can be under- or overconfident (the mode of a skewed posterior is closer to zero than its
mean), and probit models give a label far on the wrong side a probability of 1e-22 where a mistake in the data is more
likely. Three numbers maximise the log probability of every training label given the others: a factor for all latent
means, one for all latent variances, and a lapse rate, the share of labels that are independent of the inputs. Nothing
else changes, so the predicted classes hardly do.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

from ..likelihoods import Likelihood
from ..numerics.product_form import precision

#: Standard deviation of the log factors a priori, chosen on ten splits of six data sets: with few rows they stay
#: near 1, with hundreds the data decide.
_PRIOR_SD = 0.3
#: The lapse rate is Beta(_LAPSES, 1) a priori: where n rows show none, it is about this number over n. Of 0.02, 0.05,
#: 0.1, 0.2, 0.5 and 1, chosen on three or four splits of fifteen data sets (docs/decisions/0018-lapse-rate.md).
_LAPSES = 0.1
#: More lapses than that are noise, for which likelihoods have ``label_noise=``.
_MOST = 0.1


class Calibration(NamedTuple):
    """Factors for latent means and variances, and the lapse rate; 1, 1 and 0 change nothing."""

    mean_scale: float = 1.0
    variance_scale: float = 1.0
    lapse_rate: float = 0.0

    def __call__(self, mean: np.ndarray, cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Latent means and (co)variances as predictions take them."""
        return self.mean_scale * mean, self.variance_scale * cov

    def log_proba(self, likelihood: Likelihood, mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
        """Log probabilities (n, K) of the labels for these latent moments."""
        return self.mixed(likelihood.predict_log(*self(mean, cov)), likelihood.n_outcomes(mean.shape[1]))

    def mixed(self, log_p: np.ndarray, n_outcomes: int) -> np.ndarray:
        """log((1 - lapse_rate) p + lapse_rate / K)"""
        if self.lapse_rate == 0.0:
            return log_p
        return np.logaddexp(np.log1p(-self.lapse_rate) + log_p, np.log(self.lapse_rate / n_outcomes))


class LooPrediction(NamedTuple):
    """One model's predictions of every row without its own label: log share (n,) of the model at that row, likelihood,
    latent means (n, C), and variances (n, C) or covariances between latent functions (n, C, C)."""

    log_share: np.ndarray
    likelihood: Likelihood
    mean: np.ndarray
    cov: np.ndarray


def calibrate(predictions: Sequence[LooPrediction], y: np.ndarray, weights: np.ndarray) -> Calibration:
    """Maximise sum_n w_n log((1 - e) sum_s share_ns E p(y_n | f) + e / K), f ~ N(a mean_ns, b cov_ns), over log a, log
    b and logit e, with a prior; s runs over the models that are averaged, often a single one."""
    n_outcomes = predictions[0].likelihood.n_outcomes(predictions[0].mean.shape[1])

    def loss(t: np.ndarray) -> tuple[float, np.ndarray]:
        log_z, by_row = zip(*(_slopes(one, y, t[:2]) for one in predictions), strict=True)
        terms = np.stack(log_z) + np.stack([one.log_share for one in predictions])
        total = logsumexp(terms, axis=0)
        slopes = np.einsum("sn,sjn->jn", np.exp(terms - total), np.stack(by_row))
        lapse_rate = float(expit(t[2]))
        mixed = Calibration(lapse_rate=lapse_rate).mixed(total, n_outcomes)
        plain = np.exp(total - mixed)
        by_lapse_rate = lapse_rate * (1.0 - lapse_rate) * (np.exp(-mixed) / n_outcomes - plain)
        slopes = np.vstack([(1.0 - lapse_rate) * plain * slopes, by_lapse_rate])
        # The density of Beta(alpha, 1) in the logit is e^alpha (1 - e).
        log_prior = -0.5 * t[:2] @ t[:2] / _PRIOR_SD**2 + _LAPSES * np.log(lapse_rate) + np.log1p(-lapse_rate)
        by_prior = [*(-t[:2] / _PRIOR_SD**2), _LAPSES * (1.0 - lapse_rate) - lapse_rate]
        return float(-log_prior - weights @ mixed), -np.array(by_prior) - slopes @ weights

    start = np.array([0.0, 0.0, -np.log(1.0 + weights.sum())])
    bounds = [(-3.0, 3.0), (-6.0, 6.0), (logit(least_lapse_rate(weights.sum(), n_outcomes)), logit(_MOST))]
    mean_scale, variance_scale, lapse_rate = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Calibration(float(np.exp(mean_scale)), float(np.exp(variance_scale)), float(expit(lapse_rate)))


def least_lapse_rate(n: float, n_classes: int) -> float:
    """The lapse rate e after n rows is never smaller, whatever they show.

    The slope of the log posterior in logit(e) is 0.1 (1 - e) - e from the prior, and from each row, where the model
    gives its label the probability Z, e (1 - e) (1/K - Z) / ((1 - e) Z + e/K). That is smallest at Z = 1 and there at
    least -e (K - 1) / K. So the sum is positive for e < 0.1 / (1.1 + n (K - 1) / K).
    """
    return _LAPSES / (1.0 + _LAPSES + n * (n_classes - 1) / n_classes)


def _slopes(prediction: LooPrediction, y: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log Z (n,) of one model at (log a, log b) = t, and its derivatives (2, n) there."""
    slopes = _independent_slopes if prediction.cov.ndim == 2 else _coupled_slopes
    return slopes(prediction.likelihood, y, np.exp(t[0]) * prediction.mean, np.exp(t[1]) * prediction.cov)


def _independent_slopes(
    likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """log Z (n,) and its derivatives (2, n) in log a and log b; dlogZ/dv = (second + first^2) / 2."""
    log_z, first, second = likelihood.tilted(y, m, v)
    return log_z, np.stack([(first * m).sum(axis=1), 0.5 * ((second + first**2) * v).sum(axis=1)])


def _coupled_slopes(
    likelihood: Likelihood, y: np.ndarray, m: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same from the matching site with precision T: dlogZ/dm = g = (I + T V)^-1 (location - T m) and dlogZ/dV =
    (g g' - (I + T V)^-1 T) / 2; by quadrature where the likelihood has no such site."""
    clean = likelihood.without_label_noise()
    if "site" not in clean.supports:
        log_z, g, H = likelihood.tilted_by_quadrature(y, m, V)
        bend = H + g[:, :, None] * g[:, None, :]
        return log_z, np.stack([(g * m).sum(axis=1), 0.5 * np.einsum("nij,nji->n", bend, V)])
    log_z, d, location = clean.site(y, m, V)
    C = m.shape[1]
    T = precision(d)
    TV = T @ V
    pull = location - np.einsum("nij,nj->ni", T, m)
    g = np.linalg.solve(np.eye(C) + TV, pull[:, :, None])[:, :, 0]
    bend = np.einsum("nii->n", np.linalg.solve(np.eye(C) + TV, TV))
    slopes = np.stack([(g * m).sum(axis=1), 0.5 * (np.einsum("ni,nij,nj->n", g, V, g) - bend)])
    log_mixed, share = likelihood.with_label_noise(log_z, C)
    return log_mixed, share * slopes
