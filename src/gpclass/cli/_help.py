"""Help texts that fill the terminal's width, and flags that do not look as if they took values."""

from __future__ import annotations

import inspect
from typing import Any

import typer.core


class HelpCommand(typer.core.TyperCommand):
    """A command with such a help text."""

    def __init__(self, name: str | None, *, help: str | None = None, **settings: Any) -> None:
        super().__init__(name, help=_one_line_paragraphs(help), **settings)

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_values(super().get_params(ctx))


class HelpGroup(typer.core.TyperGroup):
    """A group of commands with such a help text."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_values(super().get_params(ctx))


def _one_line_paragraphs(text: str | None) -> str | None:
    """Without the line ends of the source, which are not those of the terminal."""
    if text is None:
        return None
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)


def _without_values(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params
