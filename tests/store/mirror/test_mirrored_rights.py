"""Tests of who may see what the mirror brought: nothing that is not mapped, whatever is renamed or taken back."""

from __future__ import annotations

import pytest
from tests.mirrored import ORDERS, Mirrored, change_table, put
from tests.openmetadata import Fault, a_label, now_ms, reference, table_id

from tocsin.access.permission_cache import PermissionCache
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.stored import Key
from tocsin.sources.openmetadata.mapping import Mapping
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.people.identities import People


def may_see(mirror: Mirrored, person: Actor, kind: str, entity_id: str) -> bool:
    """Return whether somebody may see an entity, deleted or not."""
    document = mirror.catalogue.get(kind, Key.by_id(entity_id), "all")
    return (
        PermissionCache(SqlSubjects(mirror.engine))
        .current_policies()
        .of(person.id)
        .may(Operation.VIEW_BASIC, kind, document)
    )


def admin_of(mirror: Mirrored) -> Actor:
    """Return the administrator."""
    admin = People(mirror.engine).by_name("admin")
    assert admin is not None
    return Actor(admin.id, admin.name, is_admin=True)


def a_glossary(mirror: Mirrored) -> tuple[Document, Document, Document]:
    """Put a glossary ``open`` with a term and a term below it at the server."""
    glossary = put(mirror, "glossaries", 60, "open", description="d")
    stamps = {"fullyQualifiedName": "open.a", "description": "d", "glossary": reference("glossary", glossary)}
    term = put(mirror, "glossaryTerms", 61, "a", **stamps)
    below = stamps | {"fullyQualifiedName": "open.a.b", "parent": reference("glossaryTerm", term)}
    return glossary, term, put(mirror, "glossaryTerms", 62, "b", **below)


def test_a_mapping_that_is_taken_back_hides_at_once_whatever_the_source_answers(each_mirror: Mirrored) -> None:
    dia = each_mirror.user("dia")
    assert each_mirror.run().errors == []
    assert may_see(each_mirror, dia, "table", table_id(0))
    tags = [{"op": "replace", "path": "/tags", "value": [a_label("PII.Sensitive")]}]
    each_mirror.writes.patch("table", Key.by_name(ORDERS), tags, actor=admin_of(each_mirror))
    each_mirror.fake.tell("entityDeleted", "table", each_mirror.fake.lists["tables"].pop(table_id(1)), now_ms())
    each_mirror.run()
    each_mirror.fake.faults = [Fault("/", 401, b"{}", times=10_000)]
    each_mirror.run(Mapping())
    assert each_mirror.table("snow.dwh.marts.orders_1")["deleted"] is True
    assert [may_see(each_mirror, dia, "table", table_id(number)) for number in range(3)] == [False] * 3
    assert not may_see(each_mirror, dia, "databaseService", each_mirror.table()["service"]["id"])
    each_mirror.fake.faults.clear()
    assert each_mirror.run().errors == []
    assert may_see(each_mirror, dia, "table", table_id(0))


def test_what_a_person_labelled_is_shown_once_it_is_mapped(mirror: Mirrored) -> None:
    dia = mirror.user("dia")
    mirror.run(Mapping())
    tags = [{"op": "add", "path": "/tags/-", "value": a_label("PII.Sensitive")}]
    mirror.writes.patch("table", Key.by_name(ORDERS), tags, actor=admin_of(mirror))
    assert mirror.run().errors == []
    assert may_see(mirror, dia, "table", table_id(0))
    assert "PII.Sensitive" in [label["tagFQN"] for label in mirror.table()["tags"]]


def test_a_mark_that_somebody_took_away_comes_back(mirror: Mirrored) -> None:
    dia = mirror.user("dia")
    mirror.run(Mapping())
    tags = [{"op": "replace", "path": "/tags", "value": [a_label("PII.Sensitive")]}]
    mirror.writes.patch("table", Key.by_name(ORDERS), tags, actor=admin_of(mirror))
    after = change_table(mirror, description="Later.")
    mirror.fake.tell("entityUpdated", "table", after, after["updatedAt"])
    mirror.run(Mapping())
    assert not may_see(mirror, dia, "table", table_id(0))


