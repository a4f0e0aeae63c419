"""Rebuild of the search index from the catalogue, on Spark, while the pipeline runs.

Entries are written as of the end of the log at the start: entries that the pipeline writes meanwhile are newer and win,
in either order of writing; entries not found in the catalogue are removed at the end. Next: ``cli/search.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from pyspark.sql import SparkSession
from sqlalchemy import Engine

from tocsin.chunks import chunks_of
from tocsin.settings import Settings
from tocsin.spark.catalogue import CATALOGUE_FORMAT, CatalogueSource
from tocsin.spark.search import entities_to_index, entries
from tocsin.spark.session import interpreting_session, register_source, session_of
from tocsin.store.catalogue.search.writes import SearchWrites
from tocsin.store.eventlog.log import EventLog

ENTITIES_PER_TASK = 5_000
TASKS_AT_ONCE = 4


@dataclass(frozen=True)
class Rebuilt:
    """Result of a rebuild: written entries, removed entries, and their current number."""

    written: int
    removed: int
    entries: int


def main(settings: Settings, engine: Engine, report: Callable[[int, int], None]) -> Rebuilt:
    """Rebuild the index of the store behind ``engine``; ``report`` is called with the progress."""
    session = session_of(settings)
    try:
        return rebuild(session, engine, settings.store_url(), report)
    finally:
        session.stop()


def rebuild(session: SparkSession, engine: Engine, url: str, report: Callable[[int, int], None]) -> Rebuilt:
    """Make the index anew; ``url`` is the store's address as executors open it."""
    rebuild_session, writes = interpreting_session(session), SearchWrites(engine)
    register_source(rebuild_session, CatalogueSource)
    as_of = EventLog(engine).readable_end()
    writes.forget_gone(as_of)
    ranges_of_ids = pairwise(["", *writes.id_cuts(ENTITIES_PER_TASK)])
    steps, written_count = list(chunks_of(ranges_of_ids, TASKS_AT_ONCE)), 0
    for number, ranges in enumerate(steps):
        report(number, len(steps))
        options = {"url": url, "ranges": json.dumps(ranges), "logOffset": str(as_of)}
        frame = rebuild_session.read.format(CATALOGUE_FORMAT).options(**options).load()
        written_count += writes.renew(entries(entities_to_index(frame)).toArrow().to_pylist())
    removed_count = writes.sweep(as_of)
    report(1, 1)
    return Rebuilt(written_count, removed_count, writes.count())
