"""May they try to log in again? After too many failures an account, or an address, must wait.

Upstream answers the same way: not with 429, which its client takes for a limit of the whole API.
Next: ``store/access/attempts.py``.
"""

from __future__ import annotations

from tocsin.clock import Clock
from tocsin.errors import Forbidden, Unauthenticated
from tocsin.model.people import Person
from tocsin.server.auth import log_in
from tocsin.store.access.attempts import LoginAttempts, account
from tocsin.store.access.people import People

PER_ADDRESS = 10
"""An address may fail this many times more often than an account: many people can share one."""


class Doorkeeper:
    """Lets people in, and makes those wait who fail too often; ``most`` failures of an account within ``wait_s``."""

    def __init__(self, people: People, attempts: LoginAttempts, clock: Clock, *, most: int, wait_s: float) -> None:
        self._people, self._attempts, self._clock = people, attempts, clock
        self._most, self._wait_ms = most, int(wait_s * 1000)

    def let_in(self, login: str, password: str, address: str) -> Person:
        """Return who logs in.

        Raises
        ------
        Unauthenticated : login and password do not belong together
        Forbidden : there were too many failures; the message says how long to wait
        """
        who = account(login)
        limits = {who: self._most, f"address:{address[:300]}": self._most * PER_ADDRESS}
        now_ms = self._clock.now_ms()
        self._check(limits, now_ms)
        try:
            person = log_in(self._people, login, password)
        except Unauthenticated:
            self._attempts.fail(limits, now_ms, since_ms=now_ms - self._wait_ms)
            raise
        if self._attempts.failures([who]):
            self._attempts.forget([who])
        return person

    def _check(self, limits: dict[str, int], now_ms: int) -> None:
        for key, (count, since_ms) in self._attempts.failures(limits).items():
            left_ms = since_ms + self._wait_ms - now_ms
            if count >= limits[key] and left_ms > 0:
                raise Forbidden(f"Too many failed log-ins; wait {-(-left_ms // 1000)} seconds and try again.")
