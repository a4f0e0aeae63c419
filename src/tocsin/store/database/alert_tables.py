"""Tables of backtests, match results, incidents, mutes and composed digests, beside ``store/database/tables.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, String, Table, Text, true

from tocsin.store.database.tables import ID, METADATA, progress_of_job

alert_incident = Table(
    "alert_incident",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("number", BigInteger, nullable=False, unique=True),
    Column("entity_id", ID, nullable=False),
    Column("entity_type", String(40), nullable=False),
    Column("status", String(20), nullable=False),
    Column("opened_offset", BigInteger, nullable=False),
    Column("opened_at_ms", BigInteger, nullable=False),
    Column("opened_event_id", ID, nullable=False),
    Column("assignee_id", ID),
    Column("assignee_type", String(10)),
    Column("recovered_offset", BigInteger),
    Column("recovered_event_id", ID),
    Column("resolved_at_ms", BigInteger),
    Column("updated_at_ms", BigInteger, nullable=False),
    Column("merged_into", ID),
    Column("severity", String(10)),
    Column("part_of", ID),
    Column("state_id", ID),
    Index(None, "entity_id", "status"),
    Index(None, "merged_into"),
    Index(None, "part_of"),
    Index(None, "status", "number"),
)
"""One row per incident: of an asset, from a failure (``opened_…``) to a success (``recovered_…``).

``resolved_at_ms`` without a success: a person resolved it. ``merged_into`` is the incident that stands for this one:
then only the number of this row counts. ``severity`` follows from the alerts that watch it, or from the tier of the
asset. ``part_of`` is the incident of which a person made this one a part: it goes on. ``state_id`` is that
of the test case's own incident (``incident_status``), to which this one belongs.
"""

incident_watcher = Table(
    "incident_watcher",
    METADATA,
    Column("incident_id", ID, primary_key=True),
    Column("subscription_id", ID, primary_key=True),
    Column("opened_offset", BigInteger, nullable=False),
    Column("reminded_at_ms", BigInteger),
    Index(None, "subscription_id", "incident_id"),
)
"""One row per (incident, alert that matched a failure of it), with the place of the first such failure in the log.

``reminded_at_ms`` is when the alert last reminded of it (``store/catalogue/alerts/reminders.py``).
"""

alert_incident_step = Table(
    "alert_incident_step",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("incident_id", ID, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("user_id", ID, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("event_id", ID),
    Column("comment", Text),
    Column("assignee_id", ID),
    Column("assignee_type", String(10)),
    Column("reason", String(20)),
    Column("other_id", ID),
    Column("for_id", ID),
    Column("away_until_ms", BigInteger),
    Index(None, "incident_id"),
    Index(None, "other_id"),
)
"""One row per thing that a person did to an incident, with the event of the asset that says so; its assignee then.

``reason`` is why it had failed, one of OpenMetadata's words, if the person who resolved it said so. ``other_id`` is the
incident into which it was merged, or from which it was split. ``for_id`` is the person for whom it was assigned, who
was away until ``away_until_ms``: the assignee is their substitute, or themselves.
"""

alert_editor = Table(
    "alert_editor",
    METADATA,
    Column("subscription_id", ID, primary_key=True),
    Column("user_id", ID, primary_key=True),
    Column("is_creator", Boolean, nullable=False),
    Column("is_editor", Boolean, nullable=False, default=True, server_default=true()),
    Column("since_ms", BigInteger, nullable=False, default=0, server_default="0"),
    Column("told_view", String(10)),
    Index(None, "user_id"),
)
"""One row per (alert, user who created or changed it or its secrets), kept after either is deleted.

