"""Names of users, teams and bots: none that can be mistaken for another one.

Next: ``model/look_alikes.py``.
"""

from __future__ import annotations

from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture.ports import Transaction
from tocsin.model.entity import Document
from tocsin.model.look_alikes import deceptive_part, invisible_character, look_of
from tocsin.model.people import SYSTEM, is_removed_name


def check_name(transaction: Transaction, document: Document, old: Document) -> None:
    """Refuse a new name that can deceive its reader, and a new display name with invisible characters.

    Raises
    ------
    InvalidInput : the name has invisible characters or mixes scripts, or is that of Tocsin itself
    Conflict : the name looks like that of another user, team or bot
    """
    display_name = document.get("displayName")
    if (
        isinstance(display_name, str)
        and display_name != old.get("displayName")
        and (sign := invisible_character(display_name))
    ):
        raise InvalidInput(f"contains the invisible character {sign}; remove it", field="displayName")
    name = document["name"]
    if name == old.get("name"):
        return
    if problem := deceptive_part(name):
        raise InvalidInput(problem, field="name")
    check_not_removed(document, old)
    if look_of(name) == SYSTEM.name:
        raise InvalidInput("is reserved for changes by Tocsin itself", field="name")
    if (namesake := transaction.teams.look_alike_of(name)) is not None:
        raise Conflict(f"name: {name!r} looks like the {namesake['type']} {namesake['name']!r}; choose another name")


def check_not_removed(document: Document, old: Document) -> None:
    """Refuse a new name by which alerts and policies call what is deleted for good.

    Raises
    ------
    InvalidInput : the name is one of those
    """
    if document["name"] != old.get("name") and is_removed_name(document["name"]):
        raise InvalidInput("must not end like the names of what is deleted for good, in (removed …)", field="name")
