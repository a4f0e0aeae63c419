"""Last committed records of partitions, looked for from their ends backwards. Next: ``relay/kafka/target.py``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tocsin.relay.kafka.client import TIMEOUT_S
from tocsin.relay.target import BrokerUnavailable

_POLL_S = 0.1
_LOOK_BACK = 256
"""Offsets before the end of a partition that are read first; some of them are markers of transactions."""

Test = Callable[[Message], bool]
"""Says whether a record is one of those looked for."""


def last_record(
    consumer: Consumer, partition: TopicPartition, is_wanted: Test, is_end: Test | None = None
) -> Message | None:
    """Return the last committed record that is wanted, or None.

    The end is the first record that ``is_end`` says so of, and without it the end that the broker states, which may
    lag for a moment after the broker's start.

    Raises
    ------
    BrokerUnavailable : the end does not come
    """
    low, high = consumer.get_watermark_offsets(partition, timeout=TIMEOUT_S)
    start, look_back = high, _LOOK_BACK
    while True:
        start, look_back = max(low, high - look_back), 4 * look_back
        consumer.assign([TopicPartition(partition.topic, partition.partition, start)])
        records = [one for one in _until_end(consumer, partition.topic, high, is_end) if is_wanted(one)]
        if records or start == low:
            return records[-1] if records else None


def _until_end(consumer: Consumer, topic: str, high: int, is_end: Test | None) -> Iterator[Message]:
    """Yield the committed records of what is assigned."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        for message in consumer.consume(_LOOK_BACK, timeout=_POLL_S):
            if _ends(message, high, is_end):
                return
            if message.error() is None:
                yield message
    raise BrokerUnavailable(f"the end of topic {topic} was not reached within {TIMEOUT_S:.0f} seconds")


def _ends(message: Message, high: int, is_end: Test | None) -> bool:
    """Return whether a record, or the end of a partition that the client reports, is the end looked for."""
    error = message.error()
    if error is None:
        return is_end is not None and is_end(message)
    if error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return is_end is None and (message.offset() or 0) >= high
