"""Renames in the store, with their places in the log.

Next: ``catalogue/naming/past_names.py``.
"""

from __future__ import annotations

from sqlalchemy import Engine, exists, select

from tocsin.catalogue.naming.past_names import PastRenaming
from tocsin.store.database.engine import reading
from tocsin.store.database.entity_tables import renaming
from tocsin.store.database.tables import entity

_MOST = 1_000
"""Renames that are told apart: events from before these are matched by the oldest names of these."""

_RENAMING = renaming.c
_IS_REUSED = exists().where(
    entity.c.entity_type == _RENAMING.entity_type,
    entity.c.fqn == _RENAMING.old_fqn,
    entity.c.id != _RENAMING.entity_id,
)


class Renamings:
    """The renames of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def after(self, offset: int) -> list[PastRenaming]:
        """Return the renames at higher offsets, newest first."""
        columns = _RENAMING.log_offset, _RENAMING.entity_type, _RENAMING.old_fqn, _RENAMING.new_fqn, _IS_REUSED
        query = select(*columns).where(_RENAMING.log_offset > offset).order_by(_RENAMING.log_offset.desc())
        with reading(self._engine) as connection:
            return [PastRenaming(*row) for row in connection.execute(query.limit(_MOST))]
