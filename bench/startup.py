"""Benchmark of start-up time and memory of the processes.

A server is ready when it answers, a worker when it starts polling, the pipeline when it reports progress,
as in ``tocsin up``. The floors start the dependencies without our code: Python, the libraries, a bare
Spark session. Memory is the peak (VmHWM) after a small load: changes over HTTP, each with an inbox entry and a webhook.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, func, select

from bench.measured import Measurement, Report, p50, scale_count
from bench.running import Running, Served, answers, family, open_store, peak_mib, running, serving, settings_in
from bench.running import tocsin_command as ours
from tocsin.catalogue.writes import Writes
from tocsin.cli.ports import any_free_port
from tocsin.clock import SystemClock
from tocsin.jobs.match_stream import QUERY_NAME
from tocsin.model.message import MessageStatus
from tocsin.model.people import SYSTEM
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import message
from tocsin.store.eventlog.log import EventLog

START_COUNT, CHANGE_COUNT = 3, 200
_AIMS = {"server": "1,000", "pipeline": "5,500"}
_NOTHING = (sys.executable, "-c", "pass")
_FLOORS = {
    "server": "import alembic, argon2, fastapi, joserfc, sqlalchemy, uvicorn",
    "worker": "import aiohttp, aiosmtplib, alembic, jinja2, sqlalchemy",
    "pipeline": "import pyspark.sql; pyspark.sql.SparkSession.builder.master('local[2]').getOrCreate()",
}
"""Dependencies of each process."""
_IDLE = "; print('ready', flush=True); import time; time.sleep(600)"


@dataclass(frozen=True)
class Start:
    """One start: how long it took (seconds), and the peaks (MiB) of its Python, its JVM, and its Python workers.

    Workers share memory with the process they were forked from, so the sum of their peaks is more than they take.
    """

    ready_s: float
    python_mib: float = 0.0
    java_mib: float = 0.0
    workers_mib: float = 0.0
    worker_count: int = 0


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure starts and peak memory."""
    turns = scale_count(START_COUNT, scale, least=1)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        settings = settings_in(Path(folder))
        with open_store(settings) as (engine, password):
            report(0, 4)
            floors = {name: [_bare_start(name, settings) for _ in range(turns)] for name in _FLOORS}
            report(1, 4)
            helps = [_run_s(ours("--help")) for _ in range(turns)], [_run_s(_NOTHING) for _ in range(turns)]
            report(2, 4)
            starts_under_load = _start_and_load(engine, settings, password, scale_count(CHANGE_COUNT, scale, least=10))
            report(3, 4)
            starts = {name: [*_starts(name, engine, settings, turns - 1), starts_under_load[name]] for name in _FLOORS}
    first = Measurement("startup", "tocsin --help", p50(helps[0]) * 1000, "ms", p50(helps[1]) * 1000, turns, "150")
    return [first, *_times(starts, floors), *_peaks(starts_under_load, floors)]


def _times(starts: dict[str, list[Start]], floors: dict[str, list[Start]]) -> Iterator[Measurement]:
    for name, own_starts in starts.items():
        times_ms, floor_ms = ([one.ready_s * 1000 for one in some] for some in (own_starts, floors[name]))
        yield Measurement(
            "startup", f"{name} ready", p50(times_ms), "ms", p50(floor_ms), len(own_starts), _AIMS.get(name, "")
        )


def _peaks(loaded: dict[str, Start], floors: dict[str, list[Start]]) -> Iterator[Measurement]:
    for name, start in loaded.items():
        floor = floors[name][0]
        yield Measurement("startup", f"{name}, peak memory", start.python_mib, "MiB", floor.python_mib, 1)
        if start.java_mib:
            yield Measurement("startup", f"{name}'s JVM, peak memory", start.java_mib, "MiB", floor.java_mib, 1)
        if start.worker_count:
            which = "Python workers" if start.java_mib else "processes"
            yield Measurement(
                "startup", f"{name}'s {which}, peak memory", start.workers_mib, "MiB", None, start.worker_count
            )


def _run_s(command: tuple[str, ...]) -> float:
    """Return how long a command takes that ends by itself."""
    started_s = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return time.perf_counter() - started_s


def _bare_start(name: str, settings: Settings) -> Start:
    with running((sys.executable, "-c", _FLOORS[name] + _IDLE), settings, "bare") as bare:
        return _start_of(bare, bare.until(lambda: "ready" in bare.text()))


