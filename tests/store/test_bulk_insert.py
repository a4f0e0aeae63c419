"""Tests of the bulk insertion of rows: what is there stays, however many rows come at once."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, select

from tocsin.store.database.bulk import BulkInsert
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import pipeline_progress

_PROGRESS = BulkInsert(pipeline_progress, ("query_name", "log_offset", "updated_at_ms"))


@pytest.mark.parametrize("count", [1, 99, 250])
def test_rows_that_are_there_stay_and_the_others_are_added(store_engine: Engine, count: int) -> None:
    """Few rows are one statement on both stores, many are copied on PostgreSQL."""
    with writing(store_engine) as connection:
        _PROGRESS.run(connection, [("query 0", 7, 7)])
        _PROGRESS.run(connection, [(f"query {number}", number, 2**40) for number in range(count)])
        _PROGRESS.run(connection, [(f"query {number}", 1, 1) for number in range(count)])
    with reading(store_engine) as connection:
        query = select(pipeline_progress).where(pipeline_progress.c.query_name.like("query %"))
        stored = {tuple(row) for row in connection.execute(query)}
    assert stored == {("query 0", 7, 7), *((f"query {number}", number, 2**40) for number in range(1, count))}
