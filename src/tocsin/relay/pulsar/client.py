"""Connection to Pulsar: its client, producers that fence others, and its errors as ours.

Next: ``relay/pulsar/position_topic.py``, ``relay/pulsar/target.py``.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pulsar

from tocsin.errors import InvalidSetting, Unavailable
from tocsin.relay.target import BrokerUnavailable, Fenced

TIMEOUT_S = 15.0
"""Seconds for one message to be stored."""

CONNECT_TIMEOUT_S = 8
"""Seconds for one request that is no message; a relay that is told to stop waits so long at most."""

PENDING = 2_000
"""Most messages of one topic on their way to the broker."""

_COMPRESSIONS = {"none": pulsar.CompressionType.NONE, "zlib": pulsar.CompressionType.ZLib}
_REASONS = {
    "AuthenticationError": "it refuses the token or certificate",
    "AuthorizationError": "the relay lacks the right to consume and produce there",
    "ConnectError": "it cannot be reached, or its certificate is not trusted",
    "Timeout": "it does not answer, or refuses the token and closes the connection",
    "TopicNotFound": "the namespace or the topic does not exist, and the broker makes none",
    "ProducerBusy": "another producer writes to the topic; a topic belongs to one relay",
    "TopicTerminated": "the topic is terminated",
    "ProducerBlockedQuotaExceededError": "its subscriptions are too far behind (backlog quota)",
    "ProducerBlockedQuotaExceededException": "its subscriptions are too far behind (backlog quota)",
}


class EventTooLarge(Unavailable):
    """The broker does not take an event of this size; the relay waits until a setting is changed."""

    code = "EVENT_TOO_LARGE"


@dataclass(frozen=True)
class PulsarOptions:
    """Where and as whom a relay writes.

    Attributes
    ----------
    name : name of the relay: that of its producers, and the first part of its position topic
    url : `pulsar://host:port`, or `pulsar+ssl://host:port`
    namespace : `tenant/namespace` of all its topics
    topics : names of all topics that it may write to
    token : of the relay, if the broker asks for one
    certificate_file, key_file : of the relay, if the broker asks for a certificate
    admin_url : address of the broker's administration, if subscriptions are to be measured
    """

    name: str
    url: str
    namespace: str
    topics: Collection[str]
    compression: str = "none"
    token: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    admin_url: str | None = None

    @property
    def position_topic(self) -> str:
        """Return the topic of its position alone."""
        return f"{self.name}-position"

    def address_of(self, topic: str) -> str:
        """Return the full name of a topic."""
        return f"persistent://{self.namespace}/{topic}"


class PulsarConnection:
    """One client, and what all its producers have in common."""

    def __init__(self, options: PulsarOptions) -> None:
        self.options = options
        with self.guard("settings"):
            self.client = pulsar.Client(
                options.url,
                authentication=_authentication_of(options),
                operation_timeout_seconds=CONNECT_TIMEOUT_S,
                connection_timeout_ms=1000 * CONNECT_TIMEOUT_S,
                tls_trust_certs_file_path=None if options.ca_file is None else str(options.ca_file),
                tls_validate_hostname=True,
                logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull),  # its errors are raised as ours
            )

    def producer(self, topic: str, name: str) -> pulsar.Producer:
        """Return the only producer of a topic: all others are closed, and cannot write any more.

        It sends each message by itself: the broker drops repeated messages by their sequence ids, and does so
        reliably for single ones alone.
        """
        with self.guard(f"topic {topic} cannot be written"):
            return self.client.create_producer(
                self.options.address_of(topic),
                producer_name=name,
                access_mode=pulsar.ProducerAccessMode.ExclusiveWithFencing,
                batching_enabled=False,
                compression_type=_COMPRESSIONS[self.options.compression],
                send_timeout_millis=int(1000 * TIMEOUT_S),
                max_pending_messages=PENDING,
                block_if_queue_full=True,
            )

    def last_messages(self, topic: str) -> Iterator[pulsar.Message]:
        """Yield the last message of each partition of a topic that holds any."""
        for partition in self.client.get_topic_partitions(self.options.address_of(topic)):
            reader = self.client.create_reader(partition, pulsar.MessageId.latest, start_message_id_inclusive=True)
            with closing(reader):
                if reader.has_message_available():
                    yield reader.read_next(int(1000 * TIMEOUT_S))

    @contextmanager
    def guard(self, problem: str) -> Iterator[None]:
        """Turn errors of the client into ours; ``problem`` says what failed.

        Raises
        ------
        Fenced : another relay writes to the broker now
        EventTooLarge : the broker does not take an event of this size
        InvalidSetting : the client refuses its settings
        BrokerUnavailable : any other error
        """
        try:
            yield
        except pulsar.PulsarException as error:
            raise self.error_of(type(error).__name__, problem) from error

    def error_of(self, name: str, problem: str) -> Exception:
        """Return our error for one of the client's, by its name."""
        match name:
            case "ProducerFenced":
                return Fenced("another relay took over")
            case "MessageTooBig":
                return EventTooLarge(
                    f"{problem}: Pulsar does not take messages of this size. Lower TOCSIN_RELAY_MAX_EVENT_BYTES, or "
                    "raise the broker's maxMessageSize."
                )
            case "InvalidUrl" | "InvalidConfiguration" | "InvalidTopicName":
                return InvalidSetting(f"Pulsar's client refuses its settings: {name}", field="pulsar_url")
        return BrokerUnavailable(f"{problem} at {self.options.url}: {_REASONS.get(name, name)}")

    def close(self) -> None:
        """Close everything, without waiting for the broker."""
        self.client.shutdown()


def _authentication_of(options: PulsarOptions) -> pulsar.Authentication | None:
    if options.token is not None:
        return pulsar.AuthenticationToken(options.token)
    if options.certificate_file is not None:
        return pulsar.AuthenticationTLS(str(options.certificate_file), str(options.key_file))
    return None
