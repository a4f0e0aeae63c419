"""Error display for alerts and conditions: file, line and column, and the line with a caret below the position.

Next: ``cli/conditions.py``.
"""

from __future__ import annotations

import re
from operator import itemgetter

from tocsin.cli.alertfiles import FiledAlert
from tocsin.cli.yaml_documents import FilePlace
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.validation_errors import WARNING, field_of, mistakes_in

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
    """Return what was refused of an alert of a file, a line for each mistake in the order of the file.

    Below a mistake of a condition is its line with a caret.
    """
    placed_lines = sorted((_placed_lines(mistake, alert) for mistake in mistakes_in(error.message)), key=itemgetter(0))
    lines = [line for _, lines in placed_lines for line in lines]
    file_error = InvalidInput(lines[0], field=error.field)
    if lines[1:]:
        file_error.add_note("\n".join(lines[1:]))
    return file_error


def line_of(message: str, alert: FiledAlert) -> str:
    """Return a message, which begins with its field, with its place in the file and the name of the alert."""
    return _placed_line(message, alert, alert.place_of(field_of(message) or ""))


def _placed_lines(mistake: str, alert: FiledAlert) -> tuple[tuple[int, int], list[str]]:
    """Return line and column of a mistake, and the lines that say it."""
    place_in_message = _SAID.match(mistake)
    field_place = alert.place_of(field_of(mistake) or "")
    order = (field_place.line, field_place.column) if field_place else (0, 0)
    if place_in_message is None:
        return order, [line_of(mistake, alert)]
    yaml_document, line, column = alert.read_document(), int(place_in_message["line"]), int(place_in_message["column"])
    condition_lines = condition_at(alert.document, place_in_message["field"]).split("\n")
    is_written = condition_lines != [""] and line <= len(condition_lines)
    if yaml_document is None or not is_written:
        caret = below(condition_lines[line - 1], column) if is_written else ()
        return order, [_placed_line(mistake, alert, None), *caret]
    place = yaml_document.place_within(f"{alert.path}.{place_in_message['field']}", line, column)
    text = mistake.replace(place_in_message["place"], "", 1)
    return (place.line, place.column), [_placed_line(text, alert, place), *below(place.source, place.column)]


def _placed_line(message: str, alert: FiledAlert, place: FilePlace | None) -> str:
    """Return a message about an alert with its place; that it is a warning stands before the alert's name."""
    where = f"{alert.file}:{place.line}:{place.column}" if place else alert.where
    field, mark, text = message.partition(f": {WARNING}")
    return f"{where}: {WARNING}{alert.name}: {field}: {text}" if mark else f"{where}: {alert.name}: {message}"
