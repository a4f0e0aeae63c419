"""Fixture of a server per test, over a copy of the bootstrapped store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine
from tests.serving import Served, running_server
from tests.startedstore import StartedStore

from tocsin.store.database.engine import open_engine


@pytest.fixture
def sqlite_url(started_store_url: str) -> str:
    """Address of this test's own store, first start done."""
    return started_store_url


@pytest.fixture
def served(sqlite_engine: Engine, started_store: StartedStore) -> Iterator[Served]:
    """A running server over an empty store, first start done."""
    with running_server(sqlite_engine, password=started_store.password, token=started_store.token) as server:
        yield server


@contextmanager
def lasting_administrator(started_store: StartedStore, folder: Path) -> Iterator[httpx.Client]:
    """Yield the administrator's client of one server, for the tests of a module that change nothing in its store."""
    (folder / "tocsin.db").write_bytes(started_store.path.read_bytes())
    engine = open_engine(f"sqlite:///{folder / 'tocsin.db'}", synchronous="OFF")
    with (
        running_server(engine, password=started_store.password, token=started_store.token) as server,
        server.administrator() as client,
    ):
        yield client
    engine.dispose()
