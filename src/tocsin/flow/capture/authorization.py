"""Authorization of writes, checked inside the transaction against the stored state.

Every write that starts with a request is checked once, for the entity it addresses; its consequences (deleted
children, updated names) are not checked again. The policy is passed in. Next: ``flow/capture/upsert.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from tocsin.access.operations import operations_needed, operations_to_create
from tocsin.access.policy_dependencies import PROTECTIVE
from tocsin.access.resources import ASSETS, CLAIMABLE, CONTAINERS
from tocsin.access.visibility_parents import ABOUT, GONE, gone_kinds, subject_references, with_found
from tocsin.errors import Forbidden
from tocsin.flow.capture.ports import Transaction
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import Entry, Heritage, with_asked
from tocsin.model.list_identity import SERVER_KEPT
from tocsin.model.people import Actor
from tocsin.model.stored import Key, Stored

_TAKEN_OVER = ("owners", "domains")


class Permit(Protocol):
    """What one actor may do."""

    def check(self, entity_type: str, operations: Collection[Operation], document: Document) -> None:
        """Refuse, with ``Forbidden``, operations on this document that the actor may not do."""

    def check_apart(self, entity_type: str, operations: Collection[Operation], document: Document) -> None:
        """Refuse, with ``Forbidden``, what the actor may do with this document only because of who owns it."""

    def check_kept(self, entity_type: str, before: Document, after: Document) -> None:
        """Refuse, with ``Forbidden``, a change that would lift what a rule denies the actor."""

    def may(self, operation: Operation, entity_type: str, document: Document) -> bool:
        """Return whether the actor may do this with the document; a denial is not logged."""

    def denies_some(self, entity_type: str) -> bool:
        """Return whether a rule denies the actor something on some entities of this type and not on others."""

    def bears(self, entity_type: str, document: Document) -> bool:
        """Return whether a policy rests on this entity."""

    def is_certain(self, entity_type: str, operation: Operation) -> bool:
        """Return whether the operation is allowed on every document of the type, or on none."""

    def inheritable_keys(self, entity_type: str, operations: Collection[Operation]) -> Collection[str]:
        """Return the keys on which these operations depend and which a document may inherit."""


Permits = Callable[[Actor], Permit]


class _Everything:
    """The permit of Tocsin's own parts."""

    def check(self, entity_type: str, operations: Collection[Operation], document: Document) -> None:
        """Refuse nothing."""

    check_apart = check

    def check_kept(self, entity_type: str, before: Document, after: Document) -> None:
        """Refuse nothing."""

    def may(self, operation: Operation, entity_type: str, document: Document) -> bool:
        """Return true."""
        return True

    def denies_some(self, entity_type: str) -> bool:
        """Return false."""
        return False

    def bears(self, entity_type: str, document: Document) -> bool:
        """Return false: every check is passed anyway."""
        return False

    def is_certain(self, entity_type: str, operation: Operation) -> bool:
        """Return true."""
        return True

    def inheritable_keys(self, entity_type: str, operations: Collection[Operation]) -> Collection[str]:
        """Return none."""
        return ()


EVERYTHING: Permit = _Everything()


def permit_everything(_actor: Actor) -> Permit:
    """Return a permit for everything: for callers that have checked already, and for Tocsin itself."""
    return EVERYTHING


