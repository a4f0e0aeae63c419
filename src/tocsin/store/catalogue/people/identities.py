"""Credentials, persons and the server's own keys.

People are entities of type ``user``, read here from their row in ``person``; what must never be part of a version or
an event (a password's hash, the key that signs tokens) is in separate tables. Next: ``server/login/tokens.py``.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Table, or_, select

from tocsin.delivery.links.tokens import KEY_NAME
from tocsin.errors import WrongKey, WrongSealOfKeys
from tocsin.model.look_alikes import becomes_another, look_of
from tocsin.model.mute import actor_key
from tocsin.model.people import Person
from tocsin.store.catalogue.access.revision import PeopleRevision
from tocsin.store.catalogue.people import login_attempts, tokens
from tocsin.store.catalogue.people.tokens import IssuedTokens
from tocsin.store.database.alert_tables import mute
from tocsin.store.database.engine import fetch_first, fetch_value, insert_into, reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.people_tables import (
    hourly_message,
    inbox_change,
    login_source,
    name_look,
    notification_preference,
    openid_identity,
    personal_notice,
    push_browser,
    substitute,
)
from tocsin.store.database.tables import credential, person, quota_use, server_secret
from tocsin.store.database.vault import SETTING_PREFIX, vault_of


@dataclass(frozen=True)
class Identity:
    """Who a person is to a provider of OpenID Connect: its address, and their ``sub`` there, which never changes."""

    issuer: str
    subject: str


class People:
    """The persons and bots of one store, and what proves who they are; ``tokens`` are those that work."""

    def __init__(self, engine: Engine, revision: PeopleRevision | None = None) -> None:
        self._engine, self._revision = engine, revision or PeopleRevision()
        self.tokens = IssuedTokens(engine, self._revision)

    def by_id(self, user_id: str) -> Person | None:
        """Return the person with that id, deleted ones included."""
        return self._one(person.c.user_id == user_id)

    def by_name(self, name: str) -> Person | None:
        """Return the person of that name, deleted ones included."""
        return self._one(person.c.name == name)

    def by_names(self, names: Collection[str]) -> dict[str, Person]:
        """Return those of these people whom there are, deleted ones included, by their names."""
        query = select(person)
        with reading(self._engine) as connection:
            return {row.name: Person(*row) for row in rows_by_key(connection, query, person.c.name, names)}

    def other_spelling(self, name: str) -> str | None:
        """Return the name of the person whose name looks like this one, unless another person has this very name."""
        if self.by_name(name) is not None:
            return None
        alike = select(name_look.c.entity_id).where(name_look.c.look == look_of(name))
        namesake = self._one(person.c.user_id.in_(alike))
        return None if namesake is None else namesake.name

    def by_email(self, address: str) -> Person | None:
        """Return the person with that address, whatever its case, deleted ones included."""
        if becomes_another(address):
            return None
        return self._one(person.c.email == address.strip().lower())

    def addresses(self, user_ids: Collection[str]) -> dict[str, str]:
        """Return the e-mail addresses of those of these people who have one and are not deleted, by id."""
        row = person.c
        has_address = (row.user_id.in_(user_ids), row.email.is_not(None), row.deleted.is_(False))
        with reading(self._engine) as connection:
            addresses = connection.execute(select(row.user_id, row.email).where(*has_address))
            return {one.user_id: one.email for one in addresses}

    def by_identity(self, identity: Identity) -> Person | None:
        """Return the person who logs in with this identity of a provider, deleted ones included."""
        query = select(openid_identity.c.user_id).where(*_is(identity))
        user_id = fetch_value(self._engine, query)
        return None if user_id is None else self.by_id(user_id)

    def bind(self, identity: Identity, user_id: str) -> bool:
        """Let an identity be a person's from now on; False if they, or it, belong together with another already."""
        bound = openid_identity.c
        with writing(self._engine) as connection:
            connection.execute(select(person.c.user_id).where(person.c.user_id == user_id).with_for_update())
            bound_subjects = select(bound.subject).where(bound.user_id == user_id, bound.issuer == identity.issuer)
            if set(connection.scalars(bound_subjects)) - {identity.subject}:
                return False
            row = {**vars(identity), "user_id": user_id}
            connection.execute(_insert_once(connection, openid_identity, row))
            return str(connection.execute(select(bound.user_id).where(*_is(identity))).scalar_one()) == user_id

    def forget_identities(self, user_id: str) -> int:
        """Let a person's next log-in by OpenID Connect go by their address again; return how many were forgotten."""
        with writing(self._engine) as connection:
            deletion = openid_identity.delete().where(openid_identity.c.user_id == user_id)
            return connection.execute(deletion).rowcount

    def password_hash(self, user_id: str) -> str | None:
        """Return the stored hash of that person's password."""
        query = select(credential.c.password_hash).where(credential.c.user_id == user_id)
        return fetch_value(self._engine, query)

    def set_password(self, user_id: str, password_hash: str, *, keep_token: str | None = None) -> None:
        """Store the hash of a new password and forget failed log-ins.

        The old password and every token of theirs stop working, but the one with the id ``keep_token``.
        """
        with writing(self._engine) as connection:
            login_attempts.forget(connection, user_id)
            tokens.revoke_other(connection, user_id, keep_token)
            connection.execute(credential.delete().where(credential.c.user_id == user_id))
            connection.execute(credential.insert().values(user_id=user_id, password_hash=password_hash))
        self._revision.note()

    def set_first_password(self, user_id: str, password_hash: str) -> bool:
        """Store the hash unless there is one already, and say whether this call stored it."""
        with writing(self._engine) as connection:
            row = {"user_id": user_id, "password_hash": password_hash}
            insert = _insert_once(connection, credential, row).returning(credential.c.user_id)
            return connection.execute(insert).first() is not None

    def secret(self, name: str, make: Callable[[], str]) -> str:
        """Return the server's secret of that name, made by ``make`` when there is none yet; it is kept sealed.

        Raises
        ------
        WrongSealOfKeys : it was sealed with a key that is not here
        """
        query = select(server_secret.c.value).where(server_secret.c.name == name)
        with reading(self._engine) as connection:
            sealed_value = connection.execute(query).scalar_one_or_none()
            if sealed_value is not None:
                return _open_secret(connection, sealed_value)
        with writing(self._engine) as connection:
            sealed = vault_of(connection).seal_text(make())
            connection.execute(_insert_once(connection, server_secret, {"name": name, "value": sealed}))
            return _open_secret(connection, connection.execute(query).scalar_one())

    def forget_secrets(self) -> int:
        """Forget all keys of the server, which are then made anew: nothing that was signed counts any more."""
        with writing(self._engine) as connection:
            is_setting = server_secret.c.name.startswith(SETTING_PREFIX)
            return connection.execute(server_secret.delete().where(~is_setting)).rowcount

    def _one(self, condition: ColumnElement[bool]) -> Person | None:
        # Should two share an address, it is the one who is still there.
        # The columns of the table are those of ``Person``, in its order.
        query = select(person).where(condition).order_by(person.c.deleted, person.c.name).limit(1)
        row = fetch_first(self._engine, query)
        return None if row is None else Person(*row)


