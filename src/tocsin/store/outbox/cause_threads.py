"""Earlier messages of a cause: what the same alert has told the same recipient of the run or edits before.

A later message of the cause answers the first one, or changes it in place where a channel can. One statement serves all
messages of a claim; nothing is stored for it (``docs/decisions/0229-a-cause-is-one-thread.md``).
Next: ``delivery/worker/attempt.py``, ``model/causes.py`` for the rules.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Row, and_, bindparam, func, or_, select

from tocsin.delivery.dispatch import CauseThread, Dispatch, without_dropped
from tocsin.delivery.wording.incidents import tells_of_incident
from tocsin.delivery.wording.reports import is_report
from tocsin.model.causes import RUN_GAP_MS, CauseFacts, CauseKey, CauseKind, gather_causes, key_of
from tocsin.model.change import OF_CHANGE_REQUESTS, ChangeEvent
from tocsin.model.channels import WORDED
from tocsin.model.message import DroppedReason, Entry, Message, MessageStatus
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import attempt, change_event, message, notification

_MOST_READ = 5_000
"""So many notifications of earlier messages are read for a claim, the latest first."""

_MOST_SENT = 10
"""So many earlier messages are looked through for each, the latest: an alert may send one every second."""

MOST_REPEATED = 50
"""So many earlier messages are repeated in one that is changed in place; what comes after them is another message."""

_OF_ALERT = "alert:%"
"""What real-time alerts gather; digests at fixed times have other keys, and answer nothing."""

_own, _earlier = message.alias("own"), message.alias("earlier")
_EVENT = change_event.c
_IS_EARLIER = and_(
    _earlier.c.recipient == _own.c.recipient,
    _earlier.c.grouping_key == _own.c.grouping_key,
    _earlier.c.channel == _own.c.channel,
    _earlier.c.target == _own.c.target,
    _earlier.c.destination_id == _own.c.destination_id,
    _earlier.c.id != _own.c.id,
)
_IS_RECENT = _earlier.c.due_at_ms > _own.c.created_at_ms - RUN_GAP_MS
_IS_DELIVERED = _earlier.c.status == MessageStatus.DELIVERED.value
_IS_REPORT = or_(*(_EVENT.derived.contains(text, autoescape=True) for text in ('"quality"', '"run"')))
_AGE = func.row_number().over(partition_by=_own.c.id, order_by=(_earlier.c.due_at_ms.desc(), _earlier.c.id))
_SENT = (
    select(_own.c.id.label("own_id"), _earlier.c.id, _earlier.c.due_at_ms, _earlier.c.attempt_count, _AGE.label("age"))
    .join(_earlier, and_(_IS_EARLIER, _IS_RECENT))
    .where(_own.c.id.in_(bindparam("ids", expanding=True)), _own.c.grouping_key.like(_OF_ALERT), _IS_DELIVERED)
    .subquery("sent")
)
_HOW_IT_ENDED = and_(attempt.c.message_id == _SENT.c.id, attempt.c.number == _SENT.c.attempt_count)
_TOLD = (
    select(_SENT.c.own_id, _SENT.c.id, _SENT.c.due_at_ms, attempt.c.remote_id)
    .add_columns(_EVENT.log_offset, _EVENT.entity_type, _EVENT.entity_id, _EVENT.entity_fqn, _EVENT.user_name)
    .add_columns(_EVENT.derived.contains('"isBot":true', autoescape=True).label("is_bot"))
    .add_columns(_EVENT.reason, _EVENT.timestamp_ms)
    .join(notification, notification.c.message_id == _SENT.c.id)
    .join(change_event, _EVENT.log_offset == notification.c.log_offset)
    .outerjoin(attempt, _HOW_IT_ENDED)
    .where(_SENT.c.age <= _MOST_SENT, _EVENT.user_name.in_(bindparam("actors", expanding=True)), ~_IS_REPORT)
    .order_by(_EVENT.log_offset.desc())
    .limit(_MOST_READ)
)
_HOW_IT_WENT = and_(attempt.c.message_id == _earlier.c.id, attempt.c.number == _earlier.c.attempt_count)
_IS_CLAIMED = _earlier.c.lease_owner.is_not(None)
_SHOWN = (
    select(*(_earlier.c[field.name] for field in fields(Message)))
    .add_columns(_earlier.c.lease_owner, attempt.c.dropped)
    .select_from(_own.join(_earlier, _IS_EARLIER).outerjoin(attempt, _HOW_IT_WENT))
    .where(_own.c.id == bindparam("id"), _own.c.grouping_key.like(_OF_ALERT))
    .where(_earlier.c.due_at_ms > bindparam("after_ms"))
    .where(or_(_IS_CLAIMED, and_(_IS_DELIVERED, attempt.c.remote_id == bindparam("remote_id"))))
    .order_by(_IS_CLAIMED.desc(), _earlier.c.id)
    .limit(MOST_REPEATED + 1)
)
"""What is being sent, else what one message shows, and what was left out of it."""


class _ToldEvent(NamedTuple):
    """An event at its place in the log, and the message that told of it, which its receiver calls ``remote_id``."""

    offset: int
    message_id: str
    due_at_ms: int
    remote_id: str | None


def with_cause_threads(connection: Connection, dispatches: Sequence[Dispatch]) -> list[Dispatch]:
    """Return claimed messages, those that continue a cause with the first message about it to the same recipient.

    A message of several causes continues none, nor does one that reports how an asset fares: it is told by itself.
    Events have log-in names here, because display names do not tell people apart.
    """
    keys = {one.message.id: key for one in dispatches if (key := _key_of_message(one)) is not None}
    if not keys:
        return list(dispatches)
    told_events, facts_by_offset = _told_events(connection, keys)
    offsets_by_place: dict[tuple[int, ...], frozenset[int]] = {}

    def with_thread(dispatch: Dispatch) -> Dispatch:
        events = told_events.get(dispatch.message.id, [])
        own_facts = _facts_of(dispatch.entries) if events else []
        place = (*(one.offset for one in own_facts), -1, *(one.offset for one in events))
        if place not in offsets_by_place:  # the same for all whom the same events were told
            facts = [facts_by_offset[one.offset] for one in events]
            offsets_by_place[place] = _continued_offsets(own_facts, facts) if events else frozenset()
        continued_events = [one for one in events if one.offset in offsets_by_place[place]]
        return replace(dispatch, cause_thread=_thread_of(continued_events)) if continued_events else dispatch

    return list(map(with_thread, dispatches))


def _key_of_message(dispatch: Dispatch) -> CauseKey | None:
    """Return what all events of a message have in common, if a run or the edits of one actor join them."""
    if dispatch.message.channel not in WORDED or any(_is_apart(entry.event) for entry in dispatch.entries):
        return None
    keys = {key_of(one) for one in _facts_of(dispatch.entries)}
    return next(iter(keys)) if len(keys) == 1 and min(keys).kind in (CauseKind.RUN, CauseKind.SESSION) else None


def _is_apart(event: ChangeEvent) -> bool:
    """Return whether an event is told by itself: it reports something, or is about an incident or a change request."""
    return is_report(event) or tells_of_incident(event) or event.event_type in OF_CHANGE_REQUESTS


def _told_events(
    connection: Connection, keys: Mapping[str, CauseKey]
) -> tuple[dict[str, list[_ToldEvent]], dict[int, CauseFacts]]:
    """Return what earlier messages told of the causes of messages, by message, where they told of any; and its facts.

    What all of a cause has in common is worked out for each event once.
    """
    told_events: dict[str, list[_ToldEvent]] = defaultdict(list)
    facts_by_offset: dict[int, CauseFacts] = {}
    key_by_offset: dict[int, CauseKey] = {}
    actors = sorted({key.actor for key in keys.values()})
    for row in connection.execute(_TOLD, {"ids": sorted(keys), "actors": actors}):
        own_id, offset = row.own_id, row.log_offset
        if offset not in facts_by_offset:
            about = (offset, row.entity_type, row.entity_id, row.entity_fqn)
            facts = CauseFacts(*about, row.user_name, bool(row.is_bot), row.reason, row.timestamp_ms)
            facts_by_offset[offset], key_by_offset[offset] = facts, key_of(facts)
        if key_by_offset[offset] == keys[own_id]:
            told_events[own_id].append(_ToldEvent(offset, row.id, row.due_at_ms, row.remote_id))
    return told_events, facts_by_offset


def _continued_offsets(own_facts: Sequence[CauseFacts], told_facts: Sequence[CauseFacts]) -> frozenset[int]:
    """Return the places in the log of what was told before that no pause parts from all that is told now."""
    is_bot = any(facts.is_bot for facts in told_facts)
    current_facts = [facts._replace(is_bot=is_bot) for facts in own_facts]
    groups = gather_causes([*current_facts, *told_facts])
    group = next(group for group in groups if current_facts[0] in group.events)
    return frozenset(one.offset for one in group.events) if set(current_facts) <= set(group.events) else frozenset()


def _thread_of(continued_events: Sequence[_ToldEvent]) -> CauseThread:
    """Return what a message continues: the first of these, and what the receiver calls it."""
    earlier = sorted(continued_events, key=lambda one: (one.due_at_ms, one.message_id))
    return CauseThread(earlier[0].message_id, next((one.remote_id for one in earlier if one.remote_id), None))


def _facts_of(entries: Collection[Entry]) -> list[CauseFacts]:
    events = [(entry.log_offset, entry.event) for entry in entries]
    return [
        CauseFacts(
            *(offset, event.entity_type, event.entity_id, event.entity_fully_qualified_name),
            *(event.user_name, False, event.reason, event.timestamp),
        )
        for offset, event in events
    ]


class CauseThreads:
    """The messages of one store that tell of a cause and can be changed in place; ``load`` reads what they carry."""

    def __init__(self, engine: Engine, load: Callable[[Sequence[Message]], Sequence[Dispatch]]) -> None:
        self._engine, self._load = engine, load

    def entries_to_repeat(self, dispatch: Dispatch) -> tuple[Entry, ...] | None:
        """Return what the message shows that this one continues, in the order of the log.

        None while another message of the same alert to the same recipient is being sent: of two changes in place at a
        time, the later would take away what the earlier shows. Nor is what has buttons or an incident repeated. What
        the earlier messages left out stays left out, and what is replayed is sent again, as a message.
        """
        thread = dispatch.cause_thread
        if thread is None or thread.remote_id is None or dispatch.message.replay_id is not None:
            return None
        with reading(self._engine) as connection:
            shown_rows = _rows_shown(connection, dispatch.message, thread.remote_id)
        if len(shown_rows) > MOST_REPEATED or any(row.lease_owner is not None for row in shown_rows):
            return None
        messages = [Message(*row[: len(fields(Message))]) for row in shown_rows]
        drops = [DroppedReason.model_validate(one) for row in shown_rows for one in json.loads(row.dropped or "[]")]
        sent_parts = (without_dropped(one, drops) for one in self._load(messages))
        entries = [entry for one in sent_parts if one is not None for entry in one.entries]
        if any(_is_apart(entry.event) or entry.whole_id is not None for entry in entries):
            return None
        return tuple(sorted(entries, key=lambda entry: (entry.log_offset, entry.notification_id)))


def _rows_shown(connection: Connection, own_message: Message, remote_id: str) -> Sequence[Row[Any]]:
    """Return the messages that are being sent, and those that one message shows: back to the first.

    Each may be a pause older than the next, so that the first one of a long run is older than what is looked through.
    """
    shown_rows: Sequence[Row[Any]] = ()
    earliest_ms = own_message.created_at_ms
    while True:
        values = {"id": own_message.id, "remote_id": remote_id, "after_ms": earliest_ms - RUN_GAP_MS}
        rows_so_far = connection.execute(_SHOWN, values).all()
        if len(rows_so_far) == len(shown_rows):
            return rows_so_far
        shown_rows, earliest_ms = rows_so_far, min(row.due_at_ms for row in rows_so_far)
