"""Claims of due messages, and records of their outcome.

Messages of replays are claimed separately, with the capacity that live messages leave (``store/outbox/replays.py``).
A claim is valid as long as its session (``store/outbox/sessions.py``): until then no other worker gets the row,
afterwards any may. An outcome is recorded only while the claim still belongs to the recorder.
PostgreSQL skips rows that another worker is claiming; SQLite has one writer at a time.
Next: ``store/outbox/status.py``.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    Select,
    TextClause,
    and_,
    bindparam,
    exists,
    func,
    literal,
    null,
    select,
)

from tocsin.conditions.asset_states import with_own_states
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.wording.failing_rows import MOST_EXCERPT_CHARACTERS
from tocsin.flow.track.attempts import Finished, kind_of, reason_of
from tocsin.model.channels import WORDED
from tocsin.model.message import SUPPRESSED, CarriedEvent, Delivered, Entry, Message, MessageStatus
from tocsin.model.notification import parse_reasons
from tocsin.model.subscription import Channel
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.snapshots import EVENT_TEXT, Texts
from tocsin.store.database.statements import Prepared
from tocsin.store.database.tables import (
    OPEN_MESSAGE,
    REPLAYED_MESSAGE,
    attempt,
    change_event,
    entity,
    message,
    notification,
    worker_session,
)
from tocsin.store.database.version import SeldomRows
from tocsin.store.outbox.cause_threads import with_cause_threads
from tocsin.store.outbox.composed_digests import with_composed
from tocsin.store.outbox.current_state import with_incidents, with_requests
from tocsin.store.outbox.display_names import with_display_names
from tocsin.store.outbox.failing_rows import may_show_rows
from tocsin.store.outbox.hourly_limits import give_back
from tocsin.store.outbox.pauses import NO_PAUSES, Pauses, begin_probe, pauses_at, probe_again
from tocsin.store.outbox.preferences import SqlPreferences, WaitingFor, follow
from tocsin.store.outbox.quiet_times import gather_held
from tocsin.store.outbox.replays import count_replayed, is_sent
from tocsin.store.outbox.sessions import UNCLAIMED
from tocsin.store.outbox.status import Key, count_in, plan_again

SHOWN_BYTES = 16 * 2**20
"""Maximum bytes of events (JSON) read for one message to people; in memory they take four times as much."""

SENT_BYTES = 64 * 2**20
"""Maximum bytes of events (JSON) read for one message to machines."""

Which = ColumnElement[bool] | TextClause
_MOST_MADE = 100
"""Most things that are kept of one event: its words in the manner of one group of readers are one."""

_WAITING = (OPEN_MESSAGE, REPLAYED_MESSAGE)
_ANY_WAITING = tuple(select(message.c.id).where(which).limit(1) for which in _WAITING)
_COLUMNS = tuple(message.c[field.name] for field in fields(Message))


class Messages:
    """The messages of one store, as workers see them; with ``webhooks_only`` no others are claimed.

    ``events`` keeps what was made of an event for the messages that are read later; without it, of those read at once.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        shown_bytes: int = SHOWN_BYTES,
        webhooks_only: bool = False,
        events: RememberedTexts | None = None,
    ) -> None:
        self._engine, self._shown_bytes, self._events = engine, shown_bytes, events
        self._live = _WEBHOOKS if webhooks_only else _LIVE
        self._waiting = SeldomRows(engine, self._has_waiting)

    def are_waiting(self) -> bool:
        """Return whether messages wait to be sent, now or later; without a query where nothing was committed since."""
        return self._waiting.are_there()

    def are_known_to_be_missing(self) -> bool:
        """Return whether no message waits, for all that one knows without a query."""
        return self._waiting.are_known_to_be_missing()

    def _has_waiting(self) -> bool:
        with reading(self._engine) as connection:
            return any(connection.execute(query).first() is not None for query in _ANY_WAITING)

    def due_destinations(self, now_ms: int, *, replayed: bool = False) -> list[str]:
        """Return the ids of all destinations for which a message is due and free, in order: live ones or replayed."""
        which = _REPLAYED if replayed else self._live
        with reading(self._engine) as connection:
            return [row[0] for row in which.destinations.run(connection, {"now_ms": now_ms})]

    def pauses(self, now_ms: int) -> Pauses:
        """Return which destinations are paused, and which of them may be probed now."""
        return pauses_at(self._engine, now_ms)

    def claim(
        self,
        session_id: str,
        limit: int,
        *,
        now_ms: int,
        shares: Mapping[str, int] | None = None,
        pauses: Pauses = NO_PAUSES,
    ) -> list[Message]:
        """Take at most ``limit`` due messages for as long as the session lasts; the longest due first.

        ``shares`` says how many of them each destination may have; without it all are due alike. Of those that are
        probed it takes one, if no other worker does. A session that has ended gets nothing.
        """
        if shares is None:
            shares = dict.fromkeys(self.due_destinations(now_ms), limit)
        return self._claim_due(session_id, limit, shares, _Due(self._live, now_ms, pauses))

    def claim_replayed(
        self, session_id: str, shares: Mapping[str, int], *, now_ms: int, pauses: Pauses = NO_PAUSES
    ) -> list[Message]:
        """Take due messages of replays that are not cancelled, as ``claim`` does the others."""
        return self._claim_due(session_id, sum(shares.values()), shares, _Due(_REPLAYED, now_ms, pauses))

    def _claim_due(self, session_id: str, limit: int, shares: Mapping[str, int], due: _Due) -> list[Message]:
        claimed_messages: list[Message] = []
        with writing(self._engine) as connection:
            if _LASTS.run(connection, {"id": session_id}).fetchone() is None:  # kept until the transaction ends
                return []
            for destination_id, share in shares.items():
                room = min(share, limit - len(claimed_messages))
                claimed_messages += due.rows(connection, destination_id, room) if room > 0 else []
            if claimed_messages:
                connection.execute(_TAKE, {"ids": [one.id for one in claimed_messages], "session_id": session_id})
        return claimed_messages

    def dispatches(
        self,
        messages: Sequence[Message],
        *,
        fits: Callable[[Message, int], bool] = lambda _message, _bytes: True,
        only_ids: Collection[str] | None = None,
    ) -> list[Dispatch]:
        """Return the messages with the notifications that they carry and their incidents, in the same order.

        With ``only_ids`` no other notifications are read. What does not fit, by the bytes of its events as JSON and of
        the failing rows that it may show, is left out. Of a message with many large events, those beyond
        ``SHOWN_BYTES`` or ``SENT_BYTES`` are read in brief.
        """
        rows_by_message: dict[str, list[Row[Any]]] = defaultdict(list)
        fitting_dispatches: list[Dispatch] = []
        with reading(self._engine) as connection:
            events = _Events(Texts(connection), self._events)
            query = _CARRIED if only_ids is None else _CARRIED.where(notification.c.id.in_(only_ids))
            for row in connection.execute(query, {"ids": [message.id for message in messages]}).all():
                rows_by_message[row.message_id].append(row)
            for message in messages:
                carried_rows = rows_by_message.get(message.id, [])
                sizes = [row.document_bytes or len(row.document) for row in carried_rows]
                whole_sizes = _sizes_read_whole(message, sizes, self._shown_bytes)
                size = sum(whole_sizes) + _most_characters_of_rows(message, carried_rows)
                if carried_rows and fits(message, size):
                    entries = tuple(
                        events.entry(row, in_brief=at >= len(whole_sizes)) for at, row in enumerate(carried_rows)
                    )
                    fitting_dispatches.append(Dispatch(message, entries, event_bytes=size))
            threaded_dispatches = with_cause_threads(connection, fitting_dispatches)
            marked_dispatches = with_requests(connection, with_display_names(connection, threaded_dispatches))
            return with_composed(connection, with_incidents(connection, marked_dispatches))

    def release(self, session_id: str, ids: Collection[str], *, probes: Collection[Key] = (), now_ms: int = 0) -> None:
        """Give back claims of the session; what another one has claimed meanwhile stays its own.

        Of the destinations in ``probes`` the probe was among them: another is due at ``now_ms``.
        """
        own_claims = and_(message.c.id.in_(list(ids)), message.c.lease_owner == session_id)
        with writing(self._engine) as connection:
            connection.execute(message.update().where(own_claims).values(lease_owner=None))
            if probes:
                probe_again(connection, probes, now_ms)

    def keep_only(self, session_id: str, ids: Collection[str]) -> int:
        """Release all claims of the session except ``ids``; return how many there were.

        For a worker that does not know the result of its last claim, because the response was lost.
        """
        other_claims = and_(message.c.lease_owner == session_id, message.c.id.not_in(list(ids)))
        release = message.update().where(other_claims).values(lease_owner=None)
        with writing(self._engine) as connection:
            return sum(connection.execute(release.where(which)).rowcount for which in _WAITING)

    def plan_again(self, now_ms: int) -> int:
        """Let nothing be due later than its wait from now: such rows were planned by a clock that was set back since.

        Returns
        -------
        int : how many rows were planned anew
        """
        is_too_late = and_(message.c.due_at_ms > now_ms, message.c.due_at_ms - message.c.wait_ms > now_ms)
        with reading(self._engine) as connection:
            if not any(connection.execute(select(exists().where(which, is_too_late))).scalar() for which in _WAITING):
                return 0
        planned_update = message.update().where(is_too_late).values(due_at_ms=now_ms + message.c.wait_ms)
        with writing(self._engine) as connection:
            count = sum(connection.execute(planned_update.where(which)).rowcount for which in _WAITING)
            plan_again(connection, now_ms)
            return count

    def record(self, session_id: str, finished: Sequence[Finished], *, now_ms: int) -> set[str]:
        """Record the outcomes of these messages, all in one transaction; return the ids that were recorded.

        Messages that another session has claimed by now are skipped.
        """
        moved_ids, waiting = list[str](), dict[str, WaitingFor]()
        with writing(self._engine) as connection:
            claimed_ids = _lock_claimed(connection, session_id, (one.message.id for one in finished))
            own_attempts = [one for one in finished if one.message.id in claimed_ids]
            if counted_attempts := [one for one in own_attempts if one.counts]:
                _ATTEMPT.run_for(connection, [_attempt_row(one) for one in counted_attempts])
            if own_attempts:
                _STEP.run_for(connection, [_step_row(one, now_ms) for one in own_attempts])
                count_in(connection, own_attempts, now_ms=now_ms)
                count_replayed(connection, own_attempts, now_ms)
            if unsent_ids := [one.message.id for one in own_attempts if reason_of(one.attempt.outcome) in SUPPRESSED]:
                give_back(connection, unsent_ids)
            if held_attempts := [one for one in own_attempts if one.is_held]:
                moved_ids, waiting = gather_held(connection, held_attempts, now_ms=now_ms)
        if moved_ids:
            with writing(self._engine) as connection:  # apart: who writes notifications locks both, in another order
                follow(connection, moved_ids)
            SqlPreferences(self._engine).move_late(waiting, now_ms=now_ms)
        return claimed_ids


