"""Fixtures of the API tests: one running server per test, over its own store."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.serving import Json, Served, warehouse
from tests.startedserver import served, sqlite_url

__all__ = ["served", "sqlite_url"]


@pytest.fixture
def administrator(served: Served) -> Iterator[httpx.Client]:
    """A client logged in as the administrator."""
    with served.administrator() as client:
        yield client


@pytest.fixture
def orders(administrator: httpx.Client) -> Json:
    """The table ``warehouse.shop.public.orders``."""
    return warehouse(administrator)
