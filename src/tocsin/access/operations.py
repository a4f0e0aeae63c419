"""Table of operations: which operation includes which, and which ones a change of an entity requires.

Source: OpenMetadata's ``OperationContext`` and ``ResourceRegistry``. Next: ``access/decide.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.template import NOTIFICATION_TEMPLATE, USER

ALL_RESOURCES = "all"

OF_KEY: dict[str, Operation] = {
    "description": Operation.EDIT_DESCRIPTION,
    "displayName": Operation.EDIT_DISPLAY_NAME,
    "owners": Operation.EDIT_OWNERS,
    "owner": Operation.EDIT_OWNERS,
    "reviewers": Operation.EDIT_REVIEWERS,
    "experts": Operation.EDIT_REVIEWERS,
    "extension": Operation.EDIT_CUSTOM_FIELDS,
    "certification": Operation.EDIT_CERTIFICATION,
    "lifeCycle": Operation.EDIT_LIFE_CYCLE,
    "entityStatus": Operation.EDIT_STATUS,
    "usageSummary": Operation.EDIT_USAGE,
    "roles": Operation.EDIT_ROLE,
    "defaultRoles": Operation.EDIT_ROLE,
    "policies": Operation.EDIT_POLICY,
    "teams": Operation.EDIT_TEAMS,
    "users": Operation.EDIT_USERS,
}
"""What changing a key of any type needs; what is not named here needs ``EditAll``."""

_OF_TYPE: dict[tuple[str, str], Operation] = {
    ("user", "timezone"): Operation.EDIT_DISPLAY_NAME,
    ("user", "profile"): Operation.EDIT_DISPLAY_NAME,
    ("team", "profile"): Operation.EDIT_DISPLAY_NAME,
    ("user", "personas"): Operation.EDIT_DISPLAY_NAME,
    ("user", "defaultPersona"): Operation.EDIT_DISPLAY_NAME,
    ("user", "personaPreferences"): Operation.EDIT_DISPLAY_NAME,
    ("role", "policies"): Operation.EDIT_ALL,
    ("query", "users"): Operation.EDIT_ALL,
}
_ADMINISTRATORS = {
    "user": frozenset(
        {
            *("name", "email", "isEmailVerified", "isAdmin", "isBot"),
            *("allowImpersonation", "authenticationMechanism", "roles", "domains"),
        }
    ),
    "team": frozenset({"defaultRoles", "domains"}),
}
"""Keys that say who a person is or what they may do: they need ``All`` besides what else they need."""

_POWERS = {
    "user": ("isAdmin", "isBot", "allowImpersonation", "authenticationMechanism", "roles"),
    "team": ("policies", "defaultRoles"),
}
"""Keys of a new user or team that give a person powers."""

_MEMBER_KEYS = ("description", "displayName", "tags", "extension")
_MEMBER_LISTS = frozenset({"columns", "tasks", "schemaFields", "messageSchema", "fields", "dataModel", "mlFeatures"})
_TIER = "Tier."
_GLOSSARY = "Glossary"


def includes(granted: Operation, operation: Operation) -> bool:
    """Return whether a rule about ``granted`` is about ``operation``."""
    if granted is operation or granted is Operation.ALL:
        return True
    if granted is Operation.EDIT_ALL:
        return operation.value.startswith("Edit") or operation is Operation.BULK_UPDATE
    if granted is Operation.VIEW_ALL:
        return operation.value.startswith("View")
    return granted is Operation.CREATE and operation is Operation.BULK_CREATE


def operations_needed(entity_type: str, before: Document, after: Document, keys: Iterable[str]) -> frozenset[Operation]:
    """Return what bringing ``before`` to ``after`` needs, looking at these top-level keys only.

    A notification template that people have made has an operation of its own.
    """
    if entity_type == NOTIFICATION_TEMPLATE and before.get("provider", USER) == USER:
        return frozenset(Operation.EDIT_USER_NOTIFICATION_TEMPLATE for key in keys if before.get(key) != after.get(key))
    return frozenset(need for key in keys for need in _needs(entity_type, key, before.get(key), after.get(key)))


def operations_to_create(entity_type: str, document: Document) -> frozenset[Operation]:
    """Return the operations that a new entity requires beyond ``Create``, for the privileges it would grant."""
    powers = (key for key in _POWERS.get(entity_type, ()) if document.get(key))
    return frozenset(need for key in powers for need in _needs(entity_type, key, None, document[key]))


def _needs(entity_type: str, key: str, old: object, new: object) -> Iterator[Operation]:
    if old == new:
        return
    if key == "tags":
        yield from _of_tags(old, new)
    elif key in _MEMBER_LISTS and isinstance(old, list) and isinstance(new, list):
        yield from _of_members(entity_type, old, new)
    else:
        if key in _ADMINISTRATORS.get(entity_type, ()):
            yield Operation.ALL
        yield _OF_TYPE.get((entity_type, key)) or OF_KEY.get(key, Operation.EDIT_ALL)


def _of_tags(old: object, new: object) -> Iterator[Operation]:
    """Yield what the tags that came or went need: tiers and glossary terms have operations of their own."""
    before, after = _by_key("tagFQN", old), _by_key("tagFQN", new)
    for fqn in before.keys() ^ after.keys() | {name for name in before.keys() & after if before[name] != after[name]}:
        label = after.get(fqn) or before[fqn]
        if fqn.startswith(_TIER):
            yield Operation.EDIT_TIER
        elif label.get("source") == _GLOSSARY:
            yield Operation.EDIT_GLOSSARY_TERMS
        else:
            yield Operation.EDIT_TAGS
    if before == after:
        yield Operation.EDIT_TAGS


def _by_key(key: str, value: object) -> dict[str, Document]:
    members = value if isinstance(value, list) else []
    return {str(member.get(key)): member for member in members if isinstance(member, dict)}


def _of_members(entity_type: str, old: list[object], new: list[object]) -> Iterator[Operation]:
    """Yield what changes of columns and the like need; members that come, go or change their kind need ``EditAll``."""
    before, after = _by_key("name", old), _by_key("name", new)
    if list(before) != list(after):
        yield Operation.EDIT_ALL
        return
    for name, member in before.items():
        new_member = after[name]
        for key in member.keys() | new_member.keys():
            if key == "children":
                yield from _of_members(entity_type, member.get(key) or [], new_member.get(key) or [])
            elif key in _MEMBER_KEYS:
                yield from _needs(entity_type, key, member.get(key), new_member.get(key))
            elif member.get(key) != new_member.get(key):
                yield Operation.EDIT_ALL