@pytest.mark.parametrize("moved", ["glossary", "term"])
def test_what_lies_below_a_name_that_is_not_mapped_any_more_is_hidden_with_it(mirror: Mirrored, moved: str) -> None:
    dia = mirror.user("dia")
    *_, below = a_glossary(mirror)
    closed_glossary = put(mirror, "glossaries", 63, "closed", description="d")
    mapping = Mapping(("open",))
    assert mirror.run(mapping).errors == []
    assert may_see(mirror, dia, "glossaryTerm", table_id(62))
    if moved == "glossary":
        closed_glossary = after = put(mirror, "glossaries", 60, "shut", description="d")
        mirror.fake.tell("entityUpdated", "glossary", after, after["updatedAt"])
    else:
        names = {
            "fullyQualifiedName": "closed.a",
            "glossary": reference("glossary", closed_glossary),
            "description": "d",
        }
        after = put(mirror, "glossaryTerms", 61, "a", **names)
        mirror.fake.tell("entityUpdated", "glossaryTerm", after, after["updatedAt"])
    new_place = {
        "fullyQualifiedName": f"{closed_glossary['name']}.a.b",
        "glossary": reference("glossary", closed_glossary),
    }
    mirror.fake.put("glossaryTerms", below | new_place)
    assert mirror.run(mapping).errors == []
    stored_term = mirror.catalogue.get("glossaryTerm", Key.by_id(table_id(62)), "all")
    assert (stored_term["parent"]["id"], stored_term["fullyQualifiedName"]) == (
        table_id(61),
        new_place["fullyQualifiedName"],
    )
    assert not may_see(mirror, dia, "glossaryTerm", table_id(61))
    assert not may_see(mirror, dia, "glossaryTerm", table_id(62))
    mirror.run(Mapping(("*",)))
    assert may_see(mirror, dia, "glossaryTerm", table_id(62))


def test_results_of_the_source_do_not_reach_tests_of_ours_that_are_not_mapped(mirror: Mirrored) -> None:
    admin = admin_of(mirror)
    service = {"name": "air", "serviceType": "Airflow"}
    mirror.writes.create("pipelineService", service, actor=admin)
    ours = mirror.writes.create("pipeline", {"name": "load", "service": "air"}, actor=admin).document
    upstream_service = put(mirror, "services/pipelineServices", 70, "air", serviceType="Airflow")
    pipeline = put(
        mirror,
        "pipelines",
        71,
        "load",
        fullyQualifiedName="air.load",
        service=reference("pipelineService", upstream_service),
    )
    assert mirror.run(Mapping()).errors == []
    status: Document = {"timestamp": now_ms(), "executionStatus": "Failed", "taskStatus": []}
    change = {"fieldsUpdated": [{"name": "pipelineStatus", "newValue": status}]}
    end = mirror.end()
    mirror.fake.tell("entityUpdated", "pipeline", pipeline, status["timestamp"], changeDescription=change)
    mirror.run(Mapping())
    assert mirror.end() == end
    assert mirror.catalogue.get("pipeline", Key.by_id(ours["id"]), "all").get("pipelineStatus") is None
    mirror.fake.tell("entityUpdated", "pipeline", pipeline, status["timestamp"], changeDescription=change)
    mirror.run(Mapping(("air",)))
    assert mirror.end() > end


def test_a_case_of_a_standard_test_comes_although_the_sources_definition_is_not_mapped(mirror: Mirrored) -> None:
    name = "tableRowCountToEqual"
    fields = {"entityType": "TABLE", "testPlatforms": ["OpenMetadata"], "description": "d"}
    ours = mirror.catalogue.get("testDefinition", Key.by_name(name))
    theirs = put(mirror, "dataQuality/testDefinitions", 80, name, **fields)
    table = mirror.fake.lists["tables"][table_id(0)]
    suite_fields = {"basic": True, "basicEntityReference": reference("table", table)}
    suite = put(mirror, "dataQuality/testSuites", 81, f"{ORDERS}.testSuite", **suite_fields)
    case_fields: Document = {"fullyQualifiedName": f"{ORDERS}.rows", "entityLink": f"<#E::table::{ORDERS}>"}
    case_fields |= {"testDefinition": reference("testDefinition", theirs), "testSuite": reference("testSuite", suite)}
    put(mirror, "dataQuality/testCases", 82, "rows", **case_fields)
    assert mirror.run(Mapping(("snow",))).errors == []
    assert mirror.catalogue.get("testCase", Key.by_id(table_id(82)), "all")["testDefinition"]["id"] == ours["id"]


