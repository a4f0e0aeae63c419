"""Store fixture for slow tests: SQLite, and PostgreSQL as well where a test is marked with ``ON_BOTH_STORES``.

A module that imports ``store_url`` overrides the fixture of ``tests/conftest.py``, which runs every test on both.
"""

from __future__ import annotations

import pytest
from sqlalchemy import Connection

ON_BOTH_STORES = pytest.mark.parametrize(
    "store_url", ["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.postgres)], indirect=True
)


@pytest.fixture
def store_url(request: pytest.FixtureRequest) -> str:
    """Address of a migrated, empty store of this test's own."""
    return str(request.getfixturevalue(getattr(request, "param", "sqlite_url")))


def drop_newest_tables(connection: Connection) -> None:
    """Drop what revisions after 0032 make, so that a test can go back to that one, or to an earlier one."""
    of_retention = ("legal_hold", "retention_state", "removed_events", "deleted_entity", "passed_reader")
    of_sources, of_lags = (
        ("source_state", "source_entity", "source_link"),
        ("reader_lag", "consumer_groups", "consumer"),
    )
    drop_tables_after_0043(connection)
    of_events = ("notification_ids", "event_portion", "ingested_event", "ingest_outcome")
    for name in (*of_events, *of_retention, "lake_query", *of_sources, "erasure", *of_lags):
        connection.exec_driver_sql(f"DROP TABLE {name}")


def drop_columns_after_0056(connection: Connection) -> None:
    """Undo what revisions after 0056 make, so that a test can go back to that one."""
    connection.exec_driver_sql("DROP INDEX ix_change_event_user_name_log_offset")
    for name in ("personal_notice", "idle_follow", "push_browser", "unresolved_lineage"):
        connection.exec_driver_sql(f"DROP TABLE {name}")
    for name in ("recommendation_run", "recommendation", "dismissed_recommendation"):
        connection.exec_driver_sql(f"DROP TABLE {name}")
    _drop_columns_of_tasks(connection)
    for name in ("team_preference", "team_follow", "follow_refusal"):
        connection.exec_driver_sql(f"DROP TABLE {name}")
    connection.exec_driver_sql("DROP TABLE column_follow")
    connection.exec_driver_sql("DROP INDEX ix_message_gathered")
    for name in ("hourly_message", "substitute", "composed_digest"):
        connection.exec_driver_sql(f"DROP TABLE {name}")
    for name in ("for_id", "away_until_ms"):
        connection.exec_driver_sql(f"ALTER TABLE alert_incident_step DROP COLUMN {name}")
    connection.exec_driver_sql("DROP INDEX ix_follow_entity_type")
    connection.exec_driver_sql("DROP INDEX ix_mute_broad")
    for name in ("ends_by", "ends_of", "ends_after", "until_offset", "told_ms"):
        connection.exec_driver_sql(f"ALTER TABLE mute DROP COLUMN {name}")
    connection.exec_driver_sql("ALTER TABLE alert_incident DROP COLUMN state_id")
    connection.exec_driver_sql("ALTER TABLE notification DROP COLUMN preferred")
    connection.exec_driver_sql("ALTER TABLE notification_preference DROP COLUMN follows")
    for name in ("entity_reference", "entity_tag"):
        connection.exec_driver_sql(f"ALTER TABLE {name} DROP COLUMN since_offset")
    _drop_states_of_notifications(connection)


def _drop_columns_of_tasks(connection: Connection) -> None:
    for name in ("task", "name", "unannounced"):
        connection.exec_driver_sql(f"DROP INDEX ix_thread_{name}")
    for name in ("task_type", "task_state", "task_priority", "name", "is_announced"):
        connection.exec_driver_sql(f"ALTER TABLE thread DROP COLUMN {name}")


def _drop_states_of_notifications(connection: Connection) -> None:
    times = ("opened_at_ms", "seen_at_ms", "done_at_ms", "saved_at_ms", "snoozed_until_ms", "snoozed_after")
    for name in ("inbox", "read", "done", "saved", "snoozed", "later", "waking", "need"):
        connection.exec_driver_sql(f"DROP INDEX ix_notification_{name}")
    for name in (*times, "snoozed_incident", "need", "left_at_ms"):
        connection.exec_driver_sql(f"ALTER TABLE notification DROP COLUMN {name}")
    of_person = "(recipient_id, channel, log_offset)"
    index = "ix_notification_recipient_id_channel_log_offset"
    connection.exec_driver_sql(f"CREATE INDEX {index} ON notification {of_person}")
    connection.exec_driver_sql("DROP TABLE inbox_change")


def drop_tables_after_0043(connection: Connection) -> None:
    """Undo what revisions after 0043 make, so that a test can go back to that one."""
    drop_columns_after_0056(connection)
    of_incidents = (
        "DROP TABLE incident_watcher",
        "DROP INDEX ix_alert_incident_merged_into",
        "ALTER TABLE alert_incident DROP COLUMN merged_into",
        "ALTER TABLE alert_incident DROP COLUMN severity",
        "DROP INDEX ix_alert_incident_part_of",
        "ALTER TABLE alert_incident DROP COLUMN part_of",
        "DROP INDEX ix_alert_incident_step_other_id",
        "ALTER TABLE alert_incident_step DROP COLUMN other_id",
        "ALTER TABLE alert_incident_step DROP COLUMN reason",
        "ALTER TABLE alert_incident ADD COLUMN subscription_id VARCHAR(36)",
        "CREATE INDEX ix_alert_incident_subscription_id_number ON alert_incident (subscription_id, number)",
    )
    for statement in of_incidents:
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql("DROP INDEX ix_notification_part")
    connection.exec_driver_sql("ALTER TABLE notification DROP COLUMN whole_id")
    for name in ("change_request", "change_request_step", "change_request_consumer", "scheduled_check"):
        connection.exec_driver_sql(f"DROP TABLE {name}")
    connection.exec_driver_sql("DROP INDEX ix_change_event_reasoned")
    for name in ("entity_version", "change_event"):
        connection.exec_driver_sql(f"ALTER TABLE {name} DROP COLUMN reason")
