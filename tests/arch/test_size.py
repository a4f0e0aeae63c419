"""Tests of the size limits of house-style section 5; an exemption is one line with its reason."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from statistics import median, quantiles

import pytest

MOST_LINES_IN_A_FILE = 500
MOST_LINES_IN_A_FUNCTION = 50
MOST_POSITIONAL_PARAMETERS = 5
DEEPEST_NESTING = 3

EXEMPT: dict[str, str] = {}
"""``path`` or ``path:function`` -> the reason why it may be larger."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def functions(sources: dict[Path, ast.Module]) -> list[tuple[Path, Function]]:
    """Every function under ``src``; to look for them takes longer than all tests of them."""
    nodes = ((path, node) for path, tree in sources.items() for node in ast.walk(tree))
    return [(path, node) for path, node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def test_no_file_is_too_long(root: Path, sources: dict[Path, ast.Module], capsys: pytest.CaptureFixture[str]) -> None:
    lengths = {path: len((root / "src" / path).read_text().splitlines()) for path in sources}
    written = [length for length in lengths.values() if length]
    _say(capsys, f"files: {len(written)}, median {median(written):.0f} lines, p90 {quantiles(written, n=10)[-1]:.0f}")
    assert [
        str(path) for path, length in lengths.items() if length > MOST_LINES_IN_A_FILE and str(path) not in EXEMPT
    ] == []


def test_no_function_is_too_long(functions: list[tuple[Path, Function]], capsys: pytest.CaptureFixture[str]) -> None:
    lengths = {f"{path}:{function.name}": _lines(function) for path, function in functions}
    ranked = sorted(lengths.values())
    under_20 = sum(length < 20 for length in ranked) / len(ranked)
    _say(
        capsys,
        f"functions: {len(ranked)}, median {median(ranked):.0f} lines, {under_20:.0%} under 20, longest {ranked[-1]}",
    )
    assert [name for name, length in lengths.items() if length > MOST_LINES_IN_A_FUNCTION and name not in EXEMPT] == []


def test_no_function_takes_too_many_positional_parameters(functions: list[tuple[Path, Function]]) -> None:
    assert [
        f"{path}:{function.name}"
        for path, function in functions
        if _positional(function) > MOST_POSITIONAL_PARAMETERS and f"{path}:{function.name}" not in EXEMPT
    ] == []


def test_no_function_nests_too_deep(functions: list[tuple[Path, Function]]) -> None:
    assert [
        f"{path}:{function.name}"
        for path, function in functions
        if _nesting_depth(function.body) > DEEPEST_NESTING and f"{path}:{function.name}" not in EXEMPT
    ] == []


def test_every_exemption_is_still_there_and_has_a_reason(
    sources: dict[Path, ast.Module], functions: list[tuple[Path, Function]]
) -> None:
    names = {f"{path}:{function.name}" for path, function in functions}
    assert set(EXEMPT) <= names | {str(path) for path in sources}
    assert all(EXEMPT.values())


def _say(capsys: pytest.CaptureFixture[str], line: str) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{line}\n")


def _lines(function: Function) -> int:
    body = function.body
    documented = ast.get_docstring(function) is not None
    docstring = (body[0].end_lineno or 0) - body[0].lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def _positional(function: Function) -> int:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - (names[:1] in (["self"], ["cls"], ["settings_cls"]))


def _nesting_depth(body: list[ast.stmt]) -> int:
    """Return the depth of nested compound statements; an ``elif`` is no deeper than its ``if``."""
    return max((_depth(statement) for statement in body), default=0)


def _depth(statement: ast.stmt) -> int:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return 0
        case ast.If(body=body, orelse=[ast.If() as otherwise]):
            return max(1 + _nesting_depth(body), _depth(otherwise))
        case ast.Match(cases=cases):
            return 1 + max(_nesting_depth(case.body) for case in cases)
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            blocks = [body, orelse, finalbody, *(handler.body for handler in handlers)]
            return 1 + max(_nesting_depth(block) for block in blocks)
        case ast.If() | ast.For() | ast.AsyncFor() | ast.While() | ast.With() | ast.AsyncWith():
            return 1 + max(_nesting_depth(statement.body), _nesting_depth(getattr(statement, "orelse", [])))
        case _:
            return 0
