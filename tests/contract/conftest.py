"""What do the tests of the API share? One running server per test, over a store of its own."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.serving import Json, Served, running_server, warehouse


@pytest.fixture
def served(sqlite_engine: Engine) -> Iterator[Served]:
    """A running server over an empty store, first start done."""
    with running_server(sqlite_engine) as server:
        yield server


@pytest.fixture
def administrator(served: Served) -> Iterator[httpx.Client]:
    """A client logged in as the administrator."""
    with served.administrator() as client:
        yield client


@pytest.fixture
def orders(administrator: httpx.Client) -> Json:
    """The table ``warehouse.shop.public.orders``."""
    return warehouse(administrator)
