"""Table of entity references in documents: one row per reference, indexed from both ends."""

from __future__ import annotations

from sqlalchemy import Column, Index, String, Table

from tocsin.store.tables import METADATA

entity_reference = Table(
    "entity_reference",
    METADATA,
    Column("entity_id", String(36), primary_key=True),
    Column("field", String(40), primary_key=True),
    Column("target_id", String(36), primary_key=True),
    Index(None, "target_id"),
)
"""One row per (entity, list, entity it names there): domains, reviewers, experts, charts and so on.

Owners and memberships have tables of their own in ``store/tables.py``.
"""
