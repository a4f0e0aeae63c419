"""Benchmark of unrelated followers: a micro-batch of 100 events with 10,000 and with 1,000,000 follow rows.

Two stores that differ only in rows of assets that did not change, and the same events on both, in alternation. The
floor is the small store. Next to the time is the work of the store: statements, and SQLite's own count
of its steps (in thousands), which would reveal a scan of a million rows.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlalchemy import Engine, event

from bench.backlog import FOLLOW_COUNT, size_at
from bench.estate import add_follows, build_estate
from bench.measured import Measurement, Report, p50, scale_count
from bench.running import open_store as store_opened
from bench.running import settings_in
from bench.traffic import append, happenings, templates
from tocsin.clock import SystemClock
from tocsin.flow.pipeline import AlertFacts
from tocsin.jobs.match_stream import build, pipeline_engine
from tocsin.jobs.resolving import OF_EVENT, Notify, StoreAddress, open_resolving
from tocsin.spark.log_columns import to_arrow
from tocsin.spark.match import matches
from tocsin.spark.schema import EVENTS
from tocsin.store.database.engine import open_engine

MANY_FOLLOWS, STRANGER_COUNT = 1_000_000, 100_000
EVENT_COUNT, ROUND_COUNT, WARM_UP_COUNT = 100, 20, 5
_STEPS_COUNTED_AT_ONCE = 1_000


@dataclass
class Store:
    """A store with so many follow rows, and what the micro-batches on it cost."""

    engine: Engine
    work: Notify
    statements: int = 0
    steps: int = 0
    times_s: list[float] = field(default_factory=list)

    def start_counting(self) -> None:
        """Forget what warming up has cost."""
        self.statements = self.steps = 0
        self.times_s.clear()

    def tell(self, matched: pa.Table) -> int:
        """Do with the matches what a task does with them, in this process, and note how long that took."""
        started_s = time.perf_counter()
        (counts,) = self.work(iter(matched.to_batches()))
        self.times_s.append(time.perf_counter() - started_s)
        return int(counts.to_pylist()[0]["notified"])


@dataclass(frozen=True)
class Here:
    """The alerts, which need not be sent anywhere."""

    value: AlertFacts


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure micro-batches with few and with many follow rows in the store."""
    rounds = scale_count(ROUND_COUNT, scale, least=3)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as name:
        folder = Path(name)
        few, many = notify_in_turns(folder, _build_stores(folder, scale), rounds, report)
        return costs("follows", f"micro-batch of {EVENT_COUNT} events", (few, many), rounds=rounds)


def notify_in_turns(folder: Path, paths: tuple[Path, Path], rounds: int, report: Report) -> tuple[Store, Store]:
    """Notify of the same micro-batches in two stores in turns; return what that cost in each."""
    with ExitStack() as stack:
        settings = settings_in(folder)
        parts = build(settings, pipeline_engine(settings))
        stack.callback(parts.session.stop)
        alerts = parts.alerts.read()
        few, many = (stack.enter_context(_counting_store(path, Here(alerts.facts))) for path in paths)
        stores = (few, many)
        batches = list(_batches([one.engine for one in stores], WARM_UP_COUNT + rounds))
        for number, batch in enumerate(batches):
            report(number, len(batches))
            if number == WARM_UP_COUNT:
                for store in stores:
                    store.start_counting()
            events = parts.session.createDataFrame(batch, schema=EVENTS)
            matched_rows = matches(events, alerts.index, columns=OF_EVENT).toArrow()
            if len({store.tell(matched_rows) for store in stores}) != 1:
                raise AssertionError("what has nothing to do with the events changed who is notified")
        return stores


def costs(benchmark: str, work: str, stores: tuple[Store, Store], *, rounds: int) -> list[Measurement]:
    """Return the rows of what micro-batches cost in the second of two stores; the floor is the first."""
    few, many = stores

    def row(name: str, unit: str, cost: Callable[[Store], float]) -> Measurement:
        return Measurement(benchmark, name, cost(many), unit, cost(few), rounds)

    return [
        row(f"{work}, p50", "ms", lambda store: p50(store.times_s) * 1000),
        row("statements of a micro-batch", "", lambda store: store.statements / rounds),
        row("SQLite steps of a micro-batch", "1,000", lambda store: store.steps / rounds),
    ]


def _build_stores(folder: Path, scale: float) -> tuple[Path, Path]:
    """Make two stores that differ only in follow rows; return their files."""
    few, many = folder / "tocsin.db", folder / "many.db"
    with store_opened(settings_in(folder)) as (engine, _password):
        build_estate(engine, size_at(scale), follows=scale_count(FOLLOW_COUNT, scale, least=200))
    shutil.copyfile(few, many)  # the last connection took the write-ahead log with it
    engine = open_engine(f"sqlite:///{many}", synchronous="NORMAL")
    follow_count = scale_count(MANY_FOLLOWS, scale, least=5_000)
    add_follows(engine, follow_count, seed=13, strangers=scale_count(STRANGER_COUNT, scale, least=500))
    engine.dispose()
    return few, many


@contextmanager
def _counting_store(path: Path, rules: Here) -> Iterator[Store]:
    """Yield the store with an engine that counts statements and steps."""
    address = StoreAddress(f"sqlite:///{path}")
    engine = open_resolving(address).engine
    store = Store(engine, Notify(address, rules, SystemClock().now_ms()))
    _count(engine, store)
    try:
        yield store
    finally:
        engine.dispose()


def _count(engine: Engine, store: Store) -> None:
    def count_step() -> int:
        store.steps += 1
        return 0

    @event.listens_for(engine, "connect")
    def _watch(connection: Any, _record: object) -> None:  # Any: the driver's own connection
        connection.set_progress_handler(count_step, _STEPS_COUNTED_AT_ONCE)

    @event.listens_for(engine, "before_cursor_execute")
    def _count_statement(*_arguments: object) -> None:
        store.statements += 1


def _batches(engines: Sequence[Engine], count: int) -> Iterator[pa.Table]:
    """Yield micro-batches of events that happen now, as the log source would deliver them; all stores log them."""
    happened = happenings(templates(engines[0]), seed=17)
    for _ in range(count):
        events = list(islice(happened, EVENT_COUNT))
        offsets, *_others = [append(engine, events) for engine in engines]
        logged = [(offset, row["document"], row["derived"]) for offset, row in zip(offsets, events, strict=True)]
        yield pa.Table.from_batches([to_arrow(logged)])
