"""Notifications with their due times, ids, and the messages that carry them.

A function over plain values: it runs for every recipient of every event, a million for one event at times. Ids are
UUIDv5 of their causes, so that writing a row twice has no effect.
Next: ``flow/send`` for messages; in-app notifications are in the inbox once they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tocsin.flow.schedule.decide import (
    IMMEDIATE,
    At,
    Decision,
    Never,
    Now,
    Paced,
    Timing,
    Together,
    decide,
    timing_of,
)
from tocsin.flow.schedule.preferences import NO_PREFERENCES, Preferred, PreferredWait
from tocsin.model.notification import gathered_message_id, message_id, notification_id
from tocsin.model.subscription import Channel, EventSubscription, Gathering, TriggerType

Row = Mapping[str, Any]  # Any: a column's value
Timings = Mapping[str, Timing]
"""The timings of alerts; those without an entry notify immediately, each time in a separate message."""

Gatherings = Mapping[str, Gathering]
"""How channels carry several notifications; those without an entry do not."""


def timings_of(subscriptions: Iterable[EventSubscription]) -> dict[str, Timing]:
    """Return the timings of those of these alerts that are scheduled, gather or are critical, by alert."""
    found = ((one.id, timing_of(one)) for one in subscriptions)
    return {one: timing for one, timing in found if timing.window_ms or timing.is_critical or _is_scheduled(timing)}


def _is_scheduled(timing: Timing) -> bool:
    return timing.trigger.trigger_type is TriggerType.SCHEDULED


_OF_ASSET = "|asset:"


def without_asset(grouping_key: str) -> str:
    """Return the grouping key without the asset that it is about."""
    return grouping_key.partition(_OF_ASSET)[0]


class Slot(NamedTuple):
    """When a notification goes out (epoch milliseconds), and under which key with others, if with any.

    ``timing`` is the scheduled one that determines it, ``wait`` what the recipient prefers to wait for: they give the
    next slot. With ``window_ms`` it is paced:
    ``is_first`` until the store has found that its group has had a message within that time.
    """

    due_at_ms: int
    grouping_key: str | None = None
    timing: Timing | None = None
    window_ms: int = 0
    by_asset: bool = False
    is_first: bool = False
    wait: PreferredWait | None = None


class Schedule:
    """The slots of what is scheduled at one moment: decided once for a channel, a set of alerts and a time."""

    def __init__(self, timings: Timings, gatherings: Gatherings, now_ms: int) -> None:
        self._timings, self._gatherings, self._now_ms, self._now = timings, gatherings, now_ms, Slot(now_ms)
        self._slots: dict[tuple[str, tuple[str, ...], int], Slot] = {}

    def slot(self, channel: str, subscription_ids: Sequence[str], event_ms: int) -> Slot:
        """Return when a notification that these alerts share is due: the earliest of their times."""
        if not self._timings:
            return self._now
        key = (channel, tuple(subscription_ids), event_ms)
        found = self._slots.get(key)
        if found is None:
            found = min((self._of(channel, one, event_ms) for one in subscription_ids), key=self._order)
            self._slots[key] = found
        return found

    def preferred(self, row: Row, slot: Slot, preferred: Preferred) -> Slot:
        """Return when a notification is due that was so at ``slot``, as its recipient prefers.

        Preferences are for mails and direct messages, and not for what is critical.
        """
        recipient_id = row["recipient_id"]
        if recipient_id is None or self._gatherings.get(row["channel"]) is not Gathering.SUMMARY:
            return slot
        if any(self._timings.get(one, IMMEDIATE).is_critical for one in row["subscription_ids"]):
            return slot
        due_at_ms = max(slot.due_at_ms, self._now_ms)
        wait = preferred.wait(recipient_id, row["event_id"])
        preferred_ms = due_at_ms if wait is None else wait.due_at_ms(due_at_ms)
        if preferred_ms == due_at_ms:
            return slot
        return Slot(preferred_ms, preferred.grouping_key(recipient_id), wait=wait)

    def _of(self, channel: str, subscription_id: str, event_ms: int) -> Slot:
        timing = self._timings.get(subscription_id, IMMEDIATE)
        gathering = self._gatherings.get(channel, Gathering.NONE)
        decision = decide(
            timing, None, self._now_ms, subscription_id=subscription_id, gathering=gathering, event_ms=event_ms
        )
        return _slot_of(decision, timing, self._now_ms)

    def _order(self, slot: Slot) -> tuple[int, bool, bool]:
        """Return the sort key of the slots of a notification: earliest first, immediate before gathering."""
        return max(slot.due_at_ms, self._now_ms), slot.timing is not None, slot.grouping_key is not None


def _slot_of(decision: Decision, timing: Timing, now_ms: int) -> Slot:
    """Return the slot of a decision that is not *never*."""
    match decision:
        case Now():
            return Slot(now_ms)
        case At(due_at_ms):
            return Slot(due_at_ms, None, timing)
        case Together(grouping_key, due_at_ms):
            return Slot(due_at_ms, grouping_key, timing)
        case Paced(grouping_key, window_ms, by_asset):
            return Slot(now_ms, grouping_key, None, window_ms, by_asset, is_first=True)
        case Never(because):
            raise AssertionError(f"never scheduled: {because}")


def next_slot(slot: Slot) -> Slot:
    """Return the slot after ``slot``, for what comes too late for its message."""
    if slot.wait is not None:
        return slot._replace(due_at_ms=slot.wait.following_ms(slot.due_at_ms))
    if slot.window_ms:
        return following(slot, slot.due_at_ms + slot.window_ms)
    timing = slot.timing or IMMEDIATE
    return _slot_of(decide(timing, None, slot.due_at_ms, gathering=Gathering.SUMMARY), timing, slot.due_at_ms)


def following(slot: Slot, due_at_ms: int) -> Slot:
    """Return the slot of a paced notification that waits for others until ``due_at_ms``."""
    return slot._replace(due_at_ms=due_at_ms, is_first=False)


def scheduled(
    rows: Iterable[Row],
    timings: Timings,
    *,
    now_ms: int,
    gatherings: Gatherings,
    preferred: Preferred = NO_PREFERENCES,
) -> Iterator[dict[str, Any]]:
    """Yield notifications with the columns that scheduling adds, one row per (event, channel, key) as in ``rows``.

    Reads ``event_id``, ``entity_id``, ``timestamp_ms``, ``channel``, ``key``, ``recipient_id`` and
    ``subscription_ids``; ``roots``, if there are any, gives the asset of a group in place of ``entity_id``
    (``flow/schedule/roots.py``). Adds ``id``, ``message_id`` (None for the inbox), ``slot``, ``grouping_key``,
    ``due_at_ms``, ``wait_ms`` and ``created_at_ms``.
    """
    schedule = Schedule(timings, gatherings, now_ms)
    for row in rows:
        channel, key = row["channel"], row["key"]
        slot = schedule.slot(channel, row["subscription_ids"], row["timestamp_ms"])
        if slot.by_asset:
            asset_id = row.get("roots", {}).get(slot.grouping_key, row["entity_id"])
            slot = slot._replace(grouping_key=f"{slot.grouping_key}{_OF_ASSET}{asset_id}")
        if preferred.preferences:
            slot = schedule.preferred(row, slot, preferred)
        identity = notification_id(row["event_id"], channel, key)
        of_slot = in_slot(identity, channel, key, slot, now_ms)
        yield {**row, "id": identity, "slot": slot, "created_at_ms": now_ms, **of_slot}


def in_slot(identity: str, channel: str, key: str, slot: Slot, now_ms: int) -> dict[str, Any]:
    """Return the columns of a notification that its slot determines."""
    return {
        "message_id": _message_of(identity, channel, key, slot),
        "grouping_key": slot.grouping_key,
        "due_at_ms": slot.due_at_ms,
        "wait_ms": max(0, slot.due_at_ms - now_ms),
    }


def _message_of(identity: str, channel: str, key: str, slot: Slot) -> str | None:
    if channel == Channel.ACTIVITY_FEED:
        return None  # the inbox row is all there is
    if slot.grouping_key is None or slot.is_first:
        return message_id(identity)
    return gathered_message_id(slot.grouping_key, channel, key, slot.due_at_ms)
