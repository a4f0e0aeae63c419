"""Steps of the sample's history: one class per kind of action, with actor and time.

Steps name entities by FQN and people by name; ids exist only after a step is written. Next: ``sample/load.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.model.entity import Document


class Act:
    """Something that an actor does: one of the classes below."""


@dataclass(frozen=True)
class Create(Act):
    """Something new is catalogued."""

    entity_type: str
    request: Document


@dataclass(frozen=True)
class Ensure(Act):
    """Something is catalogued unless it is there."""

    entity_type: str
    request: Document


@dataclass(frozen=True)
class Define(Act):
    """A type of entity gets a custom property."""

    entity_type: str
    custom_property: Document


@dataclass(frozen=True)
class Enlist(Act):
    """A test joins a suite."""

    suite: str
    case_fqn: str


@dataclass(frozen=True)
class ChangeStep(Act):
    """Something is changed, by the operations of a JSON Patch."""

    entity_type: str
    fqn: str
    operations: tuple[Document, ...]


@dataclass(frozen=True)
class Retire(Act):
    """Something is soft-deleted."""

    entity_type: str
    fqn: str


@dataclass(frozen=True)
class RestoreEntity(Act):
    """Something soft-deleted is restored."""

    entity_type: str
    fqn: str


@dataclass(frozen=True)
class Connect(Act):
    """A lineage edge: ``to_fqn`` is made from ``from_fqn`` by the pipeline ``made_by``, ``columns`` as they are."""

    from_type: str
    from_fqn: str
    to_type: str
    to_fqn: str
    made_by: str | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Follow(Act):
    """The actor follows something from now on."""

    entity_type: str
    fqn: str


@dataclass(frozen=True)
class ReportResult(Act):
    """A test ran."""

    fqn: str
    result: Document


@dataclass(frozen=True)
class ReportRun(Act):
    """A pipeline ran."""

    fqn: str
    status: Document


@dataclass(frozen=True)
class SampleStep:
    """One act of one person or bot (by name; ``system`` for Tocsin itself) at one moment, epoch milliseconds."""

    at_ms: int
    actor: str
    act: Act
