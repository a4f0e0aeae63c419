"""Notifications with their due times, ids, and the messages that carry them.

A function over plain values: it runs for every recipient of every event, a million for one event at times. Ids are
UUIDv5 of their causes, so that writing a row twice has no effect.
Next: ``flow/send`` for messages; in-app notifications are in the inbox once they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
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
from tocsin.model.subscription import Channel, EventSubscription, Gathering

Row = Mapping[str, Any]  # Any: a column's value
Timings = Mapping[str, Timing]
"""The timings of alerts; one without an entry notifies immediately, each time in a separate message."""

Gatherings = Mapping[str, Gathering]
"""How channels carry several notifications; those without an entry do not."""


def timings_of(subscriptions: Iterable[EventSubscription]) -> dict[str, Timing]:
    """Return the timings of these alerts, by alert."""
    return {one.id: timing_of(one) for one in subscriptions}


_OF_ASSET = "|asset:"


def without_asset(grouping_key: str) -> str:
    """Return the grouping key without the asset that it is about."""
    return grouping_key.partition(_OF_ASSET)[0]


class Slot(NamedTuple):
    """When a notification goes out (epoch milliseconds), and under which key with others, if with any.

    ``timing`` is the scheduled one that determines it, ``wait`` what the recipient prefers to wait for: they give the
    next slot. With ``window_ms`` it is paced: ``is_first`` until the store has found that its group has had a message
    within that time. ``subscription_id`` is the alert whose slot it is.
    """

    due_at_ms: int
    grouping_key: str | None = None
    timing: Timing | None = None
    window_ms: int = 0
    by_asset: bool = False
    is_first: bool = False
    wait: PreferredWait | None = None
    subscription_id: str = ""


class Schedule:
    """The slots of what is scheduled at one moment: decided once for a channel, a set of alerts and a time."""

    def __init__(self, timings: Timings, gatherings: Gatherings, preferred: Preferred, now_ms: int) -> None:
        self._timings, self._gatherings, self._preferred, self._now_ms = timings, gatherings, preferred, now_ms
        self._slots: dict[tuple[str, tuple[str, ...], int], tuple[tuple[Slot, ...], bool]] = {}

    def slots(self, row: Row) -> tuple[Slot, ...]:
        """Return when each of the alerts that share a notification would send it alone, the leading alert first."""
        key = (row["channel"], tuple(row["subscription_ids"]), row["timestamp_ms"])
        cached = self._slots.get(key)
        if cached is None:
            slots = tuple(self._of_alerts(*key))
            cached = self._slots[key] = (slots, any(slot.by_asset for slot in slots))
        slots, depend_on_asset = cached
        if depend_on_asset:
            slots = tuple(_by_asset(slot, row) for slot in slots)
        if self._preferred.preferences and row["recipient_id"] is not None:
            slots = tuple(self._as_preferred(slot, row) for slot in slots)
        return slots

    def _of_alerts(self, channel: str, subscription_ids: Sequence[str], event_ms: int) -> Iterator[Slot]:
        gathering = self._gatherings.get(channel, Gathering.NONE)
        for subscription_id in sorted(subscription_ids, key=lambda each: self._timings.get(each, IMMEDIATE).rank):
            timing = self._timings.get(subscription_id, IMMEDIATE)
            decision = decide(
                timing, None, self._now_ms, subscription_id=subscription_id, gathering=gathering, event_ms=event_ms
            )
            yield _slot_of(decision, timing, self._now_ms)._replace(subscription_id=subscription_id)

    def _as_preferred(self, slot: Slot, row: Row) -> Slot:
        """Return when an alert would send a notification to somebody with preferences.

        Preferences are for mails and direct messages, and not for what is critical.
        """
        recipient_id = row["recipient_id"]
        is_critical = self._timings.get(slot.subscription_id, IMMEDIATE).is_critical
        if is_critical or self._gatherings.get(row["channel"]) is not Gathering.SUMMARY:
            return slot
        due_at_ms = max(slot.due_at_ms, self._now_ms)
        wait = self._preferred.wait(recipient_id, row["event_id"])
        preferred_ms = due_at_ms if wait is None else wait.due_at_ms(due_at_ms)
        if preferred_ms == due_at_ms:
            return slot
        return Slot(
            preferred_ms,
            self._preferred.grouping_key(recipient_id),
            wait=wait,
            subscription_id=slot.subscription_id,
        )


def _by_asset(slot: Slot, row: Row) -> Slot:
    """Return a slot whose grouping key names the asset, where it is meant per asset."""
    if not slot.by_asset:
        return slot
    asset_id = row.get("roots", {}).get(slot.grouping_key, row["entity_id"])
    return slot._replace(grouping_key=f"{slot.grouping_key}{_OF_ASSET}{asset_id}")


def slot_order(slot: Slot, *, now_ms: int) -> tuple[int, bool]:
    """Return what the slots of a notification are ordered by, those of leading alerts being first in any case.

    The earliest is first; of several at one time one without others, in which nothing is only counted.
    """
    return max(slot.due_at_ms, now_ms), slot.grouping_key is not None


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
    decision = decide(timing, None, slot.due_at_ms, gathering=Gathering.SUMMARY)
    return _slot_of(decision, timing, slot.due_at_ms)._replace(subscription_id=slot.subscription_id)


def following(slot: Slot, due_at_ms: int) -> Slot:
    """Return the slot of a paced notification that waits for others until ``due_at_ms``."""
    return slot._replace(due_at_ms=due_at_ms, is_first=False)


def scheduled_notifications(
    notifications: Iterable[Row],
    timings: Timings,
    *,
    now_ms: int,
    gatherings: Gatherings,
    preferred: Preferred = NO_PREFERENCES,
) -> Iterator[dict[str, Any]]:
    """Yield notifications with the columns that scheduling adds, one for each event, channel and key.

    Reads ``event_id``, ``entity_id``, ``timestamp_ms``, ``channel``, ``key``, ``recipient_id`` and
    ``subscription_ids``; ``roots``, if there are any, gives the asset of a group in place of ``entity_id``
    (``flow/schedule/roots.py``); ``destination_ids``, where several alerts share it, the destination of each. Adds
    ``id``, ``message_id`` (None for the inbox), ``slots`` of all its alerts, and of them ``slot``, ``grouping_key``,
    ``due_at_ms``, ``wait_ms`` and ``created_at_ms``; ``subscription_id`` and ``destination_id`` are those of the slot.
    """
    schedule = Schedule(timings, gatherings, preferred, now_ms)
    for notification in notifications:
        slots = schedule.slots(notification)
        identity = notification_id(notification["event_id"], notification["channel"], notification["key"])
        timed = {**notification, "id": identity, "slots": slots, "created_at_ms": now_ms}
        slot = slots[0] if len(slots) == 1 else min(slots, key=partial(slot_order, now_ms=now_ms))
        timed |= _of_slot(timed, slot)
        yield timed


def in_slot(row: Row, slot: Slot) -> dict[str, Any]:
    """Return a scheduled notification in another slot."""
    return {**row, **_of_slot(row, slot)}


def _of_slot(row: Row, slot: Slot) -> dict[str, Any]:
    """Return the columns of a notification that its slot determines."""
    return {
        "slot": slot,
        "message_id": _message_of(row["id"], row["channel"], row["key"], slot),
        "grouping_key": slot.grouping_key,
        "due_at_ms": slot.due_at_ms,
        "wait_ms": max(0, slot.due_at_ms - row["created_at_ms"]),
        **_sender_of(row, slot),
    }


def _sender_of(row: Row, slot: Slot) -> dict[str, str]:
    """Return the alert and the destination that a shared notification is sent under: those of its slot."""
    destination_id = row.get("destination_ids", {}).get(slot.subscription_id)
    return {} if destination_id is None else {"subscription_id": slot.subscription_id, "destination_id": destination_id}


def _message_of(identity: str, channel: str, key: str, slot: Slot) -> str | None:
    if channel == Channel.ACTIVITY_FEED:
        return None  # the inbox row is all there is
    if slot.grouping_key is None or slot.is_first:
        return message_id(identity)
    return gathered_message_id(slot.grouping_key, channel, key, slot.due_at_ms)
