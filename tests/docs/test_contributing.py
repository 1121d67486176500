"""The examples of CONTRIBUTING.md are complete, short, and run."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
SECTIONS = re.split(r"^## ", TEXT, flags=re.M)[1:]
EXAMPLES = {section.splitlines()[0]: re.findall(r"```python\n(.*?)```", section, flags=re.S) for section in SECTIONS}


def test_every_kind_has_an_example():
    assert {title for title, code in EXAMPLES.items() if code} == {
        "Add a kernel",
        "Add a likelihood",
        "Add an engine",
        "Add an estimator",
    }


@pytest.mark.parametrize("title", [title for title, code in EXAMPLES.items() if code])
def test_example_runs(title):
    (code,) = EXAMPLES[title]
    assert len(code.splitlines()) <= 60
    # Dataclasses look up the module that defines them.
    exec(compile(code, f"CONTRIBUTING.md, {title}", "exec"), {"__name__": "__main__"})
