"""What a newcomer meets first: how long it takes, what is said meanwhile, and where the documentation is."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import gpclass
from gpclass.estimators import _documentation
from gpclass.numerics.compiling import Announcer
from gpclass.tabular import TableModel

ESTIMATORS = [name for name in gpclass.__all__ if hasattr(getattr(gpclass, name), "fit")]


def compiled(announcer, seconds, module="gpclass.numerics.probit_moments"):
    """What Numba tells a listener of one function."""
    event = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})
    announcer.on_start(event)
    time.sleep(seconds)
    announcer.on_end(event)


def test_long_compiling_is_announced_once(capsys):
    announcer = Announcer(patience=0.05)
    compiled(announcer, 0.2)
    compiled(announcer, 0.2)
    assert capsys.readouterr().err.count("compiling") == 1


def test_many_short_functions_are_as_long_as_one(capsys):
    announcer = Announcer(patience=0.1)
    for _ in range(4):
        compiled(announcer, 0.04)
    assert "compiling" in capsys.readouterr().err


def test_short_compiling_and_that_of_others_is_not(capsys):
    announcer = Announcer(patience=0.5)
    compiled(announcer, 0.01)
    compiled(announcer, 0.6, module="somebody.else")
    assert capsys.readouterr().err == ""


def test_an_empty_cache_is_told_of(tmp_path):
    code = "from gpclass.numerics.probit_moments import *; import gpclass.numerics.compiling as c; c.PATIENCE = 0; from gpclass import cone_draws"
    fit = "from gpclass import GPClassifier; GPClassifier(hyper='fixed').fit([[0.], [1.], [2.], [3.]], [0, 1, 2, 0])"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first = subprocess.run(
        [sys.executable, "-c", f"{code}; {fit}"], env=environment, capture_output=True, text=True, check=True
    )
    second = subprocess.run(
        [sys.executable, "-c", f"{code}; {fit}"], env=environment, capture_output=True, text=True, check=True
    )
    assert "compiling, once" in first.stderr
    assert second.stderr == ""


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_link_to_their_page(name, monkeypatch, tmp_path):
    kind = getattr(gpclass, name)
    model = kind(views={"a": [0]}) if name == "ViewVotingClassifier" else kind()
    monkeypatch.setattr(_documentation, "BUILT", tmp_path)
    address = f"{_documentation.ADDRESS}/api/gpclass.{name}.html"
    assert model._get_doc_link() == address
    assert address in model._repr_html_()
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / f"gpclass.{name}.html").write_text("")
    assert model._get_doc_link() == (tmp_path / "api" / f"gpclass.{name}.html").as_uri()


def test_models_of_tables_draw_themselves():
    assert "TableModel" in TableModel("y")._repr_html_()
