"""Error display for conditions: the line of the text, with a caret below the position. Next: ``cli/conditions.py``."""

from __future__ import annotations

import re

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

_FIELD = r"filteringRules\.(?P<key>rules|actions)\[(?P<index>\d+)\]\.condition"
_AT = re.compile(_FIELD)
_SAID = re.compile(rf"(?P<field>{_FIELD}): (?:Rule .*?: )?Line (?P<line>\d+), column (?P<column>\d+): ", re.S)


def below(source: str, column: int) -> tuple[str, str]:
    """Return a line of a condition and a caret below ``column``, from 1."""
    return f"  {source}", f"  {' ' * (column - 1)}^"


def condition_at(alert: Document, field: str) -> str:
    """Return the condition at ``field`` of an alert; empty when a named filter is in its place."""
    found, filtering = _AT.fullmatch(field), alert.get("filteringRules")
    rules = filtering.get(found["key"]) if found and isinstance(filtering, dict) else ()
    rule = dict(enumerate(rules or ())).get(int(found["index"]) if found else 0)
    return str(rule.get("condition", "")) if isinstance(rule, dict) else ""


def pointed(error: InvalidInput, alert: Document) -> InvalidInput:
    """Return what a server refused of an alert, with a note of the condition and a caret where it is one."""
    found = _SAID.search(error.message)
    lines = condition_at(alert, found["field"]).split("\n") if found else []
    if found and int(found["line"]) <= len(lines) and lines[0]:
        error.add_note("\n".join(below(lines[int(found["line"]) - 1], int(found["column"]))))
    return error
