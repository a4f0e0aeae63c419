"""Who may log in, and who is behind an id? Credentials, persons and the server's own keys.

People are entities of type ``user``; what must never be part of a version or an event (a password's hash, the
key that signs tokens) stands in tables of its own. Next: ``server/auth.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Insert, select
from sqlalchemy.dialects import postgresql, sqlite

from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.people import Person
from tocsin.store.engine import is_sqlite, reading, writing
from tocsin.store.tables import credential, entity, server_secret


class People:
    """The persons and bots of one store, and what proves who they are."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def by_id(self, user_id: str) -> Person | None:
        """Return the person with that id, deleted ones included."""
        return self._one(entity.c.id == user_id)

    def by_name(self, name: str) -> Person | None:
        """Return the person of that name (or FQN), deleted ones included."""
        return self._one(entity.c.fqn.in_({name, fqn.quote(name)}))

    def by_email(self, address: str) -> Person | None:
        """Return the person with that address, whatever its case.

        The part before the ``@`` is tried as a name first: that is an index look-up and nearly always right.
        """
        wanted = address.strip().lower()
        likely = self.by_name(wanted.partition("@")[0])
        if likely is not None and likely.email == wanted:
            return likely
        pattern = json.dumps(wanted, ensure_ascii=False)
        found = self._all(entity.c.document.icontains(f'"email":{pattern}', autoescape=True))
        return next((person for person in found if person.email == wanted), None)

    def team_exists(self, name: str) -> bool:
        """Say whether a team of that name exists and is not deleted."""
        query = select(entity.c.id).where(
            entity.c.entity_type == "team", entity.c.fqn.in_({name, fqn.quote(name)}), entity.c.deleted.is_(False)
        )
        with reading(self._engine) as connection:
            return connection.execute(query).first() is not None

    def password_hash(self, user_id: str) -> str | None:
        """Return the stored hash of that person's password."""
        query = select(credential.c.password_hash).where(credential.c.user_id == user_id)
        with reading(self._engine) as connection:
            return connection.execute(query).scalar_one_or_none()

    def set_password(self, user_id: str, password_hash: str) -> None:
        """Store the hash of a new password; the old one stops working."""
        with writing(self._engine) as connection:
            connection.execute(credential.delete().where(credential.c.user_id == user_id))
            connection.execute(credential.insert().values(user_id=user_id, password_hash=password_hash))

    def set_first_password(self, user_id: str, password_hash: str) -> bool:
        """Store the hash unless there is one already, and say whether this call stored it."""
        with writing(self._engine) as connection:
            row = {"user_id": user_id, "password_hash": password_hash}
            insert = _insert_once(connection, credential, row).returning(credential.c.user_id)
            return connection.execute(insert).first() is not None

    def secret(self, name: str, make: Callable[[], str]) -> str:
        """Return the server's secret of that name, made by ``make`` when there is none yet."""
        query = select(server_secret.c.value).where(server_secret.c.name == name)
        with reading(self._engine) as connection:
            known = connection.execute(query).scalar_one_or_none()
        if known is not None:
            return str(known)
        with writing(self._engine) as connection:
            connection.execute(_insert_once(connection, server_secret, {"name": name, "value": make()}))
            return str(connection.execute(query).scalar_one())

    def _one(self, condition: ColumnElement[bool]) -> Person | None:
        found = self._all(condition)
        return found[0] if found else None

    def _all(self, condition: ColumnElement[bool]) -> list[Person]:
        query = select(entity.c.document, entity.c.deleted).where(entity.c.entity_type == "user", condition)
        with reading(self._engine) as connection:
            return [_person(json.loads(row.document), row.deleted) for row in connection.execute(query)]


def ensure_administrator(
    people: People,
    create_user: Callable[[], str],
    *,
    password: str,
    hash_password: Callable[[str], str],
) -> str | None:
    """Give the administrator ``password`` unless one is set; return it only if it is now the one that works.

    ``create_user`` makes the user ``admin`` where there is none yet and returns its id. Whoever stores the first
    hash wins, so of two processes that start at once only one returns a password, and a crash in between is
    repaired by the next start.
    """
    known = people.by_name("admin")
    user_id = known.id if known is not None else create_user()
    if people.password_hash(user_id) is not None:
        return None
    return password if people.set_first_password(user_id, hash_password(password)) else None


def _person(document: Document, deleted: bool) -> Person:
    email = document.get("email")
    return Person(
        id=document["id"],
        name=document["name"],
        display_name=document.get("displayName"),
        email=email.lower() if email else None,
        is_admin=bool(document.get("isAdmin")),
        is_bot=bool(document.get("isBot")),
        deleted=bool(deleted),
    )


def _insert_once(connection: Connection, table: Any, row: dict[str, str]) -> Insert:  # Any: a SQLAlchemy table
    """Return an insert that does nothing where the primary key is taken."""
    if is_sqlite(connection):
        return sqlite.insert(table).values(**row).on_conflict_do_nothing()
    return postgresql.insert(table).values(**row).on_conflict_do_nothing()
