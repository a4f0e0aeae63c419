"""Columns of the store in which a person may be named, and how each is rewritten when the person is erased.

``UNTOUCHED`` says of every other column of texts why it names nobody; a test compares both with the tables, so that no
new column is forgotten. Next: ``store/upkeep/erasure/rewriting.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Table

from tocsin.store.database import (
    alert_tables,
    change_tables,
    entity_tables,
    feed_tables,
    log_tables,
    observation_tables,
    retention_tables,
    source_tables,
    tables,
)


@dataclass(frozen=True)
class NamingColumns:
    """Columns of one table that may name a person.

    Attributes
    ----------
    names : a log-in name, full name or address each
    own_names : names of what the row is about, whose id is in ``id_column``; an asset may be called like them
    documents : JSON
    derived : JSON of fields that were derived from an event
    texts : prose
    """

    table: Table
    names: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    own_names: tuple[str, ...] = ()
    id_column: str = "entity_id"

    @property
    def table_name(self) -> str:
        """Return the name of the table as a plain text: SQLAlchemy's is of a class that JSON takes for no key."""
        return str(self.table.name)

    @property
    def all(self) -> tuple[str, ...]:
        """Return the names of all of them."""
        return (*self.names, *self.documents, *self.derived, *self.texts, *self.own_names)

    @property
    def read(self) -> tuple[str, ...]:
        """Return the names of the columns that rewriting a row needs."""
        return (*self.all, self.id_column) if self.own_names else self.all


NAMING = (
    NamingColumns(tables.entity, ("updated_by",), ("document",)),
    NamingColumns(tables.entity_version, documents=("document",), texts=("reason",)),
    NamingColumns(tables.change_event, ("user_name",), ("document",), ("derived",), ("reason",), ("entity_fqn",)),
    NamingColumns(tables.lineage_edge, documents=("details",)),
    NamingColumns(entity_tables.renaming, own_names=("old_fqn", "new_fqn")),
    NamingColumns(entity_tables.relabelling, documents=("names",)),
    NamingColumns(observation_tables.series, documents=("document",)),
    NamingColumns(observation_tables.attachment, documents=("document",)),
    NamingColumns(observation_tables.incident_status, documents=("document",)),
    NamingColumns(feed_tables.thread, documents=("document",), texts=("name",)),
    NamingColumns(feed_tables.thread_post, documents=("document",)),
    NamingColumns(alert_tables.alert_incident_step, ("user_name",), texts=("comment",)),
    NamingColumns(change_tables.change_request, ("author_name",), texts=("why", "replacement")),
    NamingColumns(change_tables.change_request_step, ("user_name",), texts=("comment",)),
    NamingColumns(alert_tables.backtest, documents=("request", "result"), texts=("reason",)),
    NamingColumns(tables.notification, ("recipient",), ("reasons",)),
    NamingColumns(tables.message, ("recipient", "target")),
    NamingColumns(tables.attempt, texts=("detail", "dropped", "template_error")),
    NamingColumns(tables.destination_status, texts=("last_failed_reason",)),
    NamingColumns(tables.replay, documents=("selection",)),
    NamingColumns(log_tables.ingested_event, ("author",)),
    NamingColumns(log_tables.lake_query, documents=("request", "answer"), texts=("reason",)),
    NamingColumns(source_tables.source_state, documents=("document",)),
    NamingColumns(retention_tables.legal_hold, ("set_by", "user_name", "lifted_by"), texts=("reason",)),
    NamingColumns(retention_tables.deleted_entity, documents=("document",)),
)
"""The columns that are rewritten."""

REMOVED = (
    NamingColumns(alert_tables.mute, ("who",)),
    NamingColumns(tables.paced_time, ("recipient",)),
    NamingColumns(entity_tables.former_name, own_names=("fqn",)),
    NamingColumns(entity_tables.earlier_holder, own_names=("fqn",)),
)
"""The columns that name whom a row is about: their rows are removed."""

UNTOUCHED = {
    "name of an asset": (
        "column_follow.column_path",
        "idle_follow.column_path",
        "change_request.column_path",
        "change_request.new_value",
        "entity.name",
        "entity.fqn",
        "entity_tag.tag_fqn",
        "past_relation.other_fqn",
        "series.part",
        "unresolved_lineage.name",
        "unresolved_lineage.namespace",
        "unresolved_lineage.reason",
    ),
    "removed with the user": (
        "credential.password_hash",
        "issued_token.name",
        "name_look.look",
        "notification_preference.document",
        "notification_preference.follows",
        "openid_identity.issuer",
        "openid_identity.subject",
        "person.name",
        "person.display_name",
        "person.email",
    ),
    "forgotten within a day": ("login_attempt.key",),
    "encrypted, and names nobody": ("destination_secret.document", "push_browser.sealed", "server_secret.value"),
    "numbers and keys": (
        "attempt.remote_id",
        "destination_status.recent_attempts",
        "entity.curated",
        "event_portion.counts",
        "event_portion.event",
        "event_portion.people",
        "ingested_event.source",
        "ingested_event.source_event_id",
        "message.grouping_key",
        "notification.preferred",
        "paced_time.grouping_key",
        "team_preference.document",
        "retention_state.last_run",
        "thread.steps",
    ),
    "names of programs, measured anew": (
        "consumer_groups.document",
        "consumer_groups.relay_name",
        "reader_lag.reader",
    ),
    "written anew from the entities": (
        "search_entry.fqn",
        "search_entry.fqn_key",
        "search_entry.name_key",
        "search_entry.name_words",
        "search_entry.display_key",
        "search_entry.display_words",
        "search_entry.service",
        "search_entry.service_type",
        "search_entry.tier",
    ),
}
"""The other columns of texts, by why they are left alone."""
