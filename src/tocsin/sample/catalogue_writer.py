"""Writer of the sample's steps: names are resolved to ids, the clock is set, capture does the rest.

Next: ``flow/capture/operations.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from tocsin.catalogue.quality.suites import add_cases
from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key, Written
from tocsin.sample.company import BOTS
from tocsin.sample.steps import (
    Act,
    ChangeStep,
    Connect,
    Create,
    Define,
    Enlist,
    Ensure,
    Follow,
    ReportResult,
    ReportRun,
    RestoreEntity,
    Retire,
    SampleStep,
)

_BOT_NAMES = frozenset(name for name, _ in BOTS)


@dataclass
class CatalogueWriter:
    """Applies steps to ``writes``, whose clock is ``clock``; remembers the ids of created entities."""

    writes: Writes
    clock: FixedClock
    ids: dict[tuple[str, str], str] = field(default_factory=dict)

    def write(self, step: SampleStep) -> None:
        """Write what happens in a step, at its time and in its actor's name."""
        self.clock.at_ms = step.at_ms
        actor = self._actor(step.actor)
        match step.act:
            case Create(entity_type, request):
                self._remember(entity_type, self.writes.create(entity_type, request, actor=actor))
            case Ensure(entity_type, request):
                self.writes.ensure(entity_type, request, actor=actor)
            case Define(entity_type, custom_property):
                self.writes.put_property(Key.by_name(entity_type), custom_property, actor=actor)
            case ChangeStep(entity_type, fqn, operations):
                self.writes.patch(entity_type, Key.by_name(fqn), operations, actor=actor)
            case Retire(entity_type, fqn):
                self.writes.delete(entity_type, Key.by_name(fqn), actor=actor)
            case RestoreEntity(entity_type, fqn):
                self.writes.restore(entity_type, self.ids[entity_type, fqn], actor=actor)
            case Connect() as edge:
                self.writes.put_edge(self._edge(edge), actor=actor)
            case act:
                self._write_observation(act, actor)

    def _write_observation(self, act: Act, actor: Actor) -> None:
        """Write what makes no version."""
        match act:
            case Follow(entity_type, fqn):
                self.writes.follow(entity_type, self.ids[entity_type, fqn], actor.id, actor=actor)
            case Enlist(suite, case_fqn):
                key = Key.by_id(self.ids["testSuite", suite])
                work = partial(add_cases, case_ids=[self.ids["testCase", case_fqn]])
                self.writes.on_entity("testSuite", key, work, actor=actor)
            case ReportResult(fqn, result):
                self.writes.add_test_result(fqn, result, actor=actor)
            case ReportRun(fqn, status):
                self.writes.add_pipeline_status(fqn, status, actor=actor)

    def _actor(self, name: str) -> Actor:
        if name == SYSTEM.name:
            return SYSTEM
        return Actor(self.ids["user", name], name, is_bot=name in _BOT_NAMES)

    def _remember(self, entity_type: str, written: Written) -> None:
        document = written.document
        # A person's FQN is their name in quotation marks, for it has a dot; steps call people by name.
        known_as = document["name"] if entity_type == "user" else document["fullyQualifiedName"]
        self.ids[entity_type, known_as] = document["id"]

    def _edge(self, edge: Connect) -> Document:
        details: Document = {"source": "PipelineLineage"}
        if edge.made_by is not None:
            details["pipeline"] = self._reference("pipeline", edge.made_by)
        if edge.columns:
            names = [(f"{edge.from_fqn}.{name}", f"{edge.to_fqn}.{name}") for name in edge.columns]
            details["columnsLineage"] = [{"fromColumns": [from_], "toColumn": to} for from_, to in names]
        return {
            "fromEntity": self._reference(edge.from_type, edge.from_fqn),
            "toEntity": self._reference(edge.to_type, edge.to_fqn),
            "lineageDetails": details,
        }

    def _reference(self, entity_type: str, fqn: str) -> Document:
        return {"id": self.ids[entity_type, fqn], "type": entity_type, "fullyQualifiedName": fqn}
