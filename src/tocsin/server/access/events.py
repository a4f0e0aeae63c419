"""Visibility of events: each is as visible as the current or last state of its subjects.

Next: ``access/person_visibility.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from tocsin.access.person_visibility import Visibility
from tocsin.clock import to_datetime
from tocsin.errors import NotFound
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.server.request import Caller


class EventView(Protocol):
    """A view of one event: an entry of the log, or of an inbox."""

    @property
    def event(self) -> ChangeEvent:
        """Return the event."""


T = TypeVar("T", bound=EventView)


def visible_parts(visibility: Visibility, entries: Sequence[T]) -> list[T | None]:
    """Return what may be shown of each of these entries; None where nothing may."""
    events = visibility.visible_events([one.event for one in entries])
    return [_with_event(one, event) for one, event in zip(entries, events, strict=True)]


def shown_event(event_id: str, caller: Caller) -> LoggedEvent:
    """Return one event of the log, without what the caller may not see of it.

    Raises
    ------
    NotFound : there is none, or none that the caller may see.
    """
    logged = caller.parts.log.find(event_id)
    (visible_event,) = visible_parts(caller.visibility, [logged]) if logged is not None else (None,)
    if visible_event is None:
        raise NotFound(f"change event {event_id} not found{_removal_hint(caller)}")
    return visible_event


def told_event(event_or_notification_id: str, caller: Caller) -> tuple[LoggedEvent, bool]:
    """Return one event as ``shown_event`` does, by its id or that of a notification of it to the caller.

    Beside it: whether it was named by the notification. Raises as ``shown_event``.
    """
    event_id = caller.parts.inbox.event_id_of(caller.actor.id, event_or_notification_id)
    return shown_event(event_id or event_or_notification_id, caller), event_id is not None


def _removal_hint(caller: Caller) -> str:
    """Return that an event may have been removed, where retention has removed any; the same for every event."""
    until_ms = caller.parts.alert_stores.retention.progress.removed_until_ms()
    if not until_ms:
        return ""
    return f"; retention has removed events from the log, the latest of {to_datetime(until_ms):%Y-%m-%d}"


def _with_event(entry: T, event: ChangeEvent | None) -> T | None:
    if event is None or event is entry.event:
        return None if event is None else entry
    return replace(entry, event=event)  # type: ignore[type-var]  # both kinds of entries are dataclasses
