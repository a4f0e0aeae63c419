"""Tables of sources of metadata: how far each is, which entities stand for its own, and what it linked."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, String, Table, Text

from tocsin.store.database.tables import ID, METADATA

source_state = Table(
    "source_state",
    METADATA,
    Column("source", String(80), primary_key=True),
    Column("document", Text, nullable=False),
)
"""One row per source: its watermark and the report of its last run, as JSON."""

source_entity = Table(
    "source_entity",
    METADATA,
    Column("source", String(80), primary_key=True),
    Column("source_id", ID, primary_key=True),
    Column("entity_type", String(40), nullable=False),
    Column("entity_id", ID, nullable=False),
    Column("is_brought", Boolean, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False, default=0),
    Column("digest", String(64)),
    Index(None, "entity_id"),
)
"""One row per entity of a source. It is written before the entity, and stays when the entity is deleted for good, so
that a source does not bring back what a person removed here."""

source_link = Table(
    "source_link",
    METADATA,
    Column("source", String(80), primary_key=True),
    Column("kind", String(10), primary_key=True),
    Column("from_id", ID, primary_key=True),
    Column("to_id", ID, primary_key=True),
    Column("digest", String(64), nullable=False),
    Index(None, "from_id"),
    Index(None, "to_id"),
)
"""One row per edge or follower of a source, by the ids here, committed together with the edge or follower. It stays
when a person removes those here, so that the source does not bring them back."""

unresolved_lineage = Table(
    "unresolved_lineage",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("first_at_ms", BigInteger, nullable=False),
    Column("last_at_ms", BigInteger, nullable=False),
    Index(None, "last_at_ms"),
)
"""One row per dataset or job of OpenLineage that nothing here stands for, by the digest of its namespace and name: why,
and how many events have named it."""
