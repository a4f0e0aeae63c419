"""Sessions of people: log-in issues a token, log-out revokes it, and each is an event of the user.

The event follows the token in a transaction of its own, so a crash between them loses the event and never the token.
Next: ``server/login/tokens.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.catalogue.writes import Writes
from tocsin.model.change import EventType
from tocsin.model.people import Actor, Person
from tocsin.server.login.tokens import Token, Tokens
from tocsin.store.catalogue.people.tokens import LOG_IN_KINDS, IssuedTokens


@dataclass(frozen=True)
class LoginSessions:
    """Begins and ends the sessions of one store; ``writes`` are without a person's permissions and limits."""

    tokens: Tokens
    issued: IssuedTokens
    writes: Writes

    def begin(self, person: Person) -> Token:
        """Return the token of a new session of a person who has proved who they are."""
        token = self.tokens.issue(person)
        self._note_log_in(person)
        return token

    def begin_in_browser(self, person: Person, browser: str, *, idle_ms: int, total_ms: int) -> Token:
        """Return the token of a new session in a browser, for its cookie."""
        token = self.tokens.issue_for_browser(person, browser, idle_ms=idle_ms, total_ms=total_ms)
        self._note_log_in(person)
        return token

    def end(self, token_id: str, actor: Actor) -> None:
        """Revoke a token of a person's; if it was that of a session, they have logged out."""
        token = self.issued.find(token_id)
        revoked = self.issued.revoke([token_id], actor.id)
        if revoked and token is not None and token.kind in LOG_IN_KINDS:
            self.writes.note_session(EventType.USER_LOGOUT, actor=actor)

    def _note_log_in(self, person: Person) -> None:
        actor = Actor(person.id, person.name, person.is_admin, person.is_bot)
        self.writes.note_session(EventType.USER_LOGIN, actor=actor)
