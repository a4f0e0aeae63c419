"""Pulsar as the target of a relay: the broker drops what is written again, so what was cut off is written again.

The sequence id of a message is the event's offset in the log, and the broker drops messages whose sequence id is not
above the last one of the same producer name and topic. Before events are written, the position topic says where they
end, and afterwards that they are written. A relay begins by closing all other producers of that topic; then it writes
again what the last one may not have finished. Next: ``relay/pulsar/position_topic.py``, ``relay/pulsar/sends.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

import pulsar

from tocsin.delivery.wording.broker_headers import IDEMPOTENCY_HEADER, OFFSET_HEADER, RELAY_HEADER
from tocsin.errors import LogDiverged
from tocsin.flow.eventlog.position import LogPosition
from tocsin.relay.pulsar.client import PulsarConnection, PulsarOptions
from tocsin.relay.pulsar.position_topic import PositionTopic, WrittenLog
from tocsin.relay.pulsar.sends import Sends
from tocsin.relay.records import BrokerRecord
from tocsin.relay.target import Fenced


class PulsarTarget:
    """One connection of a relay to Pulsar."""

    def __init__(self, options: PulsarOptions) -> None:
        self._options = options
        self._connection = PulsarConnection(options)
        self._progress = WrittenLog(producer=options.name)
        self._position_topic: PositionTopic | None = None
        self._producers: dict[str, pulsar.Producer] = {}
        self._last_known_offset = 0

    def begin(self) -> LogPosition | None:
        """Close every other producer of the position topic; return the position there, None for nothing."""
        self._position_topic = PositionTopic(self._connection)
        self._progress = self._position_topic.read() or self._progress
        self._position_topic.check_deduplication(self._progress)
        ends = [end.offset for end in (self._progress.position, self._progress.unfinished) if end is not None]
        self._last_known_offset = max(ends, default=0)
        return self._progress.position

    def unfinished_end(self) -> LogPosition | None:
        """Return where the events end that the last relay may not have finished."""
        return self._progress.unfinished

    def last_position(self) -> LogPosition | None:
        """Return the position of the last event of this relay in its topics, None where they hold none."""
        with self._connection.guard("topics cannot be read"):
            messages = [one for topic in self._options.topics for one in self._connection.last_messages(topic)]
        own_messages = [one for one in messages if one.properties().get(RELAY_HEADER) == self._options.name]
        if not own_messages:
            return None
        last_message = max(own_messages, key=lambda message: _position_of(message).offset)
        self._progress = replace(self._progress, producer=last_message.producer_name())
        self._last_known_offset = _position_of(last_message).offset
        return _position_of(last_message)

    def publish(self, records: Sequence[BrokerRecord], position: LogPosition) -> None:
        """Write records, and then the position behind them; a relay that is cut off between the two repeats them.

        Raises
        ------
        Fenced : another relay took over, and repeats them
        LogDiverged : a topic holds events of this relay from behind ``position``
        """
        if records:
            self._note(replace(self._progress, unfinished=position))
            self._send(records)
        self._note(replace(self._progress, position=position, unfinished=None))

    def restart(self, position: LogPosition) -> None:
        """Set the position to another place; what is written from there is no repetition, whatever its offsets."""
        self._note(WrittenLog(producer=f"{self._options.name}-{uuid4().hex[:12]}", position=position))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _note(self, progress: WrittenLog) -> None:
        if self._position_topic is None:
            raise Fenced("the connection has not begun")
        self._position_topic.note(progress)
        self._progress = progress

    def _send(self, records: Sequence[BrokerRecord]) -> None:
        sends = Sends(self._connection)
        for record in records:
            properties = {name: value.decode() for name, value in record.headers}
            properties[RELAY_HEADER] = self._options.name
            sends.send(self._producer_of(record), record, properties)
        sends.finish()

    def _producer_of(self, record: BrokerRecord) -> pulsar.Producer:
        if (producer := self._producers.get(record.topic)) is None:
            producer = self._connection.producer(record.topic, self._progress.producer)
            self._check(record, producer.last_sequence_id())
            self._producers[record.topic] = producer
        return producer

    def _check(self, record: BrokerRecord, last_offset: int) -> None:
        """Check that the broker will not drop a record that was never written."""
        if record.log_offset <= last_offset and last_offset > self._last_known_offset:
            raise LogDiverged(
                f"Topic {record.topic} has events of this relay up to offset {last_offset}, and its position is lost: "
                f"the position topic or the store was replaced. Run `tocsin relay --restart-at {last_offset}` to go on "
                "behind them, or with the offset after which the log is to be written."
            )


def _position_of(message: pulsar.Message) -> LogPosition:
    """Return the position that the properties of an event state."""
    properties = message.properties()
    return LogPosition(int(properties[OFFSET_HEADER]), properties[IDEMPOTENCY_HEADER])
