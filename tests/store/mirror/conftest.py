"""Fixtures of the tests of the mirror: a server with a warehouse, and stores that mirror it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from tests.mirrored import Mirrored
from tests.openmetadata import FakeOpenMetadata, a_warehouse, running
from tests.startedserver import sqlite_url

__all__ = ["sqlite_url"]


@pytest.fixture
def fake() -> Iterator[FakeOpenMetadata]:
    with running(FakeOpenMetadata()) as served:
        a_warehouse(served)
        yield served


@pytest.fixture
def each_mirror(store_engine: Engine, fake: FakeOpenMetadata) -> Mirrored:
    return Mirrored(store_engine, fake)


@pytest.fixture
def mirror(sqlite_engine: Engine, fake: FakeOpenMetadata) -> Mirrored:
    return Mirrored(sqlite_engine, fake)
