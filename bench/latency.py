"""Benchmark of latency from the response of a change to the follower's inbox: ``tocsin up``, one event at a time.

The system is otherwise idle, and then has 500 other writes a second. The floor of the idle one is a reader that only
polls the end of the log, as often as the inbox is polled here. Next: ``bench/phases.py`` for where the time goes,
``bench/backlog.py`` for many events at once.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import httpx
from sqlalchemy import Engine, func, select

from bench.measured import Measurement, Report, p50, p95, scale_count
from bench.running import Served, open_store, serving, settings_in, until
from bench.steady_writes import WriteRate, steady_writes
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.jobs.match_stream import QUERY_NAME
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, notification
from tocsin.store.eventlog.log import EventLog

EVENT_COUNT, WARM_UP_COUNT = 60, 100
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 1.0
OTHER_TABLES, WRITES_PER_S = 64, 500
LOOK_EVERY_S = 0.01
_SHOWN_WITHIN_S = 60.0


@dataclass(frozen=True)
class Place:
    """The table that changes, who follows it, and where the pipeline keeps its plans of micro-batches."""

    table_id: str
    follower_id: str
    plans: Path
    other_table_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """How long after its answer (seconds) one change was seen in the log, in a micro-batch, and in the inbox."""

    logged_s: float
    planned_s: float
    shown_s: float


class ArrivalWatcher(threading.Thread):
    """Looks at the ends of the log and of an inbox every 10 ms, and notes when each came to where it is."""

    def __init__(self, engine: Engine, follower_id: str) -> None:
        super().__init__(name="lookout", daemon=True)
        of_follower = (notification.c.recipient_id == follower_id, notification.c.channel == "ActivityFeed")
        self._log = select(func.max(change_event.c.log_offset))
        self._inbox = select(func.max(notification.c.log_offset)).where(*of_follower)
        self._engine = engine
        self._stopping = threading.Event()
        self.log = self.inbox = (0, 0.0)
        """The offset at each end and the moment (epoch seconds) when it was first seen there."""

    def run(self) -> None:
        """Look until stopped."""
        while not self._stopping.wait(LOOK_EVERY_S):
            with reading(self._engine) as connection:
                log, inbox = (int(connection.scalar(query) or 0) for query in (self._log, self._inbox))
            now_s = time.time()
            self.log = self.log if log == self.log[0] else (log, now_s)
            self.inbox = self.inbox if inbox == self.inbox[0] else (inbox, now_s)

    def stop(self) -> None:
        """Stop looking."""
        self._stopping.set()
        self.join()


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure the time from a change's answer to the inbox, one event at a time."""
    counts = (scale_count(WARM_UP_COUNT, scale, least=2), scale_count(EVENT_COUNT, scale, least=3))
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        settings = settings_in(Path(folder))
        with open_store(settings) as (engine, password):
            place = create_place(engine, settings)
            with serving(settings, password, ("up", "--no-sample")) as server:
                server.running.until(lambda: EventLog(engine).lag(QUERY_NAME) == 0, every_s=0.1)
                before = _inbox_count(server, place)
                with _looking(engine, place) as lookout:
                    changes = _changes(server, place, lookout, sum(counts), report)
                    with steady_writes(server, place.other_table_ids, WRITES_PER_S) as rate:
                        busy_changes = _changes(server, place, lookout, sum(counts), report)
                shown_count = _inbox_count(server, place) - before
    if shown_count != len(changes) + len(busy_changes):
        raise AssertionError(f"the API shows {shown_count} notifications of {len(changes) + len(busy_changes)} changes")
    return [*_rows(changes[counts[0] :]), *_busy_rows(busy_changes[counts[0] :], rate)]


def _rows(changes: list[Seen]) -> list[Measurement]:
    logged = [max(one.logged_s, 0.0) * 1000 for one in changes]
    planned = [one.planned_s * 1000 for one in changes]
    shown_ms = [one.shown_s * 1000 for one in changes]
    return [
        Measurement("latency", "commit to inbox, p50", p50(shown_ms), "ms", p50(logged), len(changes), aim="100"),
        Measurement("latency", "commit to inbox, p95", p95(shown_ms), "ms", p95(logged), len(changes), aim="200"),
        Measurement("latency", "of it until its micro-batch is planned, p50", p50(planned), "ms", None, len(changes)),
    ]


