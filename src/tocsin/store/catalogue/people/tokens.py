"""Rows of valid tokens: removing a row revokes its token and the tokens issued with it.

The token itself is not stored: reading the store does not allow anybody to log in. Next: ``server/login/tokens.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import ColumnElement, Connection, Engine, Row, delete, insert, select, update

from tocsin.chunks import chunks_of
from tocsin.errors import Unauthenticated
from tocsin.model.people import Actor
from tocsin.model.stored import Stored
from tocsin.store.catalogue.access import rules_revision
from tocsin.store.catalogue.access.revision import PeopleRevision
from tocsin.store.database.engine import fetch_first, fetch_rows, reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.people_tables import issued_token
from tocsin.store.database.tables import person

_TOKEN = issued_token.c
_HOLDER = (
    select(_TOKEN.id, person.c.user_id, person.c.name, person.c.is_admin, person.c.is_bot)
    .join(person, person.c.user_id == _TOKEN.user_id)
    .where(~person.c.deleted)
)


class TokenKind(StrEnum):
    """What a token is for."""

    SESSION = "session"
    BROWSER = "browser"
    """Of a session in a browser, by a cookie; its name says which browser, its end moves while it is used."""
    PERSONAL = "personal"
    BOT = "bot"
    FEED = "feed"
    """Of the address of an Atom feed: it opens this feed, and is no bearer token."""
    EMBED = "embed"
    """Of what a foreign page shows of a person's: their inbox and follows, nothing else; its name says who asked."""
    LOG_IN = "logIn"
    """Of a log-in that the provider has confirmed: its browser exchanges it, once, for a session's token."""


LOG_IN_KINDS = (TokenKind.SESSION, TokenKind.BROWSER)
"""Of tokens that a log-in issues, and a log-out revokes."""


@dataclass(frozen=True)
class IssuedToken:
    """A token that works; times in epoch milliseconds, ``expires_at_ms`` None for one that does not expire.

    ``parent_id`` is the token that it was made with: it is revoked together with that one.
    """

    id: str
    user_id: str
    kind: TokenKind
    name: str
    issued_at_ms: int
    expires_at_ms: int | None
    parent_id: str | None = None


class IssuedTokens:
    """The tokens of one store; ``revision`` is raised by revocations made here."""

    def __init__(self, engine: Engine, revision: PeopleRevision) -> None:
        self._engine, self._revision = engine, revision

    def add(self, token: IssuedToken) -> None:
        """Let a token work; those that have expired meanwhile are forgotten.

        Raises
        ------
        Unauthenticated : the token it was made with has been revoked
        """
        row = {**vars(token), "kind": token.kind.value}
        with writing(self._engine) as connection:
            connection.execute(delete(issued_token).where(_TOKEN.expires_at_ms <= token.issued_at_ms))
            if token.parent_id is not None and not _lock_tokens(
                connection, _TOKEN.id == token.parent_id, is_shared=True
            ):
                raise Unauthenticated("This token was revoked; log in again.")
            connection.execute(insert(issued_token), row)

    def extend(self, token_id: str, expires_at_ms: int) -> None:
        """Let a token that works last until then (epoch ms)."""
        later = (_TOKEN.id == token_id) & (_TOKEN.expires_at_ms < expires_at_ms)
        with writing(self._engine) as connection:
            connection.execute(update(issued_token).where(later).values(expires_at_ms=expires_at_ms))

    def find(self, token_id: str) -> IssuedToken | None:
        """Return a token; None if it was revoked."""
        row = fetch_first(self._engine, select(issued_token).where(_TOKEN.id == token_id))
        return None if row is None else _token_of(row)

    def take(self, token_id: str, kind: TokenKind, *, now_ms: int) -> str | None:
        """Let a token of this kind stop working, and return whose it was; None if it does not work any more."""
        works = (_TOKEN.id == token_id) & (_TOKEN.kind == kind.value) & (_TOKEN.expires_at_ms > now_ms)
        with writing(self._engine) as connection:
            user_id: str | None = connection.scalar(delete(issued_token).where(works).returning(_TOKEN.user_id))
        return user_id

    def of(self, user_id: str, kind: TokenKind) -> list[IssuedToken]:
        """Return a person's tokens of a kind, oldest first."""
        query = select(issued_token).where(_TOKEN.user_id == user_id, _TOKEN.kind == kind.value)
        token_rows = fetch_rows(self._engine, query.order_by(_TOKEN.issued_at_ms, _TOKEN.id))
        return [_token_of(row) for row in token_rows]

    def holders(self, token_ids: Collection[str], now_ms: int) -> dict[str, Actor]:
        """Return whose each of these tokens is, by its id; those that were revoked, or have ended, are left out."""
        works = _TOKEN.expires_at_ms.is_(None) | (_TOKEN.expires_at_ms > now_ms)
        with reading(self._engine) as connection:
            holder_rows = rows_by_key(connection, _HOLDER.where(works), _TOKEN.id, token_ids)
            return {one: Actor(who, name, is_admin, is_bot) for one, who, name, is_admin, is_bot in holder_rows}

    def access_revision(self) -> tuple[int, ...]:
        """Return numbers that grow with every token revoked, and with all that rules depend on."""
        with reading(self._engine) as connection:
            return rules_revision.read_with_tokens(connection)

    def revoke(self, token_ids: Collection[str], user_id: str) -> int:
        """Make tokens of a person's stop working, and those made with them; return how many that were."""
        return self._revoke((_TOKEN.id.in_(sorted(token_ids))) & (_TOKEN.user_id == user_id))

    def revoke_all(self, user_id: str, *, kind: TokenKind | None = None) -> int:
        """Make a person's tokens (of a kind) stop working, and those made with them; return how many that were."""
        of_kind = _TOKEN.user_id == user_id
        return self._revoke(of_kind if kind is None else of_kind & (_TOKEN.kind == kind.value))

    def _revoke(self, which: ColumnElement[bool]) -> int:
        with writing(self._engine) as connection:
            count = revoke(connection, which)
        self._revision.note()
        return count