def _is_claimable(which: Which) -> ColumnElement[bool]:
    """Return the condition for a message to be due at ``now_ms`` and claimed under no session."""
    return and_(which, message.c.due_at_ms <= bindparam("now_ms"), UNCLAIMED)


def _destinations_of(which: Which, channel: Channel | None = None) -> Select[tuple[str]]:
    """Return the query of the destinations of due messages, in order; of a channel's, if one is given.

    It goes from destination to destination of the index of these messages: the cost follows the number of destinations,
    not the number of messages. So a destination is of the channel of its first message.
    """
    first = select(func.min(message.c.destination_id).label("id")).where(which).cte("d", recursive=True)
    next_destination = (
        select(func.min(message.c.destination_id))
        .where(which, message.c.destination_id > first.c.id)
        .correlate(first)
        .scalar_subquery()
    )
    walk = first.union_all(select(next_destination).where(first.c.id.is_not(None)))
    is_free = exists(literal(1)).where(_is_claimable(which), message.c.destination_id == walk.c.id).correlate(walk)
    query = select(walk.c.id).where(is_free).order_by(walk.c.id)
    if channel is None:
        return query
    of_first = select(message.c.channel).where(which, message.c.destination_id == walk.c.id).limit(1).correlate(walk)
    return query.where(of_first.scalar_subquery() == channel.value)


