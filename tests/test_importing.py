"""What ``import gpclass`` gives, and what it does not wait for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gpclass


@pytest.mark.parametrize("name", gpclass.__all__)
def test_every_public_name_is_there(name):
    assert name in dir(gpclass)
    assert getattr(gpclass, name) is not None


def test_public_modules_come_with_the_package():
    lines = (
        "import gpclass",
        "gpclass.kernels.RBF()",
        "gpclass.hyper.Evidence()",
        "gpclass.hyper.priors.Normal()",
        "gpclass.numerics.probit_moments.log_proba",
        "gpclass.compare",
    )
    subprocess.run([sys.executable, "-c", "; ".join(lines)], check=True)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'GPClasifier'"):
        gpclass.GPClasifier  # noqa: B018


@pytest.mark.parametrize("code", ["import gpclass", "from gpclass.cli.app import app"])
def test_nothing_heavy_is_imported_before_it_is_used(code):
    heavy = "[m for m in ('sklearn', 'numba', 'scipy', 'pandas', 'matplotlib') if m in sys.modules]"
    shown = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print({heavy})"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "[]"
