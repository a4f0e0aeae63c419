"""Second streaming query of the pipeline: updates the search index from the log.

Log -> entries (``spark/search.py``) -> the last of each entity -> store. A micro-batch may be repeated: an entry
replaces only entries of an earlier offset. What carries a renamed label has no event of its own; it is read from the
catalogue when the event of the rename comes. The query has its own checkpoint and progress, so that neither query waits
for the other, and a longer trigger interval, so that notifications come first. Next: ``jobs/search_rebuild.py``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from sqlalchemy import Engine

from tocsin.clock import Clock, SystemClock
from tocsin.flow.eventlog.readers import SEARCH_STREAM
from tocsin.jobs.query_progress import MonitoredQuery, Progress, Stream, following_the_log, log_options
from tocsin.jobs.supervision import Supervised
from tocsin.settings import Settings
from tocsin.spark.catalogue import CATALOGUE_FORMAT, CatalogueSource
from tocsin.spark.search import entities_to_index, entries, last_of, search_events
from tocsin.spark.session import interpreting_session, register_source
from tocsin.spark.sources import LOG_FORMAT
from tocsin.store.catalogue.search.writes import Entry, SearchWrites
from tocsin.store.outbox.notifications import Notifications

QUERY_NAME = SEARCH_STREAM
"""Names the query, its checkpoint and its row of progress."""

ENTITIES_PER_READ = 5_000
"""Carriers of renamed labels that are read and stored together."""

_LOG = structlog.get_logger(__name__)


class EntryStore(Protocol):
    """Keeps the index of search."""

    def put(self, entries: Sequence[Entry]) -> int:
        """Store entries that are newer than the stored ones; return how many there were."""

    def relabelled_cuts(self, after: int, through: int, stride: int) -> list[str]:
        """Return every so-manieth id, and the last one, of what events between two offsets gave new names of labels."""


@dataclass(frozen=True)
class SearchParts:
    """What the query is made of; ``build`` puts it together."""

    session: SparkSession
    entries: EntryStore
    progress: Progress
    clock: Clock
    source_options: dict[str, str]
    checkpoint: str
    every_s: float = 1.0


def build(settings: Settings, session: SparkSession, engine: Engine) -> SearchParts:
    """Build the query from ``settings``, separate from other work of ``session``; the store is migrated already."""
    return SearchParts(
        session=interpreting_session(session),
        entries=SearchWrites(engine),
        progress=Notifications(engine),
        clock=SystemClock(),
        source_options=log_options(settings),
        checkpoint=str(settings.checkpoint_dir() / QUERY_NAME),
        every_s=settings.search_every_s,
    )


def supervised_query(parts: SearchParts) -> Supervised:
    """Return the query for supervision (``jobs/supervision.py``)."""
    return Supervised(QUERY_NAME, Path(parts.checkpoint), lambda: indexing_query(parts))


def indexing_query(parts: SearchParts) -> AbstractContextManager[StreamingQuery]:
    """Run the query in the background and give it; it is stopped at the end."""
    reported = MonitoredQuery(QUERY_NAME, parts.checkpoint, parts.progress, parts.clock)
    interval = f"{parts.every_s} seconds"
    return following_the_log(parts.session, reported, lambda done: _stream(parts, done), interval=interval)


def _stream(parts: SearchParts, done_offset: int) -> Stream:
    events = parts.session.readStream.format(LOG_FORMAT).options(**parts.source_options, after=str(done_offset)).load()
    register_source(parts.session, CatalogueSource)
    carriers = _Carriers(parts, done_offset)

    def index_batch(batch: DataFrame, batch_id: int) -> None:
        states = last_of(batch).toArrow().to_pylist()
        count = 0
        if states:
            count = parts.entries.put(states) + carriers.index(max(row["log_offset"] for row in states))
        _LOG.debug("batch_indexed", batch_id=batch_id, entries=count)

    return entries(search_events(events)), index_batch


class _Carriers:
    """Index of what carries renamed labels; ``done`` is the offset through which every rename has reached it."""

    def __init__(self, parts: SearchParts, done_offset: int) -> None:
        self._parts, self._done = parts, done_offset

    def index(self, through: int) -> int:
        """Index what the renames up to an offset gave new names of labels; return how many entries are new."""
        parts, count = self._parts, 0
        options = {"url": parts.source_options["url"], "logOffset": str(through)}
        options["relabelled"] = json.dumps([self._done, through])
        cuts = parts.entries.relabelled_cuts(self._done, through, ENTITIES_PER_READ)
        for ids in pairwise(["", *cuts]):
            frame = parts.session.read.format(CATALOGUE_FORMAT).options(**options, ranges=json.dumps([ids])).load()
            count += parts.entries.put(entries(entities_to_index(frame)).toArrow().to_pylist())
        self._done = through
        return count
