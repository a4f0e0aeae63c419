"""Benchmark of matching: a million events against 10 to 10,000 alerts.

Events and alerts are those of ``bench/matching_events.py`` and ``bench/matching_alerts.py``. The floor is a bare scan
of the same Parquet file: the same columns, their lengths summed. The matches of a random sample of events must equal
the Python engine's. Next: ``bench/upstream.py``, the conventional approach, in the same table.
"""

from __future__ import annotations

import gc
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from bench.backlog import size_at
from bench.estate import build_estate
from bench.matching_alerts import plans, plans_on_paths, rewrite_condition
from bench.matching_events import logged_events, write_events
from bench.measured import Measurement, Report, Rounds, in_alternation, scale_count
from bench.running import open_store, settings_in
from bench.upstream import poll_all
from tocsin.conditions.check import parse_and_check
from tocsin.flow.match import local
from tocsin.flow.match.plan import Plan
from tocsin.spark.match import Index, index_of, matches
from tocsin.spark.schema import EVENTS
from tocsin.spark.session import session_of
from tocsin.spark.tasks import Work, handing_out, in_tasks, job_values

EVENT_COUNT, SAMPLE_COUNT = 1_000_000, 200
ALERT_COUNTS = (10, 100, 1_000, 10_000)
BATCH_SIZES, ROUND_COUNT, WARM_UP_COUNT = (1, 100, 10_000), 21, 30
BULK_ROUND_COUNT, BULK_WARM_UP_COUNT = 5, 3
CHECKED_PAIRS = 200_000
T = TypeVar("T")
_BENCHMARK = "matching"
_TAKEN_ALONG = ("event_id", "entity_id", "user_id", "timestamp_ms")
_WIDE_COLUMNS, _WIDE_CHANGES = 3_000, 4
_ON_COLUMNS = (
    "entity.columns.name == entity.columns.description",
    "entity.columns.dataLength > entity.columns.precision",
    "entity.columns.description.endsWith('zzz')",
)
_AIMS = {1_000: "0.65 x floor", 10_000: "0.40 x floor"}


@dataclass(frozen=True)
class Workload:
    """Events in Parquet, how many there are, the plans of so many alerts, and how often to measure a micro-batch."""

    events: DataFrame
    count: int
    plans: dict[int, list[Plan]]
    rounds: int


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure matching in bulk and in micro-batches, the cost of changes and memory, and upstream's approach."""
    count = scale_count(EVENT_COUNT, scale, least=3_000)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        settings = settings_in(folder)
        session = session_of(settings)
        stack.callback(session.stop)
        with open_store(settings) as (engine, _password):
            build_estate(engine, size_at(scale), follows=10)
            events = session.read.parquet(write_events(session, engine, count, folder))
        plans_by_count = {n: plans(min(n, scale_count(n, 10 * scale, least=10))) for n in ALERT_COUNTS}
        rounds = min(ROUND_COUNT, scale_count(ROUND_COUNT, 10 * scale, least=2))
        work = Workload(events, count, plans_by_count, rounds)
        measurements: list[Measurement] = []
        steps = (_in_bulk, _on_paths, _upstream, _in_batches, _of_a_wide_table, _changes)
        for number, step in enumerate(steps):
            report(number, len(steps))
            measurements += step(work)
        return measurements


def _in_bulk(work: Workload) -> list[Measurement]:
    """Measure events a second of matching, in turns with a bare scan, once the compiler has settled."""
    sample = _sample_of(work)
    return [
        _bulk(work, sample, alerts, f"{len(alerts):,} alerts", aim=_AIMS.get(number, ""))
        for number, alerts in work.plans.items()
    ]


def _on_paths(work: Workload) -> list[Measurement]:
    alerts = plans_on_paths(len(work.plans[1_000]))
    name = f"{len(alerts):,} alerts on paths into the document"
    return [_bulk(work, _sample_of(work), alerts, name, aim="60,000")]


def _bulk(work: Workload, sample: DataFrame, alerts: list[Plan], name: str, *, aim: str) -> Measurement:
    index, few = index_of(alerts), work.rounds < ROUND_COUNT
    rounds = in_alternation(
        lambda: _run(matches(work.events, index)),
        lambda: _scan(work.events, index),
        rounds=1 if few else BULK_ROUND_COUNT,
        warm_ups=0 if few else BULK_WARM_UP_COUNT,
    )
    _check(sample, alerts, index)
    return rounds.rate(_BENCHMARK, name, "events/s", work.count, aim=aim)


