"""Tasks and announcements as OpenMetadata 2 has them: columns of threads to find them by.

Threads that are tasks get the type, state and priority that 2.x gives them; announcements of before were announced.

Revision ID: 0071_tasks
Revises: 0070_messages_per_hour
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0071_tasks"
down_revision = "0070_messages_per_hour"

_PORTION = 1_000
_TYPES = {
    "RequestDescription": "DescriptionUpdate",
    "UpdateDescription": "DescriptionUpdate",
    "RequestTag": "TagUpdate",
    "UpdateTag": "TagUpdate",
    "RequestApproval": "RequestApproval",
    "RequestTestCaseFailureResolution": "IncidentResolution",
    "RecognizerFeedbackApproval": "RecognizerFeedbackApproval",
}
_COMPLETED = ("IncidentResolution", "CustomTask")


def upgrade() -> None:
    for name, length in (("task_type", 40), ("task_state", 20), ("task_priority", 10), ("name", 256)):
        op.add_column("thread", sa.Column(name, sa.String(length)))
    op.add_column("thread", sa.Column("is_announced", sa.Boolean, nullable=False, server_default=sa.true()))
    _fill_tasks()
    is_task, is_unannounced = sa.text("task_state IS NOT NULL"), sa.text("is_announced IS FALSE")
    op.create_index(
        "ix_thread_task", "thread", ["task_state", "updated_at_ms"], sqlite_where=is_task, postgresql_where=is_task
    )
    op.create_index("ix_thread_name", "thread", ["name"], unique=True)
    op.create_index(
        "ix_thread_unannounced", "thread", ["start_ms"], sqlite_where=is_unannounced, postgresql_where=is_unannounced
    )


def _fill_tasks() -> None:
    connection = op.get_bind()
    names = ("task_type", "task_state", "task_priority")
    columns: list[sa.ColumnClause[str]] = [sa.column(name) for name in ("id", "kind", "document", *names)]
    thread = sa.table("thread", *columns)
    after = ""
    while True:
        query = sa.select(thread.c.id, thread.c.document).where(thread.c.kind == "Task", thread.c.id > after)
        portion = connection.execute(query.order_by(thread.c.id).limit(_PORTION)).all()
        if not portion:
            return
        values = [{"thread_id": thread_id, **_values_of(json.loads(text)["task"])} for thread_id, text in portion]
        update = sa.update(thread).where(thread.c.id == sa.bindparam("thread_id"))
        connection.execute(update.values({name: sa.bindparam(f"new_{name}") for name in names}), values)
        after = portion[-1].id


def _values_of(task: dict[str, object]) -> dict[str, str]:
    kind = _TYPES.get(str(task["type"]), "CustomTask")
    is_done, is_value_written = task["status"] != "Open", "newValue" in task
    ends = ("Completed", "Cancelled") if kind in _COMPLETED else ("Approved", "Rejected")
    state = ends[not is_value_written] if is_done else "Open"
    return {"new_task_type": kind, "new_task_state": state, "new_task_priority": "Medium"}
