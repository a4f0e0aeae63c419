"""Stored entities, the keys to look them up, and the result of a write.

Next: ``flow/capture/ports.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.inheritance import INHERITED_KEYS
from tocsin.model.labels import LabelNames, carries_labels, labels_of


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


def not_found(entity_type: str, key: Key) -> NotFound:
    """Return the error for an entity that does not exist."""
    return NotFound(f"{entity_type} {key} not found", entity_type=entity_type, fqn=key.fqn)


def soft_deleted(entity_type: str, name: str, *, field: str | None = None) -> InvalidInput:
    """Return the error for a write that needs an entity which is soft-deleted."""
    return InvalidInput(f"{entity_type} {name} is deleted; restore it first", field=field)


@dataclass(frozen=True)
class Stored:
    """A stored entity; ``document`` holds all of it but followers.

    ``updated_by_id`` is who made its present version; None if that is unknown. ``curated`` are the paths of the values
    that a person wrote last (``flow/capture/curation.py``); None if nobody has worked them out yet. ``reason`` is why
    the version is written, as its author says; an entity that was read has none.
    """

    id: str
    entity_type: str
    fqn: str
    version: Decimal
    document: Document
    updated_by_id: str | None = None
    curated: frozenset[str] | None = None
    reason: str | None = None

    @property
    def is_deleted(self) -> bool:
        """Whether it is soft-deleted."""
        return bool(self.document.get("deleted"))

    @cached_property
    def labels(self) -> frozenset[tuple[str, str]]:
        """The source and the FQN of each label that it or a member of it carries."""
        if not carries_labels(self.document):
            return frozenset()
        return frozenset((str(label.get("source", "")), label["tagFQN"]) for label in labels_of(self.document))


@dataclass(frozen=True)
class Relabelling:
    """New names of labels that a rename at ``at_ms`` gave to what carries them; ``root_id`` is what was renamed."""

    root_id: str
    at_ms: int
    names: LabelNames


@dataclass(frozen=True)
class Draft:
    """A document asked for, and the FQN it will have."""

    fqn: str
    document: Document


@dataclass(frozen=True)
class CapturedEvent:
    """A change event on its way into the log, with its derived fields."""

    event: ChangeEvent
    derived: Document


@dataclass(frozen=True)
class Written:
    """Result of a write.

    ``event`` is None when nothing changed. ``cascaded`` holds the events of other entities that the same
    transaction wrote: descendants of what was deleted, a test suite made on demand. ``deletedness`` says by id of what
    the entity refers to whether it is softly deleted, as far as the store found out while it wrote.
    """

    document: Document
    event: ChangeEvent | None
    created: bool = False
    cascaded: tuple[ChangeEvent, ...] = ()
    deletedness: Mapping[str, bool] = field(default_factory=dict)

    @property
    def as_read(self) -> Document | None:
        """The entity with its inherited values, as in its event; None without an event."""
        stated = self.event.entity if self.event else None
        if not stated or stated.get("id") != self.document.get("id"):
            return None
        return self.document | {key: stated[key] for key in INHERITED_KEYS if key in stated}
