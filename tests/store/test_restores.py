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
from tocsin.store.entities.catalogue import SqlCatalogue
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
    kept: list[Named] = field(default_factory=list)
    gone: list[Named] = field(default_factory=list)

    def create(self, entity_type: str, name: str, **more: object) -> Named:
        made = self.writes.create(entity_type, request(entity_type, name) | more, actor=JANE).document
        return entity_type, made["fullyQualifiedName"]

    def delete(self, named: Named, *, hard: bool = False) -> None:
        self.writes.delete(named[0], Key.by_name(named[1]), actor=JANE, recursive=True, hard=hard)

    def restore(self, named: Named) -> None:
        self.writes.restore(named[0], self.get(named)["id"], actor=JANE)

    def get(self, named: Named) -> Document:
        return self.catalogue.get(named[0], Key.by_name(named[1]), include="all")

    def states(self, some: list[Named]) -> set[object]:
        return {self.get(one).get("deleted", False) for one in some}

    def reported(self, after: int) -> dict[Named, list[str]]:
        found: dict[Named, list[str]] = {}
        for logged in self.log.read(after, 10_000):
            named = logged.event.entity_type, str(logged.event.entity_fully_qualified_name)
            found.setdefault(named, []).append(logged.event.event_type.value)
        return found


@pytest.fixture
def tree(store_engine: Engine) -> Tree:
    catalogue = SqlCatalogue(store_engine)
    made = Tree(catalogue, Writes(catalogue, FixedClock(1_705_320_000_000)), EventLog(store_engine))
    for name in ("user", "testDefinition"):
        made.create(name, "base")
    return made


def _filled(tree: Tree, container: str) -> Named:
    """Create the container with what is above it, and two entities of every type below it."""
    for above in _above(container):
        tree.create(above, "base")
    root = tree.create(container, "base")
    below = [name for name in ORDER if name in types_below(container)]
    for name in below:
        if name != container:
            tree.kept.append(tree.create(name, "base", **_placed(name, container)))
    for name in below:
        tree.kept.append(tree.create(name, "kept", **_placed(name, container)))
        if "deleted" in ENTITY_TYPES[name].keys:
            tree.gone.append(tree.create(name, "gone", **_placed(name, container)))
    if container == "table" or "table" in below:
        tables = {"kept": "base.base.base.kept", "gone": "base.base.base.gone"} if "table" in below else {}
        for name in ("kept", "gone"):
            link = f"<#E::table::{tables.get(name, 'base.base.base.base')}>"
            getattr(tree, name).append(tree.create("testCase", name, entityLink=link))
    return root


def _above(entity_type: str) -> list[str]:
    """Return the types from the topmost container down to the parent of this type."""
    places = ENTITY_TYPES[entity_type].places
    if not places or places[-1].types[0] == entity_type:
        return []
    parent = places[-1].types[0]
    return [*_above(parent), parent]


def _placed(entity_type: str, container: str) -> dict[str, object]:
    """Return the key that puts an entity below the container, where the usual request would not."""
    if entity_type == container:
        own = next(place.field for place in ENTITY_TYPES[entity_type].places if entity_type in place.types)
        return {own: "base.base" if ENTITY_TYPES[entity_type].places[-1].field != own else "base"}
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
    root = _filled(tree, container)
    for one in reversed(tree.gone):
        tree.delete(one)
    before = {one: tree.get(one)["version"] for one in tree.gone}
    tree.delete(root)
    start = tree.log.readable_end()
    tree.restore(root)
    assert tree.states([root, *tree.kept]) == {False}
    assert tree.states(tree.gone) <= {True}
    assert {one: tree.get(one)["version"] for one in tree.gone} == before
    came = {one for one in tree.kept if "deleted" in ENTITY_TYPES[one[0]].keys}
    said = tree.reported(start)
    assert all(kinds == ["entityRestored"] for kinds in said.values())
    assert {one for one in said if one[0] != "testSuite"} == {root, *came}
    for one in tree.gone:
        tree.restore(one)
    assert tree.states(tree.gone) <= {False}


@pytest.mark.parametrize("container", CONTAINERS)
def test_what_lies_below_waits_for_its_container(tree: Tree, container: str) -> None:
    root = _filled(tree, container)
    tree.delete(root)
    for one in [*tree.kept, *tree.gone]:
        if "deleted" in ENTITY_TYPES[one[0]].keys:
            with pytest.raises(InvalidInput, match="restore it first"):
                tree.restore(one)


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
    for one in order:
        tree.delete(one)
    for one in order if back == first else reversed(order):
        assert tree.states([case]) == {True}
        tree.restore(one)
    assert tree.states([case]) == {False}
