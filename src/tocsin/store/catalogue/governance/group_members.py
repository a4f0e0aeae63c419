"""Assets of a domain, data product, tag or owner: pages of references, ordered by FQN.

``catalogue/governance/memberships.py`` defines the list of the asset, ``store/catalogue/relations/projections.py`` the
rows.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, func, select

from tocsin.catalogue.governance.memberships import GROUPS
from tocsin.model.entity import Document
from tocsin.store.catalogue.access.visibility import Scopes, in_scopes
from tocsin.store.database import tables
from tocsin.store.database.documents import REFERENCE, reference_of
from tocsin.store.database.engine import reading
from tocsin.store.database.entity_tables import entity_reference

_ENTITY = tables.entity.c


class Grouped:
    """Reads what groups hold."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def assets(
        self, group_type: str, group: Document, scopes: Scopes, *, limit: int, offset: int
    ) -> tuple[list[Document], int]:
        """Return references to live assets of ``group`` from the ``offset``-th on, and their total number.

        Both include only what these scopes may see.
        """
        with reading(self._engine) as connection:
            may_be_seen = in_scopes(scopes)
            belongs = _ENTITY.id.in_(_ids(group_type, group)), _ENTITY.deleted.is_(False), may_be_seen
            query = select(*REFERENCE).where(*belongs).order_by(_ENTITY.fqn, _ENTITY.id).limit(limit).offset(offset)
            total = connection.execute(select(func.count()).select_from(tables.entity).where(*belongs)).scalar_one()
            return [reference_of(*row) for row in connection.execute(query)], total


def _ids(group_type: str, group: Document) -> Any:  # Any: SQLAlchemy's select of one column
    match GROUPS[group_type]:
        case "tags":
            tag = tables.entity_tag.c
            return select(tag.entity_id).where(tag.tag_fqn == group["fullyQualifiedName"])
        case "owners":
            owner = tables.ownership.c
            return select(owner.entity_id).where(owner.owner_id == group["id"])
        case field:
            refers = entity_reference.c
            return select(refers.entity_id).where(refers.target_id == group["id"], refers.field == field)
