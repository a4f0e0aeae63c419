"""Writes on the catalogue: those of entities, and of followers, votes, lineage, reports and custom properties.

Each is one transaction: rows and change event. Next: ``flow/capture/operations.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tocsin.catalogue.feed.votes import TAKEN_BACK, vote
from tocsin.catalogue.governance.custom_properties import with_property
from tocsin.catalogue.lineage import edges
from tocsin.catalogue.observations import runs
from tocsin.catalogue.people.followers import follow, unfollow
from tocsin.catalogue.quality import results
from tocsin.catalogue.rules import CatalogueRules
from tocsin.flow.capture import json_patch
from tocsin.flow.capture.bulk import EntityBulkWrites
from tocsin.flow.capture.operations import EntityWrites
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.upsert import change
from tocsin.flow.capture.write import Record
from tocsin.model.change import ChangeDescription, EventType
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.stored import Key, Stored, Written


class BulkWrites(EntityBulkWrites):
    """Bulk writes of entities under the rules of the catalogue."""

    rules = CatalogueRules()


class Writes(EntityWrites):
    """Every write on the catalogue; each method is one transaction, and what changes nothing has no effect."""

    rules = CatalogueRules()

    def follow(
        self, entity_type: str, entity_id: str, user_id: str, *, actor: Actor, column: str | None = None
    ) -> Written:
        """Make a user a follower of a live entity, or of a column. Raises as ``catalogue/people/followers.py``."""
        work = partial(follow, user_id=user_id, column=column)
        return self.on_entity(entity_type, Key.by_id(entity_id), work, actor=actor, hold=Hold.SHARED)

    def unfollow(
        self, entity_type: str, entity_id: str, user_id: str, *, actor: Actor, column: str | None = None
    ) -> Written:
        """Make a user no follower of an entity, soft-deleted or not. Raises as ``follow``."""
        key, work = Key.by_id(entity_id), partial(unfollow, user_id=user_id, column=column)
        return self.on_entity(entity_type, key, work, actor=actor, hold=Hold.SHARED, include_deleted=True)

    def vote(self, entity_type: str, entity_id: str, vote_type: object, *, actor: Actor) -> Written:
        """Take the actor's vote on a live entity, or take it back, of a soft-deleted one as well.

        Raises as ``catalogue/feed/votes.py``.
        """
        key, work = Key.by_id(entity_id), partial(vote, user_id=actor.id, side_name=vote_type)
        return self.on_entity(entity_type, key, work, actor=actor, include_deleted=vote_type == TAKEN_BACK)

    def note_session(self, event_type: EventType, *, actor: Actor) -> Written:
        """Record that a person logged in or out; their entity keeps its version."""

        def work(record: Record, user: Stored) -> Written:
            return record.note(user, ChangeDescription(), event_type=event_type)

        return self.on_entity("user", Key.by_id(actor.id), work, actor=actor, hold=Hold.SHARED)

    def put_property(self, key: Key, definition: Document, *, actor: Actor) -> Written:
        """Give a type of entity a custom property, or change the one of its name. Raises as ``patch``."""

        def work(record: Record, old: Stored) -> Written:
            return change(record, record.resolver(), old, with_property(record, old, definition))

        return self.on_entity("type", key, work, actor=actor)

    def add_test_result(self, fqn: str, result: Document, *, actor: Actor) -> Written:
        """Report a run of a test case; nothing if the same was reported before."""
        work = partial(results.add_result, result=result)
        return self.on_entity("testCase", Key.by_name(fqn), work, actor=actor)

    def add_pipeline_status(self, fqn: str, status: Document, *, actor: Actor) -> Written:
        """Report a run of a pipeline; nothing if the same was reported before."""
        return self.on_entity("pipeline", Key.by_name(fqn), partial(runs.add_run, status=status), actor=actor)

    def put_edge(self, edge: Document, *, actor: Actor, at_ms: int | None = None) -> Written:
        """Add a lineage edge (``fromEntity``, ``toEntity``, ``lineageDetails``) or replace its details."""
        return self.within(lambda record: edges.put_edge(record, edge), actor=actor, at_ms=at_ms)

    def patch_edge(
        self,
        from_entity: Document,
        to_entity: Document,
        operations: Sequence[json_patch.PatchOperation],
        *,
        actor: Actor,
    ) -> Written:
        """Apply a JSON Patch to the details of a lineage edge; ``NotFound`` if there is none."""
        return self.within(lambda record: edges.patch_edge(record, from_entity, to_entity, operations), actor=actor)

    def delete_edge(
        self, from_entity: Document, to_entity: Document, *, actor: Actor, at_ms: int | None = None
    ) -> Written:
        """Remove the lineage edge between two references; ``NotFound`` if there is none."""
        return self.within(lambda record: edges.delete_edge(record, from_entity, to_entity), actor=actor, at_ms=at_ms)

    def delete_edges_by_source(self, entity: Document, source: str, *, actor: Actor) -> Written:
        """Remove the lineage edges to an entity that were found by ``source``; ``cascaded`` holds their events."""

        def work(record: Record) -> Written:
            removed = edges.delete_by_source(record, entity, source)
            events = tuple(written.event for written in removed if written.event)
            return Written({"edges": [written.document for written in removed]}, None, cascaded=events)

        return self.within(work, actor=actor)
