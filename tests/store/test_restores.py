"""Tests of deletion and restoration for every type that contains others, as the table of entity types has them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from sqlalchemy import Engine
from tests.contract.every_type import ORDER, REQUESTS, request
from tests.store.catalogues import JANE

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES, types_below
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog

CONTAINERS = [name for name in ORDER if types_below(name) and "deleted" in ENTITY_TYPES[name].keys]
"""Every type with descendants that can be soft-deleted."""

Named = tuple[str, str]


@dataclass
class Tree:
    """A container called ``base``, and below it entities called ``gone``, ``kept`` and what is above them."""

    catalogue: SqlCatalogue
    writes: Writes
    log: EventLog
    surviving: list[Named] = field(default_factory=list)
    deleted: list[Named] = field(default_factory=list)

    def create(self, entity_type: str, name: str, **fields: object) -> Named:
        document = self.writes.create(entity_type, request(entity_type, name) | fields, actor=JANE).document
        return entity_type, document["fullyQualifiedName"]

    def delete(self, type_and_fqn: Named, *, hard: bool = False) -> None:
        self.writes.delete(type_and_fqn[0], Key.by_name(type_and_fqn[1]), actor=JANE, recursive=True, hard=hard)

    def restore(self, type_and_fqn: Named) -> None:
        self.writes.restore(type_and_fqn[0], self.get(type_and_fqn)["id"], actor=JANE)

    def get(self, type_and_fqn: Named) -> Document:
        return self.catalogue.get(type_and_fqn[0], Key.by_name(type_and_fqn[1]), include="all")

    def states(self, entities: list[Named]) -> set[object]:
        return {self.get(one).get("deleted", False) for one in entities}

    def kinds_by_entity(self, after: int) -> dict[Named, list[str]]:
        kinds_by_entity: dict[Named, list[str]] = {}
        for logged in self.log.read(after, 10_000):
            type_and_fqn = logged.event.entity_type, str(logged.event.entity_fully_qualified_name)
            kinds_by_entity.setdefault(type_and_fqn, []).append(logged.event.event_type.value)
        return kinds_by_entity


@pytest.fixture
def tree(store_engine: Engine) -> Tree:
    catalogue = SqlCatalogue(store_engine)
    new_tree = Tree(catalogue, Writes(catalogue, FixedClock(1_705_320_000_000)), EventLog(store_engine))
    for name in ("user", "testDefinition"):
        new_tree.create(name, "base")
    return new_tree


def _fill(tree: Tree, container: str) -> Named:
    """Create the container with what is above it, and two entities of every type below it."""
    for above in _above(container):
        tree.create(above, "base")
    root = tree.create(container, "base")
    below = [name for name in ORDER if name in types_below(container)]
    for name in below:
        if name != container:
            tree.surviving.append(tree.create(name, "base", **_placement(name, container)))
    for name in below:
        tree.surviving.append(tree.create(name, "kept", **_placement(name, container)))
        if "deleted" in ENTITY_TYPES[name].keys:
            tree.deleted.append(tree.create(name, "gone", **_placement(name, container)))
    if container == "table" or "table" in below:
        tables = {"kept": "base.base.base.kept", "gone": "base.base.base.gone"} if "table" in below else {}
        for name, entities in (("kept", tree.surviving), ("gone", tree.deleted)):
            link = f"<#E::table::{tables.get(name, 'base.base.base.base')}>"
            entities.append(tree.create("testCase", name, entityLink=link))
    return root


def _above(entity_type: str) -> list[str]:
    """Return the types from the topmost container down to the parent of this type."""
    places = ENTITY_TYPES[entity_type].places
    if not places or places[-1].types[0] == entity_type:
        return []
    parent = places[-1].types[0]
    return [*_above(parent), parent]


def _placement(entity_type: str, container: str) -> dict[str, object]:
    """Return the key that puts an entity below the container, where the usual request would not."""
    if entity_type == container:
        own_field = next(place.field for place in ENTITY_TYPES[entity_type].places if entity_type in place.types)
        return {own_field: "base.base" if ENTITY_TYPES[entity_type].places[-1].field != own_field else "base"}
    if entity_type == "ingestionPipeline":
        return {"service": {"type": container, "fullyQualifiedName": "base"}}
    return {}


def test_every_container_is_here() -> None:
    assert {"databaseSchema", "databaseService", "dashboardService", "glossary", "glossaryTerm", "container"} <= {
        *CONTAINERS
    }
    assert set(CONTAINERS) <= set(REQUESTS)


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_restore_brings_back_what_went_with_it_and_only_that(tree: Tree, container: str) -> None:
    root = _fill(tree, container)
    for deleted_entity in reversed(tree.deleted):
        tree.delete(deleted_entity)
    before = {one: tree.get(one)["version"] for one in tree.deleted}
    tree.delete(root)
    start = tree.log.readable_end()
    tree.restore(root)
    assert tree.states([root, *tree.surviving]) == {False}
    assert tree.states(tree.deleted) <= {True}
    assert {one: tree.get(one)["version"] for one in tree.deleted} == before
    came = {one for one in tree.surviving if "deleted" in ENTITY_TYPES[one[0]].keys}
    kinds_by_entity = tree.kinds_by_entity(start)
    assert all(kinds == ["entityRestored"] for kinds in kinds_by_entity.values())
    assert {one for one in kinds_by_entity if one[0] != "testSuite"} == {root, *came}
    for deleted_entity in tree.deleted:
        tree.restore(deleted_entity)
    assert tree.states(tree.deleted) <= {False}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.soak_on_postgresql
def test_what_lies_below_waits_for_its_container(tree: Tree, container: str) -> None:
    root = _fill(tree, container)
    tree.delete(root)
    for entity in [*tree.surviving, *tree.deleted]:
        if "deleted" in ENTITY_TYPES[entity[0]].keys:
            with pytest.raises(InvalidInput, match="restore it first"):
                tree.restore(entity)


def test_a_service_leaves_the_pipelines_of_one_of_another_type_with_its_name(tree: Tree) -> None:
    databases, dashboards = tree.create("databaseService", "base"), tree.create("dashboardService", "base")
    pipeline = tree.create(
        "ingestionPipeline", "own", service={"type": "dashboardService", "fullyQualifiedName": "base"}
    )
    tree.delete(databases)
    assert tree.states([dashboards, pipeline]) == {False}
    tree.delete(databases, hard=True)
    assert tree.states([dashboards, pipeline]) == {False}


def test_a_team_goes_and_comes_back_alone(tree: Tree) -> None:
    above = tree.create("team", "above", teamType="Department")
    below = tree.create("team", "below", parents=[tree.get(above)["id"]])
    tree.delete(above)
    assert tree.states([below]) == {False}
    tree.restore(above)
    assert tree.get(below)["parents"][0]["name"] == "above"


@pytest.mark.parametrize("first", ["table", "testDefinition"])
@pytest.mark.parametrize("back", ["table", "testDefinition"])
def test_a_test_comes_back_when_all_that_it_needs_is_back(tree: Tree, first: str, back: str) -> None:
    for name in _above("table"):
        tree.create(name, "base")
    table, definition = tree.create("table", "base"), ("testDefinition", "base")
    case = tree.create("testCase", "base")
    order = [table, definition] if first == "table" else [definition, table]
    for entity in order:
        tree.delete(entity)
    for entity in order if back == first else reversed(order):
        assert tree.states([case]) == {True}
        tree.restore(entity)
    assert tree.states([case]) == {False}
