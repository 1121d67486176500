"""Self-contained HTML pages, for light and dark mode and small screens."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from html import escape
from pathlib import Path

STYLE = (Path(__file__).parent / "page.css").read_text()


def page(title: str, body: Iterable[str]) -> str:
    """A page of HTML parts."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        # An empty icon, or the browser requests one.
        f'<link rel="icon" href="data:,">\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n'
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def mark(text: str, kind: str) -> str:
    """Text on a coloured background: kind is "good", "other", "bad" or "plain"."""
    return f'<span class="{kind}">{escape(text)}</span>'


def table(name: str, heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table of HTML cells; columns in ``numbers`` are right-aligned. Wide tables scroll."""

    def cells(kind: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{kind}{' class=number' if i in numbers else ''}>{cell}</{kind.split()[0]}>" for i, cell in enumerate(row)
        )

    head = f"<thead><tr>{cells('th scope=col', [escape(head) for head in heads])}</tr></thead>"
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    # A scrolling region must be accessible by keyboard.
    start = f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">'
    return f"{start}<table>{head}<tbody>{body}</tbody></table></div>"


def picture(png: bytes, description: str) -> str:
    """A PNG image inside the page."""
    inside = base64.b64encode(png).decode("ascii")
    return f'<figure><img src="data:image/png;base64,{inside}" alt="{escape(description)}"></figure>'


def adapted(colour: str, colours: Mapping[str, str]) -> str:
    """A colour of a drawing as CSS, see ``drawing``."""
    return colours.get(colour, f"color-mix(in srgb, {colour} 70%, currentColor)")


def key(colours: Iterable[tuple[str, str]]) -> str:
    """Names and the CSS colours that stand for them in drawings."""
    marks = (f'<span><i style="background: {colour}"></i>{escape(name)}</span>' for name, colour in colours)
    return f'<p class="key">{" ".join(marks)}</p>'


def drawing(svg: str, description: str, colours: Mapping[str, str]) -> str:
    """An SVG drawing inside the page; ``colours`` are colours in it and the CSS values that replace them, so that it
    follows the colour scheme of the page. Others are mixed with that of the text, which contrasts with the ground."""
    svg = svg[svg.index("<svg") :]
    for pattern in (r"<style.*?</style>", r"<metadata>.*?</metadata>", r"<!--.*?-->", r'\sxmlns(:\w+)?="[^"]*"'):
        svg = re.sub(pattern, "", svg, flags=re.DOTALL)
    # Names are unique in the page, not only in the drawing.
    own = blake2b(svg.encode(), digest_size=4).hexdigest()
    svg = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{own}-", svg)
    svg = re.sub(r"(?<=: )#[0-9a-f]{6}\b", lambda found: adapted(found[0], colours), svg)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
    return f"<figure>{svg}</figure>"
