"""Effective owners of assets: their own, or those of the nearest ancestor.

Next: ``store/recipients/impact.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from sqlalchemy import Connection, select

from tocsin.model.entity import Document
from tocsin.store.database.documents import REFERENCE, references_by_key
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity, ownership

_HIGHEST = 6
"""How many levels up owners are looked for: more than the depth of any asset."""


def owners_of(connection: Connection, entity_ids: Collection[str]) -> dict[str, list[Document]]:
    """Return the owners of each asset by its id, those it inherits marked ``inherited``; nobody's are left out."""
    owners_by_asset: dict[str, list[Document]] = {}
    assets_by_place = {entity_id: {entity_id} for entity_id in entity_ids}  # where to look -> for which assets
    for height in range(_HIGHEST):
        owners_by_place = _direct(connection, assets_by_place)
        for place, owners in owners_by_place.items():
            marked_owners = [owner | {"inherited": True} for owner in owners] if height else owners
            owners_by_asset |= dict.fromkeys(assets_by_place[place], marked_owners)
        assets_by_place = _parents(
            connection, {place: ids for place, ids in assets_by_place.items() if place not in owners_by_place}
        )
        if not assets_by_place:
            break
    return owners_by_asset


def _direct(connection: Connection, entity_ids: Collection[str]) -> dict[str, list[Document]]:
    query = (
        select(ownership.c.entity_id, *REFERENCE)
        .join(entity, entity.c.id == ownership.c.owner_id)
        .where(~entity.c.deleted)
        .order_by(entity.c.fqn)
    )
    return references_by_key(rows_by_key(connection, query, ownership.c.entity_id, entity_ids))


def _parents(connection: Connection, assets_by_place: dict[str, set[str]]) -> dict[str, set[str]]:
    query = select(entity.c.id, entity.c.parent_id).where(entity.c.parent_id.is_not(None))
    above: dict[str, set[str]] = defaultdict(set)
    for place, parent_id in rows_by_key(connection, query, entity.c.id, assets_by_place):
        above[parent_id] |= assets_by_place[place]
    return above
