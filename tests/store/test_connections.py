"""Tests of the connections that an engine keeps."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from sqlalchemy import event, text

from tocsin.store.database.engine import open_engine, reading

AT_ONCE = 12


@pytest.mark.postgres
def test_postgresql_is_not_connected_to_again_after_more_requests_at_once_than_usual(postgres_url: str) -> None:
    engine = open_engine(postgres_url, most_connections=AT_ONCE)
    opened: list[object] = []
    event.listen(engine, "connect", lambda raw, _record: opened.append(raw))
    try:
        for _ in range(3):
            with ExitStack() as stack:
                for _ in range(AT_ONCE):
                    stack.enter_context(reading(engine)).execute(text("SELECT 7"))
    finally:
        engine.dispose()
    assert len(opened) == AT_ONCE
