"""Silence job: finds, every minute, entities without a success for as long as an alert allows.

Each silence is written to the log once, as an event, which ``jobs/streak_stream.py`` handles like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import structlog
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # the name everybody knows it by
from sqlalchemy import Engine

from tocsin.catalogue.observations.silences import Silence, add_silence
from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock, SystemClock
from tocsin.conditions.test_results import TEST_SUITE
from tocsin.errors import NotFound
from tocsin.flow.match.plan import at_reports
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.checkpoint import read_committed_position
from tocsin.jobs.streak_stream import QUERY_NAME
from tocsin.settings import StoreSettings
from tocsin.spark.session import configure, interpreting_session
from tocsin.spark.streaks import STATE_CONF, streaks
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports

_LOG = structlog.get_logger(__name__)


class SilenceParts:
    """Parts of the silence job over the store behind ``engine``; ``session`` is for nothing else."""

    def __init__(self, session: SparkSession, engine: Engine, checkpoint: str, clock: Clock) -> None:
        self.session, self.checkpoint, self.clock = configure(session, STATE_CONF), checkpoint, clock
        self.alerts = CurrentAlerts("silences", Subscriptions(engine), at_reports)
        self.log, self.reports = EventLog(engine), Reports(engine)
        self.writes = Writes(SqlCatalogue(engine), clock)


def build(settings: StoreSettings, session: SparkSession, engine: Engine) -> SilenceParts:
    """Build the check from ``settings``, in a session separate from ``session``."""
    return SilenceParts(
        interpreting_session(session), engine, str(settings.checkpoint_dir() / QUERY_NAME), SystemClock()
    )


def look(parts: SilenceParts) -> int:
    """Write an event for each silence that is new; return how many they are."""
    durations_ms = parts.alerts.read().durations_ms
    committed_position = read_committed_position(Path(parts.checkpoint))
    if not durations_ms or committed_position is None:
        return 0
    # Streaks that are made anew from the log lack what was reported last, and would take it for silence.
    if parts.reports.first_between(committed_position.offset, parts.log.progress(QUERY_NAME)) is not None:
        return 0
    silences_by_event = {one.event_id: one for one in _silences(parts, durations_ms)}
    reported_ids = parts.reports.logged_ids(list(silences_by_event))
    new = [one for event_id, one in silences_by_event.items() if event_id not in reported_ids]
    types = parts.reports.live([one.entity_id for one in new])
    silent = (one for one in new if types.get(one.entity_id, TEST_SUITE) != TEST_SUITE)  # its tests are silent
    return sum(_add(parts, types[one.entity_id], one) for one in silent)


def _silences(parts: SilenceParts, durations_ms: Iterable[int]) -> Iterable[Silence]:
    """Yield the silences that have lasted as long as an alert asks, and had not at the last check."""
    now_ms = parts.clock.now_ms()
    durations = F.array(*(F.lit(duration_ms).cast("bigint") for duration_ms in sorted(durations_ms)))
    lasted_ms = F.lit(now_ms) - F.col("since_ms")
    crossed_durations = F.filter(durations, lambda asked: (asked > F.col("without_ms")) & (asked <= lasted_ms))
    late_streaks = streaks(parts.session, parts.checkpoint).select(
        "entity_id", "since_ms", F.array_max(crossed_durations).alias("asked_ms")
    )
    for row in late_streaks.where("asked_ms IS NOT NULL").toArrow().to_pylist():
        yield Silence(row["entity_id"], row["since_ms"], row["asked_ms"], now_ms)


def _add(parts: SilenceParts, entity_type: str, silence: Silence) -> bool:
    try:
        add_silence(parts.writes, entity_type, silence)
    except NotFound:  # it went since it was looked up
        return False
    _LOG.info("silence_noticed", entity_id=silence.entity_id, without_success_ms=silence.asked_ms)
    return True
