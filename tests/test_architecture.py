"""Rules that the source as a whole follows: layout, inheritance, names and imports."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import gpclass

SOURCE = Path(gpclass.__file__).parent

#: Words that names are free of, because the field has others for them (docs/design.md).
PRIVATE_WORDS = frozenset(
    [
        "wakened",
        "Landscape",
        "hill",
        "climb",
        "heights",
        "Room",
        "Coupled",
        "half_solve",
        "unrest",
        "Learned",
        "SeveralModels",
        "Belief",
        "surprise",
        "judge",
        "judges",
        "Judge",
        "scout",
        "Chosen",
        "barred",
        "ties",
        "sees",
        "strangers",
        "untouched_on_failure",
        "rollback_on_error",
        "NumberPredictor",
        "LabelPredictor",
        "removable",
        "lasting",
        "n_seen_",
        "n_restarts",
        "literal",
        "is_filing",
        "filing",
        "quiet",
        "listening",
        "track",
        "heard",
    ]
)
#: Names of other libraries' attributes.
FOREIGN_NAMES = {("cli/_console.py", "quiet")}

#: Where the count of generations begins: kernels and likelihoods are parameterised values, and families of their own.
ROOTS = {"Kernel", "Likelihood"}


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of every file, by its path below src/gpclass."""
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def module_name(path: str) -> str:
    """The module of a file, given by its path below src/gpclass."""
    return ".".join(["gpclass", *path.removesuffix(".py").split("/")]).removesuffix(".__init__")


def modules() -> list[str]:
    return [module_name(path) for path in trees() if not path.endswith("__main__.py")]


@cache
def classes() -> tuple[type, ...]:
    """All classes that the library defines."""
    found = {}
    for name in modules():
        for _, kind in inspect.getmembers(import_module(name), inspect.isclass):
            if kind.__module__ == name:
                found[name, kind.__qualname__] = kind
    return tuple(found.values())


def names(tree: ast.Module) -> set[str]:
    """Identifiers: variables, attributes, arguments, functions, classes and what is imported."""
    found: set[str] = set()
    for node in ast.walk(tree):
        for field in ("id", "attr", "name", "arg", "asname"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                found.update(value.split("."))
    return found


def imported(path: str, tree: ast.Module) -> set[str]:
    """Full names of the modules that a file imports, those of the library and others."""
    package = ["gpclass", *path.split("/")[:-1]]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            whole = ".".join([*above, *([node.module] if node.module else [])])
            found.add(whole)
            found.update(f"{whole}.{alias.name}" for alias in node.names)
    return found


def prefixes(name: str) -> list[str]:
    """A module and the packages that it is in."""
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]


def top_level(tree: ast.Module) -> ast.Module:
    """What runs when a module is imported: no functions, and nothing that is there for the type checker alone."""

    class Outside(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)

    return Outside().visit(ast.parse(ast.unparse(tree)))


def generations(kind: type) -> int:
    """Length of the longest chain of the library's classes above a class, up to the root of its family."""
    if kind.__name__ in ROOTS:
        return 0
    parents = [base for base in kind.__bases__ if base.__module__.startswith("gpclass")]
    return max((1 + generations(parent) for parent in parents), default=0)


def test_types_are_checked_everywhere():
    ignoring = [str(path) for path in SOURCE.rglob("*.py") if "type: ignore" in path.read_text()]
    assert not ignoring


def test_inheritance_is_at_most_two_deep():
    deep = {kind.__name__: [base.__name__ for base in kind.__mro__] for kind in classes() if generations(kind) > 2}
    assert not deep


def test_the_top_level_is_small():
    entries = [path.name for path in SOURCE.iterdir() if path.name not in ("__pycache__", "py.typed")]
    assert len(entries) <= 15, sorted(entries)


def test_no_two_classes_share_a_name():
    homes = defaultdict(list)
    for kind in classes():
        homes[kind.__name__].append(kind.__module__)
    assert not {name: where for name, where in homes.items() if len(where) > 1}


def test_names_are_the_words_of_the_field():
    found = [
        (path, name)
        for path, tree in trees().items()
        for name in sorted(names(tree) & PRIVATE_WORDS)
        if (path, name) not in FOREIGN_NAMES
    ]
    assert not found


@pytest.mark.parametrize(
    ("under", "forbidden"),
    [
        ("", "contextvars"),
        ("inference/", "gpclass.estimators"),
        ("inference/", "dask"),
        ("numerics/", "gpclass.kernels"),
        ("kernels/", "gpclass.inference"),
        ("likelihoods/", "gpclass.inference"),
        ("hyper/", "gpclass.estimators"),
        ("training/", "gpclass.estimators"),
    ],
)
def test_imports_point_downwards(under, forbidden):
    found = [
        (path, name)
        for path, tree in trees().items()
        if path.startswith(under)
        for name in imported(path, tree)
        if name == forbidden or name.startswith(f"{forbidden}.")
    ]
    assert not found


def test_no_module_imports_itself_by_way_of_others():
    """Then every module can be the first one to be imported.

    To import a module imports the packages that it is in, so these are among what a module from elsewhere depends on.
    """
    known = set(modules())
    graph = {}
    for path, tree in trees().items():
        name = module_name(path)
        packages = {part for target in imported(path, top_level(tree)) for part in prefixes(target)}
        graph[name] = {part for part in packages & known if not f"{name}.".startswith(f"{part}.")}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' < '.join(error.args[1])}")


def test_every_module_can_be_imported():
    code = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    subprocess.run([sys.executable, "-c", code, *modules()], check=True)
