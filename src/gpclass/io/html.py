"""Self-contained HTML pages: one file, no network, light and dark, readable on a phone."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5b6470; --page: #fbfbfa; --card: #ffffff; --line: #dfe2e6;
  --good: #11733a; --good-back: #e2f4e8; --bad: #a8231c; --bad-back: #fbe6e4; --link: #1a5fb4; --other: #1a4f8f;
  --other-back: #e3edf9; --shade: #0003; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --soft: #a3abb5; --page: #16181b; --card: #1f2226;
  --line: #363b42; --good: #7fd6a0; --good-back: #17321f; --bad: #f2a19b; --bad-back: #3c1d1b; --link: #8ab8f5;
  --other: #9cc4f7; --other-back: #182b43; --shade: #fff3; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 0.2rem 0 0.6rem; }
h3 { font-size: 1rem; margin: 0.8rem 0 0.2rem; }
h2 .plain { font-size: 0.9rem; font-weight: normal; }
h3 .soft { font-weight: normal; }
a { color: var(--link); }
nav ul { list-style: none; margin: 0.3rem 0 1rem; padding: 0; }
nav li { margin: 0.2rem 0; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem; margin: 1rem 0; }
.soft { color: var(--soft); font-size: 0.9rem; }
/* A shade at the edge tells that there is more to the side. */
.scroll { overflow-x: auto; background: linear-gradient(90deg, var(--card) 30%, transparent) left,
  linear-gradient(270deg, var(--card) 30%, transparent) right, linear-gradient(90deg, var(--shade), transparent) left,
  linear-gradient(270deg, var(--shade), transparent) right; background-repeat: no-repeat;
  background-size: 2.5rem 100%, 2.5rem 100%, 0.9rem 100%, 0.9rem 100%;
  background-attachment: local, local, scroll, scroll; }
table { border-collapse: collapse; font-size: 0.92rem; margin: 0.6rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.25rem 0.7rem 0.25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: normal; }
td.number { text-align: right; white-space: nowrap; }
th.number { text-align: right; }
.good { color: var(--good); background: var(--good-back); border-radius: 4px; padding: 0 0.35rem; }
.other { color: var(--other); background: var(--other-back); border-radius: 4px; padding: 0 0.35rem; }
.bad { color: var(--bad); background: var(--bad-back); border-radius: 4px; padding: 0 0.35rem; }
.plain { background: color-mix(in srgb, var(--ink) 8%, transparent); border-radius: 4px; padding: 0 0.35rem; }
.good, .other, .bad, .plain { white-space: nowrap; }
ul.claims { list-style: none; padding: 0; margin: 0.6rem 0; }
ul.claims li { margin: 0.25rem 0; }
figure { margin: 1rem 0; }
img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
td .soft { font-size: 0.9em; }
.count { display: inline-block; min-width: 2.2em; border-radius: 4px; padding: 0 0.3em; }
code { font-size: 0.85em; }
@media (max-width: 40rem) {
  section { padding: 0.8rem 0.6rem; }
  table { font-size: 0.8rem; }
  th, td { padding-right: 0.35rem; }
  td.number, td .good, td .other, td .bad, td .plain { white-space: normal; }
}
summary { cursor: pointer; color: var(--soft); }
"""


def page(title: str, body: Iterable[str]) -> str:
    """A whole page of parts that are HTML already."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        # An icon of its own, or the browser asks the network for one.
        f'<link rel="icon" href="data:,">\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n'
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def mark(text: str, kind: str) -> str:
    """A word on a coloured ground: kind is "good", "other", "bad" or "plain"."""
    return f'<span class="{kind}">{escape(text)}</span>'


def table(name: str, heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Cells are HTML already; columns in ``numbers`` stand at the right. Wide tables scroll by themselves."""

    def cells(kind: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{kind}{' class=number' if i in numbers else ''}>{cell}</{kind.split()[0]}>" for i, cell in enumerate(row)
        )

    head = f"<thead><tr>{cells('th scope=col', [escape(own) for own in heads])}</tr></thead>"
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    # A region that scrolls must be reached by the keyboard.
    start = f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">'
    return f"{start}<table>{head}<tbody>{body}</tbody></table></div>"


def picture(png: bytes, description: str) -> str:
    """A PNG image inside the page."""
    inside = base64.b64encode(png).decode("ascii")
    return f'<figure><img src="data:image/png;base64,{inside}" alt="{escape(description)}"></figure>'
