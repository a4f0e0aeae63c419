"""One member of the consumer group of a Kafka topic: reads records, and says that they are done.

Dead letters and the offsets behind them are one transaction, so that each refused record is in the dead-letter topic
once for consumers that read committed records. Next: ``ingest/loop.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from tocsin.ingest.records import RefusedRecord, TopicRecord
from tocsin.relay.kafka.client import TIMEOUT_S, Connection
from tocsin.relay.kafka.topics import RECORD_OVERHEAD_BYTES, Topics
from tocsin.relay.target import BrokerUnavailable

_TRANSACTION_WITHIN_S = 10.0
"""Seconds after which the broker gives up what a member that was killed has begun; nobody reads on before."""

MISSED_AFTER_S = 10.0
"""Seconds without a sign of life after which the group gives a member's partitions to others."""

_VALUE_LEFT_OUT = ("tocsin-dead-value", b"left out: too large")


@dataclass(frozen=True)
class TopicOptions:
    """What is read, by whom, and where dead letters go.

    Attributes
    ----------
    connection : settings of librdkafka's clients: brokers, TLS, SASL
    limit_bytes : most bytes of a dead letter's value; a larger one is left out
    """

    topic: str
    group: str
    dead_letter_topic: str
    connection: Mapping[str, str]
    limit_bytes: int


class IngestTopic:
    """A connection of one member. All methods raise ``BrokerUnavailable`` where a broker does not answer."""

    def __init__(self, options: TopicOptions) -> None:
        self._options = options
        self._connection = Connection(options.group, options.connection)
        Topics(self._connection, limit_bytes=options.limit_bytes, partitions=None).make({options.dead_letter_topic})
        self._producer: Producer | None = None
        with self._connection.guard("the topic cannot be read"):
            self._consumer = Consumer(
                self._connection.config(
                    group_id=options.group,
                    enable_auto_commit=False,
                    auto_offset_reset="earliest",
                    isolation_level="read_committed",
                    queued_max_messages_kbytes=16 * 1024,
                    session_timeout_ms=int(MISSED_AFTER_S * 1000),
                )
            )
            self._consumer.subscribe([options.topic])

    def read(self, limit: int, within_s: float) -> list[TopicRecord]:
        """Return the next records of the partitions that this member has; none if none comes in time.

        Raises
        ------
        BrokerUnavailable : the topic is missing, or the broker does not answer
        """
        with self._connection.guard("the topic cannot be read"):
            messages = self._consumer.consume(limit, within_s)
        for message in messages:
            error = message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise BrokerUnavailable(f"topic {self._options.topic} cannot be read: {error.str()}")
        return [_record_of(message) for message in messages if message.error() is None]

    def finish(self, records: Sequence[TopicRecord], dead_letters: Sequence[RefusedRecord]) -> None:
        """Write dead letters, and that all these records are done: both or nothing."""
        offsets = _offsets_behind(records)
        with self._connection.guard("records cannot be committed"):
            if not dead_letters:
                self._consumer.commit(offsets=offsets, asynchronous=False)
                return
            producer = self._begin()
            for letter in dead_letters:
                self._write(producer, letter)
            producer.send_offsets_to_transaction(offsets, self._consumer.consumer_group_metadata(), TIMEOUT_S)
            producer.commit_transaction(TIMEOUT_S)

    def close(self) -> None:
        """Leave the group; what has not been finished is read again, by this member or another."""
        if self._producer is not None:
            self._producer.purge()
            self._producer = None
        self._consumer.close()

    def _begin(self) -> Producer:
        if self._producer is None:
            self._producer = Producer(
                self._connection.config(
                    transactional_id=f"{self._options.group}-{uuid4()}",  # the group decides whose offsets count
                    transaction_timeout_ms=int(_TRANSACTION_WITHIN_S * 1000),
                    socket_timeout_ms=int(_TRANSACTION_WITHIN_S * 1000),
                    message_max_bytes=self._options.limit_bytes + RECORD_OVERHEAD_BYTES,
                )
            )
            self._producer.init_transactions(TIMEOUT_S)
        self._producer.begin_transaction()
        return self._producer

    def _write(self, producer: Producer, letter: RefusedRecord) -> None:
        headers: list[tuple[str, str | bytes | None]] = [*letter.headers(self._options.group)]
        record, value = letter.record, letter.record.value
        header_bytes = sum(len(name) + len(text or b"") for name, text in headers)
        if len(value or b"") + len(record.key or b"") + header_bytes > self._options.limit_bytes:
            headers, value = [one for one in headers if one[0].startswith("tocsin-dead-")], None
            headers.append(_VALUE_LEFT_OUT)
        key = record.key if len(record.key or b"") <= RECORD_OVERHEAD_BYTES // 4 else None
        producer.produce(self._options.dead_letter_topic, value=value, key=key, headers=headers)


def _record_of(message: Message) -> TopicRecord:
    return TopicRecord(
        topic=str(message.topic()),
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        at_ms=message.timestamp()[1],
        key=_bytes_of(message.key()),
        value=_bytes_of(message.value()),
        headers=[(str(header[0]), _bytes_of(header[1])) for header in message.headers() or ()],
    )


def _bytes_of(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content


def _offsets_behind(records: Sequence[TopicRecord]) -> list[TopicPartition]:
    """Return the offsets with which each partition goes on."""
    ends: dict[tuple[str, int], int] = {}
    for record in records:
        place = (record.topic, record.partition)
        ends[place] = max(ends.get(place, 0), record.offset + 1)
    return [TopicPartition(topic, partition, end) for (topic, partition), end in ends.items()]
