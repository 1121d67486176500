"""Rows in Dask collections: fits by sums over chunks, and lazy predictions. Nothing else imports Dask."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from sklearn.utils.validation import check_is_fitted

from .collections import is_collection

__all__ = ["is_collection", "lazily"]

Method = TypeVar("Method", bound=Callable[..., Any])


def lazily(method: Method) -> Method:
    """For methods that predict the rows of X: of a Dask collection they give a lazy Dask array, and ``score`` a
    number."""

    @wraps(method)
    def predicting(self: Any, X: Any, *args: Any, **named: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *args, **named)
        from .predictions import accuracy, lazy

        check_is_fitted(self)
        scores = method.__name__ == "score"
        if scores and len(args) + len(named) == 1 and set(named) <= {"y"}:
            return accuracy(self, X, *args, **named)
        if scores or args or named:
            raise TypeError(f"{method.__name__} of a Dask collection takes {'X and y' if scores else 'X'} alone")
        return lazy(self, method.__name__, X)

    return cast(Method, predicting)
