"""Hand-over of a log-in from the provider's redirect to the page: a code for one use, in one browser, within a minute.

An address that logs somebody in can be sent to anybody. So the address holds no token, but a code that is worth nothing
without the cookie of the browser that began. The store has only what both together hash to. Next:
``server/routes/people/openid.py``.
"""

from __future__ import annotations

import secrets
from uuid import UUID, uuid5

from tocsin.clock import Clock
from tocsin.errors import Unauthenticated
from tocsin.model.people import Person
from tocsin.store.catalogue.people.identities import People
from tocsin.store.catalogue.people.tokens import IssuedToken, TokenKind

WITHIN_S = 60
"""Seconds within which the page exchanges its code."""

_NAMESPACE = UUID("6a0d1c52-3c43-4d0e-9a55-2f0c5f6f0d0b")


class HandOver:
    """The codes of one store."""

    def __init__(self, people: People, clock: Clock) -> None:
        self._people, self._clock = people, clock

    def code_for(self, person: Person, browser: str) -> str:
        """Return a new code with which ``browser``, a secret of that browser, logs in as this person."""
        code, now_ms = secrets.token_urlsafe(32), self._clock.now_ms()
        issued = IssuedToken(_id(code, browser), person.id, TokenKind.LOG_IN, "", now_ms, now_ms + WITHIN_S * 1000)
        self._people.tokens.add(issued)
        return code

    def redeem(self, code: str, browser: str) -> Person:
        """Return who logs in with a code, which then stops working.

        Raises
        ------
        Unauthenticated : the code was used, is too old, or was made for another browser
        """
        person_id = self._people.tokens.take(_id(code, browser), TokenKind.LOG_IN, now_ms=self._clock.now_ms())
        person = None if person_id is None else self._people.by_id(person_id)
        if person is None or person.deleted:
            raise Unauthenticated("This log-in was completed, took too long, or began in another browser; start again.")
        return person


def _id(code: str, browser: str) -> str:
    return str(uuid5(_NAMESPACE, f"{code}\n{browser}"))
