"""Error display for alerts and conditions: file, line and column, and the line with a caret below the position.

Next: ``cli/conditions.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tocsin.cli.alertfiles import FiledAlert
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.validation_errors import field_of, mistakes_in

_AROUND = 60
_FIELD = r"filteringRules\.(?P<key>rules|actions)\[(?P<index>\d+)\]\.condition"
_AT = re.compile(_FIELD)
_SAID = re.compile(
    rf"(?P<field>{_FIELD}): (?:Rule .*?: )?(?P<place>Line (?P<line>\d+), column (?P<column>\d+): )", re.S
)


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


def error_in_file(error: InvalidInput, alert: FiledAlert) -> InvalidInput:
    """Return what was refused of an alert of a file, a line for each mistake; of a condition with a caret below it."""
    lines = [line for mistake in mistakes_in(error.message) for line in _lines_of(mistake, alert)]
    file_error = InvalidInput(lines[0], field=error.field)
    if lines[1:]:
        file_error.add_note("\n".join(lines[1:]))
    return file_error


def _lines_of(mistake: str, alert: FiledAlert) -> Iterator[str]:
    place_in_message = _SAID.match(mistake)
    if place_in_message is None:
        place = alert.place_of(field_of(mistake) or "")
        where = f"{alert.file}:{place.line}:{place.column}" if place else alert.where
        yield f"{where}: {alert.name}: {mistake}"
        return
    yaml_document, line, column = alert.read_document(), int(place_in_message["line"]), int(place_in_message["column"])
    condition_lines = condition_at(alert.document, place_in_message["field"]).split("\n")
    is_written = condition_lines != [""] and line <= len(condition_lines)
    if yaml_document is None or not is_written:
        yield f"{alert.where}: {alert.name}: {mistake}"
        yield from below(condition_lines[line - 1], column) if is_written else ()
        return
    place = yaml_document.place_within(f"{alert.path}.{place_in_message['field']}", line, column)
    yield f"{alert.file}:{place.line}:{place.column}: {alert.name}: {mistake.replace(place_in_message['place'], '', 1)}"
    yield from below(place.source, place.column)
