"""What the documentation shows must be what happens."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import gpclass

ROOT = Path(gpclass.__file__).parent
#: Every module that shows an example.
MODULES = sorted(
    ".".join(("gpclass", *path.relative_to(ROOT).with_suffix("").parts))
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings(module):
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


def test_example_in_the_readme(capsys):
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert float(capsys.readouterr().out.split()[0]) > 0.9
