"""Which tokens work? One row each: a token is taken back by removing its row. Next: ``server/auth.py``.

The token itself is nowhere stored: whoever reads the store cannot come in with what they find.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Engine, delete, insert, select

from tocsin.store.access.revision import PeopleRevision
from tocsin.store.access.tables import issued_token
from tocsin.store.engine import reading, writing

_TOKEN = issued_token.c


class TokenKind(StrEnum):
    """What a token is for."""

    SESSION = "session"
    PERSONAL = "personal"
    BOT = "bot"


@dataclass(frozen=True)
class IssuedToken:
    """A token that works; times in epoch milliseconds, ``expires_at_ms`` None for one that does not expire."""

    id: str
    user_id: str
    kind: TokenKind
    name: str
    issued_at_ms: int
    expires_at_ms: int | None


class IssuedTokens:
    """The tokens of one store; ``revision`` takes note of what is taken back here."""

    def __init__(self, engine: Engine, revision: PeopleRevision) -> None:
        self._engine, self._revision = engine, revision

    def add(self, token: IssuedToken) -> None:
        """Let a token work; those that have expired meanwhile are forgotten."""
        row = {**vars(token), "kind": token.kind.value}
        with writing(self._engine) as connection:
            connection.execute(delete(issued_token).where(_TOKEN.expires_at_ms <= token.issued_at_ms))
            connection.execute(insert(issued_token), row)

    def works(self, token_id: str) -> bool:
        """Say whether nobody has taken the token back."""
        with reading(self._engine) as connection:
            return connection.execute(select(_TOKEN.id).where(_TOKEN.id == token_id)).first() is not None

    def of(self, user_id: str, kind: TokenKind) -> list[IssuedToken]:
        """Return somebody's tokens of a kind, oldest first."""
        query = select(issued_token).where(_TOKEN.user_id == user_id, _TOKEN.kind == kind.value)
        with reading(self._engine) as connection:
            rows = connection.execute(query.order_by(_TOKEN.issued_at_ms, _TOKEN.id)).all()
        return [
            IssuedToken(row.id, row.user_id, TokenKind(row.kind), row.name, row.issued_at_ms, row.expires_at_ms)
            for row in rows
        ]

    def take_back(self, token_id: str, user_id: str) -> bool:
        """Make a token of somebody's stop working; say whether it worked."""
        with writing(self._engine) as connection:
            gone = delete(issued_token).where(_TOKEN.id == token_id, _TOKEN.user_id == user_id)
            count = connection.execute(gone).rowcount
        self._revision.note()
        return count > 0

    def take_all_back(self, user_id: str, *, kind: TokenKind | None = None, but: str | None = None) -> int:
        """Make somebody's tokens (of a kind) stop working, ``but`` one; return how many that were."""
        gone = delete(issued_token).where(_TOKEN.user_id == user_id)
        if kind is not None:
            gone = gone.where(_TOKEN.kind == kind.value)
        if but is not None:
            gone = gone.where(_TOKEN.id != but)
        with writing(self._engine) as connection:
            count = connection.execute(gone).rowcount
        self._revision.note()
        return count
