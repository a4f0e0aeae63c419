"""Tests of the hierarchy of teams: allowed parents, patches of parents and children, inherited values."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from tocsin.access.defaults import POLICIES, ROLES, ROOT_TEAM
from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.relations import RELATIONS
from tocsin.model.stored import Key, Written
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

TYPES = ("Organization", "BusinessUnit", "Division", "Department", "Group")
MAY = {
    "BusinessUnit": {"Organization", "BusinessUnit"},
    "Division": {"Organization", "BusinessUnit", "Division"},
    "Department": {"Organization", "BusinessUnit", "Division", "Department"},
    "Group": {"Organization", "BusinessUnit", "Division", "Department"},
}


class Tree:
    """A store with the Organization in it, and the ways to build below it."""

    def __init__(self, engine: Engine) -> None:
        self.catalogue = SqlCatalogue(engine)
        self.writes = Writes(self.catalogue, FixedClock(1_760_000_000_000))
        for entity_type, requests in (("policy", POLICIES), ("role", ROLES), ("team", (ROOT_TEAM,))):
            for request in requests:
                self.writes.create(entity_type, request, actor=SYSTEM)

    def team(self, name: str, kind: str, *parents: str, **fields: object) -> str:
        """Create a team; return its id."""
        request = {"name": name, "teamType": kind, "parents": list(parents), **fields}
        return str(self.writes.create("team", request, actor=SYSTEM).document["id"])

    def patch(self, name: str, *operations: tuple[str, str, object]) -> Written:
        """Apply (op, path, value) operations to a team."""
        patch = [{"op": op, "path": path, "value": value} for op, path, value in operations]
        return self.writes.patch("team", Key.by_name(name), patch, actor=SYSTEM)

    def get(self, name: str, entity_type: str = "team") -> Document:
        """Return a team, or somebody."""
        return self.catalogue.get(entity_type, Key.by_name(name))

    def under(self, name: str) -> list[str]:
        """Return the names of the teams directly under one."""
        team = self.get(name)
        children = self.catalogue.related_entities(RELATIONS["team"]["children"], [team]).get(team["id"], [])
        assert isinstance(children, list)
        return [one["name"] for one in children]


@pytest.fixture
def tree(store_engine: Engine) -> Tree:
    return Tree(store_engine)


@pytest.mark.parametrize("child", MAY)
@pytest.mark.parametrize("parent", TYPES)
@pytest.mark.soak_on_postgresql
def test_a_team_stands_only_where_its_type_may(tree: Tree, child: str, parent: str) -> None:
    above = "Organization" if parent == "Organization" else "above"
    if parent != "Organization":
        tree.team("above", parent)
    if parent in MAY[child]:
        tree.team("below", child, above)
        assert tree.under(above)[-1] == "below"
        return
    with pytest.raises(InvalidInput, match=f"below is a {child} and must be below .*; above is a {parent}"):
        tree.team("below", child, above)


def test_there_is_one_organization_above_all(tree: Tree) -> None:
    with pytest.raises(InvalidInput, match="only one Organization"):
        tree.team("another", "Organization")
    tree.team("north", "Division")
    with pytest.raises(InvalidInput):
        tree.patch("north", ("replace", "/teamType", "Organization"))
    for changed in (("replace", "/teamType", "Division"), ("replace", "/name", "All")):
        with pytest.raises(InvalidInput):
            tree.patch("Organization", changed)
    with pytest.raises(InvalidInput, match="below no other team"):
        tree.patch("Organization", ("add", "/parents/0", {"id": tree.get("north")["id"], "type": "team"}))
    assert tree.patch("Organization", ("add", "/description", "Everybody.")).event is not None


def test_what_names_no_parent_stands_under_the_organization(tree: Tree) -> None:
    tree.team("north", "Division")
    tree.team("south", "Division", "Organization")
    tree.team("sales", "Department", "north")
    assert tree.under("Organization") == ["north", "south"]
    assert "parents" not in tree.get("south"), "what everybody has is not stored"


def test_one_parent_is_enough_for_divisions(tree: Tree) -> None:
    tree.team("east", "BusinessUnit")
    tree.team("west", "BusinessUnit")
    with pytest.raises(InvalidInput, match="one parent"):
        tree.team("sales", "Division", "east", "west")
    tree.team("crew", "Group", "east", "west")
    assert (tree.under("east"), tree.under("west")) == (["crew"], ["crew"])


def test_nothing_stands_under_itself(tree: Tree) -> None:
    ids = {name: tree.team(name, "Department") for name in ("a", "b", "c")}
    tree.patch("b", ("add", "/parents", [{"id": ids["a"], "type": "team"}]))
    tree.patch("c", ("add", "/parents", [{"id": ids["b"], "type": "team"}]))
    for below in ("a", "b", "c"):
        with pytest.raises(InvalidInput, match="a would be its own ancestor"):
            tree.patch("a", ("replace", "/parents", [{"id": ids[below], "type": "team"}]))
        with pytest.raises(InvalidInput, match="would be its own ancestor"):
            tree.patch(below, ("add", "/children/-", {"id": ids["a"], "type": "team"}))


def test_parents_are_patched_as_they_are_read(tree: Tree) -> None:
    north = tree.team("north", "BusinessUnit")
    tree.team("sales", "Division")
    tree.patch("sales", ("replace", "/parents/0", {"id": north, "type": "team"}))  # the Organization was its parent
    assert [one["name"] for one in tree.get("sales")["parents"]] == ["north"]
    written = tree.patch("sales", ("remove", "/parents/0", None))
    assert written.event is not None
    assert "parents" not in tree.get("sales")
    assert tree.under("Organization") == ["north", "sales"]


def test_children_are_patched_each_with_its_event(tree: Tree) -> None:
    tree.team("north", "Division")
    ids = {name: tree.team(name, "Group") for name in ("a", "b", "c")}
    references = {name: {"id": one, "type": "team"} for name, one in ids.items()}
    patch_result = tree.patch("north", ("add", "/children", [references["a"], references["b"]]))
    assert [event.entity_fully_qualified_name for event in patch_result.cascaded] == ["a", "b"]
    assert patch_result.event is None, "the team itself says nothing else than before"
    outcome = tree.patch("north", ("replace", "/children/1", references["c"]))
    assert sorted(event.entity_fully_qualified_name or "" for event in outcome.cascaded) == ["b", "c"]
    assert tree.under("north") == ["a", "c"]
    assert tree.patch("north", ("replace", "/children", [references["c"], references["a"]])).cascaded == ()
    tree.writes.upsert("team", {"name": "north", "children": [ids["b"]]}, actor=SYSTEM)
    assert tree.under("north") == ["b"]
    tree.writes.upsert("team", {"name": "north", "description": "x"}, actor=SYSTEM)
    assert tree.under("north") == ["b"], "what a request leaves out stays"
    with pytest.raises(InvalidInput, match="north is a Division"):
        tree.patch("a", ("add", "/children/-", {"id": tree.get("north")["id"], "type": "team"}))


def test_a_type_changes_only_where_parents_and_children_allow_it(tree: Tree) -> None:
    tree.team("north", "Division")
    tree.team("sales", "Department", "north")
    with pytest.raises(InvalidInput, match="its child sales is a Department"):
        tree.patch("north", ("replace", "/teamType", "Group"))
    with pytest.raises(InvalidInput, match="sales is a BusinessUnit and must be below a"):
        tree.patch("sales", ("replace", "/teamType", "BusinessUnit"))
    assert tree.patch("sales", ("replace", "/teamType", "Division")).document["teamType"] == "Division"


def test_people_are_counted_once_however_deep(tree: Tree) -> None:
    people = [
        tree.writes.create("user", {"name": name, "email": f"{name}@example.org"}, actor=SYSTEM).document["id"]
        for name in ("ana", "ben", "cem")
    ]
    tree.team("north", "Division", users=people[:1])
    tree.team("sales", "Department", "north", users=people[:2])
    tree.team("crew", "Group", "sales", "north", users=people[1:2])
    teams = [tree.get(name) for name in ("Organization", "north", "sales", "crew")]
    counts = tree.catalogue.related_entities(RELATIONS["team"]["userCount"], teams)
    assert [counts.get(team["id"], 0) for team in teams] == [3, 2, 2, 1]


def test_roles_and_domains_come_down_the_tree(tree: Tree, store_engine: Engine) -> None:
    for name in ("Sales", "Web"):
        request = {"name": name, "domainType": "Aggregate", "description": "x"}
        tree.writes.create("domain", request, actor=SYSTEM)
    steward = tree.get("DataSteward", "role")["id"]
    tree.team("north", "Division", defaultRoles=[steward], domains=["Sales"])
    tree.team("crew", "Group", "north")
    ana = tree.writes.create("user", {"name": "ana", "email": "a@example.org", "teams": ["crew"]}, actor=SYSTEM)
    members = [tree.get("north"), tree.get("crew"), ana.document]
    roles = tree.catalogue.related_entities(RELATIONS["team"]["inheritedRoles"], members)
    role_names = {one: sorted(role["name"] for role in many) for one, many in roles.items() if isinstance(many, list)}
    assert [role_names.get(one["id"]) for one in members] == [
        ["DataConsumer"],
        ["DataConsumer", "DataSteward"],
        ["DataConsumer", "DataSteward"],
    ]
    domains = tree.catalogue.team_domains([one["id"] for one in members])
    assert {one: [domain["name"] for domain in many] for one, many in domains.items()} == {
        members[1]["id"]: ["Sales"],
        members[2]["id"]: ["Sales"],
    }
    subjects = SqlSubjects(store_engine)
    subject = subjects.subjects([ana.document["id"]])[ana.document["id"]]
    assert subject.domains == {domains[ana.document["id"]][0]["id"]}
    before = subjects.revision()
    tree.patch("crew", ("add", "/domains", [{"id": tree.get("Web", "domain")["id"], "type": "domain"}]))
    assert subjects.revision() > before
    (nearest,) = subjects.subjects([ana.document["id"]]).values()
    assert nearest.domains == {tree.get("Web", "domain")["id"]}
