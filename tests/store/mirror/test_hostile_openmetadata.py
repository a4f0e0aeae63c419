"""Tests of the mirror with a source that lies, is broken or means harm: what is Tocsin's own stays, and runs end."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.mirrored import Mirrored, change_table, put
from tests.openmetadata import Fault, now_ms, reference, table_id

from tocsin.access.unmapped import UNMAPPED
from tocsin.errors import NotFound
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.stored import Key
from tocsin.sources.openmetadata import upstream
from tocsin.sources.openmetadata.json_texts import parse_json
from tocsin.sources.openmetadata.mapping import Mapping
from tocsin.store.catalogue.people.identities import People

ALL_WITH_PEOPLE = Mapping(("*",), has_people=True)


def test_people_and_teams_of_ours_are_not_changed(mirror: Mirrored) -> None:
    mirror.user("walt", displayName="Walt")
    put(mirror, "users", 70, "admin", email="evil@evil.example.com", displayName="Evil", isAdmin=True)
    put(mirror, "users", 71, "walt", email="evil2@evil.example.com", displayName="Evil")
    put(mirror, "teams", 72, "Organization", teamType="Organization", description="Evil.")
    names = (("user", "admin"), ("user", "walt"), ("team", "Organization"))
    before = [mirror.catalogue.get(kind, Key.by_name(name), "all") for kind, name in names]
    assert mirror.run(ALL_WITH_PEOPLE).errors == []
    assert [mirror.catalogue.get(kind, Key.by_name(name), "all") for kind, name in names] == before


def test_an_entity_of_ours_is_not_changed_because_one_of_the_source_has_its_id(each_mirror: Mirrored) -> None:
    admin = People(each_mirror.engine).by_name("admin")
    assert admin is not None
    request = {"name": "ours", "description": "Ours."}
    ours = each_mirror.writes.create("glossary", request, actor=Actor(admin.id, admin.name, is_admin=True)).document
    put(each_mirror, "glossaries", 80, "theirs", id=ours["id"], description="Theirs.")
    assert each_mirror.run().errors == []
    assert each_mirror.catalogue.get("glossary", Key.by_id(ours["id"]), "all") == ours
    theirs = each_mirror.catalogue.get("glossary", Key.by_name("theirs"), "all")
    assert (theirs["description"], theirs["id"] != ours["id"]) == ("Theirs.", True)
    del each_mirror.fake.lists["glossaries"][ours["id"]]
    each_mirror.run(is_full=True)
    assert each_mirror.catalogue.get("glossary", Key.by_id(ours["id"]), "all") == ours


def test_a_new_name_that_is_not_mapped_is_hidden_at_once(mirror: Mirrored) -> None:
    put(mirror, "glossaries", 80, "open", description="Open.", tags=[])
    mirror.run(Mapping(("open",)))
    after = put(mirror, "glossaries", 80, "closed", description="Secret.")
    mirror.fake.tell("entityUpdated", "glossary", after, after["updatedAt"])
    mirror.run(Mapping(("open",)))
    glossary = mirror.catalogue.get("glossary", Key.by_id(table_id(80)), "all")
    assert (glossary["name"], [label["tagFQN"] for label in glossary["tags"]]) == ("closed", [UNMAPPED])


def test_what_the_source_calls_mapped_and_is_not_here_stays_hidden(mirror: Mirrored) -> None:
    put(mirror, "glossaries", 80, "secret", fullyQualifiedName="open", description="Secret.")
    report = mirror.run(Mapping(("open",)))
    with pytest.raises(NotFound):
        mirror.catalogue.get("glossary", Key.by_name("secret"), "all")
    assert [error for error in report.errors if "secret here, which is not mapped" in error]


def test_a_reference_to_what_could_not_be_written_is_left_out(mirror: Mirrored) -> None:
    person = put(mirror, "users", 70, "u" * 300, email="u@example.com")
    change_table(mirror, owners=[reference("user", person)])
    mirror.run(ALL_WITH_PEOPLE)
    change_table(mirror, owners=[reference("user", person)], description="Owned by nobody here.")
    report = mirror.run(ALL_WITH_PEOPLE, is_full=True)
    assert (mirror.table()["description"], mirror.table().get("owners") or []) == ("Owned by nobody here.", [])
    assert [error for error in report.errors if error.startswith("table")] == []


WRONG: list[Document] = [
    {"id": "x"},
    {"id": "a\0b"},
    {"id": None},
    {"updatedAt": 2**63},
    {"updatedAt": True},
    {"updatedAt": -1},
    {"name": "a\0b"},
    {"updatedBy": "a\0b"},
    {"description": "a\0b"},
    {"tags": [{"tagFQN": []}]},
    {"certification": {"tagLabel": {"tagFQN": {}}}},
    {"columns": [{"name": "c", "dataType": "INT", "tags": [{"tagFQN": {}}]}]},
    {"dataModel": {"columns": [{"name": "c", "tags": [{"tagFQN": []}]}]}},
]


@pytest.mark.soak_on_postgresql
def test_what_is_wrong_with_one_entity_leaves_the_others_alone(each_mirror: Mirrored) -> None:
    tables = each_mirror.fake.lists["tables"]
    for number, fields in enumerate(WRONG, start=500):
        names = {"name": f"t{number}", "fullyQualifiedName": f"snow.dwh.marts.t{number}"}
        tables[table_id(number)] = tables[table_id(0)] | {"id": table_id(number)} | names | fields
    report = each_mirror.run()
    assert each_mirror.table()["id"] == table_id(0)
    assert [error.rpartition(": ")[2] for error in report.errors] == ["its id is no UUID"] * 3
    assert each_mirror.run(is_full=True).counts["created"] == 0


@pytest.mark.parametrize("keys", [{"id": "x"}, {"id": "a\0b"}, {"timestamp": 2**63}, {"userName": "a\0b"}])
@pytest.mark.soak_on_postgresql
def test_an_event_that_is_wrong_leaves_the_others_alone(each_mirror: Mirrored, keys: Document) -> None:
    each_mirror.run()
    first, second = (change_table(each_mirror, description=words) for words in ("First.", "Second."))
    each_mirror.fake.tell("entityUpdated", "table", first, now_ms(), **keys)
    event = each_mirror.fake.tell("entityUpdated", "table", second, now_ms())
    assert each_mirror.run().errors == []
    assert (each_mirror.table()["description"], each_mirror.events()[-1].id) == ("Second.", event["id"])


def test_a_state_from_far_ahead_is_replaced_a_day_later_at_the_latest(mirror: Mirrored) -> None:
    mirror.run()
    change_table(mirror, now_ms() + 400 * 86_400_000, description="From next year.")
    mirror.run(is_full=True)
    (row,) = (row for row in mirror.records.entities() if row.source_id == table_id(0))
    assert mirror.table()["description"] == "From next year."
    assert row.updated_at_ms <= now_ms() + 86_400_000


@pytest.mark.parametrize("paging", [5, "x", [1], {"after": 5}, {"after": ["a"]}, {"after": True}])
def test_a_cursor_that_is_none_is_an_error_with_its_place(mirror: Mirrored, paging: Any) -> None:
    answer_glossaries(mirror, paging)
    assert mirror.run().errors == ["glossaries: the cursor is no text"]


@pytest.mark.parametrize("cursors", ["1212", "123456"])
def test_cursors_that_never_end_are_given_up(mirror: Mirrored, monkeypatch: pytest.MonkeyPatch, cursors: str) -> None:
    monkeypatch.setattr(upstream, "MOST_PAGES", 5)
    answer_glossaries(mirror, *({"after": cursor} for cursor in cursors))
    assert mirror.run().errors == ["glossaries: the pages do not end"]


def answer_glossaries(mirror: Mirrored, *pagings: Any) -> None:
    """Let the server answer requests for glossaries with empty pages, one after the other."""
    bodies = (orjson.dumps({"data": [], "paging": paging}) for paging in pagings)
    mirror.fake.faults += [Fault("/glossaries", 200, body) for body in bodies]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\u0000\u0000b"', "ab"),
        (r'"a\\u0000b"', r"a\u0000b"),
        (r'"a\\\u0000b"', "a\\b"),
        ('"ü"', "ü"),
    ],
)
def test_nul_characters_of_the_source_are_left_out(text: str, value: str) -> None:
    assert (parse_json(text), parse_json(text.encode())) == (value, value)


@pytest.mark.parametrize(("kind", "hard"), [("user", True), ("user", False), ("domain", True)])
def test_what_somebody_deleted_here_is_left_out_of_references(mirror: Mirrored, kind: str, *, hard: bool) -> None:
    collection, key = ("users", "owners") if kind == "user" else ("domains", "domains")
    fields: Document = {"email": "a@example.com"} if kind == "user" else {"domainType": "Aggregate", "description": "A"}
    target = put(mirror, collection, 70, "target", **fields)
    references: Document = {key: [reference(kind, target)]}
    change_table(mirror, **references)
    assert mirror.run(ALL_WITH_PEOPLE).errors == []
    admin = People(mirror.engine).by_name("admin")
    assert admin is not None
    actor = Actor(admin.id, admin.name, is_admin=True)
    mirror.writes.delete(kind, Key.by_name("target"), actor=actor, hard=hard)
    after = change_table(mirror, **references, description="Changed.")
    mirror.fake.tell("entityUpdated", "table", after, after["updatedAt"])
    assert mirror.run(ALL_WITH_PEOPLE).errors == []
    assert mirror.table()["description"] == "Changed."
    end = mirror.end()
    assert mirror.run(ALL_WITH_PEOPLE, is_full=True).errors == []
    assert mirror.end() == end