def _starts(name: str, engine: Engine, settings: Settings, turns: int) -> Iterator[Start]:
    """Start one process again and again, with nothing to do."""
    for _ in range(turns):
        match name:
            case "server":
                with running(ours("serve"), settings, "serve") as server:
                    yield _start_of(server, server.until(lambda: answers(settings.port)))
            case "worker":
                with _working(settings) as (worker, ready_s):
                    yield _start_of(worker, ready_s)
            case _:
                with _notifying(engine, settings) as (pipeline, ready_s):
                    yield _start_of(pipeline, ready_s)


@contextmanager
def _working(settings: Settings) -> Iterator[tuple[Running, float]]:
    with running(ours("deliver"), settings, "deliver") as worker:
        yield worker, worker.until(lambda: "worker.started" in worker.text())


@contextmanager
def _notifying(engine: Engine, settings: Settings) -> Iterator[tuple[Running, float]]:
    since_ms = SystemClock().now_ms()
    with running(ours("pipeline"), settings, "pipeline") as pipeline:
        yield pipeline, pipeline.until(lambda: (EventLog(engine).reported_at_ms(QUERY_NAME) or 0) >= since_ms)


def _start_and_load(engine: Engine, settings: Settings, password: str, count: int) -> dict[str, Start]:
    """Start everything, let some changes go all the way, and return what each process came to."""
    hook_port = any_free_port()
    with ExitStack() as stack:
        ports = ("--http-port", str(hook_port), "--smtp-port", str(any_free_port()))
        stack.enter_context(running(ours("receive", *ports), settings, "receive"))
        server = stack.enter_context(serving(settings, password))
        pipeline, notified_s = stack.enter_context(_notifying(engine, settings))
        _change(engine, server, f"http://127.0.0.1:{hook_port}/hook", count)
        pipeline.until(lambda: EventLog(engine).lag(QUERY_NAME) == 0, every_s=0.1)
        worker, ready_s = stack.enter_context(_working(settings))
        worker.until(lambda: _delivered_count(engine) == count, every_s=0.1)
        return {
            "server": _start_of(server.running, server.ready_s),
            "worker": _start_of(worker, ready_s),
            "pipeline": _start_of(pipeline, notified_s),
        }


def _change(engine: Engine, served: Served, hook: str, count: int) -> None:
    """Make a followed table, an alert with a webhook, and so many changes over HTTP."""
    with served.client() as client:

        def post(path: str, request: dict[str, object]) -> str:
            return str(client.post(path, json=request).raise_for_status().json()["id"])

        post("/services/databaseServices", {"name": "pg", "serviceType": "Postgres"})
        post("/databases", {"name": "store", "service": "pg"})
        post("/databaseSchemas", {"name": "public", "database": "pg.store"})
        columns = [{"name": f"c{at}", "dataType": "INT"} for at in range(12)]
        table = post("/tables", {"name": "orders", "databaseSchema": "pg.store.public", "columns": columns})
        follower = post("/users", {"name": "cem", "email": "cem@example.com"})
        Writes(SqlCatalogue(engine), SystemClock()).follow("table", table, follower, actor=SYSTEM)
        post("/events/subscriptions", _alert(hook))
        for number in range(count):
            patch = [{"op": "add", "path": "/description", "value": f"text {number}"}]
            headers = {"Content-Type": "application/json-patch+json"}
            client.patch(f"/tables/{table}", json=patch, headers=headers).raise_for_status()
            client.get(f"/tables/{table}").raise_for_status()


def _alert(hook: str) -> dict[str, object]:
    rules = [{"effect": "include", "condition": "fieldChanged == 'description' && eventType == 'entityUpdated'"}]
    return {
        "name": "hook",
        "alertType": "Notification",
        "filteringRules": {"resources": ["table"], "rules": rules},
        "destinations": [{"category": "External", "type": "Webhook", "config": {"endpoint": hook}}],
    }


def _delivered_count(engine: Engine) -> int:
    query = select(func.count()).select_from(message).where(message.c.status == MessageStatus.DELIVERED.value)
    with reading(engine) as connection:
        return int(connection.scalar(query) or 0)


def _start_of(process: Running, ready_s: float) -> Start:
    """Return what a process, its JVM and its Python workers have come to by now."""
    parent_id, *started = family(process.process.pid)
    java = [pid for pid in started if _name_of(pid) == "java"]
    workers = [pid for pid in started if pid not in java]
    return Start(ready_s, peak_mib(parent_id), sum(map(peak_mib, java)), sum(map(peak_mib, workers)), len(workers))


def _name_of(pid: int) -> str:
    """Return the name of a process; empty when it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""
