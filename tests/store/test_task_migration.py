"""Tests of the revision that says of stored tasks what OpenMetadata 2 calls them."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from sqlalchemy import MetaData, insert, select

from tocsin.model.task import priority_of, state_of, task_type_of
from tocsin.model.thread import TaskType
from tocsin.store.database.engine import open_engine
from tocsin.store.database.feed_tables import thread
from tocsin.store.database.schema import migrate

BEFORE = "0070_messages_per_hour"
_ENDS = ({"status": "Open"}, {"status": "Closed", "newValue": "x"}, {"status": "Closed"})


@pytest.fixture
def documents() -> list[dict[str, object]]:
    """Tasks of every type of 1.x: open, resolved with a value, and closed."""
    return [
        {"type": "Task", "message": "x", "task": {"type": kind.value, "id": 1, "assignees": [], **end}}
        for kind in TaskType
        for end in _ENDS
    ]


def test_stored_tasks_get_the_type_and_state_that_they_are_shown_with(
    tmp_path: Path, documents: list[dict[str, object]]
) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'untyped.db'}")
    migrate(engine, BEFORE)
    older_schema = MetaData()
    common: dict[str, object] = {
        "about_id": "a",
        "about_type": "table",
        "steps": "",
        "created_by_id": "u",
        "resolved": False,
        "updated_at_ms": 1,
    }
    with engine.begin() as connection:
        older_schema.reflect(connection, only=["thread"])
        texts = [orjson.dumps(one).decode() for one in documents]
        of_task = {**common, "kind": "Task"}
        thread_rows = [{**of_task, "id": f"{number:036}", "document": text} for number, text in enumerate(texts)]
        announcement = {**common, "id": "z", "kind": "Announcement", "document": "{}"}
        connection.execute(insert(older_schema.tables["thread"]), [*thread_rows, announcement])
    migrate(engine)
    with engine.connect() as connection:
        column = thread.c
        columns = (column.task_type, column.task_state, column.task_priority)
        task_rows = connection.execute(select(*columns).where(column.kind == "Task").order_by(column.id)).all()
        is_announced = connection.execute(select(column.is_announced).where(column.id == "z")).scalar_one()
    engine.dispose()
    expected_rows = [(task_type_of(one), state_of(one).value, priority_of(one)) for one in documents]
    assert [tuple(values) for values in task_rows] == expected_rows
    assert is_announced is True
