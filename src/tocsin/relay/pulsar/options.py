"""Options of the relay to Pulsar, from its settings. Next: ``relay/pulsar/target.py``."""

from __future__ import annotations

from tocsin.errors import InvalidSetting
from tocsin.flow.eventlog.topic_names import topic_names
from tocsin.relay.pulsar.client import PulsarOptions
from tocsin.settings import RelaySettings


def pulsar_options_of(settings: RelaySettings) -> PulsarOptions:
    """Return where and as whom the relay writes.

    Raises
    ------
    InvalidSetting : settings are missing, or exclude each other
    """
    if (settings.pulsar_certificate_file is None) != (settings.pulsar_key_file is None):
        raise InvalidSetting("A certificate and its key are set together.", field="pulsar_key_file")
    for file in (settings.pulsar_ca_file, settings.pulsar_certificate_file, settings.pulsar_key_file):
        if file is not None and not file.is_file():
            raise InvalidSetting(f"There is no file {file}.", field="pulsar_ca_file")
    options = PulsarOptions(
        name=settings.relay_name,
        url=settings.pulsar_url or "",
        namespace=settings.pulsar_namespace,
        topics=topic_names(settings.pulsar_topic, per_entity_type=settings.pulsar_topic_per_entity_type),
        compression=settings.pulsar_compression,
        token=None if settings.pulsar_token is None else settings.pulsar_token.get_secret_value(),
        ca_file=settings.pulsar_ca_file,
        certificate_file=settings.pulsar_certificate_file,
        key_file=settings.pulsar_key_file,
        admin_url=settings.pulsar_admin_url,
    )
    if options.position_topic in options.topics:
        raise InvalidSetting(f"Topic {options.position_topic} is that of the relay's position.", field="pulsar_topic")
    return options