def _upstream(work: Workload) -> list[Measurement]:
    sample = list(logged_events(work.events.limit(2_000)))
    measurements = []
    for number in (100, 1_000):
        polled_events = sample[: max(20, 200_000 // number)]
        some_s = poll_all(polled_events, work.plans[number])
        name = f"{len(work.plans[number]):,} alerts, upstream's way: each by itself, all Python"
        measurements.append(
            Measurement(_BENCHMARK, name, len(polled_events) / some_s, "events/s", None, len(polled_events))
        )
    return measurements


def _in_batches(work: Workload) -> list[Measurement]:
    """Measure how long a micro-batch takes from its start until its matches are there; the floor hands it back.

    Its task reads the events, and the plan is kept, both as the pipeline does (``jobs/kept_plan.py``).
    """
    session, index = work.events.sparkSession, index_of(work.plans[1_000])
    pool = work.events.limit(max(BATCH_SIZES)).toArrow()
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        path = Path(folder) / "events.arrow"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, pool.schema) as writer:
            writer.write_table(pool)
        events = in_tasks(session.range(0, 1, 1, 1), _slice_reader(str(path)), EVENTS)
        frames = (matches(events, index, columns=_TAKEN_ALONG), events.select("log_offset", *_TAKEN_ALONG))
        return [_in_batch(session, frames, pool.num_rows, size, work.rounds) for size in BATCH_SIZES]


def _slice_reader(path: str) -> Work:
    """Return the work of a task that reads the slice of a file that its job names."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            continue
        start, size = job_values()["slice"]
        with pa.memory_map(path) as file:
            yield from pa.ipc.open_file(file).read_all().slice(start, size).to_batches()

    return read


def _in_batch(
    session: SparkSession, frames: tuple[DataFrame, DataFrame], event_count: int, size: int, rounds: int
) -> Measurement:
    rng, times_s = Random(size), []
    for _ in range(WARM_UP_COUNT + rounds):
        with handing_out(session, {"slice": (rng.randrange(max(1, event_count - size)), size)}):
            times_s.append([_arrow(frame) for frame in frames])
    match_s, floor_s = zip(*times_s[WARM_UP_COUNT:], strict=True)
    results = Rounds(match_s, floor_s)
    return results.time(_BENCHMARK, f"micro-batch of {size:,}, 1,000 alerts, p50", aim="2.5 x floor")


def median_match_s(events: pa.Table, session: SparkSession, alerts: Sequence[Plan]) -> float:
    """Return the median time in which these events are matched with so many alerts, once the compiler has settled."""
    index = index_of(alerts)
    times_s = [
        _arrow(matches(session.createDataFrame(events, schema=EVENTS), index, columns=_TAKEN_ALONG))
        for _ in range(WARM_UP_COUNT + ROUND_COUNT)
    ]
    return median(times_s[WARM_UP_COUNT:])


def _of_a_wide_table(work: Workload) -> list[Measurement]:
    """Measure changes of a table with thousands of columns, whose document is large and whose changes are not."""
    events = work.events.limit(_WIDE_CHANGES).toArrow()
    columns = [{"name": f"c{number}", "description": f"column {number}"} for number in range(_WIDE_COLUMNS)]
    document = json.dumps({"entity": {"name": "wide", "columns": columns}})
    texts = pa.array([document] * events.num_rows, events.schema.field("event").type)
    wide = events.set_column(events.schema.get_field_index("event"), "event", texts)
    alerts = [Plan(f"wide {n}", ("all",), parse_and_check(text), created_at_ms=0) for n, text in enumerate(_ON_COLUMNS)]
    index, match_s, floor_s = index_of(alerts), [], []
    for _ in range(work.rounds):
        frame = work.events.sparkSession.createDataFrame(wide, schema=EVENTS)
        match_s.append(_arrow(matches(frame, index, columns=_TAKEN_ALONG)))
        floor_s.append(_arrow(frame.select("log_offset", *_TAKEN_ALONG)))
    results = Rounds(tuple(match_s[1:] or match_s), tuple(floor_s[1:] or floor_s))
    return [results.time(_BENCHMARK, f"micro-batch of 4, {_WIDE_COLUMNS:,} columns, {len(alerts)} alerts on them, p50")]


def _changes(work: Workload) -> list[Measurement]:
    """Measure what 10,000 alerts cost the driver: to index, to change one of, to keep."""
    events, alerts = work.events, work.plans[10_000]
    before = _memory_mib(events.sparkSession)
    made_s, index = _time(lambda: index_of(alerts))
    alert = rewrite_condition(alerts[len(alerts) // 2], 5)
    changed_s, after = _time(lambda: index.with_plans((), [alert]))
    first = events.limit(100).toArrow()
    batch = events.sparkSession.createDataFrame(first, schema=EVENTS)
    _arrow(matches(batch, index))
    known_s, changing_s = _arrow(matches(batch, index)), _arrow(matches(batch, after))
    memory = _memory_mib(events.sparkSession)
    return [
        Measurement(_BENCHMARK, f"{len(alerts):,} alerts, indexed from their plans", made_s * 1000, "ms", None, 1),
        Measurement(_BENCHMARK, f"one of {len(alerts):,} alerts changed", changed_s * 1000, "ms", made_s * 1000, 1),
        Measurement(_BENCHMARK, "first micro-batch after that change", changing_s * 1000, "ms", known_s * 1000, 1),
        Measurement(_BENCHMARK, f"driver's memory with {len(alerts):,} alerts", sum(memory), "MiB", sum(before), 1),
    ]


def _time(action: Callable[[], T]) -> tuple[float, T]:
    started_s = time.perf_counter()
    result = action()
    return time.perf_counter() - started_s, result


def _run(frame: DataFrame) -> float:
    """Return how long all rows of ``frame`` take to come about; they go nowhere."""
    return _time(lambda: frame.write.format("noop").mode("overwrite").save())[0]


def _arrow(frame: DataFrame) -> float:
    return _time(frame.toArrow)[0]


def _scan(events: DataFrame, index: Index) -> float:
    """Return how long it takes to read what matching reads: the columns that conditions ask for, and their lengths."""
    columns = [one for one in EVENTS if one.name != "event" or index.reads_document]
    return _run(
        events.select(sum((_length(one.name, one.dataType) for one in columns), F.lit(0)).alias("n")).agg(F.sum("n"))
    )


def _length(name: str, kind: object) -> Any:  # Any: a Column
    length = F.size(name) if isinstance(kind, ArrayType) else F.octet_length(F.col(name).cast("string"))
    return F.coalesce(length, F.lit(0))


def _sample_of(work: Workload) -> DataFrame:
    """Return a random sample of the events, fetched once."""
    events, count = work.events, work.count
    offsets = Random(5).sample(range(1, count + 1), min(SAMPLE_COUNT, count))
    sample = events.where(F.col("log_offset").isin(offsets)).toArrow()
    return events.sparkSession.createDataFrame(sample, schema=EVENTS)


def _check(sample: DataFrame, alerts: Sequence[Plan], index: Index) -> None:
    """Make sure that the events of a sample matched exactly what the Python engine says."""
    checked_events = sample.limit(min(SAMPLE_COUNT, max(10, CHECKED_PAIRS // len(alerts))))
    pairs = [(row.log_offset, row.subscription_id) for row in matches(checked_events, index).collect()]
    log = list(logged_events(checked_events))
    expected = {(one.offset, plan.subscription_id) for one in log for plan in alerts if local.matches(plan, one)}
    if len(pairs) != len(set(pairs)) or set(pairs) != expected:
        wrong = len(set(pairs) ^ expected)
        raise AssertionError(f"{len(pairs)} matches found, {len(expected)} expected, {wrong} differ")


def _memory_mib(session: SparkSession) -> tuple[float, float]:
    """Return what the driver holds: its JVM's heap after a collection, and its Python process."""
    gc.collect()
    runtime = session._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]  # there is a JVM
    session._jvm.java.lang.System.gc()  # type: ignore[union-attr]
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return (runtime.totalMemory() - runtime.freeMemory()) / 2**20, pages * os.sysconf("SC_PAGE_SIZE") / 2**20
