"""Throttle for log-ins: attempts are counted before a password is checked, and slow down what follows.

Nobody is locked out: the delay is bounded, and whoever has logged in from a source before is not slowed down by what
others try from elsewhere. Next: ``store/access/attempts.py``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from tocsin.clock import Clock
from tocsin.errors import TooManyRequests, Unauthenticated
from tocsin.model.people import Person
from tocsin.server.auth import matches_password
from tocsin.store.access.attempts import Allowance, LoginAttempts, account_key, pair_key, source_key
from tocsin.store.access.people import People

PER_SOURCE = 10
"""Attempts that a source has more often than an account: many people can share one."""

_WRONG = "The address or the password is wrong."
_IPV6_NETWORK = 64
T = TypeVar("T")


class LoginThrottle:
    """Checks passwords; ``free`` attempts at an account are checked at once, further ones after a growing delay."""

    def __init__(self, people: People, attempts: LoginAttempts, clock: Clock, *, free: int) -> None:
        self._people, self._attempts, self._clock, self._free = people, attempts, clock, free

    def let_in(self, login: str, password: str, address: str) -> Person:
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
            raise TooManyRequests(f"Too many log-ins failed; wait {wait_s} s and try again.", retry_after_s=wait_s)
        if not matches_password(self._people, person, password) or person is None:
            raise Unauthenticated(_WRONG)
        self._attempts.succeed(person.id, source, allowances, self._clock.now_ms())
        return person

    def _allowances(self, account: str, source: str) -> list[Allowance]:
        both = [Allowance(pair_key(account, source), self._free)]
        if self._attempts.is_known(account, source, self._clock.now_ms()):
            return both
        of_source = Allowance(source_key(source), self._free * PER_SOURCE)
        return [*both, Allowance(account_key(account), self._free), of_source]


class PasswordQueue:
    """Work on passwords, which costs memory and time: a few at once in threads of their own, some waiting."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._limiter = anyio.CapacityLimiter(at_once)
        self._most, self._inside = at_once + waiting, 0

    async def run(self, work: Callable[[], T]) -> T:
        """Return what the work comes to.

        Raises
        ------
        TooManyRequests : too many wait already
        """
        if self._inside >= self._most:
            raise TooManyRequests("Too many people log in at once; try again in a second.", retry_after_s=1)
        self._inside += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._inside -= 1


def source_of(address: str) -> str:
    """Return the source that an address belongs to: itself, or the network that an IPv6 customer has whole."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:60]
    if isinstance(ip, ipaddress.IPv6Address):
        mapped = ip.ipv4_mapped
        return str(mapped or ipaddress.ip_network((ip, _IPV6_NETWORK), strict=False))
    return str(ip)


def _account(person: Person | None, login: str) -> str:
    """Return what attempts are counted by: the user; for a name that nobody has, the name without its domain."""
    return person.id if person is not None else f"?{login.strip().lower().partition('@')[0][:200]}"
