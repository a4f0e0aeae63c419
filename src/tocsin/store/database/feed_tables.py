"""Tables of threads, posts, participants (current and former), and task numbers."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, String, Table, Text, text, true

from tocsin.store.database.tables import ID, METADATA, SERIAL

_IS_TASK = text("task_state IS NOT NULL")
_IS_UNANNOUNCED = text("is_announced IS FALSE")

thread = Table(
    "thread",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("about_id", ID, nullable=False),
    Column("about_type", String(40), nullable=False),
    Column("steps", Text, nullable=False),
    Column("created_by_id", ID, nullable=False),
    Column("task_status", String(10)),
    Column("start_ms", BigInteger),
    Column("end_ms", BigInteger),
    Column("resolved", Boolean, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
    Column("document", Text, nullable=False),
    Column("task_type", String(40)),
    Column("task_state", String(20)),
    Column("task_priority", String(10)),
    Column("name", String(256)),
    Column("is_announced", Boolean, nullable=False, default=True, server_default=true()),
    Index(None, "updated_at_ms", "id"),
    Index(None, "kind", "task_status", "updated_at_ms"),
    Index(None, "about_id", "updated_at_ms"),
    Index(None, "created_by_id", "updated_at_ms"),
    Index(None, "kind", "end_ms"),
    Index("ix_thread_task", "task_state", "updated_at_ms", sqlite_where=_IS_TASK, postgresql_where=_IS_TASK),
    Index("ix_thread_name", "name", unique=True),
    Index("ix_thread_unannounced", "start_ms", sqlite_where=_IS_UNANNOUNCED, postgresql_where=_IS_UNANNOUNCED),
)
"""One row per thread; ``steps`` lead from the asset to the part of it that is meant.

``task_type``, ``task_state`` and ``task_priority`` are what OpenMetadata 2 says of a task (``model/task.py``), ``name``
what it calls an announcement; ``is_announced`` is false until an announcement begins whose start was still to come;
one that was over when it was made never begins.
``document`` lacks the address of the asset, which may be renamed, and the posts.
"""

thread_post = Table(
    "thread_post",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("thread_id", ID, nullable=False),
    Column("posted_at_ms", BigInteger, nullable=False),
    Column("document", Text, nullable=False),
    Index(None, "thread_id", "posted_at_ms", "id"),
)
"""One row per post below a thread."""

thread_part = Table(
    "thread_part",
    METADATA,
    Column("thread_id", ID, primary_key=True),
    Column("part", String(10), primary_key=True),
    Column("principal_id", ID, primary_key=True),
    Column("place", ID, primary_key=True),
    Column("principal_type", String(10), nullable=False),
    Column("at_offset", BigInteger, nullable=False, default=0, server_default="0"),
    Index(None, "principal_id", "part"),
)
"""One row per (thread, part, user or team that has it, post): authors, assignees and who is mentioned.

``place`` is the id of the post, empty for the thread itself; ``at_offset`` is the log offset of the event by
which they came to have it; 0 until that is logged, within the transaction.
"""

tombstone_part = Table(
    "tombstone_part",
    METADATA,
    Column("log_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("thread_id", ID, primary_key=True),
    Column("part", String(10), primary_key=True),
    Column("principal_id", ID, primary_key=True),
    Column("place", ID, primary_key=True),
    Column("principal_type", String(10), nullable=False),
    Column("at_offset", BigInteger, nullable=False),
    Column("about_id", ID, nullable=False),
    Index(None, "thread_id"),
)
"""One row per part that a user or team had in a thread until the event at ``log_offset``, the last that it counts for.

The asset was hard-deleted by that event; or the next one took the part away: a task was reassigned, a mention edited
away, a post or the thread deleted. A later reader of earlier events still has to find them.
"""

task_number = Table(
    "task_number",
    METADATA,
    Column("number", SERIAL, primary_key=True, autoincrement=True),
    Column("thread_id", ID, nullable=False, unique=True),
    sqlite_autoincrement=True,
)
"""One row per task: its number. Numbers go up for ever, and that of a task that is deleted is not given again."""
