"""Own addresses of people and teams: an incoming webhook of each chat, and a webhook, in ``profile.subscription``.

They are secrets of their holder, sealed as those of connections are (``flow/capture/secrets.py``).
Source: OpenMetadata's ``type/profile.json``. Next: ``delivery/channels/table.py``.
"""

from __future__ import annotations

from pydantic import ValidationError

from tocsin.delivery.channels.table import CHANNELS
from tocsin.delivery.channels.webhook.authentication import check_credentials
from tocsin.model.address import MASK
from tocsin.model.entity import Document
from tocsin.model.own_address import OWN_KEYS
from tocsin.model.secret import PROFILE, SUBSCRIPTION
from tocsin.model.subscription import Category, Channel, Destination


def check_own_addresses(document: Document, old: Document) -> None:
    """Check the addresses that a request changes as the endpoints of destinations are checked.

    Raises
    ------
    InvalidInput : one is no address, that of a metadata service, or has a wrong header or authentication
    """
    now, before = (_addresses(one) for one in (document, old))
    for channel, key in OWN_KEYS.items():
        config = now.get(key)
        if isinstance(config, dict) and config and config != before.get(key):
            _check(config, channel, f"{PROFILE}.{SUBSCRIPTION}.{key}")


def _addresses(document: Document) -> Document:
    profile = document.get(PROFILE)
    addresses = profile.get(SUBSCRIPTION) if isinstance(profile, dict) else None
    return addresses if isinstance(addresses, dict) else {}


def _check(config: Document, channel: Channel, place: str) -> None:
    stated = {"id": "", "category": Category.EXTERNAL, "type": channel, "config": config}
    try:
        destination = Destination.model_validate(stated)
    except ValidationError:
        return  # the schema of the type refuses it
    CHANNELS[channel].check(destination, place)
    auth = destination.config.auth_type
    if auth is not None and MASK not in str(auth):
        check_credentials(auth, f"{place}.authType")
