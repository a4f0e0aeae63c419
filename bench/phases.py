"""Benchmark of the phases between a change and its notification, one event at a time, in one process.

The pipeline runs here as in ``tocsin pipeline``, on ``local[2]``; its tasks note when they begin, get their matches and
end. Each phase ends where the next begins. Next: ``bench/latency.py`` for the whole way, over HTTP.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

import pyarrow as pa
from pyspark.cloudpickle import register_pickle_by_value
from sqlalchemy import Engine

from bench.latency import Place, create_place
from bench.measured import Measurement, Report, scale_count
from bench.running import open_store, settings_in, until
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.jobs.alerts import Alerts, CurrentAlerts
from tocsin.jobs.match_stream import QUERY_NAME, MatchStreamParts, build, pipeline_engine, streaming, warm_up
from tocsin.jobs.resolving import Notify
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog

EVENT_COUNT, WARM_UP_COUNT = 60, 100
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 0.3
_LATEST_S = 60.0
_BEGUN, _TASK, _MATCHED, _STORED, _COMMITTED = "begun", "task", "matched", "stored", "committed"
PHASES = {
    _BEGUN: "until the micro-batch begins: planned and written to the checkpoint",
    _TASK: "until its task begins: alerts read, plan made, index broadcast",
    _MATCHED: "until the task has its matches: log read and matched",
    _STORED: "until they are stored: resolved, permitted, scheduled, committed",
    _COMMITTED: "after that: until the checkpoint and the store say that it is done",
}
"""What ends each phase, in order."""


@dataclass(frozen=True)
class NotifyNoting(Notify):
    """The work of a task that notes its moments in ``notes``: one line each, name and epoch seconds."""

    notes: Path = Path()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work."""
        self._note(_TASK)
        counts = list(super().__call__(self._note_matches(batches)))
        self._note(_STORED)
        yield from counts

    def _note_matches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        self._note(_MATCHED)

    def _note(self, name: str) -> None:
        with self.notes.open("a") as file:
            file.write(f"{name} {time.time()}\n")


class AlertsNoting(CurrentAlerts):
    """The alerts, which are read when a micro-batch begins: the moment is kept in ``read_s`` (epoch seconds)."""

    read_s = 0.0

    def read(self) -> Alerts:
        """Return the current alerts."""
        self.read_s = time.time()
        return super().read()


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure how long each phase takes, median over the events, on SQLite."""
    warm_ups, count = scale_count(WARM_UP_COUNT, scale, least=2), scale_count(EVENT_COUNT, scale, least=3)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        settings = settings_in(Path(folder))
        with open_store(settings) as (engine, _password):
            phases = _Phases(engine, settings, Path(folder) / "notes")
            changes = phases.run(warm_ups + count, report)[warm_ups:]
    return [
        Measurement("phases", name, median(one[phase] for one in changes) * 1000, "ms", None, count)
        for phase, name in PHASES.items()
    ]


class _Phases:
    """A pipeline whose moments are noted, and a table that changes."""

    def __init__(self, engine: Engine, settings: Settings, notes: Path) -> None:
        self._engine, self._notes = engine, notes
        self._place: Place = create_place(engine, settings)
        self._writes = Writes(SqlCatalogue(engine), SystemClock())
        self._alerts = AlertsNoting(QUERY_NAME, Subscriptions(engine))
        register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # Spark's own
        self._parts: MatchStreamParts = replace(
            build(settings, pipeline_engine(settings)), alerts=self._alerts, work=partial(NotifyNoting, notes=notes)
        )

    def run(self, count: int, report: Report) -> list[dict[str, float]]:
        """Return the seconds that each phase of each event took."""
        rng = Random(3)
        warm_up(self._parts)
        with streaming(self._parts):
            until(lambda: EventLog(self._engine).lag(QUERY_NAME) == 0, within_s=_LATEST_S)
            changes = []
            for number in range(count):
                report(number, count)
                time.sleep(rng.uniform(SHORTEST_PAUSE_S, LONGEST_PAUSE_S))
                changes.append(self._change(f"text {number}"))
        return changes

    def _change(self, text: str) -> dict[str, float]:
        self._notes.write_text("")
        patch = [{"op": "add", "path": "/description", "value": text}]
        self._writes.patch("table", Key(id=self._place.table_id), patch, actor=SYSTEM)
        written_s = time.time()
        until(lambda: EventLog(self._engine).lag(QUERY_NAME) == 0, within_s=_LATEST_S)
        noted = dict(line.split() for line in self._notes.read_text().splitlines())
        moments = {_BEGUN: self._alerts.read_s, **{name: float(at) for name, at in noted.items()}}
        moments[_COMMITTED] = time.time()
        ends = [moments[phase] for phase in PHASES]
        return {phase: end - start for phase, start, end in zip(PHASES, [written_s, *ends], ends, strict=False)}
