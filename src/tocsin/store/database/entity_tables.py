"""Tables of entity references in documents, and of names in the past, in addition to ``store/database/tables.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table, Text

from tocsin.store.database.tables import CODE_POINT_TEXT, ID, METADATA

entity_reference = Table(
    "entity_reference",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("field", String(40), primary_key=True),
    Column("target_id", ID, primary_key=True),
    Column("since_offset", BigInteger, nullable=False, default=0, server_default="0"),
    Index(None, "target_id"),
)
"""One row per (entity, list, entity it names there): domains, reviewers, experts, charts and so on.

Domains, data products, and charts and data models of dashboards know the log offset of the event since which they are
named; 0 where that is not known, and of all else. Owners and memberships have tables of their own in
``store/database/tables.py``.
"""

former_name = Table(
    "former_name",
    METADATA,
    Column("entity_type", String(40), primary_key=True),
    Column("fqn", CODE_POINT_TEXT, primary_key=True),
    Column("entity_id", ID, nullable=False),
    Index(None, "entity_id"),
)
"""One row per FQN that an entity had before it was renamed, moved or deleted for good; the last one to have it.

Of what is deleted, only the types that conditions name (``conditions/entity_names.REMEMBERED``).
"""

earlier_holder = Table(
    "earlier_holder",
    METADATA,
    Column("entity_type", String(40), primary_key=True),
    Column("fqn", CODE_POINT_TEXT, primary_key=True),
    Column("entity_id", ID, primary_key=True),
)
"""One row per (FQN of ``former_name``, entity that had it before the one there)."""

relabelling = Table(
    "relabelling",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("log_offset", BigInteger, primary_key=True),
    Column("version_tenths", Integer, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("names", Text, nullable=False),
    Index(None, "log_offset"),
)
"""One row per (entity, rename of labels that it carried): its version then, and each label's source, old and new FQN.

``log_offset`` is that of the event of what was renamed. Kept as long as the entity's versions.
"""

renaming = Table(
    "renaming",
    METADATA,
    Column("log_offset", BigInteger, primary_key=True),
    Column("entity_type", String(40), nullable=False),
    Column("entity_id", ID, nullable=False),
    Column("old_fqn", Text, nullable=False),
    Column("new_fqn", Text, nullable=False),
    Index(None, "entity_id"),
)
"""One row per rename or move of an entity, with all below it; ``log_offset`` is that of its event.

Events below it carry the old name. Kept until the entity is gone for good.
"""
