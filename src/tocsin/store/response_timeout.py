"""Client-side timeout for PostgreSQL statements.

A server that is stopped, or blocked on its disk, still acknowledges packets, so that no TCP timeout helps; and
``statement_timeout`` is enforced by the server itself. So the client uses its own clock.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

_LOOK_EVERY_S = 0.1


def bounded(driver: Any, within_s: float) -> Any:  # Any: the driver, which may not be installed
    """Return a type of the driver's connections that closes itself without a response ``within_s``.

    Source: psycopg 3.2, ``Connection.wait``, which waits for every response: it drives a generator that yields what it
    waits for and is sent what has arrived, nothing after each interval.
    """

    class Bounded(driver.Connection):  # type: ignore[misc]  # a driver's type, known only now
        """A connection that does not wait for ever."""

        def wait(self, gen: Any, interval: float = _LOOK_EVERY_S, **more: Any) -> Any:  # Any: the driver's own
            """Wait as the driver does, and no longer than allowed."""
            return super().wait(self._limited(gen), interval, **more)

        def _limited(self, gen: Any) -> Generator[Any, Any, Any]:  # Any: as above
            came, give_up_s = None, time.monotonic() + within_s
            while True:
                try:
                    awaited = gen.send(came)
                except StopIteration as answer:
                    return answer.value
                came = yield awaited
                if came:
                    give_up_s = time.monotonic() + within_s
                elif time.monotonic() > give_up_s:
                    self.pgconn.finish()
                    raise driver.OperationalError(f"connection timeout: PostgreSQL was silent for {within_s:g} s")

    return Bounded
