"""Fixtures of the unit tests: a small server on loopback, for HTTP clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.small_server import SmallServer, listening


@pytest.fixture
def small_server() -> Iterator[SmallServer]:
    server = SmallServer()
    with listening(server):
        yield server
