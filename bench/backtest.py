"""Benchmark of backtests: one alert over a million events in the lake, against a bare scan of the same files.

A tenth of the events go through the log into the lake; the rest are the same events again, later in the log and on
other days, so that the lake is as large and as cut into days as three months of a busy company. Wired as the pipeline
wires it, on an idle machine. Next: ``docs/backtest.md``.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from sqlalchemy import Engine

from bench.backlog import size_at
from bench.estate import build_estate
from bench.measured import Measurement, Report, in_alternation, scale_count
from bench.running import open_store, settings_in
from bench.traffic import append_events
from tocsin.flow.eventlog.lake import ALWAYS, Segment
from tocsin.jobs import lake
from tocsin.jobs.backtest import BacktestParts, backtest
from tocsin.jobs.lake import LakeParts, grow
from tocsin.model.backtest import Backtest
from tocsin.model.entity import Document
from tocsin.model.requested_job import JobState
from tocsin.spark.lake import history
from tocsin.spark.lake_writing import write_events
from tocsin.store.catalogue.people.identities import People

EVENT_COUNT, COPIES, DAYS, FOLLOW_COUNT = 1_000_000, 10, 90, 10_000
ROUND_COUNT, WARM_UP_COUNT = 5, 1
ALERTS = {
    "columns that change, to owners by mail": ("fieldChanged == 'columns'", "Owners", "Email"),
    "a path in the JSON of every event": ("entity.version > 0.5", "Owners", "Email"),
    "everything, to followers by bell": ("timestamp > 0", "Followers", "ActivityFeed"),
}
_AIMS = ("80,000", "50,000", "40,000")
_DAY_MS = 86_400_000


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure events a second into the lake, and through backtests of the log and of the lake, against a bare scan."""
    count = scale_count(EVENT_COUNT // COPIES, scale, least=500)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        settings = settings_in(Path(folder))
        with open_store(settings) as (engine, _password), lake.open_lake(settings, engine) as parts:
            build_estate(engine, size_at(scale), follows=scale_count(FOLLOW_COUNT, scale, least=200))
            append_events(engine, count, report)
            first = next(iter(ALERTS.items()))
            rounds = min(ROUND_COUNT, scale_count(ROUND_COUNT, 10 * scale, least=1))
            measure_backtest = partial(_measure_backtest, parts, engine, report, rounds)
            measurements = [measure_backtest(first, source="the log alone"), _into_the_lake(parts)]
            multiply(parts, days=scale_count(DAYS, scale, least=5))
            return measurements + [
                replace(measure_backtest(alert, source="the lake"), aim=aim)
                for alert, aim in zip(ALERTS.items(), _AIMS, strict=True)
            ]


def _into_the_lake(parts: LakeParts) -> Measurement:
    began_s = time.perf_counter()
    added = grow(parts).added
    return Measurement(
        "backtest", "log into the lake", added / (time.perf_counter() - began_s), "events/s", None, added, "30,000"
    )


def _measure_backtest(
    parts: LakeParts,
    engine: Engine,
    report: Report,
    rounds: int,
    alert: tuple[str, tuple[str, str, str]],
    *,
    source: str,
) -> Measurement:
    """Measure one alert over all there is, in turns with a bare scan of the same."""
    extent, total = parts.extent_of(ALWAYS)
    backtest_parts, admin = BacktestParts(parts, engine), People(engine).by_name("admin")
    if admin is None:
        raise AssertionError("there is no administrator")
    name, definition = alert
    request = Backtest("b", admin.id, 0, _alert(*definition), None, None, JobState.WAITING)
    results: list[Document] = []

    def run() -> float:
        began_s = time.perf_counter()
        results.append(backtest(request, backtest_parts, report))
        return time.perf_counter() - began_s

    rounds_taken = in_alternation(
        run,
        lambda: scan(history(parts.session, parts.place, extent)),
        rounds=rounds,
        warm_ups=min(WARM_UP_COUNT, rounds - 1),
    )
    counts = f"{results[-1]['matched']:,} match, {results[-1]['notified']:,} notified"
    return rounds_taken.rate("backtest", f"{source}; {name}: {counts}", "events/s", total)


def multiply(parts: LakeParts, *, days: int, copies: int = COPIES) -> None:
    """Put the same events into the lake again and again, each time further on in the log and further back in time."""
    first = parts.extent()
    events = history(parts.session, parts.place, first)
    for copy in range(1, copies):
        after, through = copy * first.log_end, (copy + 1) * first.log_end
        back_ms = f"(pmod(log_offset, {days}) * {_DAY_MS}L)"
        moved_events = events.selectExpr(
            "* EXCEPT (log_offset, timestamp_ms)",
            f"log_offset + {after}L AS log_offset",
            f"timestamp_ms - {back_ms} AS timestamp_ms",
        ).select(*events.columns)
        segment_id = parts.lake.stage(after, through, now_ms=1)
        count = write_events(moved_events, parts.place, segment_id).event_count
        segment = Segment(segment_id, after, through, count, 0, 2**53)
        if not parts.lake.keep(segment, now_ms=1):
            raise AssertionError("the lake was grown by somebody else")


def scan(events: DataFrame) -> float:
    """Return how long it takes to read every column but the JSON, and do nothing with it."""
    began_s = time.perf_counter()
    events.drop("event").write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began_s


def _alert(condition: str, category: str, channel: str) -> Document:
    return {
        "id": "00000000-0000-4000-8000-00000000000b",
        "name": "backtest",
        "fullyQualifiedName": "backtest",
        "alertType": "Notification",
        "filteringRules": {"resources": ["all"], "rules": [{"effect": "include", "condition": condition}]},
        "destinations": [{"id": "00000000-0000-4000-8000-00000000000d", "category": category, "type": channel}],
    }
