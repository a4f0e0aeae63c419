"""How often has a log-in failed of late? Counted in the store, per account and per address, for all servers together.

Next: ``server/doorkeeper.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, Engine, case, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from tocsin.store.access.tables import login_attempt
from tocsin.store.engine import is_sqlite, reading, writing

_ATTEMPT = login_attempt.c


def account(login: str) -> str:
    """Return the key under which the failures of an account are counted that is named so: by its address or name."""
    return f"account:{login.strip().lower()[:300]}"


class LoginAttempts:
    """The failed log-ins of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def failures(self, keys: Collection[str]) -> dict[str, tuple[int, int]]:
        """Return how often each of these failed, and since when (epoch milliseconds)."""
        query = select(login_attempt).where(_ATTEMPT.key.in_(sorted(keys)))
        with reading(self._engine) as connection:
            return {row.key: (row.failed_count, row.first_failed_at_ms) for row in connection.execute(query)}

    def fail(self, keys: Collection[str], now_ms: int, *, since_ms: int) -> None:
        """Count a failure of each; what began before ``since_ms`` is forgotten and begins anew."""
        with writing(self._engine) as connection:
            connection.execute(delete(login_attempt).where(_ATTEMPT.first_failed_at_ms < since_ms))
            dialect = sqlite if is_sqlite(connection) else postgresql
            for key in sorted(keys):
                row = {"key": key, "failed_count": 1, "first_failed_at_ms": now_ms}
                new = dialect.insert(login_attempt).values(row)
                again = {"failed_count": case((_ATTEMPT.failed_count < 1_000_000, _ATTEMPT.failed_count + 1), else_=1)}
                connection.execute(new.on_conflict_do_update(index_elements=["key"], set_=again))

    def forget(self, keys: Collection[str]) -> None:
        """Forget what failed for these: somebody came in."""
        with writing(self._engine) as connection:
            forget(connection, keys)


def forget(connection: Connection, keys: Collection[str]) -> None:
    """Forget what failed for these, together with what else the transaction writes."""
    connection.execute(delete(login_attempt).where(_ATTEMPT.key.in_(sorted(keys))))
