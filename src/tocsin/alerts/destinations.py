"""Destinations of an alert request: their ids, their secrets, and whether category, channel and receivers can work.

Whether an address may be connected to is decided when something is sent (``delivery/transport/egress.py``).
Next: ``alerts/request.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tocsin.conditions.paths import unquote
from tocsin.delivery.channels.configuration import check_configuration, check_secrets
from tocsin.delivery.channels.masking import holds_mask, split_secrets
from tocsin.errors import InvalidInput
from tocsin.model.address import masked_url
from tocsin.model.entity import Document
from tocsin.model.subscription import Category, Channel, Destination, without_defaults

_ADDRESS = re.compile(r"[^@\s<>\"',;:\\()\[\]]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

SecretsByDestination = Mapping[str, Document]


@dataclass(frozen=True)
class Receivers:
    """Which of the names in a request are those of users, and of teams; deleted ones are neither."""

    users: frozenset[str] = frozenset()
    teams: frozenset[str] = frozenset()


def complete_destinations(
    destinations: Sequence[object], stored: Sequence[Document], new_id: Callable[[], str]
) -> list[Document]:
    """Return destinations with an id each: their own, that of the stored one that they repeat, or a new one.

    Raises
    ------
    InvalidInput : one is no object, has an id that is no UUID, or the id of another one
    """
    free, with_ids = list(stored), list[Document]()
    for index, destination in enumerate(destinations):
        if not isinstance(destination, dict):
            raise InvalidInput("must be an object", field=f"destinations[{index}]")
        plain = {key: value for key, value in destination.items() if key != "statusDetails" and value is not None}
        config = plain.get("config")
        if isinstance(config, dict) and isinstance(receivers := config.get("receivers"), list):
            is_quoted = [isinstance(one, str) and one.startswith('"') for one in receivers]
            names = [unquote(one) if quoted else one for one, quoted in zip(receivers, is_quoted, strict=True)]
            plain["config"] = {**config, "receivers": names}
        same = next((one for one in free if _is_same(plain, one)), None)
        if same is not None:
            free.remove(same)
        plain = without_defaults(plain, same)
        with_ids.append({**plain, "id": plain.get("id") or (same["id"] if same else new_id())})
    ids = [one["id"] for one in with_ids]
    for index, destination_id in enumerate(ids):
        if not isinstance(destination_id, str) or not _ID.fullmatch(destination_id):
            raise InvalidInput("must be a UUID; omit it to have one assigned", field=f"destinations[{index}].id")
    if len(set(ids)) < len(ids):
        raise InvalidInput("two destinations have the same id", field="destinations")
    return with_ids


def split_off_secrets(
    destinations: Iterable[Document], stored_secrets: Callable[[], SecretsByDestination] | None
) -> dict[str, Document]:
    """Put masks into the configurations of destinations and return the secrets that they replace, by destination id.

    Only a mask reads the stored secrets; there are none if ``stored_secrets`` is None.

    Raises
    ------
    InvalidInput : a secret is wrong or unknown, or two webhooks have one address
    """
    secrets_by_id: dict[str, Document] = {}
    index_by_endpoint: dict[str, int] = {}
    for index, destination in enumerate(destinations):
        config: object = destination.get("config")
        new_secrets: Document = {}
        if isinstance(config, dict):
            is_kept = stored_secrets is not None and holds_mask(config)
            old_secrets = stored_secrets().get(str(destination["id"]), {}) if stored_secrets and is_kept else {}
            try:
                destination["config"], new_secrets = split_secrets(config, old_secrets)
            except InvalidInput as error:
                raise InvalidInput(error.message, field=f"destinations[{index}].config.{error.field}") from error
            check_secrets(new_secrets, f"destinations[{index}].config")
        secrets_by_id[destination["id"]] = new_secrets
    for index, new_secrets in enumerate(secrets_by_id.values()):
        # Of two webhooks with the same visible part of the address nothing else could tell which is meant.
        endpoint = new_secrets.get("endpoint")
        if endpoint in index_by_endpoint and masked_url(endpoint, with_path=True) != endpoint:
            message = f"has the same endpoint as destinations[{index_by_endpoint[endpoint]}]; remove one of them"
            raise InvalidInput(message, field=f"destinations[{index}].config.endpoint")
        if endpoint is not None:
            index_by_endpoint.setdefault(endpoint, index)
    return secrets_by_id


def check_destination_names(destinations: Sequence[Destination]) -> None:
    """Refuse a name of blanks or with control characters, and one that two destinations of an alert have.

    Raises
    ------
    InvalidInput : with the place
    """
    names: set[str] = set()
    for index, destination in enumerate(destinations):
        name = destination.name
        if name is None:
            continue
        if name != name.strip() or not name.isprintable():
            message = "must be a text without control characters, and without blanks at its ends"
            raise InvalidInput(message, field=f"destinations[{index}].name")
        if name in names:
            raise InvalidInput(f"another destination is called {name!r}", field=f"destinations[{index}].name")
        names.add(name)


def check_destination(
    destination: Destination, receivers: Receivers | None, place: str, *, is_personal: bool = False
) -> None:
    """Refuse a destination that cannot work, or whose receivers cannot be reached by it.

    Users may be omitted if the alert's condition is on the recipient. Without ``receivers`` every name is one.

    Raises
    ------
    InvalidInput : with the place and the way out
    """
    check_configuration(destination, place, is_personal=is_personal)
    for index, receiver in enumerate(destination.config.receivers):
        inside = f"{place}.config.receivers[{index}]"
        if "@" in receiver:
            _check_address(receiver, destination, inside)
            continue
        category = destination.category
        if category is Category.EXTERNAL:
            raise InvalidInput(f"{receiver!r} is not an e-mail address; users and teams have categories", field=inside)
        if receivers is None:
            continue
        is_user, is_team = receiver in receivers.users, receiver in receivers.teams
        if not (is_user or is_team):
            raise InvalidInput(f"unknown user or team {receiver!r}", field=inside)
        if category is Category.USERS and not is_user:
            raise InvalidInput(f"{receiver!r} is a team; choose category Teams", field=inside)
        if category is Category.TEAMS and not is_team:
            raise InvalidInput(f"{receiver!r} is a user; choose category Users", field=inside)


def _check_address(receiver: str, destination: Destination, place: str) -> None:
    if destination.uses_own_addresses:
        raise InvalidInput(f"{receiver!r} has no address for {destination.type}; name a user or team", field=place)
    if destination.type in (Channel.ACTIVITY_FEED, Channel.PUSH):
        lack = "inbox" if destination.type is Channel.ACTIVITY_FEED else "browser"
        raise InvalidInput(f"{receiver!r} has no {lack}; name a user or team, or choose type Email", field=place)
    if not _ADDRESS.fullmatch(receiver):
        raise InvalidInput(f"{receiver!r} is not an e-mail address", field=place)


def _is_same(destination: Document, stored: Document) -> bool:
    if "id" in destination:
        return bool(destination["id"] == stored["id"])
    return _goal(destination) == _goal(stored)


def _goal(destination: Document) -> tuple[object, ...]:
    config = destination.get("config")
    config = config if isinstance(config, dict) else {}
    endpoint = config.get("endpoint")
    masked_endpoint = masked_url(endpoint, with_path=True) if isinstance(endpoint, str) else endpoint
    return (
        destination.get("category"),
        destination.get("type"),
        masked_endpoint,
        config.get("channel"),
        config.get("receivers"),
    )
