"""The code in the guide runs and prints what the guide says; its links, names and tests exist."""

import ast
import contextlib
import io
import re
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FOLDERS = ("guide", "coming_from", "theory", "decisions")
PAGES = [page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]
SKIP = "<!-- not run -->"
FENCE = re.compile(rf"^(?:({re.escape(SKIP)})\n)?```(python|text)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d+(?:\.(\d+))?(?:e[+-]?\d+)?")


class Block(NamedTuple):
    """Code of a page, the line it starts in, and what the page says that it prints (None where it does not say)."""

    code: str
    line: int
    output: str | None


def blocks(page):
    """The code of a page that is to be run; a text right below a block is its output."""
    text = page.read_text()
    found, last = [], None
    for fence in FENCE.finditer(text):
        skipped, language, body = fence.groups()
        if language == "text":
            follows = last is not None and not text[last.end() : fence.start()].strip()
            if follows and last[2] == "python" and not last[1]:
                found[-1] = found[-1]._replace(output=body)
        elif not skipped:
            found.append(Block(body, text.count("\n", 0, fence.start(3)), None))
        last = fence
    return found


def same(printed, shown):
    """Whether two texts agree: words exactly, numbers to two units of the last digit that is shown."""
    if NUMBER.sub("0", printed).split() != NUMBER.sub("0", shown).split():
        return False
    for ours, theirs in zip(NUMBER.finditer(printed), NUMBER.finditer(shown), strict=True):
        unit = 10.0 ** -len(theirs[1]) if theirs[1] else 0.0
        if abs(float(ours[0]) - float(theirs[0])) > 2.0 * unit + 1e-12:
            return False
    return True


WITH_CODE = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in blocks(page):
        printed = io.StringIO()
        code = compile("\n" * block.line + block.code, str(page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if block.output is not None:
            assert same(printed.getvalue(), block.output), (
                f"{page.name}, line {block.line}: shown\n{block.output}printed\n{printed.getvalue()}"
            )


@pytest.mark.parametrize(
    ("printed", "shown", "agree"),
    [
        ("error 0.123", "error 0.122", True),
        ("error 0.126", "error 0.122", False),
        ("3 rows", "4 rows", False),
        ("rows", "row", False),
        ("[1.  0.]", "[1.\n0.]", True),
    ],
)
def test_comparison_can_fail(printed, shown, agree):
    assert same(printed, shown) is agree


@pytest.mark.parametrize("page", [*PAGES, DOCS / "benchmarks.md"], ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_what_is_named_is_there(page):
    text = page.read_text()
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", prose):
        assert (page.parent / link).exists(), f"no file {link}"
    for path in re.findall(r"`((?:src|tests|benchmarks|docs|examples)/[\w/.]+)", text):
        assert (ROOT / path).exists(), f"no file {path}"
    for path, name in re.findall(r"`(tests/[\w/.]+)::([\w:]+)`", text):
        tree = ast.parse((ROOT / path).read_text())
        names = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        assert set(name.split("::")) <= names, f"no test {name} in {path}"
    for name in re.findall(r"\{(?:class|func|mod|attr|meth)\}`~?([\w.]+)`", text):
        assert resolve(name) is not None, f"no {name}"


def resolve(name):
    """The object of a dotted name, modules included."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        with contextlib.suppress(ImportError):
            found = import_module(".".join(parts[:n]))
            for part in parts[n:]:
                found = getattr(found, part, None)
            return found
    return None


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_page_is_listed(folder):
    index = (DOCS / folder / "index.md").read_text()
    (listed,) = re.findall(r"```\{toctree\}\n(.*?)```", index, flags=re.DOTALL)
    names = [line for line in listed.splitlines() if line and not line.startswith(":")]
    assert sorted(names) == sorted(page.stem for page in (DOCS / folder).glob("*.md") if page.stem != "index")
