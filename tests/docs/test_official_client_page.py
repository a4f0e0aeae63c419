"""Tests that the page of OpenMetadata's client lists exactly the methods that its checks leave out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/openmetadata-client.md"
LEFT_OUT = ROOT / "tests/acceptance/official_client/flows/checks/left_out.py"


def listed_patterns() -> list[str]:
    """Return the names of methods in the page's table; ``*`` stands for any part of a name."""
    table = PAGE.read_text().split("| methods | reason |")[1].split("\n\n")[0]
    methods = [line.split("|")[1] for line in table.splitlines()[2:]]
    return [name for cell in methods for name in re.findall(r"`([\w*]+)`", cell)]


def left_out_methods() -> set[str]:
    """Return the methods that the checks leave out: keys of tables, or words of texts that are split into keys."""
    return {name for node in ast.walk(ast.parse(LEFT_OUT.read_text())) for name in _keys_in(node)}


def _keys_in(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Dict(keys=keys):
            yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(words)), attr="split")):
            yield from words.split()


def test_the_page_lists_every_method_that_is_left_out() -> None:
    patterns = listed_patterns()
    assert {name for name in left_out_methods() if not any(fnmatchcase(name, one) for one in patterns)} == set()


def test_the_page_lists_no_other_methods() -> None:
    methods = left_out_methods()
    assert [one for one in listed_patterns() if not any(fnmatchcase(name, one) for name in methods)] == []
