"""Position of a relay at Pulsar: a topic whose last message says how far the log is written.

A subscription that is never read keeps that message, whatever the namespace's retention is, and nobody reads the topic
through it: a relay that is suspended could hold a subscription, but no reader. Next: ``relay/pulsar/target.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
import pulsar

from tocsin.errors import StoreDamaged, Unavailable
from tocsin.flow.eventlog.position import LogPosition
from tocsin.relay.pulsar.client import PulsarConnection

_DROPPED = -1
"""Ledger of the id that the broker answers for a repeated message, which it drops."""

_KEY = "position"


class NoDeduplication(Unavailable):
    """The broker stores repeated messages again; the relay waits until a person turns deduplication on."""

    code = "NO_DEDUPLICATION"


@dataclass(frozen=True)
class WrittenLog:
    """How far the log is written.

    Attributes
    ----------
    producer : name of the relay's producers; another one after each restart at a place, see ``PulsarTarget.restart``
    position : behind what is written; None before the first event
    unfinished : where the events end that are being written, None between two writes
    """

    producer: str
    position: LogPosition | None = None
    unfinished: LogPosition | None = None

    @classmethod
    def of_json(cls, noted: dict[str, Any]) -> WrittenLog:  # Any: JSON values
        """Return what ``to_json`` noted; raises KeyError, TypeError or ValueError for what is none."""
        position, unfinished = noted["position"], noted["unfinished"]
        return cls(
            producer=str(noted["producer"]),
            position=None if position is None else LogPosition.of_json(position),
            unfinished=None if unfinished is None else LogPosition.of_json(unfinished),
        )

    def to_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return it as it is noted."""
        return {
            "producer": self.producer,
            "position": None if self.position is None else self.position.to_json(),
            "unfinished": None if self.unfinished is None else self.unfinished.to_json(),
        }


class PositionTopic:
    """The position topic of one relay, which this connection alone writes."""

    def __init__(self, connection: PulsarConnection) -> None:
        options = connection.options
        self._connection, self._topic = connection, options.position_topic
        self._producer = connection.producer(self._topic, options.name)
        with connection.guard(f"topic {self._topic} cannot be read"):
            self._keeper = connection.client.subscribe(
                options.address_of(self._topic),
                options.name,
                consumer_type=pulsar.ConsumerType.Failover,
                initial_position=pulsar.InitialPosition.Earliest,
                receiver_queue_size=1,
            )
        self._sequence_id = self._producer.last_sequence_id()
        self._kept: pulsar.MessageId | None = None

    def read(self) -> WrittenLog | None:
        """Return what was noted last, None for nothing.

        Raises
        ------
        StoreDamaged : the last message is none of ours
        """
        with self._connection.guard(f"topic {self._topic} cannot be read"):
            message = next(self._connection.last_messages(self._topic), None)
        if message is None:
            return None
        self._kept = message.message_id()
        try:
            return WrittenLog.of_json(orjson.loads(message.data()))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreDamaged(
                f"The last message of topic {self._topic} is no position of a relay: {message.data()[:100]!r}. Delete "
                "the topic: the relay then finds its position by its last events."
            ) from error

    def note(self, progress: WrittenLog) -> None:
        """Store how far the log is written."""
        self._sequence_id = max(1, self._sequence_id + 1)  # the client takes 0 for none
        with self._connection.guard("the position cannot be written"):
            noted = self._send(progress)
            if self._kept is not None:
                self._keeper.acknowledge_cumulative(self._kept)
            self._kept = noted

    def check_deduplication(self, progress: WrittenLog) -> None:
        """Note the progress, and once more: what was repeated is dropped.

        Raises
        ------
        NoDeduplication : it is not
        """
        self.note(progress)
        with self._connection.guard("the position cannot be written"):
            repeated_id = self._send(progress)
        if repeated_id.ledger_id() != _DROPPED:
            namespace = self._connection.options.namespace
            raise NoDeduplication(
                f"Namespace {namespace} has no deduplication, so events could be there twice. Turn it on: "
                f"pulsar-admin namespaces set-deduplication --enable {namespace}"
            )

    def _send(self, progress: WrittenLog) -> pulsar.MessageId:
        noted = orjson.dumps(progress.to_json())
        return self._producer.send(noted, partition_key=_KEY, sequence_id=self._sequence_id)
