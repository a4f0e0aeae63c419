"""Notifications with their due times, ids, and the messages that carry them.

A function over plain values: it runs for every recipient of every event, a million for one event at times. Ids are
UUIDv5 of their causes, so that writing a row twice has no effect.
Next: ``flow/send`` for messages; in-app notifications are in the inbox once they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tocsin.flow.schedule.decide import At, Decision, Never, Now, Together, decide
from tocsin.model.notification import gathered_message_id, message_id, notification_id
from tocsin.model.subscription import Channel, EventSubscription, Trigger, TriggerType

Row = Mapping[str, Any]  # Any: a column's value
Triggers = Mapping[str, Trigger]
"""The scheduled triggers, by alert; alerts without an entry notify immediately."""

_REAL_TIME = Trigger()


def triggers_of(subscriptions: Iterable[EventSubscription]) -> dict[str, Trigger]:
    """Return the scheduled triggers among those of these alerts, by alert."""
    return {one.id: one.trigger for one in subscriptions if one.trigger.trigger_type is TriggerType.SCHEDULED}


class Slot(NamedTuple):
    """When a notification goes out (epoch milliseconds), and under which key with others, if with any.

    ``trigger`` is the scheduled one that determines it: it gives the next slot.
    """

    due_at_ms: int
    grouping_key: str | None = None
    trigger: Trigger | None = None


class Schedule:
    """The slots of what is scheduled at one moment: decided once for a channel and a set of alerts."""

    def __init__(self, triggers: Triggers, now_ms: int) -> None:
        self._triggers, self._now_ms, self._now = triggers, now_ms, Slot(now_ms)
        self._slots: dict[tuple[str, tuple[str, ...], int], Slot] = {}

    def slot(self, channel: str, subscription_ids: Sequence[str], event_ms: int) -> Slot:
        """Return when one notification of all these alerts goes out: as early as the earliest of them."""
        if not self._triggers:
            return self._now
        key = (channel, tuple(subscription_ids), event_ms)
        found = self._slots.get(key)
        if found is None:
            found = min((self._of(channel, one, event_ms) for one in subscription_ids), key=self._order)
            self._slots[key] = found
        return found

    def _of(self, channel: str, subscription_id: str, event_ms: int) -> Slot:
        trigger = self._triggers.get(subscription_id, _REAL_TIME)
        decision = decide(trigger, None, self._now_ms, channel=channel, event_ms=event_ms)
        return _slot_of(decision, trigger, self._now_ms)

    def _order(self, slot: Slot) -> tuple[int, bool]:
        """Return the place among the slots of one notification: what is due at once goes before a missed digest."""
        return max(slot.due_at_ms, self._now_ms), slot.trigger is not None


def _slot_of(decision: Decision, trigger: Trigger, now_ms: int) -> Slot:
    """Return the slot of a decision that is not *never*."""
    match decision:
        case Now():
            return Slot(now_ms)
        case At(due_at_ms):
            return Slot(due_at_ms, None, trigger)
        case Together(grouping_key, due_at_ms):
            return Slot(due_at_ms, grouping_key, trigger)
        case Never(because):
            raise AssertionError(f"never scheduled: {because}")


def next_slot(slot: Slot, channel: str) -> Slot:
    """Return the slot after ``slot``, for what comes too late for it."""
    trigger = slot.trigger or _REAL_TIME
    return _slot_of(decide(trigger, None, slot.due_at_ms, channel=channel), trigger, slot.due_at_ms)


def scheduled(rows: Iterable[Row], triggers: Triggers, *, now_ms: int) -> Iterator[dict[str, Any]]:
    """Yield notifications with the columns that scheduling adds, one row per (event, channel, key) as in ``rows``.

    Reads ``event_id``, ``timestamp_ms``, ``channel``, ``key`` and ``subscription_ids``. Adds ``id``,
    ``message_id`` (None for the inbox), ``slot``, ``grouping_key``, ``due_at_ms``, ``wait_ms`` and ``created_at_ms``.
    """
    schedule = Schedule(triggers, now_ms)
    for row in rows:
        channel, key = row["channel"], row["key"]
        slot = schedule.slot(channel, row["subscription_ids"], row["timestamp_ms"])
        identity = notification_id(row["event_id"], channel, key)
        of_slot = in_slot(identity, channel, key, slot, now_ms)
        yield {**row, "id": identity, "slot": slot, "created_at_ms": now_ms, **of_slot}


def in_slot(identity: str, channel: str, key: str, slot: Slot, now_ms: int) -> dict[str, Any]:
    """Return the columns of a notification that its slot determines."""
    return {
        "message_id": _message_of(identity, channel, key, slot),
        "grouping_key": slot.grouping_key,
        "due_at_ms": slot.due_at_ms,
        "wait_ms": slot.due_at_ms - now_ms,
    }


def _message_of(identity: str, channel: str, key: str, slot: Slot) -> str | None:
    if channel == Channel.ACTIVITY_FEED:
        return None  # the inbox row is all there is
    if slot.grouping_key is None:
        return message_id(identity)
    return gathered_message_id(slot.grouping_key, channel, key, slot.due_at_ms)
