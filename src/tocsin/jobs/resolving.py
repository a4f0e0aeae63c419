"""Storing notifications on the executors: what a Spark task does with the matches of its partition.

All matches of an event are in one partition (``spark/match.py``). A task looks up who is concerned, by key, and stores
its rows itself: no row passes through the driver. A task may run twice, at once or one after the other: rows have
deterministic ids, and an event's rows, results and firings commit together.
Next: ``flow/pipeline.py``, the stages; ``store/outbox/notifications.py``.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache
from tocsin.chunks import chunks_of
from tocsin.flow.eventlog.position import LogPosition
from tocsin.flow.match.plan import RECOVERY
from tocsin.flow.pipeline import (
    MATCHING,
    NOTIFYING,
    AlertFacts,
    Batch,
    Context,
    Lookups,
    audiences_in,
    drafts_of,
    events_without,
    find_divisible,
    note_incidents,
    run,
    schedule,
    withhold,
)
from tocsin.flow.resolve.directory import Portion
from tocsin.flow.resolve.only_visible import RememberedEvents
from tocsin.flow.resolve.portions import Audiences, MatchedEvent
from tocsin.flow.track.alert_incidents import NO_WORK, IncidentWork
from tocsin.model.match_result import MatchCounts, Pair
from tocsin.model.notification_draft import EventHead
from tocsin.spark.schema import NUMBER, struct_of
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.database.engine import open_engine
from tocsin.store.database.group_commit import PATIENT
from tocsin.store.outbox.event_portions import DividedEvent, EventPortions
from tocsin.store.outbox.notification_ids import read_id_scheme
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.recipients.event_subjects import SqlEvents
from tocsin.store.recipients.holding import Holding
from tocsin.store.recipients.roots import Roots
from tocsin.store.recipients.wholes import Wholes

T = TypeVar("T")

OF_EVENT = ("event_id", "entity_id", "user_id", "timestamp_ms", "part_of")
"""The columns of an event that its matches carry along; see ``spark/match.matches``."""

COUNTS = struct_of(("matched", NUMBER), ("notified", NUMBER), nullable=False)
"""One row per task: numbers of matches and of notifications."""

EVENTS_AT_ONCE = 1_000
AHEAD_COUNT = 100_000
"""So many notifications are worked out before their transaction where that holds up all other writers."""

_FEWEST_PORTIONS = 5
"""So many portions has an event at least, if they can be so small: on SQLite one is worked out while one is stored."""

_TURN_S = 0.0005
_WRITERS = replace(PATIENT, cache_mib=64)
"""Rows of many recipients touch pages all over the indexes, which are written once if they fit."""


class Shared(Protocol):
    """What is sent to each executor once: a broadcast variable of Spark's."""

    @property
    def value(self) -> AlertFacts:
        """Return it."""


@dataclass(frozen=True)
class StoreAddress:
    """Where executors find the store, and how they open it."""

    url: str = field(repr=False)
    synchronous: str = "FULL"


