"""Runner of Tocsin's own processes for benchmarks: started in a temporary folder, ended by id in any case.

Only loopback is used. Next: the benchmarks of this package.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
from sqlalchemy import Engine
from tests.postgres import binaries, running_cluster

import tocsin
from tocsin.cli.ports import LOOPBACK, any_free_port
from tocsin.model.preferences import DefaultPreferences
from tocsin.server.bootstrap import ADMINISTRATOR, MESSAGES, first_start
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.outbox.preferences import SqlPreferences

_SOURCES = str(Path(str(tocsin.__path__[0])).parent)
_GRACE_S = 20.0
_LAST_LINES = 20
_OURS = "TOCSIN_"


@dataclass(frozen=True)
class Running:
    """A process that this benchmark started, and the file that holds what it printed."""

    process: subprocess.Popen[bytes]
    printed: Path
    started_s: float

    def text(self) -> str:
        """Return what it has printed so far."""
        return self.printed.read_text(errors="replace")

    def peak_mib(self) -> float:
        """Return the most memory that it and what it started ever held, each at its own peak (VmHWM)."""
        return sum(peak_mib(pid) for pid in family(self.process.pid))

    def processor_s(self) -> float:
        """Return the processor time that it and what it started have taken so far."""
        return sum(processor_s(pid) for pid in family(self.process.pid))

    def until(self, question: Callable[[], bool], *, within_s: float = 120.0, every_s: float = 0.01) -> float:
        """Return how long after its start (seconds) ``question`` was true; raise if it ended before that."""
        until(question, within_s=within_s, every_s=every_s, or_else=self._say_if_ended)
        return time.perf_counter() - self.started_s

    def _say_if_ended(self) -> None:
        if self.process.poll() is not None:
            last = "\n".join(self.text().splitlines()[-_LAST_LINES:])
            raise RuntimeError(f"{self.process.args!r} ended with code {self.process.returncode}:\n{last}")


@dataclass(frozen=True)
class Served:
    """A running server, the token of its administrator, and how long (seconds) it took to answer at first."""

    running: Running
    url: str
    token: str
    ready_s: float

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {"Authorization": f"Bearer {self.token}"}

    def client(self) -> httpx.Client:
        """Return an HTTP client of the administrator's; paths are relative to ``/api/v1``."""
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=self.headers, timeout=30, trust_env=False)


def settings_in(folder: Path, **options: object) -> Settings:
    """Return settings for processes that work in ``folder`` on a free port."""
    loopback = (f"{LOOPBACK}/32",)  # where the receivers are
    return Settings(data_dir=folder, port=any_free_port(), log_level="info", egress_allow=loopback, **options)  # type: ignore[arg-type]  # checked


@contextmanager
def open_store(settings: Settings) -> Iterator[tuple[Engine, str]]:
    """Yield an engine on a new store and the administrator's password."""
    engine = open_engine(settings.store_url(), synchronous=settings.sqlite_synchronous)
    try:
        password = first_start(engine, settings.model_copy(update={"smtp_host": None})) or ""
        ScheduledJobs(engine).ran(MESSAGES, now_ms=1)  # alerts of the benchmark alone send messages
        SqlPreferences(engine).put_defaults(DefaultPreferences(), now_ms=0)  # what is measured goes out at once
        yield engine, password
    finally:
        engine.dispose()


@contextmanager
def running(command: tuple[str, ...], settings: Settings, name: str) -> Iterator[Running]:
    """Run a command in the data folder of ``settings``; end it and all that it started at the end."""
    log_path = settings.data_dir / f"{name}.log"
    with log_path.open("wb") as sink:
        started_s = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=settings.data_dir,
            env=_environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield Running(process, log_path, started_s)
        finally:
            _end(process)


@contextmanager
def serving(settings: Settings, password: str, command: tuple[str, ...] = ("serve",)) -> Iterator[Served]:
    """Run ``tocsin serve``, or another ``command`` that serves, until the block ends."""
    with running(tocsin_command(*command), settings, command[0]) as server:
        url = f"http://{LOOPBACK}:{settings.port}"
        ready_s = server.until(lambda: answers(settings.port))
        login = {"email": ADMINISTRATOR["email"], "password": password}
        answer = httpx.post(f"{url}/api/v1/users/login", json=login, trust_env=False, timeout=30)
        yield Served(server, url, answer.raise_for_status().json()["accessToken"], ready_s)


