"""Wiring of a relay: everything it uses, from its settings. Next: ``relay/loop.py``."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from sqlalchemy import Engine

from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.errors import Conflict, InvalidSetting
from tocsin.flow.eventlog.position import LogPosition
from tocsin.flow.eventlog.readers import RELAY
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import SYSTEM
from tocsin.model.phrases import suggestion_for
from tocsin.relay.broker import Broker, broker_of, check_broker
from tocsin.relay.group_lags import measure_groups, measuring
from tocsin.relay.loop import Relay, RelayParts
from tocsin.relay.reader import TopicReader
from tocsin.relay.records import RecordForm
from tocsin.settings import RelaySettings, Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People
from tocsin.store.database.startup import wait_for
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.relay_lead import RelayLead
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.upkeep.opening import make_store, open_store
from tocsin.store.upkeep.stored_settings import with_stored_secrets

_COLLECT_AFTER = (20_000, 20, 50)
_BATCH_BYTES = 2 * 2**20
"""Most bytes of the events that are read at once, as they are stored."""

READER: Document = {
    "name": "relay-bot",
    "displayName": "Relay",
    "description": "Its rights hold for the topics that the relay writes.",
    "email": "relay-bot@tocsin.example.org",
    "isBot": True,
}
"""The bot whose rights hold for topics unless another one is set; the relay makes it."""


def main(settings: Settings) -> None:
    """Run one relay in this process until SIGINT or SIGTERM; at its start it waits for an unavailable store."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    check_broker(settings)  # before the store is made
    wait_for("relay", lambda: make_store(settings), stop)
    if stop.is_set():
        return
    _tune_collector()
    with relay_of(settings) as relay, measuring_groups(settings):
        relay.run(stop)


@contextmanager
def measuring_groups(settings: Settings) -> Iterator[None]:
    """Measure the lags of the topics' consumer groups until the block ends."""
    with open_store(settings) as engine:
        lags = broker_of(with_stored_secrets(engine, settings)).group_lags
        work = partial(measure_groups, lags, engine, settings.relay_name, SystemClock())
        with measuring(work, every_s=settings.event_lag_every_s if lags else 0.0):
            yield


def restart(settings: Settings, place: str) -> LogPosition:
    """Set how far the log is written to an offset or to its end, and return it."""
    with relay_of(settings) as relay:
        return relay.restart(place)


def _tune_collector() -> None:
    """Look for cyclic garbage less often, and not among what was imported: relaying makes next to none."""
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


@contextmanager
def relay_of(settings: Settings) -> Iterator[Relay]:
    """Yield the relay that the settings describe, over an existing store.

    Raises
    ------
    InvalidSetting : a setting is missing, or names what there is not
    """
    check_broker(settings)
    selection = selection_of(settings)
    with open_store(settings) as engine:
        broker = broker_of(with_stored_secrets(engine, settings))
        if settings.relay_reader == READER["name"]:
            _make_reader(engine)
        parts = _parts_of(settings, engine, selection, broker)
        yield Relay(parts, broker.connect)


def _parts_of(settings: Settings, engine: Engine, selection: EventSelection, broker: Broker) -> RelayParts:
    return RelayParts(
        reader_name=f"{RELAY}{settings.relay_name}",
        log=EventLog(engine, page_bytes=_BATCH_BYTES),
        progress=Notifications(engine),
        reader=TopicReader(engine, settings.relay_reader),
        form=RecordForm(
            topic=broker.topic,
            payload_format=settings.relay_format,
            source=settings.base_url(),
            limit_bytes=settings.relay_max_event_bytes,
            per_entity_type=broker.per_entity_type,
        ),
        clock=SystemClock(),
        lead=RelayLead(engine, settings.relay_name, SystemClock(), lease_s=settings.relay_lease_s),
        selection=selection,
    )


def _make_reader(engine: Engine) -> None:
    if People(engine).by_name(READER["name"]) is None:
        with suppress(Conflict):  # another process made or deleted it
            Writes(SqlCatalogue(engine), SystemClock()).create("user", READER, actor=SYSTEM)


def selection_of(settings: RelaySettings) -> EventSelection:
    """Return the events that are written.

    Raises
    ------
    InvalidSetting : there is no such type
    """
    event_types = [_checked_type(name, [*EventType], "relay_event_types") for name in settings.relay_event_types]
    entity_types = [_checked_type(name, [*ENTITY_TYPES], "relay_entity_types") for name in settings.relay_entity_types]
    if not event_types and not entity_types:
        return EventSelection()
    types = frozenset(entity_types) if entity_types else None
    return EventSelection(kinds={EventType(name): types for name in event_types or EventType})


def _checked_type(name: str, names: list[str], setting: str) -> str:
    if name not in names:
        raise InvalidSetting(f"unknown type {name!r}; {suggestion_for(name, sorted(names))}", field=setting)
    return name
