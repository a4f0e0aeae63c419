"""Lineage edges and followers of the source, compared with what it brought before.

Only what the source brought is removed, and only if an answer is complete. Links exist only between what is mapped: a
hidden asset is no neighbour. Next: ``sources/openmetadata/link_writes.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from tocsin.errors import InvalidInput, TocsinError
from tocsin.model.entity import Document
from tocsin.model.source_link import OF_PEOPLE, LinkKind, SourceLink
from tocsin.sources.openmetadata.documents import SourceDocument, digest_of, is_time
from tocsin.sources.openmetadata.kinds import LINKED, PEOPLE
from tocsin.sources.openmetadata.link_writes import EdgeAddition, FollowerAddition, LinkedAsset, LinkWrite, removal_of
from tocsin.sources.openmetadata.results import MAY_PASS, Occasion
from tocsin.sources.openmetadata.writing import Writer
from tocsin.sources.report import RunReport

_REMOVED_SHARE = 0.2
FEW = 5
"""So many links are removed whatever their share."""

_OPTIONAL = ("columnsLineage", "pipeline", "source", "sqlQuery", "description")
"""Details that may be left out of an edge, one after the other, when they are not valid here."""


@dataclass
class MirroredLinks:
    """The links of one run; ``assets`` are the mapped ones that may have lineage, by their ids in the source."""

    writer: Writer
    report: RunReport
    may_delete: bool = False
    assets: dict[str, LinkedAsset] = field(default_factory=dict)
    _digests: dict[tuple[LinkKind, str], dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    _removals: list[tuple[SourceLink, LinkedAsset, Occasion]] = field(default_factory=list)
    _compared_count: int = 0

    def load(self) -> None:
        """Read what earlier runs brought."""
        for link in self.writer.records.links():
            self._digests[link.kind, link.to_id][link.from_id] = link.digest

    def load_assets(self) -> None:
        """Read which assets are here and mapped; in a rehearsal also those that would be."""
        assets_here = {
            source_id: (entity_id, fqn) for source_id, entity_id, fqn in self.writer.records.list_live(LINKED)
        }
        types = {row.source_id: row.entity_type for row in self.writer.entities.values()} | {
            source_id: entity_type for source_id, (entity_type, _) in self.writer.would_be.items()
        }
        for source_id, (entity_type, fqn) in self.writer.would_be.items():
            if entity_type in LINKED:
                assets_here.setdefault(source_id, (source_id, fqn))
        self.assets = {
            source_id: LinkedAsset(source_id, entity_id, types[source_id], fqn)
            for source_id, (entity_id, fqn) in sorted(assets_here.items())
            if source_id in types and self.writer.mapping.covers(types[source_id], fqn)
        }

    def bring_followers(self, source: SourceDocument, occasion: Occasion) -> None:
        """Bring the followers of a mapped entity, all of which the document has."""
        references, entity_id, kind = source.document.get("followers"), self.writer.ids.get(source.id), source.kind
        can_be_followed = kind.is_asset and kind.name not in PEOPLE and not source.is_deleted
        if not can_be_followed or not isinstance(references, list) or entity_id is None:
            return
        if not self.writer.mapping.covers(kind.name, source.fqn):
            return
        followers = {self.writer.ids.get(_id_of(reference)) for reference in references}
        people = sorted(follower for follower in followers if follower is not None)
        if len(people) < len(references):
            self.report.counts["followersNotHere"] += len(references) - len(people)
        asset = LinkedAsset(source.id, entity_id, kind.name, source.fqn)
        for user_id in people:
            if user_id not in self._digests[LinkKind.FOLLOW, entity_id]:
                self._write(
                    FollowerAddition(**self._arguments_for(SourceLink(LinkKind.FOLLOW, user_id, entity_id, ""), asset)),
                    occasion,
                )
        self._compare(LinkKind.FOLLOW, asset, people, occasion)

    def bring_edges(self, asset: LinkedAsset, answer: Document, occasion: Occasion | int) -> None:
        """Bring the edges that lead to an asset, all of which the answer has.

        ``occasion`` is that of the event which said so, or a time: edges that the source wrote before it, or of which
        it does not say when, are history.

        Raises
        ------
        InvalidInput : the answer is not complete
        """
        received_edges = answer.get("upstreamEdges")
        if not isinstance(received_edges, list) or _id_of(answer.get("entity")) != asset.source_id:
            raise InvalidInput("the answer about its lineage is not complete")
        edges = {_id_of(edge.get("fromEntity")): edge for edge in received_edges if _leads_to(edge, asset)}
        if edges.pop(asset.source_id, None) is not None:
            self.report.counts["selfEdges"] += 1
        unmapped_ids = edges.keys() - self.assets.keys()
        if unmapped_ids:
            self.report.counts["edgesNotMapped"] += len(unmapped_ids)
        for source_id in sorted(edges.keys() & self.assets.keys()):
            self._bring_edge((self.assets[source_id], asset), edges[source_id], occasion, has_texts=not unmapped_ids)
        present_ids = [self.writer.ids.get(source_id, source_id) for source_id in edges]
        self._compare(LinkKind.EDGE, asset, present_ids, Occasion() if isinstance(occasion, int) else occasion)

    def _bring_edge(
        self, ends: tuple[LinkedAsset, LinkedAsset], edge: Document, occasion: Occasion | int, *, has_texts: bool
    ) -> None:
        """Write an edge, without details that are not valid here."""
        details = self._details_of(edge, ends, has_texts=has_texts)
        link = SourceLink(LinkKind.EDGE, ends[0].entity_id, ends[1].entity_id, digest_of(details))
        digest = self._digests[link.kind, link.to_id].get(link.from_id)
        if digest in (link.digest, OF_PEOPLE):
            return
        if isinstance(occasion, int):
            occasion = _occasion_of(edge, occasion)
        while refused_key := self._write(
            EdgeAddition(**self._arguments_for(link, ends[1]), from_=ends[0], details=details), occasion
        ):
            self.report.remark(f"edge {ends[0].fqn} -> {ends[1].fqn}: {refused_key} was left out: it is not valid here")
            details = {key: value for key, value in details.items() if key != refused_key}

    def remove_gone(self) -> None:
        """Remove what the source brought and no complete answer has any more, unless it is suspiciously much."""
        removals, self._removals, compared_count, self._compared_count = self._removals, [], self._compared_count, 0
        if len(removals) > max(FEW, _REMOVED_SHARE * compared_count) and not self.may_delete:
            self.report.fail(
                f"{len(removals)} of {compared_count} mirrored edges and followers are gone in the source: none was "
                "removed; check the token's rights, then run with --full --allow-deletions"
            )
            return
        for link, asset, occasion in removals:
            self._write(removal_of(link.kind)(**self._arguments_for(link, asset)), occasion)

    def _compare(self, kind: LinkKind, to: LinkedAsset, present_ids: Collection[str], occasion: Occasion) -> None:
        digests = self._digests[kind, to.entity_id]
        self._compared_count += len(digests)
        for from_id in sorted(digests.keys() - set(present_ids)):
            if digests[from_id] != OF_PEOPLE:
                self._removals.append((SourceLink(kind, from_id, to.entity_id, digests[from_id]), to, occasion))

    def _arguments_for(self, link: SourceLink, to: LinkedAsset) -> dict[str, Any]:  # Any: fields of LinkWrite
        digest = self._digests[link.kind, link.to_id].get(link.from_id)
        source, mapping = self.writer.records.source, self.writer.mapping
        return {"source": source, "link": link, "to": to, "mapping": mapping, "digest": digest}

    def _write(self, write: LinkWrite, occasion: Occasion) -> str | None:
        """Do one write, and return which of its details it refuses."""
        writer, link = self.writer, write.link
        if occasion.event_id is not None and writer.records.holds_event(occasion.event_id):
            occasion = replace(occasion, event_id=None)
        if writer.is_dry and not write.ends.isdisjoint(writer.would_be):
            self.report.note(write.addition, write.to.entity_type, write.to.fqn)
            return None
        try:
            writer.within(write, occasion, writer.clock.now_ms(), None)
        except MAY_PASS:
            raise
        except TocsinError as error:
            refused_key = (error.field or "").split(".")[0].split("[")[0] if isinstance(error, InvalidInput) else ""
            if (
                isinstance(write, EdgeAddition)
                and write.details
                and refused_key in write.details
                and refused_key in _OPTIONAL
            ):
                return refused_key
            self.report.fail(f"{link.kind} of {write.to.entity_type} {write.to.fqn}: {error.message}")
            return None
        digests = self._digests[link.kind, link.to_id]
        if write.after is not None:
            digests[link.from_id] = write.after.digest
        else:
            digests.pop(link.from_id, None)
        if write.outcome is not None:
            self.report.note(write.outcome, write.to.entity_type, write.to.fqn)
        return None

    def _details_of(self, edge: Document, ends: tuple[LinkedAsset, LinkedAsset], *, has_texts: bool) -> Document:
        """Return the details of an edge as they are here, naming nothing but what is mapped.

        Texts of queries name all assets from which edges lead to the same one: without ``has_texts`` they are left out.
        """
        received_details = _details_in(edge)
        details: Document = {}
        for key in ("source", "description", *(("sqlQuery",) if has_texts else ())):
            value = received_details.get(key) or (edge.get(key) if key == "description" else None)
            if isinstance(value, str) and value:
                details[key] = value
        columns = received_details.get("columnsLineage")
        received_entries = [entry for entry in columns if isinstance(entry, dict)] if isinstance(columns, list) else []
        entries = [_columns_of(entry, ends, has_texts=has_texts) for entry in received_entries]
        if entries := [entry for entry in entries if {"fromColumns", "toColumn"} <= entry.keys()]:
            details["columnsLineage"] = entries
        pipeline = self.assets.get(_id_of(received_details.get("pipeline")))
        if pipeline is not None:
            details["pipeline"] = pipeline.reference
        return details


def _columns_of(entry: Document, ends: tuple[LinkedAsset, LinkedAsset], *, has_texts: bool) -> Document:
    """Return an entry of ``columnsLineage`` with columns of the two ends only."""
    columns = entry.get("fromColumns")
    from_columns = [column for column in columns if _lies_in(column, ends[0])] if isinstance(columns, list) else []
    columns_entry: Document = {"fromColumns": from_columns} if from_columns else {}
    if _lies_in(entry.get("toColumn"), ends[1]):
        columns_entry["toColumn"] = entry["toColumn"]
    if has_texts and isinstance(entry.get("function"), str):
        columns_entry["function"] = entry["function"]
    return columns_entry


def _lies_in(column: object, asset: LinkedAsset) -> bool:
    return isinstance(column, str) and column.startswith(f"{asset.fqn}.")


def _details_in(edge: Document) -> Document:
    details = edge.get("lineageDetails")
    return details if isinstance(details, dict) else {}


def _leads_to(edge: object, asset: LinkedAsset) -> bool:
    return isinstance(edge, dict) and _id_of(edge.get("toEntity")) == asset.source_id


def _id_of(end: object) -> str:
    """Return the id that an end of an edge is, or that a reference has."""
    text = end.get("id") if isinstance(end, dict) else end
    return text.lower() if isinstance(text, str) else ""


def _occasion_of(edge: Document, since_ms: int) -> Occasion:
    """Return the occasion of an edge that a comparison shows."""
    updated_at_ms = _details_in(edge).get("updatedAt")
    if not is_time(updated_at_ms):
        return Occasion(is_history=True)
    return Occasion(is_history=updated_at_ms < since_ms, at_ms=updated_at_ms)
