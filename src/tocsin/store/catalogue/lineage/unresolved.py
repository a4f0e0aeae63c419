"""Store of the datasets and jobs of lineage events that nothing in the catalogue stands for.

The newest 10,000 are kept. Next: ``store/database/source_tables.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

from sqlalchemy import Engine, delete, func, select

from tocsin.model.unresolved_lineage import UnresolvedLineage
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.keys import is_one_of
from tocsin.store.database.source_tables import unresolved_lineage

MOST_KEPT = 10_000
MOST_COUNTED = 200
"""Names of one event that are counted."""

_ROW = unresolved_lineage.c
Identity = tuple[str, str]
"""Namespace and name."""


class UnresolvedLineageLog:
    """What lineage events have named in vain, in one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def count(self, reasons: Mapping[Identity, str], at_ms: int) -> None:
        """Count an event for each of these, with why nothing stands for it."""
        if not reasons:
            return
        entries = [_new_row(identity, reason, at_ms) for identity, reason in sorted(reasons.items())[:MOST_COUNTED]]
        with writing(self._engine) as connection:
            upsert = insert_into(connection, unresolved_lineage).values(entries)
            new_values = {
                "events": _ROW.events + 1,
                "reason": upsert.excluded.reason,
                "last_at_ms": upsert.excluded.last_at_ms,
            }
            connection.execute(upsert.on_conflict_do_update(index_elements=["digest"], set_=new_values))
            oldest_kept = select(_ROW.last_at_ms).order_by(_ROW.last_at_ms.desc()).offset(MOST_KEPT).limit(1)
            connection.execute(delete(unresolved_lineage).where(_ROW.last_at_ms <= oldest_kept.scalar_subquery()))

    def forget(self, identities: Collection[Identity]) -> None:
        """Remove what an event has found since."""
        if not identities:
            return
        digests = {_digest_of(identity) for identity in identities}
        with reading(self._engine) as connection:
            stored_digests = set(
                connection.scalars(select(_ROW.digest).where(is_one_of(connection, _ROW.digest, digests)))
            )
        if stored_digests:
            with writing(self._engine) as connection:
                connection.execute(delete(unresolved_lineage).where(is_one_of(connection, _ROW.digest, stored_digests)))

    def newest(self, *, limit: int) -> tuple[list[UnresolvedLineage], int]:
        """Return those that were named last, the newest first, and how many there are."""
        query = select(unresolved_lineage).order_by(_ROW.last_at_ms.desc(), _ROW.digest).limit(limit)
        with reading(self._engine) as connection:
            entries = connection.execute(query).all()
            total = connection.execute(select(func.count()).select_from(unresolved_lineage)).scalar_one()
        return [_from_row(dict(row._mapping)) for row in entries], total


def _new_row(identity: Identity, reason: str, at_ms: int) -> dict[str, object]:
    namespace, name = identity
    times = {"first_at_ms": at_ms, "last_at_ms": at_ms}
    return {
        "digest": _digest_of(identity),
        "namespace": namespace,
        "name": name,
        "reason": reason,
        "events": 1,
        **times,
    }


def _digest_of(identity: Identity) -> str:
    return hashlib.sha256("\0".join(identity).encode()).hexdigest()


def _from_row(row: Mapping[str, object]) -> UnresolvedLineage:
    return UnresolvedLineage.model_validate(
        {
            **{key: row[key] for key in ("namespace", "name", "reason", "events")},
            "firstAt": row["first_at_ms"],
            "lastAt": row["last_at_ms"],
        }
    )
