"""Resolve, schedule and store on the executors: what a Spark task does with the matches of its partition.

All matches of an event are in one partition (``spark/match.py``). A task looks up who is concerned, by key, and stores
its rows itself: no row passes through the driver. A task may run twice, at once or one after the other: rows have
deterministic ids, and an event's rows, results and firings commit together.
Next: ``flow/resolve/portions.py``, ``store/outbox/notifications.py``.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

import pyarrow as pa
from pyspark.sql.types import LongType, StructField, StructType
from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache, PolicySnapshot
from tocsin.chunks import chunks_of
from tocsin.flow.eventlog.position import LogPosition
from tocsin.flow.match.cascade import Cascades, with_triggered
from tocsin.flow.match.plan import RECOVERY
from tocsin.flow.resolve.local import Recipient
from tocsin.flow.resolve.only_visible import Events, RememberedEvents, only_visible
from tocsin.flow.resolve.portions import MatchedEvent, ResolvedEvent, resolve_events
from tocsin.flow.resolve.recipient_rules import RecipientRule
from tocsin.flow.resolve.withholding import NOTHING_KNOWN, Reads, hidden_assets, reads_of_triggered, withheld
from tocsin.flow.schedule.messages import ScheduledNotification, Timings, scheduled_notifications
from tocsin.flow.schedule.roots import RootsOfAlerts, by_root, under_roots
from tocsin.flow.send.channels.table import GATHERINGS
from tocsin.flow.track.alert_incidents import NO_WORK, IncidentWork
from tocsin.model.match_result import MatchCounts, Pair
from tocsin.model.notification_draft import EventHead, NotificationDraft
from tocsin.store.access.subjects import SqlSubjects
from tocsin.store.alerts.directory import SqlDirectory
from tocsin.store.alerts.event_subjects import SqlEvents
from tocsin.store.alerts.holding import HeldBack, Hidden, Holding, Waiting
from tocsin.store.alerts.roots import Matched, Roots
from tocsin.store.engine import PATIENT_S, open_engine
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.people.preferences import SqlPreferences

T = TypeVar("T")

OF_EVENT = ("event_id", "entity_id", "user_id", "timestamp_ms")
"""The columns of an event that its matches carry along; see ``spark/match.matches``."""

COUNTS = StructType([StructField(name, LongType(), nullable=False) for name in ("matched", "notified")])
"""One row per task: numbers of matches and of notifications."""

EVENTS_AT_ONCE = 1_000
DRAFTS_AT_ONCE = 10_000
_NO_ROOTS: RootsOfAlerts = MappingProxyType({})
_TURN_S = 0.0005
_CACHE_MIB = 64
"""Rows of many recipients touch pages all over the indexes, which are written once if they fit."""

Rules = Mapping[str, Sequence[RecipientRule]]
"""The recipient rules of each alert."""


class SharedAlerts(NamedTuple):
    """What tasks need of the alerts: the recipient rules of each, and the timings of those that may gather or wait.

    ``opening`` are those whose failures open incidents; ``cascades`` those that others trigger,
    ``depending`` those that incidents of others hold back. ``reads_incidents``: there are such, or some whose grouping
    follows incidents. ``of_tocsin`` are Tocsin's own, whose matches depend on nobody's rights. ``reads`` is what the
    condition of each reads.
    """

    rules: Rules
    timings: Timings
    opening: frozenset[str] = frozenset()
    cascades: Cascades = MappingProxyType({})
    depending: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    reads_incidents: bool = False
    of_tocsin: frozenset[str] = frozenset()
    reads: Reads = NOTHING_KNOWN


class Shared(Protocol):
    """What is sent to each executor once: a broadcast variable of Spark's."""

    @property
    def value(self) -> SharedAlerts:
        """Return it."""


@dataclass(frozen=True)
class StoreAddress:
    """Where executors find the store, and how they open it."""

    url: str = field(repr=False)
    synchronous: str = "FULL"


@dataclass(frozen=True)
class Resolving:
    """What resolving asks: the store's relations, permissions and events, and where notifications go."""

    engine: Engine
    directory: SqlDirectory
    permission_cache: PermissionCache
    events: SqlEvents
    notifications: Notifications
    preferences: SqlPreferences
    holding: Holding
    roots: Roots


@lru_cache(maxsize=8)
def open_resolving(store: StoreAddress) -> Resolving:
    """Return what this process asks of a store; kept, with what it remembers of permissions."""
    engine = open_engine(
        store.url, synchronous=store.synchronous, pool_size=3, patience_s=PATIENT_S, writer_cache_mib=_CACHE_MIB
    )
    return resolving_of(engine)


