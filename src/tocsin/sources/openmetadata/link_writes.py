"""Writes of one edge or follower of the source; the row that remembers it commits in the same transaction.

What a person made, changed or removed here stays so, and is marked. Next: ``catalogue/lineage/edges.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from tocsin.catalogue.lineage import edges
from tocsin.catalogue.lineage.edge_details import is_written_only_by
from tocsin.catalogue.people import followers
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.write import Record
from tocsin.model.columns import column_fqns
from tocsin.model.entity import Document
from tocsin.model.source_link import OF_PEOPLE, LinkKind, SourceLink
from tocsin.model.stored import Key, Stored, Written
from tocsin.sources.openmetadata.mapping import Mapping, is_marked

_NOTHING = Written({}, None)


@dataclass(frozen=True)
class LinkedAsset:
    """A mapped asset of the source, as it is here."""

    source_id: str
    entity_id: str
    entity_type: str
    fqn: str

    @property
    def reference(self) -> Document:
        """A reference to it."""
        return {"id": self.entity_id, "type": self.entity_type}


@dataclass
class LinkWrite(ABC):
    """The work on one link; it may be done twice, and says afterwards what it did.

    Attributes
    ----------
    digest : what was remembered of the link; None for nothing
    after : what is remembered now; None for nothing
    outcome : what it did, if it changed something
    """

    source: str
    link: SourceLink
    to: LinkedAsset
    mapping: Mapping
    digest: str | None = None
    after: SourceLink | None = None
    outcome: str | None = None
    addition: ClassVar[str] = ""

    @property
    def ends(self) -> set[str]:
        """The ids of both ends, of assets those in the source."""
        return {self.link.from_id, self.to.source_id}

    def __call__(self, record: Record) -> Written:
        """Do the work, if the asset to which the link leads is there and mapped."""
        self.outcome, self.after = None, None if self.digest is None else replace(self.link, digest=self.digest)
        target = self._find(record, self.to)
        return _NOTHING if target is None else self._work(record, target)

    @abstractmethod
    def _work(self, record: Record, target: Stored) -> Written:
        """Do the work on a link that leads to ``target``."""

    def _find(self, record: Record, asset: LinkedAsset) -> Stored | None:
        """Return an end of the link, if it is there and mapped."""
        entity = record.transaction.find(asset.entity_type, Key.by_id(asset.entity_id), Hold.SHARED)
        if entity is None or entity.is_deleted or is_marked(entity.document):
            return None
        return entity if self.mapping.covers(entity.entity_type, entity.fqn) else None

    def _remember(self, record: Record, digest: str) -> None:
        self.after = replace(self.link, digest=digest)
        record.transaction.source_links.put(self.source, self.after)

    def _forget(self, record: Record) -> None:
        self.after = None
        record.transaction.source_links.forget(self.source, self.link)


@dataclass
class FollowerAddition(LinkWrite):
    """Makes a person a follower, unless they are one, or were and stopped."""

    addition = "followersAdded"

    def _work(self, record: Record, target: Stored) -> Written:
        person = record.transaction.reference("user", Key.by_id(self.link.from_id))
        if person is None or person.get("deleted"):
            return _NOTHING
        result = followers.follow(record, target, self.link.from_id)
        if result.event is not None:
            self.outcome = self.addition
        self._remember(record, OF_PEOPLE if result.event is None else result.event.id)
        return result


@dataclass
class FollowerRemoval(LinkWrite):
    """Makes a person no follower, if they are one because of the source."""

    def _work(self, record: Record, target: Stored) -> Written:
        links = record.transaction.source_links
        if not links.is_following(target.id, self.link.from_id):
            self._remember(record, OF_PEOPLE)
            return _NOTHING
        if links.follow_event_id(target.id, self.link.from_id) != self.digest:
            self._forget(record)
            return _NOTHING
        self.outcome = "followersRemoved"
        self._forget(record)
        return followers.unfollow(record, target, self.link.from_id)


@dataclass
class EdgeAddition(LinkWrite):
    """Adds an edge or replaces its details, unless a person made, changed or removed it here."""

    addition = "edgesAdded"
    from_: LinkedAsset | None = None
    details: Document | None = None

    @property
    def ends(self) -> set[str]:
        """The ids of both ends in the source."""
        return {self.to.source_id, *([self.from_.source_id] if self.from_ else [])}

    def _work(self, record: Record, target: Stored) -> Written:
        origin = self._find(record, self.from_) if self.from_ is not None else None
        if origin is None or self.from_ is None:
            return _NOTHING
        old = record.transaction.edge(origin.id, target.id)
        if (self.digest is not None) if old is None else not is_written_only_by(old, record.actor.name):
            self._remember(record, OF_PEOPLE)
            return _NOTHING
        ends = {"fromEntity": self.from_.reference, "toEntity": self.to.reference}
        details = _with_present_columns(self.details or {}, origin, target)
        result = edges.put_edge(record, {**ends, "lineageDetails": details})
        self.outcome = self.addition if old is None else "edgesChanged"
        self._remember(record, self.link.digest)
        return result


@dataclass
class EdgeRemoval(LinkWrite):
    """Removes an edge that the source brought and no person changed."""

    def _work(self, record: Record, target: Stored) -> Written:
        edge = record.transaction.edge(self.link.from_id, target.id)
        if edge is None:
            self._remember(record, OF_PEOPLE)
            return _NOTHING
        self._forget(record)
        if not is_written_only_by(edge, record.actor.name):
            return _NOTHING
        self.outcome = "edgesRemoved"
        return edges.delete_edge(record, edge.from_, self.to.reference)


def _with_present_columns(details: Document, origin: Stored, target: Stored) -> Document:
    """Return the details of an edge without columns that are not here."""
    if "columnsLineage" not in details:
        return details
    names = [frozenset(column_fqns(end.entity_type, end.fqn, end.document)) for end in (origin, target)]
    entries: list[Document] = []
    for entry in details["columnsLineage"]:
        from_columns = [column for column in entry["fromColumns"] if not names[0] or column in names[0]]
        if from_columns and (not names[1] or entry["toColumn"] in names[1]):
            entries.append({**entry, "fromColumns": from_columns})
    return {**details, "columnsLineage": entries}


def remove_texts(record: Record, entity: Stored, source: str) -> None:
    """Remove queries and functions from the source's edges to what is made from an entity: they could name it.

    The next comparison writes the edges anew, as far as it may.
    """
    targets = {edge.to["id"] for edge in record.transaction.edges_of(entity.id) if edge.from_["id"] == entity.id}
    for target_id in sorted(targets):
        for edge in record.transaction.edges_of(target_id):
            if edge.to["id"] == target_id and is_written_only_by(edge, record.actor.name):
                details = _without_texts(edge.details)
                ends = {"fromEntity": edge.from_, "toEntity": edge.to}
                edges.put_edge(record, {**ends, "lineageDetails": details})
                link = SourceLink(LinkKind.EDGE, edge.from_["id"], target_id, "")
                record.transaction.source_links.put(source, link)


def _without_texts(details: Document) -> Document:
    entries = [
        {key: value for key, value in entry.items() if key != "function"} for entry in details.get("columnsLineage", ())
    ]
    plain = {key: value for key, value in details.items() if key != "sqlQuery"}
    return {**plain, "columnsLineage": entries} if entries else plain


def removal_of(kind: LinkKind) -> type[LinkWrite]:
    """Return the write that removes a link."""
    return FollowerRemoval if kind is LinkKind.FOLLOW else EdgeRemoval
