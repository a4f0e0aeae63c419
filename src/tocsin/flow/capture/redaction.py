"""Protection of a document's hidden parts from patches by people who may not see them.

Each hidden part is replaced by an empty stub before the patch and restored after it, so no operation can read or copy
it. In lists of references stubs come last, so that the other indexes are those that the sender has read.
Next: ``flow/capture/operations.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from tocsin.flow.capture.authorization import EVERYTHING, Permit
from tocsin.flow.capture.ports import Hold, Transaction
from tocsin.model.access import Operation
from tocsin.model.entity import Document, map_objects
from tocsin.model.list_identity import REFERENCE_LISTS
from tocsin.model.pointers import (
    LABEL_TYPES,
    hidden_label,
    is_hidden_label,
    is_reference,
    labels_in,
    lies_in,
    names_in,
    references_in,
    tables_named,
    without_hidden,
)
from tocsin.model.stored import Key

Json = Any  # Any: a JSON value


class Redaction:
    """One redaction, for one request; ``token`` is a text that nobody can guess."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._kept: dict[str, Json] = {}

    def hide(self, document: Document, hidden: Collection[str]) -> Document:
        """Return the document with a stub for each part that names one of ``hidden``: ids, or full names of tables.

        References to the document's ancestors stay: its own FQN contains their names.
        """
        self._kept = {}
        covered: Document = self._with_stubs(document, frozenset(hidden), document) if hidden else document
        return covered

    def restore(self, value: Json) -> Json:
        """Return a JSON value with its stubs replaced by the original parts."""
        return map_objects(value, self._original_of) if self._kept else value

    def _original_of(self, stub: Document) -> Document:
        """Return what a stub stands for; any other object as it is."""
        return self._kept.get(str(stub.get("id")), stub) if len(stub) == 1 else stub

    def _with_stubs(self, value: Json, hidden: frozenset[str], document: Document, *, key: str = "") -> Json:
        if isinstance(value, list):
            covered = [self._with_stubs(one, hidden, document) for one in value]
            return sorted(covered, key=self._is_stub) if key in REFERENCE_LISTS or key == "tags" else covered
        if isinstance(value, str):
            is_seen = without_hidden(value, hidden, document) == value
            return value if is_seen else self._stub(value)
        if not isinstance(value, dict):
            return value
        if _is_hidden(value, hidden, document):
            return self._stub(value)
        return {name: self._with_stubs(inner, hidden, document, key=name) for name, inner in value.items()}

    def _stub(self, value: Json) -> Document:
        name = f"{self._token}-{len(self._kept)}"
        self._kept[name] = value
        return {"id": name}

    def _is_stub(self, value: Json) -> bool:
        return isinstance(value, dict) and value.get("id") in self._kept


def hidden_references(document: Document, permit: Permit, transaction: Transaction) -> set[str]:
    """Return the ids, full names of tables and labels in a document that the owner of ``permit`` may not see.

    Types of which they see all, or nothing, need no lookup.
    """
    if permit is EVERYTHING:
        return set()
    references = ((str(one["type"]), Key.by_id(one["id"])) for one in references_in(document))
    targets = {*references, *(("table", Key.by_name(name)) for name in names_in(document))}
    sees_all_labels = all(_sees_all(kind, permit) for kind in LABEL_TYPES)
    labels = {(kind, Key.by_name(name)) for kind, name in (() if sees_all_labels else labels_in(document))}
    names = {str(key.id or key.fqn) for _, key in _unseen(targets, permit, transaction)}
    return names | {hidden_label((kind, str(key.fqn))) for kind, key in _unseen(labels, permit, transaction)}


def _sees_all(entity_type: str, permit: Permit) -> bool:
    is_certain = permit.is_certain(entity_type, Operation.VIEW_BASIC)
    return is_certain and permit.may(Operation.VIEW_BASIC, entity_type, {})


def _unseen(
    targets: Collection[tuple[str, Key]], permit: Permit, transaction: Transaction
) -> Iterator[tuple[str, Key]]:
    for entity_type, key in sorted(targets, key=str):
        if permit.is_certain(entity_type, Operation.VIEW_BASIC):
            is_seen = permit.may(Operation.VIEW_BASIC, entity_type, {})
        else:
            entity = transaction.find(entity_type, key, Hold.SHARED)
            is_seen = entity is not None and permit.may(Operation.VIEW_BASIC, entity_type, entity.document)
        if not is_seen:
            yield entity_type, key


def _is_hidden(value: Document, hidden: frozenset[str], document: Document) -> bool:
    if is_reference(value):
        return value["id"] in hidden and not lies_in(value, document)
    return is_hidden_label(value, hidden) or not hidden.isdisjoint(tables_named(value))
