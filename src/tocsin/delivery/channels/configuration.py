"""Checks of a destination's configuration when an alert is saved: what every channel demands, and its own demands.

Whether an address may be connected to is decided when something is sent (``delivery/transport/egress.py``).
Next: ``delivery/channels/table.py``.
"""

from __future__ import annotations

from pydantic.alias_generators import to_camel

from tocsin.delivery.channels.endpoints import check_endpoint, check_header
from tocsin.delivery.channels.slack.channel import check_bot_token, check_signing_secret
from tocsin.delivery.channels.table import CHANNELS
from tocsin.delivery.channels.webhook.authentication import check_credentials
from tocsin.delivery.channels.webhook.filling import check_templates
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.subscription import (
    CONNECT_S,
    READ_S,
    TO_PEOPLE,
    Category,
    Channel,
    Destination,
    DestinationConfig,
)

_NAMING_PEOPLE = frozenset({"receivers", "send_to_admins", "send_to_owners", "send_to_followers"})
_EMPTY = DestinationConfig()
WITHOUT_REQUESTS = frozenset({Channel.EMAIL, Channel.ACTIVITY_FEED, Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT})
"""Channels that make no requests: timeouts have no effect, whatever they say."""
_TIMEOUTS = {"timeout": CONNECT_S, "read_timeout": READ_S}


def check_configuration(destination: Destination, place: str, *, is_personal: bool = False) -> None:
    """Refuse a destination whose channel does not suit its category, or whose configuration cannot work.

    Users may be omitted if the alert's condition is on the recipient: ``is_personal``.

    Raises
    ------
    InvalidInput : with the place and the way out
    """
    _check_pair(destination, place)
    inside = f"{place}.config"
    if destination.uses_own_addresses:
        _check_own(destination, inside)
    else:
        CHANNELS[destination.type].check(destination, inside)
    _check_unused(destination, inside)
    _check_timeouts(destination, place)
    if destination.has_no_receiver and not (is_personal and destination.category is Category.USERS):
        raise InvalidInput(
            f"category {destination.category} needs at least one receiver: a name or address",
            field=f"{inside}.receivers",
        )


def check_secrets(secrets: Document, place: str) -> None:
    """Report what is wrong with the secrets of a destination, which ``check_configuration`` sees masked."""
    endpoint = secrets.get("endpoint")
    if endpoint is not None:
        check_endpoint(endpoint, f"{place}.endpoint")
    if "botToken" in secrets:
        check_bot_token(secrets["botToken"], f"{place}.botToken")
    if "signingSecret" in secrets:
        check_signing_secret(secrets["signingSecret"], f"{place}.signingSecret")
    headers = secrets.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        check_header(name, value, place)
    check_templates(secrets, place)
    auth = secrets.get("authType")
    if isinstance(auth, dict):
        check_credentials(auth, f"{place}.authType")


def _check_pair(destination: Destination, place: str) -> None:
    channel = CHANNELS.get(destination.type)
    if channel is None:
        valid_types = ", ".join(CHANNELS)
        raise InvalidInput(
            f"{destination.type} is not supported yet; valid types: {valid_types}", field=f"{place}.type"
        )
    if destination.category not in channel.categories:
        valid_categories = ", ".join(sorted(channel.categories))
        raise InvalidInput(
            f"{destination.type} cannot be used for {destination.category}; valid categories: {valid_categories}",
            field=f"{place}.category",
        )


def _check_own(destination: Destination, place: str) -> None:
    """Refuse what says how to reach recipients who have an address of their own."""
    for key in DestinationConfig.model_fields:
        if key not in _NAMING_PEOPLE and getattr(destination.config, key) != getattr(_EMPTY, key):
            raise InvalidInput(
                f"is for category External: {destination.category} are reached at the address in their profile"
                " (profile.subscription); omit it",
                field=f"{place}.{to_camel(key)}",
            )


def _check_unused(destination: Destination, place: str) -> None:
    """Refuse parts of a configuration that this type of destination does not read."""
    config = destination.config
    for key in DestinationConfig.model_fields:
        if getattr(config, key) == getattr(_EMPTY, key) or key in CHANNELS[destination.type].config_keys:
            continue
        if key in _NAMING_PEOPLE:
            if not _reaches_people(destination):
                who = (
                    "its consumers" if destination.type is Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT else "its endpoint"
                )
                raise InvalidInput(
                    f"a {destination.type} destination like this notifies {who}, not people; omit it, or add a"
                    " destination for them",
                    field=f"{place}.{to_camel(key)}",
                )
            continue
        valid_types = ", ".join(name for name, one in CHANNELS.items() if key in one.config_keys)
        raise InvalidInput(f"is for destinations of type {valid_types}", field=f"{place}.{to_camel(key)}")


def _reaches_people(destination: Destination) -> bool:
    is_by_bot = destination.type is Channel.SLACK and bool(destination.config.bot_token)
    return destination.type in TO_PEOPLE or is_by_bot or destination.uses_own_addresses


def _check_timeouts(destination: Destination, place: str) -> None:
    for key, (shortest, longest) in () if destination.type in WITHOUT_REQUESTS else _TIMEOUTS.items():
        if not shortest <= getattr(destination, key) <= longest:
            raise InvalidInput(f"must be between {shortest} and {longest} seconds", field=f"{place}.{to_camel(key)}")
