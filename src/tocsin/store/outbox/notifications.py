"""Idempotent writes of notifications and messages to the store.

All rows of an event, with the results of its matches, are written in one transaction.
Next: ``store/outbox/messages.py`` for what is sent, ``store/outbox/inbox.py`` for in-app notifications.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter

from sqlalchemy import Connection, Engine, select

from tocsin.flow.eventlog.position import BEGINNING, LogPosition
from tocsin.flow.schedule.messages import ScheduledNotification
from tocsin.flow.track.alert_incidents import NO_WORK, IncidentWork
from tocsin.model.match_result import MatchResult, Pair
from tocsin.store.catalogue.alerts import incidents
from tocsin.store.database.bulk import BulkInsert, Row, insert_new
from tocsin.store.database.engine import insert_into, is_sqlite, reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import change_event, notification, pipeline_progress
from tocsin.store.eventlog.log import check_holds, holds, progress_of
from tocsin.store.outbox import match_results
from tocsin.store.outbox.event_portions import DividedEvent, RecipientPortion, has_all, note_stored
from tocsin.store.outbox.event_portions import plan as plan_portions
from tocsin.store.outbox.firings import Fired, FiringCounts
from tocsin.store.outbox.gathering import MESSAGES, gather, message_row
from tocsin.store.outbox.merging import add_reasons
from tocsin.store.outbox.needs import Needs
from tocsin.store.outbox.preferences import SqlPreferences, WaitingFor

_NOTIFICATIONS = BulkInsert(
    notification,
    (
        *("id", "event_id", "log_offset", "channel", "recipient_id", "reasons", "due_at_ms", "created_at_ms"),
        *("recipient", "message_id", "whole_id", "preferred", "need"),
    ),
    counted=(
        "log_offset",
        "reasons",
        "channel",
        "recipient_id IS NOT NULL",
        "left(preferred, 5) = 'mute '",
    ),
)
_id = itemgetter(0)


class Storing:
    """A transaction under way that stores the notifications of some events, a part at a time.

    ``resolved`` are those of the matches that have a result already: their notifications are left out.
    """

    def __init__(self, connection: Connection, pairs: Sequence[Pair], portion: RecipientPortion | None = None) -> None:
        self._connection = connection
        self.resolved = match_results.resolved_pairs(connection, pairs)
        withheld = match_results.withheld(connection, pairs) if self.resolved else set[Pair]()
        self._firings = FiringCounts([pair for pair in pairs if pair not in withheld])
        self._known: dict[int, set[str]] = {}
        self._wholes: dict[str, str | None] = {}
        self._needs = Needs(connection)
        self._new_count = 0
        self.waiting: dict[str, WaitingFor] = {}
        self.stored_at_ms = 0
        if portion is not None and has_all(connection, portion.key.log_offset):
            self._known[portion.key.log_offset] = set()  # those of other portions are of other people

    def add(self, notifications: Sequence[ScheduledNotification]) -> None:
        """Store notifications and their messages.

        One that another streaming query or an earlier run has written takes the new reasons, as long as it is not sent.
        """
        self._note_waiting(notifications)
        new = notifications
        if self.resolved:
            new = [one for one in notifications if self._has_new_match(one)]
        single_notifications, stored_notifications = new, list[ScheduledNotification]()
        if any(one.gathers for one in new):
            unknown_notifications = self._not_stored_yet(new)
            stored_notifications = (
                [] if len(unknown_notifications) == len(new) else _notifications_without(new, unknown_notifications)
            )
            single_notifications, placed_notifications = gather(self._connection, unknown_notifications)
            new = [*single_notifications, *placed_notifications]
        stored_count = self._store(new, _message_rows(single_notifications))
        self._new_count += stored_count
        if stored_notifications or stored_count < len(new):
            again = [*new, *stored_notifications]
            self._firings.add(add_reasons(self._connection, again, self._needs.of_all(again)))

    def _note_waiting(self, notifications: Sequence[ScheduledNotification]) -> None:
        """Note by which preferences notifications wait, to look afterwards whether these have changed meanwhile."""
        for scheduled in notifications:
            version = scheduled.slot.version
            if version is None:
                continue
            if (recipient_id := scheduled.draft.recipient_id) is not None:
                earlier_version, ids = self.waiting.get(recipient_id, (version, []))
                ids.append(scheduled.id)
                self.waiting[recipient_id] = (min(version, earlier_version), ids)
                self.stored_at_ms = scheduled.created_at_ms

    def finish(
        self, results: Sequence[MatchResult], work: IncidentWork = NO_WORK, divided: Sequence[DividedEvent] = ()
    ) -> None:
        """Store what the matches came to: their results and firings, and the incidents that they open and resolve.

        Those of ``divided`` events come with their portions, which are written down.
        """
        self._firings.write(self._connection)
        match_results.keep(self._connection, results)
        incidents.open_and_resolve(self._connection, work)
        for event in divided:
            if not event.pairs <= self.resolved:
                plan_portions(self._connection, event)

    def finish_portion(self, portion: RecipientPortion, counts: Mapping[str, int], *, now_ms: int) -> None:
        """Store that a portion of an event is stored, with so many notifications by alert; of the last, the results.

        Raises
        ------
        PortionStored : another transaction has stored it
        """
        results = note_stored(self._connection, portion, counts, new_count=self._new_count, now_ms=now_ms)
        self._firings.add_to_stored(self._connection)
        match_results.keep(self._connection, results)

    def _store(self, notifications: Sequence[ScheduledNotification], message_rows: Sequence[Row]) -> int:
        """Store those that are not there yet, with these messages; return how many that are."""
        unknown_notifications = self._not_stored_yet(notifications)
        self._find_wholes(notifications)
        self._needs.read_events(notifications)
        notification_rows = sorted(map(self._notification_row, notifications), key=_id)
        work = ((_NOTIFICATIONS, notification_rows), (MESSAGES, message_rows))
        if (is_sqlite(self._connection) or len(unknown_notifications) == len(notifications)) and insert_new(
            self._connection, work
        ):
            self._firings.add(_firing_of(one) for one in unknown_notifications if not one.is_muted)
            return len(unknown_notifications)
        counts = _NOTIFICATIONS.run(self._connection, notification_rows)
        MESSAGES.run(self._connection, message_rows)
        for *firing_key, is_muted, count in counts:
            if not is_muted:
                self._firings.add_kind(tuple(firing_key), count)
        return sum(count for *_, count in counts)

    def _find_wholes(self, notifications: Sequence[ScheduledNotification]) -> None:
        """Learn which wholes there are: parts of an import name one that is written only if much was."""
        new_ids = {one.draft.event.part_of for one in notifications if one.draft.event.part_of}.difference(self._wholes)
        if not new_ids:
            return
        self._wholes |= dict.fromkeys(new_ids)
        for (identity,) in rows_by_key(self._connection, select(change_event.c.id), change_event.c.id, new_ids):
            self._wholes[identity] = identity

    def _notification_row(self, scheduled: ScheduledNotification) -> Row:
        """Return the columns of ``_NOTIFICATIONS``."""
        draft = scheduled.draft
        event = draft.event
        return (
            *(scheduled.id, event.event_id, event.offset, draft.channel.value, draft.recipient_id, draft.reasons.text),
            *(scheduled.slot.due_at_ms, scheduled.created_at_ms, draft.key, scheduled.message_id),
            self._wholes.get(event.part_of or ""),
            scheduled.stored_choice,
            self._needs.of(scheduled),
        )

    def _has_new_match(self, scheduled: ScheduledNotification) -> bool:
        event, reasons = scheduled.draft.event, scheduled.draft.reasons
        return any((event.offset, alert) not in self.resolved for alert in reasons.destination_ids)

    def _not_stored_yet(self, notifications: Sequence[ScheduledNotification]) -> Sequence[ScheduledNotification]:
        """Return the notifications that were not there when this transaction began."""
        new = {one.draft.event.offset for one in notifications}.difference(self._known)
        self._known |= {offset: set() for offset in new}
        query = select(notification.c.log_offset, notification.c.id)
        for offset, identity in rows_by_key(self._connection, query, notification.c.log_offset, new):
            self._known[offset].add(identity)
        return [one for one in notifications if one.id not in self._known[one.draft.event.offset]]


class Notifications:
    """Writes what the pipeline has decided."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def storing(
        self, pairs: Sequence[Pair], *, last: LogPosition = BEGINNING, portion: RecipientPortion | None = None
    ) -> Iterator[Storing]:
        """Store the notifications of the matches ``pairs``, or of a portion, in one transaction: all of them or none.

        Raises
        ------
        LogDiverged : the log does not hold ``last``, the last event they are of: it was read from another store
        """
        with writing(self._engine) as connection:
            check_holds(connection, last)
            under_way = Storing(connection, pairs, portion)
            yield under_way
        if under_way.waiting:
            SqlPreferences(self._engine).move_late(under_way.waiting, now_ms=under_way.stored_at_ms)

    def add(
        self,
        notifications: Sequence[ScheduledNotification],
        results: Sequence[MatchResult] = (),
        *,
        last: LogPosition = BEGINNING,
        work: IncidentWork = NO_WORK,
    ) -> None:
        """Store notifications, their messages and the results of their matches in one transaction (``storing``)."""
        pairs = [one.pair for one in results if one.withheld_for is None]
        with self.storing(pairs, last=last) as under_way:
            under_way.add(notifications)
            under_way.finish(results, work)

    def processed_offset(self, query_name: str) -> int:
        """Return the offset up to which a query is done with every event; 0 for one that never ran."""
        with reading(self._engine) as connection:
            return progress_of(connection, query_name)

    def holds(self, position: LogPosition) -> bool:
        """Return whether the log is the one that was read up to ``position``."""
        with reading(self._engine) as connection:
            return holds(connection, position)

    def advance(self, query_name: str, log_offset: int, *, now_ms: int, event_id: str | None = None) -> None:
        """Record that a query has processed every event up to ``log_offset``; it never decreases.

        Raises
        ------
        LogDiverged : the log does not hold ``event_id``, the last event up to there: it was read from another store
        """
        with writing(self._engine) as connection:
            check_holds(connection, LogPosition(log_offset if event_id else 0, event_id))
            before = progress_of(connection, query_name, is_locked=True)
            _note_progress(connection, query_name, max(before, log_offset), now_ms)

    def begin_again(self, reader_name: str, log_offset: int, *, now_ms: int) -> None:
        """Record that a reader goes on after ``log_offset``, whether it has read more or less before."""
        with writing(self._engine) as connection:
            _note_progress(connection, reader_name, log_offset, now_ms)


def _note_progress(connection: Connection, name: str, log_offset: int, now_ms: int) -> None:
    row = {"query_name": name, "log_offset": log_offset, "updated_at_ms": now_ms}
    insert = insert_into(connection, pipeline_progress).values(row)
    connection.execute(insert.on_conflict_do_update(index_elements=["query_name"], set_=row))


def _notifications_without(
    notifications: Sequence[ScheduledNotification], left_out: Sequence[ScheduledNotification]
) -> list[ScheduledNotification]:
    ids = {one.id for one in left_out}
    return [one for one in notifications if one.id not in ids]


def _message_rows(notifications: Sequence[ScheduledNotification]) -> list[Row]:
    """Return the messages that carry one of these alone, each once, in order: neighbours in the index."""
    by_message = {one.message_id: one for one in notifications if one.message_id}
    return [message_row(by_message[identity]) for identity in sorted(by_message)]


def _firing_of(scheduled: ScheduledNotification) -> Fired:
    draft = scheduled.draft
    return draft.event.offset, draft.reasons.text, draft.channel.value, draft.recipient_id