def _free_of(which: Which) -> Select[Any]:
    """Return the query of a destination's due messages, locked."""
    return (
        select(*_COLUMNS)
        .where(_is_claimable(which), message.c.destination_id == bindparam("destination_id"))
        .order_by(message.c.due_at_ms)
        .limit(bindparam("most"))
        .with_for_update(skip_locked=True)
    )


class _SeparateClaims(NamedTuple):
    """Statements over messages that are claimed apart from others: destinations of due ones, and due ones of one."""

    destinations: Prepared
    messages: Prepared
    query: Select[Any]


def _apart(waiting: Which, which: Which) -> _SeparateClaims:
    query = _free_of(which)
    return _SeparateClaims(Prepared(_destinations_of(waiting)), Prepared(query), query)


_LIVE = _apart(OPEN_MESSAGE, OPEN_MESSAGE)
_of_webhooks = _free_of(and_(OPEN_MESSAGE, message.c.channel == Channel.WEBHOOK.value))
_WEBHOOKS = _SeparateClaims(
    Prepared(_destinations_of(OPEN_MESSAGE, Channel.WEBHOOK)), Prepared(_of_webhooks), _of_webhooks
)
_REPLAYED = _apart(REPLAYED_MESSAGE, and_(REPLAYED_MESSAGE, is_sent()))
_LASTS = Prepared(select(worker_session.c.id).where(worker_session.c.id == bindparam("id")).with_for_update())
_THESE = message.c.id.in_(bindparam("ids", expanding=True))
_TAKE = message.update().where(_THESE).values(lease_owner=bindparam("session_id"))
_HELD = (
    select(message.c.id)
    .where(_THESE, message.c.lease_owner == bindparam("session_id"))
    .order_by(message.c.id)
    .with_for_update()
)
_CARRIED = (
    select(notification.c.message_id, notification.c.id, notification.c.log_offset, notification.c.reasons)
    .add_columns(notification.c.recipient_id, notification.c.event_id, notification.c.whole_id)
    .add_columns(*EVENT_TEXT, entity.c.deleted, change_event.c.entity_type)
    .join(change_event, change_event.c.id == notification.c.event_id)
    .outerjoin(entity, entity.c.id == notification.c.recipient_id)
    .where(notification.c.message_id.in_(bindparam("ids", expanding=True)))
    .order_by(notification.c.log_offset, notification.c.id)
)
_ATTEMPT = Prepared(attempt.insert(), attempt.c.keys())
_STEP = Prepared(
    message.update()
    .where(message.c.id == bindparam("message_id"))
    .values(
        status=bindparam("next_status"),
        attempt_count=bindparam("number"),
        due_at_ms=bindparam("next_due_at_ms"),
        wait_ms=bindparam("next_wait_ms"),
        lease_owner=null(),
        updated_at_ms=bindparam("now_ms"),
    )
)