def test_what_cannot_carry_a_mark_is_not_shown_after_its_mapping_is_taken_back(mirror: Mirrored) -> None:
    dia = mirror.user("dia")
    classification = put(mirror, "classifications", 64, "Care", description="d")
    reference_there = reference("classification", classification)
    put(mirror, "tags", 65, "Secret", fullyQualifiedName="Care.Secret", classification=reference_there, description="d")
    mirror.fake.lists["tables"][table_id(0)]["tags"] = [a_label("Care.Secret")]
    assert mirror.run(Mapping(("snow", "Care"))).errors == []
    assert [label["tagFQN"] for label in mirror.table()["tags"]] == ["Care.Secret"]
    put(mirror, "dataQuality/testDefinitions", 66, "isOld", entityType="TABLE", testPlatforms=["dbt"], description="d")
    assert mirror.run(Mapping(("snow", "Care", "isOld"))).errors == []
    assert mirror.run().errors == []
    assert not [label["tagFQN"] for label in mirror.table().get("tags") or []]
    assert may_see(mirror, dia, "table", table_id(0))
    unmarked_entities = (("classification", 64), ("tag", 65), ("testDefinition", 66))
    assert [mirror.is_deleted(kind, table_id(number)) for kind, number in unmarked_entities] == [True] * 3
    assert mirror.run(Mapping(("snow", "Care", "isOld"))).errors == []
    assert [mirror.is_deleted(kind, table_id(number)) for kind, number in unmarked_entities] == [False] * 3
    own_tag = {"name": "Mine", "classification": "Care", "description": "d"}
    mirror.writes.create("tag", own_tag, actor=admin_of(mirror))
    assert mirror.run().errors == []
    assert [mirror.is_deleted(kind, table_id(number)) for kind, number in unmarked_entities] == [False, True, True]


def test_a_term_moves_out_of_another_one(mirror: Mirrored) -> None:
    glossary, _, below = a_glossary(mirror)
    assert mirror.run(Mapping(("open",))).errors == []
    names = {"fullyQualifiedName": "open.b", "glossary": reference("glossary", glossary), "description": "d"}
    after = put(mirror, "glossaryTerms", 62, "b", **names)
    mirror.fake.tell("entityUpdated", "glossaryTerm", after, after["updatedAt"])
    assert mirror.run(Mapping(("open",))).errors == []
    assert mirror.catalogue.get("glossaryTerm", Key.by_id(below["id"]))["fullyQualifiedName"] == "open.b"


@pytest.mark.parametrize(("kind", "collection"), [("domain", "domains"), ("container", "containers")])
def test_what_lies_in_its_own_kind_comes_and_moves(mirror: Mirrored, kind: str, collection: str) -> None:
    fields: Document = {"domainType": "Aggregate", "description": "d"}
    root = ""
    if kind == "container":
        service = put(mirror, "services/storageServices", 68, "s3", serviceType="S3")
        fields, root = {"service": reference("storageService", service)}, "s3."
    outer = put(mirror, collection, 60, "a", fullyQualifiedName=f"{root}a", **fields)
    inner = put(mirror, collection, 61, "b", fullyQualifiedName=f"{root}a.b", parent=reference(kind, outer), **fields)
    put(mirror, collection, 62, "c", fullyQualifiedName=f"{root}a.b.c", parent=reference(kind, inner), **fields)
    mapping = Mapping(("a", "s3.a"))
    assert mirror.run(mapping).errors == []
    fqns = [mirror.catalogue.get(kind, Key.by_id(table_id(n)))["fullyQualifiedName"] for n in (60, 61, 62)]
    assert fqns == [f"{root}a", f"{root}a.b", f"{root}a.b.c"]


def test_a_mapped_name_with_its_type_opens_nothing_else_of_that_name(mirror: Mirrored) -> None:
    dia = mirror.user("dia")
    glossary = put(mirror, "glossaries", 60, "snow", description="d")
    fields = {"glossary": reference("glossary", glossary), "description": "d", "fullyQualifiedName": "snow.flake"}
    put(mirror, "glossaryTerms", 61, "flake", **fields)
    places = (("table", table_id(0)), ("glossary", table_id(60)), ("glossaryTerm", table_id(61)))
    by_mapping = {
        "snow": [True] * 3,
        "glossary:snow": [False, True, True],
        "databaseService:snow": [True, False, False],
    }
    for root, visible in by_mapping.items():
        assert mirror.run(Mapping((root,))).errors == []
        assert [may_see(mirror, dia, kind, entity_id) for kind, entity_id in places] == visible
    assert Mapping(("table:snow.a",)).covers("testCase", "snow.a.rows")
    assert not Mapping(("nothing:snow", "tag:snow")).covers("table", "snow.a")
