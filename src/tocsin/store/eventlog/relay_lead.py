"""Lead among the relays of one name: one writes to the broker, the others stand by.

The leader holds a lock that ends with its process: on SQLite the kernel's, on a file beside the database; on
PostgreSQL an advisory lock of a session. A leader that was suspended keeps its lock, so it also counts in the store
that it works: one that does not for ``lease_s`` is passed over. If it still writes after that, the broker fences it.
Next: ``relay/loop.py``.
"""

from __future__ import annotations

import fcntl
import threading
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

import structlog
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from tocsin.clock import Clock, Steady, steady_s
from tocsin.store.database.engine import STORE_FAILURES, is_sqlite
from tocsin.store.eventlog.job_runs import ScheduledJobs

LOOK_EVERY_S = 0.5
"""Seconds between two tries to take the lead."""

SIGN_EVERY_S = 1.0
"""Seconds between two signs of life."""

_TAKE = text("SELECT pg_try_advisory_lock(hashtext('tocsin relay'), hashtext(:name))")
_IS_ALIVE = text("SELECT 1")

_log = structlog.get_logger("tocsin.relay")


class RelayLead:
    """The lead of the relays called ``name`` over one store, taken and given up by one thread."""

    def __init__(self, engine: Engine, name: str, clock: Clock, *, lease_s: float, steady: Steady = steady_s) -> None:
        self._engine, self._name, self._clock = engine, name, clock
        self._signs, self._job = ScheduledJobs(engine), f"relay {name}"
        self._lease_s, self._steady = lease_s, steady
        self._looked_s = float("-inf")
        self._giving_signs: tuple[threading.Thread, threading.Event] | None = None
        self._file: TextIOWrapper | None = None
        self._session: Connection | None = None

    def take(self, stop: threading.Event) -> bool:
        """Wait until nobody leads, and take the lead; return False if ``stop`` was set before."""
        if self.try_to_take():
            return True
        _log.info("relay.stands_by", relay=self._name)
        last_sign, seen_s = self._signs.seen_at_ms(self._job), self._steady()
        while not stop.wait(LOOK_EVERY_S):
            if self.try_to_take():
                return True
            if (sign := self._signs.seen_at_ms(self._job)) != last_sign:
                last_sign, seen_s = sign, self._steady()
            elif self._steady() - seen_s >= self._lease_s:
                _log.warning("relay.takes_over", relay=self._name, silent_s=self._lease_s)
                self._begin_signs()
                return True
        return False

    def try_to_take(self) -> bool:
        """Take the lead if nobody holds the lock; return whether this relay leads."""
        if not self._lock():
            return False
        self._begin_signs()
        return True

    def check(self) -> None:
        """Take the lock, too, once the one that was passed over lets it go.

        Raises
        ------
        SQLAlchemyError : the session that holds the lock has ended
        """
        if self._steady() - self._looked_s < SIGN_EVERY_S:
            return
        self._looked_s = self._steady()
        if self._session is not None:
            self._session.execute(_IS_ALIVE)
            self._session.rollback()
        elif self._file is None:
            self._lock()

    def keep(self) -> bool:
        """Take the lead anew if the session that held its lock has ended; return whether this process leads."""
        if self._file is not None or self._session is not None:
            try:
                self.check()
            except SQLAlchemyError:
                self.give_up()
            else:
                return True
        return self.try_to_take()

    def give_up(self) -> None:
        """Let another relay lead."""
        if self._giving_signs is not None:
            thread, stop = self._giving_signs
            stop.set()
            thread.join()
            self._giving_signs = None
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._session is not None:
            self._session.invalidate()
            self._session.close()
            self._session = None

    def _begin_signs(self) -> None:
        """Give signs of life in a thread of its own: a request to the broker may take longer than the lease."""
        stop = threading.Event()

        def give_signs() -> None:
            while True:
                with suppress(*STORE_FAILURES):  # while the store is away, nobody else can read a sign either
                    self._signs.record_heartbeat(self._job, now_ms=self._clock.now_ms())
                if stop.wait(SIGN_EVERY_S):
                    return

        thread = threading.Thread(target=give_signs, name="tocsin-relay-signs", daemon=True)
        thread.start()
        self._giving_signs = (thread, stop)

    def _lock(self) -> bool:
        session = self._engine.connect()
        if is_sqlite(session):
            session.close()
            return self._lock_file()
        if not session.execute(_TAKE, {"name": self._name}).scalar_one():
            session.close()
            return False
        session.rollback()
        self._session = session
        return True

    def _lock_file(self) -> bool:
        file = Path(f"{self._engine.url.database}-relay-{self._name}").open("a")  # noqa: SIM115  # closed by give_up
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        return True
