"""Log-in attempts, counted in the store for all servers together before a password is checked.

An attempt is reserved, that is counted as failed until it succeeds, so parallel attempts are limited like consecutive
ones. Next: ``server/login/throttle.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, Engine, case, delete, select, update

from tocsin.store.database.engine import fetch_rows, fetch_value, insert_into, writing
from tocsin.store.database.people_tables import login_attempt, login_source

_ATTEMPT, _SOURCE = login_attempt.c, login_source.c
_FIRST_DELAY_MS = 1_000
_MOST_DOUBLINGS = 20
_KNOWN_FOR_MS = 90 * 86_400_000


class Allowance(NamedTuple):
    """How many attempts a key has at once; each further one waits, twice as long as the one before."""

    key: str
    free: int


@dataclass(frozen=True)
class Pace:
    """How far attempts are slowed down: the longest delay, and the time without any after which all are forgotten."""

    longest_ms: int
    forget_ms: int

    def delay_ms(self, count: int, free: int) -> int:
        """Return how long the next attempt waits after ``count`` that did not succeed."""
        if count < free:
            return 0
        return min(_FIRST_DELAY_MS << min(count - free, _MOST_DOUBLINGS), self.longest_ms)


class LoginAttempts:
    """The log-ins of one store that were tried and have not succeeded."""

    def __init__(self, engine: Engine, pace: Pace) -> None:
        self._engine, self._pace = engine, pace

    def reserve(self, allowances: Sequence[Allowance], now_ms: int) -> int:
        """Count an attempt for each of these keys and return 0; or count none and return the milliseconds to wait."""
        keys = sorted(one.key for one in allowances)
        query = select(_ATTEMPT.key, _ATTEMPT.attempt_count, _ATTEMPT.last_at_ms, _ATTEMPT.next_at_ms)
        query = query.where(_ATTEMPT.key.in_(keys)).order_by(_ATTEMPT.key)
        wait_ms = max((self._wait_ms(row.next_at_ms, now_ms) for row in fetch_rows(self._engine, query)), default=0)
        if wait_ms:
            return wait_ms
        with writing(self._engine) as connection:
            new = [{"key": key, "attempt_count": 0, "last_at_ms": now_ms, "next_at_ms": 0} for key in keys]
            for row in new:
                connection.execute(insert_into(connection, login_attempt).values(row).on_conflict_do_nothing())
            attempts_by_key = {row.key: row for row in connection.execute(query.with_for_update())}
            wait_ms = max(self._wait_ms(row.next_at_ms, now_ms) for row in attempts_by_key.values())
            if not wait_ms:
                for key, free in allowances:
                    is_stale = attempts_by_key[key].last_at_ms < now_ms - self._pace.forget_ms
                    self._count(
                        connection, Allowance(key, free), 0 if is_stale else attempts_by_key[key].attempt_count, now_ms
                    )
        return wait_ms

    def succeed(self, user_id: str, source: str, allowances: Sequence[Allowance], now_ms: int) -> None:
        """Take back what was reserved, and remember the source; the first key, that of both, is forgotten."""
        with writing(self._engine) as connection:
            for key, free in sorted(allowances[1:]):
                is_free = _ATTEMPT.attempt_count - 1 < free
                back = {"attempt_count": _ATTEMPT.attempt_count - 1}
                back |= {"next_at_ms": case((is_free, 0), else_=_ATTEMPT.next_at_ms)}
                connection.execute(
                    update(login_attempt).where(_ATTEMPT.key == key, _ATTEMPT.attempt_count > 0).values(back)
                )
            connection.execute(delete(login_attempt).where(_ATTEMPT.key == allowances[0].key))
            source_row = {"user_id": user_id, "source": source, "last_at_ms": now_ms}
            upsert = insert_into(connection, login_source).values(source_row)
            connection.execute(
                upsert.on_conflict_do_update(
                    index_elements=["user_id", "source"], set_={"last_at_ms": upsert.excluded.last_at_ms}
                )
            )
            is_old = (_SOURCE.user_id == user_id) & (_SOURCE.last_at_ms < now_ms - _KNOWN_FOR_MS)
            connection.execute(delete(login_source).where(is_old))
            self._prune(connection, now_ms)

    def is_known(self, account: str, source: str, now_ms: int) -> bool:
        """Return whether a person (a user's id) has logged in from this source of late."""
        query = select(_SOURCE.last_at_ms).where(_SOURCE.user_id == account, _SOURCE.source == source)
        last_at_ms = fetch_value(self._engine, query)
        return last_at_ms is not None and last_at_ms > now_ms - _KNOWN_FOR_MS

    def _wait_ms(self, next_at_ms: int, now_ms: int) -> int:
        """Return how long is left; nothing of a delay longer than any, which a clock that was set back leaves."""
        left_ms = next_at_ms - now_ms
        return left_ms if 0 < left_ms <= self._pace.longest_ms else 0

    def _count(self, connection: Connection, allowance: Allowance, before: int, now_ms: int) -> None:
        count = min(before + 1, 1_000_000)
        next_at_ms = now_ms + self._pace.delay_ms(count, allowance.free)
        values = {"attempt_count": count, "last_at_ms": now_ms, "next_at_ms": next_at_ms}
        connection.execute(update(login_attempt).where(_ATTEMPT.key == allowance.key).values(values))

    def _prune(self, connection: Connection, now_ms: int) -> None:
        """Remove what is forgotten, and leave what another transaction works on."""
        old = select(_ATTEMPT.key).where(_ATTEMPT.last_at_ms < now_ms - self._pace.forget_ms).limit(1_000)
        connection.execute(delete(login_attempt).where(_ATTEMPT.key.in_(old.with_for_update(skip_locked=True))))


def account_key(account: str) -> str:
    """Return the key under which an account's attempts are counted, wherever they come from."""
    return f"account:{account}"


def pair_key(account: str, source: str) -> str:
    """Return the key under which an account's attempts from one source are counted."""
    return f"account:{account}@{source}"


def source_key(source: str) -> str:
    """Return the key under which the attempts from one source are counted, whatever the account."""
    return f"source:{source}"


def forget(connection: Connection, user_id: str) -> None:
    """Forget what was tried for this account, together with what else the transaction writes."""
    of_any_source = _ATTEMPT.key.startswith(pair_key(user_id, ""), autoescape=True)
    connection.execute(delete(login_attempt).where((_ATTEMPT.key == account_key(user_id)) | of_any_source))
