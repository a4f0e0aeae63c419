"""Protocols and types that capture needs from the store: the catalogue, one transaction at a time.

``store/catalogue/write.py`` implements these protocols. Next: ``flow/capture/operations.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Protocol

from tocsin.errors import Conflict, NotFound
from tocsin.flow.capture.feed.ports import ThreadRows
from tocsin.flow.capture.inheritance import INHERITED_KEYS, Heritage
from tocsin.flow.capture.observations.ports import Attachments, Incidents, Series, Suites, UsageCounts
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.lineage import Edge


class Collision(Conflict):
    """Somebody else wrote the same thing at the same moment."""

    code = "COLLISION"


class MustWriteError(Exception):
    """A dry run needs a result that only writing can give."""


@dataclass(frozen=True)
class Key:
    """By what an entity is looked up: its id or its FQN."""

    id: str | None = None
    fqn: str | None = None

    @classmethod
    def by_id(cls, entity_id: str) -> Key:
        """Return the key of the entity with that id."""
        return cls(id=entity_id)

    @classmethod
    def by_name(cls, fqn: str) -> Key:
        """Return the key of the entity with that FQN."""
        return cls(fqn=fqn)

    def __str__(self) -> str:
        return self.id or self.fqn or ""


def missing(entity_type: str, key: Key) -> NotFound:
    """Return the error for an entity that does not exist."""
    return NotFound(f"{entity_type} {key} not found", entity_type=entity_type, fqn=key.fqn)


@dataclass(frozen=True)
class Stored:
    """A stored entity; ``document`` holds all of it but followers."""

    id: str
    entity_type: str
    fqn: str
    version: Decimal
    document: Document

    @property
    def deleted(self) -> bool:
        """Whether it is soft-deleted."""
        return bool(self.document.get("deleted"))


@dataclass(frozen=True)
class CapturedEvent:
    """A change event on its way into the log, with its derived fields."""

    event: ChangeEvent
    derived: Document


@dataclass(frozen=True)
class Written:
    """Result of a write.

    ``event`` is None when nothing changed. ``cascaded`` holds the events of other entities that the same
    transaction wrote: descendants of what was deleted, a test suite made on demand.
    """

    document: Document
    event: ChangeEvent | None
    created: bool = False
    cascaded: tuple[ChangeEvent, ...] = ()

    @property
    def as_read(self) -> Document | None:
        """The entity with its inherited values, as in its event; None without an event."""
        told = self.event.entity if self.event else None
        if not told or told.get("id") != self.document.get("id"):
            return None
        return self.document | {key: told[key] for key in INHERITED_KEYS if key in told}


class Hold(Enum):
    """How firmly a found entity is held until the transaction ends (PostgreSQL; SQLite has one writer)."""

    SHARED = "shared"  # it stays; others may refer to it too
    CHANGE = "change"  # nobody else changes it
    REMOVE = "remove"  # nobody else changes it or refers to it


class Teams(Protocol):
    """The tree of teams."""

    def children(self, team_id: str) -> list[Document]:
        """Return references to the teams directly under one, each with its ``teamType``."""
        ...

    def at_address(self, email: str) -> Document | None:
        """Return a reference to a person with this email address, soft-deleted people included."""
        ...

    def decide(self, team_ids: Collection[str], names: Collection[str]) -> bool:
        """Say whether being in one of these teams, or in one of these names, decides what somebody may do.

        It does if the team or one above it, short of the Organization, has roles or policies, or if a rule names it.
        """
        ...

    def domains(self, member_id: str) -> list[Document]:
        """Return the domains that come down to a team or a person from the teams they are in."""
        ...


class Transaction(Protocol):
    """One write transaction on the catalogue and the log."""

    @property
    def threads(self) -> ThreadRows:
        """Return the rows of threads."""
        ...

    @property
    def series(self) -> Series:
        """The reports over time."""
        ...

    @property
    def attachments(self) -> Attachments:
        """The attachments of entities."""
        ...

    @property
    def incidents(self) -> Incidents:
        """The incidents of test cases."""
        ...

    @property
    def suites(self) -> Suites:
        """The members of logical test suites."""
        ...

    @property
    def teams(self) -> Teams:
        """The tree of teams."""
        ...

    @property
    def usage(self) -> UsageCounts:
        """How often entities were used."""
        ...

    def find(self, entity_type: str, key: Key, hold: Hold = Hold.CHANGE) -> Stored | None:
        """Return the entity, soft-deleted or not, and hold it; None if there is none."""
        ...

    def reference(self, entity_type: str, key: Key) -> Document | None:
        """Return the full reference to an entity (with ``deleted`` when it is), held as shared; None if none."""
        ...

    def descendants(self, entity_types: Sequence[str], fqn: str) -> list[Stored]:
        """Return every entity of these types whose FQN is below ``fqn``, locked for removal, in FQN order."""
        ...

    def referring(self, entity_ids: Sequence[str], tags: Sequence[str]) -> list[Stored]:
        """Return every entity that names one of these in a list of references, or carries one of these tags."""
        ...

    def extended(self, entity_type: str, name: str) -> list[Stored]:
        """Return every entity of this type that has a value of this custom property, held for change."""
        ...

    def heritage(self, entity_type: str, fqn: str) -> Heritage:
        """Return what an entity at this place inherits if it has nothing of its own."""
        ...

    def version(self, entity_id: str, number: Decimal) -> Document | None:
        """Return the document of one version of an entity, or None if it has no such version."""
        ...

    def forget_version(self, entity_id: str, number: Decimal) -> None:
        """Remove one version of an entity, to be kept again in another form or taken back."""
        ...

    def insert(self, new: Stored) -> None:
        """Add an entity and its first version."""
        ...

    def update(self, old: Stored, new: Stored) -> None:
        """Replace an entity; a new version is kept when the version number differs."""
        ...

    def remember_relations(self, entity_ids: Collection[str]) -> None:
        """Look up who has to do with these entities, which are about to be erased together."""
        ...

    def erase(self, gone: Stored) -> None:
        """Remove an entity and all that hangs on it, except its versions."""
        ...

    def follow(self, entity: Stored, user_id: str) -> bool:
        """Make the user a follower as of the event of this write; False if they already were one."""
        ...

    def unfollow(self, entity: Stored, user_id: str) -> bool:
        """Make the user no follower; False if they were none."""
        ...

    def edge(self, from_id: str, to_id: str) -> Edge | None:
        """Return a lineage edge and lock it; None if there is no such edge."""
        ...

    def edges_of(self, entity_id: str) -> list[Edge]:
        """Return every lineage edge that leads from or to an entity, or whose data it moves."""
        ...

    def put_edge(self, from_: Stored, to: Stored, details: Document) -> None:
        """Add a lineage edge or replace its details."""
        ...

    def delete_edge(self, from_id: str, to_id: str) -> None:
        """Remove a lineage edge."""
        ...

    def append(self, events: Iterable[CapturedEvent]) -> None:
        """Add events to the log and the outbox, in this order."""
        ...


class BatchedTransaction(Transaction, Protocol):
    """One write transaction for many writes, each of which succeeds or fails on its own."""

    def row(self) -> AbstractContextManager[None]:
        """Begin one of the writes; an error that leaves it undoes it and nothing else."""
        ...

    def look_ahead(self, entity_type: str, fqns: Iterable[str]) -> None:
        """Prefetch the entities that will be looked up; others are found as well, only slower."""
        ...


class Catalogue(Protocol):
    """Opens write transactions."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction: committed at the end, rolled back on an error.

        Raises
        ------
        Collision : somebody else wrote the same thing at the same moment; try again.
        """
        ...


class BatchedCatalogue(Protocol):
    """Opens write transactions for many writes."""

    def batch(self) -> AbstractContextManager[BatchedTransaction]:
        """Open a transaction for many writes: committed at the end, rolled back on an error.

        Raises
        ------
        Collision : somebody else wrote the same thing at the same moment; try again.
        """
        ...

    def rehearsal(self) -> AbstractContextManager[BatchedTransaction]:
        """Open a transaction that is rolled back, without blocking others where possible.

        Raises
        ------
        MustWriteError : it needs the write lock; an aborted batch raises the same
        """
        ...
