"""May they write it? Who may change which kind of thing; who may see it is asked of ``flow/resolve/visibility.py``.

For now: assets are open to everybody who is logged in; people and teams belong to administrators and, so that
connectors work, to bots; an alert belongs to its owners, to who made it, and to administrators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tocsin.errors import Forbidden, InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_types import EntityType
from tocsin.model.people import Actor

_ABOUT_PEOPLE = frozenset({"user", "team"})
_OWN = frozenset({"displayName", "description", "timezone", "profile"})
_POWERS = frozenset({"isAdmin", "isBot"})


def check_put(sender: Actor, row: EntityType, request: Document) -> None:
    """Refuse a create or a put that ``sender`` may not make."""
    if row.name not in _ABOUT_PEOPLE or sender.is_admin:
        return
    if not sender.is_bot:
        raise Forbidden(f"Only an administrator may create or replace a {row.name}.")
    if _POWERS & request.keys():
        raise Forbidden(f"Only an administrator may set {' or '.join(sorted(_POWERS & request.keys()))}.")


def check_patch(sender: Actor, row: EntityType, entity_id: str | None, operations: object) -> None:
    """Refuse a patch that ``sender`` may not make; ``entity_id`` is None when the patch is by name."""
    touched = set(_touched(operations))
    if row.name not in _ABOUT_PEOPLE or sender.is_admin:
        return
    if sender.is_bot and not touched & (_POWERS | {""}):
        return
    if row.name == "user" and entity_id == sender.id and touched <= _OWN:
        return
    raise Forbidden(f"Only an administrator may change this; of yourself you may change {', '.join(sorted(_OWN))}.")


def check_delete(sender: Actor, row: EntityType, entity_id: str | None) -> None:
    """Refuse a delete that ``sender`` may not make; nobody deletes themselves, so one administrator remains."""
    if row.name not in _ABOUT_PEOPLE:
        return
    if not sender.is_admin:
        raise Forbidden(f"Only an administrator may delete a {row.name}.")
    if entity_id == sender.id:
        raise Forbidden("Nobody can delete themselves; another administrator can.")


def check_alert(sender: Actor, alert: Document, created_by: str, teams: Iterable[str]) -> None:
    """Refuse a change of an alert to who neither owns it (alone or in one of ``teams``), made it nor administers."""
    owners = {owner.get("id") for owner in alert.get("owners") or ()}
    if sender.is_admin or created_by == sender.name or owners & {sender.id, *teams}:
        return
    raise Forbidden("Only its owners, who made it, and administrators may change this alert.")


def _touched(operations: object) -> Iterable[str]:
    """Yield the first step of every path that a JSON Patch names."""
    if not isinstance(operations, Sequence) or not all(isinstance(one, dict) for one in operations):
        raise InvalidInput("A JSON Patch is a list of operations.")
    for operation in operations:
        for key in ("path", "from"):
            if isinstance(operation.get(key), str):
                yield operation[key].removeprefix("/").partition("/")[0]
