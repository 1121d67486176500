"""Predictions of training rows without the labels of their whole group: patients, sites or days that were not seen.

Leave-one-out predictions (``loo_proba_``, ``loo_mean_``) flatter a model where rows belong together: a row is predicted
from the others of its patient. These leave out all rows of the patient, at the learned kernel parameters and from the
fit to all rows, without a refit.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from ..estimators._labels import is_missing, refuse_masked
from ..inference.base import Latent
from ..inference.posteriors import GaussianPosterior, Member, members_of
from ..inference.prior import DensePrior
from ..inference.whitened import MANY_ROWS
from ..likelihoods import Gaussian
from ..numerics import linalg


def leave_group_out_proba(model: Any, groups: Any) -> np.ndarray:
    """Probabilities of each training row's labels without the labels of its group.

    Parameters
    ----------
    model : a fitted GPClassifier or GPOrdinalClassifier
        With inference by "ep", "vb" or "laplace", and kernel parameters that were learned or fixed. Others need refits:
        ``sklearn.model_selection.cross_val_predict(model, X, y, groups=groups, cv=LeaveOneGroupOut(),
        method="predict_proba")``.
    groups : array-like of shape (n,)
        The group of each row that the model was fitted to.

    Returns
    -------
    proba : ndarray of shape (n, n_classes)
        Columns as in ``classes_``; NaN for rows of weight 0. Rows that are alone in their group have their
        ``loo_proba_``.

    Examples
    --------
    >>> import numpy as np
    >>> from gpclass import GPClassifier
    >>> from gpclass.evaluation.groups import leave_group_out_proba
    >>> rng = np.random.default_rng(0)
    >>> patients = np.repeat(np.arange(20), 4)
    >>> X = np.repeat(rng.normal(size=(20, 2)), 4, axis=0) + 0.05 * rng.normal(size=(80, 2))
    >>> y = np.repeat(rng.integers(2, size=20), 4)  # noise, but the same for all rows of a patient
    >>> model = GPClassifier("rbf").fit(X, y)
    >>> loo, without_patient = model.loo_proba_, leave_group_out_proba(model, patients)
    >>> [bool(np.mean(p.argmax(axis=1) != y) < 0.2) for p in (loo, without_patient)]
    [True, False]
    """
    _require_dense(model, "loo_proba_")
    loo_proba = model.loo_proba_
    kept = ~np.isnan(loo_proba[:, 0])
    codes = group_codes(groups, len(loo_proba))[kept]
    alone = np.bincount(codes)[codes] == 1
    left_out = [np.flatnonzero(codes == g) for g in np.unique(codes[~alone])]
    proba = loo_proba[kept]
    if left_out:
        log_parts = []
        for member in members_of(model.posterior_, model.likelihood_):
            calibration = member.calibration or model.calibration_
            mean, cov = _latent_without_groups(model, member, left_out)
            log_p = calibration.log_proba(member.likelihood, mean[~alone], cov[~alone])
            log_parts.append(np.log(member.weight) + log_p - logsumexp(log_p, axis=1, keepdims=True))
        proba[~alone] = np.exp(logsumexp(log_parts, axis=0))
    found = np.full(loo_proba.shape, np.nan)
    found[kept] = proba
    return found


def leave_group_out_predict(model: Any, groups: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (n,), noise included, of each training target without those of its group.

    ``model`` is a fitted GPRegressor whose kernel parameters were learned or fixed, ``groups`` (n,) the group of each
    row that it was fitted to. Exact at these parameters; rows that are alone in their group have their ``loo_mean_``
    and ``loo_std_``.
    """
    _require_dense(model, "loo_mean_")
    codes = group_codes(groups, len(model.loo_mean_))
    (member,) = members_of(model.posterior_, model.likelihood_)
    left_out = [np.flatnonzero(codes == g) for g in range(codes.max() + 1)]
    mean, variance = (moment[:, 0] for moment in _latent_without_groups(model, member, left_out))
    assert isinstance(member.likelihood, Gaussian)
    noise, targets = member.likelihood.variance, model._targets
    return targets.inverse(mean + member.likelihood.bias), targets.scale * np.sqrt(variance + noise)


def group_codes(groups: Any, n_rows: int) -> np.ndarray:
    """Numbers 0, 1, ... of the groups (n,); what cannot be groups of ``n_rows`` rows is refused."""
    refuse_masked(groups, "groups")
    values = np.asarray(groups, dtype=object)
    if values.shape != (n_rows,):
        raise ValueError(f"expected groups of shape ({n_rows},), one for each training row, got {values.shape}")
    numbers: dict[Any, int] = {}
    codes = np.empty(n_rows, int)
    for row, value in enumerate(values.tolist()):
        if is_missing(value):
            raise ValueError(
                f"expected a group for every row, got {value!r} in row {row}; a row that belongs to no group "
                "needs a unique value"
            )
        codes[row] = numbers.setdefault(value, len(numbers))
    if len(numbers) < 2:
        raise ValueError(f"expected at least two groups, got {len(numbers)}: otherwise there are no training rows")
    return codes


def has_group_predictions(model: Any) -> bool:
    """Whether a fitted model gives ``leave_group_out_proba`` or ``leave_group_out_predict`` without refits."""
    return _why_not(model) is None


def _why_not(model: Any) -> str | None:
    """Why a fitted model has no closed form, or None."""
    engine = getattr(getattr(model, "_objective", None), "engine", None)
    if not hasattr(model, "posterior_") or engine is None or engine.prior_type is not DensePrior:
        return f"{type(model).__name__} keeps no posterior over all of its training rows"
    members = members_of(model.posterior_, model.likelihood_)
    if not all(isinstance(member.posterior, GaussianPosterior) for member in members):
        return "its posterior consists of draws"
    if len(members) > 1 and any(member.calibration is None for member in members):
        return "its predictions are averaged over sampled kernel parameters"
    n_rows = model._objective.n_rows
    if n_rows > MANY_ROWS:
        return f"{n_rows} rows are more than the {MANY_ROWS} whose covariances fit beside the model"
    return None


def _require_dense(model: Any, attribute: str) -> None:
    check_is_fitted(model)
    reason = _why_not(model)
    if reason is None and getattr(model, attribute, None) is None:
        other = "leave_group_out_predict" if hasattr(model, "loo_mean_") else "leave_group_out_proba"
        reason = f"{type(model).__name__} has no {attribute}; see {other}"
    if reason is not None:
        raise TypeError(
            "expected a GPClassifier, GPOrdinalClassifier or GPRegressor with a Gaussian posterior over all training "
            f"rows, got none: {reason}. Refit with sklearn.model_selection.LeaveOneGroupOut or GroupKFold"
        )


def _latent_without_groups(model: Any, member: Member, groups: Sequence[np.ndarray]) -> Latent:
    """Latent moments of one of the averaged models."""
    objective = model._objective
    problem, posterior = objective.problem, member.posterior
    assert isinstance(posterior, GaussianPosterior)
    # The likelihood of the training rows, with their weights, at the learned parameters.
    likelihood = problem.likelihood.with_theta(member.likelihood.theta)
    with linalg.suited_threads(problem.n_rows):
        prior = DensePrior(posterior.kernel(posterior.X), problem.n_latent, posterior.kernel, posterior.X)
        return objective.engine.without_groups(prior, problem.y, likelihood, posterior.terms, groups)
