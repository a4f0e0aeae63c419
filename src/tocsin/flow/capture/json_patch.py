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
from tocsin.flow.capture.members import REFERENCE_LISTS
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES

Operation = dict[str, Any]  # Any: an operation's value is any JSON
_LISTS = ("tags", *REFERENCE_LISTS)


def apply(entity_type: str, document: Document, operations: Sequence[Operation]) -> Document:
    """Return ``document`` with the operations applied; it is not changed itself.

    Raises
    ------
    InvalidInput : an operation is malformed or does not fit the document.
    """
    patched = applied(_with_empty_lists(entity_type, document), operations)
    return {key: value for key, value in patched.items() if key in document or value not in ([], {})}


def applied(document: Document, operations: Sequence[Operation]) -> Document:
    """Return ``document``, as it is read, with the operations applied to a copy of it. Raises as ``apply``."""
    try:
        patched = jsonpatch.JsonPatch(list(operations)).apply(copy.deepcopy(document), in_place=True)
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError, AttributeError) as refused:
        raise InvalidInput(f"the patch cannot be applied: {_why(refused)}") from refused
    if not isinstance(patched, dict):
        raise InvalidInput("the patch does not leave an object")
    return patched


def _why(refused: Exception) -> str:
    """Return what the library says, without the whole document, or a value of it, that some of its messages quote."""
    if isinstance(refused, jsonpatch.JsonPatchTestFailed):
        return "what a test operation expects does not stand there"
    missing, quotes, _document = str(refused).partition(" not found in ")
    return f"{missing} not found" if quotes else missing


def _with_empty_lists(entity_type: str, document: Document) -> Document:
    kind = ENTITY_TYPES[entity_type]
    readable = copy.deepcopy(document)
    for key in kind.keys.intersection((*_LISTS, *kind.members)):
        readable.setdefault(key, [])
    if "extension" in kind.keys:
        readable.setdefault("extension", {})
    for members in kind.member_lists(readable):
        _open_members(members)
    return readable


def _open_members(members: list[Document]) -> None:
    for member in members:
        member.setdefault("tags", [])
        _open_members(member.get("children", []))
