"""Wiring of a relay: everything it uses, from its settings. Next: ``relay/loop.py``."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Engine

from tocsin.access.resources import RESOURCES
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.errors import Conflict, InvalidSetting
from tocsin.flow.eventlog.position import LogPosition
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import SYSTEM
from tocsin.model.phrases import suggestion_for
from tocsin.model.thread import THREAD
from tocsin.relay.kafka.target import KafkaOptions, KafkaTarget
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
_BATCH_BYTES = 8 * 2**20
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
    _check_servers(settings)  # before the store is made
    wait_for("relay", lambda: make_store(settings), stop)
    if stop.is_set():
        return
    _tune_collector()
    with relay_of(settings) as relay:
        relay.run(stop)


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
    _check_servers(settings)
    selection = selection_of(settings)
    with open_store(settings) as engine:
        options = kafka_options_of(with_stored_secrets(engine, settings))
        if settings.relay_reader == READER["name"]:
            _make_reader(engine)
        parts = _parts_of(settings, engine, selection)
        yield Relay(parts, lambda: KafkaTarget(options))


def _parts_of(settings: Settings, engine: Engine, selection: EventSelection) -> RelayParts:
    return RelayParts(
        reader_name=f"relay {settings.relay_name}",
        log=EventLog(engine, page_bytes=_BATCH_BYTES),
        progress=Notifications(engine),
        reader=TopicReader(engine, settings.relay_reader),
        form=RecordForm(
            topic=settings.kafka_topic,
            payload_format=settings.relay_format,
            source=settings.base_url(),
            limit_bytes=settings.relay_max_event_bytes,
            per_entity_type=settings.kafka_topic_per_entity_type,
        ),
        clock=SystemClock(),
        lead=RelayLead(engine, settings.relay_name, SystemClock(), lease_s=settings.relay_lease_s),
        selection=selection,
    )


def _make_reader(engine: Engine) -> None:
    if People(engine).by_name(READER["name"]) is None:
        with suppress(Conflict):  # another process made it, or somebody deleted it
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


def kafka_options_of(settings: RelaySettings) -> KafkaOptions:
    """Return where and as whom the relay writes.

    Raises
    ------
    InvalidSetting : no broker is set
    """
    _check_servers(settings)
    options = KafkaOptions(
        name=settings.relay_name,
        topics=_topics_of(settings),
        connection=_connection_of(settings),
        limit_bytes=settings.relay_max_event_bytes,
        partitions=settings.kafka_partitions,
        compression=settings.kafka_compression,
    )
    if options.position_topic in options.topics:
        raise InvalidSetting(f"Topic {options.position_topic} is that of the relay's position.", field="kafka_topic")
    return options


def _check_servers(settings: RelaySettings) -> None:
    if not settings.kafka_servers:
        raise InvalidSetting(
            "No broker is set. Set TOCSIN_KAFKA_SERVERS to the addresses of Kafka's brokers, such as localhost:9092.",
            field="kafka_servers",
        )


def _topics_of(settings: RelaySettings) -> list[str]:
    """Return the names of all topics that the relay may write to."""
    if not settings.kafka_topic_per_entity_type:
        return [settings.kafka_topic]
    return [f"{settings.kafka_topic}.{name}" for name in (*ENTITY_TYPES, *RESOURCES, THREAD)]


def _connection_of(settings: RelaySettings) -> dict[str, str]:
    options: dict[str, object] = {
        "bootstrap.servers": settings.kafka_servers,
        "security.protocol": settings.kafka_security,
        "ssl.ca.location": settings.kafka_ca_file,
        "ssl.certificate.location": settings.kafka_certificate_file,
        "ssl.key.location": settings.kafka_key_file,
    }
    if settings.kafka_security.startswith("sasl"):
        if settings.kafka_user is None or settings.kafka_password is None:
            raise InvalidSetting(
                f"kafka_security {settings.kafka_security} needs TOCSIN_KAFKA_USER and a password: run"
                " `tocsin admin secret kafka_password`, or set TOCSIN_KAFKA_PASSWORD.",
                field="kafka_user",
            )
        options["sasl.mechanisms"] = settings.kafka_sasl_mechanism
        options["sasl.username"] = settings.kafka_user
        options["sasl.password"] = settings.kafka_password.get_secret_value()
    return {name: str(value) for name, value in options.items() if value is not None}
