"""Help texts at the widths of terminals, with and without rich."""

import os
import re
import subprocess
import sys
from itertools import pairwise

import pytest
import typer.main

from gpclass.cli.app import app

GROUP = typer.main.get_command(app)
COMMANDS = sorted(GROUP.commands)


def help_of(name, width, rich="1"):
    words = [sys.executable, "-m", "gpclass.cli", *([name] if name else []), "--help"]
    env = {**os.environ, "TERMINAL_WIDTH": str(width), "COLUMNS": str(width), "TYPER_USE_RICH": rich}
    return subprocess.run(words, capture_output=True, text=True, check=True, env=env).stdout


@pytest.mark.parametrize(("name", "width"), [("fit", 60), ("fit", 120), ("compare", 80), ("", 60)])
def test_help_fills_the_width(name, width):
    lines = help_of(name, width).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= width
    text = [line.strip() for line in lines[: next(i for i, line in enumerate(lines) if line.startswith("╭"))]]
    for line, following in pairwise(text):
        if line and following:  # the next word would not have fitted
            assert len(line) + 1 + len(following.split()[0]) > width - 2, (line, following)


def test_plain_help_has_no_markup():
    text = help_of("fit", 80, rich="0")
    assert "\\[" not in text
    assert "─" not in text
    assert "--regress " in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_flags_do_not_look_as_if_they_took_values(name):
    command = GROUP.commands[name]
    context = command.make_context(name, [], resilient_parsing=True)
    flags = [param for param in command.get_params(context) if getattr(param, "is_flag", False)]
    assert flags
    assert not any(param.display_type_rich(ctx=context) for param in flags)


def test_no_flag_shows_a_type():
    assert not re.search(r"bool", help_of("fit", 80) + help_of("", 80), flags=re.IGNORECASE)
