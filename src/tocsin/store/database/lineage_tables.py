"""Tables of lineage besides its edges, for both stores. Next: ``store/catalogue/relations/lineage_edges.py``."""

from __future__ import annotations

from sqlalchemy import Column, Index, String, Table

from tocsin.store.database.tables import METADATA

lineage_carrier = Table(
    "lineage_carrier",
    METADATA,
    Column("from_id", String(36), primary_key=True),
    Column("to_id", String(36), primary_key=True),
    Column("carrier_id", String(36), nullable=False),
    Index(None, "carrier_id"),
)
"""One row per edge whose details name a pipeline: ``carrier_id`` moves the data of that edge."""