class _InPlace:
    """A permit for what is stored: it sees with it the owners and domains that this inherits."""

    def __init__(self, permit: Permit, transaction: Transaction) -> None:
        self._permit, self._transaction = permit, transaction
        self.is_certain, self.inheritable_keys = permit.is_certain, permit.inheritable_keys
        self.denies_some = permit.denies_some

    def check(self, entity_type: str, operations: Collection[Operation], document: Document) -> None:
        self._permit.check(entity_type, operations, self._with_context(entity_type, operations, document))

    def check_apart(self, entity_type: str, operations: Collection[Operation], document: Document) -> None:
        self._permit.check_apart(entity_type, operations, self._with_context(entity_type, operations, document))

    def check_kept(self, entity_type: str, before: Document, after: Document) -> None:
        if not self._permit.denies_some(entity_type):
            return
        place = {key: before[key] for key in ("fullyQualifiedName", "owners") if key in before}
        previous, now = (self._with_context(entity_type, tuple(Operation), one) for one in (before, after | place))
        self._permit.check_kept(entity_type, previous, now)

    def may(self, operation: Operation, entity_type: str, document: Document) -> bool:
        return self._permit.may(operation, entity_type, self._with_context(entity_type, (operation,), document))

    def bears(self, entity_type: str, document: Document) -> bool:
        """Also say so of a team below one that decides permissions: its members inherit them."""
        if self._permit.bears(entity_type, document):
            return True
        above = {str(parent["id"]) for parent in document.get("parents") or ()} if entity_type == "team" else ()
        return bool(above) and self._transaction.teams.decide(above, ())

    def _with_context(self, entity_type: str, operations: Collection[Operation], document: Document) -> Document:
        keys = self._permit.inheritable_keys(entity_type, operations)
        if keys:
            document = with_asked(entity_type, document, _above(self._transaction), keys)
        is_about = entity_type in ABOUT and Operation.VIEW_BASIC in operations
        return _with_about(entity_type, document, self._transaction) if is_about else document


def in_place(permit: Permit, transaction: Transaction) -> Permit:
    """Return the permit for use inside a transaction."""
    return permit if permit is EVERYTHING else _InPlace(permit, transaction)


def check_create(permit: Permit, kind: EntityType, document: Document, transaction: Transaction) -> None:
    """Deny creating an entity of this document and everything created with it, unless permitted.

    A rule's condition is evaluated on the entity as it would be under its parent: with the parent's owners, so that
    nobody gains access by naming themselves.
    """
    if permit is EVERYTHING:
        return
    would_be = document
    if not permit.is_certain(kind.name, Operation.CREATE):
        would_be = _under_parent(kind, document, transaction)
    permit.check(kind.name, {Operation.CREATE}, would_be)
    if brought := operations_to_create(kind.name, document):
        permit.check(kind.name, brought, would_be)
    if _gives_powers(kind.name, {}, document, transaction):
        permit.check(kind.name, {Operation.ALL}, would_be)


def check_change(
    permit: Permit, old: Stored, fields: Document, transaction: Transaction, *, is_report: bool = False
) -> None:
    """Deny changing an entity to these fields; each changed key requires its own operation, or ``EditAll``.

    In a bot's report, display names that no person wrote require only what creating the entity with them does.
    Changes of an entity that access decisions depend on require a right apart from ownership. Members of a team with
    roles or policies may be changed only by people who may grant these.
    """
    if permit is EVERYTHING:
        return
    kind = ENTITY_TYPES[old.entity_type]
    keys = (old.document.keys() | fields.keys()) - SERVER_KEPT
    operations = operations_needed(kind.name, old.document, fields, keys)
    name = Operation.EDIT_DISPLAY_NAME
    if is_report and name in operations and not permit.may(name, kind.name, old.document):
        operations = operations - {name} | {Operation.CREATE}
    permit.check(kind.name, operations or {Operation.VIEW_BASIC}, old.document)
    protective = operations_needed(kind.name, old.document, fields, keys & PROTECTIVE)
    if protective and (permit.bears(kind.name, old.document) or permit.bears(kind.name, old.document | fields)):
        permit.check_apart(kind.name, protective, old.document)
    if kind.name in CONTAINERS and "domains" in keys and permit.bears("domain", {}):  # its descendants inherit them
        permit.check_apart(kind.name, operations_needed(kind.name, old.document, fields, {"domains"}), old.document)
    if operations:
        permit.check_kept(kind.name, old.document, fields)
    if _gives_powers(kind.name, old.document, fields, transaction):
        permit.check(kind.name, {Operation.ALL}, old.document)


def check_view(permit: Permit, entity: Stored) -> None:
    """Reject a write on an entity that the actor may not see.

    Checked as soon as an entity is found, before any other error: the actor gets the same response
    whatever they send.
    """
    permit.check(entity.entity_type, {Operation.VIEW_BASIC}, entity.document)