def unsubscribe_key(people: People) -> bytes:
    """Return the key that signs the links in mails, shared by the senders and the servers."""
    return people.secret(KEY_NAME, lambda: secrets.token_hex(32)).encode()


def ensure_administrator(
    people: People,
    create_user: Callable[[], str],
    *,
    password: str,
    hash_password: Callable[[str], str],
) -> str | None:
    """Set the administrator's ``password`` unless one is set; return it only if it is now valid.

    ``create_user`` creates the user ``admin`` if there is none yet and returns its id. The first stored hash wins, so
    of two processes that start at once only one returns a password, and a crash in between is repaired by the next
    start.
    """
    administrator = people.by_name("admin")
    user_id = administrator.id if administrator is not None else create_user()
    if people.password_hash(user_id) is not None:
        return None
    return password if people.set_first_password(user_id, hash_password(password)) else None


def forget(connection: Connection, user_id: str) -> None:
    """Delete the credentials, login sources, preferences, mutes and use of quotas of a user who is erased.

    So are others' mutes of what they change.
    """
    login_attempts.forget(connection, user_id)
    own_tables = (credential, hourly_message, inbox_change, login_source, notification_preference, openid_identity)
    for table in (*own_tables, personal_notice, push_browser, quota_use):
        connection.execute(table.delete().where(table.c.user_id == user_id))
    is_theirs = or_(substitute.c.user_id == user_id, substitute.c.substitute_id == user_id)
    connection.execute(substitute.delete().where(is_theirs))
    connection.execute(mute.delete().where(or_(mute.c.who == user_id, mute.c.about_id == actor_key(user_id))))


def _open_secret(connection: Connection, sealed: str) -> str:
    try:
        return vault_of(connection).open_text(sealed)
    except WrongKey as error:
        raise WrongSealOfKeys() from error


def _is(identity: Identity) -> tuple[ColumnElement[bool], ...]:
    return openid_identity.c.issuer == identity.issuer, openid_identity.c.subject == identity.subject


def _insert_once(connection: Connection, table: Table, row: dict[str, str]) -> Any:  # Any: as ``insert_into``
    """Return an insert that does nothing where the primary key is taken."""
    return insert_into(connection, table).values(**row).on_conflict_do_nothing()
