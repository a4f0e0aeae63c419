"""Records of one source in the store, as typed values. Next: ``store/upkeep/source_records.py``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import Engine

from tocsin.model.source_link import LinkKind, SourceLink
from tocsin.sources.records import SourceEntity, SourceState
from tocsin.store.upkeep.source_records import StoredSource


class StoredRecords:
    """The records of one source; implements ``SourceRecords``."""

    def __init__(self, engine: Engine, source: str) -> None:
        self.source, self._stored = source, StoredSource(engine, source)
        self.forget, self.labels, self.list_shown = self._stored.forget, self._stored.labels, self._stored.list_shown
        self.person_at, self.list_live = self._stored.person_at, self._stored.list_live
        self.holds_entity, self.holds_event = self._stored.holds_entity, self._stored.holds_event
        self.is_recorded = self._stored.is_recorded

    def state(self) -> SourceState:
        """Return how far the source is."""
        return SourceState(**self._stored.state())  # type: ignore[arg-type]  # what save() kept

    def save(self, state: SourceState) -> None:
        """Keep how far the source is."""
        self._stored.save_state(asdict(state))

    def entities(self) -> Iterable[SourceEntity]:
        """Return all entities of the source."""
        return [SourceEntity(**row) for row in self._stored.rows()]  # type: ignore[arg-type]  # as above

    def links(self) -> Iterable[SourceLink]:
        """Return all edges and followers of the source."""
        links = self._stored.links()
        return [SourceLink(**link | {"kind": LinkKind(str(link["kind"]))}) for link in links]  # type: ignore[arg-type]  # as above

    def put(self, row: SourceEntity) -> None:
        """Keep which entity stands for one of the source."""
        self._stored.put_row(asdict(row))
