"""Leave-one-out probabilities of training labels, and the calibration learned from them."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..inference.base import Latent
from ..inference.calibration import Calibration, LooPrediction, calibrate
from .trained import LabelWeights, Settings, WeightedFit

#: So many rows, evenly spaced, determine the three numbers of a calibration.
_ENOUGH_ROWS = 20000


def calibrated(trained: Any, fits: list[WeightedFit], labels: LabelWeights | None, settings: Settings) -> Any:
    """The trained model with its calibration and leave-one-out probabilities, where ``labels`` are given."""
    if labels is None:
        return trained
    calibration, loo_proba = loo_calibration(fits, labels, settings.calibrates, trained.hyper.rows)
    return replace(trained, calibration=calibration, loo_proba=loo_proba)


def loo_calibration(
    fits: list[WeightedFit], labels: LabelWeights, calibrates: bool, learned_from: np.ndarray | None = None
) -> tuple[Calibration, np.ndarray | None]:
    """The calibration, and probabilities (n, K) of each row's label without it.

    Without leave-one-out predictions nothing is calibrated; where only some rows have them, these count, and the
    probabilities of the others are NaN. ``learned_from`` are the rows that theta was learned from, None for all of
    them.
    """
    if any(fit.loo is None for _, fit, _ in fits):
        return Calibration(), None
    known = _rows_with_predictions(fits)
    if not np.all(known):
        some = [one._replace(fit=one.fit._replace(left_out=_of_rows(one.fit.loo, known))) for one in fits]
        labels = LabelWeights(*(part[known] for part in labels))
        numbers = None if learned_from is None else np.flatnonzero(np.isin(np.flatnonzero(known), learned_from))
        calibration, proba_of_some = loo_calibration(some, labels, calibrates, numbers)
        loo_proba = np.full((len(known), labels.proba.shape[1]), np.nan)
        loo_proba[known] = proba_of_some
        return calibration, loo_proba
    proba, weights, left_out = labels
    # One entry for every label that has a probability.
    rows, codes = np.nonzero(proba)
    counts = weights[rows] * proba[rows, codes]
    predictions = []
    for weight, fit, likelihood in fits:
        assert fit.loo is not None
        mean, cov = fit.loo
        log_share = np.full(len(proba), np.log(weight))
        if len(fits) > 1:
            # p(theta | all but row n) is, up to a constant, p(theta | all) / p(y_n | the others, theta), to the power
            # of what is left out of the row; a row that theta was not learned from changes nothing.
            used = weights * left_out
            if learned_from is not None:
                used[np.setdiff1d(np.arange(len(used)), learned_from)] = 0.0
            log_z = likelihood.loo_log_prob(codes, mean[rows], cov[rows])
            log_share -= np.bincount(rows, weights=used[rows] * proba[rows, codes] * log_z, minlength=len(proba))
        predictions.append(LooPrediction(log_share, likelihood, mean, cov))
    total = logsumexp([one.log_share for one in predictions], axis=0)
    predictions = [one._replace(log_share=one.log_share - total) for one in predictions]
    calibration = Calibration()
    if calibrates:
        counted = np.flatnonzero(counts > 0)
        few = counted[np.linspace(0, len(counted) - 1, min(len(counted), _ENOUGH_ROWS)).round().astype(int)]
        some = rows[few]
        by_label = [LooPrediction(share[some], like, mean[some], cov[some]) for share, like, mean, cov in predictions]
        calibration = calibrate(by_label, codes[few], counts[few])
    mixed = sum(
        np.exp(share[:, None] + calibration.log_proba(like, mean, cov)) for share, like, mean, cov in predictions
    )
    return calibration, mixed / np.sum(mixed, axis=1, keepdims=True)


def _rows_with_predictions(fits: list[WeightedFit]) -> np.ndarray:
    """Which rows (n,) have leave-one-out predictions, those held out where an engine holds rows out."""
    return np.all([~np.isnan(fit.loo.mean[:, 0]) for _, fit, _ in fits if fit.loo is not None], axis=0)


def _of_rows(latent: Latent | None, rows: np.ndarray) -> Latent | None:
    return None if latent is None else Latent(latent.mean[rows], latent.cov[rows])
