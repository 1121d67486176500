"""Formulas as MathML, which browsers draw by themselves: no script, no fonts from elsewhere. Docutils converts them."""

from __future__ import annotations

import re
import unicodedata
from html import escape
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)
APPLY = "\u2061"
THIN = "0.17em"


def bold(match: re.Match[str]) -> str:
    r"""One bold letter for ``\boldsymbol{\Sigma}``; other content stays in braces, which docutils needs to end it."""
    inside = match[1].strip()
    kind = "BOLD" if inside.startswith("\\") and inside[1].isupper() else "BOLD ITALIC"
    name = inside.removeprefix("\\")
    case = "CAPITAL" if name[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"MATHEMATICAL {kind} {case} {name.upper()}")
    except KeyError:
        return rf"{{\boldsymbol{{{inside}}}}}"


#: What docutils does not know or gets wrong, in words that it understands.
SAME: list[tuple[str, Any]] = [
    (r"\\(?:boldsymbol|bm)\s*\{((?:[^{}]|\{[^{}]*\})*)\}", bold),
    (r"\\(?:boldsymbol|bm)\s*(\\[A-Za-z]+|[A-Za-z])", bold),
    (r"\\[dt]?frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}"),
    (r"\\dots(?![a-zA-Z])", r"\\ldots"),
    (r"\\operatorname\*?\{arg\s*\\,\s*(max|min)\}", r"\\arg\\\1"),
    (r"\\stackrel(?![a-zA-Z])", r"\\overset"),
    (r"\\(big|Big|bigg|Bigg)(?=\s*(?:[(\[]|\\\{|\\langle))", r"\\\1l"),
    (r"\\(big|Big|bigg|Bigg)(?=\s*(?:[)\]|/]|\\\}|\\rangle))", r"\\\1r"),
    (r"\\(begin|end)\{(?:align|gather|equation|split|multline)\*?\}", r"\\\1{aligned}"),
]
SEVERAL_LINES = re.compile(r"\\\\|(?<!\\)&")


def polish(row: ElementTree.Element) -> None:
    """Thin spaces around names of functions, accents on their letters, angle brackets of the size of letters."""
    for place, child in reversed(list(enumerate(row))):
        polish(child)
        before = row[place - 1].tag if place > 0 else "mo"
        after = row[place + 1] if place + 1 < len(row) else None
        if child.text == APPLY and after is not None and (after.text or "") not in ("(", "["):
            child.set("rspace", THIN)
        if after is not None and after.text == APPLY and before not in ("mo", "mtext", "mspace"):
            row.insert(place, ElementTree.Element("mspace", width=THIN))
        if child.tag == "munderover" and child[2].tag == "mo" and (child[2].text or "") in "~ˆˉ^¯˙¨ˇ˘→":
            base, below, accent = child
            letter = ElementTree.Element("mover", accent="true")
            letter.extend([base, accent])
            child.clear()
            child.tag = "msub"
            child.extend([letter, below])
        fenced = row.tag == "mrow" and place in (0, len(row) - 1)
        if child.text in ("⟨", "⟩") and child.tag == "mo" and not child.attrib and not fenced:
            child.set("stretchy", "false")


def formula(latex: str, block: bool, where: Any) -> str:
    """MathML of a formula, with its source for screen readers; a warning where a command is not understood."""
    source = latex.strip()
    for known, ours in SAME:
        source = re.sub(known, ours, source)
    if block and SEVERAL_LINES.search(source) and r"\begin" not in source:
        source = rf"\begin{{aligned}}{source}\end{{aligned}}"
    try:
        made = tex2mathml(source, as_block=block).replace("&ApplyFunction;", APPLY)
        tree = ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", made))
    except (MathError, SyntaxError) as error:
        logger.warning("formula %r: %s", latex, error, location=where)
        return f"<code>{escape(latex)}</code>"
    polish(tree)
    tree.set("alttext", " ".join(latex.split()))
    return ElementTree.tostring(tree, encoding="unicode")


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(formula(node.astext(), False, node))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="formula"))
    self.body.append(f'<div class="scroll">{formula(node.astext(), True, node)}</div>')
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
