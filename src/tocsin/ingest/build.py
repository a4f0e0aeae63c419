"""Wiring of the process that applies the events of a topic. Next: ``ingest/loop.py``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

from tocsin.access.permission_cache import PermissionCache
from tocsin.catalogue.ingest.writes import IngestRules, IngestWrites
from tocsin.catalogue.people.violations import add_violation
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.errors import InvalidSetting
from tocsin.flow.capture.bounds import Bounds
from tocsin.flow.eventlog.readers import INGEST
from tocsin.flow.eventlog.topic_names import dead_letter_topic_of
from tocsin.ingest.bot import TopicBot
from tocsin.ingest.loop import IngestParts, TopicIngest
from tocsin.ingest.topic import IngestTopic, TopicOptions
from tocsin.model.entity import Document
from tocsin.relay.group_lags import measure_groups, measuring
from tocsin.relay.kafka.groups import GroupLags
from tocsin.relay.kafka.options import connection_of
from tocsin.relay.kafka.target import KafkaOptions
from tocsin.server.policies.cache import CachedSubjects
from tocsin.server.policies.denials import RefusalLog
from tocsin.server.policies.writes import ActorPermits
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.startup import wait_for
from tocsin.store.eventlog.ingest_outcomes import IngestOutcomes
from tocsin.store.upkeep.opening import make_store, open_store
from tocsin.store.upkeep.stored_settings import with_stored_secrets


def main(settings: Settings) -> None:
    """Apply events in this process until SIGINT or SIGTERM; at its start it waits for an unavailable store."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    check_settings(settings)  # before the store is made
    wait_for("ingest", lambda: make_store(settings), stop)
    if not stop.is_set():
        with topic_ingest_of(settings) as topic_ingest, measuring_lag(settings):
            topic_ingest.run(stop)


@contextmanager
def measuring_lag(settings: Settings) -> Iterator[None]:
    """Measure how much of the topic the group has not read yet, until the block ends."""
    with open_store(settings) as engine:
        options = KafkaOptions(
            name=settings.ingest_group,
            topics=[settings.ingest_topic or ""],
            connection=connection_of(with_stored_secrets(engine, settings)),
            limit_bytes=settings.relay_max_event_bytes,
        )
        lags = GroupLags(options, group=settings.ingest_group)

        def measure() -> list[Document]:
            """Return the group's lag; offsets in the records are those of the logs of other systems."""
            return [{key: value for key, value in lag.items() if key != "logOffset"} for lag in lags.measure()]

        work = partial(measure_groups, measure, engine, f"{INGEST}{settings.ingest_group}", SystemClock())
        with measuring(work, every_s=settings.event_lag_every_s):
            yield


@contextmanager
def topic_ingest_of(settings: Settings) -> Iterator[TopicIngest]:
    """Yield what applies the events of the topic that the settings name, over an existing store.

    Raises
    ------
    InvalidSetting : a setting is missing, or excludes another
    """
    check_settings(settings)
    with open_store(settings) as engine:
        options = _options_of(with_stored_secrets(engine, settings))
        catalogue, clock = SqlCatalogue(engine), SystemClock()
        refusals = RefusalLog(partial(add_violation, Writes(catalogue, clock)), clock)
        permission_cache = PermissionCache(CachedSubjects(engine, lambda: 0))
        permits, bounds = ActorPermits(permission_cache, refusals), Bounds(document_bytes=settings.largest_document)
        parts = IngestParts(
            writes=IngestWrites(catalogue, clock, permits=permits, bounds=bounds),
            actor=TopicBot(engine, settings.ingest_bot, permission_cache).actor,
            rules=IngestRules(frozenset({settings.base_url()}), settings.ingest_keep_days),
            clock=clock,
            count=IngestOutcomes(engine).add,
        )
        with closing(refusals):
            yield TopicIngest(parts, lambda: IngestTopic(options))


def check_settings(settings: Settings) -> None:
    """Check that brokers and a topic are named.

    Raises
    ------
    InvalidSetting : they are not, or dead letters would be read again
    """
    if not settings.ingest_topic:
        raise InvalidSetting("No topic is set. Set TOCSIN_INGEST_TOPIC.", field="ingest_topic")
    if not settings.kafka_servers:
        raise InvalidSetting("No broker is set. Set TOCSIN_KAFKA_SERVERS.", field="kafka_servers")
    if dead_letter_topic_of(settings) == settings.ingest_topic:
        raise InvalidSetting("must be another topic than ingest_topic", field="ingest_dead_letter_topic")


def _options_of(settings: Settings) -> TopicOptions:
    return TopicOptions(
        topic=settings.ingest_topic or "",
        group=settings.ingest_group,
        dead_letter_topic=dead_letter_topic_of(settings),
        connection=connection_of(settings),
        limit_bytes=settings.relay_max_event_bytes,
    )
