"""Check for dangling references, one row per column that holds an id, and for readers beyond the log's end.

Next: ``store/upkeep/fsck/inspection.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, func, select, text

from tocsin.store.database.engine import is_sqlite
from tocsin.store.database.schema import METADATA
from tocsin.store.database.tables import change_event, pipeline_progress
from tocsin.store.eventlog.log import readable_end
from tocsin.store.upkeep.fsck.finding import Advance, Damage, Finding

Pointer = tuple[str, str, str]
_ID = "entity.id"
_LAST = select(func.max(change_event.c.log_offset))
_TAKEN = text("SELECT last_value FROM change_event_log_offset_seq")

POINTERS: tuple[Pointer, ...] = (
    ("entity", "parent_id", _ID),
    ("entity_tag", "entity_id", _ID),
    ("ownership", "entity_id", _ID),
    ("ownership", "owner_id", _ID),
    ("entity_reference", "entity_id", _ID),
    ("entity_reference", "target_id", _ID),
    ("membership", "team_id", _ID),
    ("membership", "member_id", _ID),
    ("team_preference", "team_id", _ID),
    ("follow", "entity_id", _ID),
    ("follow", "user_id", _ID),
    ("column_follow", "user_id", _ID),
    ("follow_refusal", "user_id", _ID),
    ("dismissed_recommendation", "entity_id", _ID),
    ("dismissed_recommendation", "user_id", _ID),
    ("idle_follow", "entity_id", _ID),
    ("idle_follow", "user_id", _ID),
    ("personal_notice", "user_id", _ID),
    ("push_browser", "user_id", _ID),
    ("person", "user_id", _ID),
    ("credential", "user_id", _ID),
    ("lineage_edge", "from_id", _ID),
    ("lineage_edge", "to_id", _ID),
    ("lineage_carrier", "carrier_id", _ID),
    ("series", "entity_id", _ID),
    ("attachment", "entity_id", _ID),
    ("entity_usage", "entity_id", _ID),
    ("incident_status", "test_case_id", _ID),
    ("incident_watcher", "incident_id", "alert_incident.id"),
    ("alert_incident", "merged_into", "alert_incident.id"),
    ("alert_incident", "part_of", "alert_incident.id"),
    ("alert_incident", "opened_event_id", "change_event.id"),
    ("alert_incident", "recovered_event_id", "change_event.id"),
    ("alert_incident_step", "incident_id", "alert_incident.id"),
    ("alert_incident_step", "other_id", "alert_incident.id"),
    ("alert_incident_step", "event_id", "change_event.id"),
    ("alert_held_back", "incident_id", "alert_incident.id"),
    ("suite_member", "suite_id", _ID),
    ("suite_member", "test_case_id", _ID),
    ("suite_run", "suite_id", _ID),
    ("thread", "about_id", _ID),
    ("thread_post", "thread_id", "thread.id"),
    ("thread_part", "thread_id", "thread.id"),
    ("task_number", "thread_id", "thread.id"),
    ("change_request_consumer", "consumer_id", _ID),
    ("change_request_consumer", "request_id", "change_request.id"),
    ("change_request_consumer", "step_id", "change_request_step.id"),
    ("change_request_step", "request_id", "change_request.id"),
    ("status_report", "log_offset", "change_event.log_offset"),
    ("notification", "event_id", "change_event.id"),
    ("notification", "message_id", "message.id"),
    ("message", "id", "notification.message_id"),
    ("attempt", "message_id", "message.id"),
)
"""(table, column, what its values must be): every column that points somewhere, but to snapshots.

A document without its snapshot is found where it cannot be read.
"""

_WITH_ENTITY = frozenset(
    {"entity_tag.entity_id", "ownership.entity_id", "entity_reference.entity_id", "person.user_id"}
)
"""Rows that say what a document says, so that they can go when it is gone."""


def follow_pointers(connection: Connection, advance: Advance) -> Iterator[Finding]:
    """Find rows that point to nothing."""
    for pointer in POINTERS:
        yield from _dangling_references(connection, pointer)
        advance(1)


def _dangling_references(connection: Connection, pointer: Pointer) -> Iterator[Finding]:
    name, column, to = pointer
    target_name, _, target_column = to.partition(".")
    table, target = METADATA.tables[name], METADATA.tables[target_name].alias("target")
    key, target_key = table.c[column], target.c[target_column]
    query = select(key, *table.primary_key.columns).outerjoin(target, key == target_key)
    for value, *row in connection.execute(query.where(key.is_not(None), target_key.is_(None))):
        repairable = str(value) if f"{name}.{column}" in _WITH_ENTITY else None
        where = f"{name} {' '.join(map(str, row))}"
        yield Finding(Damage.DANGLING, where, f"{column} {value} does not exist in {target_name}", repairable)


def measure_log(connection: Connection, advance: Advance) -> Iterator[Finding]:
    """Find readers that are further than the log is, and a sequence that stands before its end."""
    end = max(readable_end(connection), connection.execute(select(func.max(change_event.c.log_offset))).scalar() or 0)
    if not is_sqlite(connection) and (last := connection.execute(_LAST).scalar()) and last > readable_end(connection):
        sequence_offset = connection.execute(_TAKEN).scalar_one()
        if sequence_offset < last:  # and not just a writer that is at it
            problem = (
                f"the sequence is at {sequence_offset}, before the end of the log, {last}: "
                "writes and readers stop there"
            )
            yield Finding(Damage.WRONG_OFFSET, "change_event_log_offset_seq", problem)
    progress = pipeline_progress.c
    for name, offset in connection.execute(
        select(progress.query_name, progress.log_offset).where(progress.log_offset > end)
    ):
        yield Finding(Damage.WRONG_OFFSET, f"pipeline_progress {name}", f"{offset} is beyond the end of the log, {end}")
    advance(1)
