"""The wheel: small, complete, and enough in an empty environment. Run with ``make slow``; pip needs its index."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gpclass.datasets import load_table

ROOT = Path(__file__).resolve().parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]


def run(*command, **settings):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **settings)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (made,) = folder.glob("gpclass-*.whl")
    return made


def test_the_wheel_is_small_and_holds_types_and_data(wheel):
    assert wheel.stat().st_size < 3_000_000
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"gpclass/py.typed", "gpclass/datasets/data/sources.json", "gpclass/datasets/data/crabs.npz"} <= names
    assert "gpclass/io/page.css" in names


def test_readme_and_command_in_an_empty_environment(wheel, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    run(python, "-m", "pip", "install", "--quiet", "--constraint", constraints, f"{wheel}[cli]")
    example = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert re.match(r"0\.9\d|1\.0", run(python, "-c", example[1], cwd=tmp_path))
    load_table("zoo").frame.to_csv(tmp_path / "zoo.csv", index=False)
    command = tmp_path / "venv" / "bin" / "gpclass"
    told = run(command, "fit", "zoo.csv", "--target", "target", "--save", "zoo.gpclass", cwd=tmp_path)
    assert "error" in told
    assert (tmp_path / "zoo.gpclass").stat().st_size > 1000
