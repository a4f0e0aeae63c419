"""Tests that docstrings say what a function raises, and name files that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src/tocsin"
FILE = re.compile(r"``(?:([\w/]+\.py)\b|(\w[\w/]+/)``)")
RAISES = re.compile(r"\b[Rr]aises?\b")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_every_file_that_a_docstring_names_is_there() -> None:
    astray = [
        f"{module.relative_to(SOURCE)}: {file_name}"
        for module in sorted(SOURCE.rglob("*.py"))
        for file_name in _files_named_in(ast.parse(module.read_text()))
        if not any((root / file_name).exists() for root in (SOURCE, module.parent, SOURCE.parents[1]))
    ]
    assert astray == []


def _files_named_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            yield from (file or folder for file, folder in FILE.findall(ast.get_docstring(node) or ""))


def test_public_functions_say_what_they_raise() -> None:
    """Routes and commands are exempt: their errors are HTTP answers and exit codes, documented as such."""
    silent = [
        f"{name}:{function.lineno} {function.name}"
        for module in sorted(SOURCE.rglob("*.py"))
        if not (name := str(module.relative_to(SOURCE))).startswith(("cli/", "server/routes/"))
        for function in _public(ast.parse(module.read_text()))
        if _raises(function.body) and not RAISES.search(ast.get_docstring(function) or "")
    ]
    assert silent == [], "add a section Raises, one line for each error: `NotFound : there is no such entity`"


def _public(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node.name.startswith("_"):
            continue
        if isinstance(node, FUNCTIONS) and ast.get_docstring(node):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _public(node)


def _raises(body: Sequence[ast.AST]) -> bool:
    """Return whether these statements raise an error of their own, outside of what they catch."""
    for node in body:
        if isinstance(node, ast.Raise) and node.exc is not None:
            return True
        if isinstance(node, ast.Try):
            caught = [*node.handlers, *node.orelse, *node.finalbody]
            if _raises(caught if node.handlers else [*node.body, *caught]):
                return True
        elif not isinstance(node, (*FUNCTIONS, ast.ClassDef)) and _raises(list(ast.iter_child_nodes(node))):
            return True
    return False
