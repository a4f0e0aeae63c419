"""Benchmark of SQL on the lake: an aggregate over ten million events, for whoever may view all, and for others.

A hundredth of the events go through the log into the lake; the rest are the same again, later in the log, so that each
segment has its few days of a year. Events that somebody may view only in part are made into rows first, by the decision
of the API. Next: ``docs/lake.md``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlalchemy import Engine

from bench.backlog import size_at
from bench.backtest import scan
from bench.estate import build_estate
from bench.measured import Measurement, Report, in_alternation, scale_count
from bench.running import open_store, settings_in
from bench.traffic import append_events
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.flow.eventlog.lake import ALWAYS, Segment
from tocsin.jobs import lake
from tocsin.jobs.lake import LakeParts, grow
from tocsin.jobs.lake_queries import LakeQueries, QueryLimits
from tocsin.jobs.visible_history import visibility_of
from tocsin.model.people import SYSTEM
from tocsin.model.query_answer import QueryAnswer
from tocsin.spark.lake import DATE, folder_of, history
from tocsin.spark.lake_writing import SegmentWriting, files_in
from tocsin.spark.schema import EVENTS
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

EVENT_COUNT, COPIES, FOLLOW_COUNT = 10_000_000, 100, 200
ROUND_COUNT = 2
_FIRST_MS, _YEAR_MS = 1_700_000_000_000, 365 * 86_400_000
_WRITER_COUNT = 2
_LIMITS = QueryLimits(10_000, seconds=3_600)
_SQL = "SELECT entityType, eventType, count(*) AS n, max(offset) AS last FROM change_events GROUP BY 1, 2"


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure events a second through one query, against a bare scan of the same columns."""
    count = scale_count(EVENT_COUNT // COPIES, scale, least=500)
    copies = COPIES if scale >= 0.01 else 10
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        settings = settings_in(Path(folder))
        with open_store(settings) as (engine, _password), lake.open_lake(settings, engine) as parts:
            build_estate(engine, size_at(scale), follows=FOLLOW_COUNT)
            append_events(engine, count, report)
            viewer_id = _narrow_viewer(engine)
            grow(parts)
            _repeat(parts, copies, report)
            queries = LakeQueries(parts)
            return [
                _measure(parts, "whoever may view everything", partial(queries.answer, _SQL, _LIMITS)),
                _measure(
                    parts,
                    "whoever may not view some tables",
                    partial(queries.answer_from_visible, viewer_id, _SQL, _LIMITS),
                ),
            ]


def _repeat(parts: LakeParts, copies: int, report: Report) -> None:
    """Put the lake's events into it again and again, each time later in the log, evenly over a year."""
    first = parts.extent()
    folders = [folder_of(parts.place.root, segment.id) for segment in first.segments]
    events = pa.concat_tables(pq.read_table(folder, columns=EVENTS.names) for folder in folders).sort_by("log_offset")
    step_ms = _YEAR_MS // (copies * first.log_end)
    ids = {
        copy * first.log_end: parts.lake.stage(copy * first.log_end, (copy + 1) * first.log_end, now_ms=1)
        for copy in range(1, copies)
    }

    def write(after: int) -> Segment:
        writing = SegmentWriting(parts.place, ids[after])
        files = files_in(writing(_later(events, after, step_ms).to_batches()))
        parts.place.files().list_files(ids[after], files)
        times_ms = [moment_ms for file in files for moment_ms in (file.first_ms, file.last_ms)]
        return Segment(ids[after], after, after + first.log_end, events.num_rows, min(times_ms), max(times_ms))

    with ThreadPoolExecutor(_WRITER_COUNT) as writers:  # Arrow writes without Python's lock
        for segment in writers.map(write, ids):
            report(segment.after, copies * first.log_end)
            if not parts.lake.keep(segment, now_ms=1):
                raise AssertionError("the lake was grown by somebody else")


def _later(events: pa.Table, after: int, step_ms: int) -> pa.Table:
    """Return events as if they had happened later in the log, with their ``date``; one row per event."""
    offsets = pc.add(events["log_offset"], after)
    moments = pc.add(pc.multiply(offsets, step_ms), _FIRST_MS)
    columns = {"log_offset": offsets, "timestamp_ms": moments}
    moved = pa.table({name: columns.get(name, events[name]) for name in EVENTS.names})
    return moved.append_column(DATE, moments.cast(pa.timestamp("ms")).cast(pa.date32()))


def _measure(parts: LakeParts, viewer: str, ask: Callable[[], QueryAnswer]) -> Measurement:
    extent, total = parts.extent_of(ALWAYS)

    def run() -> float:
        began_s = time.perf_counter()
        if not ask().records:
            raise AssertionError("the query gave no rows")
        return time.perf_counter() - began_s

    events = history(parts.session, parts.place, extent)
    rounds = in_alternation(run, lambda: scan(events), rounds=ROUND_COUNT, warm_ups=0)
    return rounds.rate("lake_sql", f"types of {total:,} events; {viewer}", "events/s", total)


def _narrow_viewer(engine: Engine) -> str:
    """Return the id of somebody who may not view tables with a tag that none has, so that each is asked about."""
    writes = Writes(SqlCatalogue(engine), SystemClock())
    rule = {"name": "no", "effect": "deny", "operations": ["ViewBasic"], "resources": ["table"]}
    policy = {"name": "narrow", "rules": [{**rule, "condition": "matchAnyTag('PII.None')"}]}
    put = partial(writes.upsert, actor=SYSTEM)
    policy_id = put("policy", policy).document["id"]
    role_id = put("role", {"name": "narrow", "policies": [{"id": policy_id, "type": "policy"}]}).document["id"]
    person = {"name": "narrow", "email": "narrow@example.com", "roles": [{"id": role_id, "type": "role"}]}
    person_id = str(put("user", person).document["id"])
    if visibility_of(engine, person_id).is_whole:
        raise AssertionError("the viewer may view everything")
    return person_id
