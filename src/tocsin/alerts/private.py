"""Alerts to their owner only (``toMeOnly``): they tell one person, whomever their destinations name, and nobody else.

Who is told is decided by ``flow/resolve/recipient_rules.py``. Next: ``alerts/request.py``.
"""

from __future__ import annotations

from tocsin.alerts.related import TRIGGERS
from tocsin.errors import Forbidden, InvalidInput
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.subscription import TO_PEOPLE, EventSubscription

TO_ME_ONLY = "toMeOnly"
"""The key of an alert that says so."""


def check_private(subscription: EventSubscription, document: Document) -> None:
    """Refuse of an alert to its owner only what tells others: addresses, bots, queues, and alerts that it triggers.

    Raises
    ------
    InvalidInput : with the place and the way out
    """
    for index, destination in enumerate(subscription.destinations):
        if destination.type not in TO_PEOPLE and not destination.uses_own_addresses:
            message = f"{TO_ME_ONLY}: must be ActivityFeed, Email, or an address in your profile (category Users)"
            raise InvalidInput(message, field=f"destinations[{index}].type")
    if document.get(TRIGGERS):
        raise InvalidInput(f"an alert with {TO_ME_ONLY} tells nobody else and triggers no alert", field=TRIGGERS)


def check_sole_owner(document: Document, before: Document, actor: Actor) -> None:
    """Refuse an owner other than one user; who is no administrator can name themselves, or leave the owner as it was.

    Raises
    ------
    InvalidInput : there is none, more than one, or a team
    Forbidden : it is another person
    """
    owners = document.get("owners")
    owner = owners[0] if isinstance(owners, list) and len(owners) == 1 and isinstance(owners[0], dict) else None
    if owner is None or owner.get("type", "user") != "user":
        raise InvalidInput(f"an alert with {TO_ME_ONLY} has one owner, a user", field="owners")
    is_same = bool(before.get(TO_ME_ONLY)) and owners == before.get("owners")
    if is_same or actor.is_admin:
        return
    if (
        owner.get("id", actor.id) != actor.id
        or owner.get("name", actor.name) != actor.name
        or not owner.keys() & _NAMING
    ):
        raise Forbidden(f"An alert with {TO_ME_ONLY} is for whoever makes it: name yourself as its owner.")


_NAMING = {"id", "name"}
