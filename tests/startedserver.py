"""Fixture of a server per test, over a copy of the bootstrapped store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from tests.serving import Served, running_server
from tests.startedstore import StartedStore


@pytest.fixture
def sqlite_url(started_store_url: str) -> str:
    """Address of this test's own store, first start done."""
    return started_store_url


@pytest.fixture
def served(sqlite_engine: Engine, started_store: StartedStore) -> Iterator[Served]:
    """A running server over an empty store, first start done."""
    with running_server(sqlite_engine, password=started_store.password, token=started_store.token) as server:
        yield server
