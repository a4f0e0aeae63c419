"""``docs/faults.md`` and the tests name each other: every scenario has its tests, and they carry its number."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \| (.*) \|$", re.MULTILINE)
CARRIED = re.compile(r"Fault scenarios? ([\d, and]+)")


def test_every_scenario_is_on_the_page_with_tests_that_carry_its_number() -> None:
    cells = [(int(number), tests) for number, _, _, tests in ROW.findall((ROOT / "docs/faults.md").read_text())]
    cells_by_number = dict(cells)
    assert len(cells_by_number) == len(cells) >= 78, "each number once"
    tests_by_number = {number: set(re.findall(r"`(tests/\S+)`", tests)) for number, tests in cells_by_number.items()}
    assert tests_by_number == _tests_by_scenario()


def _tests_by_scenario() -> dict[int, set[str]]:
    """Return the tests by the numbers in their docstrings."""
    tests_by_number: dict[int, set[str]] = defaultdict(set)
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        if "Fault scenario" not in text or path == Path(__file__):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                carried = CARRIED.match(ast.get_docstring(node) or "")
                for number in re.findall(r"\d+", carried[1]) if carried else ():
                    tests_by_number[int(number)].add(f"{path.relative_to(ROOT)}::{node.name}")
    return tests_by_number