def check_delete(permit: Permit, target: Stored, *, hard: bool) -> None:
    """Deny deleting an entity, unless permitted.

    Deleting an entity that access decisions depend on, and hard-deleting what people can claim or restore, requires a
    right apart from ownership.
    """
    is_open = target.entity_type in CLAIMABLE
    is_for_good = hard or "deleted" not in target.document
    is_kept = is_for_good and target.entity_type in ASSETS and (is_open or "deleted" in target.document)
    check = permit.check_apart if is_kept or permit.bears(target.entity_type, target.document) else permit.check
    check(target.entity_type, {Operation.DELETE}, target.document)


def check_under(under: Collection[Stored], verb: str, check: Callable[[Stored], None]) -> None:
    """Check each of an entity's descendants; ``verb`` says what is to be done with them.

    Raises
    ------
    Forbidden : some do not pass; the message has their number
    """
    refused = 0
    for entity in under:
        try:
            check(entity)
        except Forbidden:
            refused += 1
    if refused:
        raise Forbidden(f"You may not {verb} {refused} of the {len(under)} entities below it; nothing was changed.")


def check_restore(permit: Permit, target: Stored, transaction: Transaction) -> None:
    """Deny restoring an entity, unless permitted; a person regains their roles, a team those of its members."""
    permit.check(target.entity_type, {Operation.EDIT_ALL}, target.document)
    is_team = target.entity_type == "team"
    if permit is not EVERYTHING and (
        target.entity_type == "user" or (is_team and transaction.teams.decide({target.id}, {target.fqn}))
    ):
        permit.check(target.entity_type, {Operation.ALL}, target.document)


def _gives_powers(entity_type: str, old: Document, new: Document, transaction: Transaction) -> bool:
    """Return whether a change of team members grants or revokes the roles and policies of a team."""
    if entity_type not in ("user", "team"):
        return False
    names: set[str] = set()
    teams = _changed_reference_ids("teams" if entity_type == "user" else "parents", old, new)
    if entity_type == "team" and _changed_reference_ids("users", old, new):
        teams |= {one["id"] for one in (*(new.get("parents") or ()), *([old] if old else ()))}
        names = {str(new.get("name"))}
    return bool(teams or names) and transaction.teams.decide(teams, names)


def _changed_reference_ids(key: str, old: Document, new: Document) -> set[str]:
    """Return the ids of the references that one of two documents has in a list and the other has not."""
    before, after = ({str(one["id"]) for one in document.get(key) or ()} for document in (old, new))
    return before ^ after


def _under_parent(kind: EntityType, document: Document, transaction: Transaction) -> Document:
    """Return the document as it would be under its parent."""
    fields = {key: value for key, value in document.items() if key != "owners"}
    field = kind.parent_field(document)
    reference = document.get(field or "")
    if not isinstance(reference, dict) or "id" not in reference:
        return fields
    parent = transaction.find(str(reference["type"]), Key.by_id(str(reference["id"])))
    above = with_asked(parent.entity_type, parent.document, _above(transaction)) if parent else {}
    return {**{key: above[key] for key in _TAKEN_OVER if key in above}, **fields}


def _with_about(entity_type: str, document: Document, transaction: Transaction) -> Document:
    """Return a test, a suite or a query with what it is about, on which it depends who may see it."""
    references = subject_references(entity_type, document)
    subjects = [(one["type"], transaction.find(one["type"], _key(one))) for one in references]
    if any(subject is None for _, subject in subjects):
        return document
    find, attachments = _above(transaction), transaction.attachments
    gone_subjects = [
        (subject, GONE)
        for kind, subject in gone_kinds(entity_type).items()
        if attachments.get(str(document.get("id")), kind)
    ]
    return with_found(
        document,
        [*((kind, with_asked(kind, subject.document, find)) for kind, subject in subjects if subject), *gone_subjects],
    )


def _key(reference: Document) -> Key:
    return Key.by_id(reference["id"]) if "id" in reference else Key.by_name(reference["fullyQualifiedName"])


def _above(transaction: Transaction) -> Callable[[Entry], Heritage]:
    return lambda entry: transaction.heritage(*entry)
