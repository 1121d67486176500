"""What estimators around another estimator share."""

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator


class MetaEstimator(BaseEstimator):
    """Base of estimators that fit copies of their ``estimator``."""

    estimator: Any
    #: what stands in where ``estimator`` is None
    _default: ClassVar[type]

    def set_params(self, **params: Any) -> Self:
        """As in scikit-learn; ``estimator__kernel=RBF()`` changes the estimator within."""
        nested = sorted(name for name in params if name.startswith("estimator__"))
        if nested and params.get("estimator", self.estimator) is None:
            raise ValueError(
                f"expected an estimator to set {nested} of, got None; pass estimator={self._default.__name__}()"
            )
        return super().set_params(**params)
