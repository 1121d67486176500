"""Experiments at their smallest size."""

from __future__ import annotations

import pytest

from gpclass.papers import MissingDataError, get, reproduce


@pytest.fixture
def tiny(tmp_path):
    """``tiny(name)`` runs an experiment at its smallest size and gives its result, or skips without its data."""

    def run(name):
        try:
            return reproduce(get(name), "tiny", tmp_path, n_jobs=1)
        except MissingDataError as missing:
            pytest.skip(str(missing))

    return run
