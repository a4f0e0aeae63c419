"""Measurement of how much each reader has not read yet: pipeline, lake, relays, consumers, queues, consumer groups.

Offsets of the log have gaps, so unread events are counted: exactly up to ``exact_count``; of more, their number is
estimated from how dense the first ones are. What relays measured of consumer groups is taken from the store.
Next: ``flow/eventlog/lag.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, Engine, and_, func, select

from tocsin.flow.eventlog.lag import LagLimits, ReaderKind, ReaderLag
from tocsin.flow.eventlog.readers import INGEST, LAKE, QUEUE, RELAY, STREAMS
from tocsin.model.change import RECORDED
from tocsin.model.entity import Document
from tocsin.settings import WorkerSettings
from tocsin.store.database.documents import from_text
from tocsin.store.database.engine import reading
from tocsin.store.database.log_tables import reader_lag, scheduled_job
from tocsin.store.database.tables import QUEUED_MESSAGE, change_event, entity, message, pipeline_progress
from tocsin.store.eventlog.consumers import consumers_as_readers
from tocsin.store.eventlog.lag_states import ConsumerGroups
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import readable_end

MOST_READERS = 200
"""The most queues, and consumer groups of one relay, that are measured."""

STALE_AFTER_MS = 60_000
"""The least age from which a measurement of a relay says nothing of now."""

_STALE_AFTER_INTERVALS = 3

EXACT_COUNT = 20_000
"""The most unread events that are counted."""

_OLDEST_AMONG = 1_000
"""Messages of a queue among which the oldest is looked for."""

_EVENT, _MESSAGE = change_event.c, message.c
_RELAYS = f"{RELAY}%"


class _ReadOffset(NamedTuple):
    """How far a reader of the log is, and when it said so."""

    reader: str
    kind: ReaderKind
    log_offset: int
    read_at_ms: int | None


class _Unread(NamedTuple):
    """Events behind an offset: how many, whether that is an estimate, and when the first happened (None: unknown)."""

    event_count: int = 0
    is_estimate: bool = False
    oldest_ms: int | None = None


@dataclass(frozen=True)
class Measurement:
    """Lags of all readers; ``missing`` says of which there are none known, and why."""

    log_offset: int
    lags: tuple[ReaderLag, ...]
    missing: tuple[str, ...] = ()


def lag_limits(settings: WorkerSettings, *, lake_every_s: float) -> LagLimits:
    """Return the limits that the settings state; the lake may be as late as two of its intervals."""
    patience_ms = {LAKE: int(2_000 * lake_every_s)}
    return LagLimits(settings.event_lag_limit, settings.event_lag_limits, patience_ms)


class ReaderLags:
    """Measures the lags of one store.

    ``has_lake``: the lake is kept. ``has_relay``: a broker is set. ``every_s``: seconds between two measurements of a
    relay.
    """

    def __init__(
        self, engine: Engine, *, has_lake: bool = True, has_relay: bool = False, every_s: float = 10.0
    ) -> None:
        self._engine, self._has_lake, self._has_relay = engine, has_lake, has_relay
        self._stale_after_ms = max(STALE_AFTER_MS, int(_STALE_AFTER_INTERVALS * 1000 * every_s))
        self._groups = ConsumerGroups(engine)

    def measure(self, *, now_ms: int, exact_count: int = EXACT_COUNT) -> Measurement:
        """Return the lags of all readers, by name."""
        lake_end = Lake(self._engine).end() if self._has_lake else None
        with reading(self._engine) as connection:
            end = readable_end(connection)
            of_log = lags_of_log(connection, lake_end=lake_end, exact_count=exact_count)
            lags = [*of_log, *_of_queues(connection, exact_count)]
        group_lags, missing = self._of_groups(now_ms)
        return Measurement(end, tuple(sorted([*lags, *group_lags], key=lambda lag: lag.reader)), missing)

    def _of_groups(self, now_ms: int) -> tuple[list[ReaderLag], tuple[str, ...]]:
        measurements = self._groups.all()
        lags: list[ReaderLag] = []
        missing_groups: list[str] = []
        if self._has_relay and all(name.startswith(INGEST) for name in measurements):
            missing_groups.append("Consumer groups: no relay has measured them yet. Is `tocsin relay` running?")
        for relay_name, (measured_at_ms, document) in measurements.items():
            process = "ingest" if relay_name.startswith(INGEST) else "relay"
            if reason := self._reason_of_silence(process, document, measured_at_ms, now_ms):
                missing_groups.append(f"{_measured_words(relay_name)}: {reason}")
            else:
                lags += [_group_lag(group, measured_at_ms) for group in document["groups"]]
        return _largest_by_reader(lags), tuple(missing_groups)

    def _reason_of_silence(self, process: str, document: Document, measured_at_ms: int, now_ms: int) -> str | None:
        """Return why the lags that a process measures are not known now; None if they are."""
        if fault := document.get("fault"):
            return str(fault)
        age_s = (now_ms - measured_at_ms) // 1000
        is_stale = age_s * 1000 > self._stale_after_ms
        return f"last measured {age_s} s ago. Is `tocsin {process}` running?" if is_stale else None


def _measured_words(name: str) -> str:
    """Return of what a process of this name measures the lag."""
    if name.startswith(INGEST):
        return f"Consumer group {name.removeprefix(INGEST)} of events of other systems"
    return f"Consumer groups of the relay {name}"


def _largest_by_reader(lags: Iterable[ReaderLag]) -> list[ReaderLag]:
    """Return one lag per reader: of a group that several relays measured, the largest; topics may be the same."""
    by_reader: dict[str, ReaderLag] = {}
    for lag in lags:
        earlier_lag = by_reader.get(lag.reader)
        if earlier_lag is None or lag.event_count > earlier_lag.event_count:
            by_reader[lag.reader] = lag
    return list(by_reader.values())


def _group_lag(group: Document, measured_at_ms: int) -> ReaderLag:
    kind = ReaderKind(group.get("kind", ReaderKind.CONSUMER_GROUP))
    return ReaderLag(
        group["reader"],
        kind,
        group["eventCount"],
        log_offset=group.get("logOffset"),
        is_estimate=kind is ReaderKind.CONSUMER_GROUP and group["eventCount"] > 0,  # markers of transactions count, too
        oldest_ms=group.get("oldestMs"),
        read_at_ms=measured_at_ms,
    )


def lags_of_log(
    connection: Connection, *, lake_end: int | None = None, exact_count: int = EXACT_COUNT
) -> Iterator[ReaderLag]:
    """Yield the lags of the queries, of relays, of registered consumers, and of the lake if its end is given."""
    end = readable_end(connection)
    unread_by_offset: dict[int, _Unread] = {}
    for progress in _progress(connection, lake_end):
        offset = progress.log_offset
        if offset not in unread_by_offset:
            unread_by_offset[offset] = _unread(connection, offset, end, exact_count)
        unread = unread_by_offset[offset]
        # Events of a history happened long before they were written: nobody knows when that was.
        oldest_ms = unread.oldest_ms if unread.oldest_ms is not None else progress.read_at_ms
        yield ReaderLag(
            progress.reader,
            progress.kind,
            unread.event_count,
            log_offset=offset,
            is_estimate=unread.is_estimate,
            oldest_ms=oldest_ms if unread.event_count else None,
            read_at_ms=progress.read_at_ms,
        )


def _progress(connection: Connection, lake_end: int | None) -> Iterator[_ReadOffset]:
    row = pipeline_progress.c
    query = select(row.query_name, row.log_offset, row.updated_at_ms)
    by_name = {one.query_name: one for one in connection.execute(query.where(row.query_name.in_(STREAMS)))}
    for name in STREAMS:
        query_row = by_name.get(name)
        offset, at_ms = (0, None) if query_row is None else (query_row.log_offset, query_row.updated_at_ms)
        yield _ReadOffset(name, ReaderKind.QUERY, offset, at_ms)
    for relay_row in connection.execute(query.where(row.query_name.like(_RELAYS))):
        yield _ReadOffset(relay_row.query_name, ReaderKind.RELAY, relay_row.log_offset, relay_row.updated_at_ms)
    for reader, offset, committed_at_ms in consumers_as_readers(connection):
        yield _ReadOffset(reader, ReaderKind.CONSUMER, offset, committed_at_ms)
    if lake_end is not None:
        ran = select(scheduled_job.c.ran_at_ms).where(scheduled_job.c.name == LAKE)
        ran_at_ms = connection.execute(ran).scalar_one_or_none()
        yield _ReadOffset(LAKE, ReaderKind.LAKE, lake_end, ran_at_ms or None)


def _unread(connection: Connection, after: int, end: int, exact_count: int) -> _Unread:
    """Return the events above one offset, up to the readable end of the log."""
    if after >= end:
        return _Unread()
    unread_events = select(_EVENT.log_offset).where(_EVENT.log_offset > after, _EVENT.log_offset <= end)
    first_rows = unread_events.order_by(_EVENT.log_offset).limit(exact_count).subquery()
    counts_query = select(func.count(), func.max(first_rows.c.log_offset)).select_from(first_rows)
    count, last = connection.execute(counts_query).one()
    if not count:
        return _Unread()
    first_event = select(_EVENT.timestamp_ms, _EVENT.derived).where(_EVENT.log_offset > after)
    first = connection.execute(first_event.order_by(_EVENT.log_offset).limit(1)).one()
    oldest_ms = None if RECORDED in from_text(first.derived) else int(first.timestamp_ms)
    if count < exact_count or last >= end:
        return _Unread(count, False, oldest_ms)
    density = count / (last - after)
    return _Unread(count + round((end - last) * density), True, oldest_ms)


def _of_queues(connection: Connection, exact_count: int) -> Iterator[ReaderLag]:
    alert_ids = _alerts_with_queued_events(connection)
    exceeded_ids = [one for one in _alerts_with_exceeded_queues(connection) if one not in alert_ids]
    alerts_by_id = _references_to(connection, [*alert_ids, *exceeded_ids])
    for alert_id in [*alert_ids, *(one for one in exceeded_ids if one in alerts_by_id)]:
        in_queue = and_(QUEUED_MESSAGE, _MESSAGE.subscription_id == alert_id)
        first_rows = select(_MESSAGE.id).where(in_queue).limit(exact_count).subquery()
        count = int(connection.execute(select(func.count()).select_from(first_rows)).scalar_one())
        queued_times = select(_MESSAGE.created_at_ms).where(in_queue).order_by(_MESSAGE.due_at_ms).limit(_OLDEST_AMONG)
        oldest_ms = connection.execute(select(func.min(queued_times.subquery().c.created_at_ms))).scalar()
        yield ReaderLag(
            f"{QUEUE}{alert_id}",
            ReaderKind.QUEUE,
            count,
            alert=alerts_by_id.get(alert_id),
            is_estimate=count == exact_count,
            oldest_ms=oldest_ms,
        )


def _alerts_with_queued_events(connection: Connection) -> list[str]:
    """Return the ids of alerts whose queues hold events, at most ``MOST_READERS``, one index entry for each."""
    alert_ids: list[str] = []
    next_alert = select(func.min(_MESSAGE.subscription_id)).where(QUEUED_MESSAGE)
    while len(alert_ids) < MOST_READERS:
        last = alert_ids[-1:]
        query = next_alert.where(_MESSAGE.subscription_id > last[0]) if last else next_alert
        alert_id = connection.execute(query).scalar()
        if alert_id is None:
            break
        alert_ids.append(str(alert_id))
    return alert_ids


def _alerts_with_exceeded_queues(connection: Connection) -> list[str]:
    """Return the ids of alerts whose queues an event says to lag; a queue that is empty by now has recovered."""
    row = reader_lag.c
    query = select(row.reader).where(row.exceeded_since_ms.is_not(None), row.reader.startswith(QUEUE, autoescape=True))
    return [reader.removeprefix(QUEUE) for reader in connection.execute(query.order_by(row.reader)).scalars()]


def _references_to(connection: Connection, alert_ids: Sequence[str]) -> Mapping[str, Document]:
    query = select(entity.c.id, entity.c.fqn).where(entity.c.id.in_(alert_ids))
    alert_rows = connection.execute(query) if alert_ids else ()
    return {row.id: {"id": row.id, "type": "eventsubscription", "name": row.fqn} for row in alert_rows}
