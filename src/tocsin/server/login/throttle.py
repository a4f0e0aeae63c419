"""Throttle for log-ins: after failed attempts, later ones are refused (429) until a growing delay has passed.

Attempts are counted before a password is checked. Nobody is locked out: the delay is bounded, and a person who has
logged in from a source before is not delayed by attempts from other sources. Next:
``store/catalogue/people/login_attempts.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from tocsin.clock import Clock
from tocsin.errors import TooManyRequests, Unauthenticated
from tocsin.model.people import Person
from tocsin.server.http.connections import source_of
from tocsin.server.login.tokens import matches_password
from tocsin.store.catalogue.people.identities import People
from tocsin.store.catalogue.people.login_attempts import Allowance, LoginAttempts, account_key, pair_key, source_key

PER_SOURCE = 10
"""Attempts that a source has more often than an account: many people can share one."""

_WRONG = "Wrong e-mail address or password."
T = TypeVar("T")
Check = Callable[[People, Person | None, str], bool]


class LoginThrottle:
    """Checks passwords; ``free`` attempts at an account are checked at once, further ones after a growing delay."""

    def __init__(
        self, people: People, attempts: LoginAttempts, clock: Clock, *, free: int, is_right: Check = matches_password
    ) -> None:
        self._people, self._attempts, self._clock, self._free = people, attempts, clock, free
        self._is_right = is_right

    def authenticate(self, login: str, password: str, address: str) -> Person:
        """Return who logs in.

        Raises
        ------
        Unauthenticated : login and password do not belong together
        TooManyRequests : there were too many attempts; it says how long to wait
        """
        person = self._people.by_email(login) if "@" in login else self._people.by_name(login)
        account, source = _account(person, login), source_of(address)
        allowances = self._allowances(account, source)
        if wait_ms := self._attempts.reserve(allowances, self._clock.now_ms()):
            wait_s = -(-wait_ms // 1000)
            raise TooManyRequests(f"Too many failed log-ins; try again in {wait_s} s.", retry_after_s=wait_s)
        if not self._is_right(self._people, person, password) or person is None:
            raise Unauthenticated(_WRONG)
        self._attempts.succeed(person.id, source, allowances, self._clock.now_ms())
        return person

    def _allowances(self, account: str, source: str) -> list[Allowance]:
        both = [Allowance(pair_key(account, source), self._free)]
        if self._attempts.is_known(account, source, self._clock.now_ms()):
            return both
        of_source = Allowance(source_key(source), self._free * PER_SOURCE)
        return [*both, Allowance(account_key(account), self._free), of_source]


class LoginQueue:
    """Work on log-ins, which costs memory or waits for others: a few at once in threads of their own, some waiting.

    Sources take turns, and where too many wait, the one with most in the queue makes room: who sends many log-ins waits
    for themselves.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._limiter = anyio.CapacityLimiter(at_once)
        self._at_once, self._most, self._busy = at_once, waiting, 0
        self._lines: dict[str, list[asyncio.Future[None]]] = {}

    async def run(self, work: Callable[[], T], address: str) -> T:
        """Return the result of the log-in work for ``address``.

        Raises
        ------
        TooManyRequests : too many wait already
        """
        await self._turn(source_of(address))
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._next()

    async def _turn(self, source: str) -> None:
        if self._busy < self._at_once:
            self._busy += 1
            return
        if sum(map(len, self._lines.values())) >= self._most:
            self._make_room(source)
        turn = asyncio.get_running_loop().create_future()
        self._lines.setdefault(source, []).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in self._lines.get(source, ()):
                self._leave(source, turn)
            elif not turn.cancelled():
                self._next()  # its turn came as it went
            raise

    def _make_room(self, source: str) -> None:
        refused = TooManyRequests("Too many concurrent log-ins; try again in a second.", retry_after_s=1)
        longest = max(self._lines, key=lambda one: len(self._lines[one]), default=source)
        if len(self._lines.get(longest, ())) <= len(self._lines.get(source, ())) + 1:
            raise refused
        newest = self._lines[longest][-1]
        self._leave(longest, newest)
        if not newest.done():
            newest.set_exception(refused)

    def _next(self) -> None:
        """Give the turn to the source that has waited longest for one."""
        while self._lines:
            source = next(iter(self._lines))
            turn = self._lines[source][0]
            self._leave(source, turn)
            if source in self._lines:
                self._lines[source] = self._lines.pop(source)  # behind the others
            if not turn.done():
                turn.set_result(None)
                return
        self._busy -= 1

    def _leave(self, source: str, turn: asyncio.Future[None]) -> None:
        self._lines[source].remove(turn)
        if not self._lines[source]:
            del self._lines[source]


def _account(person: Person | None, login: str) -> str:
    """Return the key by which attempts are counted: the user, or an unknown name without its domain."""
    return person.id if person is not None else f"?{login.strip().lower().partition('@')[0][:200]}"
