"""Tests that the ``Next:`` lines of modules name existing files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src/tocsin"
FILE = re.compile(r"``([\w/]+\.py|[\w/]+/)``")


def test_the_next_stop_of_every_module_is_there() -> None:
    astray = [
        f"{module.relative_to(SOURCE)}: {named}"
        for module in sorted(SOURCE.rglob("*.py"))
        for named in FILE.findall((ast.get_docstring(ast.parse(module.read_text())) or "").partition("Next:")[2])
        if not any((root / named).exists() for root in (SOURCE, module.parent, SOURCE.parents[1]))
    ]
    assert astray == []
