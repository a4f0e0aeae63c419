"""Selection of events in the log, by type, entity and time.

``store/eventlog/log.py`` reads the selected events, ``flow/match`` matches them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tocsin.model.change import ChangeEvent, EventType

ALL_TYPES: frozenset[str] | None = None
"""What upstream writes as ``*``: entities of every type."""


@dataclass(frozen=True)
class EventSelection:
    """Filters of events; None is no filter.

    Attributes
    ----------
    kinds : per event type, the entity types wanted of it (``ALL_TYPES`` for every one)
    since_ms, until_ms : first and last moment, epoch milliseconds UTC, both inclusive
    leaves_out : types of event that are not wanted
    user_names : people and bots, any of whom made the change
    reason : a part of why the change was made, as its author says; case does not count
    """

    kinds: Mapping[EventType, frozenset[str] | None] | None = None
    leaves_out: tuple[EventType, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    entity_id: str | None = None
    entity_fqn: str | None = None
    user_name: str | None = None
    user_names: frozenset[str] | None = None
    reason: str | None = None

    def gives_reason(self, event: ChangeEvent) -> bool:
        """Return whether an event has the reason to find, if there is one."""
        return self.reason is None or self.reason.lower() in (event.reason or "").lower()


def types_from(text: str) -> frozenset[str] | None:
    """Return the entity types that a query names: ``table,dashboard``, or ``*`` for every type.

    Source: OpenMetadata's ``GET /v1/events?entityCreated=table,dashboard``.
    """
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    return ALL_TYPES if "*" in names else names
