"""The broker that a relay writes to, as the relay sees it: one writer at a time, records and position in one step.

Next: ``relay/kafka/target.py``, which implements it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tocsin.errors import Unavailable
from tocsin.flow.eventlog.position import LogPosition
from tocsin.relay.records import BrokerRecord


class BrokerUnavailable(Unavailable):
    """The broker cannot be reached, or refuses to take records; the relay tries again."""

    code = "BROKER_UNAVAILABLE"


class Fenced(Unavailable):
    """Another relay writes to the broker now."""

    code = "RELAY_FENCED"


class Target(Protocol):
    """A broker. All methods raise BrokerUnavailable where it does not answer as it should."""

    def begin(self) -> LogPosition | None:
        """Become the writer: no older one can write any more. Return how far the log was written, None for never."""

    def last_position(self) -> LogPosition | None:
        """Return the position of the last event that its topics hold of this relay: where a lost position was."""

    def publish(self, records: Sequence[BrokerRecord], position: LogPosition) -> None:
        """Write records and the position behind them: all of it or nothing.

        Raises
        ------
        Fenced : another relay took over; nothing was written
        """

    def close(self) -> None:
        """Close all connections."""
