"""Notifications with their due times, ids, and the messages that carry them.

A function over plain values: it runs for every recipient of every event, a million for one event at times. Ids are
UUIDs of event, channel and recipient, so that writing a row twice has no effect.
Next: ``delivery/worker`` for messages; in-app notifications are in the inbox once they are stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from tocsin.flow.schedule.decide import IMMEDIATE, Slot, Timing, decide, timing_of
from tocsin.flow.schedule.preferences import NEVER_MS, NO_PREFERENCES, PREFERRED, Preferred, PreferredWait
from tocsin.model.change_kinds import Frequency
from tocsin.model.channels import GATHERINGS
from tocsin.model.notification import ORDERED_IDS, NotificationIdScheme, gathered_message_id, message_id
from tocsin.model.notification_draft import NotificationDraft
from tocsin.model.preferences import DEFAULT, IN_APP, PREFERRED_CHANNELS, FrequencyChoice, Layer
from tocsin.model.subscription import Channel, EventSubscription, Gathering

Timings = Mapping[str, Timing]
"""The timings of alerts; one without an entry notifies immediately, each time in a separate message."""


def timings_of(subscriptions: Iterable[EventSubscription], checking: Collection[str] = ()) -> dict[str, Timing]:
    """Return the timings of these alerts, by alert; ``checking`` are those that ask for the state of assets."""
    return {one.id: timing_of(one, checks=one.id in checking) for one in subscriptions}


_OF_ASSET = "|asset:"


def without_asset(grouping_key: str) -> str:
    """Return the grouping key without the asset that it is about."""
    return grouping_key.partition(_OF_ASSET)[0]


class ScheduledNotification(NamedTuple):
    """A notification with its time, as it is stored: one per (event, channel, key).

    ``slots`` are those of all its alerts, ``slot`` the one in which it goes out. ``message_id`` is the message that
    carries it, None for the inbox. Times are epoch milliseconds.
    """

    draft: NotificationDraft
    id: str
    slots: tuple[Slot, ...]
    slot: Slot
    message_id: str | None
    created_at_ms: int

    @property
    def wait_ms(self) -> int:
        """Return how long its message is meant to wait, in milliseconds."""
        return max(0, self.sent_at_ms - self.created_at_ms)

    @property
    def sent_at_ms(self) -> int:
        """Return when its message goes out: at its time, or when the wait for a check is over."""
        return self.slot.due_at_ms + self.slot.hold_ms

    @property
    def stored_choice(self) -> str | None:
        """Return the choice by which it has its time, as it is stored; None if nobody has made one."""
        choice = self.slot.choice
        return None if choice is DEFAULT else choice.to_text() or None

    @property
    def gathers(self) -> bool:
        """Return whether one of its alerts would send it with others."""
        return any(slot.grouping_key is not None for slot in self.slots)

    @property
    def is_muted(self) -> bool:
        """Return whether a mute of its recipient keeps it back: then it is stored, and counts for no alert."""
        return self.slot.choice.layer is Layer.MUTE

    @property
    def offset_and_alerts(self) -> tuple[int, tuple[str, ...]]:
        """Return what it counts for: the offset of its event, and the alerts that share it."""
        return self.draft.event.offset, () if self.is_muted else self.draft.reasons.alert_ids

    @property
    def sender(self) -> tuple[str, str]:
        """Return the alert and the destination that it is sent under: those of its slot."""
        return self.slot.subscription_id, self.draft.reasons.destination_ids[self.slot.subscription_id]


class Schedule:
    """The slots of what is scheduled at one moment: decided once for a channel, a set of alerts and a time."""

    def __init__(self, timings: Timings, preferred: Preferred, now_ms: int) -> None:
        self._timings, self._preferred, self._now_ms = timings, preferred, now_ms
        self._slots: dict[tuple[str, tuple[str, ...], int], tuple[tuple[Slot, ...], bool]] = {}

    def slots(self, draft: NotificationDraft) -> tuple[Slot, ...]:
        """Return when each of the alerts that share a notification would send it alone, the leading alert first."""
        key = (draft.channel, draft.reasons.alert_ids, draft.event.timestamp_ms)
        cached_slots = self._slots.get(key)
        if cached_slots is None:
            slots = tuple(self._of_alerts(*key))
            cached_slots = self._slots[key] = (slots, any(slot.by_asset for slot in slots))
        slots, depend_on_asset = cached_slots
        if depend_on_asset:
            slots = tuple(_by_asset(slot, draft) for slot in slots)
        if draft.recipient_id is not None and not (self._preferred.is_empty and draft.mute is None):
            slots = self._as_preferred(slots, draft, draft.recipient_id)
        return slots

    def _of_alerts(self, channel: str, subscription_ids: Sequence[str], event_ms: int) -> Iterator[Slot]:
        gathering = GATHERINGS.get(channel, Gathering.NONE)
        for subscription_id in sorted(subscription_ids, key=lambda each: self._timings.get(each, IMMEDIATE).rank):
            timing = self._timings.get(subscription_id, IMMEDIATE)
            yield decide(timing, self._now_ms, subscription_id=subscription_id, gathering=gathering, event_ms=event_ms)

    def _as_preferred(self, slots: tuple[Slot, ...], draft: NotificationDraft, recipient_id: str) -> tuple[Slot, ...]:
        """Return when alerts would send a notification to a person with preferences.

        Preferences are for mails, direct messages and the app, and not for what is critical; mutes of an alert or asset
        are for everything.
        """
        mute_choice = self._preferred.choice_of_mute(draft)
        if mute_choice is None and draft.channel not in PREFERRED_CHANNELS:
            return slots
        choice = mute_choice or self._preferred.choice_for(draft)
        wait, version = self._preferred.wait(draft, choice), self._preferred.versions.get(recipient_id, 0)
        if wait is None and choice.layer is Layer.NOBODY:
            return slots
        return tuple(
            slot
            if mute_choice is None and self._timings.get(slot.subscription_id, IMMEDIATE).is_critical
            else _preferred_slot(slot, choice, wait, (draft.channel, version, self._now_ms))
            for slot in slots
        )


def _preferred_slot(
    slot: Slot, choice: FrequencyChoice, wait: PreferredWait | None, place: tuple[Channel, int, int]
) -> Slot:
    """Return a slot as its recipient prefers; ``place`` is its channel, the version of their preferences, and now."""
    channel, version, now_ms = place
    chosen_slot = slot._replace(choice=choice)
    if channel is IN_APP and choice.frequency is Frequency.NEVER:
        return chosen_slot._replace(due_at_ms=NEVER_MS)
    due_at_ms = max(slot.due_at_ms, now_ms)
    preferred_ms = due_at_ms if wait is None else wait.due_at_ms(due_at_ms)
    if preferred_ms == due_at_ms:
        return chosen_slot
    if channel is IN_APP:
        return chosen_slot._replace(due_at_ms=preferred_ms, version=version)
    key, alert = f"{PREFERRED}{version}", slot.subscription_id
    return Slot(preferred_ms, key, wait=wait, subscription_id=alert, choice=choice, version=version)


def _by_asset(slot: Slot, draft: NotificationDraft) -> Slot:
    """Return a slot whose grouping key names the asset, where it is meant per asset; for parts of a whole, that."""
    if not slot.by_asset:
        return slot
    asset_id = draft.assets_by_group.get(str(slot.grouping_key), draft.event.part_of or draft.event.entity_id)
    return slot._replace(grouping_key=f"{slot.grouping_key}{_OF_ASSET}{asset_id}")


def slot_order(slot: Slot, *, now_ms: int) -> tuple[int, bool]:
    """Return the sort key by which the slot of a notification is chosen; of equal slots, that of its leading alert.

    The earliest is first, by when it goes out at the latest: a check that a digest waits for may be stuck. Of several
    at one time an ungrouped one is, because a group may show only a count.
    """
    return max(slot.due_at_ms + slot.hold_ms, now_ms), slot.grouping_key is not None


def next_slot(slot: Slot) -> Slot:
    """Return the slot after ``slot``, for what comes too late for its message."""
    if slot.wait is not None:
        return slot._replace(due_at_ms=slot.wait.following_ms(slot.due_at_ms))
    if slot.window_ms:
        return waiting_slot(slot, slot.due_at_ms + slot.window_ms)
    if slot.hold_ms:
        return slot._replace(due_at_ms=slot.due_at_ms + slot.hold_ms)
    timing, alert = slot.timing or IMMEDIATE, slot.subscription_id
    return decide(timing, slot.due_at_ms, subscription_id=alert, gathering=Gathering.SUMMARY)


def waiting_slot(slot: Slot, due_at_ms: int) -> Slot:
    """Return the slot of a paced notification that waits for others until ``due_at_ms``."""
    return slot._replace(due_at_ms=due_at_ms, is_first=False)


def scheduled_notifications(
    drafts: Iterable[NotificationDraft],
    timings: Timings,
    *,
    now_ms: int,
    preferred: Preferred = NO_PREFERENCES,
    ids: NotificationIdScheme = ORDERED_IDS,
) -> Iterator[ScheduledNotification]:
    """Yield the drafts with their times, each in the slot of the alert that sends it first, under ids of ``ids``."""
    schedule = Schedule(timings, preferred, now_ms)
    for draft in drafts:
        slots = schedule.slots(draft)
        slot = slots[0] if len(slots) == 1 else min(slots, key=partial(slot_order, now_ms=now_ms))
        identity = ids.of(draft.event.offset, draft.event.event_id, draft.channel, draft.key)
        yield ScheduledNotification(draft, identity, slots, slot, _message_of(draft, identity, slot), now_ms)


def in_slot(notification: ScheduledNotification, slot: Slot) -> ScheduledNotification:
    """Return a notification in another slot."""
    return notification._replace(slot=slot, message_id=_message_of(notification.draft, notification.id, slot))


def _message_of(draft: NotificationDraft, identity: str, slot: Slot) -> str | None:
    if draft.channel == Channel.ACTIVITY_FEED:
        return None  # the inbox row is all there is
    if slot.grouping_key is None or slot.is_first:
        return message_id(identity)
    return gathered_message_id(slot.grouping_key, draft.channel, draft.key, slot.due_at_ms)
