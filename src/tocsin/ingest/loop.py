"""Main loop of the process that applies the events of a topic: read, apply, commit the offsets, in this order.

A record is done once its change is committed in the store, or it is a dead letter. If the process ends between the two
commits, the record is read again and known by its id. Whatever goes wrong at the broker or the store ends the
connection; a new one begins at the last committed offsets. Next: ``ingest/topic.py``, ``catalogue/ingest/writes.py``.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import structlog
from sqlalchemy.exc import DataError, SQLAlchemyError

from tocsin.catalogue.ingest.requests import EventArrival
from tocsin.catalogue.ingest.writes import IngestRules, IngestState, IngestWrites, outcome_counts
from tocsin.clock import Clock
from tocsin.errors import InternalError, InvalidInput, InvalidSetting, TocsinError, Unavailable
from tocsin.flow.capture.ports import Collision
from tocsin.ingest.records import RefusedRecord, TopicRecord, read_event
from tocsin.model.people import Actor
from tocsin.relay.waits import BrokerWaits
from tocsin.store.database.faults import UNKNOWN, fault_of

POLL_S = 0.5
BATCH = 50
"""Records of one transaction: other writers get their turn between two of them."""

_log = structlog.get_logger("tocsin.ingest")


class Topic(Protocol):
    """A connection to the topic; ``ingest/topic.py`` implements it."""

    def read(self, limit: int, within_s: float) -> list[TopicRecord]:
        """Return the next records; none if none comes in time."""

    def finish(self, records: Sequence[TopicRecord], dead_letters: Sequence[RefusedRecord]) -> None:
        """Write dead letters, and that all these records are done: both or nothing."""

    def close(self) -> None:
        """Leave the group."""


@dataclass(frozen=True)
class IngestParts:
    """What the loop uses; ``actor`` returns the bot whose rights hold, ``count`` counts what events came to."""

    writes: IngestWrites
    actor: Callable[[], Actor]
    rules: IngestRules
    clock: Clock
    count: Callable[[Counter[tuple[str, str]]], None]


class TopicIngest:
    """One process of the group; ``connect`` opens a new connection."""

    def __init__(self, parts: IngestParts, connect: Callable[[], Topic], waits: BrokerWaits | None = None) -> None:
        self._parts, self._connect = parts, connect
        self._waits = waits or BrokerWaits("ingest.waits")

    def run(self, stop: threading.Event) -> None:
        """Apply events until ``stop`` is set; wait out what passes.

        Raises
        ------
        InvalidSetting : the client of the broker refuses a setting
        """
        while not stop.is_set():
            try:
                with closing(self._connect()) as topic:
                    self._consume(topic, stop)
            except InvalidSetting:
                raise
            except (TocsinError, SQLAlchemyError, OSError) as error:
                self._waits.wait(error, stop)

    def _consume(self, topic: Topic, stop: threading.Event) -> None:
        while not stop.is_set():
            actor = self._parts.actor()
            records = topic.read(BATCH, POLL_S)
            if records:
                topic.finish(records, self._apply(records, actor))
                self._waits.end()

    def _apply(self, records: Sequence[TopicRecord], actor: Actor) -> list[RefusedRecord]:
        """Apply records, and return those that are refused.

        Raises
        ------
        Unavailable : the store, or what an event needs, cannot be had now; nobody knows which records were applied
        """
        try:
            return self._apply_together(records, actor)
        except Exception as error:  # the worker loop, one of the three places of the house style
            if _may_pass(error):
                raise
            _log.exception("ingest.failed", records=len(records))
            if len(records) == 1:
                return [RefusedRecord(records[0], InternalError())]
        outcomes = (self._apply([record], actor) for record in records)
        return [letter for letters in outcomes for letter in letters]

    def _apply_together(self, records: Sequence[TopicRecord], actor: Actor) -> list[RefusedRecord]:
        now_ms = self._parts.clock.now_ms()
        dead_letters: list[RefusedRecord] = []
        readable: list[TopicRecord] = []
        events: list[tuple[object, EventArrival]] = []
        for record in records:
            if record.value is None:  # a tombstone: the source says no more about its key
                continue
            try:
                events.append(read_event(record, now_ms))
                readable.append(record)
            except InvalidInput as error:
                dead_letters.append(RefusedRecord(record, error))
        unreadable_counts = Counter((IngestState.REFUSED.value, letter.error.code) for letter in dead_letters)
        results = self._parts.writes.ingest(events, actor=actor, rules=self._parts.rules)
        for record, result in zip(readable, results, strict=True):
            if isinstance(result.error, Unavailable | Collision):
                raise result.error
            if result.error is not None:
                dead_letters.append(RefusedRecord(record, result.error))
        self._parts.count(unreadable_counts + outcome_counts(results))
        counts = Counter(result.state.value for result in results)
        _log.info("ingest.applied", records=len(records), dead_letters=len(dead_letters), **counts)
        return sorted(dead_letters, key=lambda letter: records.index(letter.record))


def _may_pass(error: Exception) -> bool:
    """Return whether waiting helps, as with a store that is away or locked; then no record is to blame."""
    fault = fault_of(error)
    if isinstance(error, Unavailable | Collision) or (fault is not None and fault is not UNKNOWN):
        return True
    return isinstance(error, SQLAlchemyError | OSError) and not isinstance(error, DataError)
