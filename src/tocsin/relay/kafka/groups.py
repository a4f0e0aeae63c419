"""Lags of the consumer groups of a relay's topics, as the broker states them and as the first unread records say.

The offsets of a topic count the markers of transactions as well, so what is counted is an upper bound; a partition of
which only markers are unread has no unread event. Next: ``relay/group_lags.py``.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from tocsin.chunks import chunks_of
from tocsin.delivery.wording.broker_headers import OFFSET_HEADER
from tocsin.flow.eventlog.readers import GROUP
from tocsin.model.entity import Document
from tocsin.relay.group_lags import MOST_GROUPS, short_name
from tocsin.relay.kafka.client import METADATA_TIMEOUT_S, Connection
from tocsin.relay.kafka.target import KafkaOptions

_FETCH_BYTES = 65_536
_FETCH_WAIT_MS = 50
"""Milliseconds until the broker says that a partition has no more: each round waits for that."""

_LOOKS_WITHIN_S = 5.0


class _Partition(NamedTuple):
    topic: str
    number: int


class _Place(NamedTuple):
    partition: _Partition
    offset: int


@dataclass(frozen=True)
class _FirstUnread:
    """The first unread record of a partition: its time, and its event's offset in the log (None: not ours)."""

    timestamp_ms: int
    log_offset: int | None


class GroupLags:
    """Measures the lags of the consumer groups of one relay's topics, or of one of them alone."""

    def __init__(self, options: KafkaOptions, *, group: str | None = None, most_groups: int = MOST_GROUPS) -> None:
        self._options, self._group, self._most_groups = options, group, most_groups
        self._connection = Connection(f"{options.name}-lag", options.connection)

    def measure(self) -> list[Document]:
        """Return the lag of each consumer group that has committed an offset of one of the topics, by name.

        Raises
        ------
        BrokerUnavailable : the broker cannot be reached, or refuses to answer
        """
        with self._connection.guard("consumer groups cannot be read"):
            admin = AdminClient(self._connection.config())
            partitions = self._partitions(admin)
            committed_offsets = self._committed_offsets(admin, partitions)
            ends = _ends(admin, {one for offsets in committed_offsets.values() for one in offsets})
            unread = {
                _Place(partition, offset)
                for offsets in committed_offsets.values()
                for partition, offset in offsets.items()
                if offset < ends[partition]
            }
            first_unread = self._first_unread(unread)
        return [_lag(name, committed_offsets[name], ends, first_unread) for name in sorted(committed_offsets)]

    def _partitions(self, admin: AdminClient) -> set[_Partition]:
        topics = admin.list_topics(timeout=METADATA_TIMEOUT_S).topics
        names = [name for name in self._options.topics if name in topics]
        return {_Partition(name, number) for name in names for number in topics[name].partitions}

    def _committed_offsets(
        self, admin: AdminClient, partitions: Collection[_Partition]
    ) -> dict[str, dict[_Partition, int]]:
        """Return what each group has committed of the topics; groups of other topics do not count."""
        committed_offsets: dict[str, dict[_Partition, int]] = {}
        for names in chunks_of(_group_names(admin) if self._group is None else [self._group], self._most_groups):
            answers: dict[str, Future[ConsumerGroupTopicPartitions]] = {}
            for name in names:
                asked_group = [ConsumerGroupTopicPartitions(name)]
                answers |= admin.list_consumer_group_offsets(asked_group, request_timeout=METADATA_TIMEOUT_S)
            offsets_by_name = {name: _offsets_of(answer, partitions) for name, answer in answers.items()}
            committed_offsets |= {name: offsets for name, offsets in offsets_by_name.items() if offsets}
            if len(committed_offsets) >= self._most_groups:
                break
        return dict(islice(committed_offsets.items(), self._most_groups))

    def _first_unread(self, places: Collection[_Place]) -> dict[_Place, _FirstUnread | None]:
        """Return the first record at each place, None where there is none; places out of time are left out."""
        by_partition: dict[_Partition, list[int]] = defaultdict(list)
        for place in sorted(places):
            by_partition[place.partition].append(place.offset)
        if not by_partition:
            return {}
        rounds = [
            {one: offsets[number] for one, offsets in by_partition.items() if number < len(offsets)}
            for number in range(max(map(len, by_partition.values())))
        ]
        deadline = time.monotonic() + _LOOKS_WITHIN_S
        first_unread: dict[_Place, _FirstUnread | None] = {}
        with closing(self._consumer()) as consumer:
            for offsets in rounds:
                assignment = [TopicPartition(*partition, offset) for partition, offset in offsets.items()]
                consumer.assign(assignment)
                consumer.resume(assignment)  # what the round before has paused
                for partition, record in _first_records(consumer, set(offsets), deadline):
                    first_unread[_Place(partition, offsets[partition])] = record
        return first_unread

    def _consumer(self) -> Consumer:
        return Consumer(
            self._connection.config(
                group_id=self._group or self._options.position_topic,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
                enable_partition_eof=True,
                fetch_message_max_bytes=_FETCH_BYTES,
                fetch_wait_max_ms=_FETCH_WAIT_MS,
                queued_max_messages_kbytes=1_024,
            )
        )


