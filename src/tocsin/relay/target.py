"""The broker that a relay writes to, as the relay sees it: one writer at a time, each record once.

Next: ``relay/kafka/target.py`` and ``relay/pulsar/target.py``, which implement it.
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

    def unfinished_end(self) -> LogPosition | None:
        """Return where the events end that an older writer may have written in part, and that will be repeated.

        The log must hold it, too. None where records and position are one step.
        """

    def last_position(self) -> LogPosition | None:
        """Return the position of the last event that its topics hold of this relay: where a lost position was."""

    def publish(self, records: Sequence[BrokerRecord], position: LogPosition) -> None:
        """Write records and the position behind them; what is cut off is undone, or repeated without effect.

        Raises
        ------
        Fenced : another relay took over
        """

    def restart(self, position: LogPosition) -> None:
        """Set the position to any place of the log, an earlier one, too."""

    def close(self) -> None:
        """Close all connections."""
