"""May whoever writes do this? Asked inside the write's own transaction, of what is really there.

Every write that begins with a request asks here, once, for the entity it is about; what follows from it (children
that go along, names that follow) is not asked again. Who decides is handed in. Next: ``flow/capture/requested.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from tocsin.access.operations import changed, given_with
from tocsin.flow.capture.heritage import Entry, Heritage, with_asked
from tocsin.flow.capture.members import SERVER_KEPT
from tocsin.flow.capture.ports import Key, Stored, Transaction
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.people import Actor

_TAKEN_OVER = ("owners", "domains")


class Permit(Protocol):
    """What one actor may do."""

    def check(self, entity_type: str, operations: Collection[Operation], document: Document) -> None:
        """Refuse, with ``Forbidden``, operations on this document that the actor may not do."""
        ...

    def is_certain(self, entity_type: str, operation: Operation) -> bool:
        """Say whether the operation is allowed on every document of the type, or on none."""
        ...

    def inherited(self, entity_type: str, operations: Collection[Operation]) -> Collection[str]:
        """Return the keys on which these operations depend and which a document may inherit."""
        ...


Permits = Callable[[Actor], Permit]


class _Everything:
    """The permit of Tocsin's own parts."""

    def check(self, entity_type: str, operations: Collection[Operation], document: Document) -> None:
        """Refuse nothing."""

    def is_certain(self, entity_type: str, operation: Operation) -> bool:
        """Say yes."""
        return True

    def inherited(self, entity_type: str, operations: Collection[Operation]) -> Collection[str]:
        """Return none."""
        return ()


EVERYTHING: Permit = _Everything()


def everything(_actor: Actor) -> Permit:
    """Return a permit for everything, whoever asks: for whoever has asked already, and for Tocsin itself."""
    return EVERYTHING


class _InPlace:
    """A permit that is asked about what is stored: it sees with it the owners and domains that this inherits."""

    def __init__(self, permit: Permit, transaction: Transaction) -> None:
        self._permit, self._transaction = permit, transaction
        self.is_certain, self.inherited = permit.is_certain, permit.inherited

    def check(self, entity_type: str, operations: Collection[Operation], document: Document) -> None:
        if keys := self._permit.inherited(entity_type, operations):
            document = with_asked(entity_type, document, _above(self._transaction), keys)
        self._permit.check(entity_type, operations, document)


def in_place(permit: Permit, transaction: Transaction) -> Permit:
    """Return the permit as it is to be asked inside a transaction."""
    return permit if permit is EVERYTHING else _InPlace(permit, transaction)


def check_create(permit: Permit, kind: EntityType, document: Document, transaction: Transaction) -> None:
    """Refuse to create an entity of this document, with what it brings along.

    A rule's condition is asked of the entity as it would stand under its parent: with the parent's owners, so that
    nobody gets in by naming themselves.
    """
    if permit is EVERYTHING:
        return
    would_be = document
    if not permit.is_certain(kind.name, Operation.CREATE):
        would_be = _placed(kind, document, transaction)
    permit.check(kind.name, {Operation.CREATE}, would_be)
    if brought := given_with(kind.name, document):
        permit.check(kind.name, brought, would_be)


def check_change(permit: Permit, kind: EntityType, old: Stored, fields: Document) -> None:
    """Refuse to bring an entity to these fields; each key that differs needs its own operation, or ``EditAll``."""
    if permit is EVERYTHING:
        return
    keys = (old.document.keys() | fields.keys()) - SERVER_KEPT
    needed = changed(kind.name, old.document, fields, keys)
    permit.check(kind.name, needed or {Operation.VIEW_BASIC}, old.document)


def check_delete(permit: Permit, target: Stored) -> None:
    """Refuse to delete an entity."""
    permit.check(target.entity_type, {Operation.DELETE}, target.document)


def check_restore(permit: Permit, target: Stored) -> None:
    """Refuse to bring an entity back."""
    permit.check(target.entity_type, {Operation.EDIT_ALL}, target.document)


def _placed(kind: EntityType, document: Document, transaction: Transaction) -> Document:
    """Return the document as it would stand under its parent."""
    taken = {key: value for key, value in document.items() if key != "owners"}
    field = kind.parent_field(document)
    reference = document.get(field or "")
    if not isinstance(reference, dict) or "id" not in reference:
        return taken
    parent = transaction.find(str(reference["type"]), Key.by_id(str(reference["id"])))
    above = with_asked(parent.entity_type, parent.document, _above(transaction)) if parent else {}
    return {**{key: above[key] for key in _TAKEN_OVER if key in above}, **taken}


def _above(transaction: Transaction) -> Callable[[Entry], Heritage]:
    return lambda entry: transaction.heritage(*entry)
