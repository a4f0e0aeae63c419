"""Messages on their way to Pulsar, and what became of them. Next: ``relay/pulsar/target.py``."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

import pulsar

from tocsin.relay.pulsar.client import TIMEOUT_S, PulsarConnection
from tocsin.relay.records import BrokerRecord

_SENT_ALONE_BYTES = 256 * 1024
"""Size from which a message waits for those before it, and those behind it wait for it.

The broker may refuse it for its size. A message behind it would have a higher sequence id, and once that is stored, the
refused one counts as repeated.
"""

_DOING = "events cannot be written"


class Sends:
    """The messages of one write; all are sent in order, and none after one that failed."""

    def __init__(self, connection: PulsarConnection) -> None:
        self._connection = connection
        self._changed = threading.Condition()
        self._waiting_count = 0
        self._failure: str | None = None

    def send(self, producer: pulsar.Producer, record: BrokerRecord, properties: Mapping[str, str]) -> None:
        """Hand one message to the client; raise what became of an earlier one."""
        is_large = len(record.value) >= _SENT_ALONE_BYTES
        if is_large:
            self.finish()
        self._raise_failure()
        with self._changed:
            self._waiting_count += 1
        with self._connection.guard(_DOING):
            producer.send_async(
                record.value,
                self._note,
                properties=dict(properties),
                partition_key=record.key,
                sequence_id=record.log_offset,
            )
        if is_large:
            self.finish()

    def finish(self) -> None:
        """Wait until all messages are stored."""
        deadline_s = time.monotonic() + 2 * TIMEOUT_S  # the client itself gives up before
        with self._changed:
            while self._waiting_count and self._failure is None:
                if not self._changed.wait(deadline_s - time.monotonic()):
                    self._failure = "Timeout"
        self._raise_failure()

    def _note(self, result: pulsar.Result, _message_id: pulsar.MessageId) -> None:
        with self._changed:
            self._waiting_count -= 1
            if result != pulsar.Result.Ok and self._failure is None:
                self._failure = result.name
            self._changed.notify_all()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._connection.error_of(self._failure, _DOING)
