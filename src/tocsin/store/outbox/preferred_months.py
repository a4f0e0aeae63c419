"""Notifications of a person in the last 30 days, each in the slot that their preferences of now would give it.

A statement for each channel reads the newest by an index, one more their preferences, one the alerts: their number does
not depend on that of the notifications. Slots are decided by ``flow/schedule`` as they are for what comes. Left out are
mutes and hourly limits, which are of their time. Next: ``server/routes/notifications/preferences.py``.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Engine, select

from tocsin.conditions.event_kinds import kinds_of
from tocsin.flow.schedule.messages import Schedule, slot_order, timings_of
from tocsin.model.change_kinds import EventKind, Frequency
from tocsin.model.entity import Document
from tocsin.model.notification import parse_reasons
from tocsin.model.notification_draft import EventHead, NotificationDraft, Reasons, reasons_of
from tocsin.model.preferences import PREFERRED_CHANNELS
from tocsin.model.preferred_month import ALL_ROLES, MONTH_DAYS, ChannelMonth, PreferredMonth
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox.preferences import find_preferences

MOST_OF_CHANNEL = 5_000
"""Notifications over a channel that count: the newest."""

_MONTH_MS = MONTH_DAYS * 86_400_000
_COLUMNS = (
    notification.c.created_at_ms,
    notification.c.reasons,
    change_event.c.log_offset,
    change_event.c.id,
    change_event.c.event_type,
    change_event.c.entity_type,
    change_event.c.entity_id,
    change_event.c.timestamp_ms,
    change_event.c.derived,
)

Row = Any  # Any: a row of SQLAlchemy's, with ``_COLUMNS``
Sees = Callable[[Iterable[Document]], set[str]]
"""Returns the ids of those of these references whose entities a reader may see."""


class PreferredMonths:
    """The last 30 days of the people of one store."""

    def __init__(self, engine: Engine, *, most_of_channel: int = MOST_OF_CHANNEL) -> None:
        self._engine, self._most_of_channel = engine, most_of_channel

    def of(self, user_id: str, now_ms: int, sees: Sees) -> PreferredMonth:
        """Return what the preferences of a person would have given since then, of what a reader may see."""
        since_ms = now_ms - _MONTH_MS
        with reading(self._engine) as connection:
            rows_by_channel = {
                channel: self._rows(connection, user_id, channel, since_ms) for channel in PREFERRED_CHANNELS
            }
            choices = find_preferences(connection, [user_id])
        is_cut = any(len(told_rows) > self._most_of_channel for told_rows in rows_by_channel.values())
        visible_rows = _visible_rows(rows_by_channel, self._most_of_channel, sees)
        kinds = _kinds_of_events(chain.from_iterable(visible_rows.values()))
        drafts = {channel: _drafts_of(user_id, channel, told_rows) for channel, told_rows in visible_rows.items()}
        all_drafts = [draft for of_channel in drafts.values() for _, draft in of_channel]
        alert_ids = {alert_id for draft in all_drafts for alert_id in draft.reasons.alert_ids}
        timings = timings_of(Subscriptions(self._engine).list_all(alert_ids))
        schedule_at = cache(lambda at_ms: Schedule(timings, replace(choices, kinds=kinds), at_ms))
        return PreferredMonth(
            since=since_ms,
            channels={channel: _month_of(of_channel, schedule_at) for channel, of_channel in drafts.items()},
            kinds=_kind_counts(all_drafts, kinds),
            is_cut=is_cut,
        )

    def _rows(self, connection: Connection, user_id: str, channel: Channel, since_ms: int) -> Sequence[Row]:
        """Return the newest notifications of a person over a channel, one more than count."""
        theirs = (notification.c.recipient_id == user_id, notification.c.channel == channel.value)
        newest = select(notification.c.id).where(*theirs).order_by(notification.c.log_offset.desc())
        newest_ids = newest.limit(self._most_of_channel + 1).subquery()
        query = select(*_COLUMNS).select_from(newest_ids).join(notification, notification.c.id == newest_ids.c.id)
        query = query.join(change_event, change_event.c.log_offset == notification.c.log_offset)
        query = query.where(notification.c.created_at_ms >= since_ms)
        return connection.execute(query.order_by(notification.c.log_offset.desc())).all()


def _visible_rows(
    rows_by_channel: Mapping[Channel, Sequence[Row]], most_count: int, sees: Sees
) -> dict[Channel, list[Row]]:
    """Return the rows about what a reader may see, without channels that have none."""
    counted_rows = {channel: told_rows[:most_count] for channel, told_rows in rows_by_channel.items() if told_rows}
    references = {(row.entity_type, row.entity_id) for told_rows in counted_rows.values() for row in told_rows}
    visible_ids = sees({"type": entity_type, "id": entity_id} for entity_type, entity_id in references)
    visible_rows = {
        channel: [row for row in told_rows if row.entity_id in visible_ids]
        for channel, told_rows in counted_rows.items()
    }
    return {channel: told_rows for channel, told_rows in visible_rows.items() if told_rows}


def _kinds_of_events(told_rows: Iterable[Row]) -> dict[str, tuple[EventKind, ...]]:
    """Return the kinds of each event."""
    return {row.id: kinds_of(row.event_type, json.loads(row.derived)) for row in told_rows}


def _drafts_of(user_id: str, channel: Channel, told_rows: Iterable[Row]) -> list[tuple[int, NotificationDraft]]:
    """Return when each notification was written, and its draft as it was then; those without a reason are left out."""
    parse = cache(_parse_reasons)
    drafts = []
    for row in told_rows:
        reasons = parse(row.reasons)
        head = EventHead(row.log_offset, row.id, row.entity_id, None, row.timestamp_ms)
        drafts.append((row.created_at_ms, NotificationDraft(head, channel, user_id, "", user_id, reasons)))
    return [(created_ms, draft) for created_ms, draft in drafts if draft.reasons.alert_ids]


def _parse_reasons(text: str) -> Reasons:
    return reasons_of(parse_reasons(text))


def _month_of(drafts: Sequence[tuple[int, NotificationDraft]], schedule_at: Callable[[int], Schedule]) -> ChannelMonth:
    """Return how drafts come; ``schedule_at`` gives the schedule of a moment."""
    counts: Counter[str] = Counter()
    digest_times: set[int] = set()
    for created_ms, draft in drafts:
        slots = schedule_at(created_ms).slots(draft)
        slot = min(slots, key=partial(slot_order, now_ms=created_ms))
        if slot.choice.frequency is Frequency.NEVER:
            counts["never"] += 1
        elif slot.due_at_ms > created_ms:
            counts["in_digests"] += 1
            digest_times.add(slot.due_at_ms)
        else:
            counts["at_once"] += 1
    return ChannelMonth(
        at_once_count=counts["at_once"],
        digest_count=len(digest_times),
        in_digests_count=counts["in_digests"],
        never_count=counts["never"],
    )


def _kind_counts(
    drafts: Iterable[NotificationDraft], kinds: Mapping[str, Sequence[EventKind]]
) -> dict[str, dict[str, int]]:
    """Return how many events were of each kind, by role; an event counts once, whatever the channels."""
    events_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for draft in drafts:
        roles = {ALL_ROLES, *(role.value for role in draft.reasons.because.roles if role is not None)}
        for kind in kinds[draft.event.event_id]:
            for role in roles:
                events_of[kind.kind, role].add(draft.event.event_id)
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for (kind_name, role_name), event_ids in sorted(events_of.items()):
        counts[kind_name][role_name] = len(event_ids)
    return dict(counts)
