"""Revision counter of access rules, raised in the transaction of the change.

Caches of access decisions (``access/permission_cache.py``) compare the counter instead of everything they depend on.
A second counter does the same for tokens (``store/catalogue/people/tokens.py``).
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, select, update

from tocsin.model.entity import Document
from tocsin.model.stored import Stored
from tocsin.store.database.statements import Prepared
from tocsin.store.database.tables import access_revision

_REVISION = access_revision.c.revision
_RULES, _TOKENS = 1, 2
_READ = Prepared(select(_REVISION).where(access_revision.c.id == bindparam("counter")))
_READ_BOTH = select(_REVISION).order_by(access_revision.c.id)
_RAISE = {
    counter_id: update(access_revision).where(access_revision.c.id == counter_id).values(revision=_REVISION + 1)
    for counter_id in (_RULES, _TOKENS)
}
_DECIDING = {
    "glossaryTerm": ("tags", "fullyQualifiedName"),
    "policy": ("rules", "enabled", "disabled", "deleted", "name"),
    "role": ("policies", "deleted", "name"),
    "team": ("parents", "users", "policies", "defaultRoles", "domains", "deleted", "name"),
    "user": ("roles", "teams", "domains", "isAdmin", "isBot", "deleted", "name"),
}
"""Per type, the keys that rules depend on."""

DECIDING = frozenset(_DECIDING)
"""The types of entity a change of which may change what a person may do."""


def read(connection: Connection) -> int:
    """Return the counter."""
    return int(_READ.run(connection, {"counter": _RULES}).fetchone()[0])


def read_with_tokens(connection: Connection) -> tuple[int, ...]:
    """Return the counter, and the one of tokens revoked."""
    return tuple(connection.scalars(_READ_BOTH))


def note_revoked(connection: Connection) -> None:
    """Raise the counter of tokens: some stop working with this transaction."""
    connection.execute(_RAISE[_TOKENS])


def note(connection: Connection, old: Stored | None, new: Stored | None) -> None:
    """Raise the counter if what ``old`` became changes what anybody may do."""
    if _is_deciding(old, new):
        connection.execute(_RAISE[_RULES])


def note_erased(connection: Connection, erased: Iterable[Stored]) -> None:
    """Raise the counter if the end of any of these entities changes what anybody may do."""
    if any(_is_deciding(one, None) for one in erased):
        connection.execute(_RAISE[_RULES])


def _is_deciding(old: Stored | None, new: Stored | None) -> bool:
    subject = new or old
    keys = _DECIDING.get(subject.entity_type) if subject else None
    if subject is None or keys is None:
        return False
    if subject.entity_type == "glossaryTerm" and not any(one and one.document.get("tags") for one in (old, new)):
        return False  # it brings no label along
    is_new_person = old is None and new is not None and new.entity_type == "user" and not new.document.get("teams")
    return not is_new_person and _referred_ids(old, keys) != _referred_ids(new, keys)


def _referred_ids(entity: Stored | None, keys: tuple[str, ...]) -> list[object]:
    document: Document = entity.document if entity else {}
    return [_ids(document.get(key)) for key in keys] if entity else []


def _ids(value: object) -> object:
    """Return the value of a key, a list of references by their ids in any order."""
    if isinstance(value, list) and all(isinstance(one, dict) and "id" in one for one in value):
        return sorted(str(one["id"]) for one in value)
    return None if value == [] else value
