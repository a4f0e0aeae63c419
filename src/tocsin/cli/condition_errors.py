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
    place, filtering = _AT.fullmatch(field), alert.get("filteringRules")
    rules = filtering.get(place["key"]) if place and isinstance(filtering, dict) else ()
    rule = dict(enumerate(rules or ())).get(int(place["index"]) if place else 0)
    return str(rule.get("condition", "")) if isinstance(rule, dict) else ""


def field_of(message: str) -> str | None:
    """Return the field that a message begins with, None if it begins with none."""
    field_match = _ANY_FIELD.match(message)
    return field_match["field"] if field_match else None


def error_in_file(error: InvalidInput, alert: FiledAlert) -> InvalidInput:
    """Return what was refused of an alert of a file, with its place there, and a caret where it is a condition."""
    yaml_document, place_in_message = alert.read_document(), _SAID.search(error.message)
    written = condition_at(alert.document, place_in_message["field"]).split("\n") if place_in_message else []
    is_written = place_in_message is not None and written != [""] and int(place_in_message["line"]) <= len(written)
    if yaml_document is None or (place_in_message is not None and not is_written):
        located = InvalidInput(f"{alert.where}: {alert.name}: {error.message}", field=error.field)
        if place_in_message and is_written:
            located.add_note(
                "\n".join(below(written[int(place_in_message["line"]) - 1], int(place_in_message["column"])))
            )
        return located
    path = f"{alert.path}.{place_in_message['field'] if place_in_message else field_of(error.message) or ''}"
    place = (
        yaml_document.place_within(path, int(place_in_message["line"]), int(place_in_message["column"]))
        if place_in_message
        else yaml_document.place(path)
    )
    message = error.message.replace(place_in_message["place"], "", 1) if place_in_message else error.message
    located = InvalidInput(f"{alert.file}:{place.line}:{place.column}: {alert.name}: {message}", field=error.field)
    if place_in_message:
        located.add_note("\n".join(below(place.source, place.column)))
    return located
