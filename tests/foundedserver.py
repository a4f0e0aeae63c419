"""Fixture of a server per test, over a copy of the bootstrapped store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from tests.founded import Founded
from tests.serving import Served, running_server


@pytest.fixture
def sqlite_url(founded_url: str) -> str:
    """Address of this test's own store, first start done."""
    return founded_url


@pytest.fixture
def served(sqlite_engine: Engine, founded: Founded) -> Iterator[Served]:
    """A running server over an empty store, first start done."""
    with running_server(sqlite_engine, password=founded.password, token=founded.token) as server:
        yield server
