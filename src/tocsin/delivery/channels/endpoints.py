"""Checks of a destination's endpoint and headers, for channels that post to an address on the web.

Whether an address may be connected to is decided when something is sent (``delivery/transport/egress.py``); metadata
services of clouds are refused here as well.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tocsin.delivery.transport.metadata_services import is_metadata_host
from tocsin.errors import InvalidInput
from tocsin.model.address import masked_origin
from tocsin.model.subscription import Destination

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_LONGEST_URL = 2048

OWN_HEADERS = frozenset(
    [
        "host",
        "idempotency-key",
        "content-encoding",
        "content-length",
        "link",
        "transfer-encoding",
        "connection",
        "upgrade",
        "te",
        "trailer",
        "expect",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "x-openmetadata-signature",
        "x-om-signature",
        "x-tocsin-breaking",
        "x-tocsin-recursive",
        "x-tocsin-offset",
        "x-tocsin-reason",
        "x-tocsin-runbook",
        "x-tocsin-severity",
        "x-tocsin-why",
    ]
)
"""Headers that requests set themselves, in lower case; no destination can."""


def check_endpoint(endpoint: str | None, place: str) -> None:
    """Check an endpoint: an http or https address, and no metadata service.

    Raises
    ------
    InvalidInput : it is missing, no such address, too long, or that of a metadata service
    """
    if not endpoint:
        raise InvalidInput("a destination of this type needs an endpoint URL", field=place)
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    origin = masked_origin(endpoint)
    if not usable or len(endpoint) > _LONGEST_URL or origin is None:
        raise InvalidInput("must be an http or https URL, such as https://example.org/hook", field=place)
    if is_metadata_host(origin.host):
        raise InvalidInput("is the metadata service of a cloud, to which nothing is sent; name a receiver", field=place)


def check_header(name: str, value: object, place: str) -> None:
    """Check a header: a token and printable ASCII on one line, and none that requests set themselves.

    Raises
    ------
    InvalidInput : it is no such header
    """
    if not _HEADER_NAME.fullmatch(name) or not (isinstance(value, str) and value.isprintable()):
        raise InvalidInput("is not a valid header: use printable ASCII on one line", field=f"{place}.headers.{name}")
    if name.lower() in OWN_HEADERS:
        raise InvalidInput("is set by Tocsin and would have no effect; remove it", field=f"{place}.headers.{name}")


def endpoint_of(destination: Destination) -> tuple[str, ...]:
    """Return the address that a destination posts to; none where recipients have their own."""
    return () if destination.uses_own_addresses else (destination.config.endpoint or "",)
