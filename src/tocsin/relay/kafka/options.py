"""Options of the relay to Kafka, from its settings. Next: ``relay/kafka/target.py``."""

from __future__ import annotations

from tocsin.errors import InvalidSetting
from tocsin.flow.eventlog.topic_names import topic_names
from tocsin.relay.kafka.target import KafkaOptions
from tocsin.settings import RelaySettings


def kafka_options_of(settings: RelaySettings) -> KafkaOptions:
    """Return where and as whom the relay writes.

    Raises
    ------
    InvalidSetting : settings are missing, or exclude each other
    """
    options = KafkaOptions(
        name=settings.relay_name,
        topics=topic_names(settings.kafka_topic, per_entity_type=settings.kafka_topic_per_entity_type),
        connection=connection_of(settings),
        limit_bytes=settings.relay_max_event_bytes,
        partitions=settings.kafka_partitions,
        compression=settings.kafka_compression,
    )
    if options.position_topic in options.topics:
        raise InvalidSetting(f"Topic {options.position_topic} is that of the relay's position.", field="kafka_topic")
    return options


def connection_of(settings: RelaySettings) -> dict[str, str]:
    """Return the settings of librdkafka's clients: brokers, TLS, SASL.

    Raises
    ------
    InvalidSetting : user name or password are missing
    """
    options: dict[str, object] = {
        "bootstrap.servers": settings.kafka_servers,
        "security.protocol": settings.kafka_security,
        "ssl.ca.location": settings.kafka_ca_file,
        "ssl.certificate.location": settings.kafka_certificate_file,
        "ssl.key.location": settings.kafka_key_file,
    }
    if settings.kafka_security.startswith("sasl"):
        if settings.kafka_user is None or settings.kafka_password is None:
            raise InvalidSetting(
                f"kafka_security {settings.kafka_security} needs TOCSIN_KAFKA_USER and a password: run"
                " `tocsin admin secret kafka_password`, or set TOCSIN_KAFKA_PASSWORD.",
                field="kafka_user",
            )
        options["sasl.mechanisms"] = settings.kafka_sasl_mechanism
        options["sasl.username"] = settings.kafka_user
        options["sasl.password"] = settings.kafka_password.get_secret_value()
    return {name: str(value) for name, value in options.items() if value is not None}
