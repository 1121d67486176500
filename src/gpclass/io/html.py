"""Self-contained HTML pages, for light and dark mode and small screens."""

import base64
from collections.abc import Iterable, Sequence
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
