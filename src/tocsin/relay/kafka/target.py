"""Kafka as the target of a relay: records and position in one transaction; older writers are fenced.

A relay begins with ``init_transactions``, which fences every older producer of its name: a relay that was suspended and
wakes up cannot commit any more. Then it writes a record to its position topic and reads up to it: whatever was
committed before is in front of it, even where a broker that has just started states an earlier end.
Next: ``relay/kafka/topics.py``, ``relay/kafka/tail.py``.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import orjson
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from tocsin.delivery.wording.broker_headers import IDEMPOTENCY_HEADER, OFFSET_HEADER, RELAY_HEADER
from tocsin.errors import StoreDamaged
from tocsin.flow.eventlog.position import LogPosition
from tocsin.relay.kafka.client import METADATA_TIMEOUT_S, TIMEOUT_S, Connection
from tocsin.relay.kafka.tail import last_record
from tocsin.relay.kafka.topics import RECORD_OVERHEAD_BYTES, Topics
from tocsin.relay.records import BrokerRecord
from tocsin.relay.target import Fenced

_POSITION, _BEGIN = b"position", b"begin"
"""Keys of the position topic: of a position, and of the record that a relay begins with."""

_TRANSACTION_WITHIN_S = 60.0

_FETCH_WAIT_MS = 50
"""Milliseconds until the broker says that a partition has no more: the position is known only after that."""


@dataclass(frozen=True)
class KafkaOptions:
    """Where and as whom a relay writes.

    Attributes
    ----------
    name : name of the relay: its transactional id, and the first part of its position topic
    topics : names of all topics that it may write to
    connection : settings of librdkafka's clients: servers, TLS, SASL
    limit_bytes : most bytes of a record's value
    partitions : of a topic that the relay makes; None: as the broker is set
    compression : `gzip` or `none`: other codecs need libraries that consumers may lack
    """

    name: str
    topics: Collection[str]
    connection: Mapping[str, str]
    limit_bytes: int
    partitions: int | None = None
    compression: str = "gzip"

    @property
    def position_topic(self) -> str:
        """Return the topic of its position alone: an open transaction of another relay in it would hide ours."""
        return f"{self.name}-position"


class KafkaTarget:
    """One connection of a relay to Kafka."""

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._connection = Connection(options.name, options.connection)
        self._topics = Topics(self._connection, limit_bytes=options.limit_bytes, partitions=options.partitions)
        self._producer: Producer | None = None
        self._name_header = (RELAY_HEADER, options.name.encode())

    def begin(self) -> LogPosition | None:
        """Fence every older writer of this relay; return the position behind what they wrote, None for nothing."""
        self._topics.make_position_topic(self._options.position_topic)
        own_id = uuid4().bytes
        with self._connection.guard("the broker takes no transactions"):
            self._producer = Producer(self._producer_config())
            self._producer.init_transactions(TIMEOUT_S)
            self._producer.begin_transaction()
            self._note(self._producer, _BEGIN, own_id)
            self._producer.commit_transaction(TIMEOUT_S)
        with self._consumer("the position cannot be read") as consumer:
            partition = TopicPartition(self._options.position_topic, 0)
            record = last_record(consumer, partition, _is_position, lambda message: message.value() == own_id)
        return None if record is None else _position_of(record)

    def unfinished_end(self) -> LogPosition | None:
        """Return None: an incomplete transaction is none."""
        return None

    def last_position(self) -> LogPosition | None:
        """Return the position of the last event of this relay in its topics, None where they hold none."""
        with self._consumer("topics cannot be read") as consumer:
            present = consumer.list_topics(timeout=METADATA_TIMEOUT_S).topics
            names = [name for name in self._options.topics if name in present]
            partitions = [TopicPartition(name, number) for name in names for number in present[name].partitions]
            records = [last_record(consumer, partition, self._is_own) for partition in partitions]
        positions = [_position_in_headers(record) for record in records if record is not None]
        return max(positions, key=lambda position: position.offset, default=None)

    def publish(self, records: Sequence[BrokerRecord], position: LogPosition) -> None:
        """Write records and the position behind them in one transaction.

        Raises
        ------
        Fenced : another relay writes to the broker now, and nothing was written
        """
        producer = self._producer
        if producer is None:
            raise Fenced("the connection is closed")
        self._topics.make({record.topic for record in records})
        with self._connection.guard("events cannot be written"):
            producer.begin_transaction()
            for record in records:
                headers: list[tuple[str, str | bytes | None]] = [*record.headers, self._name_header]
                producer.produce(record.topic, value=record.value, key=record.key.encode(), headers=headers)
            self._note(producer, _POSITION, orjson.dumps(position.to_json()))
            _commit(producer)

    def restart(self, position: LogPosition) -> None:
        """Write another position."""
        self.publish((), position)

    def close(self) -> None:
        """Close the connection; an incomplete transaction is aborted by the next writer."""
        if self._producer is not None:
            self._producer.purge()
            self._producer = None

    def _note(self, producer: Producer, key: bytes, value: bytes) -> None:
        producer.produce(self._options.position_topic, value=value, key=key, partition=0)

    def _is_own(self, message: Message) -> bool:
        return self._name_header in (message.headers() or ())

    @contextmanager
    def _consumer(self, problem: str) -> Iterator[Consumer]:
        with self._connection.guard(problem):
            consumer = Consumer(
                self._connection.config(
                    group_id=self._options.position_topic,
                    enable_auto_commit=False,
                    auto_offset_reset="earliest",
                    isolation_level="read_committed",
                    enable_partition_eof=True,
                    fetch_wait_max_ms=_FETCH_WAIT_MS,
                )
            )
            try:
                yield consumer
            finally:
                consumer.close()

    def _producer_config(self) -> dict[str, object]:
        return self._connection.config(
            transactional_id=self._options.name,
            transaction_timeout_ms=int(_TRANSACTION_WITHIN_S * 1000),
            compression_type=self._options.compression,
            partitioner="murmur2_random",
            linger_ms=5,
            message_max_bytes=self._options.limit_bytes + RECORD_OVERHEAD_BYTES,
            queue_buffering_max_messages=1_000_000,
            queue_buffering_max_kbytes=512 * 1024,
        )


def _commit(producer: Producer) -> None:
    """Commit; one that takes long goes on where it is for as long as records get to the broker."""
    deadline, waiting_count = time.monotonic() + _TRANSACTION_WITHIN_S, len(producer)
    while True:
        try:
            return producer.commit_transaction(TIMEOUT_S)
        except KafkaException as error:
            is_stuck = len(producer) >= waiting_count or time.monotonic() > deadline
            if is_stuck or not error.args[0].retriable():
                raise
            waiting_count = len(producer)


def _is_position(message: Message) -> bool:
    return message.key() == _POSITION


def _position_in_headers(record: Message) -> LogPosition:
    """Return the position that the headers of an event state."""
    headers = {str(header[0]): header[1] for header in record.headers() or ()}
    offset, event_id = headers[OFFSET_HEADER], headers[IDEMPOTENCY_HEADER]
    return LogPosition(int(offset or b""), event_id.decode() if isinstance(event_id, bytes) else event_id)


def _position_of(record: Message) -> LogPosition:
    try:
        return LogPosition.of_json(orjson.loads(record.value() or b""))
    except (ValueError, KeyError, TypeError) as error:
        noted = repr(record.value())[:100]
        raise StoreDamaged(
            f"The last record of topic {record.topic()} is no position of a relay: {noted}. Run `tocsin relay "
            "--restart-at OFFSET` with the offset of the log after which to go on."
        ) from error
