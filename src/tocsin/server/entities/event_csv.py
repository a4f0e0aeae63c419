"""Change events as CSV, one row each, safe to open in a spreadsheet. Next: ``catalogue/sheets/rows.py``."""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.catalogue.sheets.rows import write_sheet
from tocsin.clock import to_datetime
from tocsin.conditions.breaking import reasons_of_event
from tocsin.delivery.wording.changes import event_text
from tocsin.model.breaking import list_in_words
from tocsin.model.change import LoggedEvent

_HEADERS = (
    "offset",
    "id",
    "time",
    "eventType",
    "entityType",
    "entityFullyQualifiedName",
    "userName",
    "previousVersion",
    "currentVersion",
    "summary",
    "breaking",
    "breakingReasons",
    "reason",
)


def events_csv(entries: Sequence[LoggedEvent], zone: str) -> str:
    """Return a line of headers and a row for each event.

    ``time`` is in UTC, ``summary`` the headline of messages with times in an IANA ``zone``, ``breaking`` is ``true`` or
    ``false``, its reasons are in words, and ``reason`` is why the change was made, as its author says.
    """
    return write_sheet([_HEADERS, *(_row(one, zone) for one in entries)])


def _row(logged: LoggedEvent, zone: str) -> tuple[str, ...]:
    event = logged.event
    reasons = reasons_of_event(event)
    versions = (event.previous_version, event.current_version)
    return (
        str(logged.offset),
        event.id,
        to_datetime(event.timestamp).isoformat(timespec="milliseconds"),
        event.event_type.value,
        event.entity_type,
        event.entity_fully_qualified_name or "",
        event.user_name or "",
        *("" if version is None else str(version) for version in versions),
        event_text(event, zone=zone).headline,
        str(bool(reasons)).lower(),
        "; ".join(list_in_words(reasons)),
        event.reason or "",
    )
