"""Links from the keys of papers, such as GR06, to the list of papers on the theory page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

#: The page with the list, where each key has an anchor of its name in small letters.
PAPERS = "theory/index"


class LinkCitations(SphinxPostTransform):
    """Make a link of every key in running text, but not in headings, code, formulas and other links."""

    default_priority = 900

    def run(self, **kwargs: Any) -> None:
        page, builder = self.env.docname, self.app.builder
        if page == PAPERS or builder.format != "html":
            return
        keys = re.compile(rf"\b({'|'.join(paper_keys(Path(self.app.srcdir)))})\b")
        for text in list(self.document.findall(nodes.Text)):
            if not keys.search(text) or _is_part_of(text, (nodes.title, nodes.literal, nodes.literal_block)):
                continue
            if _is_part_of(text, (nodes.reference, nodes.math, nodes.math_block, nodes.raw)):
                continue
            parts: list[nodes.Node] = []
            for place, part in enumerate(keys.split(text)):
                if place % 2:
                    target = f"{builder.get_relative_uri(page, PAPERS)}#{part.lower()}"
                    parts.append(nodes.reference("", part, refuri=target, internal=True))
                elif part:
                    parts.append(nodes.Text(part))
            text.parent.replace(text, parts)


def paper_keys(source: Path) -> list[str]:
    """The keys of ``refs.bib``."""
    return re.findall(r"^@\w+\{(\w+),", (source / "refs.bib").read_text(encoding="utf-8"), re.MULTILINE)


def _is_part_of(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(LinkCitations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
