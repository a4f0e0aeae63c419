"""Is a request well formed, and what does it say? A clean copy of it, in the shape documents have.

Checked here, for every write: keys, the shape of lists, tags with their defaults. Next: ``prepare.py``.
"""

from __future__ import annotations

import re

import orjson

from tocsin.errors import InvalidInput
from tocsin.flow.capture.members import MEMBER_LISTS, SERVER_KEPT, MemberList
from tocsin.flow.capture.references import REFERENCE_LISTS
from tocsin.model.entity import Document
from tocsin.model.entity_types import EntityType, keys_of

LONGEST_NAME = 256
"""Characters that a name may have. Source: schemas/type/basic.json, ``entityName``."""

_TAG_DEFAULTS = {"source": "Classification", "labelType": "Manual", "state": "Confirmed"}
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
_TEXTS = frozenset({"name", "displayName", "description", "email", "timezone", "alertType", "entityLink"})
_FLAGS = frozenset({"isAdmin", "isBot", "deleted", "enabled"})
_ALIASES = {"owner": "owners", "domain": "domains"}


def clean(kind: EntityType, request: Document) -> Document:
    """Return an own copy of a request, without nulls, its aliases resolved and its lists checked.

    Raises
    ------
    InvalidInput : a key is unknown to this type, or a list is malformed; ``field`` names it.
    """
    document = _copy(request)
    for alias, key in _ALIASES.items():
        if alias in document:
            single = document.pop(alias)
            document.setdefault(key, [single])
    unknown = sorted(document.keys() - keys_of(kind))
    if unknown:
        raise InvalidInput(f"a {kind.name} has no field {unknown[0]}", field=unknown[0])
    _check_kinds(document)
    return shaped(document)


def check_required(kind: EntityType, document: Document) -> None:
    """Refuse a request to create that lacks a key this type requires."""
    for key in kind.required:
        if key not in document:
            raise InvalidInput(f"a {kind.name} needs {key}", field=key)
    name = document.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
        raise InvalidInput(f"name must be a text of at most {LONGEST_NAME} characters", field="name")


def shaped(document: Document) -> Document:
    """Return the document with its lists checked, its tags complete and without empty member lists."""
    for key, rule in MEMBER_LISTS.items():
        if key in document and key != "children":
            document[key] = _members(key, rule, document[key])
    extension = document.get("extension")
    if extension is not None and not isinstance(extension, dict):
        raise InvalidInput("extension must be an object", field="extension")
    return document


def without_server_keys(document: Document) -> Document:
    """Return the document without the keys that only the server writes."""
    return {key: value for key, value in document.items() if key not in SERVER_KEPT}


def _check_kinds(document: Document) -> None:
    for key in _TEXTS & document.keys():
        if not isinstance(document[key], str):
            raise InvalidInput(f"{key} must be a text", field=key)
    for key in _FLAGS & document.keys():
        if not isinstance(document[key], bool):
            raise InvalidInput(f"{key} must be true or false", field=key)
    if (email := document.get("email")) and not _ADDRESS.fullmatch(email.strip()):
        raise InvalidInput(f"{email!r} is no e-mail address; it must look like name@example.com", field="email")


def _copy(request: Document) -> Document:
    try:
        copied = orjson.loads(orjson.dumps(request))
    except TypeError as refused:
        raise InvalidInput(f"not a JSON document: {refused}") from refused
    if not isinstance(copied, dict):
        raise InvalidInput("the request must be an object")
    return {key: value for key, value in copied.items() if value is not None}


def _members(field: str, rule: MemberList, members: object) -> list[Document]:
    if not isinstance(members, list):
        raise InvalidInput(f"{field} must be a list", field=field)
    if field in REFERENCE_LISTS:
        return members
    if not all(isinstance(member, dict) for member in members):
        raise InvalidInput(f"{field} must hold objects", field=field)
    made = [_member(field, member) for member in members]
    names = {rule.identity(member) for member in made}
    if len(names) == len(made):
        return made
    if field == "tags":  # the same tag twice is the same tag
        return list({rule.identity(member): member for member in made}.values())
    raise InvalidInput(f"{field} holds the same name twice", field=field)


def _member(field: str, member: Document) -> Document:
    if field == "tags":
        return _tag(member)
    if not isinstance(member.get("name"), str):
        raise InvalidInput(f"each of {field} needs a name", field=field)
    for key in ("tags", "children"):
        if key in member:
            nested = _members(key, MEMBER_LISTS[key], member.pop(key) or [])
            member.update({key: nested} if nested else {})
    return member


def _tag(label: Document) -> Document:
    if not isinstance(label.get("tagFQN"), str) or not label["tagFQN"]:
        raise InvalidInput("each of tags needs a tagFQN", field="tags")
    return {"tagFQN": label["tagFQN"], **_TAG_DEFAULTS, **{k: v for k, v in label.items() if v is not None}}
