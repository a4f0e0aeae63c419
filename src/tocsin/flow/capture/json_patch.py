"""How is a JSON Patch applied to an entity? As RFC 6902 says, to the document a client would have read.

A client that read ``owners: []`` sends ``/owners/0``, so lists that a document leaves out when empty are
put in before the patch and taken out again after it (those of members by ``request.py``).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import jsonpatch
from jsonpointer import JsonPointerException

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES, keys_of

Operation = dict[str, Any]  # Any: an operation's value is any JSON
_LISTS = ("owners", "tags", "domains")


def apply(entity_type: str, document: Document, operations: Sequence[Operation]) -> Document:
    """Return ``document`` with the operations applied; it is not changed itself.

    Raises
    ------
    InvalidInput : an operation is malformed or does not fit the document.
    """
    readable = _with_empty_lists(entity_type, document)
    try:
        patched = jsonpatch.JsonPatch(list(operations)).apply(readable, in_place=True)
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError, AttributeError) as refused:
        raise InvalidInput(f"the patch cannot be applied: {refused}") from refused
    if not isinstance(patched, dict):
        raise InvalidInput("the patch does not leave an object")
    return {key: value for key, value in patched.items() if key in document or value not in ([], {})}


def _with_empty_lists(entity_type: str, document: Document) -> Document:
    kind = ENTITY_TYPES[entity_type]
    readable = copy.deepcopy(document)
    for key in keys_of(kind).intersection((*_LISTS, kind.children or "tags")):
        readable.setdefault(key, [])
    if "extension" in keys_of(kind):
        readable.setdefault("extension", {})
    _open_members(readable.get(kind.children or "", []))
    return readable


def _open_members(members: list[Document]) -> None:
    for member in members:
        member.setdefault("tags", [])
        _open_members(member.get("children", []))
