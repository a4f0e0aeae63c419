"""Columns and indexes of notifications for their states in an inbox, in addition to ``store/database/tables.py``.

All are null until the person marks something, and the indexes hold only what was marked, so that storing a notification
costs no more for them. ``read_at_ms`` is null exactly for what is unread. Next: ``store/outbox/inbox_groups.py``.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, String, TextClause, text

IS_READ = text("read_at_ms IS NOT NULL AND done_at_ms IS NULL AND snoozed_until_ms IS NULL AND left_at_ms IS NULL")
IS_DONE = text("done_at_ms IS NOT NULL AND left_at_ms IS NULL")
IS_LATER = text("channel = 'ActivityFeed' AND due_at_ms > created_at_ms")
"""Conditions of partial indexes: queries that use them must contain these texts verbatim."""


def inbox_columns() -> tuple[Column[int] | Column[str] | Index, ...]:
    """Return the columns and indexes of the states of notifications.

    ``need`` is what it may need of its person (``model/needs.Need``), null for nothing; the pipeline sets it.
    ``opened_at_ms`` is when what is unread again, or snoozed, was first read. A snoozed notification comes back at
    ``snoozed_until_ms``; if that is never, after the offset ``snoozed_after``, or else when ``snoozed_incident`` ends.
    ``left_at_ms`` is when it left the inbox, after the days that its person has chosen (``inboxDays``).
    """
    of_state = ("opened_at_ms", "seen_at_ms", "done_at_ms", "saved_at_ms", "snoozed_until_ms")
    return (
        *(Column(name, BigInteger) for name in of_state),
        Column("snoozed_after", BigInteger),
        Column("snoozed_incident", String(36)),
        Column("need", String(10)),
        Column("left_at_ms", BigInteger),
        Index(None, "log_offset"),
        Index("ix_notification_inbox", "recipient_id", "channel", "log_offset", "read_at_ms"),
        _index_of("read", IS_READ, "log_offset", "read_at_ms", "done_at_ms", "snoozed_until_ms", "left_at_ms"),
        _index_of("done", IS_DONE, "log_offset", "done_at_ms", "left_at_ms"),
        _index_of("saved", text("saved_at_ms IS NOT NULL"), "log_offset", "saved_at_ms"),
        _index_of("snoozed", text("snoozed_until_ms IS NOT NULL"), "log_offset", "snoozed_until_ms"),
        _index_of("need", text("need IS NOT NULL"), "channel", "log_offset", "read_at_ms"),
        _index_of("part", text("whole_id IS NOT NULL"), "whole_id", "log_offset"),
        _index_of("later", IS_LATER, "due_at_ms"),
        Index(
            "ix_notification_waking",
            "snoozed_until_ms",
            "snoozed_after",
            sqlite_where=text("snoozed_until_ms IS NOT NULL"),
            postgresql_where=text("snoozed_until_ms IS NOT NULL"),
        ),
    )


def _index_of(name: str, condition: TextClause, *columns: str) -> Index:
    """Return an index of the notifications of each person that meet a condition; with its columns SQLite counts."""
    index_name = f"ix_notification_{name}"
    return Index(index_name, "recipient_id", *columns, sqlite_where=condition, postgresql_where=condition)