def _group_names(admin: AdminClient) -> list[str]:
    listed = admin.list_consumer_groups(request_timeout=METADATA_TIMEOUT_S).result()
    if listed.errors and not listed.valid:
        raise listed.errors[0]
    return sorted(group.group_id for group in listed.valid)


def _offsets_of(
    answer: Future[ConsumerGroupTopicPartitions], partitions: Collection[_Partition]
) -> dict[_Partition, int]:
    places = answer.result().topic_partitions or ()
    committed = {_Partition(one.topic, one.partition): one.offset for one in places if not one.error}
    return {partition: offset for partition, offset in committed.items() if partition in partitions and offset >= 0}


def _ends(admin: AdminClient, partitions: Collection[_Partition]) -> dict[_Partition, int]:
    if not partitions:
        return {}
    latest = {
        TopicPartition(*partition): OffsetSpec.latest()  # type: ignore[no-untyped-call]  # its stubs leave it out
        for partition in partitions
    }
    answers = admin.list_offsets(
        latest, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=METADATA_TIMEOUT_S
    )
    return {_Partition(one.topic, one.partition): answer.result().offset for one, answer in answers.items()}


def _first_records(
    consumer: Consumer, partitions: set[_Partition], deadline: float
) -> Iterator[tuple[_Partition, _FirstUnread | None]]:
    """Yield the first record of each of the assigned partitions, None where it has no more."""
    awaited_partitions = set(partitions)
    while awaited_partitions and time.monotonic() < deadline:
        for message in consumer.consume(len(awaited_partitions), timeout=0.2):
            partition = _Partition(str(message.topic()), int(message.partition() or 0))
            if partition not in awaited_partitions:
                continue
            awaited_partitions.discard(partition)
            consumer.pause([TopicPartition(*partition)])
            yield partition, _record_of(message)


def _record_of(message: Message) -> _FirstUnread | None:
    error = message.error()
    if error is not None:
        if error.code() == KafkaError._PARTITION_EOF:
            return None
        raise KafkaException(error)
    header = dict(message.headers() or ()).get(OFFSET_HEADER)
    return _FirstUnread(message.timestamp()[1], int(header) if header and header.isdigit() else None)


def _lag(
    name: str,
    committed_offsets: Mapping[_Partition, int],
    ends: Mapping[_Partition, int],
    first_unread: Mapping[_Place, _FirstUnread | None],
) -> Document:
    """Return the lag of one group: what is unread, and the oldest of it."""
    count, records = 0, list[_FirstUnread]()
    for partition, offset in committed_offsets.items():
        place = _Place(partition, offset)
        record = first_unread.get(place)
        is_read = place in first_unread and record is None
        count += 0 if is_read else max(0, ends[partition] - offset)
        records += [record] if record else []
    lag: Document = {"reader": f"{GROUP}{short_name(name)}", "eventCount": count}
    if records:
        lag["oldestMs"] = min(record.timestamp_ms for record in records)
    log_offsets = [record.log_offset for record in records if record.log_offset is not None]
    if log_offsets:
        lag["logOffset"] = min(log_offsets) - 1
    return lag
