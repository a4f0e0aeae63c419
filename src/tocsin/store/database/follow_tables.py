"""Tables of follows of columns and teams, of idle follows, and of recommendations; ``tables.py`` has ``follow``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Integer, String, Table

from tocsin.store.database.tables import CODE_POINT_TEXT, ID, METADATA, SERIAL

column_follow = Table(
    "column_follow",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("column_path", CODE_POINT_TEXT, primary_key=True),
    Column("user_id", ID, primary_key=True),
    Column("since_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("until_offset", BigInteger, nullable=False),
    Index(None, "user_id"),
)
"""One row per (asset, column, follower) and time of the follow: the events from ``since_offset`` to ``until_offset``.

``column_path`` is the column's FQN below the asset's, which survives a rename of the asset. ``until_offset`` is the
largest number while they follow it, and the event by which the column went where they did until then.
"""

team_follow = Table(
    "team_follow",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("team_id", ID, primary_key=True),
    Column("since_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("until_offset", BigInteger, nullable=False),
    Column("entity_type", String(40), nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Index(None, "team_id"),
    Index(None, "entity_type"),
)
"""One row per (asset, team whose members follow it by default) and time of that, as ``column_follow``."""

follow_refusal = Table(
    "follow_refusal",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("user_id", ID, primary_key=True),
    Column("since_offset", BigInteger, nullable=False),
    Index(None, "user_id"),
)
"""One row per (asset, person who does not follow it although their team does), from ``since_offset`` on."""

recommendation_run = Table(
    "recommendation_run",
    METADATA,
    Column("id", SERIAL, primary_key=True, autoincrement=True),
    Column("through_offset", BigInteger, nullable=False),
    Column("completed_at_ms", BigInteger),
)
"""One row per run of the recommendation job: how far the log had come when it began; null while it is under way.

The newest completed run is the one that is shown; rows of the others are removed.
"""

recommendation = Table(
    "recommendation",
    METADATA,
    Column("run_id", SERIAL, primary_key=True, autoincrement=False),
    Column("user_id", ID, primary_key=True),
    Column("entity_id", ID, primary_key=True),
    Column("kind", String(10), primary_key=True),
    Column("via_id", ID, nullable=False),
    Column("through_id", ID, nullable=False),
    Column("people_count", Integer, nullable=False),
    Column("member_count", Integer, nullable=False),
    Column("strength", Float, nullable=False),
    Column("place", Integer, nullable=False),
    Index(None, "user_id"),
)
"""One row per (run, person, asset, kind of reason), as ``model/recommendation.Evidence``."""

dismissed_recommendation = Table(
    "dismissed_recommendation",
    METADATA,
    Column("user_id", ID, primary_key=True),
    Column("entity_id", ID, primary_key=True),
    Column("dismissed_at_ms", BigInteger, nullable=False),
    Index(None, "entity_id"),
)
"""One row per (person, asset that is not to be recommended to them)."""

idle_follow = Table(
    "idle_follow",
    METADATA,
    Column("user_id", ID, primary_key=True),
    Column("entity_id", ID, primary_key=True),
    Column("column_path", CODE_POINT_TEXT, primary_key=True),
    Column("notice_id", ID),
    Column("warned_ms", BigInteger),
    Column("days", Integer, nullable=False, default=0, server_default="0"),
    Column("counted_ms", BigInteger),
    Column("kept_ms", BigInteger),
    Index(None, "entity_id"),
    Index(None, "notice_id"),
)
"""One row per follow of a person that is about to end because they do not use it, or that they have kept since.

``column_path`` is empty where they follow the asset. ``notice_id`` is the notice that warns them, null once they have
kept it; ``warned_ms`` is when they were warned, null until then. ``days`` are those that were counted since, the last
one at ``counted_ms``. ``kept_ms`` is when they kept it, from which it is judged anew.
"""
