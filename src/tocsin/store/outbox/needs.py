"""Needs of notifications as they are stored: by the kinds of their events, which the log has, and their reasons.

One look-up per batch, and none where nobody is told as an owner, by name, or because they are asked.
Next: ``model/needs.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson
from sqlalchemy import Connection, or_, select

from tocsin.conditions.breaking import IS_BREAKING
from tocsin.conditions.changes import CATEGORIES, TALK
from tocsin.conditions.event_kinds import BY_EVENT_TYPE, kinds_in_category, kinds_of
from tocsin.flow.schedule.messages import ScheduledNotification
from tocsin.model.needs import NEEDING, NEEDING_KINDS, need_of
from tocsin.model.notification import ReasonKind
from tocsin.model.subscription import Channel
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import change_event

_EVENT = change_event.c
_TYPES = [event_type for event_type, kind in BY_EVENT_TYPE.items() if kind in NEEDING_KINDS]
_CATEGORIES = [one for one in (*CATEGORIES, TALK) if NEEDING_KINDS.intersection(kinds_in_category(one))]
_TEXTS = [f'"{IS_BREAKING}":true', *(f'"{category}"' for category in _CATEGORIES)]
_MAY_NEED = or_(_EVENT.event_type.in_(_TYPES), *(_EVENT.derived.contains(text, autoescape=True) for text in _TEXTS))
"""Whether an event may have a kind that needs its people: most have none, and are not parsed."""


class Needs:
    """What the in-app notifications of a transaction may need of their people."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._kinds: dict[int, frozenset[str]] = {}
        self._needs: dict[tuple[int, frozenset[ReasonKind]], str | None] = {}

    def read_events(self, notifications: Iterable[ScheduledNotification]) -> None:
        """Read the kinds of the events of notifications that may need their people; of each event once."""
        new = {one.draft.event.offset for one in notifications if _may_need(one)}.difference(self._kinds)
        if not new:
            return
        query = select(_EVENT.log_offset, _EVENT.event_type, _EVENT.derived).where(_MAY_NEED)
        self._kinds |= dict.fromkeys(new, frozenset[str]())
        for offset, event_type, derived in rows_by_key(self._connection, query, _EVENT.log_offset, new):
            self._kinds[offset] = frozenset(one.kind for one in kinds_of(event_type, orjson.loads(derived)))

    def of(self, scheduled: ScheduledNotification) -> str | None:
        """Return what a notification may need, whose event was read; None for nothing."""
        if not _may_need(scheduled):
            return None
        key = scheduled.draft.event.offset, scheduled.draft.reasons.kinds
        if key not in self._needs:
            self._needs[key] = need_of(self._kinds[key[0]], key[1])
        return self._needs[key]

    def of_all(self, notifications: Sequence[ScheduledNotification]) -> dict[str, str]:
        """Return what each of these may need, by id, but for those that need nothing."""
        self.read_events(notifications)
        return {one.id: need for one in notifications if (need := self.of(one)) is not None}


def _may_need(scheduled: ScheduledNotification) -> bool:
    draft = scheduled.draft
    return draft.channel == Channel.ACTIVITY_FEED and not draft.reasons.kinds.isdisjoint(NEEDING)
