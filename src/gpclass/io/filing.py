"""Whether a state is being written to the file of a saved model, where what can be had again is left out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_filing: ContextVar[bool] = ContextVar("gpclass_filing", default=False)


@contextmanager
def filing() -> Iterator[None]:
    """States taken inside are for a file: see the ``__getstate__`` of posteriors and estimators. pickle gets all."""
    token = _filing.set(True)
    try:
        yield
    finally:
        _filing.reset(token)


def is_filing() -> bool:
    return _filing.get()