def resolving_of(engine: Engine) -> Resolving:
    """Return what resolving asks of the store behind ``engine``."""
    permission_cache, events = PermissionCache(SqlSubjects(engine)), SqlEvents(engine)
    of_incidents = (Holding(engine), Roots(engine))
    people = (SqlDirectory(engine), permission_cache, events, Notifications(engine), SqlPreferences(engine))
    return Resolving(engine, *people, *of_incidents)


@contextmanager
def disposing(resolving: Resolving) -> Iterator[None]:
    """Close the connections to the store after a task: nobody knows when its process has another, or ends."""
    try:
        yield
    finally:
        resolving.engine.dispose()


class _Rehearsed(Exception):  # a signal, never an error
    """Everything went well, and the transaction is to be taken back."""


@dataclass(frozen=True)
class Notify:
    """The work of a task of the pipeline, for ``spark/tasks.in_tasks``: from matches to stored notifications.

    ``now_ms`` is the moment at which the micro-batch began; events before ``oldest_ms`` notify nobody, but count as
    matched. ``are_incidents_settled``: ``SettleIncidents`` has run on the same matches. ``is_rehearsal``: what is
    stored is taken back, and no incident is opened.
    """

    store: StoreAddress
    alerts: Shared
    now_ms: int
    oldest_ms: int | None = None
    are_incidents_settled: bool = False
    is_rehearsal: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take matches, rows of ``spark/match.matches`` with ``OF_EVENT``, and yield one row of ``COUNTS``."""
        resolving, matched, notified = self.resolving(), 0, 0
        with disposing(resolving):
            for events in chunks_of(matched_events(batches), EVENTS_AT_ONCE):
                matched += sum(len(one.answers_by_alert.keys() - {RECOVERY}) for one in events)
                with _tuned_interpreter():
                    notified += self._store(events, resolving)
        yield pa.RecordBatch.from_pylist([{"matched": matched, "notified": notified}])

    def resolving(self) -> Resolving:
        """Return what this process asks of the store."""
        return open_resolving(self.store)

    def _store(self, events: Sequence[MatchedEvent], resolving: Resolving) -> int:
        """Store what these events give in one transaction; return how many notifications that is."""
        last = max((one.head.offset, one.head.event_id) for one in events)
        sight = _Sight.of_now(resolving)
        hidden = self._withheld(_by_offset(events), sight)
        events, work = self._incidents(without(events, hidden))
        events, triggered, barred = self._cascade(events, sight)
        hidden |= barred
        pairs = [(one.head.offset, alert) for one in events for alert in sorted(one.answers_by_alert)]
        if self.alerts.value.reads_incidents:  # of these events too: they come first
            if not (self.are_incidents_settled or self.is_rehearsal):
                _settle(work, LogPosition(*last), resolving)
            work = NO_WORK
        counts = MatchCounts(pairs)
        parts = _prefetch(self._parts(events, resolving, sight))
        # Everything, where it is little, is worked out before the transaction: on SQLite it holds up all other writers.
        first = next(parts, [])
        with suppress(_Rehearsed), resolving.notifications.storing(pairs, last=LogPosition(*last)) as under_way:
            for notifications in chain([first], parts):
                counts.add(notification.offset_and_alerts for notification in notifications)
                under_way.add(notifications)
            results = counts.results(now_ms=self.now_ms, triggered=triggered, withheld=hidden)
            under_way.finish(results, work)
            if self.is_rehearsal:
                raise _Rehearsed
        return counts.row_count

    def settle(self, events: Sequence[MatchedEvent], resolving: Resolving) -> None:
        """Open and resolve the incidents that these events mean; doing it again changes nothing."""
        last = max((one.head.offset, one.head.event_id) for one in events)
        hidden = self.withheld(events, resolving)
        _, work = self._incidents(without(events, hidden))
        _settle(work, LogPosition(*last), resolving)

    def withheld(self, events: Sequence[MatchedEvent], resolving: Resolving) -> dict[Pair, str]:
        """Return which of these matches are withheld, and because of which editor, as rights are now."""
        return self._withheld(_by_offset(events), _Sight.of_now(resolving))

    def _withheld(
        self, matched: Mapping[int, Collection[str]], sight: _Sight, reads: Reads | None = None
    ) -> dict[Pair, str]:
        """Return which of these matches, alerts by offset, are withheld, and because of which editor."""
        exempt = {RECOVERY, *self.alerts.value.of_tocsin}
        direct = {offset: set(alerts) - exempt for offset, alerts in matched.items()}
        return withheld(direct, self.alerts.value.reads if reads is None else reads, *sight)

    def _incidents(self, events: Sequence[MatchedEvent]) -> tuple[Sequence[MatchedEvent], IncidentWork]:
        """Return the events that alerts match, and what all of them mean for incidents."""
        opening = self.alerts.value.opening
        recovering = frozenset(one.head.entity_id for one in events if RECOVERY in one.answers_by_alert)
        if not opening and not recovering:
            return events, NO_WORK
        failing = (
            (event.head.offset, alert)
            for event in self._young(events)
            for alert in opening.intersection(event.answers_by_alert)
        )
        direct = without(events, {(event.head.offset, RECOVERY) for event in events})
        matched = [event for event in direct if event.answers_by_alert]
        return matched, IncidentWork(tuple(failing), recovering, self.now_ms)

    def _cascade(
        self, events: Sequence[MatchedEvent], sight: _Sight
    ) -> tuple[Sequence[MatchedEvent], dict[Pair, str], dict[Pair, str]]:
        """Return the events with the alerts that are triggered, whose match triggered each, and which are withheld."""
        barred = dict[Pair, str]()
        while True:
            cascaded, triggered = self._trigger(events, _offsets_of(barred))
            reads = reads_of_triggered(triggered, self.alerts.value.reads)
            newly_barred = self._withheld(_offsets_of(triggered), sight, reads) if triggered else {}
            if not newly_barred:
                return cascaded, triggered, barred
            # what they alone trigger is not triggered, and what others trigger as well, by those
            barred |= newly_barred

    def _trigger(
        self, events: Sequence[MatchedEvent], barred: Mapping[int, Collection[str]]
    ) -> tuple[Sequence[MatchedEvent], dict[Pair, str]]:
        """Return the events with the alerts that are triggered, unless they are barred; and whose match did it."""
        cascades, all_events, triggered = self.alerts.value.cascades, list[MatchedEvent](), dict[Pair, str]()
        if not cascades:
            return events, triggered
        for event in events:
            offset = event.head.offset
            ways_by_alert, by = with_triggered(event.answers_by_alert, offset, cascades, barred.get(offset, ()))
            all_events.append(event._replace(answers_by_alert=ways_by_alert))
            triggered |= {(offset, alert): other for alert, other in by.items()}
        return all_events, triggered

    def _find_held_back(
        self, events: Sequence[MatchedEvent], resolving: Resolving, sight: _Sight
    ) -> dict[Pair, HeldBack]:
        """Return which matches incidents of other alerts hold back."""
        depending = self.alerts.value.depending
        waiting = [
            Waiting(event.head.offset, event.head.entity_id, alert, depending[alert])
            for event in events
            for alert in depending.keys() & event.answers_by_alert.keys()
        ]
        return resolving.holding.of(waiting, is_new=True, hidden=self._hidden_check(sight)) if waiting else {}

    def _hidden_check(self, sight: _Sight) -> Hidden:
        """Return what says which assets are hidden from alerts; from Tocsin's own, none."""
        of_tocsin = self.alerts.value.of_tocsin
        return lambda assets: hidden_assets({one for one in assets if one[0] not in of_tocsin}, *sight)

    def _by_root(self, events: Sequence[MatchedEvent]) -> list[Matched]:
        """Return the matches of alerts that group by lineage root."""
        timings = self.alerts.value.timings
        return [
            Matched(event.head.offset, event.head.entity_id, alert)
            for event in events
            for alert in by_root(event.answers_by_alert, timings)
        ]

    def _young(self, events: Sequence[MatchedEvent]) -> Sequence[MatchedEvent]:
        return [one for one in events if self.oldest_ms is None or one.head.timestamp_ms >= self.oldest_ms]

    def _parts(
        self, events: Sequence[MatchedEvent], resolving: Resolving, sight: _Sight
    ) -> Iterator[list[ScheduledNotification]]:
        """Yield the notifications that may be stored, a bounded number at a time."""
        young = self._young(events)
        rules, timings, *_ = self.alerts.value
        held_back = self._find_held_back(young, resolving, sight)
        free = without_held(young, held_back) if held_back else young
        resolved_events = resolve_events(free, rules, resolving.directory, ahead=_prefetch) if free else iter(())
        resolved_events = naming(resolved_events, held_back) if held_back else resolved_events
        roots = resolving.roots.of(self._by_root(free), self._hidden_check(sight))
        for drafts in visible_parts(drafts_of(resolved_events, roots), *sight):
            preferred = resolving.preferences.among(drafts)
            yield list(
                scheduled_notifications(drafts, timings, now_ms=self.now_ms, gatherings=GATHERINGS, preferred=preferred)
            )