def revoke(connection: Connection, which: ColumnElement[bool]) -> int:
    """Remove these tokens and those made with them, in the transaction of the caller; return how many."""
    revoked: set[str] = set()
    level = _lock_tokens(connection, which)
    while level:  # level by level: what is being made with a held token waits, and then finds its parent gone
        revoked |= level
        children = (_lock_tokens(connection, _TOKEN.parent_id.in_(chunk)) for chunk in chunks_of(sorted(level)))
        level = {one for chunk in children for one in chunk} - revoked
    for chunk in chunks_of(sorted(revoked)):
        connection.execute(delete(issued_token).where(_TOKEN.id.in_(chunk)))
    if revoked:
        rules_revision.note_revoked(connection)
    return len(revoked)


def revoke_other(connection: Connection, user_id: str, but: str | None) -> int:
    """Remove all tokens of a person ``but`` one, and those made with them."""
    of_user = _TOKEN.user_id == user_id
    return revoke(connection, of_user if but is None else of_user & (_TOKEN.id != but))


def note(connection: Connection, old: Stored | None, new: Stored | None) -> None:
    """Revoke the tokens of a user, or of the user of a bot, that this change deletes or restores."""
    subject = new or old
    if subject is None or old is None or (new is not None and new.is_deleted == old.is_deleted):
        return
    note_erased(connection, [subject])


def note_erased(connection: Connection, erased: Iterable[Stored]) -> None:
    """Revoke the tokens of users, and of the users of bots, that are deleted."""
    user_ids = {user_id for one in erased if (user_id := _user_id_of(one)) is not None}
    for chunk in chunks_of(sorted(user_ids)):
        revoke(connection, _TOKEN.user_id.in_(chunk))


def _user_id_of(entity: Stored) -> str | None:
    """Return the id of a user, or of a bot's user; None of what is neither."""
    if entity.entity_type == "user":
        return entity.id
    user = entity.document.get("botUser") if entity.entity_type == "bot" else None
    return user.get("id") if isinstance(user, dict) else None


def _lock_tokens(connection: Connection, which: ColumnElement[bool], *, is_shared: bool = False) -> set[str]:
    """Return the ids of these tokens, held until the transaction ends."""
    query = select(_TOKEN.id).where(which).order_by(_TOKEN.id)
    return set(connection.scalars(query.with_for_update(read=is_shared, key_share=is_shared)))


def _token_of(row: Row[tuple[object, ...]]) -> IssuedToken:
    return IssuedToken(**{**row._mapping, "kind": TokenKind(row.kind)})
