"""Excerpts of code that has changed: the first lines that went and that came, the others counted.

``CREATE PROCEDURE f(a INT) AS ⏎ SELECT 1; … and 40 more lines``. Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tocsin.delivery.lines import clean_line
from tocsin.model.phrases import count_text

CODE_KEYS = frozenset({"storedProcedureCode", "schemaDefinition", "sql", "query", "sqlQuery", "sqlExpression"})
"""Fields that hold code; of a stored procedure, as an object with its language."""

Value = Any  # Any: a JSON value
_MOST_LINES, _LONGEST_LINE = 3, 120
_BETWEEN = " ⏎ "
_CODE = "code"


def excerpts_of(old: Value, new: Value) -> tuple[str | None, str | None] | None:
    """Return what differs between code before and after; None where it is no code of several lines."""
    texts = [_code_in(old), _code_in(new)]
    lines_before, lines_after = (_lines_of(text) for text in texts)
    if None in texts or max(len(lines_before), len(lines_after)) <= 1:
        return None
    went, came = Counter(lines_before), Counter(lines_after)
    return _excerpt(lines_before, went - came), _excerpt(lines_after, came - went)


def _code_in(value: Value) -> str | None:
    """Return code, of an object that holds it; empty for nothing, None for what is neither."""
    code = value.get(_CODE, "") if isinstance(value, dict) else value or ""
    return code if isinstance(code, str) else None


def _lines_of(text: str | None) -> list[str]:
    lines = (clean_line(line, limit=_LONGEST_LINE) for line in (text or "").splitlines())
    return [line for line in lines if line]


def _excerpt(lines: Sequence[str], differing: Counter[str]) -> str | None:
    """Return the first of the lines that differ, in their order, and how many more there are; None for none."""
    different_lines: list[str] = []
    remaining_lines = differing.copy()
    for line in lines:
        if remaining_lines[line] > 0:
            remaining_lines[line] -= 1
            different_lines.append(line)
    if not different_lines:
        return None
    further_count = len(different_lines) - _MOST_LINES
    further_text = f" … and {count_text(further_count, 'more line')}" if further_count > 0 else ""
    return f"{_BETWEEN.join(different_lines[:_MOST_LINES])}{further_text}"