@dataclass(frozen=True)
class _Due:
    """Which messages are claimed: those that are due, and of each destination that is probed one."""

    which: _SeparateClaims
    now_ms: int
    pauses: Pauses

    def rows(self, connection: Connection, destination_id: str, limit: int) -> list[Message]:
        """Return at most ``limit`` of a destination's messages, locked."""
        if destination_id not in self.pauses.probed:
            return self._free(connection, destination_id, limit)
        probes = self._free(connection, destination_id, 1)
        return probes if probes and begin_probe(connection, destination_id, self.now_ms) else []

    def _free(self, connection: Connection, destination_id: str, limit: int) -> list[Message]:
        values = {"destination_id": destination_id, "now_ms": self.now_ms, "most": limit}
        if not self.pauses.full_lanes:
            return [Message(*row) for row in self.which.messages.run(connection, values)]
        is_free = (message.c.channel + " " + message.c.target).not_in(sorted(self.pauses.full_lanes))
        return [Message(*row) for row in connection.execute(self.which.query.where(is_free), values)]


def _lock_claimed(connection: Connection, session_id: str, ids: Iterable[str]) -> set[str]:
    """Return which of ``ids`` the session has claimed, locked until the transaction ends."""
    return set(connection.execute(_HELD, {"ids": list(ids), "session_id": session_id}).scalars())


def _sizes_read_whole(message: Message, sizes: Sequence[int], shown_bytes: int) -> Sequence[int]:
    """Return the sizes of those events of a message that are read whole: the first, and what else there is room for."""
    room = shown_bytes if message.channel in WORDED else SENT_BYTES
    return sizes[: max(1, sum(size <= room for size in accumulate(sizes)))]


