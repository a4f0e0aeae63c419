"""Webhook: one signed HTTP request per event to an address of the alert's.

Next: ``delivery/channels/webhook/sender.py``.
"""

from __future__ import annotations

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.delivery.channels.endpoints import check_endpoint, check_header, endpoint_of
from tocsin.delivery.channels.webhook.authentication import CHALLENGE, check_authentication
from tocsin.delivery.channels.webhook.filling import check_templates
from tocsin.delivery.channels.webhook.render import GZIP
from tocsin.delivery.wording.event_formats import check_format
from tocsin.errors import InvalidInput
from tocsin.model.subscription import BATCH_BY_ALL, BATCH_BY_ENTITY_TYPE, Category, Channel, Destination


def _check(destination: Destination, place: str) -> None:
    config = destination.config
    check_endpoint(config.endpoint, f"{place}.endpoint")
    if config.http_method not in ("POST", "PUT"):
        raise InvalidInput("must be POST or PUT", field=f"{place}.httpMethod")
    check_format(config, place)
    check_templates(config.to_wire(), place)
    if config.compression not in (None, "none", GZIP):
        raise InvalidInput("must be gzip or none, or omitted", field=f"{place}.compression")
    if config.verification not in (None, "none", CHALLENGE):
        raise InvalidInput("must be challenge or none, or omitted", field=f"{place}.verification")
    if config.batch_by not in (None, "none", BATCH_BY_ALL, BATCH_BY_ENTITY_TYPE):
        raise InvalidInput("must be all, entityType or none, or omitted", field=f"{place}.batchBy")
    for name, value in config.headers.items():
        check_header(name, value, place)
    check_authentication(config, place)


WEBHOOK = ChannelType(
    channel=Channel.WEBHOOK,
    phrase="by webhook",
    categories=frozenset(Category),
    check=_check,
    targets=endpoint_of,
    config_keys=frozenset(
        "endpoint headers query_params http_method secret_key auth_type payload_format body_template compression "
        "verification batch_by".split()
    ),
    secret_maps=(
        ("headers", frozenset({"accept", "accept-language", "content-type", "user-agent"})),
        ("queryParams", frozenset()),
        ("authType", frozenset({"type", "scope"})),
    ),
    secret_texts=("secretKey", "bodyTemplate"),
)
