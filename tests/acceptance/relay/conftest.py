"""Fixtures of the relay: a broker for all tests of one run, a store with a company, and relays over it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import structlog
from sqlalchemy import Engine
from structlog.testing import capture_logs
from tests.company import SmallCompany
from tests.kafka import Kafka
from tests.postgres import binaries
from tests.serving import start_store
from tests.waiting import until

from tocsin.cli.java import java_program
from tocsin.relay.build import relay_of
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.log import EventLog

NEEDS_JAVA = pytest.mark.skipif(java_program() is None, reason="Kafka needs Java")
CAUGHT_UP_WITHIN_S = 60
KILLED_ON = [
    pytest.param("sqlite", marks=[pytest.mark.soak] if binaries() else []),
    pytest.param("postgres_url", marks=pytest.mark.postgres),
]
"""Stores of processes that are killed: one is enough for the broker's part of what they promise."""


@pytest.fixture
def relay_log() -> Iterator[list[MutableMapping[str, Any]]]:
    """What relays in threads of the test log."""
    before = structlog.get_config()
    structlog.reset_defaults()
    with capture_logs() as logged:
        yield logged
    structlog.configure(**before)


def reasons_in(relay_log: list[MutableMapping[str, Any]]) -> str:
    """Return what relays waited for so far."""
    return "\n".join(str(entry.get("reason")) for entry in relay_log)


@dataclass
class Office:
    """A store with a company in it, and the settings of relays over it."""

    engine: Engine
    company: SmallCompany
    settings: Settings
    processes: ExitStack = field(default_factory=ExitStack)

    @property
    def topic(self) -> str:
        """Return the topic of its relays."""
        return self.settings.kafka_topic

    def describe(self, count: int = 1) -> None:
        """Change the table ``count`` times."""
        for number in range(count):
            self.company.clock.advance(1_000)
            self.company.describe("orders", f"text {number} of {uuid4()}")

    def progress(self) -> int:
        """Return the offset up to which its relay has written."""
        return EventLog(self.engine).progress(f"relay {self.settings.relay_name}")

    def end(self) -> int:
        """Return the last offset of the log."""
        return EventLog(self.engine).readable_end()

    @contextmanager
    def relaying(self, **changes: object) -> Iterator[threading.Thread]:
        """Run a relay in a thread until the block ends, and raise the error that it ended with."""
        stop, errors = threading.Event(), list[BaseException]()

        def run() -> None:
            try:
                with relay_of(self.settings.model_copy(update=changes)) as relay:
                    relay.run(stop)
            except Exception as error:  # noqa: BLE001  # raised below
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield thread
        finally:
            stop.set()
            thread.join(60)
        if errors:
            raise errors[0]

    def start(self) -> subprocess.Popen[bytes]:
        """Start ``tocsin relay`` as a process; it is killed at the end of the test."""
        names = ("data_dir", "database_url", "kafka_servers", "kafka_topic", "pulsar_url", "pulsar_topic", "relay_name")
        settings = {f"TOCSIN_{name.upper()}": getattr(self.settings, name) for name in names}
        environment = os.environ | {name: str(value) for name, value in settings.items() if value is not None}
        environment["TOCSIN_RELAY_LEASE_S"] = "2"
        process = subprocess.Popen([sys.executable, "-m", "tocsin", "relay"], env=environment)
        self.processes.callback(process.wait)
        self.processes.callback(process.kill)
        return process


@pytest.fixture
def make_office(kafka: Kafka, sqlite_template: Path, tmp_path: Path) -> Iterator[Callable[[str | None], Office]]:
    with ExitStack() as stack:

        def make(database_url: str | None) -> Office:
            if database_url is None:
                (tmp_path / "tocsin.db").write_bytes(sqlite_template.read_bytes())
            broker = Settings(kafka_servers=kafka.servers, database_url=database_url)
            return new_office(stack, tmp_path, broker)

        yield make


def new_office(stack: ExitStack, data_dir: Path, broker: Settings) -> Office:
    """Return a store with a company, and relays of a new name that write to a new topic of the broker in settings."""
    name = f"relay-{uuid4().hex[:8]}"
    topics = {"kafka_topic": f"events-{name}", "pulsar_topic": f"events-{name}"}
    settings = broker.model_copy(update={"data_dir": data_dir, "relay_name": name, **topics})
    engine = open_engine(settings.store_url(), synchronous="OFF")
    start_store(engine, settings)
    office = Office(engine, SmallCompany(engine), settings)
    stack.callback(engine.dispose)
    stack.enter_context(office.processes)
    return office


@pytest.fixture
def office(make_office: Callable[[str | None], Office]) -> Office:
    return make_office(None)


def wait_until_relayed(office: Office) -> None:
    """Wait until the last event of the log is in the topic."""
    end = office.end()
    until(lambda: office.progress() >= end, within_s=CAUGHT_UP_WITHIN_S)
