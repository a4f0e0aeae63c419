"""Notification templates as workers read them: that of an alert, and the changed system ones.

Next: ``store/outbox/addresses.py``.
"""

from __future__ import annotations

import json

from sqlalchemy import Engine, select

from tocsin.clock import Steady, steady_s
from tocsin.model.template import NOTIFICATION_TEMPLATE, SYSTEM, Template
from tocsin.store.database.engine import fetch_value, fetch_values
from tocsin.store.database.tables import entity

SYSTEM_AGE_S = 5.0
"""System templates are read again when they are older than this."""


class Templates:
    """The notification templates of one store."""

    def __init__(self, engine: Engine, steady: Steady = steady_s) -> None:
        self._engine, self._steady = engine, steady
        self._system: tuple[float, dict[str, Template]] | None = None

    def find(self, template_id: str) -> Template | None:
        """Return a template by its id; None if it is gone."""
        query = select(entity.c.document).where(entity.c.id == template_id, entity.c.deleted.is_(False))
        text = fetch_value(self._engine, query)
        return None if text is None else _template(json.loads(text))

    def changed_system(self) -> dict[str, Template]:
        """Return the system templates that a person has changed, by name."""
        now_s = self._steady()
        if self._system is None or now_s - self._system[0] > SYSTEM_AGE_S:
            self._system = (now_s, self._read_system())
        return self._system[1]

    def _read_system(self) -> dict[str, Template]:
        query = select(entity.c.document).where(
            entity.c.entity_type == NOTIFICATION_TEMPLATE, entity.c.deleted.is_(False)
        )
        documents = [json.loads(text) for text in fetch_values(self._engine, query)]
        changed = [one for one in documents if one.get("provider") == SYSTEM and one.get("isModifiedFromDefault")]
        return {one["name"]: _template(one) for one in changed}


def _template(document: dict[str, str]) -> Template:
    return Template(document["name"], document["templateSubject"], document["templateBody"])
