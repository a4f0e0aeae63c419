"""What a source keeps between its runs: how far it is, and which entities here are which of its own.

Next: ``store/upkeep/source_records.py``, which implements ``SourceRecords``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tocsin.model.entity import Document
from tocsin.model.source_link import SourceLink

GONE = "gone"
"""The digest of an entity that the source has no more."""


@dataclass(frozen=True)
class SourceEntity:
    """One entity of a source, and the one here that stands for it.

    Attributes
    ----------
    source_id : its id in the source
    entity_id : the id of the entity here: the same, unless that one was here before
    is_brought : whether the source created it: only such an entity is ever deleted
    updated_at_ms : when the state that was applied last was written in the source
    digest : digest of what was applied last; None if that was not all of the entity
    """

    source_id: str
    entity_type: str
    entity_id: str
    is_brought: bool
    updated_at_ms: int = 0
    digest: str | None = None


@dataclass(frozen=True)
class SourceState:
    """How far a source is.

    Attributes
    ----------
    watermark_ms : the events of the source up to here are applied; None before the first run
    is_loaded : whether the first load is complete
    loaded_at_ms : when the first load began: what is older is history
    reconciled_at_ms : when the lists were last compared, all of them
    lineage_after : how far the lineage is compared, as an id in the source; None if nothing of it is left to compare
    mapped_at_ms : when that mapping was first seen: edges from before it are history
    mapping : what was mapped in the last comparison; None if that is not known
    last_run : the report of the last run
    """

    watermark_ms: int | None = None
    is_loaded: bool = False
    loaded_at_ms: int = 0
    reconciled_at_ms: int = 0
    lineage_after: str | None = None
    mapped_at_ms: int = 0
    mapping: Document | None = None
    last_run: Document = field(default_factory=dict)


class SourceRecords(Protocol):
    """The records of one source."""

    @property
    def source(self) -> str:
        """The name of the source."""

    def state(self) -> SourceState:
        """Return how far the source is."""

    def save(self, state: SourceState) -> None:
        """Keep how far the source is."""

    def entities(self) -> Iterable[SourceEntity]:
        """Return all entities of the source."""

    def put(self, row: SourceEntity) -> None:
        """Keep which entity stands for one of the source."""

    def forget(self, source_id: str) -> None:
        """Forget an entity of the source."""

    def labels(self) -> set[str]:
        """Return the FQNs of all live tags and glossary terms but those that are not mapped."""

    def list_shown(self, entity_types: Iterable[str]) -> Iterable[tuple[str, str, str]]:
        """Return type, id and FQN of what the source brought of these types and does not carry the mark."""

    def list_live(self, entity_types: Iterable[str]) -> Sequence[tuple[str, str, str]]:
        """Return id in the source, and id and FQN here, of what is live and not marked of these types, by the first."""

    def links(self) -> Iterable[SourceLink]:
        """Return all edges and followers of the source."""

    def person_at(self, email: str) -> str | None:
        """Return the id of the live person with this address."""

    def holds_entity(self, entity_id: str, *, written_by: str | None = None) -> bool:
        """Return whether an entity with this id is here; with ``written_by``, whether that actor wrote it last."""

    def is_recorded(self, entity_id: str) -> bool:
        """Return whether an entity stands for one of this source or of another."""

    def holds_event(self, event_id: str) -> bool:
        """Return whether the log holds an event."""