def tocsin_command(*arguments: str) -> tuple[str, ...]:
    """Return the command that runs this Tocsin."""
    return (sys.executable, "-m", "tocsin", *arguments)


def answers(port: int) -> bool:
    """Return whether a server answers on this port of the loopback."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", "/api/v1/system/version")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def until(
    question: Callable[[], bool],
    *,
    within_s: float,
    every_s: float = 0.01,
    or_else: Callable[[], None] = lambda: None,
) -> None:
    """Return as soon as ``question`` is true; ``or_else`` may raise meanwhile, and TimeoutError ends it."""
    deadline = time.monotonic() + within_s
    while not question():
        or_else()
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {within_s:g} s")
        time.sleep(every_s)


def family(pid: int) -> Iterator[int]:
    """Yield a process and all that it started, as long as they run."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in children.read_text().split():
                yield from family(int(child))


def peak_mib(pid: int) -> float:
    """Return the most memory that a process ever held; 0 when it has ended."""
    return _memory_mib(pid, "VmHWM:")


def resident_mib(pid: int) -> float:
    """Return the memory that a process holds now; 0 when it has ended."""
    return _memory_mib(pid, "VmRSS:")


def _memory_mib(pid: int, key: str) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(key):
                return int(line.split()[1]) / 1024
    return 0.0


def processor_s(pid: int) -> float:
    """Return the processor time that a process has taken so far, its threads included; 0 when it has ended."""
    with suppress(OSError):
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]  # utime and stime
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _environment(settings: Settings) -> Mapping[str, str]:
    variables = {key: value for key, value in os.environ.items() if not key.startswith(_OURS)}
    ours = {
        "TOCSIN_DATA_DIR": str(settings.data_dir),
        "TOCSIN_PORT": str(settings.port),
        "TOCSIN_SQLITE_SYNCHRONOUS": settings.sqlite_synchronous,
        **({"TOCSIN_DATABASE_URL": settings.database_url} if settings.database_url else {}),
        **({"TOCSIN_SMTP_HOST": settings.smtp_host} if settings.smtp_host else {}),
        **({"TOCSIN_PROCESSES": str(settings.processes)} if settings.processes else {}),
        **({"TOCSIN_KAFKA_SERVERS": settings.kafka_servers} if settings.kafka_servers else {}),
        "TOCSIN_KAFKA_TOPIC": settings.kafka_topic,
        "TOCSIN_RELAY_NAME": settings.relay_name,
        **({"TOCSIN_INGEST_TOPIC": settings.ingest_topic} if settings.ingest_topic else {}),
        "TOCSIN_INGEST_GROUP": settings.ingest_group,
        "TOCSIN_INGEST_BOT": settings.ingest_bot,
        "TOCSIN_STREAMS": str(settings.streams),
        "TOCSIN_CONNECTIONS": str(settings.connections),
        "TOCSIN_CONNECTIONS_PER_SOURCE": str(settings.connections_per_source),
        "TOCSIN_SMTP_PORT": str(settings.smtp_port),
        "TOCSIN_EGRESS_ALLOW": json.dumps(settings.egress_allow),
    }
    return {**variables, **ours, "PYTHONPATH": _SOURCES, "PYTHONUNBUFFERED": "1"}


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # its session holds only it and what it started
    process.wait()


def empty_stores(stack: ExitStack) -> Iterator[tuple[str, str]]:
    """Yield name and address of an empty store of each kind: SQLite, and PostgreSQL where it is installed."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tocsin-bench-"))
    yield "SQLite", f"sqlite:///{folder}/store.db"
    if programs := binaries():
        cluster = stack.enter_context(running_cluster(programs, durable=True))
        cluster.run("CREATE DATABASE bench")
        yield "PostgreSQL", cluster.url("bench")
