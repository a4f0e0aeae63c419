"""Tests of the loop of a relay: the next portion is read while one is written, and rights are never old."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest
from sqlalchemy import Engine
from uuid_utils import uuid7

from tocsin.clock import FixedClock
from tocsin.flow.eventlog.position import LogPosition
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.change import ChangeEvent, EventType, LoggedDocument
from tocsin.model.stored import CapturedEvent
from tocsin.relay.loop import Relay, RelayParts
from tocsin.relay.reader import TopicReader
from tocsin.relay.records import BrokerRecord, RecordForm
from tocsin.store.database.engine import writing
from tocsin.store.eventlog import log
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.relay_lead import RelayLead
from tocsin.store.outbox.notifications import Notifications

_ENTITY_IDS = [f"entity-{number}" for number in range(6)]


@dataclass
class _Reader:
    """Rights that can be withdrawn; reading the last event ends the relay."""

    stop: threading.Event
    may_view: bool = True
    has_read: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def check(self) -> None:
        """Accept everything."""

    def visible(self, events: Sequence[LoggedDocument]) -> Sequence[LoggedDocument]:
        """Return the events if they may be viewed."""
        visible_events = events if self.may_view else []
        self.has_read.release()
        if events and events[-1].event["entityId"] == _ENTITY_IDS[-1]:
            self.stop.set()
        return visible_events


class _Lead:
    def take(self, stop: threading.Event) -> bool:
        return not stop.is_set()

    def check(self) -> None: ...

    def give_up(self) -> None: ...


@dataclass
class _Broker:
    """A broker whose first transaction lasts until the next portion was read; ``taking_s`` passes meanwhile."""

    reader: _Reader
    taking_s: float
    now_s: float = 0.0
    ids: list[str] = field(default_factory=list)
    is_read_ahead: bool = False

    def begin(self) -> LogPosition | None:
        return None

    def unfinished_end(self) -> LogPosition | None:
        return None

    def last_position(self) -> LogPosition | None:
        return None

    def publish(self, records: Sequence[BrokerRecord], position: LogPosition) -> None:
        if not self.ids:
            self.reader.has_read.acquire(timeout=30)  # this portion
            self.is_read_ahead = self.reader.has_read.acquire(timeout=30)  # the next one
            self.reader.may_view = False
            self.now_s += self.taking_s
        self.ids += [record.key for record in records]

    def restart(self, position: LogPosition) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize(("taking_s", "kept_count"), [(0.5, 4), (5.0, 2)])
def test_a_portion_is_read_ahead_but_not_with_rights_of_long_ago(
    store_engine: Engine, taking_s: float, kept_count: int
) -> None:
    events = [
        ChangeEvent(
            id=str(uuid7()),
            event_type=EventType.ENTITY_UPDATED,
            entity_type="table",
            entity_id=entity_id,
            timestamp=1,
        )
        for entity_id in _ENTITY_IDS
    ]
    with writing(store_engine) as connection:
        log.append(connection, [CapturedEvent(event, {}) for event in events])
    stop = threading.Event()
    reader = _Reader(stop)
    broker = _Broker(reader, taking_s)
    parts = RelayParts(
        reader_name="relay test",
        log=EventLog(store_engine),
        progress=Notifications(store_engine),
        reader=cast(TopicReader, reader),
        form=RecordForm(topic="events", payload_format="seed", source="http://localhost", limit_bytes=10_000),
        clock=FixedClock(1),
        lead=cast(RelayLead, _Lead()),
        selection=EventSelection(),
        batch=2,
        poll_s=0.001,
        steady=lambda: broker.now_s,
    )
    Relay(parts, lambda: broker).run(stop)
    assert broker.is_read_ahead
    assert broker.ids == _ENTITY_IDS[:kept_count]
