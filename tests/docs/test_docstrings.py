"""Tests that the files that docstrings name exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src/tocsin"
FILE = re.compile(r"``(?:([\w/]+\.py)\b|(\w[\w/]+/)``)")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_every_file_that_a_docstring_names_is_there() -> None:
    astray = [
        f"{module.relative_to(SOURCE)}: {named}"
        for module in sorted(SOURCE.rglob("*.py"))
        for named in _named_in(ast.parse(module.read_text()))
        if not any((root / named).exists() for root in (SOURCE, module.parent, SOURCE.parents[1]))
    ]
    assert astray == []


def _named_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            yield from (file or folder for file, folder in FILE.findall(ast.get_docstring(node) or ""))
