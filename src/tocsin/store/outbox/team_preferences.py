"""Defaults that teams have for the preferences of their members, in the store.

A team's defaults hold for its members and for those of the teams below it. Deleted teams have none. What they cost does
not grow with the people: two statements for all teams, and one per portion of people. Next:
``store/outbox/preferences.py``.
"""

from __future__ import annotations

import json

from sqlalchemy import Connection, Engine, select

from tocsin.model.preferences import NamedTeam, Preferences
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.people_tables import team_preference
from tocsin.store.database.tables import entity, membership

_FREQUENCIES = frozenset(("frequency", "categories", "kinds"))
"""What sets nothing where it is empty; a time that is null is one: none, whatever the server has."""

_ROW, _ENTITY, _MEMBER = team_preference.c, entity.c, membership.c


class SqlTeamPreferences:
    """The defaults of one store's teams."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, team_id: str) -> Preferences:
        """Return the defaults that a team has for its members; nothing at first."""
        with reading(self._engine) as connection:
            text = connection.scalar(select(_ROW.document).where(_ROW.team_id == team_id))
        return Preferences.model_validate_json(text) if text else Preferences()

    def put(self, team_id: str, defaults: Preferences, *, now_ms: int) -> None:
        """Replace the defaults of a team, from the next notification on; none when nothing is set in them."""
        document = defaults.to_stored()
        row = {"document": json.dumps(document), "updated_at_ms": now_ms}
        with writing(self._engine) as connection:
            if defaults.model_fields_set <= _FREQUENCIES and not any(document.values()):
                connection.execute(team_preference.delete().where(_ROW.team_id == team_id))
                return
            insert = insert_into(connection, team_preference).values({"team_id": team_id, **row})
            connection.execute(insert.on_conflict_do_update(index_elements=["team_id"], set_=row))


def defaults_of_teams(connection: Connection) -> dict[str, NamedTeam]:
    """Return the live teams that have defaults for their members, by id."""
    documents = {row.team_id: row.document for row in connection.execute(select(_ROW.team_id, _ROW.document))}
    if not documents:
        return {}
    query = select(_ENTITY.id, _ENTITY.name).where(~_ENTITY.deleted)
    return {
        row.id: NamedTeam(row.id, row.name, Preferences.model_validate_json(documents[row.id]))
        for row in rows_by_key(connection, query, _ENTITY.id, documents)
    }
