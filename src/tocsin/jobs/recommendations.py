"""Recommendation job: works out what each person may like to follow, on Spark, and stores it as one run.

Tasks store the rows; the run is shown when all are there, so a crash leaves the one before. Nothing is done while the
log has not grown. Next: ``spark/recommendations.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from sqlalchemy import Engine

from tocsin.clock import Clock, SystemClock
from tocsin.jobs.resolving import StoreAddress, open_resolving
from tocsin.settings import StoreSettings
from tocsin.spark.recommendations import INPUTS, RECOMMENDATIONS, recommendations
from tocsin.spark.relations import RELATION_FORMAT, RelationSource
from tocsin.spark.schema import NUMBER, struct_of
from tocsin.spark.session import interpreting_session, register_source
from tocsin.spark.tasks import in_tasks
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.recommendations import Recommendations

STORED_COUNT = struct_of(("stored", NUMBER), nullable=False)
"""One row per task."""


@dataclass(frozen=True)
class RecommendationParts:
    """What the job needs; ``session`` is for nothing else."""

    session: SparkSession
    engine: Engine
    store: StoreAddress
    clock: Clock


def build(settings: StoreSettings, session: SparkSession, engine: Engine) -> RecommendationParts:
    """Build the job from ``settings``, in a session separate from ``session``."""
    store = StoreAddress(settings.store_url(), settings.sqlite_synchronous)
    return RecommendationParts(interpreting_session(session), engine, store, SystemClock())


def recommend(parts: RecommendationParts) -> int:
    """Work out and show recommendations anew, if anything has happened since; return the number of rows."""
    stored_runs = Recommendations(parts.engine)
    through_offset = EventLog(parts.engine).readable_end()
    if stored_runs.through_offset() == through_offset:
        return 0
    run_id = stored_runs.begin(through_offset)
    register_source(parts.session, RelationSource)
    with ExitStack() as stack:
        relations = {name: _relation(parts, name, stack) for name in INPUTS}
        frame = recommendations(relations)
        counts = in_tasks(frame, StoreRecommendations(parts.store, run_id), STORED_COUNT).collect()
    stored_runs.complete(run_id, now_ms=parts.clock.now_ms())
    return sum(row.stored for row in counts)


def _relation(parts: RecommendationParts, name: str, stack: ExitStack) -> DataFrame:
    """Return a relation of the store, kept by the executors until the stack ends."""
    frame = parts.session.read.format(RELATION_FORMAT).options(url=parts.store.url, relation=name).load().persist()
    stack.callback(frame.unpersist)
    return frame


@dataclass(frozen=True)
class StoreRecommendations:
    """The work of a task: storing the rows of its partition; again, it changes nothing."""

    store: StoreAddress
    run_id: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take rows of ``RECOMMENDATIONS`` and yield one of ``STORED_COUNT``."""
        stored_count = 0
        with closing(open_resolving(self.store)) as resolving:
            stored_runs = Recommendations(resolving.engine)
            for batch in batches:
                columns = [batch[name].to_pylist() for name in RECOMMENDATIONS.names]
                stored_runs.add(self.run_id, list(zip(*columns, strict=True)))
                stored_count += batch.num_rows
        yield pa.RecordBatch.from_pylist([{"stored": stored_count}])
