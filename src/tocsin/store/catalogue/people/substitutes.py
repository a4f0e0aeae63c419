"""Substitutes in the store: whom people name for their absences, and who has agreed.

A person names one at most; who is named agrees, and either of the two ends it. Next: ``server/alerts/stand_ins.py``.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, and_, delete, select, text, update

from tocsin.errors import Conflict, NotFound
from tocsin.model.substitute import Substitution
from tocsin.store.database.engine import insert_into, is_sqlite, reading, writing
from tocsin.store.database.people_tables import substitute

_ROW = substitute.c
_HOLD = text("SELECT pg_advisory_xact_lock(hashtext('tocsin substitutes'))")


class Substitutes:
    """The substitutes of one store's people."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, user_id: str) -> Substitution | None:
        """Return whom a person has named, whether they have agreed or not."""
        with reading(self._engine) as connection:
            return _substitution_of(connection, user_id)

    def of_substitute(self, substitute_id: str) -> list[Substitution]:
        """Return who has named a person, the oldest first."""
        query = select(substitute).where(_ROW.substitute_id == substitute_id).order_by(_ROW.since_ms, _ROW.user_id)
        with reading(self._engine) as connection:
            return [Substitution(**row._mapping) for row in connection.execute(query)]

    def name(self, user_id: str, substitute_id: str, *, now_ms: int) -> Substitution:
        """Name a substitute, in place of an earlier one; who was named already stays as they are.

        Raises
        ------
        Conflict : the person stands in for them, perhaps by way of others
        """
        with writing(self._engine) as connection:
            _hold(connection)
            before = _substitution_of(connection, user_id)
            if before is not None and before.substitute_id == substitute_id:
                return before
            _check_no_loop(connection, user_id, substitute_id)
            row = {"substitute_id": substitute_id, "is_accepted": False, "since_ms": now_ms}
            insert = insert_into(connection, substitute).values({"user_id": user_id, **row})
            connection.execute(insert.on_conflict_do_update(index_elements=["user_id"], set_=row))
        return Substitution(user_id, substitute_id, is_accepted=False, since_ms=now_ms)

    def accept(self, user_id: str, substitute_id: str) -> Substitution:
        """Agree to stand in for a person.

        Raises
        ------
        NotFound : they have not named this substitute
        Conflict : the person stands in for the substitute, perhaps by way of others
        """
        with writing(self._engine) as connection:
            _hold(connection)
            before = _substitution_of(connection, user_id)
            if before is None or before.substitute_id != substitute_id:
                raise NotFound("That person has not named you as their substitute.")
            _check_no_loop(connection, user_id, substitute_id)
            connection.execute(update(substitute).where(_ROW.user_id == user_id).values(is_accepted=True))
        return Substitution(user_id, substitute_id, is_accepted=True, since_ms=before.since_ms)

    def remove(self, user_id: str, substitute_id: str | None = None) -> bool:
        """End it: of a person, or of this substitute of theirs alone; return whether there was one."""
        is_theirs = _ROW.user_id == user_id
        if substitute_id is not None:
            is_theirs = and_(is_theirs, _ROW.substitute_id == substitute_id)
        with writing(self._engine) as connection:
            return bool(connection.execute(delete(substitute).where(is_theirs)).rowcount)


def _substitution_of(connection: Connection, user_id: str) -> Substitution | None:
    row = connection.execute(select(substitute).where(_ROW.user_id == user_id)).first()
    return None if row is None else Substitution(**row._mapping)


def _hold(connection: Connection) -> None:
    """Let no other change be made meanwhile: two that each are none could be a loop together."""
    if not is_sqlite(connection):
        connection.execute(_HOLD)


def _check_no_loop(connection: Connection, user_id: str, substitute_id: str) -> None:
    names, current_id = {user_id}, substitute_id
    while current_id not in names:
        names.add(current_id)
        following = _substitution_of(connection, current_id)
        if following is None or not following.is_accepted:
            return
        current_id = following.substitute_id
    raise Conflict("You would stand in for each other, perhaps by way of others: name another person.")
