"""Notification drafts: what *resolve* decides about each recipient of an event, before *schedule* gives it a time.

Source: ``flow/resolve/merge.py``. Next: ``flow/schedule/messages.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import orjson

from tocsin.model.change import LoggedEvent
from tocsin.model.mute import Mute
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.subscription import Channel
from tocsin.model.ways import ToldBecause, told_because


class EventHead(NamedTuple):
    """What notifications need of an event: ``offset`` in the log, ``user_id`` of the person who made the change.

    ``part_of`` is the id of the event of the whole that it is part of (``model/change.ChangeEvent``), None if of none.
    """

    offset: int
    event_id: str
    entity_id: str
    user_id: str | None
    timestamp_ms: int
    part_of: str | None = None


def head_of(logged: LoggedEvent) -> EventHead:
    """Return the head of an event."""
    event = logged.event
    return EventHead(logged.offset, event.id, event.entity_id, event.user_id, event.timestamp, event.part_of)


class Reasons(NamedTuple):
    """Reasons of one notification, in order; the followers of one asset share them.

    ``text`` is the JSON that is stored. ``destination_ids`` holds the alerts that give a reason, each with the first of
    its destinations; ``alert_ids`` are these alerts. ``because`` is what preferences ask of them.
    """

    because: ToldBecause
    text: str
    kinds: frozenset[ReasonKind]
    destination_ids: Mapping[str, str]
    alert_ids: tuple[str, ...]

    @property
    def in_order(self) -> tuple[Reason, ...]:
        """Return the reasons."""
        return self.because.reasons


class NotificationDraft(NamedTuple):
    """One notification before it has a time: one per (event, channel, key).

    ``key`` is notified once (``flow/resolve/merge.Recipient``), ``target`` is where it goes. ``recipient_id`` is None
    for an address that an alert names. ``assets_by_group`` holds, by grouping key, the asset that alerts group it under
    in place of the event's own (``flow/schedule/roots.py``). ``mute`` is the recipient's that keeps all reasons quiet.
    """

    event: EventHead
    channel: Channel
    key: str
    target: str
    recipient_id: str | None
    reasons: Reasons
    assets_by_group: Mapping[str, str] = MappingProxyType({})
    mute: Mute | None = None


@lru_cache(maxsize=10_000)
def reasons_of(reasons: tuple[Reason, ...]) -> Reasons:
    """Return the reasons of a notification with what follows from them."""
    destination_ids: dict[str, str] = {}
    for reason in reasons:
        destination_ids.setdefault(reason.subscription_id, reason.destination_id)
    text = orjson.dumps([reason.to_wire() for reason in reasons]).decode()
    kinds = frozenset(reason.kind for reason in reasons)
    return Reasons(told_because(reasons), text, kinds, MappingProxyType(destination_ids), tuple(destination_ids))
