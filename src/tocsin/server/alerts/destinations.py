"""Validation of destinations when an alert is saved: category, channel and address.

Whether an address may be connected to is decided when something is sent (``flow/send/egress.py``).
Next: ``server/alerts/request.py``.
"""

from __future__ import annotations

import re
from typing import Protocol
from urllib.parse import urlsplit

from tocsin.errors import InvalidInput
from tocsin.flow.resolve.recipient_rules import has_no_receiver
from tocsin.flow.send.webhook_payload import PAYLOAD_FORMATS
from tocsin.model.address import masked_origin
from tocsin.model.entity import Document
from tocsin.model.people import Person
from tocsin.model.subscription import Category, Channel, Destination, DestinationConfig

CATEGORIES_OF: dict[Channel, frozenset[Category]] = {
    Channel.WEBHOOK: frozenset({Category.EXTERNAL}),
    Channel.EMAIL: frozenset(Category),
    Channel.ACTIVITY_FEED: frozenset(Category) - {Category.EXTERNAL},
}
"""The categories that each channel supports; a channel without a row is not implemented yet."""

_ADDRESS = re.compile(r"[^@\s<>\"',;:\\()\[\]]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_LONGEST_URL = 2048


class Names(Protocol):
    """Who exists (``store/people/identities.py``)."""

    def by_name(self, name: str, /) -> Person | None:
        """Return the person of that name, deleted ones included."""
        ...

    def team_exists(self, name: str, /) -> bool:
        """Say whether there is a team of that name."""
        ...


def check_destination(destination: Destination, names: Names, place: str, *, is_personal: bool = False) -> None:
    """Report what is wrong with a destination, if anything is.

    Users may be omitted if the alert's condition is on the recipient.

    Raises
    ------
    InvalidInput : with the place and the way out
    """
    _check_pair(destination, place)
    config, inside = destination.config, f"{place}.config"
    match destination.type:
        case Channel.WEBHOOK:
            _check_endpoint(config.endpoint, f"{inside}.endpoint")
            _check_request(config, inside)
        case Channel.EMAIL if destination.category is Category.EXTERNAL:
            _check_external_mail(config, inside)
    if has_no_receiver(destination) and not (is_personal and destination.category is Category.USERS):
        raise InvalidInput(
            f"category {destination.category} needs at least one receiver: a name or address",
            field=f"{inside}.receivers",
        )
    for index, receiver in enumerate(config.receivers):
        _check_receiver(receiver, names, f"{inside}.receivers[{index}]")


def check_secrets(secrets: Document, place: str) -> None:
    """Report what is wrong with the secrets of a destination, which ``check_destination`` sees masked."""
    endpoint = secrets.get("endpoint")
    if endpoint is not None:
        _check_endpoint(endpoint, f"{place}.endpoint")
    headers = secrets.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        _check_header(name, value, place)


def _check_pair(destination: Destination, place: str) -> None:
    allowed = CATEGORIES_OF.get(destination.type)
    if allowed is None:
        able = ", ".join(CATEGORIES_OF)
        raise InvalidInput(f"{destination.type} is not supported yet; valid types: {able}", field=f"{place}.type")
    if destination.category not in allowed:
        named = ", ".join(sorted(allowed))
        raise InvalidInput(
            f"{destination.type} cannot be used for {destination.category}; valid categories: {named}",
            field=f"{place}.category",
        )


def _check_endpoint(endpoint: str | None, place: str) -> None:
    if not endpoint:
        raise InvalidInput("a webhook needs an endpoint URL", field=place)
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or len(endpoint) > _LONGEST_URL or masked_origin(endpoint) is None:
        raise InvalidInput("must be an http or https URL, such as https://example.org/hook", field=place)


def _check_request(config: DestinationConfig, place: str) -> None:
    if config.http_method not in ("POST", "PUT"):
        raise InvalidInput("must be POST or PUT", field=f"{place}.httpMethod")
    if config.payload_format is not None and config.payload_format not in PAYLOAD_FORMATS:
        raise InvalidInput(
            f"must be one of {', '.join(sorted(PAYLOAD_FORMATS))}, or omitted", field=f"{place}.payloadFormat"
        )
    for name, value in config.headers.items():
        _check_header(name, value, place)
    _check_auth(config, place)


def _check_header(name: str, value: object, place: str) -> None:
    if not _HEADER_NAME.fullmatch(name) or not (isinstance(value, str) and value.isprintable()):
        raise InvalidInput("is not a valid header: use printable ASCII on one line", field=f"{place}.headers.{name}")


def _check_auth(config: DestinationConfig, place: str) -> None:
    if config.auth_type is None:
        return
    kind = config.auth_type.get("type")
    if kind == "none" or (kind == "bearer" and isinstance(config.auth_type.get("secretKey"), str)):
        return
    if kind == "bearer":
        raise InvalidInput("bearer needs a secretKey", field=f"{place}.authType")
    raise InvalidInput("must be none or bearer; oauth2 is not supported yet", field=f"{place}.authType.type")


def _check_external_mail(config: DestinationConfig, place: str) -> None:
    if not any("@" in receiver for receiver in config.receivers):
        raise InvalidInput("external e-mail needs at least one address", field=f"{place}.receivers")


def _check_receiver(receiver: str, names: Names, place: str) -> None:
    if "@" in receiver:
        if not _ADDRESS.fullmatch(receiver):
            raise InvalidInput(f"{receiver!r} is not an e-mail address", field=place)
        return
    person = names.by_name(receiver)
    if (person is None or person.deleted) and not names.team_exists(receiver):
        raise InvalidInput(f"unknown user or team {receiver!r}", field=place)