Tocsin's own alerts are created by ``system``, as in events. ``is_editor`` is false once another person has taken the
alert over; ``since_ms`` is when they became an editor. ``told_view`` is how much of what the alert covers they could
view when the alert's owners were last told (``model/alert_editor.py``).
"""

alert_held_back = Table(
    "alert_held_back",
    METADATA,
    Column("incident_id", ID, primary_key=True),
    Column("subscription_id", ID, primary_key=True),
    Column("log_offset", BigInteger, nullable=False),
)
"""One row per (incident, alert that it holds back): the event of which the alert notifies all the same, naming it."""

backtest = Table(
    "backtest",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("requested_by", ID, nullable=False),
    Column("requested_at_ms", BigInteger, nullable=False),
    Column("request", Text, nullable=False),
    *progress_of_job(),
    Index(None, "state", "requested_at_ms"),
    Index(None, "requested_by", "state"),
)
"""One row per backtest: what was asked, how far it is, who runs it and was last seen at it, and what came of it."""

firing = Table(
    "firing",
    METADATA,
    Column("log_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("subscription_id", ID, primary_key=True),
    Column("notified_count", Integer, nullable=False),
    Column("person_count", Integer, nullable=False),
    Column("app_count", Integer, nullable=False),
    Column("opened_count", Integer, nullable=False, default=0),
    # Covers the query, so that a window of all alerts is one walk through the index alone.
    Index("ix_firing", "subscription_id", "log_offset", "notified_count", "person_count", "app_count", "opened_count"),
)
"""One row per (event, alert it matched): notifications, those to people, those in the app, those opened; maybe none.

Written with the notifications; ``opened_count`` grows as they are read.
"""

match_result = Table(
    "match_result",
    METADATA,
    Column("log_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("subscription_id", ID, primary_key=True),
    Column("notified_count", Integer, nullable=False),
    Column("resolved_at_ms", BigInteger, nullable=False),
    Column("missing_count", Integer, nullable=False, default=0, server_default="0"),
    Column("triggered_by", ID),
    Column("withheld_for", ID),
)
"""One row per (event, alert it matched or triggered): how many notifications that gave, maybe 0. Written with them.

``missing_count`` is how many relations of a hard-deleted entity were gone before this was written: 0 in a sound store.
``triggered_by`` is the alert that matched, where that triggered this one. ``withheld_for`` is an editor of the alert
who might not view the event: then there is no firing, and only the audit and administrators read the row.
"""

event_portion = Table(
    "event_portion",
    METADATA,
    Column("log_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("event", Text, nullable=False),
    Column("people", Text, nullable=False),
    Column("counts", Text),
    Column("new_count", Integer, nullable=False, default=0, server_default="0"),
)
"""One row per portion of the recipients of an event that has very many, until the last of them is stored.

``event`` is the event with its alerts, ``people`` the ranges of people, as JSON; both hold ids alone. ``counts`` are
the notifications of each alert, once they are stored, ``new_count`` those that were not there before.
"""

mute = Table(
    "mute",
    METADATA,
    Column("who", Text, primary_key=True),
    Column("about_id", ID, primary_key=True),
    Column("channel", String(20), primary_key=True, default=""),
    Column("kind", String(10), nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Column("until_ms", BigInteger, nullable=False),
    Column("unsubscribed", Boolean, nullable=False, default=False),
    Column("since_offset", BigInteger, nullable=False, default=0, server_default="0"),
    Column("ends_by", String(10)),
    Column("ends_of", ID),
    Column("ends_after", BigInteger, nullable=False, default=0, server_default="0"),
    Column("until_offset", BigInteger),
    Column("told_ms", BigInteger),
    Index(None, "about_id"),
)
"""One row per (user or address, what is muted, channel); no ``channel``: all of them.

``about_id`` is the id of an alert or asset; of what is broad, a key that is no id (``model/mute.py``). ``ends_by`` says
which event of ``ends_of`` ends it, from ``ends_after`` on; ``until_offset`` is that event, once a job has found it.
``told_ms`` is when the person was told that it ends, or that it has no end.
"""

IS_BROAD = mute.c.kind.in_(("kind", "actor", "everything"))
Index("ix_mute_broad", mute.c.who, sqlite_where=IS_BROAD, postgresql_where=IS_BROAD)

scheduled_check = Table(
    "scheduled_check",
    METADATA,
    Column("schedule_id", ID, primary_key=True),
    Column("due_at_ms", BigInteger, nullable=False),
    Column("through_offset", BigInteger),
)
"""One row per schedule of alerts that ask for the state of assets, with its last time that was checked.

``through_offset`` is the end of the log after the check: digests wait until the pipeline has read so far; null: they
wait no more.
"""

composed_digest = Table(
    "composed_digest",
    METADATA,
    Column("message_id", ID, primary_key=True),
    Column("due_at_ms", BigInteger, nullable=False),
    Column("basis", LargeBinary, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Index(None, "due_at_ms", "message_id"),
)
"""One row per digest that was composed ahead of its time: its words, compressed, and the key of all they are made of.

Nothing depends on it: every erasure of a person removes all rows.
"""
