"""Fixtures of the API tests: one running server per test, over its own store."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from tests.serving import Json, Served, running_server, warehouse
from tests.startedserver import served
from tests.startedstore import StartedStore

from tocsin.store.database.engine import open_engine

__all__ = ["served"]


class WarehouseStore(NamedTuple):
    """A SQLite file to copy whose first start is done, with a warehouse, and the warehouse's table ``orders``."""

    path: Path
    orders: Json


@pytest.fixture(scope="session")
def warehouse_store(started_store: StartedStore, tmp_path_factory: pytest.TempPathFactory) -> WarehouseStore:
    path = tmp_path_factory.mktemp("warehouse_store") / "warehouse_store.db"
    path.write_bytes(started_store.path.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    with (
        running_server(engine, password=started_store.password, token=started_store.token) as server,
        server.administrator() as client,
    ):
        orders = warehouse(client)
    engine.dispose()  # the last to let go of it leaves everything in the one file
    return WarehouseStore(path, orders)


@pytest.fixture
def sqlite_url(request: pytest.FixtureRequest, started_store: StartedStore, tmp_path: Path) -> str:
    """Address of this test's own store, first start done; with the warehouse if the test asks for ``orders``."""
    has_warehouse = "orders" in request.fixturenames
    template = request.getfixturevalue("warehouse_store").path if has_warehouse else started_store.path
    path = tmp_path / "tocsin.db"
    path.write_bytes(template.read_bytes())
    return f"sqlite:///{path}"


@pytest.fixture
def administrator(served: Served) -> Iterator[httpx.Client]:
    """A client logged in as the administrator."""
    with served.administrator() as client:
        yield client


@pytest.fixture
def orders(administrator: httpx.Client, warehouse_store: WarehouseStore) -> Json:
    """The table ``warehouse.shop.public.orders``."""
    del administrator
    return deepcopy(warehouse_store.orders)
