"""JSON Patch (RFC 6902) of entities, applied to the document that a client has read.

A client that read ``owners: []`` sends ``/owners/0``, so lists that a document omits when empty are added before the
patch and removed after it (those of members by ``normalize.py``). Paths that end in ``/href``, or in ``/deleted`` below
a reference, are ignored: the server computes both for each response, and ``test`` operations ignore them. How much an
operation copies is checked first, because a short patch can double the document with every line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jsonpatch
import orjson
from jsonpointer import JsonPointerException, resolve_pointer

from tocsin.errors import InvalidInput, TooLarge
from tocsin.flow.capture.bounds import BOUNDS, Bounds, check_depth, size_of
from tocsin.model.entity import Document, map_objects
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import REFERENCE_LISTS
from tocsin.model.member_fqn import WORKED_OUT
from tocsin.model.pointers import ADDED_TO_REFERENCES, is_reference

PatchOperation = dict[str, Any]  # Any: an operation's value is any JSON
_LISTS = ("tags", *REFERENCE_LISTS)
_MADE = frozenset({"href", *WORKED_OUT})
_ANSWERED = ("/href", "/deleted")
_EXTENSION = "/extension"
_LIGHT_OPERATIONS = 100
_LIGHT_BYTES = 64 * 1024


def apply(
    entity_type: str, document: Document, operations: Sequence[PatchOperation], bounds: Bounds = BOUNDS
) -> Document:
    """Return ``document`` with the operations applied; it is not changed itself.

    Raises
    ------
    InvalidInput : an operation is malformed or does not fit the document.
    TooLarge : there are too many operations, they copy too much, or the document would be too large.
    """
    patched = _in_place(_with_empty_lists(entity_type, _copy_of(document)), operations, bounds)
    for operation in operations:
        if _empties_optional_description(entity_type, operation):
            _remove_empty(patched, operation["path"])
    return {key: value for key, value in patched.items() if key in document or value not in ([], {})}


def apply_to_copy(document: Document, operations: Sequence[PatchOperation], bounds: Bounds = BOUNDS) -> Document:
    """Return ``document``, as it is read, with the operations applied to a copy of it. Raises as ``apply``."""
    return _in_place(_copy_of(document), operations, bounds)


def paths_of(operations: Sequence[PatchOperation]) -> frozenset[str]:
    """Return the paths that these operations name; what is malformed is refused when it is applied."""
    paths = (one.get(key) for one in operations if isinstance(one, dict) for key in ("path", "from"))
    return frozenset(path for path in paths if isinstance(path, str))


def is_light(document: Document, operations: Sequence[PatchOperation]) -> bool:
    """Return whether applying these operations takes so little time that others can wait for it."""
    if len(operations) > _LIGHT_OPERATIONS or any(_is_copy(one) for one in operations):
        return False
    return size_of(document) <= _LIGHT_BYTES


def _in_place(document: Document, operations: Sequence[PatchOperation], bounds: Bounds) -> Document:
    if len(operations) > bounds.patch_operations:
        raise TooLarge(f"the patch has {len(operations)} operations; the limit is {bounds.patch_operations}")
    result, bytes_left, had_bytes = document, bounds.document_bytes, size_of(document)
    try:
        for operation in operations:
            if _is_about_answer(result, operation):
                continue
            if operation.get("op") == "test" and {"path", "value"} <= operation.keys():
                _test(result, operation)
                continue
            if _is_copy(operation):
                bytes_left -= _copied_bytes(result, operation)
            if bytes_left < 0:
                raise TooLarge(f"the patch copies more than {bounds.document_bytes} bytes")
            result = _apply_one(result, operation)
    except RecursionError as refused:
        raise InvalidInput("the patch cannot be applied: it is nested too deeply") from refused
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError, AttributeError) as refused:
        raise InvalidInput(f"the patch cannot be applied: {_why(refused)}") from refused
    if not isinstance(result, dict):
        raise InvalidInput("the result of the patch is not an object")
    check_depth(result)
    bounds.check_size(result, had_bytes=had_bytes)
    return result


def _apply_one(document: Document, operation: PatchOperation) -> Document:
    """Return the document, changed in place; most operations set one of its keys, over which the library takes long."""
    path, name = operation.get("path"), operation.get("op")
    is_plain = isinstance(path, str) and path.startswith("/") and "/" not in path[1:] and "~" not in path
    if is_plain and "value" in operation and isinstance(document, dict):
        key = operation["path"][1:]
        if name == "add" or (name == "replace" and key in document):
            document[key] = operation["value"]
            return document
    changed: Document = jsonpatch.JsonPatch([operation]).apply(document, in_place=True)
    return changed


def _is_about_answer(document: Document, operation: PatchOperation) -> bool:
    """Return whether an operation is about an address, or the state of a reference, which every answer adds."""
    path = operation.get("path") if isinstance(operation, dict) else None
    if not isinstance(path, str) or not path.endswith(_ANSWERED) or path == "/deleted":
        return False
    above = path.rpartition("/")[0]
    if above != _EXTENSION and not above.startswith(f"{_EXTENSION}/"):
        return True
    value = resolve_pointer(document, above, None) if above != _EXTENSION else None
    return isinstance(value, dict) and is_reference(value)


def _test(document: Document, operation: PatchOperation) -> None:
    """Compare what is at a path with a value that was read there.

    Raises
    ------
    JsonPatchTestFailed : they differ
    """
    current = resolve_pointer(document, operation["path"])
    if map_objects(current, _stored_part) != map_objects(operation["value"], _stored_part):
        raise jsonpatch.JsonPatchTestFailed


def _stored_part(holder: Document) -> Document:
    """Return an object without what is made for every answer: addresses, names of members, the state of references."""
    computed_keys = _MADE | ADDED_TO_REFERENCES if is_reference(holder) else _MADE
    return {key: inner for key, inner in holder.items() if key not in computed_keys}


def _empties_optional_description(entity_type: str, operation: PatchOperation) -> bool:
    """Return whether an operation sets a description to an empty text, which removes it where it may be missing.

    The operation has been applied; custom properties may be called so and are left alone.
    """
    path = operation["path"]
    if not path.endswith("/description") or path.startswith(f"{_EXTENSION}/") or operation.get("value") != "":
        return False
    return path != "/description" or "description" not in ENTITY_TYPES[entity_type].required


def _remove_empty(document: Document, path: str) -> None:
    """Remove what is at a path, if a later operation has left it there, and empty."""
    holder = resolve_pointer(document, path.rpartition("/")[0], None)
    if isinstance(holder, dict) and holder.get("description") == "":
        del holder["description"]


def _is_copy(operation: object) -> bool:
    return isinstance(operation, dict) and operation.get("op") == "copy"


def _copied_bytes(document: Document, operation: PatchOperation) -> int:
    """Return how many bytes a copy adds; none if there is nothing to copy, which applying it will say."""
    source = operation.get("from")
    return size_of(resolve_pointer(document, source, None)) if isinstance(source, str) else 0


def _copy_of(document: Document) -> Document:
    copied: Document = orjson.loads(orjson.dumps(document))  # ten times as fast as copy.deepcopy
    return copied


def _why(refused: Exception) -> str:
    """Return the library's message without the document or the values that some of its messages quote."""
    if isinstance(refused, jsonpatch.JsonPatchTestFailed):
        return "a test operation failed"
    missing, quotes, _document = str(refused).partition(" not found in ")
    return f"{missing} not found" if quotes else missing


def _with_empty_lists(entity_type: str, readable: Document) -> Document:
    kind = ENTITY_TYPES[entity_type]
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