def _most_characters_of_rows(message: Message, carried_rows: Sequence[Row[Any]]) -> int:
    """Return how much the failing rows have at most that a message may show."""
    is_of_test = len(carried_rows) == 1 and may_show_rows(message.channel, carried_rows[0].entity_type)
    return MOST_EXCERPT_CHARACTERS if is_of_test else 0


class RememberedTexts:
    """Events with what was made of them, the last used ones, as far as their texts are not longer than this together.

    One whose text has changed since is another: so it is when a person was erased.
    """

    def __init__(self, most_characters: int) -> None:
        self._most_characters, self._size = most_characters, 0
        self._kept: OrderedDict[str, tuple[str, CarriedEvent]] = OrderedDict()

    def event(self, row: Row[Any], text: str) -> CarriedEvent:
        """Return the event of this row with this text."""
        text_before, event = self._kept.pop(row.event_id, ("", None))
        self._size -= len(text_before)
        if event is None or text != text_before:
            event = CarriedEvent(row.event_id, text)
        elif len(event.texts) > _MOST_MADE:
            event.texts.clear()
        self._kept[row.event_id] = text, event
        self._size += len(text)
        while self._size > self._most_characters and len(self._kept) > 1:
            _, (oldest_text, _) = self._kept.popitem(last=False)
            self._size -= len(oldest_text)
        return event


class _Events:
    """The events of a claim: one object for all messages that carry the same, in brief or not."""

    def __init__(self, texts: Texts, remembered: RememberedTexts | None) -> None:
        self._texts, self._remembered = texts, remembered
        self._by_id: dict[tuple[str, bool], CarriedEvent] = {}

    def entry(self, row: Row[Any], *, in_brief: bool) -> Entry:
        """Return a notification with its event."""
        reasons = parse_reasons(row.reasons)
        entry = Entry(
            notification_id=row.id,
            log_offset=row.log_offset,
            carried=self._event(row, in_brief=in_brief),
            in_brief=in_brief,
            reasons=reasons,
            recipient_id=row.recipient_id,
            recipient_gone=row.recipient_id is not None and row.deleted is not False,
            whole_id=row.whole_id,
        )
        return entry.with_event(with_own_states(entry.event, reasons)) if reasons[0].states else entry

    def _event(self, row: Row[Any], *, in_brief: bool) -> CarriedEvent:
        key = row.event_id, in_brief
        event = self._by_id.get(key)
        if event is None:
            text = self._texts.of(row)
            event = CarriedEvent(row.event_id, text) if self._remembered is None else self._remembered.event(row, text)
            self._by_id[key] = event = CarriedEvent.of(event.event.in_brief()) if in_brief else event
        return event


def _attempt_row(finished: Finished) -> dict[str, object]:
    outcome = finished.attempt.outcome
    return {
        "message_id": finished.message.id,
        "number": finished.attempt.number,
        "started_at_ms": finished.attempt.started_at_ms,
        "duration_ms": finished.attempt.duration_ms,
        "outcome": kind_of(outcome),
        "reason": reason_of(outcome).value,
        "status_code": outcome.status_code,
        "detail": _storable(outcome.detail),
        "remote_id": _storable(outcome.remote_id or "") or None if isinstance(outcome, Delivered) else None,
        "dropped": json.dumps([each.to_wire() for each in finished.attempt.dropped])
        if finished.attempt.dropped
        else None,
        "template_error": _storable(finished.attempt.template_error),
    }


def _storable(text: str) -> str:
    """Return what a receiver says without what no store takes: one such outcome would keep all others from it."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _step_row(finished: Finished, now_ms: int) -> dict[str, object]:
    due_at_ms = finished.message.due_at_ms if finished.step.due_at_ms is None else finished.step.due_at_ms
    is_replayed_again = finished.message.replay_id is not None and finished.step.due_at_ms is not None
    return {
        "message_id": finished.message.id,
        "next_status": (MessageStatus.AWAITING_REPLAY if is_replayed_again else finished.step.status).value,
        "number": finished.attempt.number if finished.counts else finished.message.attempt_count,
        "next_due_at_ms": due_at_ms,
        "next_wait_ms": finished.step.wait_ms,
        "now_ms": now_ms,
    }
