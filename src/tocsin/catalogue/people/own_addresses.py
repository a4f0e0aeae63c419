"""Own addresses of people and teams: an incoming webhook of each chat, and a webhook, in ``profile.subscription``.

They are secrets of their holder, sealed as those of connections are (``flow/capture/secrets.py``). Only the person, of
a team its owners and administrators, may change what stands there. Source: OpenMetadata's ``type/profile.json``.
Next: ``delivery/channels/table.py``.
"""

from __future__ import annotations

from pydantic import ValidationError

from tocsin.delivery.channels.table import CHANNELS
from tocsin.delivery.channels.webhook.authentication import check_credentials
from tocsin.errors import Forbidden
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.write import Record
from tocsin.model.address import MASK
from tocsin.model.entity import Document
from tocsin.model.own_address import OWN_KEYS, SETTERS, VERIFIED, stored_addresses, with_addresses
from tocsin.model.people import Actor
from tocsin.model.secret import PROFILE, SUBSCRIPTION
from tocsin.model.subscription import Category, Channel, Destination

_HOLDERS = ("user", "team")


def with_kept_addresses(
    record: Record, entity_type: str, document: Document, old: Document, *, strict: bool
) -> Document:
    """Return a person or team without changes of addresses that the actor may not make.

    Who may not set an address may enter one where there is none, and change it while it is not verified: it is a
    proposal, used once the holder has verified it. Bots, and rollbacks (not ``strict``), leave the others as they are.

    Raises
    ------
    Forbidden : a person changes or removes an address that only others may
    """
    if entity_type not in _HOLDERS or not old:
        return document
    now, before = (stored_addresses(one) for one in (document, old))
    if now == before or may_set_address(record.transaction, record.actor, entity_type, old):
        return document
    kept_keys = _kept_keys(record, old["id"], [key for key in before if now.get(key) != before[key]])
    if not kept_keys:
        return document
    if strict and not record.actor.is_bot:
        holders = "the person" if entity_type == "user" else "owners of the team and administrators"
        field = f"{PROFILE}.{SUBSCRIPTION}.{kept_keys[0]}"
        raise Forbidden(f"{field} is an address that only {holders} may change or remove.")
    kept_addresses = {key: before[key] for key in kept_keys}
    return document | {PROFILE: with_addresses(document.get(PROFILE), {}, overrides=kept_addresses)}


def may_set_address(transaction: Transaction, actor: Actor, entity_type: str, document: Document) -> bool:
    """Return whether an actor may set the addresses of this person or team, and verify them."""
    if actor.is_bot:
        return False
    if entity_type == "user":
        return bool(actor.id == document["id"])
    owner_ids = {one["id"] for one in document.get("owners") or ()}
    if actor.is_admin or actor.id in owner_ids:
        return True
    return bool(owner_ids) and not owner_ids.isdisjoint(transaction.threads.teams_of(actor.id))


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


def _kept_keys(record: Record, holder_id: str, changed_keys: list[str]) -> list[str]:
    """Return those of these addresses that are verified, or that others than the actor have set."""
    attachments = record.transaction.attachments
    setters, verifications = (attachments.get(holder_id, kind) or {} for kind in (SETTERS, VERIFIED))
    return [key for key in changed_keys if key in verifications or setters.get(key) != record.actor.id]


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
