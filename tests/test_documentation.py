"""What the documentation shows must be what happens."""

import doctest
import re
from pathlib import Path

import pytest

from gpclass import classifier, comparison, invariance, ivm, multitask, multiview, ordinal, semisupervised
from gpclass.kernels import views
from gpclass.tabular import model as tabular_model

MODULES = [classifier, comparison, invariance, ivm, multitask, multiview, ordinal, semisupervised, tabular_model, views]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_in_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_example_in_the_readme(capsys):
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert float(capsys.readouterr().out.split()[0]) > 0.9
