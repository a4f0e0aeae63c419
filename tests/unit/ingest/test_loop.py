"""Tests of the loop over a topic: what is waited for, and what is a dead letter."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import orjson
from sqlalchemy.exc import DataError, OperationalError

from tocsin.catalogue.ingest.requests import EventArrival
from tocsin.catalogue.ingest.writes import IngestResult, IngestRules, IngestState, IngestWrites
from tocsin.clock import FixedClock
from tocsin.errors import Conflict, Unavailable
from tocsin.flow.capture.ports import Collision
from tocsin.ingest.loop import IngestParts, TopicIngest
from tocsin.ingest.records import RefusedRecord, TopicRecord
from tocsin.model.people import Actor
from tocsin.relay.waits import BrokerWaits

BOT = Actor("b", "bot", is_bot=True)


@dataclass
class FakeTopic:
    """A topic in memory; a new connection begins behind what was finished."""

    records: list[TopicRecord]
    stop: threading.Event
    position: int = 0
    dead_letters: list[RefusedRecord] = field(default_factory=list)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def read(self, limit: int, within_s: float) -> list[TopicRecord]:
        portion = self.records[self.position : self.position + limit]
        if not portion:
            self.stop.set()
        return portion

    def finish(self, records: Sequence[TopicRecord], dead_letters: Sequence[RefusedRecord]) -> None:
        self.position += len(records)
        self.dead_letters += dead_letters

    def close(self) -> None:
        """Keep everything."""


@dataclass
class FakeWrites:
    """Applies events, or does with those of a name what is said of it, once."""

    faults: dict[str, Any]
    applied: list[str] = field(default_factory=list)

    def ingest(self, events: Sequence[tuple[Any, EventArrival]], **_: object) -> list[IngestResult]:
        return [self._result(document["id"]) for document, _ in events]

    def _result(self, name: str) -> IngestResult:
        fault = self.faults.get(name)
        if isinstance(fault, list):
            fault = fault.pop() if fault else None
        if isinstance(fault, Conflict | Unavailable):
            return IngestResult(IngestState.REFUSED, error=fault)
        if fault is not None:
            raise fault
        self.applied.append(name)
        return IngestResult(IngestState.APPLIED)


def parts_of(topic: FakeTopic, writes: FakeWrites) -> IngestParts:
    return IngestParts(cast(IngestWrites, writes), lambda: BOT, IngestRules(), FixedClock(0), topic.counts.update)


def run(faults: dict[str, Any], count: int = 5) -> tuple[FakeTopic, FakeWrites]:
    stop = threading.Event()
    values = [orjson.dumps({"id": str(number), "eventType": "x"}) for number in range(count)]
    topic = FakeTopic([TopicRecord("t", 0, number, 0, None, value) for number, value in enumerate(values)], stop)
    writes = FakeWrites(faults)
    TopicIngest(parts_of(topic, writes), lambda: topic, BrokerWaits("ingest.waits", first_s=0.001)).run(stop)
    return topic, writes


def dead(topic: FakeTopic) -> list[tuple[int, str]]:
    return [(letter.record.offset, letter.error.code) for letter in topic.dead_letters]


def test_a_refused_event_is_a_dead_letter() -> None:
    topic, _ = run({"2": Conflict("no")})
    assert (topic.position, dead(topic)) == (5, [(2, "CONFLICT")])
    assert topic.counts == {("applied", ""): 4, ("refused", "CONFLICT"): 1}


def test_what_is_no_event_is_counted_as_refused() -> None:
    stop = threading.Event()
    topic = FakeTopic([TopicRecord("t", 0, 0, 0, None, b"{"), TopicRecord("t", 0, 1, 0, None, b'{"id": "1"}')], stop)
    TopicIngest(parts_of(topic, FakeWrites({})), lambda: topic).run(stop)
    assert sum(topic.counts.values()) == len(topic.records)
    assert topic.counts["applied", ""] == len(topic.dead_letters) == 1


def test_what_passes_is_waited_for_and_is_no_dead_letter() -> None:
    """Fault scenario 53."""
    locked = OperationalError("x", {}, Exception("database is locked"))
    faults = {"1": [Unavailable()], "2": [Collision()], "3": [locked], "4": [OSError("away")]}
    topic, writes = run(faults)
    assert (topic.position, dead(topic)) == (5, [])
    assert set(writes.applied) == {"0", "1", "2", "3", "4"}


def test_an_event_that_fails_unexpectedly_is_a_dead_letter_alone() -> None:
    topic, writes = run({"1": RuntimeError("boom"), "3": DataError("x", {}, Exception("too large"))})
    assert (topic.position, dead(topic)) == (5, [(1, "INTERNAL_ERROR"), (3, "INTERNAL_ERROR")])
    assert {"0", "2", "4"} <= set(writes.applied)


def test_a_tombstone_is_passed_over() -> None:
    stop = threading.Event()
    topic = FakeTopic([TopicRecord("t", 0, 0, 0, b"k", None)], stop)
    TopicIngest(parts_of(topic, FakeWrites({})), lambda: topic).run(stop)
    assert (topic.position, topic.dead_letters) == (1, [])