class Resolving:
    """What resolving asks: the store's relations, permissions and events, and where notifications go."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.has_one_writer = engine, engine.dialect.name == "sqlite"
        self.directory, self.events = SqlDirectory(engine), SqlEvents(engine)
        self.permission_cache = PermissionCache(SqlSubjects(engine))
        self.notifications, self.preferences = Notifications(engine), SqlPreferences(engine)
        self.portions = EventPortions(engine)
        self.holding, self.roots, self.wholes = Holding(engine), Roots(engine), Wholes(engine)

    def close(self) -> None:
        """Close the connections to the store after a task: nobody knows when its process has another, or ends."""
        self.engine.dispose()

    def prepare(self, parts: Iterator[list[T]]) -> Iterator[list[T]]:
        """Return the parts, worked out as far as their transaction should not wait for them.

        On SQLite that is all, where it is not too much: nobody else writes during the transaction. Elsewhere it is the
        first part; the others are worked out while the store is busy with those before.
        """
        prefetched_parts, ready_parts, count = prefetch(parts), list[list[T]](), 0
        while (part := next(prefetched_parts, None)) is not None:
            ready_parts.append(part)
            count += len(part)
            if count >= AHEAD_COUNT or not self.has_one_writer:
                break
        return chain(ready_parts, prefetched_parts)

    def lookups(self, *, may_claim: bool) -> Lookups:
        """Return what the stages look up, with the policies as they are now.

        ``may_claim``: the first event of an alert behind an incident may be written down as the one that passes.
        """
        return Lookups(
            directory=self.directory,
            policies=self.permission_cache.current_policies(),
            events=RememberedEvents(self.events),
            find_held_back=partial(self.holding.find_held_back, may_claim=may_claim),
            find_roots=self.roots.of,
            find_wholes=self.wholes.of,
            find_preferences=self.preferences.of_recipients,
            ids=read_id_scheme(self.engine),
        )


@lru_cache(maxsize=8)
def open_resolving(store: StoreAddress) -> Resolving:
    """Return what this process asks of a store; kept, with what it remembers of permissions."""
    return Resolving(open_engine(store.url, synchronous=store.synchronous, most_connections=6, writers=_WRITERS))


class _Rehearsed(Exception):  # a signal, never an error
    """Everything went well, and the transaction is to be taken back."""


@dataclass(frozen=True)
class Notify:
    """The work of a task of the pipeline, for ``spark/tasks.in_tasks``: from matches to stored notifications.

    ``now_ms`` is the moment at which the micro-batch began; events before ``oldest_ms`` notify nobody, but count as
    matched. ``are_incidents_settled``: ``settle_incidents`` has run on the same matches. ``is_rehearsal``: what is
    stored is taken back, and no incident is opened. Of an event with more than ``most_recipients`` portions are written
    down for other tasks (``NotifyPortions``).
    """

    store: StoreAddress
    alerts: Shared
    now_ms: int
    oldest_ms: int | None = None
    are_incidents_settled: bool = False
    is_rehearsal: bool = False
    most_recipients: int | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take matches, rows of ``spark/match.matches`` with ``OF_EVENT``, and yield one row of ``COUNTS``."""
        matched = notified = 0
        with closing(self.open_resolving()) as resolving:
            for events in chunks_of(matched_events(batches), EVENTS_AT_ONCE):
                matched += sum(len(one.answers_by_alert.keys() - {RECOVERY}) for one in events)
                with tuned_interpreter():
                    notified += self._store(events, resolving)
        yield pa.RecordBatch.from_pylist([{"matched": matched, "notified": notified}])

    def open_resolving(self) -> Resolving:
        """Return what this process asks of the store."""
        return open_resolving(self.store)

    def context(self, resolving: Resolving) -> Context:
        """Return what the stages of one run share, with rights as they are now."""
        lookups = resolving.lookups(may_claim=True)
        return Context(self.alerts.value, lookups, self.now_ms, self.oldest_ms, prefetch=prefetch)

    def _store(self, events: Sequence[MatchedEvent], resolving: Resolving) -> int:
        """Store what these events give in one transaction; return how many notifications that is."""
        context, last = self.context(resolving), _last_of(events)
        batch = run(MATCHING, Batch(events), context)
        work = batch.incident_work
        if context.alerts.reads_incidents:  # of these events too: they come first
            if not (self.are_incidents_settled or self.is_rehearsal):
                _settle(work, last, resolving)
            work = NO_WORK
        counts, task_share = MatchCounts(batch.pairs), self._due(run(NOTIFYING, batch, context), context, resolving)
        parts = resolving.prepare(schedule(drafts_of(task_share.batch, context, task_share.audiences), context))
        with suppress(_Rehearsed), resolving.notifications.storing(batch.pairs, last=last) as under_way:
            for notifications in parts:
                counts.add(notification.offset_and_alerts for notification in notifications)
                under_way.add(notifications)
            results = counts.results(now_ms=self.now_ms, triggered=batch.triggered, withheld=batch.withheld)
            under_way.finish(
                [one for one in results if one.pair not in task_share.divided_pairs], work, task_share.divided
            )
            if self.is_rehearsal:
                raise _Rehearsed
        return counts.row_count

    def _due(self, batch: Batch, context: Context, resolving: Resolving) -> _TaskShare:
        """Return what this task stores of a batch that ``NOTIFYING`` left, and what it leaves to others."""
        if self.most_recipients is None or self.is_rehearsal or not batch.events:
            return _TaskShare(batch)
        audiences = audiences_in(batch, context)
        people = find_divisible(batch, context, audiences, limit=self.most_recipients)
        if not people:
            return _TaskShare(batch, audiences)
        planned_pairs = resolving.portions.pairs_at(people)
        most_ranges = max(1, self.most_recipients // context.people_at_once)
        divided_events = [
            _divide(
                _as_planned(event, planned_pairs), batch.triggered, people[event.head.offset], most_ranges=most_ranges
            )
            for event in batch.events
            if event.head.offset in people
        ]
        undivided_events = events_without(batch.events, {pair for event in divided_events for pair in event.pairs})
        return _TaskShare(
            replace(batch, events=[event for event in undivided_events if event.answers_by_alert]), None, divided_events
        )


@dataclass(frozen=True)
class _TaskShare:
    """What a task stores itself, with its audiences if they are looked up, and what is written down in portions."""

    batch: Batch
    audiences: Audiences | None = None
    divided: Sequence[DividedEvent] = ()

    @property
    def divided_pairs(self) -> set[Pair]:
        """Return the matches whose results come with their portions."""
        return {pair for event in self.divided for pair in event.pairs}


def _divide(
    event: MatchedEvent, triggered: Mapping[Pair, str], people: Sequence[Portion], *, most_ranges: int
) -> DividedEvent:
    """Return an event in portions of at most so many ranges of people: of fewer, rather than in very few portions."""
    return DividedEvent(event, triggered, people, min(most_ranges, max(1, len(people) // _FEWEST_PORTIONS)))


def _as_planned(event: MatchedEvent, planned: Collection[Pair]) -> MatchedEvent:
    """Return an event with the matches that are in portions already, or with all if none is."""
    offset, answers = event.head.offset, event.answers_by_alert
    before = {alert: ways for alert, ways in answers.items() if (offset, alert) in planned}
    return event._replace(answers_by_alert=before) if before else event


def settle_incidents(work: Notify, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Open and resolve, in a task, the incidents that its matches mean; yield one row of ``COUNTS``: zeros.

    It runs before that of ``work``, where tasks read the incidents of each other's events. Again, it changes nothing.
    """
    with closing(work.open_resolving()) as resolving:
        for events in chunks_of(matched_events(batches), EVENTS_AT_ONCE):
            batch = run((withhold, note_incidents), Batch(events), work.context(resolving))
            _settle(batch.incident_work, _last_of(events), resolving)
    yield pa.RecordBatch.from_pylist([dict.fromkeys(COUNTS.names, 0)])


def _last_of(events: Sequence[MatchedEvent]) -> LogPosition:
    return LogPosition(*max((event.head.offset, event.head.event_id) for event in events))


def _settle(work: IncidentWork, last: LogPosition, resolving: Resolving) -> None:
    if work.failing or work.recovering:
        with resolving.notifications.storing([], last=last) as under_way:
            under_way.finish([], work)


def matched_events(batches: Iterable[pa.RecordBatch]) -> Iterator[MatchedEvent]:
    """Yield the events of matches, whose rows follow each other; of several cases of one alert ``asked`` is the sum.

    Raises
    ------
    AssertionError : the rows of an event do not follow each other
    """
    seen_offsets: set[int] = set()
    for offset, matches in groupby(chain.from_iterable(map(_matches_in, batches)), itemgetter(0)):
        if offset in seen_offsets:
            raise AssertionError(f"matches of event {offset} do not follow each other")
        seen_offsets.add(offset)
        records = list(matches)
        ways_by_alert: dict[str, int] = {}
        for *_, alert, ways in records:
            ways_by_alert[alert] = ways_by_alert.get(alert, 0) + ways
        yield MatchedEvent(EventHead(*records[0][:-2]), ways_by_alert)


def _matches_in(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:  # Any: a column's value
    """Yield the event, from its offset on, the alert and the answers asked of each match of a batch."""
    columns = (batch[name].to_pylist() for name in ("log_offset", *OF_EVENT, "subscription_id", "asked"))
    return zip(*columns, strict=True)


def prefetch(parts: Iterator[T]) -> Iterator[T]:
    """Yield the parts, each worked out while the one before it is used."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, parts, None)
        while (part := coming.result()) is not None:
            coming = thread.submit(next, parts, None)
            yield part


@contextmanager
def tuned_interpreter() -> Iterator[None]:
    """Do without the search for cycles, and let threads take turns more often.

    Among so many tuples the search takes a third of the time, and there are no cycles. The thread that stores waits for
    the database between short pieces of work: by default it would wait as long for the other one after each of them.
    """
    before_s = sys.getswitchinterval()
    gc.disable()
    sys.setswitchinterval(_TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before_s)
        gc.enable()
