"""The reference: names in docstrings are links, members of other libraries stay out, commands document themselves."""

from __future__ import annotations

import inspect
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

MODULES = (
    "kernels",
    "likelihoods",
    "inference",
    "hyper",
    "hyper.priors",
    "plotting",
    "evaluation.metrics",
    "evaluation.uncertainty",
    "datasets",
    "inference.posteriors",
    "inference.calibration",
)


@cache
def public_names() -> dict[str, str]:
    """Full names of what the reference describes, by the names that docstrings call them."""
    names: dict[str, str] = {}
    for module in (*(f"gpclass.{name}" for name in MODULES), "gpclass"):
        holder = import_module(module)
        for name in getattr(holder, "__all__", vars(holder)):
            value = getattr(holder, name)
            ours = (getattr(value, "__module__", None) or "").startswith(module)
            if not name.startswith("_") and ours and (inspect.isclass(value) or inspect.isfunction(value)):
                names[name] = f"{module}.{name}"
    return names


def link_names(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """``RBF`` in a docstring leads to RBF, except in its own."""

    def link(match: re.Match[str]) -> str:
        full = public_names().get(match[1])
        return match[0] if full is None or name.startswith(full) else f":py:obj:`{match[1]} <{full}>`"

    if what in ("property", "attribute"):
        lines[:0] = ["..", ""]  # or else napoleon takes what stands before a colon for a type
    if what == "module":
        show_formulas(lines)
    for i, line in enumerate(lines):
        if what == "module" and line.startswith("    "):
            continue
        # Bars are determinants here, not substitutions, and labels of scikit-learn's own pages are not at hand.
        plain = [part if part.startswith("``") else part.replace("|", r"\|") for part in re.split(r"(``.*?``)", line)]
        plain = re.sub(r":ref:`([^`<]*?)(?:\s*<[^>]*>)?`", r"\1", "".join(plain))
        lines[i] = re.sub(r"``([A-Za-z_]\w*)``", link, plain)


def show_formulas(lines: list[str]) -> None:
    """Indented lines in the docstring of a module are formulas as they are typed."""
    for i in reversed(range(2, len(lines))):
        if lines[i].startswith("    ") and not lines[i - 1].strip() and not lines[i - 2].startswith("    "):
            lines[i:i] = ["::", ""]


def skip_foreign(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what an estimator has from scikit-learn alone, but for ``score``, and fields that say nothing more."""
    target = inspect.unwrap(getattr(obj, "fget", None) or getattr(obj, "__func__", obj))
    module = getattr(target, "__module__", None) or ""
    foreign = callable(target) and not module.startswith("gpclass") and name != "score"
    field_of_tuple = (getattr(obj, "__doc__", None) or "").startswith("Alias for field")
    return True if what == "class" and (foreign or field_of_tuple) else None


class Commands(Directive):
    """``.. commands::`` describes every command of ``gpclass`` with its arguments and options."""

    def run(self) -> list[nodes.Node]:
        from typer.main import get_command

        from gpclass.cli.app import app as commands

        return [describe(name, command) for name, command in get_command(commands).commands.items()]


def describe(name: str, command: Any) -> nodes.section:
    section = nodes.section(ids=[f"gpclass-{name}"], names=[f"gpclass {name}"])
    section += nodes.title("", "", nodes.literal("", f"gpclass {name}"))
    for part in inspect.cleandoc(command.help or "").split("\n\n"):
        section += nodes.paragraph("", " ".join(part.split()))
    listed = nodes.definition_list()
    for parameter in command.params:
        if parameter.name == "help" or parameter.hidden:
            continue
        option = parameter.opts[0].startswith("-")
        shown = " / ".join([*parameter.opts, *parameter.secondary_opts]) if option else parameter.name.upper()
        text = (parameter.help or "").replace("\\[", "[")
        if parameter.default not in (None, False):
            text += f" Default: {parameter.default}."
        listed += nodes.definition_list_item(
            "", nodes.term("", "", nodes.literal("", shown)), nodes.definition("", nodes.paragraph("", text))
        )
    section += listed
    return section


def forget_removed(app: Sphinx) -> None:
    """Pages made by an earlier build, of names and examples that are gone."""
    source = Path(app.srcdir)
    listed = set((source / "api" / "index.rst").read_text(encoding="utf-8").split())
    for page in (source / "api").glob("gpclass.*.rst"):
        if page.stem.removeprefix("gpclass.") not in listed:
            page.unlink()
    for page in (source / "gallery").glob("plot_*.rst"):
        if not (source.parent / "examples" / f"{page.stem}.py").exists():
            page.unlink()


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", forget_removed, priority=1)
    app.connect("autodoc-process-docstring", link_names, priority=400)
    app.connect("autodoc-skip-member", skip_foreign)
    app.add_directive("commands", Commands)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