class _Sight(NamedTuple):
    """The policies as a task finds them, and what is known of events and alerts."""

    policies: PolicySnapshot
    events: RememberedEvents

    @classmethod
    def of_now(cls, resolving: Resolving) -> _Sight:
        return cls(resolving.permission_cache.now(), RememberedEvents(resolving.events))


@dataclass(frozen=True)
class SettleIncidents:
    """The work of a task before that of ``notify``, where its tasks read the incidents of each other's events."""

    notify: Notify

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take the matches that ``notify`` takes, and yield one row of ``COUNTS``: zeros."""
        resolving = self.notify.resolving()
        with disposing(resolving):
            for events in chunks_of(matched_events(batches), EVENTS_AT_ONCE):
                self.notify.settle(events, resolving)
        yield pa.RecordBatch.from_pylist([dict.fromkeys(COUNTS.names, 0)])


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
    for head, matches in groupby(chain.from_iterable(map(_matches_in, batches)), itemgetter(0)):
        if head.offset in seen_offsets:
            raise AssertionError(f"matches of event {head.offset} do not follow each other")
        seen_offsets.add(head.offset)
        ways_by_alert = Counter[str]()
        for _, alert, ways in matches:
            ways_by_alert[alert] += ways
        yield MatchedEvent(head, dict(ways_by_alert))


def _matches_in(batch: pa.RecordBatch) -> Iterator[tuple[EventHead, str, int]]:
    """Yield the event, the alert and the answers asked of each match of a batch."""
    columns = (batch[name].to_pylist() for name in ("log_offset", *OF_EVENT, "subscription_id", "asked"))
    for *head, alert, ways in zip(*columns, strict=True):
        yield EventHead(*head), alert, ways


def _by_offset(events: Iterable[MatchedEvent]) -> dict[int, Collection[str]]:
    return {one.head.offset: one.answers_by_alert.keys() for one in events}


def _offsets_of(pairs: Iterable[Pair]) -> dict[int, Collection[str]]:
    alerts_by_offset: dict[int, list[str]] = {}
    for offset, alert in pairs:
        alerts_by_offset.setdefault(offset, []).append(alert)
    return dict(alerts_by_offset)


def without(events: Sequence[MatchedEvent], pairs: Collection[Pair]) -> Sequence[MatchedEvent]:
    """Return the events without these matches."""
    if not pairs:
        return events
    return [
        event._replace(
            answers_by_alert={
                alert: ways for alert, ways in event.answers_by_alert.items() if (event.head.offset, alert) not in pairs
            }
        )
        for event in events
    ]


def without_held(events: Sequence[MatchedEvent], held_back: Mapping[Pair, HeldBack]) -> Sequence[MatchedEvent]:
    """Return the events with the alerts that may notify of them; those that are held back are left out."""
    return without(events, {pair for pair, by in held_back.items() if not by.passes})


def naming(events: Iterable[ResolvedEvent], held_back: Mapping[Pair, HeldBack]) -> Iterator[ResolvedEvent]:
    """Yield the recipients; reasons of an alert that is held back from now on name what holds it back."""
    for event in events:
        incident_by_alert = {
            alert: by.incident for (offset, alert), by in held_back.items() if offset == event.head.offset
        }
        yield (
            event
            if not incident_by_alert
            else event._replace(recipients=[_naming(each, incident_by_alert) for each in event.recipients])
        )


def _naming(recipient: Recipient, incident_by_alert: Mapping[str, str]) -> Recipient:
    reasons = (
        reason.model_copy(update={"held_by": incident_by_alert[reason.subscription_id]})
        if reason.subscription_id in incident_by_alert
        else reason
        for reason in recipient.reasons
    )
    return recipient._replace(reasons=tuple(reasons))


def drafts_of(
    events: Iterable[ResolvedEvent], roots: Mapping[int, RootsOfAlerts] = MappingProxyType({})
) -> Iterator[NotificationDraft]:
    """Yield the notifications of these events; ``roots`` holds, by offset, those of the alerts that group by them."""
    for head, recipients in events:
        drafts = (recipient.draft(head) for recipient in recipients)
        yield from under_roots(drafts, roots.get(head.offset, _NO_ROOTS))


def visible_parts(
    drafts: Iterator[NotificationDraft], policies: PolicySnapshot, events: Events
) -> Iterator[list[NotificationDraft]]:
    """Yield those of the notifications that may be stored, a bounded number at a time."""
    for drafts_part in chunks_of(drafts, DRAFTS_AT_ONCE):
        yield only_visible(drafts_part, policies, events)


def _prefetch(parts: Iterator[T]) -> Iterator[T]:
    """Yield the parts, each worked out while the one before it is used."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, parts, None)
        while (part := coming.result()) is not None:
            coming = thread.submit(next, parts, None)
            yield part


@contextmanager
def _tuned_interpreter() -> Iterator[None]:
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
