"""Topics of a relay: made where they are missing, and checked where they exist.

Next: ``relay/kafka/target.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from tocsin.errors import Unavailable
from tocsin.relay.kafka.client import METADATA_TIMEOUT_S, TIMEOUT_S, Connection

RECORD_OVERHEAD_BYTES = 32_768
"""Room beside a record's value for its key, headers, and the batch it travels in."""

_BROKERS_CHOICE = -1
_POSITION_CONFIG = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    "segment.ms": str(3_600_000),
    "min.cleanable.dirty.ratio": "0.1",
}


class WrongTopic(Unavailable):
    """A topic has settings with which events would be lost; the relay waits until a person changes them."""

    code = "WRONG_TOPIC"


class Topics:
    """Topics of one relay on one broker; ``limit_bytes`` is the most bytes of a record's value."""

    def __init__(self, connection: Connection, *, limit_bytes: int, partitions: int | None) -> None:
        with connection.guard("settings"):
            self._admin = AdminClient(connection.config())
        self._connection = connection
        self._needed_bytes = limit_bytes + RECORD_OVERHEAD_BYTES
        self._partitions = partitions or _BROKERS_CHOICE
        self._checked: set[str] = set()

    def make_position_topic(self, name: str) -> None:
        """Make the topic of a relay's position, compacted and of one partition, unless it exists.

        Raises
        ------
        WrongTopic : one of this name exists, and is another kind of topic
        """
        self._create({name: NewTopic(name, 1, config=_POSITION_CONFIG)})
        policy, partitions = self._config_of([name])[name]["cleanup.policy"], self._partitions_of(name)
        if policy != "compact" or partitions != 1:
            raise WrongTopic(
                f"Topic {name} has {partitions} partitions and cleanup.policy={policy}; the position of a relay needs "
                "one partition and `compact`. Delete the topic, or set another TOCSIN_RELAY_NAME."
            )

    def make(self, names: Collection[str]) -> None:
        """Make topics of events unless they exist.

        Raises
        ------
        WrongTopic : one exists that would lose events, or take no event of the largest size
        """
        if unchecked_names := [name for name in names if name not in self._checked]:
            config = {"cleanup.policy": "delete", "max.message.bytes": str(self._needed_bytes)}
            self._create({name: NewTopic(name, self._partitions, config=config) for name in unchecked_names})
            for name, present in self._config_of(unchecked_names).items():
                _check(name, present, self._needed_bytes)
            self._checked |= set(unchecked_names)

    def _partitions_of(self, name: str) -> int:
        """Return how many partitions a topic has."""
        with self._connection.guard(f"topic {name} cannot be read"):
            return len(self._admin.list_topics(name, timeout=TIMEOUT_S).topics[name].partitions)

    def _create(self, topics: Mapping[str, NewTopic]) -> None:
        with self._connection.guard("topics cannot be listed"):
            try:
                present = self._admin.list_topics(timeout=METADATA_TIMEOUT_S).topics
            finally:
                self._admin.poll(0)  # reports why
        missing_topics = [topic for name, topic in topics.items() if name not in present]
        with self._connection.guard(f"topics cannot be made: {', '.join(topic.topic for topic in missing_topics)}"):
            creations = self._admin.create_topics(missing_topics, request_timeout=TIMEOUT_S) if missing_topics else {}
            for future in creations.values():
                future.result()

    def _config_of(self, names: Collection[str]) -> dict[str, dict[str, str]]:
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        with self._connection.guard("settings of topics cannot be read"):
            described = self._admin.describe_configs(resources, request_timeout=TIMEOUT_S)
            return {
                resource.name: {key: entry.value for key, entry in future.result().items()}
                for resource, future in described.items()
            }


def _check(name: str, config: Mapping[str, str], needed_bytes: int) -> None:
    if "compact" in config["cleanup.policy"]:
        raise WrongTopic(
            f"Topic {name} has cleanup.policy={config['cleanup.policy']}, which removes events before anybody has read "
            "them. Set it to `delete`."
        )
    if int(config["max.message.bytes"]) < needed_bytes:
        raise WrongTopic(
            f"Topic {name} takes messages of {config['max.message.bytes']} bytes; the relay writes up to "
            f"{needed_bytes}. Raise its max.message.bytes, or lower TOCSIN_RELAY_MAX_EVENT_BYTES to "
            f"{int(config['max.message.bytes']) - RECORD_OVERHEAD_BYTES}."
        )
