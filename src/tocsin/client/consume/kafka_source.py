"""Kafka as a source of a consumer: the topics that a relay writes, read by a consumer group.

Only committed transactions are read. The group's offsets are committed after the events were handled. The library of
the extra ``kafka`` is imported when the source is opened.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from tocsin.client.answers import Change
from tocsin.client.consume.loop import EventPortion
from tocsin.client.consume.queue_source import change_of
from tocsin.client.consume.steps import BlockingCall, Steps
from tocsin.errors import InvalidInput, MissingExtra, Unavailable

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

POLL_S = 0.5
REACHED_WITHIN_S = 10.0
_KEY_HEADER = "idempotencyKey"
_log = logging.getLogger("tocsin.client")

Partition = tuple[str, int]


@dataclass
class KafkaSource:
    """Topics of a Kafka broker.

    Parameters
    ----------
    servers : brokers, ``host:port,host:port``
    group : the consumer group; it keeps how far it has read
    topics : names of topics; one that begins with ``^`` is a pattern
    handle_seconds : how long handling a portion may take before the broker gives its partitions to another consumer
    settings : further settings of librdkafka, such as ``sasl.password``
    stop_at_end : end where all partitions end, instead of waiting for more
    """

    servers: str
    group: str
    topics: Sequence[str] = ("metadata-change-events",)
    handle_seconds: int = 300
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    stop_at_end: bool = False
    _consumer: Consumer | None = field(default=None, init=False, repr=False)
    _failure: Unavailable | None = field(default=None, init=False, repr=False)
    _ends: set[Partition] = field(default_factory=set, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def open(self, _server: str) -> Steps[None]:
        """Join the group.

        Raises
        ------
        MissingExtra : confluent_kafka is not installed
        Unavailable : the broker cannot be reached
        InvalidInput : it refuses its settings
        """
        yield BlockingCall(self._open)

    def read(self, limit: int, _group_by: str | None) -> Steps[EventPortion]:
        """Return the next records as events."""
        portion: EventPortion = yield BlockingCall(lambda: self._read(limit))
        return portion

    def keep(self, _portion: EventPortion, _wait_s: float) -> Steps[bool]:
        """Tell the broker that this consumer lives; what it has read stays with it unless the group has changed."""
        yield BlockingCall(self._keep)
        return True

    def commit(self, portion: EventPortion) -> Steps[None]:
        """Commit the offsets behind a portion.

        Raises
        ------
        Unavailable : the broker cannot do so now
        """
        yield BlockingCall(lambda: self._commit(cast("dict[Partition, int]", portion.token or {})))

    def give_back(self, _portion: EventPortion) -> Steps[None]:
        """Do nothing: the group's offsets have not changed."""
        yield from ()

    def close(self) -> Steps[None]:
        """Leave the group."""
        yield BlockingCall(self._close)

    def _open(self) -> None:
        if not self.group:  # librdkafka would end the whole process
            raise InvalidInput("Consuming Kafka needs the name of a consumer group.", field="group")
        try:
            from confluent_kafka import Consumer, KafkaException
        except ModuleNotFoundError as error:
            message = "Reading from Kafka needs confluent_kafka. Install it: pip install 'tocsin[kafka]'"
            raise MissingExtra(message, extra="kafka") from error
        settings: dict[str, Any] = {  # Any: values of librdkafka's settings
            "client.id": "tocsin-client",
            "auto.offset.reset": "earliest",
            "log_level": 0,
            "max.poll.interval.ms": self.handle_seconds * 1000,
            "session.timeout.ms": min(45_000, self.handle_seconds * 1000),
            **self.settings,
            "bootstrap.servers": self.servers,
            "group.id": self.group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
        self._ends, self._failure = set(), None
        try:
            self._consumer = Consumer(settings)
            self._consumer.subscribe(
                list(self.topics), on_assign=self._forget_ends, on_revoke=self._forget_ends, on_lost=self._forget_ends
            )
        except (KafkaException, ValueError, TypeError) as error:
            raise InvalidInput(f"Kafka's client refuses its settings: {error}") from error
        try:
            self._consumer.list_topics(timeout=REACHED_WITHIN_S)
        except KafkaException as error:
            self._close()
            raise Unavailable(f"Kafka at {self.servers} cannot be reached: {_reason_of(error.args[0])}") from error

    def _read(self, limit: int) -> EventPortion:
        with self._lock:
            consumer = self._live_consumer()
            self._raise_failure()
            changes: list[Change] = []
            ends: dict[Partition, int] = {}
            for message in consumer.consume(limit, timeout=POLL_S):
                changes += self._changes_of(message, ends)
            if not ends:
                self._raise_failure()
            return EventPortion(tuple(changes), token=ends, is_last=not ends and self._is_at_end(consumer))

    def _changes_of(self, message: Message, ends: dict[Partition, int]) -> list[Change]:
        """Return the event of a record, if it is one, and note its place."""
        partition = (message.topic() or "", message.partition() or 0)
        if message.error() is not None:
            self._note_error(message, partition)
            return []
        self._ends.discard(partition)
        ends[partition] = (message.offset() or 0) + 1
        value = message.value()
        if value is None:
            return []
        try:
            event = json.loads(value)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            place = f"{partition[0]}, partition {partition[1]}, offset {ends[partition] - 1}"
            raise InvalidInput(f"The record in {place} is no JSON object: choose topics that a relay writes.")
        key = dict(message.headers() or []).get(_KEY_HEADER)
        return [change_of(event, key.decode() if isinstance(key, bytes) else "")]

    def _note_error(self, message: Message, partition: Partition) -> None:
        from confluent_kafka import KafkaError

        error = message.error()
        if error is None:
            return
        if error.code() == KafkaError._PARTITION_EOF:
            self._ends.add(partition)
        elif error.code() == KafkaError._MAX_POLL_EXCEEDED:
            _log.warning("Handling took longer than %d s, so events may be handled again.", self.handle_seconds)
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            self._failure = Unavailable(f"Kafka at {self.servers} has no topic {partition[0]}; is a relay running?")
        elif not error.retriable():
            self._failure = Unavailable(f"Kafka at {self.servers}: {_reason_of(error)}")

    def _raise_failure(self) -> None:
        """Raise what the client has reported, once no records that came with it would be missed."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _forget_ends(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        """Forget which partitions have ended: after a change of the group they are read from their offsets again."""
        self._ends.clear()

    def _is_at_end(self, consumer: Consumer) -> bool:
        partitions = {(one.topic, one.partition) for one in consumer.assignment()}
        return bool(partitions) and partitions <= self._ends

    def _keep(self) -> None:
        with self._lock:
            consumer = self._live_consumer()
            assignment = consumer.assignment()
            consumer.pause(assignment)
            message = consumer.poll(0)
            if message is not None and message.error() is None:  # of a partition that has just come: read it later
                from confluent_kafka import TopicPartition

                consumer.seek(TopicPartition(message.topic() or "", message.partition() or 0, message.offset() or 0))
            consumer.resume(consumer.assignment())

    def _commit(self, ends: Mapping[Partition, int]) -> None:
        if not ends:
            return
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        offsets = [TopicPartition(topic, number, end) for (topic, number), end in ends.items()]
        try:
            with self._lock:
                self._live_consumer().commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in (KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID):
                raise Unavailable(f"Kafka at {self.servers} did not commit: {error.args[0]}") from error
            _log.warning("Another consumer of the group has got these partitions, and their events again.")

    def _close(self) -> None:
        with self._lock:
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None

    def _live_consumer(self) -> Consumer:
        if self._consumer is None:
            raise Unavailable("The connection to Kafka is closed.", retry_after_s=None)
        return self._consumer


def _reason_of(error: KafkaError) -> str:
    return f"{error.str()} ({error.name()})"
