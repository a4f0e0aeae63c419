"""Tests that the calculation of ``make truth`` shares no code with what it judges."""

from __future__ import annotations

import ast
from pathlib import Path

CALCULATION = ("expected.py", "expected_state.py", "following.py", "predicted.py")
PLAIN = {"truth", "__future__", "collections", "dataclasses", "functools", "itertools", "json"}
"""What the calculation is made of."""


def test_the_calculation_imports_nothing_of_tocsin(root: Path) -> None:
    imported_names = {
        (path.name, name)
        for path in (root / "truth").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in _modules_imported_by(node)
    }
    assert imported_names
    assert {
        (file, name) for file, name in imported_names if name in ("tocsin", "openmetadata", "bench", "tests")
    } == set()
    assert {name for file, name in imported_names if file in CALCULATION} <= PLAIN


def _modules_imported_by(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [one.name.partition(".")[0] for one in names]
        case ast.ImportFrom(module=str(module)):
            return [module.partition(".")[0]]
        case _:
            return []
