"""Validation and normalization of write requests into the form of stored documents.

Checks keys, the shape of lists, and tags with their defaults, for every write. Next: ``prepare.py``.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

import orjson

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import INHERITED_KEYS, own_references
from tocsin.model.labels import CERTIFICATION
from tocsin.model.list_identity import MEMBER_LISTS, REFERENCE_LISTS, SERVER_KEPT, MemberList
from tocsin.model.member_fqn import WORKED_OUT
from tocsin.model.phrases import with_article
from tocsin.model.relations import RELATIONS

TAG_DEFAULTS = {"source": "Classification", "labelType": "Manual", "state": "Confirmed"}
"""What a label says of itself when nobody says otherwise."""
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
_TEXTS = frozenset({"name", "email", "entityLink"})
_ALIASES = {"owner": "owners", "domain": "domains"}
_NOT_PLAIN = frozenset((*WORKED_OUT, "tags", "children"))
"""Keys of a member that is not simply taken as it comes."""
_NESTED = sorted({path for row in ENTITY_TYPES.values() for path in row.member_paths if len(path) > 1})
_LISTS = {key: place for place, key in enumerate(MEMBER_LISTS) if key != "children"}
"""The lists of a document's own, in the order in which they are checked."""
_HOLDERS = frozenset(outer for outer, _ in _NESTED)


def clean(kind: EntityType, request: Document) -> Document:
    """Return an own copy of a request, without nulls, its aliases resolved and its lists checked.

    Values are validated last, when references are complete: ``model/shapes.py``.

    Raises
    ------
    InvalidInput : a key is unknown to this type, or a list is malformed; ``field`` names it.
    """
    document = _copy(request)
    for alias, key in _ALIASES.items():
        if alias in document:
            single = document.pop(alias)
            document.setdefault(key, [single])
    if not kind.keys.issuperset(document):
        unknown = min(document.keys() - kind.keys)
        raise InvalidInput(f"{with_article(kind.name)} has no field {unknown}", field=unknown)
    _check_kinds(document)
    for key in _kept_elsewhere(kind.name) & document.keys():
        del document[key]
    return with_checked_lists(document)


def check_required(kind: EntityType, document: Document) -> None:
    """Refuse a request to create that lacks a key this type requires.

    Raises
    ------
    InvalidInput : a required key is missing, or the name is no string
    """
    for key in kind.required:
        if key not in document:
            raise InvalidInput(f"{with_article(kind.name)} needs {key}", field=key)
    name = document.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput("name must be a string", field="name")


def with_checked_lists(document: Document) -> Document:
    """Return the document with its lists checked, its tags complete and without empty member lists.

    Raises
    ------
    InvalidInput : a list or the extension has the wrong form
    """
    for key in sorted(_LISTS.keys() & document.keys(), key=_LISTS.__getitem__):
        document[key] = _members(key, MEMBER_LISTS[key], document[key])
    for outer, inner in () if _HOLDERS.isdisjoint(document) else _NESTED:
        holder = document.get(outer)
        if isinstance(holder, dict) and inner in holder:
            document[outer] = holder | {inner: _members(inner, MEMBER_LISTS[inner], holder[inner])}
    certificate = document.get(CERTIFICATION)
    if isinstance(certificate, dict) and isinstance(certificate.get("tagLabel"), dict):
        document[CERTIFICATION] = certificate | {"tagLabel": _tag(certificate["tagLabel"])}
    extension = document.get("extension")
    if extension is not None and not isinstance(extension, dict):
        raise InvalidInput("extension must be an object", field="extension")
    return document


def without_server_keys(document: Document) -> Document:
    """Return the document without the keys that only the server writes; itself if it has none."""
    if SERVER_KEPT.isdisjoint(document):
        return document
    return {key: value for key, value in document.items() if key not in SERVER_KEPT}


@cache
def _kept_elsewhere(entity_type: str) -> frozenset[str]:
    """Return the keys that a document shows but does not hold."""
    return ENTITY_TYPES[entity_type].separate_keys.union(RELATIONS.get(entity_type, ()))


def _check_kinds(document: Document) -> None:
    for key in _TEXTS:
        if key in document and not isinstance(document[key], str):
            raise InvalidInput(f"{key} must be a string", field=key)
    if (email := document.get("email")) and not _ADDRESS.fullmatch(email.strip()):
        raise InvalidInput(f"{email!r} is not an e-mail address; it must look like name@example.com", field="email")


def _copy(request: Document) -> Document:
    try:
        text = orjson.dumps(request)
    except TypeError as refused:
        raise InvalidInput(f"not JSON: {refused}") from refused
    copied = orjson.loads(text)
    if not isinstance(copied, dict):
        raise InvalidInput("must be a JSON object")
    return _without_nulls(copied) if b"null" in text else copied


def _without_nulls(document: Document) -> Document:
    return {key: _inside(value) for key, value in document.items() if value is not None}


def _inside(value: Any) -> Any:  # Any: a JSON value
    if isinstance(value, dict):
        return _without_nulls(value)
    return [_inside(one) for one in value] if isinstance(value, list) else value


def _members(field: str, rule: MemberList, members: object) -> list[Document]:
    if not isinstance(members, list):
        raise InvalidInput(f"{field} must be a list", field=field)
    if field in REFERENCE_LISTS:
        return own_references(members) if field in INHERITED_KEYS else members
    if not all(isinstance(member, dict) for member in members):
        raise InvalidInput(f"{field} must be a list of objects", field=field)
    documents = [_member(field, member) for member in members]
    names = {rule.identity(member) for member in documents}
    if len(names) == len(documents):
        return documents
    if field == "tags":  # the same tag twice is the same tag
        return list({rule.identity(member): member for member in documents}.values())
    name_counts = Counter(rule.identity(member) for member in documents)
    raise InvalidInput(f"{field} contains the name {name_counts.most_common(1)[0][0]} twice", field=field)


def _member(field: str, member: Document) -> Document:
    if field == "tags":
        return _tag(member)
    if not isinstance(member.get("name"), str):
        raise InvalidInput(f"every entry of {field} needs a name", field=field)
    if not _NOT_PLAIN.isdisjoint(member):
        for key in WORKED_OUT:
            member.pop(key, None)
        for key in ("tags", "children"):
            if key in member:
                nested = _members(key, MEMBER_LISTS[key], member.pop(key) or [])
                member.update({key: nested} if nested else {})
    return member


def _tag(label: Document) -> Document:
    if not isinstance(label.get("tagFQN"), str) or not label["tagFQN"]:
        raise InvalidInput("every entry of tags needs a tagFQN", field="tags")
    return {"tagFQN": label["tagFQN"], **TAG_DEFAULTS, **{k: v for k, v in label.items() if v is not None}}
