"""Error display for alerts and conditions: file, line and column, and the line with a caret below the position.

Next: ``cli/conditions.py``.
"""

from __future__ import annotations

import re

from tocsin.cli.alertfiles import FiledAlert
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

_AROUND = 60
_FIELD = r"filteringRules\.(?P<key>rules|actions)\[(?P<index>\d+)\]\.condition"
_AT = re.compile(_FIELD)
_SAID = re.compile(
    rf"(?P<field>{_FIELD}): (?:Rule .*?: )?(?P<place>Line (?P<line>\d+), column (?P<column>\d+): )", re.S
)
_ANY_FIELD = re.compile(r"(?P<field>[A-Za-z_][^\s:.\[\]]*(?:\.[^\s:.\[\]]+|\[\d+\])*): ")


def below(source: str, column: int) -> tuple[str, str]:
    """Return a line of a condition and a caret below ``column``, from 1; of a long line, what is around it."""
    start = max(0, column - 1 - _AROUND) if len(source) > 2 * _AROUND else 0
    end = max(start + 2 * _AROUND, column)
    cut = f"{'…' if start else ''}{source[start:end]}{'…' if end < len(source) else ''}"
    return f"  {cut}", f"  {' ' * (column - 1 - start + bool(start))}^"


def condition_at(alert: Document, field: str) -> str:
    """Return the condition at ``field`` of an alert; empty when a named filter is in its place."""
    found, filtering = _AT.fullmatch(field), alert.get("filteringRules")
    rules = filtering.get(found["key"]) if found and isinstance(filtering, dict) else ()
    rule = dict(enumerate(rules or ())).get(int(found["index"]) if found else 0)
    return str(rule.get("condition", "")) if isinstance(rule, dict) else ""


def field_of(message: str) -> str | None:
    """Return the field that a message begins with, None if it begins with none."""
    found = _ANY_FIELD.match(message)
    return found["field"] if found else None


def refused(error: InvalidInput, alert: FiledAlert) -> InvalidInput:
    """Return what was refused of an alert of a file, with its place there, and a caret where it is a condition."""
    whole, said = alert.whole(), _SAID.search(error.message)
    written = condition_at(alert.document, said["field"]).split("\n") if said else []
    is_written = said is not None and written != [""] and int(said["line"]) <= len(written)
    if whole is None or (said is not None and not is_written):
        located = InvalidInput(f"{alert.where}: {alert.name}: {error.message}", field=error.field)
        if said and is_written:
            located.add_note("\n".join(below(written[int(said["line"]) - 1], int(said["column"]))))
        return located
    path = f"{alert.path}.{said['field'] if said else field_of(error.message) or ''}"
    place = whole.place_within(path, int(said["line"]), int(said["column"])) if said else whole.place(path)
    message = error.message.replace(said["place"], "", 1) if said else error.message
    located = InvalidInput(f"{alert.file}:{place.line}:{place.column}: {alert.name}: {message}", field=error.field)
    if said:
        located.add_note("\n".join(below(place.source, place.column)))
    return located