def _busy_rows(changes: list[Seen], rate: WriteRate) -> list[Measurement]:
    shown_ms, beside = [one.shown_s * 1000 for one in changes], f"commit to inbox beside {WRITES_PER_S} writes/s"
    return [
        Measurement("latency", f"{beside}, p50", p50(shown_ms), "ms", None, len(changes)),
        Measurement("latency", f"{beside}, p95", p95(shown_ms), "ms", None, len(changes), aim="400"),
        Measurement("latency", "these writes", rate.per_s, "writes/s", None, len(changes), aim=f"{WRITES_PER_S}"),
    ]


def create_place(engine: Engine, settings: Settings) -> Place:
    """Make the table, the person who follows it, and tables that nobody follows."""
    writes = Writes(SqlCatalogue(engine), SystemClock())

    def put(entity_type: str, request: Document) -> str:
        return str(writes.create(entity_type, request, actor=SYSTEM).document["id"])

    put("databaseService", {"name": "pg", "serviceType": "Postgres"})
    put("database", {"name": "store", "service": "pg"})
    put("databaseSchema", {"name": "public", "database": "pg.store"})
    columns = [{"name": f"c{at}", "dataType": "INT"} for at in range(12)]
    table = {"databaseSchema": "pg.store.public", "columns": columns}
    table_id = put("table", {"name": "orders", **table})
    follower_id = put("user", {"name": "cem", "email": "cem@example.com"})
    writes.follow("table", table_id, follower_id, actor=SYSTEM)
    other_table_ids = tuple(put("table", {"name": f"t{at}", **table}) for at in range(OTHER_TABLES))
    return Place(table_id, follower_id, settings.checkpoint_dir() / QUERY_NAME / "offsets", other_table_ids)


@contextmanager
def _looking(engine: Engine, place: Place) -> Iterator[ArrivalWatcher]:
    lookout = ArrivalWatcher(engine, place.follower_id)
    lookout.start()
    try:
        yield lookout
    finally:
        lookout.stop()


def _changes(served: Served, place: Place, lookout: ArrivalWatcher, count: int, report: Report) -> list[Seen]:
    rng = Random(3)
    with served.client() as client:
        changes = []
        for number in range(count):
            report(number, count)
            time.sleep(rng.uniform(SHORTEST_PAUSE_S, LONGEST_PAUSE_S))
            changes.append(_change(client, place, lookout, f"text {number}"))
    return changes


def _change(client: httpx.Client, place: Place, lookout: ArrivalWatcher, text: str) -> Seen:
    """Change the description and wait until the inbox shows it."""
    before = lookout.inbox[0]
    patch = [{"op": "add", "path": "/description", "value": text}]
    headers = {"Content-Type": "application/json-patch+json"}
    client.patch(f"/tables/{place.table_id}", json=patch, headers=headers).raise_for_status()
    answered_s = time.time()
    until(lambda: lookout.inbox[0] > before, within_s=_SHOWN_WITHIN_S, every_s=LOOK_EVERY_S / 2)
    return Seen(
        logged_s=lookout.log[1] - answered_s,
        planned_s=_last_plan_s(place.plans) - answered_s,
        shown_s=lookout.inbox[1] - answered_s,
    )


def _last_plan_s(plans: Path) -> float:
    """Return when Spark last wrote down what a micro-batch reads, which it does just before running it."""
    return max(plan.stat().st_mtime for plan in plans.iterdir() if plan.name.isdigit())


def _inbox_count(served: Served, place: Place) -> int:
    """Return how many notifications the API shows."""
    with served.client() as client:
        answer = client.get(f"/users/{place.follower_id}/notifications", params={"limit": 0})
    return int(answer.raise_for_status().json()["counts"]["total"])
