"""Broker of a relay: the one that the settings name, and how to connect to it.

Next: ``relay/kafka/options.py``, ``relay/pulsar/options.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tocsin.errors import InvalidSetting
from tocsin.model.entity import Document
from tocsin.relay.target import Target
from tocsin.settings import RelaySettings


@dataclass(frozen=True)
class Broker:
    """A broker: the topic there, or with ``per_entity_type`` the first part of its topics; how to open a connection.

    ``group_lags`` measures the lags of the topics' consumer groups or subscriptions; None where nobody can.
    """

    topic: str
    per_entity_type: bool
    connect: Callable[[], Target]
    group_lags: Callable[[], list[Document]] | None = None


def check_broker(settings: RelaySettings) -> None:
    """Check that one broker is named.

    Raises
    ------
    InvalidSetting : none is, or two are
    """
    if not settings.kafka_servers and not settings.pulsar_url:
        raise InvalidSetting(
            "No broker is set. Set TOCSIN_KAFKA_SERVERS to the addresses of Kafka's brokers, such as localhost:9092, "
            "or TOCSIN_PULSAR_URL to that of Pulsar, such as pulsar://localhost:6650.",
            field="kafka_servers",
        )
    if settings.kafka_servers and settings.pulsar_url:
        raise InvalidSetting(
            "TOCSIN_KAFKA_SERVERS and TOCSIN_PULSAR_URL are both set, and a relay writes to one broker. Run one relay "
            "for each, with one of the two and a TOCSIN_RELAY_NAME of its own.",
            field="pulsar_url",
        )


def broker_of(settings: RelaySettings) -> Broker:
    """Return the broker that the settings name; only its library is loaded, since each is an extra.

    Raises
    ------
    InvalidSetting : settings of the broker are missing, or exclude each other
    """
    check_broker(settings)
    return _pulsar(settings) if settings.pulsar_url else _kafka(settings)


def _kafka(settings: RelaySettings) -> Broker:
    from tocsin.relay.kafka.groups import GroupLags
    from tocsin.relay.kafka.options import kafka_options_of
    from tocsin.relay.kafka.target import KafkaTarget

    options = kafka_options_of(settings)
    connect, lags = partial(KafkaTarget, options), GroupLags(options)
    return Broker(settings.kafka_topic, settings.kafka_topic_per_entity_type, connect, lags.measure)


def _pulsar(settings: RelaySettings) -> Broker:
    from tocsin.relay.pulsar.options import pulsar_options_of
    from tocsin.relay.pulsar.subscriptions import SubscriptionLags
    from tocsin.relay.pulsar.target import PulsarTarget

    options = pulsar_options_of(settings)
    measure = SubscriptionLags(options).measure if options.admin_url else None
    return Broker(settings.pulsar_topic, settings.pulsar_topic_per_entity_type, lambda: PulsarTarget(options), measure)
